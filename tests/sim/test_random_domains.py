"""Random worlds of one causality domain: a part of what ``antiphon explore --domains`` runs."""

import pytest

from antiphon.sim.random_domains import DomainAuthor, examine_domain
from antiphon.stack.domain import ALL


@pytest.mark.parametrize(
    ("resilience", "flush", "seeds"),
    [
        (1, "view-atomic", range(120)),
        (2, "view-atomic", range(60)),
        (ALL, "view-atomic", range(60)),
        (1, "coordinator", range(40)),
        (1, "all-to-all", range(40)),
    ],
)
def test_causality_holds_across_groups(resilience: int, flush: str, seeds: range) -> None:
    """Nothing is delivered before its past, in whatever group, and every group goes on."""
    assert [said for seed in seeds if (said := examine_domain(seed, resilience, flush))] == []


@pytest.mark.parametrize("seed", [27, 36, 150, 159, 165, 736, 2384])
def test_worlds_that_once_failed_keep_their_promises(seed: int) -> None:
    """Each showed a rule that was missing (docs/decisions/019-causality-across-groups.md)."""
    assert examine_domain(seed) == ""


def test_a_world_is_a_function_of_its_seed() -> None:
    """The same seed gives the same rows."""
    told = []
    for _ in range(2):
        author = DomainAuthor(5, 1, "view-atomic")
        author.live()
        told.append([str(event) for events in author.world.events.values() for event in events])
    assert told[0] == told[1]
    assert told[0]

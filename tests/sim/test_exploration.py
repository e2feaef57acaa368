"""Exploration: random worlds keep every promise, and a world that does not is found."""

import pytest

from antiphon.core.errors import PeerError
from antiphon.sim.exploration import Finding, examine, explore
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.scenario import parse_scenario
from antiphon.stack.settings import FLUSHES

SEEDS = 150
MANY_SEEDS = 2_000


def failing(seeds: range, flush: str) -> list[tuple[int, str, str]]:
    """Return what goes wrong in the worlds of these seeds."""
    return [
        (seed, finding.what, finding.text)
        for seed, finding in explore(seeds, flush)
        if finding is not None
    ]


@pytest.mark.parametrize("flush", FLUSHES)
def test_random_worlds_keep_every_promise(flush: str) -> None:
    """The first worlds of each flush hold."""
    assert failing(range(SEEDS), flush) == []


@pytest.mark.slow
@pytest.mark.parametrize("flush", FLUSHES)
def test_many_random_worlds_keep_every_promise(flush: str) -> None:
    """Other worlds than those of the quick suite hold as well, many more of them."""
    assert failing(range(1_000_000, 1_000_000 + MANY_SEEDS), flush) == []


def test_machine_that_raises_is_found_with_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in a machine is a finding, with the time, the words and what happened before."""

    def complain(*_: object, **__: object) -> None:
        message = "nonsense"
        raise PeerError(message)

    monkeypatch.setattr("antiphon.stack.member.Member.tick", complain)
    finding = examine(parse_scenario("at 1000 multicast p1 1\nat 30000 heal\n"))
    assert isinstance(finding, Finding)
    assert finding.what == "PeerError"
    assert finding.text.endswith("us: PeerError: nonsense")
    assert any(event.kind == "view" for event in finding.events)


def test_broken_promise_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A violated property is a finding that names the property."""
    monkeypatch.setattr(
        "antiphon.membership.view_atomic_flush.ViewAtomicFlush._relay", lambda _self: None
    )
    found = [what for _, what, _ in failing(range(40), "view-atomic")]
    assert found != []


def test_what_a_flush_does_not_promise_is_not_asked_of_it() -> None:
    """D3 is asked of the default flush only (000-17 a)."""
    text = (
        "founders 4\nflush all-to-all\nanswers 0\ndelay_us 200\n"
        "at 1000 slow p2 p1 400000\nat 1000 slow p2 p4 400000\nat 2000 multicast p2 1\n"
        "at 3000 crash p3 1\nat 14000 crash p2 1\n"
    )
    assert examine(parse_scenario(text)) is None


def test_seeds_make_different_worlds() -> None:
    """Sizes, delays and workloads vary."""
    worlds = [random_scenario(seed) for seed in range(50)]
    assert len({world.founders for world in worlds}) > 3
    assert len({world.delay_us for world in worlds}) > 2
    assert len({world.steps for world in worlds}) == 50

"""Random houses keep every promise, as their applications see it; more of them in `make soak`."""

from unittest.mock import patch

import pytest
from tests.adversary.houses.author import examine

from antiphon.ordering.knowledge import Knowledge
from antiphon.stack.domain import Domain
from antiphon.stack.program_order import Places

QUICK, MORE = 6, 2_000

PLANTED = {
    "nothing of other groups is named": (Knowledge, "_news", lambda *_told: [], 12, None),
    "groups send without regard to each other": (
        Places,
        "is_first",
        property(lambda _: True),
        0,
        None,
    ),
    "what may be lost is not waited for": (
        Domain,
        "is_safe_for",
        lambda _self, _group: True,
        17,
        None,
    ),
    "letters hold up nothing": (Domain, "awaits_letter", lambda _self, _group: False, 96, 0.5),
}
"""What is planted where, the seed of a house that finds it, and how much is written there."""


def test_houses_keep_their_promises() -> None:
    """Some."""
    assert {seed: said for seed in range(QUICK) if (said := examine(seed))} == {}


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_are_found(bug: str) -> None:
    """Each in a house in which nothing is wrong without it."""
    target, method, wrong, seed, letters = PLANTED[bug]
    assert examine(seed, letters) == ""
    with patch.object(target, method, wrong):
        assert examine(seed, letters).startswith(("causal: ", "hole: "))


@pytest.mark.slow
def test_many_houses_keep_their_promises() -> None:
    """Many."""
    said = {seed: examine(seed) for seed in range(1_000, 1_000 + MORE)}
    assert {seed: text for seed, text in said.items() if text} == {}

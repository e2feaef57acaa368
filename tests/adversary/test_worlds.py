"""Random worlds under the adversary keep every promise; more of them in `make soak`."""

import pytest
from tests.adversary.author import examine

from antiphon.stack.domain import ALL

WAYS = [
    (1, "view-atomic"), (2, "view-atomic"), (ALL, "view-atomic"), (1, "coordinator"),
    (2, "all-to-all"),
]  # fmt: skip
MORE = 2_000


@pytest.mark.parametrize(("resilience", "flush"), WAYS)
def test_worlds_keep_their_promises(resilience: int, flush: str) -> None:
    """A few of each kind."""
    assert [said for seed in range(8) if (said := examine(seed, resilience, flush))] == []


@pytest.mark.slow
@pytest.mark.parametrize(("resilience", "flush"), WAYS)
def test_many_worlds_keep_their_promises(resilience: int, flush: str) -> None:
    """Many of each kind."""
    said = {seed: examine(seed, resilience, flush) for seed in range(1_000, 1_000 + MORE)}
    assert {seed: text for seed, text in said.items() if text} == {}

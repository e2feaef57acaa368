"""The judges judged: each planted mistake is found within a bounded number of seeds."""

import pytest
from tests.properties.planted_bugs import PLANTED, Planted, plant
from tests.properties.schedules import random_schedule
from tests.properties.worlds import judge

SEEDS = range(60)
"""Five times what the most elusive mistake needs."""

_SIGNATURE = {"graph": "event graph:", "twin": "slow machine:"}


def _name(bug: Planted) -> str:
    return f"{bug.mistake.__name__.strip('_')}-{bug.where}"


def _first_finding(bug: Planted) -> tuple[int, list[str]] | None:
    for seed in SEEDS:
        schedule = random_schedule(seed, fifo_channels=bug.fifo_channels)
        is_whole = bug.where == "endpoint"
        found = judge(schedule, compares_twins=bug.judge == "twin", is_whole=is_whole)
        if any(text.startswith(_SIGNATURE[bug.judge]) for text in found):
            return seed, found
    return None


@pytest.mark.parametrize("bug", PLANTED, ids=_name)
def test_planted_bug_is_found(bug: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge that is responsible for this mistake complains before the seeds run out."""
    plant(bug, monkeypatch)
    finding = _first_finding(bug)
    assert finding, f"{_name(bug)} went unnoticed in {len(SEEDS)} schedules"


@pytest.mark.parametrize("bug", [bug for bug in PLANTED if bug.judge == "twin"], ids=_name)
def test_order_of_a_mere_deviation_is_still_causal(
    bug: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What only the twin finds is no causal violation: the event graph has nothing to say."""
    plant(bug, monkeypatch)
    for seed in SEEDS[:30]:
        schedule = random_schedule(seed, fifo_channels=bug.fifo_channels)
        is_whole = bug.where == "endpoint"
        assert not judge(schedule, compares_twins=False, is_whole=is_whole), f"seed {seed}"

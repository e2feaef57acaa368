"""One wrong delivery among millions is found, with little memory."""

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.pipeline.large_trace import write_large_domain, write_large_trace

from antiphon.pipeline.verify import verify
from antiphon.trace.verdict import Property, Status

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor

pytestmark = pytest.mark.slow

NOT_ASKED = (
    Property.VIEW_ATOMIC,
    Property.TOTAL,
    Property.TOTAL_CAUSAL,
    Property.UNIFORM,
    Property.COMMIT,
)


@pytest.mark.parametrize("run_length", [1, 40], ids=["single messages", "runs"])
def test_one_delivery_held_back_among_millions_is_found(
    executor: "Executor", tmp_path: Path, run_length: int
) -> None:
    """Exactly the run that was delivered while an earlier one was missing is wrong."""
    folder = write_large_trace(
        tmp_path / "large",
        process_count=16,
        round_count=8_000,
        run_length=run_length,
        swapped_at=5_000,
    )
    verdict = verify(executor, folder)
    assert verdict.delivery_count == 16 * 16 * 8_000 * run_length
    causal = verdict.of(Property.CAUSAL)
    assert causal.violation_count == run_length
    assert {item.process for item in causal.violations} == {"p015"}
    for which in Property:
        expected = Status.VIOLATED if which is Property.CAUSAL else Status.HOLDS
        if which in NOT_ASKED:
            expected = Status.UNKNOWN
        assert verdict.of(which).status is expected, which


def test_one_message_missing_when_a_view_is_left_is_found_among_a_million(
    executor: "Executor", tmp_path: Path
) -> None:
    """The last process goes on from view 12 without one message, and from no other view."""
    folder = write_large_trace(
        tmp_path / "large",
        process_count=16,
        round_count=4_000,
        run_length=1,
        view_count=20,
        dropped_at=12 * 200 - 1,
    )
    verdict = verify(executor, folder)
    assert verdict.delivery_count == 16 * 16 * 4_000 - 1
    expected = {Property.AGREEMENT: 1, Property.VIEW_ATOMIC: 1, Property.LIVENESS: 1}
    counts = {item.property: item.violation_count for item in verdict.properties}
    assert {which: count for which, count in counts.items() if count} == expected
    [violation] = verdict.of(Property.VIEW_ATOMIC).violations
    assert violation.process == "p015"
    assert violation.message is not None
    assert (violation.message.number, violation.message.view) == (200, 12)


def overlapping_groups() -> dict[str, list[str]]:
    """Return 50 groups of 5 among 60 processes."""
    dice, names = Random(1), [f"p{number:03}" for number in range(60)]
    return {f"g{number:02}": sorted(dice.sample(names, 5)) for number in range(50)}


def test_one_delivery_held_back_across_groups_is_found_among_a_million(
    executor: "Executor", tmp_path: Path
) -> None:
    """A process has one message after those of later rounds, of its other groups, too."""
    groups = overlapping_groups()
    verdict = verify(executor, write_large_domain(tmp_path / "right", groups, 3_000))
    assert verdict.event_count > 900_000
    assert verdict.of(Property.CAUSAL).status is Status.HOLDS
    assert verdict.of(Property.NO_ORPHAN).status is Status.HOLDS
    wrong = write_large_domain(tmp_path / "wrong", groups, 3_000, swapped_at=1_700)
    causal = verify(executor, wrong).of(Property.CAUSAL)
    assert {item.process for item in causal.violations} == {"p000"}
    assert 5 < causal.violation_count < 100
    groups_of = [
        {item.message.group, item.earlier.group}
        for item in causal.violations
        if item.message and item.earlier
    ]
    assert any(len(pair) == 2 for pair in groups_of)

"""No property holds for want of anything that could break it, whoever judges."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.oracle.untested_traces import CASES
from tests.trace.hand_written import deliver, multicast, write_rows

from antiphon.oracle import judge
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.verify import verify
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status, Verdict

Judge = Callable[[list[Event]], Verdict]


@pytest.fixture(params=["oracle", "local"])
def judged(request: pytest.FixtureRequest, tmp_path: Path) -> Judge:
    """Return each of those who judge in this process."""
    if request.param == "oracle":
        return judge
    return lambda rows: verify(LocalExecutor(), write_rows(tmp_path / "log.ndjson", rows))


@pytest.mark.parametrize("name", CASES)
def test_what_nothing_puts_to_the_test_is_unknown(judged: Judge, name: str) -> None:
    """With the reason, and the hint that cures it; once cured, it holds."""
    case = CASES[name]
    found = judged(case.rows).of(case.property)
    assert (found.status, found.reason) == (Status.UNKNOWN, case.reason)
    assert judged([*case.rows, *case.cure]).of(case.property).status is Status.HOLDS


def test_every_property_that_can_be_vacuous_is_tried() -> None:
    """Views, and what is never delivered twice, are judged wherever there is a row."""
    tried = {case.property for case in CASES.values()}
    assert set(Property) - tried == {Property.NO_DUPLICATE, Property.VIEWS}


def test_several_senders_without_rows_are_counted_and_named(judged: Judge) -> None:
    """The hint is for all of them."""
    rows = [deliver("B", "x"), deliver("B", "y"), multicast("C"), deliver("B", "C")]
    found = judged(rows).of(Property.FIFO)
    assert found.status is Status.HOLDS
    assert "2 senders are never processes (x, y): add their multicasts" in found.reason


def test_deliveries_in_doubt_are_not_counted_among_the_wrong_ones(judged: Judge) -> None:
    """One is made up; what a sender without rows may have multicast is told apart."""
    rows = [multicast("A"), deliver("B", "A", 7), deliver("B", "ghost", 1, 5)]
    found = judged(rows).of(Property.NO_CREATION)
    assert (found.status, found.violation_count) == (Status.VIOLATED, 1)
    assert [str(item.message) for item in found.violations] == ["message 7 of A"]
    assert found.reason.startswith("5 deliveries are of messages whose multicast may be")

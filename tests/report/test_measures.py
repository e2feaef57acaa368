"""What is counted and timed, and what is left out where clocks cannot be compared."""

import pytest
from tests.report.worlds import CHAT, record_of, row, rows_of

from antiphon.report.matching import Origins
from antiphon.report.measures import Measures, measures_of
from antiphon.trace.distribution import Distribution
from antiphon.trace.reader import Row
from antiphon.trace.schema import Event


def measured(rows: list[Row]) -> Measures:
    """Return the measures of a trace."""
    record = record_of(rows)
    return measures_of(record, Origins(record))


TIMED = rows_of(
    Event(process="A", kind="multicast", first=1, count=4, time_us=100, overhead_bytes=20),
    Event(process="A", kind="multicast", first=5, time_us=200, overhead_bytes=30, bytes=60),
    Event(process="B", kind="receive", sender="A", first=1, count=4, time_us=150, queue_depth=1),
    Event(process="B", kind="receive", sender="A", first=5, time_us=300, queue_depth=2),
    Event(process="B", kind="deliver", sender="A", first=1, count=4, time_us=1100, queue_depth=1),
    Event(process="B", kind="deliver", sender="A", first=5, time_us=1200),
)


def test_messages_are_counted_not_rows() -> None:
    """A row of four messages counts four times."""
    counts = {item.name: item for item in measured(TIMED).processes}
    assert (counts["A"].multicast_runs, counts["A"].multicast_messages) == (2, 5)
    assert (counts["B"].delivered_runs, counts["B"].delivered_messages) == (2, 5)
    assert counts["B"].held_runs == 2
    assert counts["B"].depth_max == 2


def test_delays_are_from_multicast_and_from_arrival_to_delivery() -> None:
    """All five took 1,000 us; four of them waited 950 us in the queue, one 900."""
    measures = measured(TIMED)
    assert measures.is_comparable
    assert measures.delays.total == 5
    assert measures.delays.quantile(0.5) == pytest.approx(1000, rel=0.02)
    assert measures.held.quantile(0.1) == pytest.approx(900, rel=0.02)
    assert measures.held.quantile(1.0) == pytest.approx(950, rel=0.02)


def test_headers_are_shared_by_the_messages_of_a_run() -> None:
    """20 bytes for four, 30 for one."""
    headers = measured(TIMED).headers
    assert headers.by_length == {1: (30, 1), 4: (20, 4)}
    assert (headers.byte_count, headers.message_count, headers.payload_bytes) == (50, 5, 60)


def test_delivery_before_multicast_shows_that_clocks_differ() -> None:
    """Then delays are of no use, and view changes are not timed."""
    measures = measured(
        rows_of(row("A", "multicast", time_us=9), row("B", "deliver", "A", time_us=5))
    )
    assert measures.early_count == 1
    assert not measures.is_comparable
    assert measures.changes == []


def test_trace_without_times_has_counts_only() -> None:
    """A log that says only who did what is measured as far as it goes."""
    measures = measured(CHAT)
    assert not measures.has_times
    assert [item.delivered_messages for item in measures.processes] == [1, 1, 2]
    assert measures.delays.total == 0


def test_view_change_lasts_from_its_first_sign_to_its_last_installation() -> None:
    """A suspicion of who is not in the view any more is its first sign; others are none."""
    changes = measured(
        rows_of(
            Event(process="A", kind="view", members=["A", "B", "C"], time_us=10),
            Event(process="B", kind="view", members=["A", "B", "C"], time_us=11),
            Event(process="A", kind="suspect", sender="B", time_us=40),
            Event(process="B", kind="suspect", sender="C", time_us=50),
            Event(process="A", kind="view", view=2, members=["A", "B"], time_us=70),
            Event(process="B", kind="view", view=2, members=["A", "B"], time_us=90),
            Event(process="A", kind="view", view=3, members=["A", "B", "D"], time_us=100),
        )
    ).changes
    assert [(change.name, change.sign_us, change.duration_us) for change in changes] == [
        ("view 2", 40, 40),
        ("view 3", None, 0),
    ]


def test_distribution_is_exact_to_two_percent() -> None:
    """Quantiles of the numbers up to 10,000 are themselves, nearly."""
    distribution = Distribution()
    for value in range(10_001):
        distribution.add(value, 1)
    for part in (0.01, 0.5, 0.99):
        assert distribution.quantile(part) == pytest.approx(10_000 * part, rel=0.02)

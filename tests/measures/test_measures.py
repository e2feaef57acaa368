"""What is measured in a run: the same by whoever computes it, and as the page shows it."""

from pathlib import Path
from random import Random

import msgspec
import pytest
from tests.report.worlds import record_of

from antiphon.core.errors import TraceError
from antiphon.pipeline.measures.gathering import RunMeasures
from antiphon.pipeline.measures.measuring import measure, measure_events
from antiphon.pipeline.measures.streams import add_values
from antiphon.pipeline.measures.tables import SCHEMAS, tables_of
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.tables.table import Executor
from antiphon.report.matching import Origins
from antiphon.report.measures import measures_of
from antiphon.sim.scenario import Scenario, Step
from antiphon.sim.steady_group import Options, simulate
from antiphon.sim.workload import WorkloadOptions
from antiphon.sim.world import World
from antiphon.trace.distribution import EXACT, Distribution, bounds_of, bucket_of
from antiphon.trace.schema import Event

TIMED = [
    Event(process="A", kind="view", members=["A", "B", "C"], time_us=0),
    Event(process="A", kind="multicast", first=1, count=4, time_us=100, overhead_bytes=20, bytes=8),
    Event(process="A", kind="multicast", first=5, time_us=200, overhead_bytes=30, bytes=60),
    Event(process="A", kind="deliver", sender="A", first=1, count=5, time_us=210),
    Event(process="B", kind="receive", sender="A", first=1, count=4, time_us=150, queue_depth=1),
    Event(process="B", kind="receive", sender="A", first=5, time_us=300, queue_depth=2),
    Event(process="B", kind="deliver", sender="A", first=1, count=4, time_us=1100, queue_depth=1),
    Event(process="B", kind="deliver", sender="A", first=5, time_us=1200),
    Event(process="C", kind="deliver", sender="A", first=1, count=2, time_us=130),
    Event(process="C", kind="deliver", sender="A", first=3, count=2, time_us=180),
]


def written(events: list[Event], folder: Path) -> Path:
    """Write rows as a file per process."""
    for name in {event.process for event in events}:
        rows = [event for event in events if event.process == name]
        lines = b"".join(msgspec.json.encode(event) + b"\n" for event in rows)
        (folder / f"{name}.ndjson").write_bytes(lines)
    return folder


def buckets_of(run: RunMeasures) -> dict[str, dict[int, int]]:
    """Return the distributions of the whole run."""
    return {name: run.of(name).buckets for name in run.distributions}


def test_delays_count_messages_at_others() -> None:
    """Five at B after 1,000 us, four at C after 30 or 80 us; A's own are left out."""
    run = measure_events(TIMED, "r")
    delays = run.of("delivery_delay")
    assert delays.total == 9
    assert (delays.low, delays.high) == (30, 1000)
    assert delays.mean == pytest.approx((5 * 1000 + 2 * 30 + 2 * 80) / 9)
    assert run.distributions["delivery_delay"]["C"].total == 4
    assert "A" not in run.distributions["delivery_delay"]


def test_hold_time_is_from_arrival_to_delivery() -> None:
    """Four waited 950 us at B, one 900; C records no arrivals."""
    holds = measure_events(TIMED, "r").of("hold_time")
    assert (holds.total, holds.low, holds.high) == (5, 900, 950)


def test_message_is_stable_when_the_last_member_has_it() -> None:
    """Four are at C, the last to have them, after 80 us; the fifth is never there."""
    run = measure_events(TIMED, "r")
    lags = run.of("stability_lag")
    assert (lags.total, lags.low, lags.high) == (4, 80, 80)
    assert run.unstable_count == 1


def test_message_for_some_is_delayed_and_never_stable() -> None:
    """It is to C alone, and the stability of the others is as it was."""
    row = Event(process="A", kind="multicast", first=6, time_us=400, to=["C"])
    got = Event(process="C", kind="deliver", sender="A", first=6, time_us=450)
    before, run = measure_events(TIMED, "r"), measure_events([*TIMED, row, got], "r")
    assert run.of("delivery_delay").total == before.of("delivery_delay").total + 1
    assert run.of("stability_lag") == before.of("stability_lag")
    assert run.unstable_count == before.unstable_count


def test_repeated_copy_does_not_make_stability_later() -> None:
    """What was received twice was there the first time."""
    again = Event(process="B", kind="receive", sender="A", first=1, count=4, time_us=5000)
    lags = measure_events([*TIMED, again], "r").of("stability_lag")
    assert lags.high == 80
    assert measure_events([*TIMED, again], "r").of("hold_time").high == 950


def test_headers_and_queues_are_counted_per_row() -> None:
    """A run has one header; every row tells how long the queue is."""
    run = measure_events(TIMED, "r")
    assert run.of("header_bytes").buckets == {20: 1, 30: 1}
    assert run.of("queue_length").total == len(TIMED)
    assert run.of("queue_length").high == 2
    assert run.count_of("multicast").messages == 5


def test_clocks_that_differ_leave_delays_out() -> None:
    """Whatever compares clocks is left out, with the number of rows; holds are not."""
    early = Event(process="D", kind="deliver", sender="A", first=1, time_us=50)
    run = measure_events([*TIMED, early], "r")
    assert run.incomparable.startswith("1 rows deliver what")
    assert set(run.distributions) == {"hold_time", "queue_length", "header_bytes"}
    assert not run.changes


def test_run_is_measured_as_the_page_shows_it() -> None:
    """Crash, suspicion and new view included: the same delays, holds, headers and durations."""
    steps = (Step(200_000, "crash", ("p4",), 1),)
    events = World(Scenario(seed=3, founders=4, messages=60, steps=steps)).run().events
    ours = measure_events(events, "r")
    record = record_of([(event, "", 1) for event in events])
    page = measures_of(record, Origins(record))
    assert ours.changes
    assert [item.duration_us for item in ours.changes] == [
        item.duration_us for item in page.changes
    ]
    assert ours.of("delivery_delay") == page.delays
    assert ours.of("hold_time") == page.held
    assert sum(each.header_messages for each in ours.processes.values()) == (
        page.headers.message_count
    )
    assert ours.of("header_bytes").weighted_sum == page.headers.byte_count


def test_tables_are_the_same_whoever_computes_them(executor: Executor, tmp_path: Path) -> None:
    """Files in parts give what rows in memory give."""
    options = Options(seed=5, workload=WorkloadOptions(message_count=300))
    events = simulate(options)
    for event in events:
        event.run = "r"
    [run] = measure(executor, written(events, tmp_path)).values()
    expected = measure_events(events, "r")
    assert buckets_of(run) == buckets_of(expected)
    assert run.unstable_count == expected.unstable_count == 0
    tables, others = tables_of([run]), tables_of([expected])
    assert {name: tables[name].num_rows for name in tables} == {
        name: others[name].num_rows for name in others
    }
    assert tables["kinds"].equals(others["kinds"])


def test_workers_measure_as_this_process_does(tmp_path: Path) -> None:
    """Files may be read side by side."""
    folder = written(TIMED, tmp_path)
    [alone] = measure(LocalExecutor(), folder).values()
    [side_by_side] = measure(LocalExecutor(2), folder).values()
    assert buckets_of(alone) == buckets_of(side_by_side)


def test_bad_line_is_named(tmp_path: Path) -> None:
    """The reader's sentence reaches the user."""
    (tmp_path / "a.ndjson").write_text('{"process": "A", "kind": "start"}\nnonsense\n{}\n')
    with pytest.raises(TraceError, match=r"a\.ndjson:2: not JSON"):
        measure(LocalExecutor(), tmp_path)


def test_many_values_are_counted_as_one_by_one() -> None:
    """The vectorised way to count gives the same buckets."""
    import numpy as np

    random = Random(1)
    values = [*range(200), *(random.randrange(10**9) for _ in range(3_000))]
    weights = [random.randrange(1, 5) for _ in values]
    slow, fast = Distribution(), Distribution()
    for value, weight in zip(values, weights, strict=True):
        slow.add(value, weight)
    add_values(fast, np.array(values), np.array(weights))
    assert fast.buckets == slow.buckets
    assert (fast.total, fast.low, fast.high) == (slow.total, slow.low, slow.high)
    assert fast.weighted_sum == pytest.approx(slow.weighted_sum)


def test_buckets_hold_what_is_counted_in_them() -> None:
    """Small integers are exact, larger ones 2 % at most."""
    for value in [*range(120), 10**6, 10**12]:
        low, above = bounds_of(bucket_of(value))
        assert low <= value * 1.000001
        assert value <= above * 1.000001
        assert above - low <= max(1, low * 0.0201)
    assert bounds_of(EXACT - 1) == (EXACT - 1, EXACT)


def test_page_tells_every_column() -> None:
    """docs/measures.md has a row for each column of each table."""
    page = (Path(__file__).parents[2] / "docs" / "measures.md").read_text(encoding="utf-8")
    for name, schema in SCHEMAS.items():
        _, found, section = page.partition(f"\n### `{name}.parquet`")
        assert found, name
        section = section.partition("\n##")[0]
        missing = [column for column in schema.names if f"| `{column}` |" not in section]
        assert not missing, f"{name}: {missing}"

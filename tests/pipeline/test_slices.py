"""Slices of a log: no false alarm, true ones are found, and whoever judges says the same."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.pipeline.damage import DAMAGE
from tests.pipeline.shares import share_of
from tests.pipeline.slices import correct_trace, sliced
from tests.pipeline.test_agrees_with_oracle import TINY, differences
from tests.pipeline.trace_generator import random_trace
from tests.trace.hand_written import deliver, multicast, start, stop, view, write_rows

from antiphon.core.errors import TraceError, UsageError
from antiphon.oracle import judge
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.verify import verify, verify_all
from antiphon.trace.reader import read_rows
from antiphon.trace.schema import EARLY, LATE, Event
from antiphon.trace.verdict import EVERYBODY, Property, Status, Terms

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor

SEEDS = range(400)
BOTH_ENDS = Terms(begins_late=(EVERYBODY,), ends_early=(EVERYBODY,))


def test_no_slice_of_a_right_trace_is_violated() -> None:
    """Taken as a whole, many of them would be: in each respect that a cut can seem to break."""
    alarms: Counter[Property] = Counter()
    held: Counter[Property] = Counter()
    for seed in SEEDS:
        rows = correct_trace(seed)
        if judge(rows).is_violated:
            continue  # not all arrived
        part, terms = sliced(rows, Random(seed))
        verdict = judge(part, terms=terms)
        assert not verdict.is_violated, f"seed {seed}: {verdict}"
        held.update(item.property for item in verdict.properties if item.status is Status.HOLDS)
        wrong = [item for item in judge(part).properties if item.status is Status.VIOLATED]
        alarms.update(item.property for item in wrong)
    for which in Property:
        assert held[which] > len(SEEDS) // 10, (which, held)
    for which in (Property.FIFO, Property.CAUSAL, Property.NO_CREATION, Property.AGREEMENT):
        assert alarms[which] > len(SEEDS) // 20, (which, alarms)


@pytest.mark.parametrize("which", DAMAGE, ids=str)
def test_damage_inside_a_slice_is_found(which: Property) -> None:
    """What the window alone proves to be wrong is violated."""
    count = 0
    for seed in SEEDS:
        part, terms = sliced(correct_trace(seed), Random(seed))
        if DAMAGE[which](part, Random(seed)):
            count += 1
            found = judge(part, terms=terms).of(which)
            assert found.status is Status.VIOLATED, f"seed {seed}: {found}"
    assert count >= 30


def test_slices_have_the_oracles_verdicts(executor: "Executor", tmp_path: Path) -> None:
    """Right ones and spoilt ones, word for word: cut at both ends, and telling so themselves."""
    seen: Counter[tuple[Property, Status]] = Counter()
    lines: list[bytes] = []
    traces: dict[str, list[tuple[Event, str, int]]] = {}
    path = tmp_path / "slices.ndjson"
    for seed in share_of(range(200), executor):
        rows = correct_trace(seed) if seed % 2 else random_trace(seed)
        part, _ = sliced([msgspec.structs.replace(row, index=-1) for row in rows], Random(seed))
        for row in part:
            row.run = f"seed-{seed}"
            lines.append(msgspec.json.encode(row))
            traces.setdefault(row.run, []).append((row, str(path), len(lines)))
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = verify_all(executor, [path], grain=TINY, terms=BOTH_ENDS)
    for run, placed in traces.items():
        expected = judge(placed, run, BOTH_ENDS)
        assert msgspec.structs.replace(expected, engine=executor.name) == found[run], run
        seen.update((item.property, item.status) for item in expected.properties)
    for which in Property if executor.name == "local" else ():  # Spark judges fewer
        assert min(seen[which, status] for status in Status) > 0, (which, seen)


def test_record_says_itself_that_it_is_a_slice() -> None:
    """With a start row that is late, and a stop row that is early, no option is needed."""
    rows = [multicast("A", 1, 3), deliver("B", "A", 2)]
    assert judge(rows).is_violated
    late = Event(process="B", kind="start", detail=LATE)
    told = [late, *rows, stop("B", EARLY)]
    verdict = judge(told)
    assert not verdict.is_violated
    assert verdict.of(Property.FIFO).reason == (
        "1 process is not held to what may have come before the record, which begins late: B"
    )


@pytest.mark.parametrize(
    "terms", [Terms(begins_late=("B",)), BOTH_ENDS], ids=["by name", "everybody"]
)
def test_rows_of_a_late_record_are_numbered_from_anywhere(tmp_path: Path, terms: Terms) -> None:
    """But without gaps; whoever does not say that it is late is refused."""
    rows = [multicast("A", 1, 2), deliver("B", "A", 1, index=7), deliver("B", "A", 2, index=8)]
    path = write_rows(tmp_path / "log.ndjson", rows)
    assert not judge(read_rows(path, terms), terms=terms).is_violated
    assert not verify(LocalExecutor(), path, terms=terms).is_violated
    with pytest.raises(TraceError, match="go on with 7 where 0 was expected"):
        verify(LocalExecutor(), path)


def test_start_and_quiet_stop_outweigh_everybody() -> None:
    """Who shows its beginning does not begin late, who ends quietly does not end early."""
    rows = [
        start("A"),
        start("B"),
        multicast("A", 1, 2),
        deliver("B", "A", 2),
        stop("A"),
        stop("B"),
    ]
    expected = {Property.FIFO, Property.CAUSAL, Property.AGREEMENT, Property.LIVENESS}
    wrong = {item.property for item in judge(rows, terms=BOTH_ENDS).properties if item.violations}
    assert wrong == expected | {Property.NO_ORPHAN}


def test_view_that_a_late_record_shows_is_judged_whole() -> None:
    """What B lacks of view 2, which it installed on the record, is missing."""
    rows = [view("A", "A", "B", view=2), view("B", "A", "B", view=2)]
    rows += [multicast("A", view=2), deliver("A", "A", view=2)]
    rows += [view("A", "A", "B", view=3), view("B", "A", "B", view=3)]
    assert judge(rows, terms=BOTH_ENDS).of(Property.VIEW_ATOMIC).violation_count == 1


def test_names_that_are_not_in_the_trace_are_refused(tmp_path: Path) -> None:
    """One sentence says which there are, whoever judges."""
    path = write_rows(tmp_path / "log.ndjson", [multicast("A"), deliver("B", "A")])
    terms = Terms(ends_early=("bob",))
    sentence = "--ends-early: no process 'bob' is in the trace: it has A, B"
    with pytest.raises(UsageError, match=sentence):
        judge(read_rows(path), terms=terms)
    with pytest.raises(UsageError, match=sentence):
        verify(LocalExecutor(), path, terms=terms)


def test_subscriptions_have_the_oracles_verdicts(tmp_path: Path) -> None:
    """Some of those who take part, and one who does not, are to receive the messages of a group."""
    terms = Terms(subscriptions={"g": ("p0", "p2", "nobody")}, begins_late=(EVERYBODY,))
    path, lines = tmp_path / "topics.ndjson", list[bytes]()
    traces: dict[str, list[tuple[Event, str, int]]] = {}
    for seed in range(300):
        rows = [msgspec.structs.replace(row, index=-1) for row in random_trace(seed)]
        if not any(
            row.group == "g" and row.kind in {"view", "multicast", "deliver"} for row in rows
        ):
            continue
        for row in rows:
            row.run = f"seed-{seed}"
            lines.append(msgspec.json.encode(row))
            traces.setdefault(row.run, []).append((row, str(path), len(lines)))
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = verify_all(LocalExecutor(), [path], grain=TINY, terms=terms)
    seen: Counter[tuple[Property, Status]] = Counter()
    for run, placed in traces.items():
        expected = judge(placed, run, terms)
        assert differences(expected, found[run]) == [], run
        seen.update((item.property, item.status) for item in expected.properties)
    for which in (Property.FIFO, Property.AGREEMENT, Property.LIVENESS, Property.SELF_DELIVERY):
        assert min(seen[which, status] for status in Status) > 0, (which, seen)

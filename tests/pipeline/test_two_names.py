"""Processes of several names in the groups of a domain: nothing else changes for a verdict."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.pipeline.domain_worlds import random_world
from tests.pipeline.shares import share_of
from tests.pipeline.test_agrees_with_oracle import TINY
from tests.pipeline.test_domains import judge_worlds
from tests.trace.hand_written import deliver, multicast, start, write_rows

from antiphon.core.errors import TraceError
from antiphon.oracle import judge
from antiphon.pipeline.compact import compact
from antiphon.pipeline.survey.grain import Grain
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.verify import verify
from antiphon.trace.reader import read_rows
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor

ACROSS = (Property.CAUSAL, Property.NO_ORPHAN, Property.TOTAL_CAUSAL)


def renamed(rows: list[Event], dice: Random) -> list[Event]:
    """Return the same, but that some processes are called otherwise in some of their groups."""
    groups = sorted({row.group for row in rows if row.group})
    names = sorted({row.process for row in rows})
    others: dict[tuple[str, str], str] = {}
    for name in dice.sample(names, dice.randint(1, len(names))):
        for group in groups:
            others[name, group] = dice.choice([name, f"{name}~2", f"{name}~3"])
    found: list[Event] = []
    for row in rows:
        if not row.group:  # each name begins and ends for itself
            also = {other for (name, _), other in others.items() if name == row.process}
            found += [_recorded(row, other) for other in sorted({row.process, *also})]
            continue
        members = row.members and [others.get((name, row.group), name) for name in row.members]
        told = msgspec.structs.replace(
            row, members=members, sender=others.get((row.sender, row.group), row.sender)
        )
        found.append(_recorded(told, others.get((row.process, row.group), row.process)))
    following: Counter[str] = Counter()
    for row in found if rows[0].index >= 0 else ():
        row.index = following[row.record]
        following[row.record] += 1
    return found


def _recorded(row: Event, name: str) -> Event:
    record = row.process if name != row.process else ""
    return msgspec.structs.replace(row, process=name, recorded_as=record)


@pytest.mark.parametrize(
    ("grain", "seeds"),
    [(TINY, range(20_000, 20_150)), (Grain(), range(20_150, 20_300))],
    ids=["tiny grain", "default grain"],
)
def test_names_make_no_difference(
    executor: "Executor", tmp_path: Path, grain: Grain, seeds: range
) -> None:
    """What was planted is found, as often as where everybody has one name; by all, in one voice."""
    traces: dict[str, list[Event]] = {}
    for seed in share_of(seeds, executor):
        rows, _ = random_world(seed)
        traces[f"seed-{seed}"] = renamed(rows, Random(f"names {seed}"))
        before, after = judge(rows), judge(traces[f"seed-{seed}"])
        for which in ACROSS:
            one, other = before.of(which), after.of(which)
            said = (seed, which, one, other)
            assert (one.status, one.violation_count) == (other.status, other.violation_count), said
    seen = judge_worlds(executor, tmp_path / "t", traces, grain)
    assert seen[Property.CAUSAL, Status.VIOLATED] > len(traces) // 20


def _numbered(rows: list[Event]) -> list[Event]:
    following: Counter[str] = Counter()
    for row in rows:
        row.index = following[row.record]
        following[row.record] += 1
    return rows


def _two_names() -> list[Event]:
    rows = [
        start("A"), start("A~2"), multicast("A", group="g"), multicast("A~2", group="h"),
        multicast("A", 2, group="g"), deliver("A~2", "A~2", group="h"),
    ]  # fmt: skip
    for row in rows:
        row.recorded_as = "A" if row.process == "A~2" else ""
    return _numbered(rows)


def test_rows_of_a_record_are_numbered_together(executor: "Executor", tmp_path: Path) -> None:
    """A gap is one whatever the name; so in JSON and in Parquet, and the sentence is the same."""
    rows = _two_names()
    path = write_rows(tmp_path / "right" / "t.ndjson", rows)
    assert verify(executor, path).of(Property.CAUSAL).status is not Status.VIOLATED
    compact(LocalExecutor(), path, tmp_path / "columns")
    verify(executor, tmp_path / "columns")
    del rows[3]
    path = write_rows(tmp_path / "wrong" / "t.ndjson", rows)
    with pytest.raises(TraceError, match=r"4: row 4 of 'A' follows row 2") as told:
        judge(read_rows(path))
    with pytest.raises(TraceError) as refusal:
        verify(executor, path)
    assert str(refusal.value) == str(told.value)


def test_a_name_is_in_one_record(executor: "Executor", tmp_path: Path) -> None:
    """Else nobody knows whose it is."""
    rows = _two_names()
    rows[5].recorded_as, rows[5].index = "B", 0
    path = write_rows(tmp_path / "t.ndjson", rows)
    said = "6: a row of 'A~2' in the record of 'B', and an earlier one in that of 'A'"
    with pytest.raises(TraceError, match=said):
        judge(read_rows(path))
    with pytest.raises(TraceError, match=said):
        verify(executor, path)


def test_a_journal_holds_rows_of_its_process_under_any_name(tmp_path: Path) -> None:
    """And no others."""
    rows = _two_names()
    path = write_rows(tmp_path / "A" / "000001.ndjson", rows)
    assert len(list(read_rows(path.parent.parent))) == len(rows)
    rows[3].recorded_as = "B"
    write_rows(tmp_path / "A" / "000001.ndjson", rows)
    with pytest.raises(TraceError, match="a row of 'B' in the journal of 'A'"):
        list(read_rows(tmp_path))

"""Messages that say who is to receive them: nobody else owes them, and whoever judges agrees."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.logs.chat import same_from_both
from tests.pipeline.shares import share_of
from tests.pipeline.test_agrees_with_oracle import TINY, differences
from tests.pipeline.trace_generator import random_trace
from tests.trace.hand_written import deliver, multicast, start, stop, write_rows

from antiphon.core.errors import TraceError
from antiphon.oracle import judge
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.verify import verify, verify_all
from antiphon.trace import words
from antiphon.trace.schema import SETS_ORDER, Event
from antiphon.trace.verdict import Property, Status, Verdict

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor

WRONG_WITHOUT = {Property.AGREEMENT, Property.LIVENESS}


def to(row: Event, *names: str) -> Event:
    """Return a multicast that is for these alone."""
    return msgspec.structs.replace(row, to=list(names))


def statuses(verdict: Verdict) -> dict[Property, Status]:
    """Return the status of each property."""
    return {item.property: item.status for item in verdict.properties}


def aimed(seed: int) -> list[Event]:
    """Return a random trace, some of its multicasts for some, by few sets, often nested ones.

    In most of them, nobody delivers what is for others; in some, groups are of one domain.
    """
    dice = Random(f"aimed {seed}")
    rows = [
        msgspec.structs.replace(row, index=-1, run=f"seed-{seed}") for row in random_trace(seed)
    ]
    names = [*sorted({row.process for row in rows}), "nobody"]
    dice.shuffle(names)
    is_nested = dice.random() < 0.5
    sets = [
        names[:size] if is_nested else dice.sample(names, size)
        for size in (dice.randint(0, len(names)) for _ in range(dice.randint(1, 4)))
    ]
    aims: dict[tuple[str, str, int, int], list[str]] = {}
    found = []
    domain = "d" if seed % 3 == 0 else ""
    for row in rows:
        row.domain = domain
        row.detail = SETS_ORDER if row.kind == "multicast" and seed % 7 == 0 else row.detail
        known = [aim for aim in sets if not is_nested or row.process in aim]
        if known and dice.random() < 0.6:  # on rows of other kinds it means nothing
            row.to = dice.choice(known)
        numbers = range(row.first, min(row.first + row.count, row.first + 100))
        if row.kind == "multicast" and row.to:
            aims |= {(row.process, row.group, row.view, number): row.to for number in numbers}
        whom = [aims.get((row.sender, row.group, row.view, number), names) for number in numbers]
        is_for_others = any(row.process not in {row.sender, *aim} for aim in whom)
        if seed % 4 == 0 or row.kind != "deliver" or not is_for_others:
            found.append(row)
    return found or rows


def test_verdicts_are_the_oracles(executor: "Executor", tmp_path: Path) -> None:
    """Word for word, right traces and spoilt ones, with every set of names there may be."""
    path, lines = tmp_path / "aimed.ndjson", list[bytes]()
    traces: dict[str, list[tuple[Event, str, int]]] = {}
    for seed in share_of(range(600), executor):
        for row in aimed(seed):
            lines.append(msgspec.json.encode(row))
            traces.setdefault(row.run, []).append((row, str(path), len(lines)))
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = verify_all(executor, [path], grain=TINY)
    seen: Counter[tuple[Property, Status]] = Counter()
    rounds = kept = across = 0
    for run, placed in traces.items():
        expected = judge(placed, run)
        assert differences(expected, found[run]) == [], run
        seen.update((item.property, item.status) for item in expected.properties)
        causal = expected.of(Property.CAUSAL)
        rounds += words.OVERLAPPING in causal.reason
        kept += words.ADDRESSED in causal.reason and causal.status is Status.HOLDS
        across += words.ADDRESSED_ACROSS in causal.reason
    assert min(rounds, kept, across) > len(traces) // 50, (rounds, kept, across)
    for which in Property if executor.name == "local" else ():
        assert min(seen[which, status] for status in Status) > 0, (which, seen)


def test_letters_to_one_are_owed_by_one(tmp_path: Path) -> None:
    """A tells B something, and C something else: without `to`, both would lack what the other has.

    Nobody has to agree with anybody; and no chain can go round, as what A tells is for one of them.
    """
    rows = [
        to(multicast("A", 1), "B"), to(multicast("A", 2), "C"),
        deliver("B", "A", 1), deliver("C", "A", 2),
    ]  # fmt: skip
    path = write_rows(tmp_path / "to.ndjson", rows)
    found = statuses(same_from_both(path))
    assert Status.VIOLATED not in found.values()
    assert found[Property.LIVENESS] is found[Property.FIFO] is Status.HOLDS
    assert found[Property.AGREEMENT] is Status.UNKNOWN, "nobody shares anything"
    open_rows = [msgspec.structs.replace(row, to=None) for row in rows]
    wrong = statuses(judge(open_rows))
    assert {which for which, status in wrong.items() if status is Status.VIOLATED} > WRONG_WITHOUT


def test_whom_it_is_to_owes_it(tmp_path: Path) -> None:
    """Also one that has no other row about messages at all: it is named, so it is a member."""
    rows = [to(multicast("A"), "B", "C"), deliver("B", "A"), start("C"), stop("C")]
    verdict = same_from_both(write_rows(tmp_path / "to.ndjson", rows))
    [violation] = verdict.of(Property.LIVENESS).violations
    assert violation.process == "C"
    assert words.ADDRESSED in verdict.of(Property.LIVENESS).reason


def test_who_delivers_what_was_for_others_has_made_it_up(tmp_path: Path) -> None:
    """But for who multicast it: it may have its own whether it lists itself or not."""
    rows = [
        to(multicast("A", 1, 2), "B"), deliver("B", "A", 1, 2), deliver("A", "A", 1, 2),
        deliver("C", "A", 2),
    ]  # fmt: skip
    verdict = same_from_both(write_rows(tmp_path / "to.ndjson", rows)).of(Property.NO_CREATION)
    [violation] = verdict.violations
    assert violation.text == "C delivered message 2 of A, which was not `to` it"
    assert [link.line for link in violation.chain] == [1, 4]


def test_what_comes_first_is_judged_among_those_it_is_to(tmp_path: Path) -> None:
    """B answers A's question; C gets both, in the wrong order; D is not asked."""
    rows = [
        to(multicast("A"), "B", "C"), deliver("B", "A"), to(multicast("B"), "A", "B", "C", "D"),
        deliver("C", "B"), deliver("C", "A"), deliver("A", "B"), deliver("D", "B"),
    ]  # fmt: skip
    causal = same_from_both(write_rows(tmp_path / "to.ndjson", rows)).of(Property.CAUSAL)
    assert (causal.status, causal.violation_count) == (Status.VIOLATED, 1)
    assert causal.violations[0].process == "C"
    assert causal.violations[0].text.startswith("C delivered message 1 of B, but only later")


def test_chain_round_a_process_is_not_called_causal(tmp_path: Path) -> None:
    """A tells C, then B; B tells D, who was not told by A; D tells C: too early, through D."""
    rows = [
        to(multicast("A", 1), "C"), to(multicast("A", 2), "B"), deliver("B", "A", 2),
        to(multicast("B"), "D"), deliver("D", "B"), to(multicast("D"), "C"),
        deliver("C", "D"), deliver("C", "A", 1),
    ]  # fmt: skip
    causal = same_from_both(write_rows(tmp_path / "to.ndjson", rows)).of(Property.CAUSAL)
    assert causal.status is Status.UNKNOWN
    assert causal.reason.endswith(words.OVERLAPPING)


@pytest.mark.parametrize(
    ("aims", "expected"),
    [
        (("AB", "ABC", "ABCD"), Status.HOLDS),
        (("AB", "CD"), Status.HOLDS),
        (("AB", "CD", "ABCD"), Status.HOLDS),
        (("ABC", "BCD"), Status.UNKNOWN),
    ],
)
def test_causal_order_holds_where_sets_are_nested(
    tmp_path: Path, aims: tuple[str, ...], expected: Status
) -> None:
    """Who passes something on within a set has had all that came before it there."""
    rows = [to(multicast(aim[0], number), *aim) for number, aim in enumerate(aims, 1)]
    rows += [
        deliver(name, aim[0], number)
        for number, aim in enumerate(aims, 1)
        for name in aim
        if name != aim[0]
    ]
    verdict = same_from_both(write_rows(tmp_path / "to.ndjson", rows))
    assert verdict.of(Property.CAUSAL).status is expected


def test_columns_say_the_same_as_lines(tmp_path: Path) -> None:
    """Lists of names in Parquet, read by columns; and what is no list of names is refused."""
    rows = [row for seed in range(40) for row in aimed(seed)]
    lines = write_rows(tmp_path / "lines.ndjson", rows)
    records = [msgspec.to_builtins(row) for row in rows]
    columns = {name: [record.get(name) for record in records] for name in READ}
    path = tmp_path / "lines.parquet"
    pq.write_table(pa.table(columns), path)
    one, other = (verify(LocalExecutor(), each) for each in (lines, path))
    assert differences_but_files(one, other) == []
    assert any(words.ADDRESSED in item.reason for item in other.properties)
    bad = tmp_path / "bad.parquet"
    pq.write_table(pa.table({**columns, "to": [[None]] * len(rows)}), bad)
    with pytest.raises(TraceError, match=r"bad.parquet:1: `to` cannot be"):
        verify(LocalExecutor(), bad)


READ = (
    "run", "process", "kind", "group", "view", "sender", "first", "count", "order", "uniform",
    "members", "to", "domain", "detail",
)  # fmt: skip


def differences_but_files(one: Verdict, other: Verdict) -> list[str]:
    """Say where two verdicts on the same rows differ, whatever their files are called."""

    def shown(verdict: Verdict) -> list[str]:
        return [str(item).replace("lines.parquet", "lines.ndjson") for item in verdict.properties]

    return [f"{a} != {b}" for a, b in zip(shown(one), shown(other), strict=True) if a != b]

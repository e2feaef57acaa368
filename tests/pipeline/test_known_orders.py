"""Total order, uniform delivery and transactions on Spark: hand-written traces."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from tests.oracle.known_orders import (
    ASKED,
    CASES,
    COMMIT,
    TOTAL,
    UNIFORM,
    another_order_at_one,
    commit_of_what_was_refused,
    two_decisions,
    uniform_message_of_the_dead,
)
from tests.trace.hand_written import decide, deliver, multicast, write_rows

from antiphon.oracle import judge
from antiphon.pipeline.survey.grain import Grain
from antiphon.pipeline.verify import verify, verify_all
from antiphon.trace.reader import read_rows
from antiphon.trace.verdict import Status

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor


def test_known_traces_have_the_verdicts_they_should_have(
    executor: "Executor", tmp_path: Path
) -> None:
    """Each is broken as often as its definition says, and told in the oracle's words."""
    paths = [write_rows(tmp_path / f"{case.__name__}.ndjson", case()[0]) for case in CASES]
    found = verify_all(executor, paths)
    for case, path in zip(CASES, paths, strict=True):
        verdict, (_, expected) = found[case.__name__], case()
        counts = {
            item.property: -1 if item.status is Status.UNKNOWN else item.violation_count
            for item in map(verdict.of, ASKED)
        }
        assert {which: count for which, count in counts.items() if count} == expected, path
        told = msgspec.structs.replace(judge(read_rows(path), path.stem), engine=executor.name)
        assert verdict == told, path


def test_traces_judged_as_one_show_what_is_wrong_in_any_run(
    executor: "Executor", tmp_path: Path
) -> None:
    """Counts add up over runs; examples of all runs are sorted together."""
    rows, places = [], Counter[tuple[str, str]]()
    decided = (two_decisions, commit_of_what_was_refused)
    for case in (*decided, another_order_at_one, uniform_message_of_the_dead):
        for row in case()[0]:
            row.run, row.index = case.__name__, places[case.__name__, row.process]
            places[row.run, row.process] += 1
            rows.append(row)
    path = write_rows(tmp_path / "all.ndjson", rows)
    verdict = verify(executor, path)
    assert [verdict.of(which).violation_count for which in (TOTAL, UNIFORM, COMMIT)] == [1, 1, 4]
    assert msgspec.structs.replace(judge(read_rows(path), "all"), engine=executor.name) == verdict


def test_one_swap_in_a_long_total_order_is_found_across_blocks(
    executor: "Executor", tmp_path: Path
) -> None:
    """The two messages are far apart at one process: all in between come too early there."""
    count = 600
    rows = [multicast(name, number, order="total") for name in "AB" for number in range(1, count)]
    turns = [(name, number) for number in range(1, count) for name in "AB"]
    for process in "ABC":
        order = [*turns[1:900], turns[0], *turns[900:]] if process == "C" else turns
        rows += [deliver(process, sender, number) for sender, number in order]
    grain = Grain(cells_per_bucket=1, rows_per_bucket_min=100, rows_per_block=50)
    verdict = verify(executor, write_rows(tmp_path / "t.ndjson", rows), grain=grain)
    total = verdict.of(TOTAL)
    assert total.violation_count == 899
    assert total.violations[0].text == (
        "C delivered message 1 of B before message 1 of A, "
        "but A delivered message 1 of A before message 1 of B"
    )


def test_many_transactions_are_told_apart(executor: "Executor", tmp_path: Path) -> None:
    """Two of thousands were decided twice; only these are counted."""
    rows = [multicast("A"), deliver("B", "A")]
    for number in range(1, 3_001):
        rows += [decide(name, "commit", "A", number) for name in "ABC"]
    rows += [decide("D", "abort", "A", 77), decide("D", "abort", "A", 2_999)]
    commit = verify(executor, write_rows(tmp_path / "t.ndjson", rows)).of(COMMIT)
    assert commit.violation_count == 2
    assert [violation.text for violation in commit.violations] == [
        f"D decided to abort transaction {number} of A, but A decided to commit it"
        for number in (77, 2_999)
    ]

"""Transactions: one decision, and none to commit what was refused.

Law: whatever the view, votes and decisions about one transaction are brought together, which shows
those with both decisions, or with a commit and a refusal. In a right trace that is all; of the
wrong ones each decision is then compared with a vote against it, or else with the first decision
by name. Definitions in docs/properties.md. Cost: one sorting of what votes and decisions there
are, spread by transaction.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from antiphon.core.views import lineage_of
from antiphon.pipeline.ingest.ballots import BALLOT_LINES, Ballot, Pile
from antiphon.pipeline.ingest.loading import Trace
from antiphon.pipeline.ingest.reading import Report
from antiphon.pipeline.survey.layout import Numbers
from antiphon.pipeline.survey.views import Views
from antiphon.pipeline.tables.chunks import column, lists, numbers, ragged_column, unpacked, whole
from antiphon.trace.verdict import EXAMPLES_MAX

_TRANSACTION = ("box", "initiator", "number")
_TYPES = {
    "box": "int",
    "initiator": "int",
    "number": "bigint",
    "process": "int",
    "position": "bigint",
    "what": "bigint",
    "segment": "int",
    "line": "bigint",
}
_ROW = ("process", "position", "what", "segment", "line")
_WRONG = {
    "box": "bigint",
    "count": "bigint",
    "is_tested": "boolean",
    "examples": "array<bigint>",
}
_EXAMPLE = (*_ROW, "initiator", "number", *_ROW)
"""What the numbers of an example are: the decision, the transaction, the reason."""


class BallotRow(NamedTuple):
    """A vote, or a decision."""

    process: str
    position: int
    what: Ballot
    segment: int
    """The file with this number."""
    line: int


class WrongDecision(NamedTuple):
    """A decision, and the vote or the decision that it contradicts."""

    run: str
    group: str
    initiator: str
    number: int
    decision: BallotRow
    reason: BallotRow


@dataclass(slots=True)
class Outcome:
    """What was decided wrongly in one run."""

    count: int = 0
    is_tested: bool = False
    """Whether any transaction has a decision, and a vote or another decision besides."""
    examples: list[WrongDecision] = field(default_factory=list)


class _Boxes:
    """Who voted where: a box holds the votes and decisions of one group of a run."""

    def __init__(self, reports: Sequence[Report]) -> None:
        piles = [pile for report in reports for pile in report.piles]
        views = Views(reports)
        self.keys = sorted({(pile.run, pile.group, pile.lineage) for pile in piles})
        self.names = sorted({name for pile in piles for name in (pile.process, pile.initiator)})
        boxes = {key: number for number, key in enumerate(self.keys)}
        ranks = {name: rank for rank, name in enumerate(self.names)}
        self.tables = {
            report.number: np.array(
                [
                    (
                        boxes[pile.run, pile.group, pile.lineage],
                        ranks[pile.initiator],
                        ranks[pile.process],
                        *_left_alone(views, pile),
                    )
                    for pile in report.piles
                ],
                dtype=np.int64,
            ).T
            for report in reports
            if report.piles
        }

    def row(self, values: Sequence[int]) -> BallotRow:
        """Return a row given as numbers, with names."""
        process, position, what, segment, line = values
        return BallotRow(self.names[process], position, Ballot(what), segment, line)


def _left_alone(views: Views, pile: Pile) -> tuple[int, int]:
    """Return from where to where a process was in the view that it left by taking over.

    What it decided there is of neither lineage: it knew it alone.
    """
    for before, row in views.takeovers.get((pile.run, pile.group, pile.process), []):
        if lineage_of(before.view) == pile.lineage:
            return before.position, row.position
    return 0, -1


def judge_decisions(trace: Trace, part_count: int) -> dict[str, Outcome]:
    """Return what was decided wrongly in each run in which anything was decided."""
    outcomes: dict[str, Outcome] = {}
    if not any(pile.has_decision for report in trace.reports for pile in report.piles):
        return outcomes
    boxes = _Boxes(trace.reports)
    ballots = trace.ballots.map(partial(_unpack, tables=boxes.tables), _TYPES)
    together = ballots.together(_TRANSACTION, order=_ROW, part_count=part_count)
    for batch in together.map(_wrong, _WRONG).batches():
        for box, count, is_tested, examples in zip(
            *(numbers(batch, name).tolist() for name in ("box", "count", "is_tested")),
            lists(batch, "examples"),
            strict=True,
        ):
            run, group, _ = boxes.keys[box]
            outcome = outcomes.setdefault(run, Outcome())
            outcome.count += count
            outcome.is_tested |= is_tested
            outcome.examples += [
                _wrong_decision(boxes, run, group, example)
                for example in examples.reshape(-1, len(_EXAMPLE)).tolist()
            ]
    return outcomes


def _wrong_decision(boxes: _Boxes, run: str, group: str, example: list[int]) -> WrongDecision:
    width = len(_ROW)
    initiator, number = example[width : width + 2]
    return WrongDecision(
        run,
        group,
        boxes.names[initiator],
        number,
        boxes.row(example[:width]),
        boxes.row(example[width + 2 :]),
    )


def _unpack(
    batches: Iterable[pa.RecordBatch], *, tables: dict[int, np.ndarray[Any, Any]]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        packs = unpacked(batch, "ballots", len(BALLOT_LINES))
        for segment, rows in zip(numbers(batch, "segment").tolist(), packs, strict=True):
            pile, number, what, position, line = rows
            box, initiator, process, begin, end = tables[segment][:, pile]
            columns: list[np.ndarray[Any, Any]] = [
                box.astype(np.int32), initiator.astype(np.int32), number,
                process.astype(np.int32), position, what,
                np.full(len(pile), segment, dtype=np.int32), line,
            ]  # fmt: skip
            is_judged = (position < begin) | (position > end)
            columns = [each[is_judged] for each in columns]
            yield pa.RecordBatch.from_arrays(
                [column(np.ascontiguousarray(each)) for each in columns], names=list(_TYPES)
            )


def _wrong(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield, for each box with a decision, how many are wrong, and the first of them."""
    counts: dict[int, int] = {}
    tested: dict[int, bool] = {}
    examples: dict[int, list[list[int]]] = {}
    for batch in whole(batches, _TRANSACTION):
        table = np.array([numbers(batch, name) for name in (*_TRANSACTION, *_ROW)])
        for box, is_tested in _decided(table):
            counts.setdefault(box, 0)
            tested[box] = tested.get(box, False) or is_tested
        for transaction in _contested(table):
            box, initiator, number = transaction[: len(_TRANSACTION), 0].tolist()
            for decision, reason in _contradictions(transaction[len(_TRANSACTION) :].T.tolist()):
                counts[box] += 1
                of_box = examples.setdefault(box, [])
                of_box.append([*decision, initiator, number, *reason])
                of_box.sort()
                del of_box[EXAMPLES_MAX:]
    if counts:
        flat = [[value for each in examples.get(box, []) for value in each] for box in counts]
        columns = [
            *(column(np.array(list(each))) for each in (counts.keys(), counts.values())),
            column(np.array([tested[box] for box in counts])),
            ragged_column(flat),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=list(_WRONG))


def _decided(table: Numbers) -> Iterator[tuple[int, bool]]:
    """Yield the boxes of decided transactions; whether any has something to compare with."""
    begins, bits = _transactions(table)
    is_decided = bits & (1 << Ballot.ABORT | 1 << Ballot.COMMIT) > 0
    lengths = np.diff(np.r_[begins, table.shape[1]])
    boxes = table[0, begins]
    for box in np.unique(boxes[is_decided]).tolist():
        yield box, bool((is_decided & (lengths > 1) & (boxes == box)).any())


def _transactions(table: Numbers) -> tuple[Numbers, Numbers]:
    """Return where each transaction begins, and which ballots it has, as bits."""
    keys, what = table[: len(_TRANSACTION)], table[len(_TRANSACTION) + _ROW.index("what")]
    begins = np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)])
    return begins, np.bitwise_or.reduceat(1 << what, begins)


def _contested(table: Numbers) -> Iterator[Numbers]:
    """Yield the transactions with a decision that must be wrong."""
    begins, bits = _transactions(table)
    against = 1 << Ballot.ABORT | 1 << Ballot.NO
    ends = np.r_[begins[1:], table.shape[1]]
    for each in np.flatnonzero((bits & 1 << Ballot.COMMIT > 0) & (bits & against > 0)).tolist():
        yield table[:, begins[each] : ends[each]]


def _contradictions(rows: list[list[int]]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the wrong decisions about a transaction, each with the row that it contradicts.

    The rows are in order: the first refusal is the smallest.
    """
    what = _ROW.index("what")
    refusal = next((row for row in rows if row[what] == Ballot.NO), None)
    decisions = [row for row in rows if row[what] >= Ballot.ABORT]
    for row in decisions:
        is_refused = row[what] == Ballot.COMMIT and refusal is not None
        reason = refusal if is_refused and refusal is not None else decisions[0]
        if reason[what] != row[what]:
            yield row, reason

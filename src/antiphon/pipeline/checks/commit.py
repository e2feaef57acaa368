"""Transactions: one decision, and none to commit what was refused.

Law: whatever the view, votes and decisions about one transaction are brought together, and plain
SQL finds those with both decisions, or with a commit and a refusal. In a right trace that is all;
of the wrong ones each decision is then compared with a vote against it, or else with the first
decision by name. Definitions in docs/properties.md. Cost: one aggregation of what votes and
decisions there are, spread by transaction.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from antiphon.core.views import lineage_of
from antiphon.pipeline.ingest.ballots import BALLOT_LINES, Ballot, Pile
from antiphon.pipeline.ingest.chunks import column, numbers, unpacked
from antiphon.pipeline.ingest.loading import Trace
from antiphon.pipeline.ingest.reading import Report
from antiphon.pipeline.survey.views import Views
from antiphon.trace.verdict import EXAMPLES_MAX

_TRANSACTION = ["box", "initiator", "number"]
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
_SCHEMA = ", ".join(f"{name} {sql_type}" for name, sql_type in _TYPES.items())


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

    def row(self, values: dict[str, Any]) -> BallotRow:
        """Return a row of Spark's, with names."""
        process, position, what, segment, line = (values[name] for name in _ROW)
        return BallotRow(self.names[process], position, Ballot(what), segment, line)


def _left_alone(views: Views, pile: Pile) -> tuple[int, int]:
    """Return from where to where a process was in the view that it left by taking over.

    What it decided there is of neither lineage: it knew it alone.
    """
    for before, row in views.takeovers.get((pile.run, pile.group, pile.process), []):
        if lineage_of(before.view) == pile.lineage:
            return before.position, row.position
    return 0, -1


def judge_decisions(trace: Trace) -> dict[str, Outcome]:
    """Return what was decided wrongly in each run in which anything was decided."""
    outcomes = {
        pile.run: Outcome()
        for report in trace.reports
        for pile in report.piles
        if pile.has_decision
    }
    if not outcomes:
        return outcomes
    boxes = _Boxes(trace.reports)
    ballots = trace.ballots.mapInArrow(partial(_unpack, tables=boxes.tables), _SCHEMA)
    contested = _contested(ballots)
    if contested.isEmpty():
        return outcomes
    for row in _wrong(ballots, contested).toArrow().to_pylist():
        run, group, _ = boxes.keys[row["box"]]
        outcome = outcomes[run]
        outcome.count += row["count"]
        outcome.examples += [
            WrongDecision(
                run,
                group,
                boxes.names[example["initiator"]],
                example["number"],
                boxes.row(example),
                boxes.row(example["reason"]),
            )
            for example in row["examples"]
        ]
    return outcomes


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


def _contested(ballots: DataFrame) -> DataFrame:
    """Return the transactions with a decision that must be wrong."""

    def has(ballot: Ballot) -> Any:  # noqa: ANN401 - a column; PySpark has two classes of them
        return F.max(F.col("what") == int(ballot)).alias(ballot.name)

    return (
        ballots.groupBy(_TRANSACTION)
        .agg(has(Ballot.NO), has(Ballot.ABORT), has(Ballot.COMMIT))
        .where("COMMIT and (ABORT or NO)")
        .select(_TRANSACTION)
    )


def _wrong(ballots: DataFrame, contested: DataFrame) -> DataFrame:
    """Return, for each box, how many decisions are wrong, and the first of them."""
    row = F.struct(*_ROW)
    of_contested = ballots.join(contested, on=_TRANSACTION, how="left_semi")
    reasons = of_contested.groupBy(_TRANSACTION).agg(
        F.min(F.when(F.col("what") == int(Ballot.NO), row)).alias("refusal"),
        F.min(F.when(F.col("what") >= int(Ballot.ABORT), row)).alias("decision"),
    )
    commits = F.col("what") == int(Ballot.COMMIT)
    return (
        of_contested.where(F.col("what") >= int(Ballot.ABORT))
        .join(reasons, on=_TRANSACTION, how="inner")
        .withColumn("reason", F.when(commits & F.col("refusal").isNotNull(), F.col("refusal")))
        .withColumn("reason", F.coalesce("reason", "decision"))
        .where(F.col("reason.what") != F.col("what"))
        .groupBy("box")
        .agg(
            F.count("*").alias("count"),
            F.min_by(
                F.struct(*_ROW, "initiator", "number", "reason"),
                F.struct("process", "position"),
                EXAMPLES_MAX,
            ).alias("examples"),
        )
        .select("box", "count", "examples")
    )

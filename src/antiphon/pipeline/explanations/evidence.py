"""What an explanation needs to know, fetched from the matrix and the trace.

Law: few questions, one pass each: questions are a small table that Spark sends to the data.
Columns are those of the matrix; a message within a run is told by its distance from the first.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.pipeline.checks.findings import Finding, What
from antiphon.pipeline.ingest.chunks import column, numbers, unpacked
from antiphon.pipeline.ingest.position import NEVER
from antiphon.pipeline.ingest.reading import LINES
from antiphon.pipeline.survey.layout import MULTICAST, Numbers

_PLACE_SCHEMA = "segment bigint, strand bigint, position bigint, line bigint"


class Message(NamedTuple):
    """One message, as the matrix knows it."""

    sender: int
    number: int
    multicast: int
    """Position of its multicast, or NEVER."""
    positions: list[int]
    """By rank: position of its first delivery, or NEVER."""
    is_uniform: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the files a row is."""

    segment: int
    line: int


class Act(NamedTuple):
    """A message multicast, or delivered, by a process: what a row of the trace may say."""

    scope: int
    process: int
    sender: int
    is_multicast: bool
    position: int
    """Of the row."""


def messages_of(
    spark: SparkSession, matrix: DataFrame, findings: Iterable[Finding]
) -> dict[Finding, Message]:
    """Return the messages that findings are about."""
    findings = list(findings)
    wanted = _table(
        spark,
        id=list(range(len(findings))),
        scope=[finding.scope for finding in findings],
        sender=[finding.sender for finding in findings],
        number=[finding.number for finding in findings],
    )
    rows = (
        matrix.join(F.broadcast(wanted), on=["scope", "sender"], how="inner")
        .where("number >= first and number - first < count")
        .select("id", "sender", "number", "first", "multicast", "positions", "is_uniform")
    )
    return {
        findings[row["id"]]: message_of(row, row["number"] - row["first"])
        for row in rows.toArrow().to_pylist()
    }


def predecessors_of(
    spark: SparkSession, matrix: DataFrame, messages: dict[Finding, Message]
) -> dict[Finding, Message]:
    """Return, for each delivery out of order, the message that had to come first, or along.

    Of several the one that the sender multicast or delivered last before multicasting.
    """
    findings = list(messages)
    questions = _table(
        spark,
        id=list(range(len(findings))),
        scope=[finding.scope for finding in findings],
        owner=[finding.sender for finding in findings],
        process=[finding.process for finding in findings],
        deadline=[
            NEVER - 1 if finding.what is What.ORPHAN else finding.position for finding in findings
        ],
        limit=[messages[finding].multicast for finding in findings],
        is_own_order=[finding.what is What.NOT_FIFO for finding in findings],
        is_total_order=[finding.what is What.NOT_TOTAL_CAUSAL for finding in findings],
    )
    run = F.struct("sender", "first", "count", "multicast", "positions", "is_uniform")
    rows = (
        matrix.where(F.col("multicast") != NEVER)
        .join(F.broadcast(questions), on="scope", how="inner")
        .where("get(positions, process) > deadline and (is_total or not is_total_order)")
        .withColumn("sent", F.expr("if(sender = owner and multicast < `limit`, multicast, -1)"))
        .withColumn("got", F.expr("get(positions, owner)"))
        .withColumn("got", F.expr("if(got < `limit`, got, -1)"))
        .where("if(is_own_order, sent, greatest(sent, got)) >= 0")
        .groupBy("id")
        .agg(F.max_by(run, F.greatest("sent", "got")).alias("run"))
        .select("id", "run.*")
    )
    return {
        findings[row["id"]]: message_of(row, row["count"] - 1) for row in rows.toArrow().to_pylist()
    }


def places_of(
    packs: DataFrame, strands: dict[int, Numbers], acts: Iterable[Act]
) -> dict[Act, Place]:
    """Return where in the files these acts are recorded."""
    by_strand: dict[tuple[int, ...], list[Act]] = {}
    for act in sorted(set(acts)):
        by_strand.setdefault((act.scope, act.sender, act.process, act.is_multicast), []).append(act)
    wanted: dict[int, dict[tuple[int, int], Act]] = {}
    for segment, table in strands.items():
        for strand, (*whose, what) in enumerate(zip(*table[:4].tolist(), strict=True)):
            for act in by_strand.get((*whose, what & MULTICAST > 0), ()):
                wanted.setdefault(segment, {})[strand, act.position] = act
    keys = {segment: sorted(acts) for segment, acts in wanted.items()}
    rows = packs.mapInArrow(partial(_find, wanted=keys), _PLACE_SCHEMA)
    return {
        wanted[row["segment"]][row["strand"], row["position"]]: Place(row["segment"], row["line"])
        for row in rows.toArrow().to_pylist()
    }


def _find(
    batches: Iterable[pa.RecordBatch], *, wanted: dict[int, list[tuple[int, int]]]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of these strands and positions."""
    for batch in batches:
        packs = unpacked(batch, "rows", len(LINES))
        for segment, rows in zip(numbers(batch, "segment").tolist(), packs, strict=True):
            strand, _, _, position, _, line = rows
            keys = wanted.get(segment, [])
            at = np.flatnonzero(np.isin(position, [position for _, position in keys]))
            here = set(keys)
            at = at[[(strand[row], position[row]) in here for row in at]] if len(at) else at
            columns = [np.full(len(at), segment), strand[at], position[at], line[at]]
            yield pa.RecordBatch.from_arrays(
                [column(each) for each in columns], names=["segment", "strand", "position", "line"]
            )


def _table(spark: SparkSession, **columns: list[int] | list[str] | list[bool]) -> DataFrame:
    return spark.createDataFrame(pa.table(columns))


def message_of(row: dict[str, Any], place: int) -> Message:
    """Return the message at a place in a run."""

    def moved(position: int) -> int:
        return position if position == NEVER else position + place

    return Message(
        row["sender"],
        row["first"] + place,
        moved(row["multicast"]),
        [moved(position) for position in row["positions"]],
        row["is_uniform"],
    )

"""A trace of any size as one table, every row checked by the trace's own reader.

Law: each file is streamed by one task, so memory is a batch of rows; what cannot be judged
raises :class:`TraceError` with the reader's one sentence, that of the first bad file. Rows are
kept, in memory or on disk, for the steps that follow: a trace is read once. Columns and reports
are those of ``reading``. Cost: all of it is Python, a few microseconds per row and core, however
many messages a row stands for.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from antiphon.core.errors import TraceError
from antiphon.pipeline.ingest.chunks import column, numbers, unpacked
from antiphon.pipeline.ingest.reading import LINES, SQL_SCHEMA, Report, read_source
from antiphon.pipeline.ingest.sources import Source, deal, find_sources
from antiphon.trace.continuity import Truncation, check_spans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Source", "Trace", "find_sources", "ingest", "named"]


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace in Spark, kept in memory or on disk until ``release``."""

    packs: "DataFrame"
    """Multicast and deliver rows: ``segment``, and thousands of ``rows`` in one value."""
    ballots: "DataFrame"
    """Vote and decide rows, likewise."""
    reports: list[Report]
    """By file."""
    files: list[str]
    kept: "DataFrame"

    @property
    def truncated(self) -> list[Truncation]:
        """Return which files end in the middle of a row."""
        return [item for report in self.reports for item in report.truncated]

    def release(self) -> None:
        """Let Spark forget the rows."""
        self.kept.unpersist()


def ingest(spark: "SparkSession", sources: Sequence[Source]) -> Trace:
    """Read and check every file."""
    from pyspark import StorageLevel

    hands = deal(sources, spark.sparkContext.defaultParallelism)
    tasks = spark.range(0, len(hands), 1, len(hands))
    kept = tasks.mapInArrow(partial(_read, hands=hands), SQL_SCHEMA)
    kept.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        reports = _collect_reports(kept)
        _check(sources, reports)
    except BaseException:
        kept.unpersist()
        raise
    packs = kept.where("rows is not null").select("segment", "rows")
    ballots = kept.where("ballots is not null").select("segment", "ballots")
    return Trace(packs, ballots, reports, [str(source.segment.path) for source in sources], kept)


def named(spark: "SparkSession", trace: Trace) -> "DataFrame":
    """Return the rows one by one, with the names they were recorded with: for people."""
    strands = [
        msgspec.to_builtins(strand) | {"segment": report.number, "file": file}
        for report, file in zip(trace.reports, trace.files, strict=True)
        for strand in report.strands
    ]
    names = spark.createDataFrame(pa.Table.from_pylist(strands))
    types = ", ".join(f"{name} bigint" for name in ("segment", *LINES))
    rows = trace.packs.mapInArrow(_unpack, types)
    return rows.join(
        names.withColumnRenamed("number", "strand"), on=["segment", "strand"], how="inner"
    ).selectExpr(
        "run",
        "process",
        "if(is_multicast, 'multicast', 'deliver') as kind",
        "group",
        "view",
        "sender",
        "first",
        "count",
        "file",
        "line",
        "position",
    )


def _unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        packs = unpacked(batch, "rows", len(LINES))
        for segment, rows in zip(numbers(batch, "segment"), packs, strict=True):
            columns = [np.full(rows.shape[1], segment), *rows]
            yield pa.RecordBatch.from_arrays(
                [column(each) for each in columns], names=["segment", *LINES]
            )


def _read(
    batches: Iterable[pa.RecordBatch], *, hands: list[list[Source]]
) -> Iterator[pa.RecordBatch]:
    """Read the files of one task."""
    for batch in batches:
        for hand in numbers(batch, "id"):
            for source in hands[hand]:
                yield from read_source(source)


def _collect_reports(kept: "DataFrame") -> list[Report]:
    rows = kept.where("report is not null").select("report").collect()
    reports = [msgspec.json.decode(row["report"], type=Report) for row in rows]
    return sorted(reports, key=lambda report: report.number)


def _check(sources: Sequence[Source], reports: list[Report]) -> None:
    """Raise what the first bad file had to say, then what only all of them together show."""
    for report in reports:
        if report.error:
            raise TraceError(report.error)
    if not any(report.records for report in reports):
        message = f"{sources[0].segment.path}:1: the trace is empty: no process wrote any row"
        raise TraceError(message)
    for report in reports:
        for span in report.spans:
            span.run = span.run or sources[report.number].run
    check_spans(span for report in reports for span in report.spans)

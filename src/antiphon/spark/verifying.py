"""Verify a trace in a session of yours: a path, an address, several, or a DataFrame.

Law: the same verdicts as those of ``antiphon verify``, on the same terms, one per run. Files named
by paths are read where every worker sees them: on this machine if workers are here, too, or on a
file system they share; addresses (``s3a://...``) are read through Spark. A DataFrame has the
columns of docs/trace-format.md: ``process`` and ``kind``, others where they are needed. Its rows
are ordered by ``index``; if there is no such column, they are taken in the order that they are in.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.core.errors import UsageError
from antiphon.logs.clocks.parsing import require_messages
from antiphon.logs.ids import asks_for_numbers, numbered
from antiphon.logs.mapping import column_map
from antiphon.pipeline.ingest.columns import READ, RECORD
from antiphon.pipeline.ingest.loading import (
    Trace,
    find_sources,
    ingest,
    ingest_columns,
    sources_of,
)
from antiphon.pipeline.ingest.reading import Report
from antiphon.pipeline.tables.spark import SparkExecutor, SparkTable
from antiphon.pipeline.verify import verify_runs
from antiphon.spark.addresses import ingest_addresses
from antiphon.spark.borrowing import borrowed
from antiphon.spark.result import Measure, Verification
from antiphon.spark.source import register
from antiphon.trace.log import ColumnMap, Log, is_address, local_path
from antiphon.trace.verdict import Property, Terms

Source = str | Path | Sequence[str | Path] | DataFrame
Begun = AbstractContextManager[Trace]

_SHOWN_MAX = 20
_UNNUMBERED = (
    "columns: ids without numbers are numbered in one log on this machine: say run='...' of "
    "several paths; on a cluster, verify what `antiphon import LOG --map ... --to mine.parquet` "
    "writes"
)


def verify(
    spark: SparkSession,
    source: Source,
    *,
    run: str = "",
    only: Iterable[str] = (),
    begins_late: str | Iterable[str] = (),
    ends_early: str | Iterable[str] = (),
    subscriptions: Mapping[str, Iterable[str]] | None = None,
    domains: str = "",
    columns: str | Iterable[str] = (),
) -> Verification:
    """Return the verdicts on a trace.

    ``run`` names what is judged: rows of a DataFrame that do not say theirs, or all paths of a list
    as one log; without it each path is judged by itself. The others are the options of ``antiphon
    verify`` of the same names; ``columns`` is its ``--map``.
    """
    if domains not in {"", "one", "each"}:
        message = f"domains={domains!r}: say 'one' or 'each', or nothing"
        raise UsageError(message)
    terms = Terms(
        only=_properties(only),
        begins_late=_names(begins_late),
        ends_early=_names(ends_early),
        subscriptions={group: tuple(names) for group, names in (subscriptions or {}).items()},
        domains=domains,
    )
    executor = SparkExecutor(spark)
    register(spark)
    mapped = column_map(_names(columns))
    with borrowed(spark), _ingested(executor, source, run, mapped, terms) as trace:
        verdicts = verify_runs(executor, trace, terms=terms)
        return Verification(verdicts, spark, _measures(trace.reports))


def _names(said: str | Iterable[str]) -> tuple[str, ...]:
    return (said,) if isinstance(said, str) else tuple(said)


def _properties(only: Iterable[str]) -> tuple[Property, ...]:
    names = set(_names(only))
    known = {which.value for which in Property}
    if not names <= known:
        message = f"only: {min(names - known)!r} is no property: choose from {', '.join(Property)}"
        raise UsageError(message)
    return tuple(which for which in Property if which.value in names)


def _ingested(
    executor: SparkExecutor, source: Source, run: str, columns: ColumnMap | None, terms: Terms
) -> Begun:
    if isinstance(source, DataFrame):
        if columns is not None:
            message = "columns: rename those of the DataFrame instead: withColumnRenamed"
            raise UsageError(message)
        return _of_frame(executor, source, run or "trace", terms)
    if not isinstance(source, str | Path | Sequence):
        message = f"{type(source).__name__}: give a path, a list of paths, or a DataFrame"
        raise UsageError(message)
    if not isinstance(source, str | Path) and not source:
        message = "the list of paths is empty: give a path, a list of paths, or a DataFrame"
        raise UsageError(message)
    named = [str(each) for each in ([source] if isinstance(source, str | Path) else source)]
    if any(map(is_address, named)):
        if asks_for_numbers(Log((), columns=columns)):
            raise UsageError(_UNNUMBERED)
        addresses = [each if is_address(each) else local_path(each).as_uri() for each in named]
        return ingest_addresses(executor.session, addresses, columns, terms, name=run)
    log = Log(tuple(map(local_path, named)), columns=columns, title=run)
    require_messages(log, "is not for Spark")
    return _of_paths(executor, log, terms)


@contextmanager
def _of_paths(executor: SparkExecutor, log: Log, terms: Terms) -> Iterator[Trace]:
    """Read a log of paths: as one run if it has a name, or else each path as its own."""
    is_one = bool(log.title) or len(log.paths) == 1
    if asks_for_numbers(log) and not (is_one and _is_here(executor.session)):
        raise UsageError(_UNNUMBERED)
    with numbered(log) as ready:
        found = sources_of(ready) if is_one else find_sources(ready.paths)
        sources = [
            each._replace(segment=each.segment._replace(columns=ready.columns)) for each in found
        ]
        with ingest(executor, sources, terms) as trace:
            yield trace


def _is_here(spark: SparkSession) -> bool:
    """Whether workers see the files of this machine."""
    return (spark.sparkContext.master or "").startswith("local")


def _of_frame(executor: SparkExecutor, frame: DataFrame, run: str, terms: Terms) -> Begun:
    """Bring the rows of each process together, in order, and read them like files."""
    for name in ("process", "kind"):
        if name not in frame.columns:
            there = ", ".join(frame.columns[:_SHOWN_MAX])
            message = (
                f"the DataFrame has no column {name!r} but {there}: rename yours, with "
                "withColumnRenamed"
            )
            raise UsageError(message)
    if frame.isStreaming:
        message = (
            "the DataFrame is a stream, which has no end: verify what it has written, or follow a "
            "run folder with antiphon.spark.following"
        )
        raise UsageError(message)
    known = [name for name in READ if name in frame.columns]
    rows = frame.select(*(F.col(f"`{name}`") for name in known))
    rows = rows.withColumn("row", F.monotonically_increasing_id())
    if "run" not in known:
        rows = rows.withColumn("run", F.lit(""))
    process = F.col("process")
    recorded_as = F.when(F.col("recorded_as") != "", F.col("recorded_as")).otherwise(process)
    rows = rows.withColumn(RECORD, recorded_as if "recorded_as" in known else process)
    order = ("index", "row") if "index" in known else ("row",)
    part_count = executor.core_count
    table = SparkTable(rows).together(("run", RECORD), order=order, part_count=part_count)
    parted = SparkTable(table.frame.withColumn("part", F.spark_partition_id()))
    is_numbered = "index" in known
    return ingest_columns(parted, part_count, run, is_numbered=is_numbered, terms=terms)


def _measures(reports: list[Report]) -> list[Measure]:
    """Count what each process recorded."""
    counts: dict[tuple[str, str, str], int] = {}
    for report in reports:
        for record in report.records:
            key = (record.run, record.process, "rows")
            counts[key] = counts.get(key, 0) + record.row_count
        for strand in report.strands:
            what = "messages multicast" if strand.is_multicast else "messages delivered"
            key = (strand.run, strand.process, what)
            counts[key] = counts.get(key, 0) + strand.message_count
    return [(*key, count) for key, count in sorted(counts.items())]

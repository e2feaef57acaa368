"""Verify a trace in a session of yours: a path, an address, several, or a DataFrame.

Law: the same verdicts as those of ``antiphon verify``, on the same terms, one per run. Files named
by paths are read where every worker sees them: on this machine if workers are here, too, or on a
file system they share; addresses (``s3a://...``) are read through Spark. A DataFrame has the
columns of docs/trace-format.md: ``process`` and ``kind``, others where they are needed. Its rows
are ordered by ``index``; if there is no such column, they are taken in the order that they are in.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.core.errors import UsageError
from antiphon.logs.ids import asks_for_numbers
from antiphon.logs.mapping import column_map
from antiphon.pipeline.ingest.columns import READ
from antiphon.pipeline.ingest.loading import Trace, find_sources, ingest, ingest_columns
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


def verify(
    spark: SparkSession,
    source: Source,
    *,
    run: str = "trace",
    only: Iterable[str] = (),
    begins_late: str | Iterable[str] = (),
    ends_early: str | Iterable[str] = (),
    subscriptions: Mapping[str, Iterable[str]] | None = None,
    domains: str = "",
    columns: str | Iterable[str] = (),
) -> Verification:
    """Return the verdicts on a trace.

    ``run`` names rows of a DataFrame that do not say theirs. The others are the options of
    ``antiphon verify`` of the same names; ``columns`` is its ``--map``.
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
        return _of_frame(executor, source, run, terms)
    if asks_for_numbers(Log((), columns=columns)):
        message = (
            "columns: messages that have ids and no numbers are numbered by `antiphon import LOG "
            "--map ... --to mine.parquet`: verify that"
        )
        raise UsageError(message)
    named = [str(each) for each in ([source] if isinstance(source, str | Path) else source)]
    if any(map(is_address, named)):
        addresses = [each if is_address(each) else local_path(each).as_uri() for each in named]
        return ingest_addresses(executor.session, addresses, columns, terms)
    sources = [
        each._replace(segment=each.segment._replace(columns=columns))
        for each in find_sources([local_path(each) for each in named])
    ]
    return ingest(executor, sources, terms)


def _of_frame(executor: SparkExecutor, frame: DataFrame, run: str, terms: Terms) -> Begun:
    """Bring the rows of each process together, in order, and read them like files."""
    known = [name for name in READ if name in frame.columns]
    rows = frame.select(*(F.col(f"`{name}`") for name in known))
    rows = rows.withColumn("row", F.monotonically_increasing_id())
    if "run" not in known:
        rows = rows.withColumn("run", F.lit(""))
    order = ("index", "row") if "index" in known else ("row",)
    part_count = executor.core_count
    table = SparkTable(rows).together(("run", "process"), order=order, part_count=part_count)
    numbered = SparkTable(table.frame.withColumn("part", F.spark_partition_id()))
    is_numbered = "index" in known
    return ingest_columns(numbered, part_count, run, is_numbered=is_numbered, terms=terms)


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

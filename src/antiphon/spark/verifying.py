"""Verify a trace in a session of yours: a path, several, or a DataFrame.

Law: the same verdicts as those of ``antiphon verify``, one per run. Files named by paths are read
where every worker sees them: on this machine if workers are here, too, or on a file system they
share; an address (``s3a://...``) is read by Spark. A DataFrame has the columns of
docs/trace-format.md: ``process`` and ``kind``, others where they are needed. Its rows are ordered
by ``index``; if there is no such column, they are taken in the order that they are in.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.core.errors import UsageError
from antiphon.pipeline.ingest.columns import READ
from antiphon.pipeline.ingest.loading import Trace, find_sources, ingest, ingest_columns
from antiphon.pipeline.ingest.reading import Report
from antiphon.pipeline.tables.spark import SparkExecutor, SparkTable
from antiphon.pipeline.verify import verify_runs
from antiphon.spark.borrowing import borrowed
from antiphon.spark.result import Measure, Verification
from antiphon.spark.source import JSON_COLUMNS, register
from antiphon.trace.verdict import Terms

Source = str | Path | Sequence[str | Path] | DataFrame
Begun = AbstractContextManager[Trace]


def verify(
    spark: SparkSession, source: Source, *, run: str = "trace", domains: str = ""
) -> Verification:
    """Return the verdicts on a trace; ``run`` names rows of a DataFrame that do not say theirs.

    ``domains``: of groups whose rows name no causality domain, all are ``one``, or ``each`` has its
    own.
    """
    if domains not in {"", "one", "each"}:
        message = f"domains={domains!r}: say 'one' or 'each', or nothing"
        raise UsageError(message)
    executor, terms = SparkExecutor(spark), Terms(domains=domains)
    register(spark)
    with borrowed(spark), _ingested(executor, source, run) as trace:
        verdicts = verify_runs(executor, trace, terms=terms)
        return Verification(verdicts, spark, _measures(trace.reports))


def _ingested(executor: SparkExecutor, source: Source, run: str) -> Begun:
    if isinstance(source, DataFrame):
        return _of_frame(executor, source, run)
    if isinstance(source, str) and "://" in source:
        name = PurePosixPath(source).stem
        return _of_frame(executor, _at_address(executor.session, source), name)
    paths = [source] if isinstance(source, str | Path) else source
    return ingest(executor, find_sources([Path(path) for path in paths]))


def _at_address(spark: SparkSession, address: str) -> DataFrame:
    """Return what Spark finds there: Parquet if there is any, else lines."""
    reader = spark.read.option("recursiveFileLookup", value=True)
    files = reader.option("pathGlobFilter", "*.parquet").format("binaryFile").load(address)
    if files.select("path").head() is not None:
        return reader.option("pathGlobFilter", "*.parquet").parquet(address)
    return (
        reader.option("pathGlobFilter", "*.{ndjson,jsonl,json}").schema(JSON_COLUMNS).json(address)
    )


def _of_frame(executor: SparkExecutor, frame: DataFrame, run: str) -> Begun:
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
    return ingest_columns(numbered, part_count, run, is_numbered="index" in known)


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

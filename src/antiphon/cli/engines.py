"""Who judges a trace: the oracle, the pipeline in this process, or the pipeline on Spark.

Law: all of them say the same, word for word; they differ in what they need and in what they cost.
Left to itself (``auto``) the choice goes by the size of the files, before any is read: what is tiny
is the oracle's, which needs no library and so answers at once; Spark, slow to start, gets what is
so large that memory is at stake, where it is installed. Each engine is imported only where it is
to judge.
"""

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.cli.judging_bar import (
    COLUMNS,
    LINES,
    SPARK,
    judging_bar,
    rows_in,
    watched_tasks,
)
from antiphon.cli.places import SparkPlace
from antiphon.cli.tasks import spark_executor
from antiphon.core.errors import UsageError
from antiphon.oracle.event_graph import ACTS_MAX, MULTICASTS_MAX, TooLargeError
from antiphon.trace.log import ColumnMap, Log
from antiphon.trace.segments import Format, segments
from antiphon.trace.verdict import ALL, Terms, Verdict

if TYPE_CHECKING:
    from antiphon.pipeline.tables.spark import SparkExecutor
    from antiphon.pipeline.verify import OnStep
    from antiphon.trace.reader import Row

ORACLE_BYTES_MAX = 1024 * 1024
"""Up to some 8,000 rows the oracle is done before numpy and pyarrow are imported."""

ORACLE_ACTS_MAX = 20_000
"""Multicasts and deliveries, message by message: if something else can judge, no more are left to
the oracle. A row may stand for thousands, so that 100 rows took it 41 s."""

LOCAL_BYTES_MAX = 1_500_000_000
"""About 10^7 rows, for which the pipeline takes some 2 GB of memory in this process."""

BYTES_PER_WORKER = 32 * 1024 * 1024
"""A process that reads files takes half a second to start: as long as for 250,000 rows."""

QUICK_BYTES_MAX = LOCAL_BYTES_MAX
"""Up to ten million rows Spark is done before a Java made for hours has paid: for as many of
Parquet 22 s of processor time instead of 27, for three million of JSON 13 instead of 19."""

_COMPRESSION = {".gz": 10, ".parquet": 40}
"""How much longer a file would be as plain JSON, about."""

_SPARK = "antiphon[spark,java]"
_TABLES = "antiphon[verify]"


class Engine(StrEnum):
    """Who judges."""

    AUTO = "auto"
    ORACLE = "oracle"
    LOCAL = "local"
    SPARK = "spark"


def judge(
    path: Path | Log,
    engine: Engine = Engine.AUTO,
    cores: int | None = None,
    terms: Terms = ALL,
    cluster: SparkPlace | None = None,
) -> Verdict:
    """Return the verdict on the trace at ``path``, or on a log of several paths.

    A cluster is for Spark.
    """
    if cluster is not None and engine in {Engine.AUTO, Engine.SPARK}:
        return _on_spark(path, cores, terms, cluster)
    match engine:
        case Engine.AUTO:
            best = chosen(path)
            if best is not Engine.ORACLE:
                return judge(path, best, cores, terms)
            return _by_oracle_or_else(path, cores, terms)
        case Engine.ORACLE:
            return _by_oracle(path, terms)
        case Engine.LOCAL:
            return _locally(path, cores, terms)
        case Engine.SPARK:
            return _on_spark(path, cores, terms)


def chosen(path: Path | Log) -> Engine:
    """Return who is to judge a trace here; complain if there is none at ``path``."""
    byte_count = bytes_at(path)
    if byte_count <= ORACLE_BYTES_MAX or not _has_tables():
        return Engine.ORACLE
    return Engine.SPARK if byte_count > LOCAL_BYTES_MAX and _has_spark() else Engine.LOCAL


def ready_engine() -> Engine:
    """Return who can judge a trace of any size here; or else the oracle."""
    if _has_spark():
        return Engine.SPARK
    return Engine.LOCAL if _has_tables() else Engine.ORACLE


def verify_command(path: Path, message_count: int = 0) -> str:
    """Return a command that judges a trace on this machine."""
    command = f"antiphon verify {shlex.quote(str(path))}"
    if message_count > MULTICASTS_MAX and not _has_tables():
        return f"pip install {shlex.quote(_TABLES)} && {command}"
    return command


def bytes_at(path: Path | Log) -> int:
    """Return how much there is to read, in bytes of lines; complain if there is nothing."""
    return sum(
        _byte_count(segment.path) * _COMPRESSION.get(segment.path.suffix, 1)
        for segment in segments(path)
    )


def _byte_count(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # the reader will say what is wrong with it


def _has_spark() -> bool:
    from antiphon.pipeline.session.spark import is_spark_ready

    return is_spark_ready()


def _has_tables() -> bool:
    from antiphon.pipeline.tables.packages import missing_packages

    return not missing_packages()


def _by_oracle_or_else(path: Path | Log, cores: int | None, terms: Terms) -> Verdict:
    """Judge what seems small; a few rows may stand for millions of messages."""
    try:
        return _by_oracle(path, terms, ORACLE_ACTS_MAX)
    except TooLargeError:
        if _has_tables():
            return _locally(path, cores, terms)
    try:
        return _by_oracle(path, terms)
    except TooLargeError as refusal:
        message = (
            f"plain Python judges up to {MULTICASTS_MAX:,} messages and {ACTS_MAX:,} deliveries, "
            f"and this trace has more: run: pip install {shlex.quote(_TABLES)}"
        )
        raise UsageError(message) from refusal


def _by_oracle(path: Path | Log, terms: Terms, acts_max: int = ACTS_MAX) -> Verdict:
    from antiphon.logs.reading import read_log
    from antiphon.oracle import judge

    return judge(_few(read_log(path, terms), acts_max), run=Log.of(path).name, terms=terms)


def _few(rows: "Iterable[Row]", acts_max: int) -> "Iterator[Row]":
    """Yield rows, and give up where they stand for more multicasts and deliveries than this.

    Where that is the oracle's own limit, it says so itself.
    """
    act_count = 0
    for row in rows:
        event, _, _ = row
        act_count += event.count if event.kind in {"multicast", "deliver"} else 0
        if acts_max < min(act_count, ACTS_MAX):
            raise TooLargeError
        yield row


def _locally(path: Path | Log, cores: int | None, terms: Terms) -> Verdict:
    from antiphon.pipeline.tables.packages import require_tables

    byte_count = bytes_at(path)  # says at once what is missing, whatever is installed
    require_tables()
    from antiphon.pipeline.tables.local import LocalExecutor
    from antiphon.pipeline.verify import verify

    worker_count = min(cores or os.cpu_count() or 1, 1 + byte_count // BYTES_PER_WORKER)
    try:
        is_columns = any(segment.format is Format.PARQUET for segment in segments(path))
        with judging_bar(COLUMNS if is_columns else LINES, path) as bar:
            executor = LocalExecutor(worker_count, lambda batch: bar.rows(rows_in(batch)))
            return verify(executor, path, on_step=bar.step, terms=terms)
    except MemoryError as failure:
        message = (
            f"{path}: the trace does not fit in memory: judge it with --engine spark "
            f"(pip install {shlex.quote(_SPARK)}), which uses the disk"
        )
        raise UsageError(message) from failure


def judge_addresses(
    addresses: Sequence[str],
    engine: Engine,
    cores: int | None,
    terms: Terms,
    cluster: SparkPlace | None,
    columns: ColumnMap | None,
) -> Verdict:
    """Return the verdict on a log at addresses such as s3a://bucket/run: Spark alone reads them."""
    if engine not in {Engine.AUTO, Engine.SPARK}:
        message = (
            f"{addresses[0]}: an address is read by Spark alone: leave --engine {engine.value} "
            "out, or copy the log here first"
        )
        raise UsageError(message)

    def work(executor: "SparkExecutor", on_step: "OnStep") -> Verdict:
        from antiphon.pipeline.verify import verify_trace
        from antiphon.spark.addresses import address_name, ingest_addresses

        name = address_name(addresses[0])
        if len(addresses) > 1:
            name = f"{name} + {len(addresses) - 1} more"
        ingested = ingest_addresses(executor.session, addresses, columns, terms, name=name)
        return verify_trace(executor, name, ingested, on_step=on_step, terms=terms)

    return _in_session(work, QUICK_BYTES_MAX, cores, cluster)


def _on_spark(
    path: Path | Log, cores: int | None, terms: Terms, cluster: SparkPlace | None = None
) -> Verdict:
    byte_count = bytes_at(path)  # says at once what is missing, before Java starts

    def work(executor: "SparkExecutor", on_step: "OnStep") -> Verdict:
        from antiphon.pipeline.verify import verify

        return verify(executor, path, on_step=on_step, terms=terms)

    return _in_session(work, byte_count, cores, cluster)


def _in_session(
    work: "Callable[[SparkExecutor, OnStep], Verdict]",
    byte_count: int,
    cores: int | None,
    cluster: SparkPlace | None,
) -> Verdict:
    """Let Spark work on so many bytes, here or on a cluster."""
    from antiphon.pipeline.session.spark import QUICK, tasks_under_way

    settings = QUICK if byte_count < QUICK_BYTES_MAX else {}
    with (
        judging_bar(SPARK, None) as bar,
        spark_executor("antiphon verify", cores, cluster, settings) as executor,
        watched_tasks(partial(tasks_under_way, executor.session), bar),
    ):
        return work(executor, bar.step)

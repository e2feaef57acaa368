"""Who computes: this process and its workers, or Spark; for commands that need no judge.

Law: ``auto`` never waits for a JVM where the work is small. A session that is started here is
stopped here, and Ctrl-C ends it on the spot.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from antiphon.cli.interrupt import ended_by_interrupt
from antiphon.cli.places import SparkPlace
from antiphon.core.errors import UsageError

if TYPE_CHECKING:
    from antiphon.pipeline.tables.spark import SparkExecutor
    from antiphon.pipeline.tables.table import Executor


class TaskEngine(StrEnum):
    """Who computes."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


@contextmanager
def executor_for(
    engine: TaskEngine,
    name: str,
    cores: int | None,
    worker_count: int | None = None,
    cluster: SparkPlace | None = None,
) -> "Iterator[Executor]":
    """Let a command compute; ``auto`` has been decided by the command itself.

    ``worker_count``: processes to use where there is no Spark, if not one per core.
    """
    from antiphon.pipeline.tables.packages import require_tables

    require_tables()
    if engine is not TaskEngine.SPARK:
        from antiphon.pipeline.tables.local import LocalExecutor

        count = cores or os.cpu_count() or 1
        yield LocalExecutor(count if worker_count is None else min(count, worker_count))
        return
    with spark_executor(name, cores, cluster) as executor:
        yield executor


def on_cluster(engine: TaskEngine, cluster: SparkPlace | None) -> TaskEngine:
    """Return who computes: a cluster is Spark's."""
    if cluster is None:
        return engine
    if engine is TaskEngine.LOCAL:
        message = "--engine local has no use for --master and --conf: leave one of them out"
        raise UsageError(message)
    return TaskEngine.SPARK


@contextmanager
def spark_executor(
    name: str,
    cores: int | None,
    cluster: SparkPlace | None = None,
    settings: Mapping[str, str] | None = None,
) -> "Iterator[SparkExecutor]":
    """Let Spark compute, here or on a cluster; what goes wrong there is a sentence."""
    from antiphon.pipeline.session.cluster import require_executors, told_plainly
    from antiphon.pipeline.session.spark import abandon, require_spark, spark_session

    require_spark()
    from antiphon.pipeline.tables.spark import SparkExecutor
    from antiphon.spark.borrowing import equipped

    place = cluster or SparkPlace()
    chosen = {**(settings or {}), **place.settings}
    with told_plainly(place.master or "this machine"), ended_by_interrupt(abandon):
        spark = spark_session(name, cores, settings=chosen, master=place.master)
        try:
            require_executors(spark)
            with equipped(spark):
                yield SparkExecutor(spark)
        finally:
            spark.stop()

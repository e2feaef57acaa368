"""Who computes: this process and its workers, or Spark; for commands that need no judge.

Law: ``auto`` never waits for a JVM where the work is small. A session that is started here is
stopped here, and Ctrl-C ends it on the spot.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from antiphon.cli.interrupt import ended_by_interrupt

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor


class TaskEngine(StrEnum):
    """Who computes."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


@contextmanager
def executor_for(
    engine: TaskEngine, name: str, cores: int | None, worker_count: int | None = None
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
    from antiphon.pipeline.session.cluster import told_plainly
    from antiphon.pipeline.session.spark import abandon, require_spark, spark_session

    require_spark()
    from antiphon.pipeline.tables.spark import SparkExecutor

    with told_plainly("this machine"), ended_by_interrupt(abandon):
        spark = spark_session(name, cores=cores)
        try:
            yield SparkExecutor(spark)
        finally:
            spark.stop()

"""Tables on Spark: parts are partitions, spread over the cores, spilt to disk where need be.

Law: the only module, apart from the session's, that knows PySpark. Kernels run in Spark's Python
workers, as ``mapInArrow``.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from antiphon.pipeline.tables.table import Executor, Kernel, Table, Types

ROWS_PER_PART_MIN = 2**16
"""A task takes tens of milliseconds, whatever it does."""


class SparkTable(Table):
    """A DataFrame."""

    def __init__(self, frame: DataFrame) -> None:
        """Take a DataFrame."""
        self.frame = frame

    def map(self, kernel: Kernel, types: Types) -> "SparkTable":
        """Return what a kernel makes of each partition."""
        schema = ", ".join(f"`{name}` {sql_type}" for name, sql_type in types.items())
        return SparkTable(self.frame.mapInArrow(kernel, schema).select(list(types)))

    def together(
        self, keys: Sequence[str], *, order: Sequence[str] = (), part_count: int
    ) -> "SparkTable":
        """Shuffle by keys, then sort each partition."""
        shuffled = self.frame.repartition(part_count, *keys)
        return SparkTable(shuffled.sortWithinPartitions(*keys, *order))

    def where(self, name: str) -> "SparkTable":
        """Filter in Java: what is left out never reaches Python."""
        return SparkTable(self.frame.where(name))

    def having(self, name: str, *others: str) -> "SparkTable":
        """Filter in Java, likewise."""
        return SparkTable(self.frame.where(f"{name} is not null").select(name, *others))

    @contextmanager
    def kept(self) -> Iterator["SparkTable"]:
        """Keep it in memory, or on disk what does not fit: from when it is first asked for.

        To compute it now would be one more job, and whoever keeps a table asks at once.
        """
        self.frame.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield self
        finally:
            self.frame.unpersist()

    def batches(self) -> Iterable[pa.RecordBatch]:
        """Bring all rows to the driver."""
        batches: list[pa.RecordBatch] = self.frame.toArrow().to_batches()
        return batches


class SparkExecutor(Executor):
    """Computes tables in a session."""

    name = "spark"

    def __init__(self, session: SparkSession, rows_per_part_min: int = ROWS_PER_PART_MIN) -> None:
        """Take a session; whoever started it stops it."""
        self.session = session
        self._rows_per_part_min = rows_per_part_min

    @property
    def core_count(self) -> int:
        """Return how many tasks Spark runs at once."""
        return self.session.sparkContext.defaultParallelism

    def numbered(self, count: int) -> SparkTable:
        """Return numbers, a partition each."""
        return SparkTable(self.session.range(0, count, 1, count))

    def part_count(self, row_count: int, rows_per_part: int) -> int:
        """Return how many tasks a shuffle feeds: two per core if they are worth it.

        What the session says of shuffles is meant for larger tables, unless it is less.
        """
        wanted = int(self.session.conf.get("spark.sql.shuffle.partitions") or 1)
        at_least = min(wanted, 2 * self.core_count, 1 + row_count // self._rows_per_part_min)
        return max(at_least, row_count // rows_per_part)

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
        """Keep it in memory, or on disk what does not fit."""
        self.frame.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            self.frame.count()
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

    def __init__(self, session: SparkSession) -> None:
        """Take a session; whoever started it stops it."""
        self.session = session

    @property
    def core_count(self) -> int:
        """Return how many tasks Spark runs at once."""
        return self.session.sparkContext.defaultParallelism

    def numbered(self, count: int) -> SparkTable:
        """Return numbers, a partition each."""
        return SparkTable(self.session.range(0, count, 1, count))

    def part_count(self, row_count: int, rows_per_part: int) -> int:
        """Return how many tasks a shuffle feeds."""
        at_least = int(self.session.conf.get("spark.sql.shuffle.partitions") or 1)
        return max(at_least, row_count // rows_per_part)

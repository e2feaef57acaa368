"""Run folders as tables, and live ones as streams: ``spark.read.format("antiphon")``.

Law: a row per row of the trace, with every column of docs/trace-format.md, where ``run`` is filled
in, and the ``file`` it is in; every row is checked, and what is none fails the query with the
reader's sentence. A stream follows journals as they grow, new processes and segments included: an
offset is a number of bytes per file, always the end of a row; what a killed process left of its
last row is never read.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from antiphon.core.errors import TraceError, UsageError
from antiphon.pipeline.ingest.sources import Source, deal, find_sources
from antiphon.spark.borrowing import equipped
from antiphon.spark.tables import SQL_COLUMNS, read_between, rows_of, whole_bytes
from antiphon.trace.segments import segments

_TASKS = 8


def register(spark: SparkSession) -> None:
    """Make the format ``antiphon`` known to a session."""
    with equipped(spark):
        spark.dataSource.register(AntiphonSource)


class AntiphonSource(DataSource):
    """The format ``antiphon``."""

    @classmethod
    def name(cls) -> str:
        """Return what to say to ``format``."""
        return "antiphon"

    def schema(self) -> str:
        """Return the columns."""
        return f"{SQL_COLUMNS}, file string"

    def reader(self, schema: StructType) -> "TraceReader":  # noqa: ARG002 - always ours
        """Return what reads a finished trace."""
        return TraceReader(_path(self.options))

    def streamReader(self, schema: StructType) -> "TraceStreamReader":  # noqa: ARG002, N802
        """Return what follows a trace as it is written."""
        return TraceStreamReader(_path(self.options))


class _Hand(InputPartition):
    """The files that one task reads."""

    def __init__(self, sources: list[Source]) -> None:
        super().__init__(None)
        self.sources = sources


class TraceReader(DataSourceReader):
    """Reads the files of a trace, each by one task."""

    def __init__(self, path: Path) -> None:
        """Take a run folder, or anything else that is verified."""
        self._path = path

    def partitions(self) -> list[InputPartition]:
        """Deal the files out."""
        return [_Hand(hand) for hand in deal(find_sources([self._path]), _TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some files."""
        assert isinstance(partition, _Hand), "see partitions"
        for source in partition.sources:
            yield from rows_of(source)


class _Piece(InputPartition):
    """The rows of a journal between two offsets."""

    def __init__(self, file: str, begin: int, end: int, run: str) -> None:
        super().__init__(None)
        self.file, self.begin, self.end, self.run = file, begin, end, run


class TraceStreamReader(DataSourceStreamReader):
    """Follows the journals of a run folder."""

    def __init__(self, path: Path) -> None:
        """Take a run folder; it may be empty as yet."""
        if not path.is_dir():
            message = f"{path}: there is no such folder: a stream follows a run folder"
            raise UsageError(message)
        self._path = path

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Begin with nothing."""
        return {}

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]  # noqa: N802 - likewise
        """Return how far each journal has been written."""
        try:
            files = [str(segment.path) for segment in segments(self._path)]
        except TraceError:
            return {}  # nobody has begun
        return {file: whole_bytes(Path(file)) for file in files}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """Return what has been added, a task per file."""
        run = self._path.resolve().name
        return [
            _Piece(file, start.get(file, 0), size, run)
            for file, size in end.items()
            if size > start.get(file, 0)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield what has been added to a journal."""
        assert isinstance(partition, _Piece), "see partitions"
        file = Path(partition.file)
        yield from read_between(file, partition.begin, partition.end, partition.run)


def _path(options: Mapping[str, str]) -> Path:
    if "path" not in options:
        message = 'the format antiphon needs a path: .load("runs/a")'
        raise UsageError(message)
    return Path(options["path"].removeprefix("file://").removeprefix("file:"))

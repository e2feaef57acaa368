"""Run folders as tables, and live ones as streams: ``spark.read.format("antiphon")``.

Law: a row per row of the trace, with every column of docs/trace-format.md, where ``run`` is filled
in, and the ``file`` it is in; every row is checked, and what is none fails the query with the
reader's sentence. A stream follows journals as they grow, new processes and segments included: an
offset is a number of bytes per file, always the end of a row; what a killed process left of its
last row is never read. With the option ``packed`` a stream's rows are thousands of rows each, as
the live judge takes them; with ``maxBytesPerBatch`` a batch has at most so much of all journals
together, an equal share of what is left of each, so that none runs ahead of the others. A packed
stream has a batch, of no rows if need be, whenever it begins or begins again: after that Spark goes
by the judge's timers, but before the first batch it knows of none, and would wait for rows.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from antiphon.core.errors import UsageError
from antiphon.pipeline.ingest.sources import Source, deal, find_sources
from antiphon.spark.borrowing import equipped
from antiphon.spark.pieces import PACK_COLUMNS, Piece, dealt, grown, packs_between
from antiphon.spark.tables import SQL_COLUMNS, read_between, rows_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit

_TASKS = 8

_BEGUN = ":begun"
"""In an offset beside the files: when the stream began, or began again, in milliseconds."""


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
        return PACK_COLUMNS if _is_packed(self.options) else f"{SQL_COLUMNS}, file string"

    def reader(self, schema: StructType) -> "TraceReader":  # noqa: ARG002 - always ours
        """Return what reads a finished trace."""
        return TraceReader(_path(self.options))

    def streamReader(self, schema: StructType) -> "TraceStreamReader":  # noqa: ARG002, N802
        """Return what follows a trace as it is written."""
        limit = int(self.options.get("maxBytesPerBatch", "0"))
        return TraceStreamReader(_path(self.options), limit, is_packed=_is_packed(self.options))


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


class _Pieces(InputPartition):
    """The rows of some journals, each between two offsets."""

    def __init__(self, pieces: list[Piece], run: str) -> None:
        super().__init__(None)
        self.pieces, self.run = pieces, run


class TraceStreamReader(DataSourceStreamReader):
    """Follows the journals of a run folder."""

    def __init__(self, path: Path, bytes_per_batch: int = 0, *, is_packed: bool = False) -> None:
        """Take a run folder, which may be empty as yet; 0 bytes per batch: all that there is."""
        if not path.is_dir():
            message = f"{path}: there is no such folder: a stream follows a run folder"
            raise UsageError(message)
        self._path = path
        self._bytes_per_batch = bytes_per_batch
        self._is_packed = is_packed
        self._begun = {_BEGUN: time.time_ns() // 1_000_000} if is_packed else {}

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Begin with nothing."""
        return {}

    def latestOffset(  # noqa: N802 - Spark's name
        self,
        start: dict[str, int] | None = None,
        limit: object = None,
    ) -> dict[str, int]:
        """Return how far each journal has been written, or is to be read now.

        Spark 4.0 and 4.1 do not say from where: then a batch has all that there is.
        """
        is_limited = start is not None and type(limit).__name__ == "ReadMaxBytes"
        files = {file: end for file, end in (start or {}).items() if file != _BEGUN}
        ends = grown(self._path, files, self._bytes_per_batch if is_limited else 0)
        return {**ends, **self._begun}

    def getDefaultReadLimit(self) -> "ReadLimit":  # noqa: N802 - Spark's name
        """Return how much a batch may have."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

        return ReadMaxBytes(self._bytes_per_batch) if self._bytes_per_batch else ReadAllAvailable()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """Return what has been added, dealt out to a few tasks."""
        run = self._path.resolve().name
        pieces = [
            (file, start.get(file, 0), size)
            for file, size in end.items()
            if file != _BEGUN and size > start.get(file, 0)
        ]
        return [_Pieces(hand, run) for hand in dealt(pieces, _TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield what has been added to some journals."""
        assert isinstance(partition, _Pieces), "see partitions"
        reading = packs_between if self._is_packed else read_between
        for file, begin, end in partition.pieces:
            yield from reading(Path(file), begin, end, partition.run)


def _is_packed(options: Mapping[str, str]) -> bool:
    return options.get("packed", "").lower() == "true"


def _path(options: Mapping[str, str]) -> Path:
    if "path" not in options:
        message = 'the format antiphon takes one path: .load("runs/a"); union several'
        raise UsageError(message)
    return Path(options["path"].removeprefix("file://").removeprefix("file:"))

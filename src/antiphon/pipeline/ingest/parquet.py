"""Parquet files of a trace, with the columns of docs/trace-format.md.

Law: only columns that a verdict rests on are read, some tens of thousands of rows at a time. What
is wrong with a file is said in the words of who reads it row by row. What is written has every
column, in the types below, rows in the order of the lines: a row's number is its line's.
"""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from antiphon.core.errors import TraceError, reason_of
from antiphon.logs.parquet import opened
from antiphon.logs.reading import read_log_segment
from antiphon.pipeline.ingest.column_reading import ColumnReader
from antiphon.pipeline.ingest.columns import NAMES, READ
from antiphon.pipeline.ingest.reading import SourceFile
from antiphon.pipeline.ingest.row_groups import can_be_read_by_columns, has_ids, may_hold_columns
from antiphon.pipeline.ingest.sources import Source
from antiphon.pipeline.tables.chunks import column, text_column
from antiphon.trace.continuity import Tally
from antiphon.trace.schema import Event
from antiphon.trace.segments import segment_name

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetWriter

ROWS_PER_BATCH = 2**17

SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("process", pa.string()),
        ("recorded_as", pa.string()),
        ("index", pa.int64()),
        ("time_us", pa.int64()),
        ("kind", pa.string()),
        ("group", pa.string()),
        ("view", pa.int64()),
        ("sender", pa.string()),
        ("first", pa.int64()),
        ("count", pa.int64()),
        ("order", pa.string()),
        ("uniform", pa.bool_()),
        ("clock", pa.map_(pa.string(), pa.int64())),
        ("bytes", pa.int64()),
        ("overhead_bytes", pa.int64()),
        ("queue_depth", pa.int64()),
        ("members", pa.list_(pa.string())),
        ("to", pa.list_(pa.string())),
        ("domain", pa.string()),
        ("resilience", pa.int64()),
        ("detail", pa.string()),
        ("id", pa.string()),
    ]
)
_SORTED = ("index", "time_us", "first")


def reader_of(source: Source) -> SourceFile:
    """Return what reads a file fastest."""
    return ParquetReader(source) if may_hold_columns(source.segment) else SourceFile(source)


class ParquetReader(ColumnReader):
    """Reads one file of Parquet: by columns if they are ours, and else row by row."""

    def __init__(self, source: Source) -> None:
        """Take a file; nothing is read yet."""
        super().__init__(source, ())

    def packs(self) -> Iterator[tuple[str, bytes]]:
        """Yield what multicast and deliver rows say, and ballots."""
        segment, part = self.source.segment, self.source.part
        with opened(segment.path, segment.file, list(NAMES)) as parquet:
            if not can_be_read_by_columns(parquet):
                yield from SourceFile.packs(self)
                return
            columns = [name for name in READ if name in parquet.schema_arrow.names]
            groups = range(part.first_group, part.end_group) if part is not None else None
            self.has_ids = has_ids(parquet)
            self.first_line = part.first_row + 1 if part is not None else 1
            self.batches = parquet.iter_batches(
                ROWS_PER_BATCH, row_groups=groups, columns=columns, use_threads=False
            )
            try:
                yield from super().packs()
            except TraceError:
                self._refuse()
                raise

    def _refuse(self) -> None:
        """Raise what the reader of rows has to say: everybody is to say it in the same words."""
        for _ in read_log_segment(self.source.segment, Tally()):
            pass


class ColumnJournal:
    """The rows of one process, numbered, in one file; there is none before it is closed.

    For who can simulate it again: of a process that is killed nothing is left.
    """

    def __init__(self, folder: Path, process: str) -> None:
        """Write under ``folder``, the ``events/`` of a run."""
        self._path = folder / process / f"{segment_name(1).partition('.')[0]}.parquet"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._rows: list[Event] = []
        self._writer: Any = None
        self.row_count = 0

    def append(self, event: Event) -> None:
        """Number a row and take it; it is the journal's from now on."""
        event.index = self.row_count
        self.row_count += 1
        self._rows.append(event)
        if len(self._rows) == ROWS_PER_BATCH:
            self._write()

    def _write(self) -> None:
        with self._told_if_it_fails():
            self._writer = self._writer or _writer(self._path)
            self._writer.write_batch(batch_of(self._rows))
        self._rows.clear()

    @contextmanager
    def _told_if_it_fails(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            message = f"{self._path}: cannot be written ({reason_of(error)}): make room and rerun"
            raise TraceError(message) from error

    def __enter__(self) -> Self:
        """Return the journal, to be closed at the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write what is left; after a failure, take it all away."""
        is_whole = False
        try:
            if kind is None:
                if self._rows:
                    self._write()
                with self._told_if_it_fails():
                    self._close()
                is_whole = True
        finally:
            if not is_whole:
                with suppress(OSError):
                    self._close()
                self._path.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def write_rows(path: Path, events: Iterable[Event]) -> int:
    """Write rows, in the order they come in; return how many; no row, no file."""
    events, row_count = iter(events), 0
    batch = list(itertools.islice(events, ROWS_PER_BATCH))
    if not batch:
        return 0
    with _writer(path) as writer:
        while batch:
            row_count += len(batch)
            writer.write_batch(batch_of(batch))
            batch = list(itertools.islice(events, ROWS_PER_BATCH))
    return row_count


def _writer(path: Path) -> "ParquetWriter":
    from pyarrow import parquet

    encodings = dict.fromkeys(_SORTED, "DELTA_BINARY_PACKED")
    texts = [field.name for field in SCHEMA if field.type == pa.string()]
    return parquet.ParquetWriter(
        path, SCHEMA, compression="zstd", use_dictionary=texts, column_encoding=encodings
    )


def batch_of(events: list[Event]) -> pa.RecordBatch:
    """Return rows as columns."""
    arrays = [_column([getattr(row, field.name) for row in events], field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return values as a column; pyarrow's own way would first import pandas."""
    if kind == pa.string():
        return text_column(values)
    if pa.types.is_nested(kind):
        return _nested_column(values, kind)
    return column(np.array(values, dtype=bool if kind == pa.bool_() else np.int64))


def _nested_column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return lists of texts, or objects of integers: most are None."""
    if not any(values):
        return pa.nulls(len(values), kind)
    offsets = np.cumsum([0, *(len(value or ()) for value in values)]).astype(np.int32)
    is_there = np.packbits([value is not None for value in values], bitorder="little")
    children = text_column([text for value in values if value for text in value])
    if pa.types.is_map(kind):
        numbers = [number for value in values if value for number in value.values()]
        items = [children, column(np.array(numbers, dtype=np.int64))]
        entries = [kind.key_field, kind.item_field]
        children = pa.StructArray.from_arrays(items, fields=entries)
    buffers = [pa.py_buffer(is_there), pa.py_buffer(offsets)]
    return pa.Array.from_buffers(kind, len(values), buffers, children=[children])

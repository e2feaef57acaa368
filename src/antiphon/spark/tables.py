"""Rows of files as Arrow batches, with all their columns: what the data source yields.

Law: rows, of lines and of tables, are checked as ``antiphon verify`` checks them, and defaults are
filled in. That rows of Parquet, or of a growing journal, are numbered without gaps is looked at by
whoever judges them. Memory: a batch.
"""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from antiphon.core.errors import TraceError
from antiphon.logs.parquet import opened
from antiphon.logs.reading import read_log_segment
from antiphon.pipeline.ingest.column_reading import unruly
from antiphon.pipeline.ingest.columns import Columns, names_of_columns
from antiphon.pipeline.ingest.parquet import SCHEMA, batch_of
from antiphon.pipeline.ingest.row_groups import can_be_read_by_columns, may_hold_columns
from antiphon.pipeline.ingest.sources import Source
from antiphon.pipeline.tables.chunks import text_column
from antiphon.trace.continuity import Tally
from antiphon.trace.rules import problem_of
from antiphon.trace.schema import Event

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

ROWS_PER_BATCH = 16_384
_BLOCK_BYTES = 1 << 20

_SQL_NAMES = {
    pa.string(): "string",
    pa.int64(): "bigint",
    pa.bool_(): "boolean",
    pa.map_(pa.string(), pa.int64()): "map<string, bigint>",
    pa.list_(pa.string()): "array<string>",
}
SQL_COLUMNS = ", ".join(f"`{field.name}` {_SQL_NAMES[field.type]}" for field in SCHEMA)
"""The columns of a trace, as SQL calls them."""

_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Event)}

_DECODER = msgspec.json.Decoder(Event)


def rows_of(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file."""
    segment = source.segment
    if may_hold_columns(segment):
        with opened(segment.path, segment.file) as parquet:
            if can_be_read_by_columns(parquet):
                yield from _columns_of(parquet, source)
                return
    rows = read_log_segment(segment, Tally())
    yield from _batches((event for _, event in rows), segment.file, source.run)


def read_between(path: Path, begin: int, end: int, run: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows between two ends of rows."""
    yield from _batches(_decoded(path, begin, end), str(path), run)


def _decoded(path: Path, begin: int, end: int) -> Iterator[Event]:
    rest = b""
    with path.open("rb") as file:
        file.seek(begin)
        while begin < end and (block := file.read(min(_BLOCK_BYTES, end - begin))):
            begin += len(block)
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                if line.strip():
                    yield _event(path, begin, line)


def _event(path: Path, before: int, line: bytes) -> Event:
    try:
        event = _DECODER.decode(line)
    except msgspec.DecodeError as error:
        problem: str | None = f"not a row as in docs/trace-format.md: {error}"
    else:
        problem = problem_of(event)
        if problem is None:
            return event
    message = f"{path}: before byte {before}: {problem}"
    raise TraceError(message)


def _batches(events: Iterable[Event], file: str, run: str) -> Iterator[pa.RecordBatch]:
    events = iter(events)
    while batch := list(itertools.islice(events, ROWS_PER_BATCH)):
        for event in batch:
            event.run = event.run or run
        yield _with_file(batch_of(batch), file)


def _with_file(batch: pa.RecordBatch, file: str) -> pa.RecordBatch:
    files = text_column([file] * batch.num_rows)
    return pa.RecordBatch.from_arrays([*batch.columns, files], names=[*SCHEMA.names, "file"])


def _columns_of(parquet: "ParquetFile", source: Source) -> Iterator[pa.RecordBatch]:
    """Yield rows whose columns are ours, checked without Python per row."""
    segment, names, line = source.segment, names_of_columns(), 1
    for batch in parquet.iter_batches(ROWS_PER_BATCH):
        wrong = unruly(Columns(batch, segment.file, line, names))
        if wrong is not None:
            for _ in read_log_segment(segment, Tally()):
                pass  # it raises, in the words of who reads row by row
            message = f"{segment.file}:{line + wrong[0]}: {wrong[2]}"
            raise TraceError(message)
        line += batch.num_rows
        given = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns = [_filled(given.get(field.name), field, batch.num_rows) for field in SCHEMA]
        columns[0] = text_column([each or source.run for each in columns[0].to_pylist()])
        yield _with_file(pa.RecordBatch.from_arrays(columns, schema=SCHEMA), segment.file)


def _filled(array: pa.Array | None, field: pa.Field, row_count: int) -> pa.Array:
    """Return a column as rows of lines would have it: what is left out is the default."""
    if array is None or pa.types.is_null(array.type):
        array = pa.nulls(row_count, field.type)
    array = array.cast(field.type)
    if pa.types.is_nested(field.type) or not array.null_count:
        return array
    return array.fill_null(_DEFAULTS[field.name])

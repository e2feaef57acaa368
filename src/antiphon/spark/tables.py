"""Rows of files as Arrow batches, with all their columns: what the data source yields.

Law: lines are checked as ``antiphon verify`` checks them, each by itself: whether rows are numbered
without gaps is for whoever judges them. Memory: a batch.
"""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa

from antiphon.core.errors import TraceError
from antiphon.logs.reading import read_log_segment
from antiphon.pipeline.ingest.parquet import SCHEMA, batch_of
from antiphon.pipeline.ingest.sources import Source
from antiphon.pipeline.tables.chunks import text_column
from antiphon.trace.continuity import Tally
from antiphon.trace.rules import problem_of
from antiphon.trace.schema import Event
from antiphon.trace.segments import Format, Segment

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

_DECODER = msgspec.json.Decoder(Event)


def rows_of(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file."""
    segment = source.segment
    if segment.format is Format.PARQUET:
        yield from _columns_of(segment, source.run)
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


def _columns_of(segment: Segment, run: str) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    with parquet.ParquetFile(segment.path) as file:
        for batch in file.iter_batches(ROWS_PER_BATCH):
            given = dict(zip(batch.schema.names, batch.columns, strict=True))
            columns = [
                given[field.name].cast(field.type)
                if field.name in given
                else pa.nulls(batch.num_rows, field.type)
                for field in SCHEMA
            ]
            columns[0] = text_column([each or run for each in columns[0].to_pylist()])
            filled = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
            yield _with_file(filled, segment.file)

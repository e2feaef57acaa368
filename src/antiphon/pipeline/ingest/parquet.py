"""Parquet files of a trace, with the columns of docs/trace-format.md.

Law: only columns that a verdict rests on are read, some tens of thousands of rows at a time. What
is no Parquet, or was cut off, is refused in a sentence that names the file. What is written has
every column, in the types below, rows in the order of the lines: a row's number is its line's.
"""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from antiphon.core.errors import TraceError
from antiphon.pipeline.ingest.column_reading import ColumnReader
from antiphon.pipeline.ingest.columns import NAMES, READ
from antiphon.pipeline.ingest.sources import Source
from antiphon.pipeline.tables.chunks import column, text_column
from antiphon.trace.schema import Event

ROWS_PER_BATCH = 2**17

SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("process", pa.string()),
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
        ("detail", pa.string()),
    ]
)
_SORTED = ("index", "time_us", "first")


def column_reader(source: Source) -> ColumnReader | None:
    """Return what reads a file that holds columns; None: it holds lines."""
    path = source.segment.path
    return ColumnReader(source, batches_of(path)) if path.suffix == ".parquet" else None


def batches_of(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file."""
    from pyarrow import parquet

    try:
        metadata = parquet.read_metadata(path)
        kinds = {field.name: field.type for field in metadata.schema.to_arrow_schema()}
        texts = [name for name in NAMES if kinds.get(name) == pa.string()]
        columns = [name for name in READ if name in kinds]
        with parquet.ParquetFile(path, metadata=metadata, read_dictionary=texts) as file:
            yield from file.iter_batches(ROWS_PER_BATCH, columns=columns, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0][:160]
        message = f"{path}: cannot be read as Parquet ({reason}): bring back the whole file"
        raise TraceError(message) from error


def write_rows(path: Path, events: Iterable[Event]) -> int:
    """Write rows, in the order they come in; return how many; no row, no file."""
    from pyarrow import parquet

    events, row_count = iter(events), 0
    batch = list(itertools.islice(events, ROWS_PER_BATCH))
    if not batch:
        return 0
    encodings = dict.fromkeys(_SORTED, "DELTA_BINARY_PACKED")
    texts = [field.name for field in SCHEMA if field.type == pa.string()]
    with parquet.ParquetWriter(
        path, SCHEMA, compression="zstd", use_dictionary=texts, column_encoding=encodings
    ) as writer:
        while batch:
            row_count += len(batch)
            writer.write_batch(batch_of(batch))
            batch = list(itertools.islice(events, ROWS_PER_BATCH))
    return row_count


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

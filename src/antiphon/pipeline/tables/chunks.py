"""Rows that belong together, from a stream of Arrow batches.

Law: rows with equal keys come one after the other (the caller has sorted them), whatever the
batches' borders. Unlike Spark's `applyInArrow` this costs next to nothing per key, so
thousands of tiny traces pass as fast as one large one. Memory: the rows at hand, and a batch.
Columns become numpy arrays, and back, through their buffers: pyarrow's own conversions would
first import pandas: a second or so, in each of Spark's workers, and here.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

ROWS_PER_BATCH = 16_384
"""On their way from one kernel to the next."""

Key = tuple[int, ...]


def slices(
    batches: Iterable[pa.RecordBatch], keys: tuple[str, ...]
) -> Iterator[tuple[Key, pa.RecordBatch]]:
    """Cut batches wherever a key changes."""
    for batch in batches:
        columns = [numbers(batch, key) for key in keys]
        borders = [0, *(np.flatnonzero(_is_change(batch, keys)) + 1).tolist(), batch.num_rows]
        for start, end in pairwise(borders):
            if start < end:
                key = tuple(int(column[start]) for column in columns)
                yield key, batch.slice(start, end - start)


def chunks(
    batches: Iterable[pa.RecordBatch], keys: tuple[str, ...]
) -> Iterator[tuple[Key, pa.RecordBatch]]:
    """Yield all rows of each key as one batch."""
    current, pending = None, []
    for key, piece in slices(batches, keys):
        if key != current and current is not None:
            yield current, _joined(pending)
            pending = []
        current = key
        pending.append(piece)
    if current is not None:
        yield current, _joined(pending)


def regrouped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join small batches and cut large ones: Spark takes its time over each."""
    pending, row_count = [], 0
    for batch in batches:
        pending.append(batch)
        row_count += batch.num_rows
        if row_count >= ROWS_PER_BATCH:
            yield from _cut_up(_joined(pending))
            pending, row_count = [], 0
    if pending:
        yield from _cut_up(_joined(pending))


def numbers(batch: pa.RecordBatch, name: str) -> np.ndarray[Any, Any]:
    """Return a column of truth values as they are, of numbers in 64 bits."""
    values = flat_values(batch.column(name))
    return values if values.dtype == bool else values.astype(np.int64, copy=False)


def vectors(batch: pa.RecordBatch, name: str) -> np.ndarray[Any, Any]:
    """Return a column of lists of equal length as a matrix: a row per row."""
    return flat_values(batch.column(name).flatten()).reshape(batch.num_rows, -1)


def lists(batch: pa.RecordBatch, name: str) -> list[np.ndarray[Any, Any]]:
    """Return a column of lists, of any lengths, one array each."""
    offsets = flat_values(batch.column(name).offsets)
    return np.split(flat_values(batch.column(name).flatten()), offsets[1:-1] - offsets[0])


def entries(
    batch: pa.RecordBatch, name: str, width: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return a column of lists of entries, each so many numbers, as a matrix: a line per number.

    First, of which row each entry is.
    """
    lengths = np.diff(flat_values(batch.column(name).offsets)) // width
    flat = flat_values(batch.column(name).flatten()).reshape(-1, width)
    return np.repeat(np.arange(batch.num_rows), lengths), flat.T


def whole(batches: Iterable[pa.RecordBatch], keys: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows, those of a key in one batch: unlike ``chunks``, with many keys in it."""
    rest: list[pa.RecordBatch] = []
    for batch in batches:
        joined = _joined([*rest, batch])
        borders = np.flatnonzero(_is_change(joined, keys))
        begin = int(borders[-1]) + 1 if len(borders) else 0
        if begin:
            yield joined.slice(0, begin)
        rest = [joined.slice(begin)]
    yield from (batch for batch in rest if batch.num_rows)


def column(values: np.ndarray[Any, Any]) -> pa.Array:
    """Return numbers or truth values as a column."""
    buffer = np.packbits(values, bitorder="little") if values.dtype == bool else values
    arrow_type = pa.from_numpy_dtype(values.dtype)
    data = pa.py_buffer(np.ascontiguousarray(buffer))
    return pa.Array.from_buffers(arrow_type, len(values), [None, data])


def text_column(texts: list[str]) -> pa.Array:
    """Return texts as a column."""
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def list_column(matrix: np.ndarray[Any, Any]) -> pa.ListArray:
    """Return a matrix as a column of lists: the inverse of ``vectors``."""
    rows, width = matrix.shape
    offsets = np.arange(0, rows * width + 1, width, dtype=np.int32)
    return pa.ListArray.from_arrays(column(offsets), column(matrix.ravel()))


def ragged_column(of_rows: Iterable[list[int]]) -> pa.ListArray:
    """Return lists of any lengths as a column: the inverse of ``lists``."""
    arrays = [np.array(each, dtype=np.int64) for each in of_rows]
    offsets = np.cumsum([0, *map(len, arrays)]).astype(np.int32)
    values = np.concatenate([np.zeros(0, dtype=np.int64), *arrays])
    return pa.ListArray.from_arrays(column(offsets), column(values))


def packed_column(matrices: Iterable[np.ndarray[Any, Any]]) -> pa.Array:
    """Return a column with one matrix of 64-bit numbers, as bytes, per row."""
    blobs = [matrix.tobytes() for matrix in matrices]
    offsets = np.cumsum([0, *map(len, blobs)]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(blobs))]
    return pa.Array.from_buffers(pa.binary(), len(blobs), buffers)


def unpacked(batch: pa.RecordBatch, name: str, line_count: int) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the matrices of a packed column; each has this many lines."""
    for blob in batch.column(name):
        yield np.frombuffer(blob.as_buffer(), dtype=np.int64).reshape(line_count, -1)


def _is_change(batch: pa.RecordBatch, keys: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Return, for each row but the first, whether its key differs from that of the row before."""
    is_change = np.zeros(max(batch.num_rows - 1, 0), dtype=bool)
    for values in (numbers(batch, key) for key in keys):
        is_change |= values[1:] != values[:-1]
    return is_change


def flat_values(array: pa.Array) -> np.ndarray[Any, Any]:
    """Return an array of numbers or truth values, without nulls, as numpy's."""
    assert array.null_count == 0, "the pipeline writes no nulls"
    buffer, begin, count = array.buffers()[1], array.offset, len(array)
    if pa.types.is_boolean(array.type):
        bits = np.frombuffer(buffer, dtype=np.uint8)
        return np.unpackbits(bits, count=begin + count, bitorder="little")[begin:].astype(bool)
    item = np.dtype(array.type.to_pandas_dtype())
    return np.frombuffer(buffer, dtype=item, count=count, offset=begin * item.itemsize)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _cut_up(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, ROWS_PER_BATCH):
        yield batch.slice(start, ROWS_PER_BATCH)

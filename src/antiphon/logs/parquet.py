"""Parquet files: opened, and read record by record.

Law: the only module that knows pyarrow besides the pipeline, and it imports it when a Parquet
file is met. A row's line is its number in the file, from 1. A file that is cut or damaged is told
in one sentence. The pipeline reads files of our own columns without going through records.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import msgspec

from antiphon.core.errors import TraceError, UsageError
from antiphon.logs.making import FIELDS, Record
from antiphon.trace.schema import Event

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_ROWS_PER_BATCH = 4096

_LISTS = ("members", "to")
_COLUMNS = tuple(name for name in FIELDS if name not in {*_LISTS, "clock"})
_TYPES = {
    **dict.fromkeys(("run", "process", "kind", "group", "sender", "order", "id"), "string"),
    "detail": "string",
    "uniform": "bool_",
}
"""Of columns that are not integers."""


@contextmanager
def opened(path: Path, file: str, texts: list[str] | None = None) -> "Iterator[pq.ParquetFile]":
    """Open a file; ``texts`` are the columns in which few texts come again and again.

    What goes wrong while it is open is refused like a file that cannot be opened.
    """
    pa, pq = _arrow(file)
    try:
        known = pq.read_schema(path).names if texts else []
        coded = [name for name in texts or [] if name in known]
        with pq.ParquetFile(path, read_dictionary=coded) as parquet:
            yield parquet
    except pa.ArrowException as error:
        raise _damaged(file) from error
    except OSError as error:
        if error.strerror is None:  # pyarrow's own, of a page that cannot be unpacked
            raise _damaged(file) from error
        message = f"{file}:1: cannot be read ({error.strerror}): check the path and its permissions"
        raise TraceError(message) from error


def parquet_records(parquet: "pq.ParquetFile") -> Iterator[tuple[int, Record]]:
    """Yield the rows of a file, by number."""
    row_count = 0
    for batch in parquet.iter_batches(_ROWS_PER_BATCH):
        yield from enumerate(batch.to_pylist(), row_count + 1)
        row_count += batch.num_rows


def _arrow(file: str) -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - only where there is a Parquet file
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        message = f"{file}: Parquet needs pyarrow: run: pip install 'antiphon[verify]'"
        raise UsageError(message) from error
    return pa, pq


def _damaged(file: str) -> TraceError:
    return TraceError(f"{file}:1: not a whole Parquet file: it is cut or damaged, copy it again")


def write_parquet(path: Path, blocks: Iterable[list[Event]]) -> None:
    """Write rows with the trace's columns and types; what is left out is null."""
    pa, pq = _arrow(str(path))
    schema = pa.schema([(name, getattr(pa, _TYPES.get(name, "int64"))()) for name in _COLUMNS])
    place = schema.get_field_index("detail")
    for name in _LISTS:
        schema = schema.insert(place, pa.field(name, pa.list_(pa.string())))
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for block in blocks:
            records = [msgspec.to_builtins(event) for event in block]
            writer.write_table(pa.Table.from_pylist(records, schema=schema))

"""Parquet files: opened, and read record by record.

Law: the only module that knows pyarrow besides the pipeline, and it imports it when a Parquet
file is met. A row's line is its number in the file, from 1. A file that is cut or damaged is told
in one sentence. The pipeline reads files of our own columns without going through records.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.core.errors import TraceError, UsageError
from antiphon.logs.making import Record

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_ROWS_PER_BATCH = 4096


@contextmanager
def opened(path: Path, file: str, texts: list[str] | None = None) -> "Iterator[pq.ParquetFile]":
    """Open a file; ``texts`` are the columns in which few texts come again and again.

    What goes wrong while it is open is refused like a file that cannot be opened.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - only where there is a Parquet file
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        message = f"{file}: Parquet needs pyarrow: run: pip install 'antiphon[verify]'"
        raise UsageError(message) from error
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


def _damaged(file: str) -> TraceError:
    return TraceError(f"{file}:1: not a whole Parquet file: it is cut or damaged, copy it again")

"""Batches in memory, or, beyond some size, in a file that is mapped into memory.

Law: the caller gets a list of the same batches, in the same order, either way. The file has no name
once it is mapped, so that nothing is left behind, however the process ends; the machine reads its
pages when they are looked at, and may forget them again. A disk that is full is a sentence.
"""

import tempfile
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from antiphon.core.errors import UsageError, reason_of

SPILL_BYTES_MIN = 1_500_000_000
"""In memory, per table: ten million rows of a trace never touch the disk."""


def collected(batches: Iterable[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Return all batches; if they have more than so many bytes, from a file."""
    found: list[pa.RecordBatch] = []
    byte_count, batches = 0, iter(batches)
    for batch in batches:
        found.append(batch)
        byte_count += batch.nbytes
        if byte_count > SPILL_BYTES_MIN:
            return _from_file(found, batches)
    return found


def _from_file(
    first: list[pa.RecordBatch], others: Iterable[pa.RecordBatch]
) -> list[pa.RecordBatch]:
    try:
        with tempfile.NamedTemporaryFile(prefix="antiphon-rows-") as file:
            with pa.ipc.new_file(file.name, first[0].schema) as writer:
                while first:
                    writer.write_batch(first.pop(0))
                for batch in others:
                    writer.write_batch(batch)
            mapped = pa.ipc.open_file(pa.memory_map(file.name))
            return [mapped.get_batch(number) for number in range(mapped.num_record_batches)]
    except OSError as error:
        folder = Path(tempfile.gettempdir())
        message = (
            f"{folder}: rows that do not fit in memory cannot be written there "
            f"({reason_of(error)}): make room, or set TMPDIR to a folder that has some"
        )
        raise UsageError(message) from error

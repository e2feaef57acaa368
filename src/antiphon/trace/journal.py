r"""The journal of one process: its rows, in numbered segments, safe from ``kill -9``.

Law: what has been flushed survives the death of the process (not of the machine: no fsync), and
a row is written whole or, at the very end of the last segment, cut short. The journal numbers
the rows, 0, 1, 2, ...; the same rows give the same bytes in the same segments, whenever flushed.
Cost: about a microsecond per row, encoded at once, so the caller may reuse what it passed in.

    <folder>/<process>/000001.ndjson, 000002.ndjson, ...

A process may take another name later: its rows under that are in the same journal, and a folder of
the other name, with a file that is no segment, says that the name is taken.
"""

import errno
import os
import re
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from antiphon.core.errors import TraceError, UsageError
from antiphon.core.ids import check_name
from antiphon.trace.rules import LINE_BYTES_MAX
from antiphon.trace.schema import Event
from antiphon.trace.segments import segment_name

SEGMENT_BYTES = 64 << 20
"""A segment ends with the row that makes it this long."""

BUFFER_BYTES = 256 << 10
"""More than this is not kept from the operating system, even if nobody calls ``flush``."""

CLAIM = "_record"
"""The file that says in whose journal the rows of a name are; as `_` begins it, it is no trace."""

_LATER_INCARNATION = re.compile(r"~[0-9]{1,9}$")


class Journal:
    """Writes the rows of ``process`` under ``folder``, the ``events/`` of a run."""

    def __init__(self, folder: Path, process: str, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        """Make the process's folder; nothing of another run may be in it."""
        if segment_bytes < 1:
            message = f"a segment of {segment_bytes} bytes holds nothing: ask for 1 byte or more"
            raise UsageError(message)
        check_name(_LATER_INCARNATION.sub("", process), "process")
        self.folder = folder / process
        self.row_count = 0
        self._segment_bytes = segment_bytes
        self._segment_size = 0
        self._ordinal = 1
        self._file: int | None = None
        self._buffer = bytearray()
        self._encode_into = msgspec.json.Encoder().encode_into
        self._is_closed = False
        self._spill_at = min(BUFFER_BYTES, segment_bytes)
        _make_empty_folder(self.folder)

    def append(self, event: Event) -> None:
        """Number a row and take it; it is on its way to the disk after the next ``flush``."""
        event.index = self.row_count
        buffer = self._buffer
        size = len(buffer)
        try:
            self._encode_into(event, buffer, -1)
        except (TypeError, ValueError, OverflowError) as error:
            del buffer[size:]  # the encoder leaves what it had begun
            message = f"{self.folder}: a row cannot be written ({error}): correct its fields"
            raise UsageError(message) from error
        self.row_count += 1
        buffer += b"\n"
        if len(buffer) >= self._spill_at:
            self._spill()

    def claim(self, name: str) -> None:
        """Keep rows of another name of the process here, and have nobody else keep any."""
        folder = self.folder.parent / name
        _make_empty_folder(folder)
        try:
            (folder / CLAIM).write_text(f"{self.folder.name}\n")
        except OSError as error:
            raise _write_failure(folder / CLAIM, error) from error

    def flush(self) -> None:
        """Hand every row to the operating system: from here on a killed process keeps them."""
        if self._buffer:
            self._spill()

    def close(self) -> None:
        """Flush and close; a second time does nothing."""
        if not self._is_closed:
            try:
                self.flush()
            finally:
                self._give_up()

    def __enter__(self) -> Self:
        """Return the journal, to be closed at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _spill(self) -> None:
        """Write the buffer; start a new segment if that filled this one."""
        buffer = self._buffer
        if self._is_closed:
            buffer.clear()
            message = f"{self.folder}: the journal is closed: append no more rows to it"
            raise UsageError(message)
        self._refuse_absurd_row()
        self._write(buffer)
        self._segment_size += len(buffer)
        buffer.clear()
        if self._segment_size >= self._segment_bytes:
            self._close_file()
            self._ordinal += 1
            self._segment_size = 0
        self._spill_at = min(BUFFER_BYTES, self._segment_bytes - self._segment_size)

    def _refuse_absurd_row(self) -> None:
        """Never write what the reader would not read; such a row always fills the buffer."""
        start = self._buffer.rfind(b"\n", 0, -1) + 1
        if len(self._buffer) - start > LINE_BYTES_MAX:
            del self._buffer[start:]
            self.row_count -= 1
            message = f"a row of more than {LINE_BYTES_MAX} bytes is not kept: shorten its `detail`"
            raise UsageError(message)

    def _write(self, data: bytearray) -> None:
        """Write all of ``data`` to the current segment, opening it if need be."""
        path = self.folder / segment_name(self._ordinal)
        try:
            if self._file is None:
                self._file = os.open(
                    path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666
                )
            with memoryview(data) as view:
                written = 0
                while written < len(view):
                    written += os.write(self._file, view[written:])
        except OSError as error:
            self._give_up()
            raise _write_failure(path, error) from error

    def _close_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _give_up(self) -> None:
        """Take no more rows: a later one could not follow those that were lost."""
        self._is_closed = True
        self._spill_at = 0
        self._buffer.clear()
        self._close_file()


def _make_empty_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_taken = any(folder.glob("*.ndjson")) or (folder / CLAIM).exists()
    except (FileExistsError, NotADirectoryError) as error:
        message = f"{folder}: there is a file where this folder should be: choose another folder"
        raise UsageError(message) from error
    except OSError as error:
        message = f"{folder}: cannot be made ({error.strerror}): choose a folder you can write to"
        raise UsageError(message) from error
    if is_taken:
        message = f"{folder}: has rows of another run in it: choose another run folder"
        raise UsageError(message)


def _write_failure(path: Path, error: OSError) -> TraceError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return TraceError(f"{path}: the journal ends here, the disk is full: make room and rerun")
    return TraceError(
        f"{path}: the journal ends here ({error.strerror}): check the folder and rerun"
    )

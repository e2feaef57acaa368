"""A log, ready to be judged: what a user named, and how its columns are to be read.

Law: standard input is kept in a file, so that it can be read as often as need be, by any process;
evidence names standard input, not that file. What is kept on disk meanwhile is gone afterwards.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from antiphon.core.errors import TraceError, UsageError
from antiphon.logs.ids import numbered
from antiphon.trace.log import STANDARD_INPUT, ColumnMap, Log
from antiphon.trace.reader import line_blocks

STANDARD_INPUT_PATH = Path("-")
"""As users name it."""

_PARQUET_MARK = b"PAR1"
_SEPARATORS = (b",", b";", b"\t", b"|")


@contextmanager
def log_at(paths: Sequence[Path]) -> Iterator[Log]:
    """Give the log that these paths make up; `-` is standard input."""
    if STANDARD_INPUT_PATH not in paths:
        yield Log(tuple(paths))
        return
    if paths.count(STANDARD_INPUT_PATH) > 1:
        message = "-: standard input is given twice: leave one of the two out"
        raise UsageError(message)
    with tempfile.TemporaryDirectory(prefix="antiphon-") as folder:
        kept = _keep(Path(folder) / STANDARD_INPUT)
        taken = tuple(kept if path == STANDARD_INPUT_PATH else path for path in paths)
        yield Log(taken, {kept: STANDARD_INPUT})


@contextmanager
def opened_log(paths: Sequence[Path], columns: ColumnMap | None) -> Iterator[Log]:
    """Give the log that these paths make up, its messages numbered."""
    with log_at(paths) as log, numbered(replace(log, columns=columns)) as ready:
        yield ready


def _keep(file: Path) -> Path:
    """Copy standard input to a file whose ending says what it is; return that."""
    try:
        with file.open("wb") as kept:
            shutil.copyfileobj(sys.stdin.buffer, kept)
    except OSError as error:
        message = f"{STANDARD_INPUT}: cannot be kept in {file.parent} ({error.strerror}): make room"
        raise UsageError(message) from error
    return file.rename(file.with_suffix(_ending_of(file)))


def _ending_of(file: Path) -> str:
    """Return how a file would end that begins like this one; nothing if it is JSON, or unknown."""
    with file.open("rb") as opened:
        if opened.read(len(_PARQUET_MARK)) == _PARQUET_MARK:
            return ".parquet"
    try:
        lines, _ = next(line_blocks(file, STANDARD_INPUT), ([], False))
    except TraceError:
        return ""  # whoever reads it will say what is wrong with it
    has_columns = bool(lines) and any(separator in lines[0] for separator in _SEPARATORS)
    return ".csv" if has_columns and b"{" not in b"".join(lines[:3]) else ""

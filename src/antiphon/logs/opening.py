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

from antiphon.core.errors import UsageError
from antiphon.logs.ids import numbered
from antiphon.trace.log import STANDARD_INPUT, ColumnMap, Log

_DASH = Path("-")


@contextmanager
def log_at(paths: Sequence[Path]) -> Iterator[Log]:
    """Give the log that these paths make up; `-` is standard input."""
    if _DASH not in paths:
        yield Log(tuple(paths))
        return
    if paths.count(_DASH) > 1:
        message = "-: standard input is given twice: leave one of the two out"
        raise UsageError(message)
    with tempfile.TemporaryDirectory(prefix="antiphon-") as folder:
        kept = Path(folder) / STANDARD_INPUT
        _keep(kept)
        taken = tuple(kept if path == _DASH else path for path in paths)
        yield Log(taken, {kept: STANDARD_INPUT})


@contextmanager
def opened_log(paths: Sequence[Path], columns: ColumnMap | None) -> Iterator[Log]:
    """Give the log that these paths make up, its messages numbered."""
    with log_at(paths) as log, numbered(replace(log, columns=columns)) as ready:
        yield ready


def _keep(file: Path) -> None:
    try:
        with file.open("wb") as kept:
            shutil.copyfileobj(sys.stdin.buffer, kept)
    except OSError as error:
        message = f"{STANDARD_INPUT}: cannot be kept in {file.parent} ({error.strerror}): make room"
        raise UsageError(message) from error

"""Which files make up a trace, in which order.

Law: a path is a run folder (has ``events/``), an events folder (a sub-folder per process), a
folder of files, or one file; files that are all named as segments are one process's journal,
others are users' files. This follows from names alone, before anything is read. Segments are
numbered from 000001 without gaps, and only the last may end in the middle of a row.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from antiphon.core.errors import TraceError

EVENTS_FOLDER = "events"
"""Where a run folder keeps its trace."""

_SEGMENT_NAME = re.compile(r"([0-9]{6}|[1-9][0-9]{6,})\.ndjson")
_SUFFIXES = (".ndjson", ".jsonl", ".parquet")
_ENDINGS = f"{', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}"


class Segment(NamedTuple):
    """One file of a trace."""

    path: Path
    process: str | None
    """Whose journal it belongs to; None: a user's file, which may hold several processes."""
    ordinal: int
    """Its place among the segments of the process, or among the user's files, from 1."""
    last: bool
    """Whether it ends a journal: then its last row may be cut short by a kill."""


def segment_name(ordinal: int) -> str:
    """Return the file name of a journal's segment."""
    return f"{ordinal:06}.ndjson"


def segments(path: Path) -> list[Segment]:
    """Return the files of the trace at ``path``, in order; complain if there are none."""
    try:
        found = list(_find(path))
    except OSError as error:
        message = f"{path}: cannot be listed ({error.strerror}): check the permissions"
        raise TraceError(message) from error
    if not found:
        message = (
            f"{path}: no trace here: expected a run folder with {EVENTS_FOLDER}/, or files "
            f"ending in {_ENDINGS}"
        )
        raise TraceError(message)
    return found


def _find(path: Path) -> Iterator[Segment]:
    if path.is_file():
        yield Segment(path, None, 1, last=False)
        return
    if not path.is_dir():
        state = "is neither a file nor a folder" if path.exists() else "does not exist"
        message = f"{path}: {state}: give a run folder or a trace file"
        raise TraceError(message)
    events = path / EVENTS_FOLDER
    folder = events if events.is_dir() else path
    folders = [folder, *(entry for entry in sorted(folder.iterdir()) if entry.is_dir())]
    listed = [(entry, files) for entry in folders if (files := _files_of(entry))]
    if len(listed) > 1 and listed[0][0] == folder:
        message = (
            f"{listed[1][0]}: {folder} has trace files of its own beside this folder's: "
            f"verify them one at a time"
        )
        raise TraceError(message)
    for entry, files in listed:
        yield from _in_order(entry, files)


def _files_of(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix in _SUFFIXES and file.is_file())


def _in_order(folder: Path, files: list[Path]) -> Iterator[Segment]:
    """Yield the segments of one journal, by number, or else users' files, by name."""
    matches = [_SEGMENT_NAME.fullmatch(file.name) for file in files]
    numbered = {int(match[1]): file for match, file in zip(matches, files, strict=True) if match}
    if len(numbered) < len(files):
        for ordinal, file in enumerate(files, 1):
            yield Segment(file, None, ordinal, last=False)
        return
    process = folder.name if folder.name.strip(".") else folder.resolve().name
    for ordinal in range(1, max(numbered) + 1):
        if ordinal not in numbered:
            message = (
                f"{folder / segment_name(ordinal)}: this segment is missing though a later one "
                f"is there: bring back all files of the folder"
            )
            raise TraceError(message)
        yield Segment(numbered[ordinal], process, ordinal, last=ordinal == len(numbered))

"""Which files make up a trace, in which order.

Law: a path is a run folder (has ``events/``), an events folder (a sub-folder per process), a
folder of files, or one file; files that are all named as segments are one process's journal,
others are users' files. This follows from names alone, before anything is read. Segments are
numbered from 000001 without gaps, and only the last may end in the middle of a row. A log of
several paths has the files of each, and none twice.
"""

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from antiphon.core.errors import TraceError
from antiphon.trace.log import ColumnMap, Log

EVENTS_FOLDER = "events"
"""Where a run folder keeps its trace."""

_SEGMENT_NAME = re.compile(r"([0-9]{6}|[1-9][0-9]{6,})\.ndjson(\.gz)?")

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.+)")
"""An address, of which a path has lost a stroke."""

_FAMILIES = (
    (".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.gz"),
    (".json", ".json.gz"),
    (".parquet",),
    (".csv", ".tsv", ".csv.gz", ".tsv.gz"),
)
"""How files of a trace end. A folder has files of one kind: none is left out in silence."""

_NO_TRACE = frozenset({"run.json", "verdict.json"})
"""What a run folder has besides."""


class Format(Enum):
    """How a file holds its rows."""

    JSON = "JSON"
    CSV = "CSV"
    PARQUET = "Parquet"


class Segment(NamedTuple):
    """One file of a trace."""

    path: Path
    process: str | None
    """Whose journal it belongs to; None: a user's file, which may hold several processes."""
    ordinal: int
    """Its place among the segments of the process, or among the user's files, from 1."""
    last: bool
    """Whether it ends a journal: then its last row may be cut short by a kill."""
    shown: str = ""
    """What evidence calls the file, if not by its path."""
    columns: ColumnMap | None = None
    """How its columns are read, if they are not ours."""

    @property
    def file(self) -> str:
        """Return the file as evidence names it."""
        return self.shown or str(self.path)

    @property
    def format(self) -> Format:
        """Return how it holds its rows, by its name."""
        suffix = self.path.with_suffix("").suffix if self.path.suffix == ".gz" else self.path.suffix
        return _FORMATS.get(suffix, Format.JSON)


_FORMATS = {".parquet": Format.PARQUET, ".csv": Format.CSV, ".tsv": Format.CSV}


def is_journal(file: Path) -> bool:
    """Whether a file is named as a segment of a journal: all its rows are of one process."""
    return _SEGMENT_NAME.fullmatch(file.name) is not None


def segment_name(ordinal: int) -> str:
    """Return the file name of a journal's segment."""
    return f"{ordinal:06}.ndjson"


def segments(where: Path | Log) -> list[Segment]:
    """Return the files of a trace, in order; complain if there are none, or one is there twice."""
    log = Log.of(where)
    found: dict[Path, Segment] = {}
    for path in log.paths:
        for segment in _segments_at(path):
            real = segment.path.resolve()
            if real in found:
                message = f"{segment.path}: is given twice: leave one of the two out"
                raise TraceError(message)
            shown = log.stand_ins.get(segment.path, "")
            found[real] = segment._replace(shown=shown, columns=log.columns)
    return list(found.values())


def _segments_at(path: Path) -> list[Segment]:
    try:
        found = list(_find(path))
    except OSError as error:
        message = f"{path}: cannot be listed ({error.strerror}): check the permissions"
        raise TraceError(message) from error
    if not found:
        endings = [suffix for family in _FAMILIES for suffix in family if suffix.count(".") == 1]
        message = (
            f"{path}: no trace here: expected a run folder with {EVENTS_FOLDER}/, or files "
            f"ending in {', '.join(endings[:-1])} or {endings[-1]}"
        )
        raise TraceError(message)
    return found


def _find(path: Path) -> Iterator[Segment]:
    if path.is_file():
        yield Segment(path, None, 1, last=False)
        return
    if not path.is_dir():
        message = f"{path}: does not exist: give a run folder or a trace file"
        if path.exists():
            message = f"{path}: is neither a file nor a folder: a pipe is read as standard input, -"
        if scheme := _SCHEME.match(str(path)):
            message = (
                f"{scheme[1]}://{scheme[2]}: addresses are read by `antiphon verify` and "
                "antiphon.spark.verify alone: copy it here first"
            )
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
    """Return the files of a folder that are of a trace; what begins with `.` or `_` is not."""
    listed = [
        file
        for file in sorted(folder.iterdir())
        if file.name[0] not in "._" and file.name not in _NO_TRACE and file.is_file()
    ]
    families = [
        files
        for family in _FAMILIES
        if (files := [file for file in listed if file.name.endswith(family)])
    ]
    if len(families) > 1:
        message = (
            f"{folder}: has files of several kinds, such as {families[0][0].name} and "
            f"{families[1][0].name}: name those that are to be judged"
        )
        raise TraceError(message)
    return families[0] if families else []


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

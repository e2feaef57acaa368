"""The folder of a run: what lies where in it, and how it came about.

Law: ``run.json`` is written first and whole (under another name, then renamed), so a folder
that has it is ours, and says how to do the same again. A run never mixes with another: a folder
in use is refused, and clearing it removes nothing but what is listed here.

    run.json      what ran, its seed, versions, configuration, and the command to replay it
    events/       the trace: one sub-folder of segments per process
    verdict.json  what checking the trace yielded
    report.html   the run as one page
    metrics/  figures/: not written yet, but cleared with the rest
"""

import errno
import os
import platform
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from antiphon.core.errors import TraceError, UsageError
from antiphon.trace.journal import SEGMENT_BYTES, Journal
from antiphon.trace.schema import Event
from antiphon.trace.segments import EVENTS_FOLDER
from antiphon.trace.verdict import Verdict

_RUN_FILE = "run.json"
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_OURS = (EVENTS_FOLDER, "verdict.json", "metrics", "figures", "report.html")


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of ``run.json``."""

    name: str
    what: str
    """Which command ran, as ``simulate`` or ``demo``."""
    seed: int | None = None
    """None: the run was not simulated."""
    antiphon: str
    """Version of Antiphon."""
    python: str
    """Version of Python."""
    config: dict[str, Any]
    replay: str
    """The command that does it again."""


class RunFolder:
    """A run on disk."""

    def __init__(self, path: Path, record: RunRecord) -> None:
        """Use ``create`` or ``open``."""
        self.path = path
        self.record = record
        self.events_path = path / EVENTS_FOLDER
        self.verdict_path = path / "verdict.json"
        self.metrics_path = path / "metrics"
        self.figures_path = path / "figures"
        self.report_path = path / "report.html"

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        what: str,
        config: dict[str, Any],
        seed: int | None,
        replay: str,
        overwrite: bool = False,
    ) -> Self:
        """Make the folder and its ``run.json``; ``overwrite`` clears an earlier run away."""
        record = RunRecord(
            name=path.resolve().name,
            what=what,
            seed=seed,
            antiphon=_antiphon_version(),
            python=platform.python_version(),
            config=config,
            replay=replay,
        )
        folder = cls(path, record)
        try:
            path.mkdir(parents=True, exist_ok=True)
            _make_way(path, overwrite=overwrite)
            write_whole(path / _RUN_FILE, _json(record))
            folder.events_path.mkdir()
        except (FileExistsError, NotADirectoryError) as error:
            message = f"{path}: there is a file where this folder should be: choose another folder"
            raise UsageError(message) from error
        except OSError as error:
            message = f"{path}: cannot be written ({error.strerror}): choose another folder"
            raise UsageError(message) from error
        return folder

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the run at ``path``, as its ``run.json`` tells it."""
        run_file = path / _RUN_FILE
        try:
            record = msgspec.json.decode(run_file.read_bytes(), type=RunRecord)
        except OSError as error:
            message = f"{run_file}: cannot be read ({error.strerror}): give the folder of a run"
            raise TraceError(message) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            message = f"{run_file}:1: damaged: give the folder of a run as Antiphon wrote it"
            raise TraceError(message) from error
        return cls(path, record)

    @property
    def name(self) -> str:
        """What the run is called: the name of its folder when it was made."""
        return self.record.name

    def journal(self, process: str, *, segment_bytes: int = SEGMENT_BYTES) -> Journal:
        """Return a new journal for ``process``."""
        return Journal(self.events_path, process, segment_bytes=segment_bytes)

    def write(self, events: Sequence[Event]) -> None:
        """Journal a whole trace: the rows of each process in the order in which they come."""
        rows: dict[str, list[Event]] = {}
        for event in events:
            rows.setdefault(event.record, []).append(event)
        for process, own in rows.items():
            with self.journal(process) as journal:
                for event in own:
                    journal.append(event)

    def save_verdict(self, verdict: Verdict) -> bool:
        """Write ``verdict.json``; return whether that is allowed here: archives are read-only."""
        try:
            write_whole(self.verdict_path, _json(verdict))
        except OSError as error:
            if error.errno in _READ_ONLY:
                return False
            message = f"{self.verdict_path}: cannot be written ({error.strerror}): make room for it"
            raise UsageError(message) from error
        return True


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that nobody, not even after a crash, sees half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _make_way(path: Path, *, overwrite: bool) -> None:
    """See that nothing of another run is in the folder."""
    if not any(path.iterdir()):
        return
    if not (path / _RUN_FILE).is_file():
        message = f"{path}: has files in it that are not a run's: choose another folder"
        raise UsageError(message)
    if not overwrite:
        message = f"{path}: holds a run already: choose another folder, or pass --force"
        raise UsageError(message)
    # run.json goes last: should clearing be interrupted, the folder can still be told as ours.
    for name in (*_OURS, _RUN_FILE):
        target = path / name
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)


def _json(content: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(content, enc_hook=str), indent=2) + b"\n"


def _antiphon_version() -> str:
    # Imported here: it takes longer than everything else in this file.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version("antiphon")
    except PackageNotFoundError:
        return "unknown"

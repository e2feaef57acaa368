"""The folder in which the state of following a run is kept, and who may write there.

Law: one process at a time follows with a checkpoint, and one run; a lock, which goes with the
process that holds it, sees to that. An alarm is recorded once, before anybody is told, whatever
becomes of this program: its number comes out of Spark's state, so that a batch that is done again,
after a crash, does not raise it again, and one that was not done raises it then. The folder:

    run.json        which run is followed
    lock            held by whoever follows; names the process
    query/          Spark's own: offsets, and what the judge remembers
    alarms.ndjson   every alarm, in order
    latest.msgpack  the last update: what is known, should nothing more be read
    told            how many alarms somebody was told of
"""

import errno
import fcntl
import os
import shutil
from pathlib import Path

import msgspec

from antiphon.core.errors import UsageError
from antiphon.live.updates import Alarm, Update
from antiphon.trace.run_folder import write_whole

_LOCK = "lock"

_UPDATE = msgspec.msgpack.Decoder(Update)


class _Followed(msgspec.Struct):
    """Which run a checkpoint is of."""

    path: str
    begun: str
    """Of what the run folder says about itself, if it does."""


class Checkpoint:
    """The record of following one run, and Spark's own beside it."""

    def __init__(self, run: Path, folder: Path, *, is_fresh: bool = False) -> None:
        """Take a folder, which is made if need be; ``is_fresh``: what it holds is forgotten."""
        self._run = run
        self._folder = folder
        self._alarms = folder / "alarms.ndjson"
        self._latest = folder / "latest.msgpack"
        self._told = folder / "told"
        self._mark_file = folder / "run.json"
        self._lock: int | None = None
        self._is_marked = False
        try:
            self._prepare(is_fresh=is_fresh)
            self._recorded = self._mend()
        except BaseException:
            self.close()
            raise

    @property
    def query(self) -> Path:
        """Return where Spark keeps its own."""
        return self._folder / "query"

    def close(self) -> None:
        """Let others follow."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def record(self, update: bytes) -> Update:
        """Put an update on record; return it with the alarms that were not there before."""
        if not self._is_marked:
            self._mark()
        told = _UPDATE.decode(update)
        new = [alarm for alarm in told.alarms if alarm.number > self._recorded]
        if new:
            with self._alarms.open("ab") as file:
                file.write(b"".join(msgspec.json.encode(alarm) + b"\n" for alarm in new))
                file.flush()
            self._recorded = new[-1].number
        write_whole(self._latest, update)
        return msgspec.structs.replace(told, alarms=new)

    def latest(self) -> Update | None:
        """Return the last update on record."""
        try:
            return _UPDATE.decode(self._latest.read_bytes())
        except OSError:
            return None

    def alarms(self) -> list[Alarm]:
        """Return every alarm on record."""
        if not self._alarms.exists():
            return []
        lines = self._alarms.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=Alarm) for line in lines]

    def untold(self) -> list[Alarm]:
        """Return the alarms on record of which nobody was told."""
        told = int(self._told.read_text(encoding="ascii")) if self._told.exists() else 0
        return [alarm for alarm in self.alarms() if alarm.number > told]

    def mark_told(self, number: int) -> None:
        """Note that somebody was told of the alarms up to this one."""
        write_whole(self._told, str(number).encode())

    def _prepare(self, *, is_fresh: bool) -> None:
        """Make the folder, or see that it is this run's and nobody else writes there."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            has_mark = self._mark_file.exists()
            if not has_mark and any(each.name != _LOCK for each in self._folder.iterdir()):
                message = (
                    f"{self._folder}: has files that are no checkpoint's: choose another folder"
                )
                raise UsageError(message)
            self._lock = _locked(self._folder)
            if is_fresh:
                self._forget()
            elif has_mark:
                self._compare()
            self._mark()
        except OSError as error:
            message = f"{self._folder}: cannot be written ({error.strerror}): choose --checkpoint"
            raise UsageError(message) from error
        except msgspec.DecodeError as error:
            message = f"{self._mark_file}: damaged: begin anew with --fresh"
            raise UsageError(message) from error

    def _compare(self) -> None:
        before = msgspec.json.decode(self._mark_file.read_bytes(), type=_Followed)
        about = self._about
        if before.path != about.path or before.begun not in {"", about.begun}:
            message = (
                f"{self._folder}: is the checkpoint of another run: choose another with "
                f"--checkpoint, or begin anew with --fresh"
            )
            raise UsageError(message)

    def _forget(self) -> None:
        """Remove all but the lock, and the mark last: until then the folder is known as ours."""
        for entry in self._folder.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name not in {_LOCK, self._mark_file.name}:
                entry.unlink()
        self._mark_file.unlink(missing_ok=True)

    @property
    def _about(self) -> _Followed:
        run_file = self._run / "run.json"
        begun = run_file.read_text(encoding="utf-8") if run_file.is_file() else ""
        return _Followed(str(self._run.resolve()), begun)

    def _mark(self) -> None:
        """Note which run is followed, as far as it says so yet."""
        about = self._about
        write_whole(self._mark_file, msgspec.json.encode(about))
        self._is_marked = bool(about.begun)

    def _mend(self) -> int:
        """Drop what a crash left of the last alarm; return the number of the last whole one."""
        if not self._alarms.exists():
            return 0
        data = self._alarms.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            write_whole(self._alarms, whole)
        alarms = self.alarms()
        return alarms[-1].number if alarms else 0


def _locked(folder: Path) -> int | None:
    """Lock a folder; None: its file system knows no locks. Complain if somebody else has it."""
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        owner = os.read(lock, 20).decode("ascii", "replace") or "?"
        os.close(lock)
        message = (
            f"{folder}: process {owner} follows this run with it: end that one first, or choose "
            f"another folder with --checkpoint"
        )
        raise UsageError(message) from error
    except OSError as error:
        os.close(lock)
        if error.errno in {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}:
            return None
        raise
    os.truncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    return lock

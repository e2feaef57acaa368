"""Follow a run while it is written: a streaming query, its checkpoint, and a record of alarms.

Law: an alarm is recorded once, in ``alarms.ndjson``, before anybody is told, whatever becomes of
this program: its number comes out of Spark's state, so that a batch that is done again, after a
crash, does not raise it again, and one that was not done raises it then. A query that fails is
begun again from there, a few times, unless a row is to blame. The folder of a checkpoint:

    run.json        which run is followed
    query/          Spark's own: offsets, and what the judge remembers
    alarms.ndjson   every alarm, in order
    latest.msgpack  the last update: what is known, should nothing more be read
    told            how many alarms somebody was told of
"""

import queue
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from antiphon.core.errors import TraceError, UsageError
from antiphon.live.updates import Alarm, Update
from antiphon.spark.borrowing import equipped
from antiphon.spark.live_processor import UPDATE_COLUMNS, LiveProcessor
from antiphon.spark.source import AntiphonSource
from antiphon.trace.journal import Journal
from antiphon.trace.run_folder import write_whole
from antiphon.trace.schema import Event

BYTES_PER_BATCH = 16 << 20
"""Of journals, in one batch: a hundred thousand rows, which take a second or two."""

SETTINGS = {
    # Stateful operators of Python's need it.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # What changed is written at the end of a batch, not all of it.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A pack is a megabyte: a few of them at a time are enough for a worker.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
    # A query that does not end, for a worker of its is stuck, is not waited for for ever.
    "spark.sql.streaming.stopTimeout": "20s",
    # Batches of long ago are of no use.
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
}
"""What a session needs for this, besides."""

RESTARTS_MAX = 5
"""Times that a query is begun again without having read anything in between."""

WARM_S_MAX = 60.0

_UPDATE = msgspec.msgpack.Decoder(Update)

_SENTENCE = re.compile(r"(?:TraceError|UsageError): (.+)")


class _Followed(msgspec.Struct):
    """Which run a checkpoint is of."""

    path: str
    begun: str
    """Of what the run folder says about itself, if it does."""


class Follower:
    """Follows one run."""

    def __init__(self, run: Path, checkpoint: Path) -> None:
        """Take a run folder, and where the state of following is kept."""
        self._run = run
        self._folder = checkpoint
        self._queue: queue.SimpleQueue[Update] = queue.SimpleQueue()
        self._alarms = checkpoint / "alarms.ndjson"
        self._latest = checkpoint / "latest.msgpack"
        self._told = checkpoint / "told"
        self._query: StreamingQuery | None = None
        self._updates: DataFrame | None = None
        self._trigger = ""
        self._restarts = 0
        self._is_marked = False
        self._prepare()
        self._recorded = self._mend()

    def start(self, spark: SparkSession, trigger_s: float, partitions: int = 1) -> None:
        """Begin, or go on where the checkpoint is."""
        self._spark = spark
        self._settings = {**SETTINGS, "spark.sql.shuffle.partitions": str(partitions)}
        with equipped(spark):
            spark.dataSource.register(AntiphonSource)
            rows = (
                spark.readStream.format("antiphon")
                .option("packed", "true")
                .option("maxBytesPerBatch", str(BYTES_PER_BATCH))
                .load(str(self._run))
            )
            self._updates = rows.groupBy("run").transformWithState(
                statefulProcessor=LiveProcessor(),
                outputStructType=UPDATE_COLUMNS,
                outputMode="Update",
                timeMode="ProcessingTime",
            )
        self._trigger = f"{round(trigger_s * 1000)} milliseconds"
        self._query = self._begun()

    def _begun(self) -> StreamingQuery:
        assert self._updates is not None, "see start"
        with _set(self._spark, self._settings):  # a query keeps what was set when it began
            return (
                self._updates.writeStream.outputMode("update")
                .foreachBatch(self._take)
                .option("checkpointLocation", str(self._folder / "query"))
                .trigger(processingTime=self._trigger)
                .start()
            )

    def updates(self, timeout_s: float) -> Iterator[Update]:
        """Yield what has been told since; wait so long for the first."""
        try:
            yield self._queue.get(timeout=timeout_s)
            while True:
                yield self._queue.get_nowait()
        except queue.Empty:
            self._check()

    def stop(self) -> None:
        """End the query; the checkpoint stays, and is as good however the query ends."""
        if self._query is not None:
            with suppress(Exception):  # it did not end in time
                self._query.stop()

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

    def progress(self) -> dict[str, Any]:
        """Return what Spark says of its last batch."""
        latest = None if self._query is None else self._query.lastProgress
        return {} if latest is None else msgspec.json.decode(latest.json)

    def _take(self, frame: DataFrame, _: int) -> None:
        """Record what a batch told, then pass it on."""
        self._restarts = 0
        if not self._is_marked:
            self._mark()
        for row in frame.collect():
            update = _UPDATE.decode(row["update"])
            new = [alarm for alarm in update.alarms if alarm.number > self._recorded]
            if new:
                with self._alarms.open("ab") as file:
                    file.write(b"".join(msgspec.json.encode(alarm) + b"\n" for alarm in new))
                    file.flush()
                self._recorded = new[-1].number
            write_whole(self._latest, bytes(row["update"]))
            self._queue.put(msgspec.structs.replace(update, alarms=new))

    def _prepare(self) -> None:
        """Make the checkpoint's folder, or see that it is this run's."""
        mark = self._folder / "run.json"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if mark.exists():
                before = msgspec.json.decode(mark.read_bytes(), type=_Followed)
                if before.path != self._about.path or before.begun not in {"", self._about.begun}:
                    message = (
                        f"{self._folder}: is the checkpoint of another run: choose another with "
                        f"--checkpoint, or begin anew with --fresh"
                    )
                    raise UsageError(message)
            elif any(self._folder.iterdir()):
                message = (
                    f"{self._folder}: has files that are no checkpoint's: choose another folder"
                )
                raise UsageError(message)
            self._mark()
        except OSError as error:
            message = f"{self._folder}: cannot be written ({error.strerror}): choose --checkpoint"
            raise UsageError(message) from error
        except msgspec.DecodeError as error:
            message = f"{mark}: damaged: begin anew with --fresh"
            raise UsageError(message) from error

    @property
    def _about(self) -> _Followed:
        run_file = self._run / "run.json"
        begun = run_file.read_text(encoding="utf-8") if run_file.is_file() else ""
        return _Followed(str(self._run.resolve()), begun)

    def _mark(self) -> None:
        """Note which run is followed, as far as it says so yet."""
        about = self._about
        write_whole(self._folder / "run.json", msgspec.json.encode(about))
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

    def _check(self) -> None:
        """Begin again if the query has failed; complain if a row is to blame, or it keeps failing.

        A machine that is busy may be too slow for Spark's own patience with its workers.
        """
        if self._query is None or self._query.isActive:
            return
        failure = self._query.exception()
        if failure is None:
            return
        found = _SENTENCE.search(str(failure))
        if found is not None:
            raise TraceError(found[1])
        self._restarts += 1
        if self._restarts > RESTARTS_MAX:
            raise failure
        self._query = self._begun()


@contextmanager
def _set(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set what is needed, and put back what was there."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, was in before.items():
            if was is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, was)


def warm(spark: SparkSession) -> None:
    """Follow a tiny run to its end, so that Java and its workers have done all of it once.

    On a busy machine the first batch takes tens of seconds, later ones less than one.
    """
    with tempfile.TemporaryDirectory(prefix="antiphon-warm-", ignore_cleanup_errors=True) as folder:
        run = Path(folder) / "run"
        with Journal(run / "events", "warm") as journal:
            journal.append(Event(process="warm", kind="start"))
            journal.append(Event(process="warm", kind="view", group="warm", members=["warm"]))
        with following(spark, run, Path(folder) / "checkpoint", 0.1) as follower:
            until = time.monotonic() + WARM_S_MAX
            while time.monotonic() < until and not list(follower.updates(1.0)):
                pass


@contextmanager
def following(
    spark: SparkSession, run: Path, checkpoint: Path, trigger_s: float = 1.0
) -> Iterator[Follower]:
    """Follow a run for a while."""
    follower = Follower(run, checkpoint)
    follower.start(spark, trigger_s)
    try:
        yield follower
    finally:
        follower.stop()

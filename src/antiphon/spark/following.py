"""Follow a run while it is written: a streaming query, from its checkpoint on.

Law: what a batch tells is on record before it is passed on (see ``checkpoint``). A query that
fails is begun again from there, a few times, unless a row is to blame, or Java has gone, or it was
stopped by others: each of these is said, and nothing is waited for that cannot come. Only a batch
that is new counts as progress, for one that fails at its end would be done again for ever.
"""

import queue
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from antiphon.core.errors import TraceError, UsageError
from antiphon.live.updates import Update
from antiphon.pipeline.session.cluster import explained
from antiphon.spark.borrowing import equipped
from antiphon.spark.checkpoint import Checkpoint
from antiphon.spark.live_processor import UPDATE_COLUMNS, LiveProcessor
from antiphon.spark.source import AntiphonSource
from antiphon.trace.journal import Journal
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

_QUOTE_LENGTH_MAX = 300
_CAUSE = re.compile(r"^(Caused by|\w*(Exception|Error)\b)|\w(Exception|Error): ")
"""What Java or Python say when they give up."""

_SENTENCE = re.compile(r"(?:TraceError|UsageError): (.+)")


class Follower:
    """Follows one run."""

    def __init__(self, run: Path, checkpoint: Path, *, is_fresh: bool = False) -> None:
        """Take a run folder, and where the state of following is kept, or was."""
        self.record = Checkpoint(run, checkpoint, is_fresh=is_fresh)
        self._run = run
        self._queue: queue.SimpleQueue[Update] = queue.SimpleQueue()
        self._query: StreamingQuery | None = None
        self._updates: DataFrame | None = None
        self._trigger = ""
        self._restarts = 0
        self._batch = -1

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
                .option("checkpointLocation", str(self.record.query))
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

    def stop(self) -> bool:
        """End the query; the checkpoint stays, and is as good however the query ends.

        False: the query did not end in time, or Java is gone.
        """
        try:
            if self._query is not None:
                self._query.stop()
        except Exception:  # noqa: BLE001 - whatever Spark has to say, we are leaving
            return False
        else:
            return True
        finally:
            self.record.close()

    def progress(self) -> dict[str, Any]:
        """Return what Spark says of its last batch."""
        latest = None if self._query is None else self._query.lastProgress
        return {} if latest is None else msgspec.json.decode(latest.json)

    def _take(self, frame: DataFrame, batch: int) -> None:
        """Record what a batch told, then pass it on."""
        for row in frame.collect():
            self._queue.put(self.record.record(bytes(row["update"])))
        if batch > self._batch:
            self._batch, self._restarts = batch, 0

    def _check(self) -> None:
        """Begin again if the query has failed; complain if that is of no use.

        A machine that is busy may be too slow for Spark's own patience with its workers.
        """
        if self._query is None:
            return
        try:
            if self._query.isActive:
                return
            failure = self._query.exception()
        except Exception as error:  # nobody answers, or in the middle of it no more
            message = (
                "Spark's Java has ended, killed or short of memory: give the same command again, "
                "it goes on where it was"
            )
            raise UsageError(message) from error
        if failure is None:
            message = f"{self._run}: following was stopped by somebody else in this Spark session"
            raise UsageError(message)
        said = str(failure)
        found = _SENTENCE.search(said)
        if found is not None:
            raise TraceError(found[1])
        self._restarts += 1
        if self._restarts > RESTARTS_MAX:
            raise UsageError(self._why(said)) from failure
        self._query = self._begun()

    def _why(self, said: str) -> str:
        """Return why a query cannot go on, in one sentence."""
        known = explained("this machine", said)
        if known is not None:
            return known
        causes = [line.strip() for line in said.splitlines() if _CAUSE.search(line)]
        said_last = (causes or [said.strip()])[-1][:_QUOTE_LENGTH_MAX]
        return (
            f"{self.record.query.parent}: following failed {self._restarts} times in a row "
            f"({said_last}): see to that, or begin anew with --fresh"
        )


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

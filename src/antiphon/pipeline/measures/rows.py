"""One file of a trace, read once: what its rows add up to, and its message rows as numbers.

Law: names become 64-bit digests, so that files read by different processes agree without being
asked: the chance that two of a million names share one is below 10^-7. A summary follows the rows
of each file: counts, depths, headers, view changes and the names. Errors are part of it: they
must reach the driver as the reader's sentence, not as a stack trace.
"""

from array import array
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b

import msgspec
import numpy as np
import pyarrow as pa

from antiphon.core.errors import TraceError
from antiphon.logs.reading import read_log_segment
from antiphon.pipeline.ingest.sources import Source
from antiphon.pipeline.tables.chunks import column
from antiphon.trace.continuity import Span, Tally
from antiphon.trace.distribution import Distribution
from antiphon.trace.schema import SETS_ORDER, Event

ROLES = {"multicast": 0, "receive": 1, "deliver": 2}
"""Kinds of message rows, as numbers."""

FOR_SOME = 3
"""Likewise, of a multicast that says whom it is to: of these, stability is not measured."""

NUMBERS = ("stream", "process", "role", "first", "count", "time_us")
"""Columns of message rows: whose messages in which view of a group, at whom, which, when."""

ROW_TYPES = {**dict.fromkeys(NUMBERS, "bigint"), "summary": "binary"}

_ROWS_PER_BATCH = 65_536


class KindCount(msgspec.Struct):
    """Rows of one kind, at one process, asking for one order."""

    rows: int = 0
    messages: int = 0
    payload_bytes: int = 0
    overhead_bytes: int = 0


class ProcessSummary(msgspec.Struct):
    """What one file says of one process."""

    run: str
    process: str
    begin_us: int
    end_us: int
    kinds: dict[str, KindCount] = {}
    """By kind, order and whether it is uniform, joined by spaces."""
    queue_length: Distribution = msgspec.field(default_factory=Distribution)
    header_bytes: Distribution = msgspec.field(default_factory=Distribution)
    header_messages: int = 0
    """Messages of the rows that say how long their header was."""


class ScopeSummary(msgspec.Struct):
    """A view of a group, as one file has it."""

    run: str
    group: str
    view: int
    streams: list[int] = []
    present: list[int] = []
    """Digests of processes that recorded any of its messages."""


class Installed(msgspec.Struct):
    """A ``view`` row; or, without a group, the crash or suspicion of the one member."""

    run: str
    group: str
    view: int
    time_us: int
    members: list[str]
    is_sign: bool = False


class FileSummary(msgspec.Struct):
    """What one file had to tell."""

    number: int
    processes: list[ProcessSummary] = []
    scopes: list[ScopeSummary] = []
    installed: list[Installed] = []
    spans: list[Span] = []
    error: str = ""


@cache
def digest(*words: str | int) -> int:
    """Return a 64-bit number for a name."""
    text = "\0".join(map(str, words)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), signed=True)


def read_files(
    batches: Iterable[pa.RecordBatch], *, hands: list[list[Source]]
) -> Iterator[pa.RecordBatch]:
    """Be a kernel: read the files of the tasks with these numbers."""
    for batch in batches:
        for hand in batch.column("id").to_pylist():
            for source in hands[hand]:
                yield from read_file(source)


def read_file(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield the message rows of a file, then its summary."""
    segment, tally = source.segment, Tally()
    summary, error = RowSums(source.number, source.run), ""
    try:
        rows = read_log_segment(segment, tally)
        for _, event in rows:
            summary.take(event)
            if len(summary.columns[0]) >= _ROWS_PER_BATCH:
                yield row_batch(summary.drained())
    except TraceError as failure:
        error = str(failure)
    yield row_batch(summary.drained())
    told = summary.summary()
    told.error = error
    told.spans = list(tally.spans)
    yield summary_batch(told)


def summary_batch(summary: FileSummary) -> pa.RecordBatch:
    """Return a summary as a row among message rows."""
    empty = pa.nulls(1, pa.int64())
    blob = pa.array([msgspec.msgpack.encode(summary)], pa.binary())
    return pa.RecordBatch.from_arrays([*[empty] * len(NUMBERS), blob], names=list(ROW_TYPES))


def row_batch(columns: list["array[int]"]) -> pa.RecordBatch:
    """Return message rows, without a summary."""
    arrays = [column(np.array(values, dtype=np.int64)) for values in columns]
    blobs = pa.nulls(len(columns[0]), pa.binary())
    return pa.RecordBatch.from_arrays([*arrays, blobs], names=list(ROW_TYPES))


class RowSums:
    """Adds up rows, one by one."""

    def __init__(self, number: int, run: str) -> None:
        """Prepare to take the rows of a file; those that name no run belong to ``run``."""
        self._number, self._run = number, run
        self._processes: dict[tuple[str, str], ProcessSummary] = {}
        self._scopes: dict[tuple[str, str, int], tuple[set[int], set[int]]] = {}
        self._installed: list[Installed] = []
        self.columns: list[array[int]] = [array("q") for _ in NUMBERS]

    def take(self, event: Event) -> None:
        """Take a row."""
        run = event.run or self._run
        process = self._processes.get((run, event.process))
        if process is None:
            process = ProcessSummary(run, event.process, event.time_us, event.time_us)
            self._processes[run, event.process] = process
        process.begin_us = min(process.begin_us, event.time_us)
        process.end_us = max(process.end_us, event.time_us)
        process.queue_length.add(event.queue_depth)
        self._count(process, event)
        if event.kind in ROLES:
            self._take_messages(run, event)
        elif event.kind == "view":
            self._installed.append(
                Installed(run, event.group, event.view, event.time_us, event.members or [])
            )
        elif event.kind in {"crash", "suspect"}:
            who = event.process if event.kind == "crash" else event.sender
            self._installed.append(Installed(run, "", 0, event.time_us, [who], is_sign=True))

    def _count(self, process: ProcessSummary, event: Event) -> None:
        order = SETS_ORDER if event.detail == SETS_ORDER else event.order
        key = f"{event.kind} {order} {'uniform' if event.uniform else ''}"
        count = process.kinds.get(key)
        if count is None:
            count = process.kinds[key] = KindCount()
        count.rows += 1
        count.messages += event.count if event.kind in ROLES else 0
        count.payload_bytes += event.bytes
        count.overhead_bytes += event.overhead_bytes
        if event.kind == "multicast" and event.overhead_bytes:
            process.header_bytes.add(event.overhead_bytes)
            process.header_messages += event.count

    def _take_messages(self, run: str, event: Event) -> None:
        sender = event.process if event.kind == "multicast" else event.sender
        stream = digest(run, event.group, event.view, sender)
        at = digest(run, event.process)
        role = FOR_SOME if event.kind == "multicast" and event.to else ROLES[event.kind]
        values = (stream, at, role, event.first, event.count, event.time_us)
        for values_so_far, value in zip(self.columns, values, strict=True):
            values_so_far.append(value)
        scope = self._scopes.setdefault((run, event.group, event.view), (set(), set()))
        scope[0].add(stream)
        scope[1].add(at)

    def drained(self) -> list["array[int]"]:
        """Return the message rows since the last time."""
        columns, self.columns = self.columns, [array("q") for _ in NUMBERS]
        return columns

    def summary(self) -> FileSummary:
        """Return what all rows add up to."""
        scopes = [
            ScopeSummary(run, group, view, sorted(streams), sorted(present))
            for (run, group, view), (streams, present) in self._scopes.items()
        ]
        return FileSummary(self._number, list(self._processes.values()), scopes, self._installed)

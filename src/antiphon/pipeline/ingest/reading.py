"""One file of a trace, turned into numbers where a task reads it.

Law: names are left behind. All multicasts, or all deliveries from one sender, of a process in a
scope and in one order are a strand; a file's strands are numbered, its rows say which they belong
to, and a report after the rows says who that is and what else the file had to tell: which records
it holds, how they end, which views they install. So rows are six integers each, and whatever is
to be known about names and totals is known before the rows are looked at again. Votes and decisions
go by themselves (``ballots``). Errors are part of the report: what cannot be read must reach the
driver as the reader's sentence, not as a stack trace.

Rows travel packed, thousands in one value: between kernels they are only carried, and numpy
takes them apart where they are needed. The lines of a packed matrix:

    strand    number of the strand in the file
    first     the messages
    count
    position  where in the process's order the first of them is (``position``)
    after     a position before this one, with no multicast by the process in the scope between:
              deliveries that share it have the same place in the process's causal past
    line      line in the file
"""

from array import array
from collections.abc import Container, Iterable, Iterator

import msgspec
import numpy as np
import pyarrow as pa

from antiphon.core.errors import TraceError
from antiphon.logs.reading import read_log_segment
from antiphon.pipeline.ingest.ballots import Ballots, Pile
from antiphon.pipeline.ingest.position import STRIDE, row_position
from antiphon.pipeline.ingest.sources import Source
from antiphon.pipeline.tables.chunks import column
from antiphon.trace.continuity import Span, Tally, Truncation
from antiphon.trace.domains import Naming
from antiphon.trace.schema import EARLY, LATE, LEFT, QUIESCENT, SETS_ORDER, Event

ROWS_PER_PACK = 16_384
"""Just under a megabyte."""

LINES = ("strand", "first", "count", "position", "after", "line")
"""Of a packed matrix."""

READ_TYPES = {"segment": "int", "rows": "binary", "ballots": "binary", "report": "binary"}
_SCHEMA = pa.schema(
    [(name, pa.int32() if each == "int" else pa.binary()) for name, each in READ_TYPES.items()]
)

ScopeKey = tuple[str, str, int]
"""Run, group, view."""

Aim = tuple[str, ...]
"""Whom messages are `to`, by name in order; nobody: all."""

StrandKey = tuple[str, str, str, int, str, bool, bool, str, Aim]
"""Kind, sender, group, view, order, whether it is uniform, and sets the order of others; domain,
whom it is to."""


class Strand(msgspec.Struct):
    """The multicasts of a process in a scope, or its deliveries from one sender there."""

    number: int
    run: str
    group: str
    view: int
    process: str
    sender: str
    is_multicast: bool
    is_relaxed: bool = False
    """Whether these are multicasts in fifo order, which are not held to causal order."""
    is_total: bool = False
    is_uniform: bool = False
    """What else the rows ask for."""
    aim: Aim = ()
    sets_order: bool = False
    """Whether these only tell the total order of others."""
    domain: str = ""
    """What the rows call the domain of the group, the first in this line:"""
    first_line: int = 0
    row_count: int = 0
    message_count: int = 0
    highest: int = 0
    """The highest number multicast."""
    first_number: int = 0
    """The number of the first message of its first row."""
    first_position: int = -1
    last_position: int = -1
    """Of the first row, and the last."""

    @property
    def scope(self) -> ScopeKey:
        """Return what it is judged in."""
        return self.run, self.group, self.view


class RecordPart(msgspec.Struct):
    """The rows of one process in one file."""

    run: str
    process: str
    row_count: int = 0
    has_start: bool = False
    is_late: bool = False
    """Whether a start row says that what came before is missing."""
    record: str = ""
    """In whose record its rows are: another name of the same process, or its own."""
    is_early: bool = False
    """Whether the last row says that what came later is missing."""
    has_crash: bool = False
    is_numbered: bool = False
    is_at_rest: bool = False
    """Whether the last row says that the process stopped when all was done, or left."""
    has_left: bool = False
    """Whether it says that the process left."""
    is_stopped: bool = False
    """Whether it says that the process stopped, for whatever reason."""
    last_position: int = 0
    last_line: int = 0


class ViewRow(msgspec.Struct):
    """A view as one process installed it."""

    run: str
    process: str
    group: str
    view: int
    members: str
    """In JSON: most of them are equal, and need not be taken apart."""
    position: int
    line: int
    domain: str = ""
    resilience: int = 0

    @property
    def scope(self) -> ScopeKey:
        """Return what it is about."""
        return self.run, self.group, self.view


class Report(msgspec.Struct):
    """What there is to say about one file."""

    number: int
    strands: list[Strand]
    records: list[RecordPart]
    views: list[ViewRow]
    piles: list[Pile]
    spans: list[Span]
    truncated: list[Truncation]
    error: str
    has_ids: bool = False
    """Whether any message has a name of the user's own."""

    def namings(self, file: str = "") -> list[Naming]:
        """Return which domains the file names, by line."""
        found = [
            Naming(row.run, row.group, row.domain, file, row.line)
            for row in self.views
            if row.domain
        ]
        found += [
            Naming(strand.run, strand.group, strand.domain, file, strand.first_line)
            for strand in self.strands
            if strand.domain
        ]
        return sorted(found, key=lambda naming: naming.line)


def aim_of(names: Iterable[str]) -> Aim:
    """Return whom messages are to."""
    return tuple(sorted(set(names)))


def read_source(source: Source, reader: "SourceFile | None" = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, packed, then the report on it; by ``reader``, if one is given."""
    file, error = reader or SourceFile(source), ""
    try:
        for name, pack in file.packs():
            yield _batch(source, **{name: pack})
    except TraceError as refusal:
        error = str(refusal)
    yield _batch(source, report=msgspec.json.encode(file.report(error)))


def ids_at(source: Source, lines: Container[int], last_line: int) -> dict[int, str]:
    """Return the users' own names for messages in these lines of a file, none after the last."""
    found: dict[int, str] = {}
    for line, event in read_log_segment(source.segment, Tally()):
        if line in lines:
            found[line] = event.id
        if line >= last_line:
            break
    return found


def _batch(
    source: Source,
    rows: bytes | None = None,
    ballots: bytes | None = None,
    report: bytes | None = None,
) -> pa.RecordBatch:
    number = column(np.array([source.number], dtype=np.int32))
    values = [_binary(value) for value in (rows, ballots, report)]
    return pa.RecordBatch.from_arrays([number, *values], schema=_SCHEMA)


def _binary(value: bytes | None) -> pa.Array:
    if value is None:
        return pa.nulls(1, pa.binary())
    buffers = [None, pa.py_buffer(array("i", [0, len(value)])), pa.py_buffer(value)]
    return pa.Array.from_buffers(pa.binary(), 1, buffers)


class FileRecord:
    """What has been seen of one process so far."""

    __slots__ = ("last", "last_line", "part", "strands")

    def __init__(self, event: Event, run: str) -> None:
        self.part = RecordPart(run, event.process, record=event.record)
        self.last, self.last_line = event, 0
        self.strands: dict[StrandKey, tuple[Strand, list[int]]] = {}

    def closed(self) -> RecordPart:
        """Return what was seen, once all has been."""
        part, last = self.part, self.last
        part.is_numbered = last.index >= 0
        part.is_at_rest = last.kind == "stop" and last.detail in {QUIESCENT, LEFT}
        part.is_early = last.kind == "stop" and last.detail == EARLY
        part.is_stopped = last.kind == "stop" and not part.is_early
        part.has_left = part.is_stopped and last.detail == LEFT
        part.last_position = row_position(last.index, self.last_line)
        part.last_line = self.last_line
        return part


class SourceFile:
    """Reads one file, keeping track of what the report needs."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tally = Tally()
        self.records: dict[tuple[str, str], FileRecord] = {}
        self.pasts: dict[tuple[str, str, str, int], list[int]] = {}
        self.strands: list[Strand] = []
        self.views: list[ViewRow] = []
        self.ballots = Ballots()
        self.has_ids = False

    def packs(self) -> Iterator[tuple[str, bytes]]:
        """Yield what multicast and deliver rows say, and ballots. Every row of every trace passes.

        Arrays of machine integers, not tuples: Python's garbage collector has nothing to do.
        """
        pack = [array("q") for _ in LINES]
        strands, firsts, counts, positions, afters, lines = pack
        named = ""
        for line, event in read_log_segment(self.source.segment, self.tally):
            record = self.records.get((event.run, event.process)) or self.begin_record(event)
            record.last, record.last_line = event, line
            record.part.row_count += 1
            kind = event.kind
            if kind == "deliver" or kind == "multicast":  # noqa: PLR1714  faster than a set
                index, count = event.index, event.count
                position = (index if index >= 0 else line) * STRIDE
                aim = aim_of(event.to) if event.to and kind == "multicast" else ()
                key = (
                    kind, event.sender, event.group, event.view, event.order, event.uniform,
                    event.detail == SETS_ORDER, event.domain, aim,
                )  # fmt: skip
                strand, past = record.strands.get(key) or self.begin_strand(
                    record, key, position, event.first, line
                )
                strands.append(strand.number)
                firsts.append(event.first)
                counts.append(count)
                positions.append(position)
                afters.append(past[0])
                lines.append(line)
                strand.row_count += 1
                strand.message_count += count
                strand.last_position = position
                named = named or event.id
                if strand.is_multicast:
                    strand.highest = max(strand.highest, event.first + count - 1)
                    past[0] = position + STRIDE - 1
                if len(lines) == ROWS_PER_PACK:
                    yield "rows", b"".join(pack)
                    for column_of_pack in pack:
                        del column_of_pack[:]
            elif kind != "receive":
                self.note(record, event, line)
                yield from self.packed_ballots(ROWS_PER_PACK)
        self.has_ids = bool(named)
        if lines:
            yield "rows", b"".join(pack)
        yield from self.packed_ballots(1)

    def packed_ballots(self, at_least: int) -> Iterator[tuple[str, bytes]]:
        """Yield ballots once there are so many."""
        if len(self.ballots) >= at_least:
            yield "ballots", self.ballots.packed()

    def report(self, error: str) -> Report:
        """Say what there is to say, once the rows have been read."""
        return Report(
            number=self.source.number,
            strands=self.strands,
            records=[record.closed() for record in self.records.values()],
            views=self.views,
            piles=list(self.ballots.piles.values()),
            spans=self.tally.spans,
            truncated=self.tally.truncated,
            error=error,
            has_ids=self.has_ids,
        )

    def begin_record(self, event: Event) -> FileRecord:
        """Take the first row of a process."""
        record = FileRecord(event, event.run or self.source.run)
        self.records[event.run, event.process] = record
        return record

    def begin_strand(
        self, record: FileRecord, key: StrandKey, position: int, first: int, line: int
    ) -> tuple[Strand, list[int]]:
        """Take the first row of a strand."""
        kind, sender, group, view, order, is_uniform, sets_order, domain, aim = key
        run, process = record.part.run, record.part.process
        strand = Strand(
            number=len(self.strands),
            run=run,
            group=group,
            view=view,
            process=process,
            sender=sender or process,
            is_multicast=kind == "multicast",
            is_relaxed=kind == "multicast" and order == "fifo",
            is_total=order == "total",
            is_uniform=is_uniform,
            aim=aim,
            sets_order=sets_order,
            domain=domain,
            first_line=line,
            first_number=first,
            first_position=position,
        )
        past = self.pasts.setdefault((run, process, group, view), [position - 1])
        self.strands.append(strand)
        record.strands[key] = (strand, past)
        return strand, past

    def note(self, record: FileRecord, event: Event, line: int) -> None:
        """Take a row into account that is not about messages."""
        if event.kind == "start":
            record.part.has_start = True
            record.part.is_late |= event.detail == LATE
        elif event.kind == "crash":
            record.part.has_crash = True
        elif event.kind == "vote" or event.kind == "decide":  # noqa: PLR1714  as above
            self.ballots.add(record.part.run, event, line)
        elif event.kind == "view":
            row = ViewRow(
                run=record.part.run,
                process=event.process,
                group=event.group,
                view=event.view,
                members=msgspec.json.encode(event.members).decode(),
                position=row_position(event.index, line),
                line=line,
                domain=event.domain,
                resilience=event.resilience,
            )
            self.views.append(row)

"""One file of a trace, turned into numbers where a task reads it.

Law: names are left behind. All multicasts, or all deliveries from one sender, of a process in a
scope are a strand; a file's strands are numbered, its rows say which they belong to, and a report
after the rows says who that is and what else the file had to tell: which records it holds, how
they end, who is in which view. So rows are seven integers each, and whatever is to be known
about names and totals is known before the rows are looked at again. Errors are part of the
report: what cannot be read must reach the driver as the reader's sentence, not as a stack trace.

    segment   number of the file
    strand    number of the strand in the file
    first, count  the messages
    position  where in the process's order the first of them is (``position``)
    after     a position before this one, with no multicast by the process in the scope between:
              deliveries that share it have the same place in the process's causal past
    line      line in the file
"""

from array import array
from collections.abc import Iterator

import msgspec
import numpy as np
import pyarrow as pa

from antiphon.core.errors import TraceError
from antiphon.pipeline.chunks import column
from antiphon.pipeline.position import STRIDE, row_position
from antiphon.pipeline.sources import Source
from antiphon.trace.continuity import Span, Tally, Truncation
from antiphon.trace.reader import read_segment
from antiphon.trace.schema import QUIESCENT, Event

ROWS_PER_BATCH = 16_384
"""About a megabyte on its way to Spark."""

ROW_TYPES = {
    "segment": ("int", pa.int32()),
    "strand": ("int", pa.int32()),
    "first": ("bigint", pa.int64()),
    "count": ("bigint", pa.int64()),
    "position": ("bigint", pa.int64()),
    "after": ("bigint", pa.int64()),
    "line": ("bigint", pa.int64()),
    "report": ("binary", pa.binary()),
}
_SCHEMA = pa.schema([(name, arrow_type) for name, (_, arrow_type) in ROW_TYPES.items()])

ScopeKey = tuple[str, str, int]
"""Run, group, view."""


class Strand(msgspec.Struct):
    """The multicasts of a process in a scope, or its deliveries from one sender there."""

    number: int
    run: str
    group: str
    view: int
    process: str
    sender: str
    is_multicast: bool
    row_count: int = 0
    message_count: int = 0
    highest: int = 0
    """The highest number multicast."""
    last_position: int = -1
    """Of the last multicast."""

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
    has_crash: bool = False
    is_numbered: bool = False
    is_at_rest: bool = False
    """Whether the last row says that the process stopped when all was done."""
    last_position: int = 0
    last_line: int = 0


class Report(msgspec.Struct):
    """What there is to say about one file."""

    number: int
    strands: list[Strand]
    records: list[RecordPart]
    views: list[tuple[ScopeKey, list[str]]]
    spans: list[Span]
    truncated: list[Truncation]
    error: str


def read_source(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, then the report on it."""
    file, error = _File(source), ""
    try:
        yield from file.batches()
    except TraceError as refusal:
        error = str(refusal)
    yield _report_batch(file.report(error))


def _report_batch(report: Report) -> pa.RecordBatch:
    """Return a row of nothing but the report."""
    encoded = msgspec.json.encode(report)
    buffers = [None, pa.py_buffer(array("i", [0, len(encoded)])), pa.py_buffer(encoded)]
    nothing = [pa.nulls(1, field.type) for field in list(_SCHEMA)[:-1]]
    return pa.RecordBatch.from_arrays(
        [*nothing, pa.Array.from_buffers(pa.binary(), 1, buffers)], schema=_SCHEMA
    )


class _Columns:
    """Rows on their way into a batch, column by column.

    Arrays of machine integers, not tuples: nothing that Python's garbage collector looks after.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self.strand, self.first, self.count, self.position, self.after, self.line = (
            array("q") for _ in range(6)
        )

    def batch(self) -> pa.RecordBatch:
        """Return what has come together."""
        rows = (self.strand, self.first, self.count, self.position, self.after, self.line)
        columns = [np.frombuffer(row, dtype=np.int64) for row in rows]
        columns.insert(0, np.full(len(self.line), self._number))
        columns = [
            column(values.astype(np.int32) if field.type == pa.int32() else values)
            for values, field in zip(columns, _SCHEMA, strict=False)
        ]
        return pa.RecordBatch.from_arrays(
            [*columns, pa.nulls(len(self.line), pa.binary())], schema=_SCHEMA
        )


class _Record:
    """What has been seen of one process so far."""

    __slots__ = ("last", "last_line", "part")

    def __init__(self, part: RecordPart, event: Event) -> None:
        self.part, self.last, self.last_line = part, event, 0

    def closed(self) -> RecordPart:
        part, last = self.part, self.last
        part.is_numbered = last.index >= 0
        part.is_at_rest = last.kind == "stop" and last.detail == QUIESCENT
        part.last_position = row_position(last.index, self.last_line)
        part.last_line = self.last_line
        return part


class _File:
    """Reads one file, keeping track of what the report needs."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tally = Tally()
        self._records: dict[tuple[str, str], _Record] = {}
        self._strands: dict[tuple[str, str, str, str, str, int], tuple[Strand, list[int]]] = {}
        self._pasts: dict[tuple[str, str, str, int], list[int]] = {}
        self._views: dict[ScopeKey, dict[str, None]] = {}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield what multicast and deliver rows say. Every row of every trace passes here."""
        path, process, _, last = self._source.segment
        run_of_file, strands = self._source.run, self._strands
        columns = _Columns(self._source.number)
        for line, event in read_segment(path, last=last, process=process, tally=self._tally):
            run, kind = event.run or run_of_file, event.kind
            self._note(run, line, event)
            if kind == "deliver" or kind == "multicast":  # noqa: PLR1714  faster than a set
                sender = event.sender or event.process
                key = (kind, run, event.process, sender, event.group, event.view)
                position = row_position(event.index, line)
                found = strands.get(key)
                strand, past = found or self._begin_strand(key, position)
                columns.strand.append(strand.number)
                columns.first.append(event.first)
                columns.count.append(event.count)
                columns.position.append(position)
                columns.after.append(past[0])
                columns.line.append(line)
                strand.row_count += 1
                strand.message_count += event.count
                if kind == "multicast":
                    strand.highest = max(strand.highest, event.first + event.count - 1)
                    strand.last_position = position
                    past[0] = position + STRIDE - 1
                if len(columns.line) >= ROWS_PER_BATCH:
                    yield columns.batch()
                    columns = _Columns(self._source.number)
        yield columns.batch()

    def report(self, error: str) -> Report:
        """Say what there is to say, once the rows have been read."""
        return Report(
            number=self._source.number,
            strands=[strand for strand, _ in self._strands.values()],
            records=[record.closed() for record in self._records.values()],
            views=[(scope, list(members)) for scope, members in self._views.items()],
            spans=self._tally.spans,
            truncated=self._tally.truncated,
            error=error,
        )

    def _note(self, run: str, line: int, event: Event) -> None:
        """Take a row of any kind into account."""
        key = (run, event.process)
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = _Record(RecordPart(*key), event)
        record.part.row_count += 1
        record.last, record.last_line = event, line
        if event.kind == "start":
            record.part.has_start = True
        elif event.kind == "crash":
            record.part.has_crash = True
        elif event.kind == "view":
            members = self._views.setdefault((run, event.group, event.view), {})
            members.update(dict.fromkeys(event.members or ()))

    def _begin_strand(
        self, key: tuple[str, str, str, str, str, int], position: int
    ) -> tuple[Strand, list[int]]:
        kind, run, process, sender, group, view = key
        strand = Strand(len(self._strands), run, group, view, process, sender, kind == "multicast")
        past = self._pasts.setdefault((run, process, group, view), [position - 1])
        self._strands[key] = (strand, past)
        return strand, past

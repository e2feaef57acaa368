"""Rows in columns (Parquet, or a table of Spark's), turned into numbers without Python per row.

Law: what a file of lines with the same rows would give, number for number, and the same sentence
for the first row that is none; a row's number in the file takes the place of its line. Rows of one
process are in order; those of several may be mixed. Row by row are only those that there are few
of: views, votes, decisions, starts and crashes. Cost: a quarter of a microsecond per row, where
batches have tens of thousands.
"""

from collections.abc import Iterable, Iterator
from typing import Any, get_args

import msgspec
import numpy as np
import pyarrow as pa

from antiphon.core.errors import TraceError
from antiphon.pipeline.ingest.columns import Columns, Integers, names_of_columns
from antiphon.pipeline.ingest.position import STRIDE
from antiphon.pipeline.ingest.reading import (
    ROWS_PER_PACK,
    FileRecord,
    SourceFile,
    StrandKey,
    aim_of,
)
from antiphon.pipeline.ingest.sources import Source
from antiphon.trace.continuity import Records, Span, step_problem
from antiphon.trace.rules import problem_of
from antiphon.trace.schema import INDEX_MAX, INT64_MAX, RUN_COUNT_MAX, SETS_ORDER, Kind, Order

_BOUNDS = {
    "index": (-1, INDEX_MAX),
    "view": (0, INT64_MAX - RUN_COUNT_MAX),
    "first": (0, INT64_MAX - RUN_COUNT_MAX),
    "count": (1, RUN_COUNT_MAX),
    "resilience": (0, INT64_MAX),
}
_NOTED = ("start", "crash", "vote", "decide", "view")
"""Kinds of rows that are taken one by one."""

_RULED = ("vote", "decide", "view", "send", "take")
"""Kinds of rows whose rules are asked one by one."""

_DENSE_MAX = 2**20
"""Pairs of numbers: up to here a table of all of them is cheaper than sorting."""

Truths = np.ndarray[Any, np.dtype[np.bool_]]


class ColumnReader(SourceFile):
    """Reads one file, or one part of a table, of columns."""

    def __init__(self, source: Source, batches: Iterable[pa.RecordBatch]) -> None:
        """Take batches; nothing is read yet."""
        super().__init__(source)
        self.batches = batches
        self.first_line = 1
        self._file = source.segment.file
        self._names = names_of_columns()
        self._spans = Records()

    def packs(self) -> Iterator[tuple[str, bytes]]:
        """Yield what multicast and deliver rows say, and ballots."""
        line = self.first_line
        for batch in self.batches:
            if batch.num_rows:
                columns = Columns(batch, self._file, line, self._names)
                yield from self._packs_of(columns)
                line += batch.num_rows
        if line == self.first_line:
            message = f"{self._file}:1: the file has no rows: expected the columns of a trace"
            raise TraceError(message)
        yield from self.packed_ballots(1)
        self.tally.add(line - self.first_line, self._spans.spans.values(), None)

    def _packs_of(self, columns: Columns) -> Iterator[tuple[str, bytes]]:
        whose = _paired(columns.number_of["run"], columns.number_of["process"])
        groups = _groups(whose)
        self._check(columns, groups)
        records = [self._take(columns, rows) for rows in groups]
        for row in np.flatnonzero(columns.those("kind", *_NOTED)).tolist():
            self.note(records[whose[row]], columns.event(row), int(columns.lines[row]))
            yield from self.packed_ballots(ROWS_PER_PACK)
        rows = np.flatnonzero(columns.those("kind", "multicast", "deliver"))
        if len(rows):
            matrix = self._matrix(columns, rows, whose[rows], records)
            for begin in range(0, len(rows), ROWS_PER_PACK):
                yield "rows", matrix[:, begin : begin + ROWS_PER_PACK].tobytes()

    def _take(self, columns: Columns, rows: Integers) -> FileRecord:
        """Note that a process has these rows."""
        last = columns.event(int(rows[-1]))
        record = self.records.get((last.run, last.process)) or self.begin_record(last)
        record.last, record.last_line = last, int(columns.lines[rows[-1]])
        record.part.row_count += len(rows)
        return record

    def _matrix(
        self, columns: Columns, rows: Integers, whose: Integers, records: list[FileRecord]
    ) -> Integers:
        """Return what rows about messages say, as ``reading.LINES``."""
        index, first, count = (columns.values[name][rows] for name in ("index", "first", "count"))
        lines = columns.lines[rows]
        position = np.where(index >= 0, index, lines) * STRIDE
        scope = _paired(_paired(whose, columns.number_of["group"][rows]), _view(columns, rows))
        key = scope
        for name in ("kind", "sender", "order", "domain"):
            key = _paired(key, columns.number_of[name][rows])
        for truths in (columns.is_uniform, columns.those("detail", SETS_ORDER)):
            key = _paired(key, truths[rows].astype(np.int64))
        if columns.aim.any():
            key = _paired(key, np.where(columns.those("kind", "multicast"), columns.aim, 0)[rows])
        strands, pasts = np.empty_like(rows), dict[int, list[int]]()
        for places in _groups(key):
            row, place = int(rows[places[0]]), int(places[0])
            record = records[whose[place]]
            known = _strand_key(columns, row)
            strand, past = record.strands.get(known) or self.begin_strand(
                record, known, int(position[place]), int(first[place]), int(lines[place])
            )
            pasts[int(scope[place])] = past
            strands[places] = strand.number
            strand.row_count += len(places)
            strand.message_count += int(count[places].sum())
            strand.last_position = int(position[places[-1]])
            if strand.is_multicast:
                highest = int((first[places] + count[places] - 1).max())
                strand.highest = max(strand.highest, highest)
        is_multicast = columns.those("kind", "multicast")[rows]
        afters = np.empty_like(rows)
        for places in _groups(scope):
            past = pasts[int(scope[places[0]])]
            afters[places] = _afters(past, position[places], is_multicast[places])
        return np.array([strands, first, count, position, afters, lines])

    def _check(self, columns: Columns, groups: list[Integers]) -> None:
        """Complain about the first row that is none, or that does not come next."""
        names = groups
        if not columns.those("recorded_as", "").all():
            recorded = _paired(columns.number_of["run"], columns.record)
            whose = _paired(columns.number_of["process"], recorded)
            names, groups = _groups(whose), _groups(recorded)
        firsts = sorted(int(rows[0]) for rows in names)
        wrong = [self._misplaced(columns, row) for row in firsts]
        wrong += [self._misnumbered(columns, rows) for rows in groups]
        wrong.append(unruly(columns))
        # By row, and in one row the rules come first, as where lines are read.
        found = min((item for item in wrong if item is not None), default=None)
        if found is not None:
            row, _, problem = found
            message = f"{self._place(columns, row)}: {problem}"
            raise TraceError(message)

    def _place(self, columns: Columns, row: int) -> str:
        """Return where a row is, as evidence names it."""
        return f"{self._file}:{columns.lines[row]}"

    def _misplaced(self, columns: Columns, row: int) -> tuple[int, int, str] | None:
        run, process = columns.named("run", row), columns.named("process", row)
        record = columns.named("recorded_as", row) or process
        problem = self._spans.misplaced(run, process, record)
        return None if problem is None else (row, 1, problem)

    def _misnumbered(self, columns: Columns, rows: Integers) -> tuple[int, int, str] | None:
        index, row = columns.values["index"][rows], int(rows[0])
        record = columns.named("recorded_as", row) or columns.named("process", row)
        key = (columns.named("run", row), record)
        span = self._spans.spans.get(key)
        if span is None:
            first = int(index[0])
            span = Span(self._file, int(columns.lines[row]), *key, first, first)
            self._spans.spans[key] = span
            index, rows = index[1:], rows[1:]
        before = np.concatenate([[span.last], index[:-1]])[: len(index)]
        is_next = np.where(before < 0, index < 0, index == before + 1)
        if is_next.all():
            span.last = int(index[-1]) if len(index) else span.last
            return None
        place = int(np.argmin(is_next))
        span.last = int(before[place])
        return int(rows[place]), 1, str(step_problem(span, int(index[place])))


class FrameReader(ColumnReader):
    """Reads one part of somebody's DataFrame: its lines are nobody's, its rows are a process's."""

    def _place(self, columns: Columns, row: int) -> str:
        index = int(columns.values["index"][row])
        return f"{self._file}: row {index} of {columns.named('process', row)!r}"


def unruly(columns: Columns) -> tuple[int, int, str] | None:
    """Return the first row that is none, and why."""
    is_bad = ~columns.those("kind", *get_args(Kind)) | ~columns.those("order", *get_args(Order))
    is_bad |= columns.those("process", "")
    for name, (low, high) in _BOUNDS.items():
        values = columns.values[name]
        if values.min() < low or values.max() > high:
            is_bad |= (values < low) | (values > high)
    sender = columns.number_of["sender"]
    is_nobody, is_nothing = columns.those("sender", ""), columns.values["first"] == 0
    is_other = ~is_nobody & (sender != columns.number_of["process"])
    is_bad |= columns.those("kind", "deliver") & (is_nobody | is_nothing)
    is_bad |= columns.those("kind", "multicast") & (is_other | is_nothing)
    if columns.aim.any():
        is_bad[np.unique(columns.aim, return_index=True)[1]] = True  # each list once
    for row in np.flatnonzero(is_bad | columns.those("kind", *_RULED)).tolist():
        try:
            problem = problem_of(columns.event(row))
        except msgspec.ValidationError as error:
            problem = f"not a row as in docs/trace-format.md: {error}"
        if problem is not None:
            return row, 0, problem
    return None


def _strand_key(columns: Columns, row: int) -> StrandKey:
    kind, sender, group, order, domain, detail = (
        columns.named(name, row)
        for name in ("kind", "sender", "group", "order", "domain", "detail")
    )
    return (
        kind,
        sender,
        group,
        int(columns.values["view"][row]),
        order,
        bool(columns.is_uniform[row]),
        detail == SETS_ORDER,
        domain,
        aim_of(columns.event(row).to or ()) if kind == "multicast" and columns.aim[row] else (),
    )


def _view(columns: Columns, rows: Integers) -> Integers:
    """Return views as small numbers."""
    view = columns.values["view"][rows]
    low, high = int(view.min()), int(view.max())
    if high - low < _DENSE_MAX:
        return view - low
    small: Integers = np.unique(view, return_inverse=True)[1].astype(np.int64)
    return small


def _afters(past: list[int], position: Integers, is_multicast: Truths) -> Integers:
    """Return, for each row of a process in a scope, what it comes after; the past goes on."""
    reached = np.where(is_multicast, position + STRIDE - 1, past[0])
    np.maximum.accumulate(reached, out=reached)
    afters: Integers = np.concatenate([[past[0]], reached[:-1]])
    past[0] = int(reached[-1])
    return afters


def _paired(one: Integers, other: Integers) -> Integers:
    """Number the pairs of two small numbers, as they first appear."""
    width = int(other.max()) + 1
    if width == 1 and not one.any():
        return one
    size = (int(one.max()) + 1) * width
    pair = one * width + other
    if size > _DENSE_MAX:
        _, pair = np.unique(pair, return_inverse=True)
        size = int(pair.max()) + 1
    first = np.full(size, len(pair))
    first[pair[::-1]] = np.arange(len(pair))[::-1]  # what is written last stays: the first place
    used = np.flatnonzero(first < len(pair))
    numbers = np.empty(size, dtype=np.int64)
    numbers[used[np.argsort(first[used])]] = np.arange(len(used))
    found: Integers = numbers[pair]
    return found


def _groups(numbers: Integers) -> list[Integers]:
    """Return, for each of these small numbers, the places where it is."""
    count = int(numbers.max()) + 1
    if count == 1:
        return [np.arange(len(numbers))]
    # Sixteen bits are sorted by their digits, several times as fast.
    narrow = numbers.astype(np.uint16) if count < 2**16 else numbers
    order = np.argsort(narrow, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=count))
    return np.split(order, ends[:-1])

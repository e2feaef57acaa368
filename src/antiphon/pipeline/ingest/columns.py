"""One file of Parquet with the trace's own columns, turned into numbers without a step per row.

Law: what comes out is what ``reading`` makes of the same rows, number for number. Where a row is
wrong, or a process's rows do not follow each other, the reader of rows is asked for the sentence.
Rows that are not about messages are few, and go through ``reading`` one by one. Cost: a fraction of
a microsecond per row; memory: a batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antiphon.core.errors import TraceError
from antiphon.logs.parquet import opened
from antiphon.logs.reading import folder_columns, read_log_segment
from antiphon.pipeline.ingest.position import STRIDE
from antiphon.pipeline.ingest.reading import FileRecord, SourceFile, Strand, StrandKey
from antiphon.pipeline.ingest.sources import RowGroups, Source
from antiphon.pipeline.tables.chunks import numbers
from antiphon.trace.continuity import Span, Tally
from antiphon.trace.reader import may_be_empty
from antiphon.trace.rules import problem_of
from antiphon.trace.schema import INDEX_MAX, INT64_MAX, RUN_COUNT_MAX, Event
from antiphon.trace.segments import Format

Numbers = np.ndarray[Any, Any]

_ROWS_PER_BATCH = 65_536
_ROWS_PER_PART = 2_000_000
_TEXTS = ("run", "process", "kind", "group", "sender", "order")
_DEFAULTS = {"index": -1, "view": 1, "first": 0, "count": 1}
_NUMBER_MAX = INT64_MAX - RUN_COUNT_MAX
_BOUNDS = {
    "index": (-1, INDEX_MAX),
    "view": (0, _NUMBER_MAX),
    "first": (0, _NUMBER_MAX),
    "count": (1, RUN_COUNT_MAX),
}
_UNUSED = {"time_us": -INT64_MAX, "bytes": 0, "overhead_bytes": 0, "queue_depth": 0}
"""What a verdict does not need, and how small it may be: looked at only if nothing tells."""

_MESSAGES = ("multicast", "deliver")
_PASSED_BY = frozenset({"receive", "send_frame", "suspect", "block", "resume"})
"""Kinds of rows that say nothing to a verdict, and need nothing."""

_KINDS = frozenset({*_MESSAGES, *_PASSED_BY}) | {
    "start", "view", "vote", "decide", "send", "take", "crash", "stop",
}  # fmt: skip
_ORDERS = frozenset({"", "fifo", "causal", "total"})
_BITS_MAX = 62


def reader_of(source: Source) -> SourceFile:
    """Return what reads a file fastest."""
    segment = source.segment
    if segment.format is Format.PARQUET and segment.columns is None:
        return ColumnFile(source)
    return SourceFile(source)


def parted(sources: Sequence[Source]) -> list[Source]:
    """Divide large files into parts that are read side by side, if their rows are numbered."""
    parts = [(source, part) for source in sources for part in _parts_of(source)]
    return [
        source._replace(number=number, part=part) for number, (source, part) in enumerate(parts)
    ]


def _parts_of(source: Source) -> Sequence[RowGroups | None]:
    segment = source.segment
    if segment.format is not Format.PARQUET or segment.columns is not None:
        return [None]
    try:
        with opened(segment.path, segment.file) as parquet:
            return _divided(parquet, folder_columns(segment)) or [None]
    except TraceError:
        return [None]  # whoever reads it will say what is wrong with it


def _divided(parquet: pq.ParquetFile, told: dict[str, str]) -> list[RowGroups]:
    """Return parts of at least so many rows; none if there would be but one."""
    meta = parquet.metadata
    if meta.num_rows < 2 * _ROWS_PER_PART or not _can_be_divided(parquet, told):
        return []
    parts, first_group, first_row, row_count, byte_count = [], 0, 0, 0, 0
    for group in range(meta.num_row_groups):
        row_count += meta.row_group(group).num_rows
        byte_count += meta.row_group(group).total_byte_size
        if row_count >= _ROWS_PER_PART or group == meta.num_row_groups - 1:
            parts.append(RowGroups(first_group, group + 1, first_row, byte_count))
            first_group, first_row = group + 1, first_row + row_count
            row_count = byte_count = 0
    return parts


def _can_be_divided(parquet: pq.ParquetFile, told: dict[str, str]) -> bool:
    """Whether every row has a number: else the order between parts is nobody's."""
    if not _is_ours(parquet.schema_arrow, told) or not _has_sane_sizes(parquet):
        return False
    chunks = [chunk for name, chunk in _chunks(parquet) if name == "index"]
    return bool(chunks) and all(
        chunk.statistics is not None and chunk.statistics.null_count == 0 and _is_at_least(chunk, 0)
        for chunk in chunks
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """A batch, column by column; texts are codes."""

    begin: int
    """The number of its first row in the file, from 0."""
    batch: pa.RecordBatch
    texts: dict[str, Numbers]
    index: Numbers
    view: Numbers
    first: Numbers
    count: Numbers
    uniform: Numbers
    position: Numbers


class _WrongError(Exception):
    """There is a row that the reader of rows refuses."""


class ColumnFile(SourceFile):
    """Reads a file batch by batch."""

    def __init__(self, source: Source) -> None:
        """Take a file; nothing is read yet."""
        super().__init__(source)
        self._words: list[str] = [""]
        self._codes: dict[str, int] = {"": 0}
        self._spans: dict[tuple[str, str], Span] = {}
        self._told = folder_columns(source.segment)

    def packs(self) -> Iterator[tuple[str, bytes]]:
        """Yield what multicast and deliver rows say, and ballots."""
        segment, part = self.source.segment, self.source.part
        begin = first = part.first_row if part else 0
        texts = [*_TEXTS, "detail"]
        with opened(segment.path, segment.file, texts) as parquet:
            if not _is_ours(parquet.schema_arrow, self._told) or not _has_sane_sizes(parquet):
                yield from super().packs()
                return
            wanted = [*_TEXTS, *_DEFAULTS, "uniform", "members", "detail"]
            names = [name for name in wanted if name in parquet.schema_arrow.names]
            groups = range(part.first_group, part.end_group) if part else None
            try:
                for batch in parquet.iter_batches(_ROWS_PER_BATCH, groups, names):
                    if batch.num_rows:
                        yield from self._packs_of(self._rows(batch, begin))
                    begin += batch.num_rows
            except _WrongError:
                self._refuse()
            if begin == first and not may_be_empty(segment.file):
                self._refuse()
        self.tally.add(begin - first, self._spans.values(), None)

    def _refuse(self) -> None:
        """Raise what the reader of rows has to say."""
        for _ in read_log_segment(self.source.segment, Tally()):
            pass
        message = f"{self.source.segment.file}: its columns were refused, and its rows were not"
        raise AssertionError(message)

    def _rows(self, batch: pa.RecordBatch, begin: int) -> _Rows:
        """Take a batch apart, and see that every value is one of those that it may be."""
        texts = {name: self._coded(batch, name) for name in _TEXTS}
        integers = {name: _integers(batch, name, value) for name, value in _DEFAULTS.items()}
        for name, (least, most) in _BOUNDS.items():
            if integers[name].min() < least or integers[name].max() > most:
                raise _WrongError
        kinds = {self._words[code] for code in np.unique(texts["kind"]).tolist()}
        orders = {self._words[code] for code in np.unique(texts["order"]).tolist()}
        if not texts["process"].all() or not kinds <= _KINDS or not orders <= _ORDERS:
            raise _WrongError
        index = integers["index"]
        lines = np.arange(begin + 1, begin + 1 + batch.num_rows, dtype=np.int64)
        position = np.where(index >= 0, index, lines) * STRIDE
        uniform = _truths(batch, "uniform")
        return _Rows(begin, batch, texts, **integers, uniform=uniform, position=position)

    def _packs_of(self, rows: _Rows) -> Iterator[tuple[str, bytes]]:
        records = self._records_of(rows)
        kind = rows.texts["kind"]
        multicast, deliver = (self._codes.get(word, -1) for word in _MESSAGES)
        chosen = np.flatnonzero((kind == multicast) | (kind == deliver))
        if len(chosen):
            yield "rows", self._message_rows(rows, chosen, multicast)
        passed_by = [self._codes[word] for word in _PASSED_BY if word in self._codes]
        others = ~np.isin(kind, [multicast, deliver, *passed_by])
        for row in np.flatnonzero(others).tolist():
            event = self._event(rows, row)
            if problem_of(event) is not None:
                raise _WrongError
            self.note(records[event.run, event.process], event, rows.begin + row + 1)
        yield from self.packed_ballots(1)

    def _records_of(self, rows: _Rows) -> dict[tuple[str, str], FileRecord]:
        """Count the rows of each process, and see that they follow each other."""
        key = _packed_key([rows.texts["run"], rows.texts["process"]], [len(self._words)] * 2)
        for chosen in _groups(key):
            first, last = int(chosen[0]), int(chosen[-1])
            event = self._event(rows, first)
            of = (event.run, event.process)
            self._follow(of, rows.index[chosen], event, rows.begin + first + 1)
            record = self.records.get(of) or self.begin_record(event)
            record.part.row_count += len(chosen)
            record.last, record.last_line = self._event(rows, last), rows.begin + last + 1
        return self.records

    def _follow(self, of: tuple[str, str], index: Numbers, event: Event, line: int) -> None:
        span = self._spans.get(of)
        is_numbered = bool(index[0] >= 0)
        if span is None:
            span = self._spans[of] = Span.of(event, self.source.segment.file, line)
        elif is_numbered != (span.last >= 0) or (is_numbered and index[0] != span.last + 1):
            raise _WrongError
        if (np.diff(index) != int(is_numbered)).any():
            raise _WrongError
        span.last = int(index[-1])

    def _message_rows(self, rows: _Rows, chosen: Numbers, multicast: int) -> bytes:
        """Return the pack of the multicast and deliver rows of a batch."""
        texts = {name: codes[chosen] for name, codes in rows.texts.items()}
        first, count = rows.first[chosen], rows.count[chosen]
        position, view = rows.position[chosen], rows.view[chosen]
        is_multicast = texts["kind"] == multicast
        at_home = (texts["sender"] == 0) | (texts["sender"] == texts["process"])
        if not first.all() or not np.where(is_multicast, at_home, texts["sender"] > 0).all():
            raise _WrongError
        word_count = len(self._words)
        scope = _packed_key(
            [texts["run"], texts["process"], texts["group"], view],
            [word_count, word_count, word_count, int(view.max()) + 1],
        )
        apart = [scope, texts["kind"], texts["sender"], texts["order"], rows.uniform[chosen]]
        key = _packed_key(apart, [int(scope.max()) + 1, *[word_count] * 3, 2])
        strand_of = np.empty(len(chosen), dtype=np.int64)
        for group in _groups(key):
            strand = self._strand(rows, int(chosen[group[0]]))
            strand_of[group] = strand.number
            strand.row_count += len(group)
            strand.message_count += int(count[group].sum())
            strand.last_position = int(position[group[-1]])
            if strand.is_multicast:
                highest = int((first[group] + count[group] - 1).max())
                strand.highest = max(strand.highest, highest)
        after = np.empty(len(chosen), dtype=np.int64)
        for group in _groups(scope):
            past = self._past(rows, int(chosen[group[0]]))
            after[group] = _afters(position[group], is_multicast[group], past)
        lines = rows.begin + 1 + chosen
        return np.stack([strand_of, first, count, position, after, lines]).tobytes()

    def _strand(self, rows: _Rows, row: int) -> Strand:
        event = self._event(rows, row)
        record = self.records[event.run, event.process]
        key: StrandKey = (
            event.kind, event.sender, event.group, event.view, event.order, event.uniform,
        )  # fmt: skip
        known = record.strands.get(key)
        strand, _ = known or self.begin_strand(record, key, int(rows.position[row]))
        return strand

    def _past(self, rows: _Rows, row: int) -> list[int]:
        event = self._event(rows, row)
        run = self.records[event.run, event.process].part.run
        return self.pasts[run, event.process, event.group, event.view]

    def _event(self, rows: _Rows, row: int) -> Event:
        """Return a row as an object."""
        texts: dict[str, Any] = {
            name: self._words[codes[row]] for name, codes in rows.texts.items()
        }
        return Event(
            **texts,
            index=int(rows.index[row]),
            view=int(rows.view[row]),
            first=int(rows.first[row]),
            count=int(rows.count[row]),
            uniform=bool(rows.uniform[row]),
            members=_cell(rows.batch, "members", row),
            detail=_cell(rows.batch, "detail", row) or "",
        )

    def _coded(self, batch: pa.RecordBatch, name: str) -> Numbers:
        """Return a column of texts as the numbers that these have in this file."""
        if name not in batch.schema.names:
            code = self._code(self._told.get(name))
            return np.full(batch.num_rows, code, dtype=np.int64)
        column = batch.column(name)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        codes = [self._code(word) for word in column.dictionary.to_pylist()]
        indices = pc.fill_null(column.indices.cast(pa.int64()), len(codes))
        own = pa.RecordBatch.from_arrays([indices], names=[name])
        coded: Numbers = np.array([*codes, 0], dtype=np.int64)[numbers(own, name)]
        return coded

    def _code(self, word: str | None) -> int:
        if word is None:
            return 0
        code = self._codes.get(word)
        if code is None:
            code = self._codes[word] = len(self._words)
            self._words.append(word)
        return code


def _afters(position: Numbers, is_multicast: Numbers, past: list[int]) -> Numbers:
    """Return, for rows of one process in one scope, where its last multicast before each ended."""
    ends = np.where(is_multicast, position + STRIDE - 1, past[0])
    reached = np.maximum.accumulate(ends)
    after = np.concatenate([past[:1], reached[:-1]])
    past[0] = int(reached[-1])
    return after


def _groups(key: Numbers) -> Iterator[Numbers]:
    """Yield the places of equal keys, in order; the key that comes first, first."""
    order = np.argsort(key, kind="stable")
    borders = np.flatnonzero(np.diff(key[order])) + 1
    yield from sorted(np.split(order, borders), key=lambda places: int(places[0]))


def _packed_key(columns: list[Numbers], sizes: list[int]) -> Numbers:
    """Return one number per row, equal where all columns are; each is below its size."""
    key, size = columns[0].astype(np.int64), sizes[0]
    for column, more in zip(columns[1:], sizes[1:], strict=True):
        if size.bit_length() + more.bit_length() > _BITS_MAX:
            _, key = np.unique(key, return_inverse=True)
            _, column = np.unique(column, return_inverse=True)  # noqa: PLW2901 - numbered anew
            size, more = int(key.max()) + 1, int(column.max()) + 1  # noqa: PLW2901
        key, size = key * more + column, size * more
    return key


def _integers(batch: pa.RecordBatch, name: str, default: int) -> Numbers:
    if name not in batch.schema.names:
        return np.full(batch.num_rows, default, dtype=np.int64)
    try:
        filled = pc.fill_null(batch.column(name).cast(pa.int64()), default)
    except pa.ArrowInvalid as error:
        raise _WrongError from error
    return numbers(pa.RecordBatch.from_arrays([filled], names=[name]), name)


def _truths(batch: pa.RecordBatch, name: str) -> Numbers:
    if name not in batch.schema.names:
        return np.zeros(batch.num_rows, dtype=bool)
    filled = pc.fill_null(batch.column(name), False)  # noqa: FBT003 - a value, not a switch
    return numbers(pa.RecordBatch.from_arrays([filled], names=[name]), name)


def _cell(batch: pa.RecordBatch, name: str, row: int) -> Any:  # noqa: ANN401 - whatever is there
    return batch.column(name)[row].as_py() if name in batch.schema.names else None


def _is_ours(schema: pa.Schema, told: dict[str, str]) -> bool:
    """Whether the columns have our names and types: what others mean, rows must tell.

    ``told``: columns that are known without the file.
    """
    types = {field.name: field.type for field in schema}
    texts = [types[name] for name in (*_TEXTS, "detail", "id") if name in types]
    integers = [types[name] for name in (*_DEFAULTS, *_UNUSED) if name in types]
    members = types.get("members", pa.list_(pa.string()))
    return (
        {"process", "kind"} <= types.keys() | told.keys()
        and told.keys() <= set(_TEXTS)
        and all(_is_text(each) for each in texts)
        and all(pa.types.is_integer(each) for each in integers)
        and pa.types.is_boolean(types.get("uniform", pa.bool_()))
        and (pa.types.is_list(members) or pa.types.is_large_list(members))
        and _is_text(members.value_type)
    )


def _is_text(kind: pa.DataType) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain))


def _has_sane_sizes(parquet: pq.ParquetFile) -> bool:
    """Whether the file itself says that no size or time is out of bounds."""
    return all(
        _is_at_least(chunk, _UNUSED[name]) for name, chunk in _chunks(parquet) if name in _UNUSED
    )


def _chunks(parquet: pq.ParquetFile) -> Iterator[tuple[str, pq.ColumnChunkMetaData]]:
    """Yield what the file says about each column in each of its row groups."""
    meta = parquet.metadata
    for group in range(meta.num_row_groups):
        for place in range(meta.num_columns):
            chunk = meta.row_group(group).column(place)
            yield chunk.path_in_schema, chunk


def _is_at_least(chunk: pq.ColumnChunkMetaData, least: int) -> bool:
    told = chunk.statistics
    if told is None:
        return False
    return bool(told.null_count == chunk.num_values or (told.has_min_max and told.min >= least))

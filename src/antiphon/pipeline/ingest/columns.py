"""Columns of a trace, from Arrow batches of whoever's making, as numbers.

Law: a column that is missing, and a value that is null, is the default of docs/trace-format.md.
Names become small numbers, the same in all batches of a file; integers are in 64 bits. A column
whose type cannot be that of the format is refused in a sentence. That a value is out of range is
left to whoever looks at rows: ``event`` makes one of a row, or raises what is wrong with it.
Nothing else is done row by row.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from antiphon.core.errors import TraceError
from antiphon.pipeline.tables.chunks import column, flat_values
from antiphon.trace.schema import Event

Integers = np.ndarray[Any, np.dtype[np.int64]]

NAMES = ("run", "process", "recorded_as", "kind", "group", "sender", "order", "domain", "detail")
"""Columns of text."""

COUNTS = {"index": -1, "view": 1, "first": 0, "count": 1, "resilience": 0}
"""Columns of integers that a verdict rests on, with their defaults."""

READ = (*NAMES, *COUNTS, "uniform", "members", "to")
"""All that a verdict rests on: no others are read."""

_UNREAD = ("time_us", "bytes", "overhead_bytes", "queue_depth", "id")
"""What a verdict does not rest on, and rows may be wrong by."""

RECORD = "record"
"""A column of tables of many: in whose record a row is."""

_EXPECTED = {
    **dict.fromkeys(NAMES, "text"),
    **dict.fromkeys(COUNTS, "integers"),
    "uniform": "true or false",
    "members": "lists of texts",
    "to": "lists of texts",
}


class Names:
    """Numbers names as they come, for as long as a file is read."""

    def __init__(self) -> None:
        """Begin without any."""
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def numbered(self, array: pa.Array | None, row_count: int) -> Integers:
        """Return the number of each name; what is null is the empty name."""
        if array is None:
            return np.full(row_count, self._number(""))
        if not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        indices, known = array.indices, array.dictionary.to_pylist()
        if indices.null_count:
            indices = indices.fill_null(len(known))
        numbers = np.array([self._number(name or "") for name in (*known, "")], dtype=np.int64)
        found: Integers = numbers[flat_values(indices)]
        return found

    def _number(self, name: str) -> int:
        number = self._numbers.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number


def names_of_columns() -> dict[str, Names]:
    """Return names for a file; those of processes and senders are the same."""
    processes = Names()
    shared = dict.fromkeys(("process", "sender", "recorded_as"), processes)
    return {name: shared.get(name) or Names() for name in NAMES}


class Columns:
    """The columns of one batch."""

    def __init__(
        self, batch: pa.RecordBatch, file: str, line: int, names: dict[str, Names]
    ) -> None:
        """Take a batch whose first row is ``line`` of ``file``."""
        self.row_count = batch.num_rows
        self._batch, self._file = batch, file
        self.lines: Integers = np.arange(line, line + batch.num_rows)
        self.names = names
        for name in ("process", "kind"):
            if batch.schema.get_field_index(name) < 0:
                message = (
                    f"{file}: no column `{name}` among {', '.join(batch.schema.names)}: expected "
                    "the columns of docs/trace-format.md"
                )
                raise TraceError(message)
        self.number_of = {
            name: names[name].numbered(self._column(name), self.row_count) for name in NAMES
        }
        self.values = {name: self._integers(name, default) for name, default in COUNTS.items()}
        self.is_uniform = self._truths("uniform")
        self._members, self._to = self._column("members"), self._column("to")
        self.aim = _numbered_lists(self._to, self.row_count)
        """Equal lists in `to` have the same number; 0: there is none."""

    def named(self, name: str, row: int) -> str:
        """Return the text in a column."""
        return self.names[name].names[int(self.number_of[name][row])]

    def those(self, name: str, *wanted: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return in which rows a column of text says one of these."""
        known = np.array([each in wanted for each in self.names[name].names], dtype=bool)
        return known[self.number_of[name]]

    @property
    def record(self) -> Integers:
        """Return in whose record each row is; numbered as processes are."""
        record = self.number_of["recorded_as"]
        found: Integers = np.where(self.those("recorded_as", ""), self.number_of["process"], record)
        return found

    def event(self, row: int) -> Event:
        """Return a row as such; raise msgspec's complaint where it is none."""
        told: dict[str, Any] = {name: self.named(name, row) for name in NAMES}
        told |= {name: int(values[row]) for name, values in self.values.items()}
        told["uniform"] = bool(self.is_uniform[row])
        if self._members is not None:
            told["members"] = self._members[row].as_py()
        if self._to is not None:
            told["to"] = self._to[row].as_py()
        return msgspec.convert(told, Event)

    def _column(self, name: str) -> pa.Array | None:
        place = self._batch.schema.get_field_index(name)
        if place < 0:
            return None
        array = self._batch.column(place)
        if pa.types.is_null(array.type):
            return None
        if not _is_expected(name, array.type):
            message = (
                f"{self._file}: the column `{name}` holds {array.type}, not {_EXPECTED[name]}: "
                "convert it, or name another column (docs/trace-format.md)"
            )
            raise TraceError(message)
        return array

    def _integers(self, name: str, default: int) -> Integers:
        array = self._column(name)
        if array is None:
            return np.full(self.row_count, default)
        if array.null_count:
            array = array.fill_null(default)
        try:
            return flat_values(array.cast(pa.int64()))
        except pa.ArrowInvalid as error:
            message = f"{self._file}: the column `{name}` has a number beyond 64 bits: {error}"
            raise TraceError(message) from error

    def _truths(self, name: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
        array = self._column(name)
        if array is None:
            return np.zeros(self.row_count, dtype=bool)
        return flat_values(array.fill_null(fill_value=False) if array.null_count else array)


def _numbered_lists(array: pa.Array | None, row_count: int) -> Integers:
    found: Integers = np.zeros(row_count, dtype=np.int64)
    if array is not None and array.null_count < row_count:
        known: dict[tuple[str | None, ...], int] = {(): 0}
        rows = np.flatnonzero(flat_values(array.is_valid()))
        for row, names in zip(rows.tolist(), array.drop_null().to_pylist(), strict=True):
            found[row] = known.setdefault(tuple(names), len(known))
    return found


def with_index(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Number the rows of each record, which come one after the other."""
    whose, names, following = (-1, -1), (Names(), Names()), 0
    for batch in batches:
        keys = [
            known.numbered(batch.column(name), batch.num_rows)
            for known, name in zip(names, ("run", RECORD), strict=True)
        ]
        is_same = np.array([int(key[0]) for key in keys]) == whose
        is_new = np.ones(batch.num_rows, dtype=bool)
        is_new[0] = not is_same.all()
        is_new[1:] = np.logical_or(*(key[1:] != key[:-1] for key in keys))
        begins = np.where(is_new, np.arange(batch.num_rows), 0 if is_new[0] else -following)
        index = np.arange(batch.num_rows) - np.maximum.accumulate(begins)
        whose, following = (int(keys[0][-1]), int(keys[1][-1])), int(index[-1]) + 1
        yield batch.append_column("index", column(index))


def is_ours(schema: pa.Schema) -> bool:
    """Whether columns have our names and types; what others mean, rows must tell."""
    types = {field.name: field.type for field in schema}
    known = [name for name in (*READ, *_UNREAD) if name in types]
    return {"process", "kind"} <= types.keys() and all(
        _is_expected(name, types[name]) for name in known
    )


def _is_expected(name: str, kind: pa.DataType) -> bool:
    if name in NAMES or name == "id":
        return _is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)
    if name in COUNTS or name in _UNREAD:
        return bool(pa.types.is_integer(kind))
    if name == "uniform":
        return bool(pa.types.is_boolean(kind))
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return is_list and _is_text(kind.value_type)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

"""Rows from records: cells of a table, or fields of somebody's JSON, become an event of the trace.

Law: a column of ours is found under its own name, or under the one that it is mapped to; a cell
that is empty or null is left out. Text that says a number is a number, a number that is a name
is text. Nothing is guessed: what does not fit raises :class:`TraceError` with file and line, and a
column that is mapped but not there is named, with those that are.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, get_args

import msgspec

from antiphon.core.errors import TraceError
from antiphon.trace.log import ColumnMap
from antiphon.trace.reader import refusal
from antiphon.trace.rules import problem_of
from antiphon.trace.schema import Event, Kind

Record = Mapping[str, Any]

SKIP = "skip"
"""The kind of rows that are left out."""

TIMES_US = {"time_us": 1, "time_ms": 1_000, "time_s": 1_000_000}
"""What a time may be mapped to, and how many microseconds its unit has."""

FIELDS = tuple(field.name for field in msgspec.structs.fields(Event))
KINDS: tuple[str, ...] = get_args(Kind)
_TEXTS = frozenset(
    {"run", "process", "recorded_as", "kind", "group", "sender", "order", "domain", "detail", "id"}
)
_SHOWN_MAX = 20
_NOTHING = (None, "")
_TRUE, _FALSE = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no"})


class RowMaker:
    """Makes the rows of one file."""

    def __init__(self, columns: ColumnMap | None, file: str) -> None:
        """Take a mapping, and what evidence calls the file."""
        self._map = columns or ColumnMap()
        self._file = file
        self._sought = self._searches()

    def made(self, records: Iterable[tuple[int, Record]]) -> Iterator[tuple[int, Event]]:
        """Yield a row for each record that is not to be skipped."""
        for line, record in records:
            event = self.event(line, record)
            if event is not None:
                yield line, event

    def event(self, line: int, record: Record) -> Event | None:
        """Return the row that a record is; None if it is to be skipped."""
        fields: dict[str, Any] = {}
        for ours, theirs, convert in self._sought:
            value = found(record, theirs)
            if value not in _NOTHING:
                try:
                    fields[ours] = convert(value)
                except (ValueError, TypeError, OverflowError) as error:
                    problem = f"`{ours}` cannot be {_quoted(value)}: {error}"
                    raise refusal(self._file, line, problem) from error
        self._translate(fields)
        if fields.get("kind") == SKIP:
            return None
        return self._checked(line, record, fields)

    def require(self, names: Iterable[str]) -> None:
        """Complain if a table has no column of a name that is mapped, or required."""
        names = list(names)
        required = {"process": "process", "kind": "kind"} | self._map.columns
        for ours, theirs in required.items():
            if theirs.partition(".")[0] not in names:
                message = (
                    f"{self._file}:1: there is no column {theirs!r} to be `{ours}`: "
                    f"{those_there(names)}; say which is it with --map {ours}=..."
                )
                raise TraceError(message)

    def _searches(self) -> list[tuple[str, str, Callable[[Any], Any]]]:
        mapped = dict(self._map.columns)
        sought = [
            (ours, mapped.get(ours, ours), _CONVERTERS.get(ours, _number))
            for ours in FIELDS
            if ours != "time_us"
        ]
        for ours, scale in TIMES_US.items():
            if ours in mapped or (ours == "time_us" and not TIMES_US.keys() & mapped.keys()):
                sought.append(("time_us", mapped.get(ours, ours), _clock_reader(scale)))
        return sought

    def _translate(self, fields: dict[str, Any]) -> None:
        for ours, values in self._map.values.items():
            if ours in fields:
                fields[ours] = values.get(str(fields[ours]), fields[ours])

    def _checked(self, line: int, record: Record, fields: dict[str, Any]) -> Event:
        try:
            event = msgspec.convert(fields, Event)
        except msgspec.ValidationError as error:
            self._complain_of_kind(line, fields.get("kind"))
            self._complain_of_columns(line, record)
            problem = f"not a row as in docs/trace-format.md: {error}"
            raise refusal(self._file, line, problem) from error
        wrong = problem_of(event)
        if wrong is not None and not event.id:
            self._complain_of_columns(line, record)
            self._complain_of_needs(line, record, wrong)
        return event

    def _complain_of_columns(self, line: int, record: Record) -> None:
        """Say so if something is wrong with a row because a mapped column is not there."""
        for ours, theirs in self._map.columns.items():
            if found(record, theirs) is None and ours not in TIMES_US:
                problem = f"there is no {theirs!r} here to be `{ours}`: {those_there(record)}"
                raise refusal(self._file, line, problem)

    def _complain_of_needs(self, line: int, record: Record, problem: str) -> None:
        """Say so if a row needs a column that is not there, under our name for it."""
        for ours in ("first", "sender"):
            if f"needs `{ours}`" in problem and ours not in (*record, *self._map.columns):
                advice = f"say which of them it is with --map {ours}=..."
                raise refusal(self._file, line, f"{problem}: {those_there(record)}; {advice}")

    def _complain_of_kind(self, line: int, kind: Any) -> None:  # noqa: ANN401 - whatever it is
        if kind is not None and kind not in KINDS:
            problem = (
                f"what is `kind` {kind!r}? Say --map kind:deliver={kind}, or another of our kinds, "
                f"or leave such rows out: --map kind:{SKIP}={kind}"
            )
            raise refusal(self._file, line, problem)


def found(record: Record, path: str) -> Any:  # noqa: ANN401 - whatever is there
    """Return what a record has under a name, or inside objects, by names with dots between."""
    if path in record or "." not in path:
        return record.get(path)
    value: Any = record
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def those_there(names: Iterable[str]) -> str:
    """Say which columns there are."""
    listed = [str(name) for name in names]
    more = ", ..." if len(listed) > _SHOWN_MAX else ""
    return f"there are {', '.join(listed[:_SHOWN_MAX])}{more}" if listed else "there is none"


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _text(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    message = "expected text"
    raise TypeError(message)


def _number(value: Any) -> int:  # noqa: ANN401
    if isinstance(value, float) and not value.is_integer():
        message = "expected a whole number"
        raise ValueError(message)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        message = "expected a number"
        raise TypeError(message)
    return int(value)


def _truth(value: Any) -> bool:  # noqa: ANN401
    said = str(value).lower()
    if said in _TRUE or said in _FALSE:
        return said in _TRUE
    message = "expected true or false"
    raise ValueError(message)


def _names(value: Any) -> list[str]:  # noqa: ANN401
    """Return a list; text is one in JSON, or names with spaces, commas or semicolons between."""
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            value = json.loads(value)
        else:
            return value.replace(",", " ").replace(";", " ").split()
    return [_text(each) for each in value]


def clock_of(value: Any) -> dict[str, int]:  # noqa: ANN401
    """Return a clock; a Parquet map comes as pairs, a struct with nulls where there is nothing."""
    if isinstance(value, str):
        value = json.loads(value)
    pairs = dict(value).items()
    return {_text(name): _number(entry) for name, entry in pairs if entry is not None}


def _clock_reader(scale: int) -> Callable[[Any], int]:
    def microseconds(value: Any) -> int:  # noqa: ANN401
        if isinstance(value, str) and not value.lstrip("-").replace(".", "", 1).isdigit():
            value = datetime.fromisoformat(value)
        if isinstance(value, datetime):
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            return round(aware.timestamp() * 1_000_000)
        return int(value) * scale if isinstance(value, int) else round(float(value) * scale)

    return microseconds


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_TEXTS, _text),
    "uniform": _truth,
    "members": _names,
    "to": _names,
    "clock": clock_of,
}

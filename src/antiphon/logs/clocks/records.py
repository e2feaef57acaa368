"""Events with their vector clocks, from rows: JSON lines, CSV or Parquet, with a column for each.

Law: a row has a `clock` (an object from hosts to numbers), a `process` or `host`, and may say what
happened in `detail` or `event`; or in the columns that are mapped to `process`, `clock` and
`detail`. Files whose first row is so, and has no kind of ours, hold clocks and no messages. What
does not fit is refused, with file and line.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from antiphon.core.errors import TraceError
from antiphon.logs.making import KINDS, Record, RowMaker, clock_of, found, those_there
from antiphon.logs.parquet import opened, parquet_records
from antiphon.logs.tables import csv_records, json_records
from antiphon.trace.reader import refusal
from antiphon.trace.segments import Format, Segment

_OF_MESSAGES = frozenset({"kind", "first", "sender", "id"})
_OURS = {"process": ("process", "host"), "clock": ("clock",), "detail": ("detail", "event")}
"""What a row must have, or may, for its clock to be judged; under which names."""

_QUOTED_MAX = 60


class ClockRow(NamedTuple):
    """What a row tells."""

    line: int
    host: str
    clock: dict[str, int]
    text: str


def may_be_clocks(segment: Segment) -> bool:
    """Whether the first row of a file has a clock, and is about no message."""
    mapped = _mapped(segment)
    if mapped.keys() & _OF_MESSAGES:
        return False
    try:
        if segment.format is Format.PARQUET and not _has_clock(segment):
            return False
        first = next((record for _, record in _records(segment)), None)
    except TraceError:
        return False  # whoever reads it will say what is wrong with it
    if first is None or found(first, "kind") in KINDS or first.keys() & {"first", "sender"}:
        return False
    is_there = [_column(mapped, ours, first) is not None for ours in ("process", "clock")]
    return all(is_there) and ("kind" not in first or "clock" in mapped)


def clock_rows(segment: Segment) -> Iterator[ClockRow]:
    """Yield the rows of a file."""
    mapped = _mapped(segment)
    for line, record in _records(segment):
        host = _said(segment, mapped, "process", line, record)
        clock = _said(segment, mapped, "clock", line, record)
        column = _column(mapped, "detail", record)
        text = found(record, column) if column is not None else ""
        yield ClockRow(line, str(host), _read(segment, line, clock), str(text))


def _records(segment: Segment) -> Iterator[tuple[int, Record]]:
    match segment.format:
        case Format.JSON:
            yield from json_records(segment)
        case Format.CSV:
            yield from csv_records(segment, _AnyColumns(segment.columns, segment.file))
        case Format.PARQUET:
            with opened(segment.path, segment.file) as parquet:
                yield from parquet_records(parquet)


class _AnyColumns(RowMaker):
    """Asks for no column: what a row lacks is seen when it is read."""

    def require(self, names: object) -> None:
        """Take any."""


def _has_clock(segment: Segment) -> bool:
    """Whether a Parquet file has a column of clocks; no row is read for that."""
    with opened(segment.path, segment.file) as parquet:
        names = parquet.schema_arrow.names
    clock = _mapped(segment).get("clock", "clock").partition(".")[0]
    return clock in names and ("kind" not in names or "clock" in _mapped(segment))


def _mapped(segment: Segment) -> Mapping[str, str]:
    return segment.columns.columns if segment.columns is not None else {}


def _column(mapped: Mapping[str, str], ours: str, record: Record) -> str | None:
    names = (mapped[ours],) if ours in mapped else _OURS[ours]
    return next((name for name in names if found(record, name) not in (None, "")), None)


def _said(segment: Segment, mapped: Mapping[str, str], ours: str, line: int, record: Record) -> Any:  # noqa: ANN401 - whatever is there
    column = _column(mapped, ours, record)
    if column is None:
        problem = f"there is no {mapped.get(ours, ours)!r} here: {those_there(record)}"
        raise refusal(segment.file, line, f"{problem}; say which is it with --map {ours}=...")
    return found(record, column)


def _read(segment: Segment, line: int, said: Any) -> dict[str, int]:  # noqa: ANN401
    try:
        clock = clock_of(said)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        problem = f"the clock {_quoted(said)} is no JSON object of whole numbers: mend it"
        raise refusal(segment.file, line, problem) from error
    if any(entry < 0 for entry in clock.values()):
        raise refusal(
            segment.file, line, f"the clock {_quoted(said)} has a negative entry: mend it"
        )
    return clock


def _quoted(said: object) -> str:
    text = str(said)
    return f"'{text if len(text) <= _QUOTED_MAX else f'{text[:_QUOTED_MAX]}...'}'"

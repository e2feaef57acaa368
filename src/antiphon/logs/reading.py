"""The rows of a log, whatever holds them: the one place that knows all formats.

Law: whoever judges reads through here, so that all judges see the same rows, refuse the same files
in the same words, and name the same lines. A file's name tells its format, or else its first bytes.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from antiphon.logs.making import Record, RowMaker
from antiphon.logs.parquet import opened, parquet_records
from antiphon.logs.tables import csv_records, json_records
from antiphon.trace.continuity import Tally
from antiphon.trace.log import Log
from antiphon.trace.reader import (
    Trace,
    checked_rows,
    may_be_empty,
    read_json_segment,
    refusal,
)
from antiphon.trace.schema import Event
from antiphon.trace.segments import Format, Segment
from antiphon.trace.verdict import ALL, Terms


def read_log(where: Path | Log, terms: Terms = ALL) -> Trace:
    """Return the rows of a log: at a path, or at several."""
    return Trace(where, read_log_segment, terms)


def read_log_segment(segment: Segment, tally: Tally) -> Iterator[tuple[int, Event]]:
    """Yield the rows of one file, checked, with their line numbers."""
    if segment.format is Format.JSON and segment.columns is None:
        return read_json_segment(segment, tally)
    return _checked(segment, made_rows(segment), tally)


def made_rows(segment: Segment) -> Iterator[tuple[int, Event]]:
    """Yield the rows of one file that is not of our own JSON, not checked yet."""
    maker = RowMaker(segment.columns, segment.file)
    return maker.made(records_of(segment, maker))


def records_of(segment: Segment, maker: RowMaker) -> Iterator[tuple[int, Record]]:
    """Yield what one file holds, with line numbers, before it is made into rows."""
    match segment.format:
        case Format.JSON:
            yield from json_records(segment)
        case Format.CSV:
            yield from csv_records(segment, maker)
        case Format.PARQUET:
            with opened(segment.path, segment.file) as parquet:
                maker.require(parquet.schema_arrow.names)
                yield from parquet_records(parquet)


def _checked(
    segment: Segment, rows: Iterable[tuple[int, Event]], tally: Tally
) -> Iterator[tuple[int, Event]]:
    before = tally.row_count
    yield from checked_rows(rows, segment.file, segment.process, tally)
    if tally.row_count == before and not may_be_empty(segment.file):
        raise refusal(segment.file, 1, "the file has no rows: expected one per event")

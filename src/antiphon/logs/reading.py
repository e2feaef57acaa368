"""The rows of a log, whatever holds them: the one place that knows all formats.

Law: whoever judges reads through here, so that all judges see the same rows, refuse the same files
in the same words, and name the same lines. A file's name tells its format, or else its first bytes.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from antiphon.logs.making import FIELDS, Record, RowMaker
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

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""What Spark calls a folder of rows without a value."""


def read_log(where: Path | Log, terms: Terms = ALL) -> Trace:
    """Return the rows of a log: at a path, or at several."""
    return Trace(where, read_log_segment, terms)


def read_log_segment(segment: Segment, tally: Tally) -> Iterator[tuple[int, Event]]:
    """Yield the rows of one file, checked, with their line numbers."""
    is_ours = segment.format is Format.JSON and segment.columns is None
    if is_ours and not folder_columns(segment):
        return read_json_segment(segment, tally)
    return _checked(segment, made_rows(segment), tally)


def made_rows(segment: Segment) -> Iterator[tuple[int, Event]]:
    """Yield the rows of one file that is not of our own JSON, not checked yet."""
    maker = RowMaker(segment.columns, segment.file)
    return maker.made(records_of(segment, maker))


def records_of(segment: Segment, maker: RowMaker) -> Iterator[tuple[int, Record]]:
    """Yield what one file holds, with line numbers, before it is made into rows."""
    told = folder_columns(segment)
    for line, record in _records_in(segment, maker, told):
        yield line, {**told, **record}


def folder_columns(segment: Segment) -> dict[str, str]:
    """Return what the name of a file's folder says about its rows, as `process=alice` does.

    Spark leaves the columns by which it divides a table (`partitionBy`) out of the files.
    """
    name, is_there, value = segment.path.parent.name.partition("=")
    columns = segment.columns.columns if segment.columns is not None else {}
    if not is_there or value == _NO_VALUE or name not in {*FIELDS, *columns.values()}:
        return {}
    return {name: unquote(value)}


def _records_in(
    segment: Segment, maker: RowMaker, told: dict[str, str]
) -> Iterator[tuple[int, Record]]:
    match segment.format:
        case Format.JSON:
            yield from json_records(segment)
        case Format.CSV:
            yield from csv_records(segment, maker, told)
        case Format.PARQUET:
            with opened(segment.path, segment.file) as parquet:
                maker.require([*parquet.schema_arrow.names, *told])
                yield from parquet_records(parquet)


def _checked(
    segment: Segment, rows: Iterable[tuple[int, Event]], tally: Tally
) -> Iterator[tuple[int, Event]]:
    before = tally.row_count
    yield from checked_rows(rows, segment.file, segment.process, tally)
    if tally.row_count == before and not may_be_empty(segment.file):
        raise refusal(segment.file, 1, "the file has no rows: expected one per event")

"""Records of files that are tables, or somebody's JSON, each with the line that it begins in.

Law: the first line of a CSV file names its columns, and every other line has as many cells. Cells
are between commas, semicolons, tabs or bars, whichever the first line has most of. A quoted cell
may go over several lines. What is not UTF-8, or not JSON, is refused with file and line.
"""

import csv
from collections.abc import Iterable, Iterator

import msgspec

from antiphon.logs.making import Record, RowMaker
from antiphon.trace.reader import line_blocks, may_be_empty, refusal, what_is_expected
from antiphon.trace.segments import Segment

_SEPARATORS = ",;\t|"


def csv_records(
    segment: Segment, maker: RowMaker, others: Iterable[str] = ()
) -> Iterator[tuple[int, Record]]:
    """Yield the records of a CSV file; ``others`` are columns that are known without it."""
    lines = _text_lines(segment)
    head = next(lines, "")
    if not head and may_be_empty(segment.file):
        return
    separator = max(_SEPARATORS, key=head.count)
    rows = csv.reader(_chained(head, lines), delimiter=separator, strict=True)
    names: list[str] | None = None
    line = 1
    try:
        for cells in rows:
            if names is None:
                names = [cell.strip() for cell in cells]
                maker.require([*names, *others])
            elif len(cells) == len(names):
                yield line, dict(zip(names, cells, strict=True))
            elif any(cells):
                problem = f"{len(cells)} cells where the first line names {len(names)}: mend it"
                raise refusal(segment.file, line, problem)
            line = rows.line_num + 1
    except csv.Error as error:
        raise refusal(segment.file, line, f"not CSV ({error}): mend the line") from error


def json_records(segment: Segment) -> Iterator[tuple[int, Record]]:
    """Yield the objects of a file of JSON lines."""
    line_count = 0
    for lines, _ in line_blocks(segment.path, segment.file):
        for number, raw in enumerate(lines, line_count + 1):
            if raw.strip():
                yield number, _object(segment.file, number, raw)
        line_count += len(lines)


def _object(file: str, number: int, raw: bytes) -> Record:
    try:
        record = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"not JSON: {what_is_expected(raw, error)}"
        raise refusal(file, number, problem) from error
    if not isinstance(record, dict):
        raise refusal(file, number, f"not a row: {what_is_expected(raw)}")
    return record


def _text_lines(segment: Segment) -> Iterator[str]:
    line_count = 0
    for lines, is_cut in line_blocks(segment.path, segment.file):
        for number, raw in enumerate(lines, line_count + 1):
            try:
                yield raw.decode() + ("" if is_cut else "\n")
            except UnicodeDecodeError as error:
                problem = "not UTF-8 text: expected comma-separated values"
                raise refusal(segment.file, number, problem) from error
        line_count += len(lines)


def _chained(head: str, lines: Iterator[str]) -> Iterator[str]:
    yield head
    yield from lines

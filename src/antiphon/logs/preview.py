"""How a log is understood: its first rows, and which of its columns they are made of.

Law: nothing is judged, and no more is read than is shown.
"""

from itertools import islice
from typing import NamedTuple

from antiphon.logs.making import FIELDS, RowMaker
from antiphon.logs.reading import read_log, records_of
from antiphon.trace.log import ColumnMap, Log
from antiphon.trace.reader import Row
from antiphon.trace.segments import segments


class Preview(NamedTuple):
    """The beginning of a log."""

    rows: list[Row]
    read_as: dict[str, str]
    """Their columns, and what they are to us."""
    left_out: list[str]
    """Their columns that are nothing to us."""


def preview(log: Log, ready: Log, row_count: int) -> Preview:
    """Return how the first rows are understood; ``ready`` is the log with its messages numbered."""
    rows = list(islice(iter(read_log(ready)), row_count))
    columns = log.columns or ColumnMap()
    ours_of: dict[str, str] = {}
    for ours in dict.fromkeys((*FIELDS, *columns.columns)):
        ours_of.setdefault(columns.columns.get(ours, ours), ours)
    names = _names(log, row_count)
    mapped_into = {theirs.partition(".")[0] for theirs in columns.columns.values()}
    return Preview(
        rows,
        {theirs: ours for theirs, ours in ours_of.items() if theirs.partition(".")[0] in names},
        [name for name in names if name not in ours_of and name not in mapped_into],
    )


def _names(log: Log, row_count: int) -> list[str]:
    """Return the names that the first records have, in their order."""
    segment = segments(log)[0]
    maker = RowMaker(log.columns, segment.file)
    records = islice(records_of(segment, maker), row_count)
    return list(dict.fromkeys(name for _, record in records for name in record))

"""Large files of Parquet, divided by their row groups into parts that are read side by side.

Law: a file is divided only if every row has a number, so that the order of a process's rows does
not depend on who reads which part; evidence names rows by their number in the whole file.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from antiphon.core.errors import TraceError
from antiphon.logs.parquet import opened
from antiphon.logs.reading import folder_columns
from antiphon.pipeline.ingest.columns import is_ours
from antiphon.pipeline.ingest.sources import RowGroups, Source
from antiphon.trace.schema import INT64_MAX
from antiphon.trace.segments import Format, Segment

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData, ParquetFile

ROWS_PER_PART = 2_000_000

_UNUSED = {"time_us": -INT64_MAX, "bytes": 0, "overhead_bytes": 0, "queue_depth": 0}
"""What a verdict does not need, and how small it may be: looked at only if nothing tells."""


def parted(sources: Sequence[Source]) -> list[Source]:
    """Divide large files into parts, if their rows are numbered."""
    parts = [(source, part) for source in sources for part in _parts_of(source)]
    return [
        source._replace(number=number, part=part) for number, (source, part) in enumerate(parts)
    ]


def may_hold_columns(segment: Segment) -> bool:
    """Whether a file is of Parquet, and nothing else says what its columns are."""
    is_plain = segment.columns is None and not folder_columns(segment)
    return segment.format is Format.PARQUET and is_plain


def can_be_read_by_columns(parquet: "ParquetFile") -> bool:
    """Whether columns are ours, and the file itself says that no size or time is out of bounds."""
    return is_ours(parquet.schema_arrow) and all(
        _is_at_least(chunk, _UNUSED[chunk.path_in_schema])
        for chunk in _chunks(parquet)
        if chunk.path_in_schema in _UNUSED
    )


def has_ids(parquet: "ParquetFile") -> bool:
    """Whether some row has an id, as far as the file itself tells."""
    return any(_may_tell(chunk) for chunk in _chunks(parquet) if chunk.path_in_schema == "id")


def _may_tell(chunk: "ColumnChunkMetaData") -> bool:
    """Whether some text in a column may not be empty."""
    told = chunk.statistics
    if told is None:
        return bool(chunk.num_values)
    is_null = told.has_null_count and told.null_count == chunk.num_values
    return not is_null and (not told.has_min_max or bool(told.max))


def _parts_of(source: Source) -> Sequence[RowGroups | None]:
    segment = source.segment
    if not may_hold_columns(segment):
        return [None]
    try:
        with opened(segment.path, segment.file) as parquet:
            return _divided(parquet) or [None]
    except TraceError:
        return [None]  # whoever reads it will say what is wrong with it


def _divided(parquet: "ParquetFile") -> list[RowGroups]:
    """Return parts of at least so many rows; none if there would be but one."""
    meta = parquet.metadata
    if meta.num_rows < 2 * ROWS_PER_PART or not _is_numbered(parquet):
        return []
    parts, first_group, first_row, row_count, byte_count = [], 0, 0, 0, 0
    for group in range(meta.num_row_groups):
        row_count += meta.row_group(group).num_rows
        byte_count += meta.row_group(group).total_byte_size
        if row_count >= ROWS_PER_PART or group == meta.num_row_groups - 1:
            parts.append(RowGroups(first_group, group + 1, first_row, byte_count))
            first_group, first_row = group + 1, first_row + row_count
            row_count = byte_count = 0
    return parts


def _is_numbered(parquet: "ParquetFile") -> bool:
    """Whether every row has a number: else the order between parts is nobody's."""
    if not can_be_read_by_columns(parquet):
        return False
    chunks = [chunk for chunk in _chunks(parquet) if chunk.path_in_schema == "index"]
    return bool(chunks) and all(
        chunk.statistics is not None and chunk.statistics.null_count == 0 and _is_at_least(chunk, 0)
        for chunk in chunks
    )


def _chunks(parquet: "ParquetFile") -> Iterator["ColumnChunkMetaData"]:
    meta = parquet.metadata
    for group in range(meta.num_row_groups):
        for place in range(meta.num_columns):
            yield meta.row_group(group).column(place)


def _is_at_least(chunk: "ColumnChunkMetaData", least: int) -> bool:
    told = chunk.statistics
    if told is None:
        return False
    return bool(told.null_count == chunk.num_values or (told.has_min_max and told.min >= least))

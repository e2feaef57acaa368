"""The position matrix: one row per atomic run of messages, one column per process.

Law: one shuffle brings together what all processes say about a bucket of messages; from the
table it yields, every property follows without going back to the trace. Columns:

    scope, bucket      what the row belongs to
    sender             rank of the sender
    first, count       the run: numbers first to first + count - 1
    multicast          position of the first one's multicast at the sender, or NEVER
    is_fifo            whether it was multicast in fifo order
    is_total           whether it is in total order
    is_uniform         whether it is uniform
    positions          by rank: position of the first one's first delivery there, or NEVER
    afters             by rank: a position before it, with no multicast by that rank in between
    is_doubtful        whether it may have been multicast where the sender's record is lost
    missing            ranks that had to deliver it and did not, and why; usually empty
    again              where it was multicast or delivered again; usually empty

Cost: 8 bytes per delivery and column of positions; a bucket at a time is in a worker's memory.
"""

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from antiphon.pipeline.checks.cutting import PIECE_LINES, Again, Cut, Pieces, cut, cut_at_buckets
from antiphon.pipeline.checks.findings import What
from antiphon.pipeline.ingest.chunks import (
    chunks,
    column,
    list_column,
    numbers,
    packed_column,
    regrouped,
    unpacked,
)
from antiphon.pipeline.ingest.position import NEVER
from antiphon.pipeline.ingest.reading import LINES
from antiphon.pipeline.survey.layout import IN_FIFO_ORDER, IN_TOTAL_ORDER, UNIFORM, Layout, Numbers

_BUCKET = ("scope", "bucket")
_TYPES = {
    "scope": "int",
    "bucket": "bigint",
    "sender": "int",
    "first": "bigint",
    "count": "bigint",
    "multicast": "bigint",
    "is_fifo": "boolean",
    "is_total": "boolean",
    "is_uniform": "boolean",
    "positions": "array<bigint>",
    "afters": "array<bigint>",
    "is_doubtful": "boolean",
    "missing": "array<struct<process: int, what: int>>",
    "again": "array<struct<process: int, position: bigint, is_multicast: boolean>>",
}
_COLUMNS = list(_TYPES)
_PIECES_SCHEMA = "scope int, bucket bigint, pieces binary"
_SCHEMA = ", ".join(f"{name} {sql_type}" for name, sql_type in _TYPES.items())


def pieces(packs: DataFrame, strands: dict[int, Numbers]) -> DataFrame:
    """Return rows by scope and bucket, still packed: see ``cutting.Pieces``."""
    sorted_out = packs.mapInArrow(partial(_sort_out, strands=strands), _PIECES_SCHEMA)
    return sorted_out.select("scope", "bucket", "pieces")


def position_matrix(
    of_pieces: DataFrame, layouts: dict[int, Layout], partition_count: int
) -> DataFrame:
    """Return the matrix; rows of a bucket stay together, in one partition."""
    return (
        of_pieces.repartition(partition_count, *_BUCKET)
        .sortWithinPartitions(*_BUCKET)
        .mapInArrow(partial(_matrices, layouts=layouts), _SCHEMA)
        .select(_COLUMNS)
    )


def _sort_out(
    batches: Iterable[pa.RecordBatch], *, strands: dict[int, Numbers]
) -> Iterator[pa.RecordBatch]:
    """Sort the rows of each pack by bucket: a pack is of one time, so it has to do with few."""
    for batch in batches:
        packs = unpacked(batch, "rows", len(LINES))
        for segment, rows in zip(numbers(batch, "segment"), packs, strict=True):
            scope, bucket, table = cut_at_buckets(rows, strands[segment])
            order = np.lexsort((bucket, scope))
            scope, bucket, table = scope[order], bucket[order], table[:, order]
            is_new = (scope[1:] != scope[:-1]) | (bucket[1:] != bucket[:-1])
            begins = np.flatnonzero(np.concatenate([[True], is_new]))
            yield pa.RecordBatch.from_arrays(
                [
                    column(scope[begins].astype(np.int32)),
                    column(bucket[begins]),
                    packed_column(np.split(table, begins[1:], axis=1)),
                ],
                names=["scope", "bucket", "pieces"],
            )


def _matrices(
    batches: Iterable[pa.RecordBatch], *, layouts: dict[int, Layout]
) -> Iterator[pa.RecordBatch]:
    return regrouped(_bucket_matrices(batches, layouts))


def _bucket_matrices(
    batches: Iterable[pa.RecordBatch], layouts: dict[int, Layout]
) -> Iterator[pa.RecordBatch]:
    for (scope, bucket), chunk in chunks(batches, _BUCKET):
        layout = layouts[scope]
        parts = unpacked(chunk, "pieces", len(PIECE_LINES))
        matrix = cut(Pieces(*np.concatenate(list(parts), axis=1)), layout)
        yield _table(matrix, layout, scope, bucket)


def _table(matrix: Cut, layout: Layout, scope: int, bucket: int) -> pa.RecordBatch:
    row_count = len(matrix.sender)
    doubt_above = np.array(layout.doubt_above)[matrix.sender]
    columns = [
        column(np.full(row_count, scope, dtype=np.int32)),
        column(np.full(row_count, bucket)),
        column(matrix.sender.astype(np.int32)),
        column(matrix.first),
        column(matrix.count),
        column(matrix.multicast),
        *(column(matrix.asks & bit > 0) for bit in (IN_FIFO_ORDER, IN_TOTAL_ORDER, UNIFORM)),
        list_column(matrix.positions.T),
        list_column(matrix.afters.T),
        column((matrix.multicast == NEVER) & (matrix.first > doubt_above)),
        _missing_column(matrix, layout),
        _again_column(matrix.again, row_count),
    ]
    return pa.RecordBatch.from_arrays(columns, names=_COLUMNS)


def _missing_column(matrix: Cut, layout: Layout) -> pa.ListArray:
    parts = [
        np.stack([run, process, np.full(len(run), what)])
        for what, process, run in _missing(matrix, layout)
    ]
    entries = np.concatenate(parts, axis=1)
    run, process, what = entries[:, np.argsort(entries[0], kind="stable")]
    structs = pa.StructArray.from_arrays(
        [column(process.astype(np.int32)), column(what.astype(np.int32))],
        names=["process", "what"],
    )
    return pa.ListArray.from_arrays(_offsets(run, len(matrix.sender)), structs)


def _missing(matrix: Cut, layout: Layout) -> Iterator[tuple[What, Numbers, Numbers]]:
    """Yield which ranks had to deliver which runs and did not, for each reason."""
    sender = matrix.sender
    is_missing, is_sent = matrix.positions == NEVER, matrix.multicast != NEVER
    for what, ranks in ((What.NOT_DELIVERED, layout.held), (What.NOT_ATOMIC, layout.movers)):
        is_here = is_missing[ranks]
        place, run = np.nonzero(is_here & ~is_here.all(axis=0))
        yield what, np.array(ranks, dtype=np.int64)[place], run
    is_alive = is_sent & np.array(layout.is_whole)[sender]
    place, run = np.nonzero(is_missing[layout.held] & is_alive)
    yield What.STALLED, np.array(layout.held, dtype=np.int64)[place], run
    is_own = is_missing[sender, np.arange(len(sender))]
    run = np.flatnonzero(is_own & is_sent & np.array(layout.is_bound)[sender])
    yield What.OWN_MISSING, sender[run], run
    is_uniform = matrix.asks & UNIFORM > 0
    if is_uniform.any():
        ranks = sorted({*layout.held, *layout.movers})
        place, run = np.nonzero(is_missing[ranks] & is_uniform & ~is_missing.all(axis=0))
        yield What.NOT_UNIFORM, np.array(ranks, dtype=np.int64)[place], run


def _again_column(again: Again, row_count: int) -> pa.ListArray:
    entries = pa.StructArray.from_arrays(
        [
            column(again.process.astype(np.int32)),
            column(again.position),
            column(again.is_multicast),
        ],
        names=["process", "position", "is_multicast"],
    )
    return pa.ListArray.from_arrays(_offsets(again.run, row_count), entries)


def _offsets(runs: Numbers, row_count: int) -> pa.Array:
    """Return where the entries of each run begin, given the run of each entry, in order."""
    return column(np.searchsorted(runs, np.arange(row_count + 1)).astype(np.int32))

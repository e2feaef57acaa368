"""The position matrix: one row per atomic run of messages, one column per process.

Law: one sorting brings together what all processes say about a bucket of messages; from the
table it yields, every property follows without going back to the trace. Columns:

    scope, bucket      what the row belongs to
    sender             rank of the sender
    first, count       the run: numbers first to first + count - 1
    multicast          position of the first one's multicast at the sender, or NEVER
    is_fifo            whether it was multicast in fifo order
    is_total           whether it is in total order
    is_uniform         whether it is uniform
    is_apart           whether causality across groups leaves it out, in fifo order as it is, or as
                       it only sets the order of others
    component          which groups its own is judged with (``survey.domains``), or null
    positions          by rank: position of the first one's first delivery there, or NEVER; or
                       EXCUSED, if there is none, and need not be
    afters             by rank: a position before it, with no multicast by that rank in between
    is_doubtful        whether it may have been multicast where the sender's record is lost
    is_broken          whether anything is wrong with it that shows in this row alone
    missing            ranks that had to deliver it and did not, or should not have, and why: pairs;
                       usually empty
    again              where it was multicast or delivered again: triples of rank, position and
                       whether it is a multicast; usually empty

Cost: 8 bytes per delivery and column of positions; a bucket at a time is in a worker's memory.
"""

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from antiphon.pipeline.checks.cutting import (
    PIECE_LINES,
    Cut,
    Pieces,
    cut,
    cut_at_buckets,
    delivered_early,
    is_for_others,
)
from antiphon.pipeline.checks.findings import What
from antiphon.pipeline.ingest.position import EXCUSED, NEVER
from antiphon.pipeline.ingest.reading import LINES
from antiphon.pipeline.survey.layout import (
    IN_FIFO_ORDER,
    IN_TOTAL_ORDER,
    SETS_ORDER,
    UNIFORM,
    Layout,
    Numbers,
    Truths,
)
from antiphon.pipeline.tables.chunks import (
    chunks,
    column,
    list_column,
    numbers,
    packed_column,
    regrouped,
    unpacked,
)
from antiphon.pipeline.tables.table import Table

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
    "is_apart": "boolean",
    "component": "int",
    "positions": "array<bigint>",
    "afters": "array<bigint>",
    "is_doubtful": "boolean",
    "is_broken": "boolean",
    "missing": "array<bigint>",
    "again": "array<bigint>",
}
_COLUMNS = list(_TYPES)
_PIECES = {"scope": "int", "bucket": "bigint", "pieces": "binary"}


def pieces(packs: Table, strands: dict[int, Numbers]) -> Table:
    """Return rows by scope and bucket, still packed: see ``cutting.Pieces``."""
    return packs.map(partial(_sort_out, strands=strands), _PIECES)


def position_matrix(
    of_pieces: Table, layouts: dict[int, Layout], components: dict[int, int], part_count: int
) -> Table:
    """Return the matrix; rows of a bucket stay together, in one part.

    ``components``: by scope, the number of its component, if it is of one.
    """
    return of_pieces.together(_BUCKET, part_count=part_count).map(
        partial(_matrices, layouts=layouts, components=components), _TYPES
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
                names=list(_PIECES),
            )


def _matrices(
    batches: Iterable[pa.RecordBatch], *, layouts: dict[int, Layout], components: dict[int, int]
) -> Iterator[pa.RecordBatch]:
    return regrouped(_bucket_matrices(batches, layouts, components))


def _bucket_matrices(
    batches: Iterable[pa.RecordBatch], layouts: dict[int, Layout], components: dict[int, int]
) -> Iterator[pa.RecordBatch]:
    for (scope, bucket), chunk in chunks(batches, _BUCKET):
        layout = layouts[scope]
        parts = unpacked(chunk, "pieces", len(PIECE_LINES))
        matrix = cut(Pieces(*np.concatenate(list(parts), axis=1)), layout)
        yield _table(matrix, layout, (scope, bucket), components.get(scope))


def _table(
    matrix: Cut, layout: Layout, where: tuple[int, int], component: int | None
) -> pa.RecordBatch:
    scope, bucket = where
    row_count = len(matrix.sender)
    doubt_above = np.array(layout.doubt_above)[matrix.sender]
    is_lost = matrix.multicast == NEVER
    is_doubtful = is_lost & (matrix.first > doubt_above)
    for rank, sent_below, _ in layout.late:
        is_doubtful |= is_lost & (matrix.sender == rank) & (matrix.first < sent_below)
    missing, again = _all_missing(matrix, layout), matrix.again
    is_broken = is_lost | delivered_early(matrix)
    is_broken[missing[0]] = True
    is_broken[again.run] = True
    columns = [
        column(np.full(row_count, scope, dtype=np.int32)),
        column(np.full(row_count, bucket)),
        column(matrix.sender.astype(np.int32)),
        column(matrix.first),
        column(matrix.count),
        column(matrix.multicast),
        *(column(matrix.asks & bits > 0) for bits in (IN_FIFO_ORDER, IN_TOTAL_ORDER, UNIFORM)),
        column(matrix.asks & (IN_FIFO_ORDER | SETS_ORDER) > 0),
        pa.nulls(row_count, pa.int32())
        if component is None
        else column(np.full(row_count, component, dtype=np.int32)),
        list_column(matrix.positions.T),
        list_column(matrix.afters.T),
        column(is_doubtful),
        column(is_broken),
        _entries_column(missing[0], missing[1:], row_count),
        _entries_column(again.run, (again.process, again.position, again.is_multicast), row_count),
    ]
    return pa.RecordBatch.from_arrays(columns, names=_COLUMNS)


def _all_missing(matrix: Cut, layout: Layout) -> Numbers:
    """Return run, process and reason of each that is missing, a line each, ordered by run."""
    parts = [
        np.stack([run, process, np.full(len(run), what)])
        for what, process, run in _missing(matrix, layout)
    ]
    found = np.concatenate(parts, axis=1)
    ordered: Numbers = found[:, np.argsort(found[0], kind="stable")]
    return ordered


def _missing(matrix: Cut, layout: Layout) -> Iterator[tuple[What, Numbers, Numbers]]:
    """Yield which ranks had to deliver which runs and did not, or the reverse, for each reason."""
    sender = matrix.sender
    is_missing, is_sent = matrix.positions == NEVER, matrix.multicast != NEVER
    for what, ranks in ((What.NOT_DELIVERED, layout.held), (What.NOT_ATOMIC, layout.movers)):
        is_here = is_missing[ranks]
        place, run = np.nonzero(is_here & has_it(matrix.positions[ranks]).any(axis=0))
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
        place, run = np.nonzero(
            is_missing[ranks] & is_uniform & has_it(matrix.positions).any(axis=0)
        )
        yield What.NOT_UNIFORM, np.array(ranks, dtype=np.int64)[place], run
    if layout.aims:
        is_astray = is_for_others(matrix.asks, layout) & has_it(matrix.positions)
        is_astray[sender, np.arange(len(sender))] = False
        process, run = np.nonzero(is_astray)
        yield What.NOT_ADDRESSED, process, run


def has_it(positions: Numbers) -> Truths:
    """Return where something was delivered."""
    delivered: Truths = (positions != NEVER) & (positions != EXCUSED)
    return delivered


def _entries_column(
    runs: Numbers, lines: Iterable[Numbers | Truths], row_count: int
) -> pa.ListArray:
    """Return a column of lists, given the run of each entry, in order, and what entries say."""
    begins = np.searchsorted(runs, np.arange(row_count + 1))
    values = np.stack([line.astype(np.int64) for line in lines], axis=1)
    offsets = (begins * values.shape[1]).astype(np.int32)
    return pa.ListArray.from_arrays(column(offsets), column(values.ravel()))

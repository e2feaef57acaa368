"""Fifo and causal order, from the matrix.

Law: see ``running``. Two steps, neither of which needs a whole record in memory:

    timeline   per bucket: each sender's multicasts, and what it came to know between them,
               boiled down to one vector for each stretch between two of its multicasts
    disorders  per sender and block of its record: run along the timeline and compare

A record longer than a task's fair share of all of them is judged in blocks, in parallel: first
each block's maxima, then (on the driver, a vector per block) what each block starts from, then
the comparison.

Cost: the timeline is about as large as the matrix if messages of a bucket are of about the same
time, at worst larger by a factor of the number of processes; P^2 comparisons per message in
numpy, at a nanosecond or two each.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from antiphon.pipeline.checks.findings import Findings, What, finding_batch, found
from antiphon.pipeline.checks.running import Runner, nothing, pasts
from antiphon.pipeline.ingest.position import NEVER, STRIDE
from antiphon.pipeline.survey.grain import Grain
from antiphon.pipeline.survey.layout import Layout, Numbers
from antiphon.pipeline.tables.chunks import (
    chunks,
    column,
    list_column,
    numbers,
    regrouped,
    slices,
    vectors,
)
from antiphon.pipeline.tables.table import Table

Layouts = dict[int, Layout]
Block = tuple[int, int, int]
"""Scope, owner, number of the block in the owner's record."""

Starts = dict[Block, tuple[Numbers, Numbers]]
"""The maxima from which a block starts, fifo and causal; absent: from nothing."""

BLOCK_LENGTH_MIN = 2**16
"""Rows: shorter blocks are not worth a second pass."""

_BLOCK = ("scope", "owner", "block")
_TIMELINE = {
    "scope": "int",
    "owner": "int",
    "block": "bigint",
    "position": "bigint",
    "is_past": "boolean",
    "is_fifo": "boolean",
    "first": "bigint",
    "count": "bigint",
    "positions": "array<bigint>",
}
_HEIGHTS = {
    "scope": "int",
    "owner": "int",
    "block": "bigint",
    "fifo": "array<bigint>",
    "causal": "array<bigint>",
}


def block_length(layouts: Layouts, grain: Grain, part_count: int) -> int:
    """Return how many rows of a record make a block."""
    row_count = sum(
        last // STRIDE + 1 for layout in layouts.values() for last in layout.last_multicasts
    )
    return grain.rows_per_block or max(row_count // part_count, BLOCK_LENGTH_MIN)


def timeline(matrix: Table, layouts: Layouts, length: int, part_count: int) -> Table:
    """Return every sender's steps, in its own order, block by block.

    A step is a multicast (of a run), or (``is_past``) what was delivered since the one before.
    """
    steps = matrix.map(partial(_steps, layouts=layouts, length=length), _TIMELINE)
    # Past and multicast at one position: the past is what came after that multicast.
    return steps.together(_BLOCK, order=("position", "is_past"), part_count=part_count)


def is_long(layouts: Layouts, length: int) -> bool:
    """Whether any sender's record has more than one block of this length."""
    lasts = (last for layout in layouts.values() for last in layout.last_multicasts)
    return _block_count(max(lasts, default=0), length) > 1


def block_starts(of_timeline: Table, layouts: Layouts, length: int) -> Starts:
    """Return what each block of the long records starts from."""
    heights = of_timeline.map(partial(_heights, layouts=layouts, length=length), _HEIGHTS)
    rows = [row for batch in heights.batches() for row in batch.to_pylist()]
    rows.sort(key=lambda row: [row[name] for name in _BLOCK])
    starts: Starts = {}
    for (scope, owner), of_owner in groupby(rows, key=lambda row: (row["scope"], row["owner"])):
        fifo = causal = nothing(layouts[scope].column_count)
        for row in of_owner:
            starts[scope, owner, row["block"]] = (fifo, causal)
            fifo = np.maximum(fifo, row["fifo"])
            causal = np.maximum(causal, row["causal"])
    return starts


def disorders(of_timeline: Table, layouts: Layouts, starts: Starts) -> list[Findings]:
    """Find deliveries that came before, or without, a message that had to come first."""
    return found(of_timeline, partial(_disorders, layouts=layouts, starts=starts))


def _block_of(positions: Numbers, length: int) -> Numbers:
    blocks: Numbers = np.maximum(positions, 0) // (STRIDE * length)
    return blocks


def _block_count(last_position: int, length: int) -> int:
    return 1 + max(last_position, 0) // (STRIDE * length)


def _steps(
    batches: Iterable[pa.RecordBatch], *, layouts: Layouts, length: int
) -> Iterator[pa.RecordBatch]:
    """Yield the steps that the messages of each bucket contribute."""
    return regrouped(
        step
        for (scope, _), chunk in chunks(batches, ("scope", "bucket"))
        for step in _steps_of_bucket(scope, chunk, layouts[scope], length)
    )


def _steps_of_bucket(
    scope: int, chunk: pa.RecordBatch, layout: Layout, length: int
) -> Iterator[pa.RecordBatch]:
    sender, multicast = numbers(chunk, "sender"), numbers(chunk, "multicast")
    by_run = vectors(chunk, "positions")
    sent = np.flatnonzero(multicast != NEVER)
    messages = tuple(numbers(chunk, name)[sent] for name in ("is_fifo", "first", "count"))
    yield _step_batch(scope, length, sender[sent], multicast[sent], by_run[sent], messages)
    by_process = np.ascontiguousarray(by_run.T)
    afters = np.ascontiguousarray(vectors(chunk, "afters").T)
    for past in pasts(sender, multicast, by_process, afters, layout.last_multicasts):
        owner = np.full(len(past.after), past.owner)
        yield _step_batch(scope, length, owner, past.after, past.positions.T)


def _step_batch(
    scope: int,
    length: int,
    owner: Numbers,
    position: Numbers,
    positions: Numbers,
    messages: tuple[Any, ...] | None = None,
) -> pa.RecordBatch:
    none = np.zeros_like(position)
    is_fifo, first, count = messages or (none.astype(bool), none, none)
    columns = [
        column(np.full(len(owner), scope, dtype=np.int32)),
        column(owner.astype(np.int32)),
        column(_block_of(position, length)),
        column(position),
        column(np.full(len(owner), messages is None)),
        column(is_fifo),
        column(first),
        column(count),
        list_column(positions),
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(_TIMELINE))


class _Walk:
    """Walks along sorted steps, taking up at each block what it starts from."""

    def __init__(self, layouts: Layouts, starts: Starts) -> None:
        self._layouts, self._starts = layouts, starts
        self.block: Block | None = None
        self.runner = Runner(nothing(0), nothing(0))

    def enter(self, block: Block) -> None:
        if block != self.block:
            start = nothing(self._layouts[block[0]].column_count)
            self.block, self.runner = block, Runner(*self._starts.get(block, (start, start)))


def _disorders(
    batches: Iterable[pa.RecordBatch], *, layouts: Layouts, starts: Starts
) -> Iterator[pa.RecordBatch]:
    """Compare, batch by batch: no more of a record is ever in memory."""
    walk = _Walk(layouts, starts)
    for (scope, owner, block), batch in slices(batches, _BLOCK):
        walk.enter((scope, owner, block))
        positions = np.ascontiguousarray(vectors(batch, "positions").T)
        is_past = numbers(batch, "is_past")
        fifo, causal, orphan = walk.runner.wrong(positions, is_past)
        own = np.flatnonzero(~is_past)
        for wrong in (causal, orphan):  # messages in fifo order are held to their sender's order
            wrong[:, numbers(batch, "is_fifo")[own]] = False
        kinds = (What.NOT_FIFO, fifo), (What.NOT_CAUSAL, causal), (What.ORPHAN, orphan)
        for what, wrong in kinds:
            if wrong.any():
                process, step = np.nonzero(wrong)
                yield _disorder_batch(scope, owner, what, process, own[step], positions, batch)


def _disorder_batch(
    scope: int,
    owner: int,
    what: What,
    process: Numbers,
    step: Numbers,
    positions: Numbers,
    batch: pa.RecordBatch,
) -> pa.RecordBatch:
    return finding_batch(
        np.full(len(step), scope),
        np.full(len(step), what),
        process,
        positions[process, step],
        np.full(len(step), owner),
        numbers(batch, "first")[step],
        numbers(batch, "count")[step],
    )


def _heights(
    batches: Iterable[pa.RecordBatch], *, layouts: Layouts, length: int
) -> Iterator[pa.RecordBatch]:
    """Yield the maxima of each block of the records that have several."""
    walk = _Walk(layouts, {})
    for (scope, owner, block), batch in slices(batches, _BLOCK):
        if _block_count(layouts[scope].last_multicasts[owner], length) == 1:
            continue
        if walk.block not in {None, (scope, owner, block)}:
            yield _height_batch(walk)
        walk.enter((scope, owner, block))
        walk.runner.wrong(
            np.ascontiguousarray(vectors(batch, "positions").T), numbers(batch, "is_past")
        )
    if walk.block is not None:
        yield _height_batch(walk)


def _height_batch(walk: _Walk) -> pa.RecordBatch:
    assert walk.block is not None, "a block has been walked"
    scope, owner, block = walk.block
    columns = [
        column(np.array([scope], dtype=np.int32)),
        column(np.array([owner], dtype=np.int32)),
        column(np.array([block])),
        list_column(walk.runner.fifo[None, :]),
        list_column(walk.runner.causal[None, :]),
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(_HEIGHTS))

"""Total order, from the matrix.

Law: two processes agree on the order of what both delivered iff the positions at one grow along
those at the other. If all agree with one, and have nothing that it has not, then any two agree:
so one process per scope is the yardstick, and a scope in which all is well costs a sort and a
running maximum. Only the processes that differ from the yardstick are compared with everybody.

    sequence       what is in total order, as one process (the owner) delivered it, block by block
    suspects       who differs from the yardstick: a vector per block goes to the driver
    disagreements  each suspect against all others: what somebody before it by name has the other
                   way round, and what somebody clean after it by name has

What a process is not held to (it ended early, and the message is not uniform) counts here as not
delivered.
Cost: P cells per message; P cells per message and suspect where something is wrong.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antiphon.pipeline.checks.findings import (
    FINDING_TYPES,
    Findings,
    What,
    finding_batch,
    first_of_each,
    found,
)
from antiphon.pipeline.ingest.position import EXCUSED, NEVER, STRIDE
from antiphon.pipeline.survey.grain import Grain
from antiphon.pipeline.survey.layout import Layout, Numbers, Truths
from antiphon.pipeline.survey.scopes import Scope
from antiphon.pipeline.tables.chunks import (
    chunks,
    column,
    list_column,
    lists,
    numbers,
    regrouped,
    slices,
    vectors,
)
from antiphon.pipeline.tables.table import Table

Layouts = dict[int, Layout]
Owners = dict[int, list[int]]
"""By scope: ranks."""

Block = tuple[int, int, int]
"""Scope, owner, number of the block in the owner's record."""

Ends = dict[Block, tuple[Numbers, Numbers]]
"""By rank: the largest position in earlier blocks, and the smallest in later ones."""

BLOCK_LENGTH_MIN = 2**12
_REST = -1
"""The block of what an owner did not deliver."""
_MESSAGE = ("scope", "process", "sender", "first")
"""What tells findings apart: two owners may have the same to say."""

_BLOCK = ("scope", "owner", "block")
_SEQUENCE = {
    "scope": "int",
    "owner": "int",
    "block": "bigint",
    "position": "bigint",
    "sender": "int",
    "first": "bigint",
    "count": "bigint",
    "positions": "array<bigint>",
}
_HEIGHTS = {
    "scope": "int",
    "owner": "int",
    "block": "bigint",
    "highest": "array<bigint>",
    "lowest": "array<bigint>",
    "is_wrong": "array<boolean>",
}


class _Heights(NamedTuple):
    """How high and low each process's positions are in a block, and whether they fall there."""

    key: Block
    highest: Numbers
    lowest: Numbers
    is_wrong: Truths


def yardsticks(scopes: Iterable[Scope]) -> Owners:
    """Return, for each scope with something in total order, who probably delivered all of it."""

    def has_most(scope: Scope) -> int:
        parts = scope.parts.values()
        return max(
            enumerate(parts), key=lambda item: (item[1].is_bound, item[1].delivery_count, -item[0])
        )[0]

    return {scope.number: [has_most(scope)] for scope in scopes if scope.asks_total}


def held_positions(positions: Numbers, is_uniform: Truths, layout: Layout) -> Numbers:
    """Return positions by run and process, without what the processes are not held to."""
    held = np.where(positions == EXCUSED, NEVER, positions)
    is_free = ~np.array(layout.is_bound, dtype=bool)
    held[np.ix_(~is_uniform, is_free)] = NEVER
    return held


def sequence(
    matrix: Table, layouts: Layouts, owners: Owners, grain: Grain, part_count: int
) -> Table:
    """Return what is in total order in the order of each owner."""
    steps = matrix.where("is_total").map(
        partial(_steps, layouts=layouts, owners=owners, grain=grain), _SEQUENCE
    )
    return steps.together(_BLOCK, order=("position",), part_count=part_count)


def suspects(of_sequence: Table) -> Owners:
    """Return who differs from the owner, or delivered what that one did not."""
    suspected: Owners = {}
    for (scope, _), blocks in _blocks(of_sequence):
        before = np.full_like(blocks[0].highest, -1)
        is_suspect = np.zeros(len(before), dtype=bool)
        for block in blocks:
            if block.key[-1] == _REST:
                is_suspect |= block.lowest != NEVER
            else:
                is_suspect |= block.is_wrong | (block.lowest < before)
                before = np.maximum(before, block.highest)
        if is_suspect.any():
            suspected[scope] = np.flatnonzero(is_suspect).tolist()
    return suspected


def block_ends(of_sequence: Table) -> Ends:
    """Return what lies before and after each block."""
    ends: Ends = {}
    for _, blocks in _blocks(of_sequence):
        if blocks[0].key[-1] == _REST:
            del blocks[0]
        if not blocks:
            continue
        before, after = np.full_like(blocks[0].highest, -1), np.full_like(blocks[0].lowest, NEVER)
        befores = []
        for block in blocks:
            befores.append(before)
            before = np.maximum(before, block.highest)
        for block, highest in zip(reversed(blocks), reversed(befores), strict=True):
            ends[block.key] = (highest, after)
            after = np.minimum(after, block.lowest)
    return ends


def disagreements(
    of_sequence: Table, suspected: Owners, ends: Ends, part_count: int
) -> list[Findings]:
    """Find what was delivered before something that another, before by name, delivered first."""
    wrong = of_sequence.map(
        partial(_disagreements, suspected=suspected, ends=ends), FINDING_TYPES
    ).together(_MESSAGE, part_count=part_count)
    return found(wrong, partial(first_of_each, keys=_MESSAGE))


def _blocks(of_sequence: Table) -> Iterator[tuple[tuple[int, int], list[_Heights]]]:
    """Yield what there is to know of the blocks of each owner, in order."""
    heights_of = [
        _Heights((int(scope), int(owner), int(block)), *heights)
        for batch in of_sequence.map(_heights, _HEIGHTS).batches()
        for scope, owner, block, *heights in zip(
            *(numbers(batch, name) for name in _BLOCK),
            *(lists(batch, name) for name in ("highest", "lowest", "is_wrong")),
            strict=True,
        )
    ]
    heights_of.sort(key=lambda item: item.key)
    for key, blocks in groupby(heights_of, key=lambda item: item.key[:2]):
        yield key, list(blocks)


def _steps(
    batches: Iterable[pa.RecordBatch], *, layouts: Layouts, owners: Owners, grain: Grain
) -> Iterator[pa.RecordBatch]:
    return regrouped(
        step
        for (scope,), batch in slices(batches, ("scope",))
        for owner in owners.get(scope, ())
        for step in _steps_of(scope, owner, batch, layouts[scope], grain)
    )


def _steps_of(
    scope: int, owner: int, batch: pa.RecordBatch, layout: Layout, grain: Grain
) -> Iterator[pa.RecordBatch]:
    sender, first, count = (numbers(batch, name) for name in ("sender", "first", "count"))
    held = held_positions(vectors(batch, "positions"), numbers(batch, "is_uniform"), layout)
    position = held[:, owner]
    has_it = position != NEVER
    length = grain.rows_per_block or max(
        grain.cells_per_bucket // layout.column_count, BLOCK_LENGTH_MIN
    )
    yield _step_batch(
        (scope, owner),
        position[has_it] // (STRIDE * length),
        position[has_it],
        held[has_it],
        (sender[has_it], first[has_it], count[has_it]),
    )
    rest = held[~has_it].min(axis=0, initial=NEVER)[None, :]
    if (rest != NEVER).any():  # who delivered it is all that matters: one row says that
        nothing = np.zeros(1, dtype=np.int64)
        yield _step_batch((scope, owner), nothing + _REST, nothing, rest, (nothing,) * 3)


def _step_batch(
    whose: tuple[int, int],
    block: Numbers,
    position: Numbers,
    positions: Numbers,
    messages: tuple[Numbers, Numbers, Numbers],
) -> pa.RecordBatch:
    (scope, owner), (sender, first, count) = whose, messages
    columns = [
        column(np.full(len(position), scope, dtype=np.int32)),
        column(np.full(len(position), owner, dtype=np.int32)),
        column(block),
        column(position),
        column(sender.astype(np.int32)),
        column(first),
        column(count),
        list_column(positions),
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(_SEQUENCE))


def _heights(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield what is to be known of each block."""
    for (scope, owner, block), chunk in chunks(batches, _BLOCK):
        positions = np.ascontiguousarray(vectors(chunk, "positions").T)
        known = np.where(positions == NEVER, -1, positions)
        falls: Truths = positions < np.maximum.accumulate(known, axis=1)
        columns = [
            column(np.array([scope], dtype=np.int32)),
            column(np.array([owner], dtype=np.int32)),
            column(np.array([block])),
            list_column(known.max(axis=1)[None, :]),
            list_column(positions.min(axis=1)[None, :]),
            list_column(np.asarray(falls.any(axis=1))[None, :]),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=list(_HEIGHTS))


def _disagreements(
    batches: Iterable[pa.RecordBatch], *, suspected: Owners, ends: Ends
) -> Iterator[pa.RecordBatch]:
    for (scope, owner, block), chunk in chunks(batches, _BLOCK):
        if block == _REST:
            continue
        positions = np.ascontiguousarray(vectors(chunk, "positions").T)
        before, after = ends[scope, owner, block]
        is_wrong = np.zeros(positions.shape, dtype=bool)
        is_wrong[owner] = is_early(positions[:owner], after[:owner])
        late = is_late(positions, before)
        clean = [rank for rank in range(owner, len(positions)) if rank not in suspected[scope]]
        is_wrong[clean] = late[clean]
        process, step = np.nonzero(is_wrong)
        yield _finding_batch(scope, process, step, positions, chunk)


def is_early(positions: Numbers, after: Numbers) -> Truths:
    """Return which steps some of these processes has after one that is still to come."""
    later = np.minimum.accumulate(positions[:, ::-1], axis=1)[:, ::-1]
    following = np.concatenate([later[:, 1:], np.full((len(later), 1), NEVER)], axis=1)
    lowest = np.minimum(following, after[:, None])
    early: Truths = ((lowest < positions) & (positions != NEVER)).any(axis=0)
    return early


def is_late(positions: Numbers, before: Numbers) -> Truths:
    """Return which steps each process has before one that the owner had already taken."""
    known = np.where(positions == NEVER, -1, positions)
    highest = np.maximum(np.maximum.accumulate(known, axis=1), before[:, None])
    late: Truths = positions < highest
    return late


def _finding_batch(
    scope: int, process: Numbers, step: Numbers, positions: Numbers, chunk: pa.RecordBatch
) -> pa.RecordBatch:
    return finding_batch(
        np.full(len(step), scope),
        np.full(len(step), What.NOT_TOTAL),
        process,
        positions[process, step],
        numbers(chunk, "sender")[step],
        numbers(chunk, "first")[step],
        numbers(chunk, "count")[step],
    )

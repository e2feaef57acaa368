"""The position matrix of one bucket, in numpy.

Law: rows of the trace are runs, cut differently at each process. The union of all their borders
cuts a sender's numbers into atomic runs: every row has all of one or nothing of it. So a column
per process with one position (that of the first delivery of the run's first message; the others
follow it one by one) says all there is to say about the order of every single message.
Invariant: within one atomic run no order can be broken, except by a process that delivers its
own messages before it multicasts them: then each of them comes after the last one, too. Such
runs are cut once more, before their last message.
Cost: O(rows log rows + atomic runs x processes); nothing here is done message by message.
"""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from antiphon.pipeline.ingest.position import EXCUSED, NEVER
from antiphon.pipeline.survey.layout import AIM_SHIFT, MULTICAST, Layout, Numbers, Truths

_SENDER_SHIFT = 40
"""An address is a sender's rank, then a number below ``layout.WIDTH_MAX``."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Multicast and deliver rows of one bucket, column by column."""

    sender: Numbers
    process: Numbers
    what: Numbers
    """Bits, as in ``survey.layout``."""
    first: Numbers
    count: Numbers
    position: Numbers
    after: Numbers


PIECE_LINES = tuple(field.name for field in fields(Pieces))


class Again(NamedTuple):
    """Multicasts and deliveries of what had been multicast, or delivered there, before."""

    run: Numbers
    """Which atomic run, in ascending order."""
    process: Numbers
    is_multicast: Truths
    position: Numbers


@dataclass(frozen=True, slots=True)
class Cut:
    """Atomic runs: a matrix with a line per process and a column per run."""

    sender: Numbers
    first: Numbers
    count: Numbers
    multicast: Numbers
    """Position of the first multicast, or NEVER."""
    asks: Numbers
    """What that multicast asks for, or without one, the deliveries: bits, as in ``Pieces``."""
    positions: Numbers
    """Position of the first delivery, or NEVER: (processes, runs)."""
    afters: Numbers
    """Of the same delivery: what it comes after (see ``reading``)."""
    again: Again


class _Spans(NamedTuple):
    """Rows as intervals of addresses: the sender's rank, then the number within the bucket."""

    start: Numbers
    end: Numbers
    lowest: Numbers
    """By rank of sender: the number that its addresses count from."""


def cut_at_buckets(rows: Numbers, strands: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return scopes, buckets and pieces of rows (``reading.LINES``), cut where buckets begin."""
    strand, first, count, position, after, _ = rows
    width = strands[-1][strand]
    begin = first // width
    bucket_count = (first + count - 1) // width - begin + 1
    row, place = _expanded(bucket_count)
    bucket, width = begin[row] + place, width[row]
    low = np.maximum(first[row], bucket * width)
    # Counted from the border: with the largest numbers its successor would be out of range.
    high = np.minimum(first[row] + count[row] - 1 - bucket * width, width - 1) + bucket * width
    scope, sender, process, what, _ = strands[:, strand[row]]
    pieces = (
        sender,
        process,
        what,
        low,
        high - low + 1,
        position[row] + (low - first[row]),
        after[row],
    )
    return scope, bucket, np.array(pieces)


def cut(pieces: Pieces, layout: Layout) -> Cut:
    """Return the matrix of a bucket."""
    spans = _spans(pieces, layout)
    borders = np.unique(np.concatenate([spans.start, spans.end]))
    matrix = _matrix(pieces, layout, spans, borders)
    early = delivered_early(matrix) & (matrix.count > 1)
    if not early.any():
        return matrix
    first = _address(matrix.sender[early], matrix.first[early], spans.lowest)
    borders = np.unique(np.concatenate([borders, first + matrix.count[early] - 1]))
    return _matrix(pieces, layout, spans, borders)


def delivered_early(matrix: Cut) -> Truths:
    """Return which runs their own sender delivered before it multicast them."""
    own = matrix.positions[matrix.sender, np.arange(len(matrix.sender))]
    early: Truths = (own < matrix.multicast) & (matrix.multicast != NEVER) & (own != EXCUSED)
    return early


def _spans(pieces: Pieces, layout: Layout) -> _Spans:
    lowest = np.full(layout.column_count, NEVER)
    np.minimum.at(lowest, pieces.sender, pieces.first)
    start = _address(pieces.sender, pieces.first, lowest)
    return _Spans(start, start + pieces.count, lowest)


def _address(sender: Numbers, number: Numbers, lowest: Numbers) -> Numbers:
    address: Numbers = (sender << _SENDER_SHIFT) + (number - lowest[sender])
    return address


def _expanded(lengths: Numbers) -> tuple[Numbers, Numbers]:
    """Return, for items of these lengths laid end to end, the item and the place within it."""
    item = np.repeat(np.arange(len(lengths)), lengths)
    begins = np.cumsum(lengths) - lengths
    return item, np.arange(len(item)) - begins[item]


class _Layer(NamedTuple):
    """Rows laid out over atomic runs: what one row says of one run."""

    run: Numbers
    process: Numbers
    position: Numbers
    after: Numbers

    def only(self, which: Numbers | Truths | slice) -> "_Layer":
        return _Layer(*(column[which] for column in self))


def _matrix(pieces: Pieces, layout: Layout, spans: _Spans, borders: Numbers) -> Cut:
    """Return the matrix whose runs are those between ``borders``."""
    begin = np.searchsorted(borders, spans.start)
    piece, place = _expanded(np.searchsorted(borders, spans.end) - begin)
    run = begin[piece] + place
    position = pieces.position[piece] + borders[run] - spans.start[piece]
    # Between the last number of one row and the first of another there may be nothing.
    is_covered = np.zeros(len(borders), dtype=bool)
    is_covered[run] = True
    address, end = borders[is_covered], borders[1:][is_covered[:-1]]
    layer = _Layer(
        (np.cumsum(is_covered) - 1)[run], pieces.process[piece], position, pieces.after[piece]
    )
    what = pieces.what[piece]
    is_multicast = what & MULTICAST > 0
    sender, run_count = address >> _SENDER_SHIFT, len(address)
    # What a multicast comes after is of no interest; what it asks for, is.
    sent = layer._replace(after=what).only(is_multicast)
    delivered = layer.only(~is_multicast)
    multicast, asks, sent_again = _earliest((1, run_count), sent.run, sent)
    positions, afters, delivered_again = _earliest(
        (layout.column_count, run_count), delivered.process * run_count + delivered.run, delivered
    )
    implied = np.flatnonzero(np.array(layout.is_implied)[sender])
    positions[sender[implied], implied] = multicast[0, implied]
    first = (address & (2**_SENDER_SHIFT - 1)) + spans.lowest[sender]
    asked = _asks(multicast[0], asks[0], delivered.run, what[~is_multicast])
    _excuse(positions, sender, first, multicast[0], layout)
    if layout.aims:
        positions[is_for_others(asked, layout) & (positions == NEVER)] = EXCUSED
    return Cut(
        sender=sender,
        first=first,
        count=end - address,
        multicast=multicast[0],
        asks=asked,
        positions=positions,
        afters=afters,
        again=_again(sent_again, delivered_again),
    )


def _excuse(
    positions: Numbers, sender: Numbers, first: Numbers, multicast: Numbers, layout: Layout
) -> None:
    """Mark what processes do not show, and need not.

    Where a record begins late, the first that it has of a sender begins a row: no run is cut.
    """
    for rank, _, got_below in layout.late:
        is_before = first < np.array(got_below)[sender]
        is_before &= (sender != rank) | (multicast == NEVER)
        positions[rank, is_before & (positions[rank] == NEVER)] = EXCUSED
    for rank in layout.free:
        positions[rank, positions[rank] == NEVER] = EXCUSED


def is_for_others(asks: Numbers, layout: Layout) -> Truths:
    """Return which processes a run is not `to`: (processes, runs)."""
    by_aim = np.zeros((len(layout.aims) + 1, layout.column_count), dtype=bool)
    for number, ranks in enumerate(layout.aims, 1):
        by_aim[number] = True
        by_aim[number, ranks] = False
    found: Truths = by_aim[asks >> AIM_SHIFT].T
    return found


def _asks(multicast: Numbers, asks: Numbers, run: Numbers, what: Numbers) -> Numbers:
    """Return what is asked of each run: by its multicast, or else by any of its deliveries."""
    is_lost = multicast == NEVER
    asks[is_lost] = 0
    tells = is_lost[run] & (what > 0)
    if tells.any():
        np.bitwise_or.at(asks, run[tells], what[tells])
    return asks


def _earliest(
    shape: tuple[int, int], cells: Numbers, layer: _Layer
) -> tuple[Numbers, Numbers, _Layer]:
    """Return, for each cell, its smallest position, with what it comes after, and the surplus."""
    positions, afters = np.full(shape, NEVER), np.full(shape, NEVER)
    positions.ravel()[cells] = layer.position
    afters.ravel()[cells] = layer.after
    if np.count_nonzero(positions != NEVER) == len(cells):
        return positions, afters, layer.only(slice(0))
    # What is written last stays: write the smallest last.
    order = np.argsort(-layer.position, kind="stable")
    positions.ravel()[cells[order]] = layer.position[order]
    afters.ravel()[cells[order]] = layer.after[order]
    is_surplus = layer.position != positions.ravel()[cells]
    return positions, afters, layer.only(is_surplus)


def _again(sent: _Layer, delivered: _Layer) -> Again:
    both = _Layer(*(np.concatenate(pair) for pair in zip(sent, delivered, strict=True)))
    is_multicast = np.arange(len(both.run)) < len(sent.run)
    order = np.argsort(both.run, kind="stable")
    both = both.only(order)
    return Again(both.run, both.process, is_multicast[order], both.position)

"""The rows of a component, in numpy, and each process's events in their order.

Law: only what was multicast on record is here. A run is a row of the matrix: its messages are
multicast, and delivered by whoever delivers them, one right after the other, so a run is an event.
Processes go by their number in the component, runs by their place in all views laid end to end.
Memory: some 60 bytes per delivery.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from antiphon.pipeline.ingest.position import EXCUSED, NEVER
from antiphon.pipeline.survey.domains import Seating
from antiphon.pipeline.survey.layout import Numbers, Truths
from antiphon.pipeline.tables.chunks import numbers, slices, vectors

COLUMNS = ("scope", "sender", "first", "count", "multicast", "is_total", "is_apart", "positions")
"""What is needed of the matrix, beside the component."""

_Pairs = list[tuple[Numbers, Numbers]]
"""Positions, and runs."""


@dataclass(frozen=True, slots=True)
class View:
    """The runs of one view: arrays have a row per run, matrices a column per rank."""

    scope: int
    seating: Seating
    begin: int
    """The number of its first run."""
    sender: Numbers
    first: Numbers
    count: Numbers
    multicast: Numbers
    is_total: Truths
    is_apart: Truths
    positions: Numbers

    @property
    def places(self) -> Numbers:
        """Return the processes of its columns."""
        return np.array(self.seating.places, dtype=np.int64)

    def has_it(self) -> Truths:
        """Return who delivered what."""
        delivered: Truths = (self.positions != NEVER) & (self.positions != EXCUSED)
        return delivered

    def is_lost(self) -> Truths:
        """Return who had to deliver what, and did not."""
        lost = np.zeros(self.positions.shape, dtype=bool)
        owing = list(self.seating.owing)
        lost[:, owing] = self.positions[:, owing] == NEVER
        return lost


@dataclass(frozen=True, slots=True)
class Events:
    """What one process did, in its own order: what it delivered before each of its multicasts."""

    sent: Numbers
    """The runs that it multicast."""
    got: Numbers
    """The runs that it delivered before the last of these."""
    ends: Numbers
    """By multicast: how many of those it had delivered before."""


def views_of(chunk: pa.RecordBatch, seatings: Mapping[int, Seating]) -> list[View]:
    """Return the views of a component, given all its rows, sorted by scope."""
    views: list[View] = []
    begin = 0
    for scope, batch in _by_scope(chunk):
        is_sent = numbers(batch, "multicast") != NEVER
        columns = {name: numbers(batch, name)[is_sent] for name in COLUMNS[1:-1]}
        positions = vectors(batch, "positions")[is_sent]
        views.append(View(scope, seatings[scope], begin, **columns, positions=positions))
        begin += len(positions)
    return views


def _by_scope(chunk: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    for (scope,), batch in slices([chunk], ("scope",)):
        yield scope, batch


def events_of(views: list[View], process_count: int) -> list[Events]:
    """Return what each process did.

    What it delivers of its own after it multicast it, it knew before; what it delivers earlier, it
    can only wait for.
    """
    sent: list[_Pairs] = [[] for _ in range(process_count)]
    got: list[_Pairs] = [[] for _ in range(process_count)]
    for view in views:
        has_it = view.has_it()
        for rank, place in enumerate(view.seating.places):
            own = np.flatnonzero(view.sender == rank)
            if len(own):
                sent[place].append((view.multicast[own], view.begin + own))
                is_early = view.positions[own, rank] < view.multicast[own]
                has_it[own, rank] &= is_early
            others = np.flatnonzero(has_it[:, rank])
            if len(others):
                got[place].append((view.positions[others, rank], view.begin + others))
    return [_ordered(of_sent, of_got) for of_sent, of_got in zip(sent, got, strict=True)]


def _ordered(sent: _Pairs, got: _Pairs) -> Events:
    multicast, sent_runs = _sorted(sent)
    delivered, got_runs = _sorted(got)
    ends = np.searchsorted(delivered, multicast)
    return Events(sent_runs, got_runs[: ends[-1] if len(ends) else 0], ends)


def _sorted(pairs: _Pairs) -> tuple[Numbers, Numbers]:
    nothing = np.zeros(0, dtype=np.int64)
    position = np.concatenate([nothing, *(each for each, _ in pairs)])
    runs = np.concatenate([nothing, *(each for _, each in pairs)])
    order = np.argsort(position, kind="stable")
    return position[order], runs[order]

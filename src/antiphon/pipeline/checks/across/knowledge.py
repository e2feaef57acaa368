"""What each message's sender knew, passed on along the causal order.

Law: what precedes a message needs no set of messages, nor a clock per group and sender: for each
process q, the largest position at q of anything in it is enough, as within one group (``running``):
q keeps causal order iff it delivers the message at a later position than that. Such vectors are
passed on: a process knows the maximum of what it has delivered, with what each of that told, and of
what it multicast; a message tells what its sender knew, and itself. So knowledge is transitive,
whatever the groups and views that it went through, and exact, whatever is missing or out of order.
What a process had to deliver and never does has a column of its own: the largest kind of loss.

Events are taken as they become possible: a process waits for what it delivers to be multicast. What
never becomes possible is in a circle, or after one. A vector is kept until the last process that
delivers the message has taken it up.
Cost: a vector per process of the component and event, not per group or view: a microsecond per
delivery, three per multicast, at 60 processes.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from antiphon.pipeline.checks.across.records import Events, View
from antiphon.pipeline.survey.layout import Numbers, Truths

LOST_IN_DOUBT, LOST = 1, 2
"""Kinds of loss."""

UNKNOWN = -1
"""Of what nothing is known: no position, no loss."""


@dataclass(frozen=True, slots=True)
class Telling:
    """What the messages of one view tell, and what their senders knew, by run and column."""

    columns: Numbers
    """Where in a vector: first a position for each rank, then losses."""
    tells: Numbers
    known: Numbers
    """Filled in by ``spread``."""
    losers: list[int]
    """The ranks whose losses those are."""
    is_apart: bytes
    """By run: whether it tells nothing but itself."""
    begin: int

    def late_positions(self) -> Numbers:
        """Return, by run and rank, the largest position of anything that precedes it."""
        return self.known[:, : self.known.shape[1] - len(self.losers)]

    def losses(self) -> Numbers:
        """Return, by run and rank, the largest kind of loss in what precedes it."""
        found = np.full((len(self.known), self.known.shape[1] - len(self.losers)), UNKNOWN)
        found[:, self.losers] = self.known[:, found.shape[1] :]
        return found


def tellings_of(views: Sequence[View], process_count: int) -> tuple[list[Telling], int]:
    """Return what each view's messages tell, and how long vectors are."""
    lost = [view.is_lost() for view in views]
    losers = sorted(
        {
            int(place)
            for view, is_lost in zip(views, lost, strict=True)
            for place in view.places[is_lost.any(axis=0)]
        }
    )
    columns = {place: process_count + number for number, place in enumerate(losers)}
    found: list[Telling] = []
    for view, is_lost in zip(views, lost, strict=True):
        ranks = [rank for rank, place in enumerate(view.seating.places) if place in columns]
        kind = LOST_IN_DOUBT if view.seating.is_doubtful else LOST
        losses = np.where(is_lost[:, ranks], kind, UNKNOWN)
        of_losers = [columns[view.seating.places[rank]] for rank in ranks]
        tells = np.concatenate([_last_positions(view), losses], axis=1)
        found.append(_telling(view, [*view.seating.places, *of_losers], tells, ranks))
    return found, process_count + len(losers)


def tellings_in_total_order(views: Sequence[View], process_count: int) -> tuple[list[Telling], int]:
    """Return the same, where only what is in total order tells of itself."""
    return [
        _telling(
            view,
            view.seating.places,
            np.where(view.is_total[:, None], _last_positions(view), UNKNOWN),
            [],
        )
        for view in views
    ], process_count


def _last_positions(view: View) -> Numbers:
    """Return the positions of the last messages of runs."""
    last: Numbers = np.where(view.has_it(), view.positions + (view.count - 1)[:, None], UNKNOWN)
    return last


def _telling(view: View, columns: Sequence[int], tells: Numbers, losers: list[int]) -> Telling:
    return Telling(
        np.array(columns, dtype=np.int64),
        np.ascontiguousarray(tells),
        np.full_like(tells, UNKNOWN),
        losers,
        view.is_apart.astype(np.uint8).tobytes(),
        view.begin,
    )


def spread(tellings: Sequence[Telling], width: int, events: Sequence[Events]) -> Truths:
    """Find out what each sender knew; return which runs can never have been multicast."""
    run_count = sum(len(telling.tells) for telling in tellings)
    spreading = _Spreading(tellings, width, events, run_count)
    ready = list(reversed(range(len(events))))
    waiting: dict[int, list[int]] = {}
    while ready:
        process = ready.pop()
        awaited = spreading.advance(process, ready, waiting)
        if awaited >= 0:
            waiting.setdefault(awaited, []).append(process)
    return spreading.not_sent()


class _Spreading:
    """The state of it; lists and arrays of plain numbers, as single ones are looked up."""

    def __init__(
        self, tellings: Sequence[Telling], width: int, events: Sequence[Events], run_count: int
    ) -> None:
        self._tellings = tellings
        self._sent = [_plain(each.sent) for each in events]
        self._got = [_plain(each.got) for each in events]
        self._ends = [_plain(each.ends) for each in events]
        self._next = [0] * len(events)
        self._read = [0] * len(events)
        self._knows = [np.full(width, UNKNOWN) for _ in events]
        got = [each.got for each in events]
        uses = np.bincount(np.concatenate([np.zeros(0, dtype=np.int64), *got]), minlength=run_count)
        self._uses = _plain(uses)
        lengths = [len(telling.tells) for telling in tellings]
        self._telling_of = _plain(np.repeat(np.arange(len(tellings)), lengths))
        self._told: list[Numbers | None] = [None] * run_count
        """By run: the vector that it tells, from its multicast until it has been taken up."""
        self._spare: list[Numbers] = []
        self._width = width

    def advance(self, process: int, ready: list[int], waiting: dict[int, list[int]]) -> int:
        """Take a process as far as it gets; return the run that it waits for, or -1."""
        knows, told, uses, spare = self._knows[process], self._told, self._uses, self._spare
        sent, got, ends = self._sent[process], self._got[process], self._ends[process]
        at, read = self._next[process], self._read[process]
        maximum = np.maximum
        while at < len(sent):
            end = ends[at]
            while read < end:
                run = got[read]
                vector = told[run]
                if vector is None:
                    self._next[process], self._read[process] = at, read
                    return run
                maximum(knows, vector, out=knows)
                read += 1
                uses[run] -= 1
                if not uses[run]:
                    spare.append(vector)
                    told[run] = None
            run = sent[at]
            self._send(run, knows)
            at += 1
            if run in waiting:
                ready += waiting.pop(run)
        self._next[process] = at
        return -1

    def _send(self, run: int, knows: Numbers) -> None:
        telling = self._tellings[self._telling_of[run]]
        row = run - telling.begin
        columns, itself = telling.columns, telling.tells[row]
        known = knows[columns]
        telling.known[row] = known
        np.maximum(known, itself, out=known)
        knows[columns] = known
        if self._uses[run]:
            vector = self._spare.pop() if self._spare else np.empty(self._width, dtype=np.int64)
            if telling.is_apart[row]:
                vector.fill(UNKNOWN)
                vector[columns] = itself
            else:
                vector[:] = knows
            self._told[run] = vector

    def not_sent(self) -> Truths:
        """Return which runs were never multicast."""
        stuck = np.zeros(len(self._told), dtype=bool)
        for sent, at in zip(self._sent, self._next, strict=True):
            stuck[np.frombuffer(sent, dtype=np.int64)[at:] if len(sent) else []] = True
        return stuck


def _plain(values: Numbers) -> "array[int]":
    return array("q", np.ascontiguousarray(values, dtype=np.int64).tobytes())

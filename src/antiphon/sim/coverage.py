"""Coverage: which situations worlds have been in, as pairs of events inside one view change.

Law: a view change lasts from the first thing that calls for it (somebody joins, leaves, crashes, is
suspected, comes back) after the view before was first installed, until its view is installed at
the last process that installs it. A pair is reached if both events, two of them if they are of one
kind, fall into that time; a message counts if it was multicast or sent so shortly before that it
may have been under way. What a world reached follows from the scenario alone.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations

from antiphon.sim.surroundings import VIEW, Mark

Pair = tuple[str, str]
"""Two kinds of events, in the order of ``KINDS``."""

DONE = ("partition", "heal", "pause", "resume", "slow", "down", "up", "busy", "condemn")
"""Kinds that are steps of a scenario, under their verb."""

_CAUSES = ("join", "rejoin", "leave", "crash", "suspect")
_SAID = ("multicast", "uniform", "letter")

KINDS = ("crash", "leave", "join", "rejoin", *DONE, "transfer", "transaction", *_SAID)

_NEEDS_ATOMIC = ("transaction", "uniform")
"""What only the view-atomic flush gives."""


def kinds_of(flush: str) -> tuple[str, ...]:
    """Return the kinds of events that can happen with a flush."""
    return tuple(kind for kind in KINDS if flush == "view-atomic" or kind not in _NEEDS_ATOMIC)


def pairs_of(flush: str) -> list[Pair]:
    """Return all pairs that can be reached with a flush."""
    kinds = kinds_of(flush)
    return [(kind, kind) for kind in kinds] + list(combinations(kinds, 2))


def pair_named(text: str) -> Pair | None:
    """Return the pair that is written ``leave+crash``, in either order; None if there is none."""
    names = text.split("+")
    if len(names) != 2 or any(name not in KINDS for name in names):
        return None
    first, second = sorted(names, key=KINDS.index)
    return first, second


def pairs_in(marks: list[Mark], reach_us: int) -> set[Pair]:
    """Return the pairs that a world has reached."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for mark in marks:
        if mark.kind == VIEW:
            first.setdefault(mark.view, mark.time_us)
            last[mark.view] = mark.time_us
    pairs: set[Pair] = set()
    for number in sorted(last):
        since_us = first.get(number - 1)
        if since_us is not None:
            pairs.update(_pairs(_inside(marks, since_us, last[number], reach_us)))
    return pairs


def _inside(marks: list[Mark], since_us: int, end_us: int, reach_us: int) -> Counter[str]:
    """Count the events of a view change that may have begun at ``since_us``."""
    causes = (
        mark.time_us
        for mark in marks
        if mark.kind in _CAUSES and since_us <= mark.time_us <= end_us
    )
    begin_us = next(causes, None)
    if begin_us is None:
        return Counter()
    return Counter(
        mark.kind
        for mark in marks
        if begin_us <= mark.time_us + (reach_us if mark.kind in _SAID else 0)
        and mark.time_us <= end_us
    )


def _pairs(counts: Counter[str]) -> Iterable[Pair]:
    here = [kind for kind in KINDS if counts[kind]]
    yield from combinations(here, 2)
    yield from ((kind, kind) for kind in here if counts[kind] > 1)

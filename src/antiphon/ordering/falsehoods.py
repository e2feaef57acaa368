"""What was found not to be: views that nobody has installed, messages that nobody has multicast.

Law (``stack.lacks`` finds it out). What is named falsely of a group hides what was to be named of
it: so in its place all is waited for that has been received of the group in the present view, or of
the member. Who was lied to goes on naming it, so it is remembered, and counts as false where it is
named again, until it may be so: until the next view could be it, or the next message.

State: the latest ``FALSEHOODS_MAX``.
"""

from collections.abc import Mapping
from typing import Protocol

from antiphon.core.ids import Rank, ViewNumber
from antiphon.core.runs import Foreign, Stamp
from antiphon.ordering.own_stamps import VIEW

FALSEHOODS_MAX = 1024
"""Falsehoods that are remembered."""


class Received(Protocol):
    """What is asked of the clock of a group that the process is in."""

    view_number: ViewNumber
    rank: Rank
    sent: int
    received: list[int]


def corrected(stamps: Foreign, clock: Received, group: int, rank: int, number: int) -> Foreign:
    """Return stamps with what was received of a group in place of what was found not to be."""
    return tuple(
        _corrected(stamp, clock, rank, number) if stamp[0] == group else stamp for stamp in stamps
    )


def _corrected(
    stamp: tuple[int, int, Stamp], clock: Received, rank: int, number: int
) -> tuple[int, int, Stamp]:
    group, view, entries = stamp
    here = clock.view_number
    counts = [*clock.received]
    counts[clock.rank] = clock.sent
    if rank == VIEW:
        is_it = view == number
        return (group, here, tuple(enumerate(counts))) if is_it else stamp
    if view != here:
        return stamp
    count = min(number, counts[rank])
    return group, view, tuple((who, count if (who, n) == (rank, number) else n)
                              for who, n in entries)  # fmt: skip


class Falsehoods:
    """What was found not to be, and is not yet."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        """Nothing is false."""
        self._found: dict[tuple[int, int, int], int] = {}
        """By group, rank and number: the view of the group in which that was found."""

    def note(self, clock: Received, group: int, rank: int, number: int) -> None:
        """Remember what was found not to be."""
        self._found[group, rank, number] = clock.view_number
        if len(self._found) > FALSEHOODS_MAX:
            del self._found[next(iter(self._found))]

    def corrected(self, stamps: Foreign, clocks: Mapping[int, Received]) -> Foreign:
        """Return stamps without what was found not to be, and cannot be yet."""
        for (group, rank, number), view in self._found.items():
            clock = clocks.get(group)
            if clock is not None and _is_far(clock, rank, number, view):
                stamps = corrected(stamps, clock, group, rank, number)
        return stamps


def _is_far(clock: Received, rank: int, number: int, view: int) -> bool:
    """Whether the next view, or the next message, is not yet what was found not to be."""
    if rank == VIEW:
        return clock.view_number + 1 < number
    return view == clock.view_number and clock.received[rank] + 1 < number

"""What a process says of a group that it is in: which entries, and which of them no more.

Law (``knowledge``): an entry is left out, and may be forgotten, once everybody is known to have
received what it names, or delivered it, where the view has total or uniform messages; the view
itself once everybody is known to have installed it, and nobody who failed may live in an earlier
one. What is not known to be so is said.
"""

from collections.abc import Mapping
from typing import Protocol

from antiphon.core.ids import Rank, ViewNumber
from antiphon.core.runs import Stamp

VIEW = -1
"""The place, among a group's entries, of its view: what waits for a view waits for this rank."""


class Reach(Protocol):
    """What is known of how far the messages of a group have got."""

    def is_everywhere(self, rank: int, count: int, *, delivered: bool) -> bool:
        """Whether everybody has received, or delivered, so many messages of a member."""

    def is_installed_everywhere(self) -> bool:
        """Whether every member is known to have installed the current view."""

    def is_left_by_all(self) -> bool:
        """Whether besides nobody lives who failed and may still be in an earlier view."""


class GroupClock(Protocol):
    """What this module asks of the clock of a group that the process is in."""

    rank: Rank
    sent: int
    view_number: ViewNumber
    delivered: list[int]
    recent: dict[int, int]
    told: int
    reach: Reach | None
    is_gated: bool


def own_stamp(
    group: int, clock: GroupClock, told: int, *, is_named: bool = False
) -> tuple[int, int, Stamp] | None:
    """Return the stamp of a group that the process is in; None: there is nothing to say.

    ``is_named`` if the process's own last run is to be named, come what may.
    """
    recent, entries, has_tag = clock.recent, [], False
    is_own_due = is_named or clock.delivered[clock.rank] < clock.sent
    reach, delivered, is_gated = clock.reach, clock.delivered, clock.is_gated
    for rank in reversed(recent):  # as is_collectable, written out: every run asks it
        if recent[rank] <= told:
            break
        if rank == VIEW:
            has_tag = not is_collectable(clock, VIEW)
            continue
        is_own = rank == clock.rank
        count = clock.sent if is_own else delivered[rank]
        if (
            reach is None
            or (is_own and is_own_due)
            or not reach.is_everywhere(rank, count, delivered=is_gated)
        ):
            entries.append((rank, count))
    if not entries and not has_tag:
        return None
    if len(entries) > 1:
        entries.sort()
    return group, clock.view_number, tuple(entries)


def delivered_only(
    stamp: tuple[int, int, Stamp] | None, clock: GroupClock
) -> tuple[int, int, Stamp] | None:
    """Return the stamp of an own group with own messages only as far as they are delivered."""
    if stamp is None:
        return None
    group, view, entries = stamp
    me, mine = clock.rank, clock.delivered[clock.rank]
    return group, view, tuple((rank, mine if rank == me else count) for rank, count in entries)


def count_of(clock: GroupClock, rank: int) -> int:
    """Return what the causal past of a process holds of a member of a group that it is in."""
    if rank == VIEW:
        return 0
    return clock.sent if rank == clock.rank else clock.delivered[rank]


def is_collectable(clock: GroupClock, rank: int, count: int | None = None) -> bool:
    """Whether an entry of a group that the process is in need not be named any more."""
    reach = clock.reach
    if reach is None:
        return False
    if rank == VIEW:
        return reach.is_left_by_all()
    if rank == clock.rank and clock.delivered[rank] < clock.sent:
        return False
    wanted = count_of(clock, rank) if count is None else count
    return reach.is_everywhere(rank, wanted, delivered=clock.is_gated)


def is_doubted(clock: GroupClock, view: int) -> bool:
    """Whether a view that all members have installed is named until there is another one."""
    reach = clock.reach
    if reach is None or view != clock.view_number:
        return False
    return reach.is_installed_everywhere() and not reach.is_left_by_all()


def collectable(clock: GroupClock, view: int, entries: Mapping[int, int]) -> Stamp:
    """Return which of the entries told of a group that the process is in may be forgotten."""
    told = sorted(entries.items())
    if view < clock.view_number:  # others may have it to leave, and to deliver what is left of it
        return tuple(told) if is_collectable(clock, VIEW) else ()
    return tuple((rank, count) for rank, count in told if is_collectable(clock, rank, count))

"""Whether all that a run depends on in other groups has been received: for uniform messages.

Rule (``uniform``): a uniform message is confirmed when it is here with its whole past. What of that
is of other groups is looked up when it is asked for: from the stamps of the run, through the runs
that are held back, to what has been delivered.

Receipts decide, not deliveries: what is named may itself wait for a mark or a turn.

Cost: the held runs that the message depends on; nothing for messages without stamps of others.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from antiphon.core.ids import Rank, ViewNumber
from antiphon.core.runs import Letter, Run

NEVER = 1 << 63
"""More than the number of any view."""


class Counts(Protocol):
    """What this module asks of the clock of a group that the process is in."""

    rank: Rank
    view_number: ViewNumber
    delivered: list[int]
    received: list[int]
    kept: list[int] | None


def is_unsettled(
    run: Run, clocks: Mapping[int, Counts], expected: Mapping[int, int], held: Iterable[Run]
) -> bool:
    """Whether something of another group that a run depends on, however far, is not here.

    ``expected`` are first views that are still to be installed; ``held`` is all that is held back.
    """
    behind: dict[tuple[int, int], list[Run]] = {}
    for one in held:
        if type(one) is not Letter:
            behind.setdefault((one.group, one.sender), []).append(one)
    to_see, seen = [run], {id(run)}
    while to_see:
        one = to_see.pop()
        own = ((one.group, one.view, one.stamp),) if one is not run else ()
        for group, view, entries in (*one.foreign, *own):
            clock = clocks.get(group)
            if view > (clock.view_number if clock is not None else expected.get(group, NEVER) - 1):
                return True  # of a view that is still to come
            if clock is None or view < clock.view_number:
                continue
            wanted = _open_entries(clock, entries)
            if any(clock.received[rank] < count for rank, count in wanted):
                return True
            found = [
                other
                for rank, count in wanted
                for other in behind.get((group, rank), ())
                if other.first <= count and id(other) not in seen
            ]
            seen.update(map(id, found))
            to_see += found
    return False


def _open_entries(clock: Counts, entries: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return what of these entries has not been delivered, and can be; what is own is here."""
    kept = clock.kept
    wanted = [(rank, count if kept is None else min(count, kept[rank])) for rank, count in entries]
    return [
        (rank, count)
        for rank, count in wanted
        if rank != clock.rank and clock.delivered[rank] < count
    ]

"""What a process knows of the groups of its causality domain, and which of it rides on a multicast.

ISIS 6.1 to 6.4, corrected by 000-12 to 000-16 and 000-25.

Rule. A multicast to group b carries, beside b's own stamp, a stamp of every other group h of which
something in the sender's causal past may not have reached all its destinations: the view of h and
the counts that changed since the sender's last multicast to b in the same view of b (000-12). It
does not carry what it learnt by a multicast to b itself: whoever is in b has that too (000-13).

What may be left out. An entry (h, q, n) is left out once messages 1 to n of q are known to have
been RECEIVED by every member of h (000-14: not "of k members", 000-16). Then, at a member s of h
and b, whatever the multicast depends on is named by it or was received before it; the causally
first of what s has not delivered is ready, and was received earlier; and ready messages are taken
in order of receipt (000-15). So no rule that delays anything is needed. Three kinds of messages may
have been received and still wait for more than their past, and are left out later: own ones that
are not delivered here yet (they wait for a turn); those of a group in which this process has given
turns and not said so yet; and those of a group with uniform messages (they wait for a mark), which
are left out once they are known to be DELIVERED everywhere. Likewise the view itself: who has left
view v of h has delivered by rule what others may still hold, so the tag of the new view rides
along, without entries if need be, until all members are known to have installed it.

Tags. A stamp of an older view than one's own says nothing any more, one of a newer view waits for
that view, and merging keeps the newer one (000-25).

Old stamps are collected by word, never by time (000-25). Who has sent an entry of h to group b owes
b the word that it may be forgotten; a member of h gives it when the entry may be left out or its
view has been left, and whoever is given it passes it on where it had passed on the entry. So the
word goes the ways that the entry went, once, with a heartbeat.

Invariant. For every message in the causal past of this process, of a group that it is in or not: it
is in ``delivered``, or in the counts of that group's newest view kept here, or everybody concerned
has received it.

Cost. Recency lists: groups, and entries of each, in order of their last change; a multicast looks
at what has changed since the last one to that group, and at nothing else. A delivery costs two
moves to the end of a dictionary. State: one number per entry that is not collected.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from antiphon.core.ids import Rank, ViewNumber
from antiphon.core.runs import Foreign, Stamp

VIEW = -1
"""The place, among a group's entries, of its view: what waits for a view waits for this rank."""

NOBODY = -1
"""Not by a multicast to a group: by a letter, or by leaving a group."""


class Reach(Protocol):
    """What is known of how far the messages of a group have got."""

    def is_everywhere(self, rank: int, count: int, *, delivered: bool) -> bool:
        """Whether everybody has received, or delivered, so many messages of a member."""

    def is_installed_everywhere(self) -> bool:
        """Whether every member is known to have installed the current view."""


class GroupClock(Protocol):
    """What this module asks of the clock of a group that the process is in."""

    rank: Rank
    sent: int
    view_number: ViewNumber
    delivered: list[int]
    recent: dict[int, int]
    told: int
    reach: Reach | None
    is_uniform: bool

    @property
    def has_unsaid(self) -> bool:
        """Whether the process has given turns of the total order that nobody else knows of."""


class ForeignClock:
    """What is known of a group that the process is not in."""

    __slots__ = ("counts", "recent", "via", "view")

    def __init__(self, view: int) -> None:
        """Nothing, but that this view has been installed by somebody."""
        self.view = view
        self.counts: dict[int, int] = {VIEW: 0}
        self.recent: dict[int, int] = {}
        """Ticks of the last changes, in their order."""
        self.via: dict[int, int] = {}
        """By whose multicast each entry was learnt: the number of a group, or ``NOBODY``."""


class Knowledge:
    """What one process knows of all groups of its domain, beside what it has delivered."""

    __slots__ = ("_mine", "_owed", "_recent", "_tick", "foreign")

    def __init__(self, mine: Mapping[int, GroupClock]) -> None:
        """Know nothing; ``mine`` always tells the clocks of the groups that the process is in."""
        self._mine = mine
        self._tick = 1
        self._recent: dict[int, int] = {}
        self.foreign: dict[int, ForeignClock] = {}
        """Groups that the process is not in, as far as something of them is not collected."""
        self._owed: dict[int, dict[tuple[int, int], dict[int, int]]] = {}
        """By the group that was told: by group and view, the entries to be collected there."""

    # What changes.

    def note(self, group: int, clock: GroupClock, rank: int) -> None:
        """A message of a member was delivered, or multicast, in a group that the process is in."""
        tick, recent = self._tick, clock.recent
        if recent.get(rank) == tick:
            return  # once between two multicasts is enough
        recent.pop(rank, None)
        recent[rank] = tick
        if self._recent.get(group) != tick:
            self._touch(group)

    def note_view(self, group: int, clock: GroupClock) -> None:
        """The process has installed a view of a group."""
        self.foreign.pop(group, None)
        clock.recent[VIEW] = self._tick
        self._touch(group)

    def leave(self, group: int, view: int) -> None:
        """The process has left a group; ``view`` is the one without it, or the last."""
        left = ForeignClock(view)
        left.recent[VIEW] = self._tick
        left.via[VIEW] = NOBODY
        self.foreign[group] = left
        self._owed.pop(group, None)
        self._touch(group)

    def _touch(self, group: int) -> None:
        self._recent.pop(group, None)
        self._recent[group] = self._tick

    def merge(self, foreign: Foreign, via: int) -> None:
        """A run with these stamps has been delivered; ``via`` is its group, or ``NOBODY``."""
        for group, view, entries in foreign:
            if group not in self._mine:
                self._merge_one(group, view, entries, via)

    def _merge_one(self, group: int, view: int, entries: Stamp, via: int) -> None:
        known = self.foreign.get(group)
        if known is None or view > known.view:
            known = self.foreign[group] = ForeignClock(view)
            known.recent[VIEW] = self._tick
            known.via[VIEW] = via
        elif view < known.view:
            return
        self._touch(group)
        counts, recent = known.counts, known.recent
        for rank, count in entries:
            if count > counts.get(rank, 0):
                counts[rank] = count
                recent.pop(rank, None)
                recent[rank] = self._tick
                known.via[rank] = via

    # What rides along.

    def stamp(self, to: int, *, is_letter: bool = False) -> Foreign:
        """Return what a run to a group has to carry of others; a letter tells its group nothing."""
        clock = self._mine[to]
        told = clock.told
        stamps: list[tuple[int, int, Stamp]] = []
        for group in reversed(self._recent):
            if self._recent[group] <= told:
                break
            if group != to and (one := self._stamp_one(group, to, told)) is not None:
                stamps.append(one)
        if not is_letter:
            clock.told = self._tick
            self._tick += 1
            for group, view, entries in stamps:
                owed = self._owed.setdefault(to, {}).setdefault((group, view), {VIEW: 0})
                owed.update(entries)
        stamps.reverse()
        return tuple(stamps)

    def _stamp_one(self, group: int, to: int, told: int) -> tuple[int, int, Stamp] | None:
        """Return the stamp of one group; None: there is nothing to say."""
        clock = self._mine.get(group)
        if clock is not None:
            names = [rank for rank in _newer(clock.recent, told) if not is_collectable(clock, rank)]
            view: int = clock.view_number
            counts: Mapping[int, int] = {rank: count_of(clock, rank) for rank in names}
        else:
            known = self.foreign.get(group)
            if known is None:
                return None
            # Before the first multicast in a view, nobody can be taken to know anything.
            names = [
                rank
                for rank in _newer(known.recent, told)
                if rank in known.counts and (not told or known.via.get(rank) != to)
            ]
            view, counts = known.view, known.counts
        if not names:
            return None
        return group, view, tuple((rank, counts[rank]) for rank in sorted(names) if rank != VIEW)

    # What is forgotten.

    def collectable(self) -> list[tuple[int, Foreign]]:
        """Return, by group to be told, what may be forgotten there by now; each is told once."""
        told: list[tuple[int, Foreign]] = []
        for to, owed in list(self._owed.items()):
            found: list[tuple[int, int, Stamp]] = []
            for (group, view), entries in list(owed.items()):
                clock = self._mine.get(group)
                if clock is None:
                    continue  # passed on: see forget
                gone = _collectable(clock, view, entries)
                if gone:
                    found.append((group, view, gone))
                    _pay(owed, group, view, gone)
            if found:
                told.append((to, tuple(found)))
            if not owed:
                del self._owed[to]
        return told

    def forget(self, words: Foreign, via: int) -> list[tuple[int, Foreign]]:
        """Entries may be forgotten, as a member of ``via`` says; return whom to tell in turn."""
        told: dict[int, list[tuple[int, int, Stamp]]] = {}
        for group, view, entries in words:
            known = self.foreign.get(group)
            if known is not None and known.view == view:
                self._drop(group, known, entries)
            if group in self._mine:
                continue  # it gives the word itself, when it knows
            for to, owed in self._owed.items():
                gone = _paid(owed.get((group, view), {}), entries)
                if gone and to != via:
                    told.setdefault(to, []).append((group, view, gone))
                if gone:
                    _pay(owed, group, view, gone)
        self._owed = {to: owed for to, owed in self._owed.items() if owed}
        return [(to, tuple(found)) for to, found in told.items()]

    def _drop(self, group: int, known: ForeignClock, entries: Stamp) -> None:
        for rank, count in entries:
            if known.counts.get(rank, count + 1) <= count:
                del known.counts[rank]
                known.recent.pop(rank, None)
                known.via.pop(rank, None)
        if not known.counts:
            del self.foreign[group]
            self._recent.pop(group, None)


def _newer(recent: dict[int, int], told: int) -> Iterable[int]:
    """Yield the entries that have changed since ``told``, the latest first."""
    for rank in reversed(recent):
        if recent[rank] <= told:
            return
        yield rank


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
        return reach.is_installed_everywhere()
    if clock.has_unsaid or (rank == clock.rank and clock.delivered[rank] < clock.sent):
        return False
    wanted = count_of(clock, rank) if count is None else count
    return reach.is_everywhere(rank, wanted, delivered=clock.is_uniform)


def _collectable(clock: GroupClock, view: int, entries: Mapping[int, int]) -> Stamp:
    """Return which of the entries told of a group that the process is in may be forgotten."""
    is_left = view < clock.view_number
    return tuple(
        (rank, count)
        for rank, count in sorted(entries.items())
        if is_left or is_collectable(clock, rank, count)
    )


def _paid(owed: Mapping[int, int], entries: Stamp) -> Stamp:
    """Return which of the owed entries are among those that may be forgotten."""
    said = dict(entries)
    return tuple(
        (rank, count) for rank, count in sorted(owed.items()) if count <= said.get(rank, -1)
    )


def _pay(owed: dict[tuple[int, int], dict[int, int]], group: int, view: int, gone: Stamp) -> None:
    entries = owed[group, view]
    for rank, _ in gone:
        del entries[rank]
    if not entries:
        del owed[group, view]

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
in order of receipt (000-15). So no rule that delays anything is needed. Where a view has total or
uniform messages, what was received may still wait for more than its past: for a turn, though it has
been said (the list may not have come there), or for a mark; and a joiner that is still to be told
the past (``barred``) for that. There an entry is left out once it is known to be DELIVERED
everywhere. Likewise the view itself: who has left view v of h has delivered
by rule what others may still hold, so the tag of the new view rides along, without entries if need
be, until all members are known to have installed it. Not that of a founding view: nobody has left
another for it.

Tags. A stamp of an older view than one's own says nothing any more, one of a newer view waits for
that view, and merging keeps the newer one (000-25).

Old stamps are collected by word, never by time (000-25). Who has sent an entry of h to group b owes
b the word that it may be forgotten; a member of h gives it when the entry may be left out or its
view has been left by all, and whoever is given it passes it on where it had passed on the entry. So
the word goes the ways that the entry went, once; words wait for the next heartbeat, and those to
one group go together.

Declared structures (ISIS 6.6, ``structure``). Where the overlaps of groups are known, stamps of
groups that the process is not in, and has not left, ride along only if they are needed
(``may_name``). They are kept all the same: a joiner is told all of them (``whole``).

Invariant. For every message in the causal past of this process, of a group that it is in or not: it
is in ``delivered``, or in the counts of that group's newest view kept here, or everybody concerned
has received it.

Cost. Recency lists: groups, and entries of each, in order of their last change; a multicast looks
at what has changed since the last one to that group, and at nothing else. A delivery costs two
moves to the end of a dictionary. State: one number per entry that is not collected.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from antiphon.core.ids import Rank, ViewNumber
from antiphon.core.runs import Foreign, Stamp

VIEW = -1
"""The place, among a group's entries, of its view: what waits for a view waits for this rank."""

FOUNDING = 1
"""The number of a group's first view."""

EPOCHS = 2**62
"""A group that does not exist, and has no messages: its views are the epochs (``stack.epochs``)."""

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
    is_gated: bool


class ForeignClock:
    """What is known of a group that the process is not in."""

    __slots__ = ("counts", "recent", "via", "view")

    def __init__(self, view: int) -> None:
        """Nothing, but that this view has been installed by somebody."""
        self.view = view
        self.counts: dict[int, int] = tag_of(view)
        self.recent: dict[int, int] = {}
        """Ticks of the last changes, in their order."""
        self.via: dict[int, int] = {}
        """By whose multicast each entry was learnt: the number of a group, or ``NOBODY``."""


class Knowledge:
    """What one process knows of all groups of its domain, beside what it has delivered."""

    __slots__ = (
        "_epoch_tick", "_may_name", "_mine", "_owed", "_recent", "_tick", "_words", "foreign",
    )  # fmt: skip

    def __init__(
        self, mine: Mapping[int, GroupClock], may_name: Callable[[int], bool] | None = None
    ) -> None:
        """Know nothing; ``mine`` always tells the clocks of the groups that the process is in.

        ``may_name`` tells whether stamps of a group that it is not in ride along; None: all do.
        """
        self._mine = mine
        self._tick = 1
        self._epoch_tick = 0
        self._recent: dict[int, int] = {}
        self.foreign: dict[int, ForeignClock] = {}
        """Groups that the process is not in, as far as something of them is not collected."""
        self._owed: dict[tuple[int, int], dict[int, dict[int, int]]] = {}
        """By group and view: by the group that was told, the entries to be collected there."""
        self._words: dict[int, dict[tuple[int, int], dict[int, int]]] = {}
        """By the group to be told: by group and view, what may be forgotten."""
        self._may_name = may_name

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
        if clock.view_number > FOUNDING:
            clock.recent[VIEW] = self._tick
            self._touch(group)

    def leave(self, group: int, clock: GroupClock, view: int | None) -> None:
        """The process is in a group no longer; ``view`` is the one without it, if it left by one.

        Who has not waited for that names what it knew, like any group's that it is not in.
        """
        number = view if view is not None else clock.view_number
        ranks = range(len(clock.delivered)) if view is None else range(0)
        counts = {rank: count for rank in ranks if (count := count_of(clock, rank))}
        if number > FOUNDING or counts:
            left = self.foreign[group] = ForeignClock(number)
            left.counts |= counts
            left.recent |= dict.fromkeys(left.counts, self._tick)
            left.via |= dict.fromkeys(left.counts, NOBODY)
            self._touch(group)
        self._words.pop(group, None)
        for name, owed in list(self._owed.items()):
            owed.pop(group, None)
            if not owed:
                del self._owed[name]

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
            if known.counts:
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

    # Epochs.

    def begin_epoch(self, epoch: int) -> None:
        """Stamp what is multicast from now on with this epoch, as if it were a view."""
        self._tick += 1  # what is noted from now on is noted later
        self._epoch_tick = self._tick
        known = self.foreign[EPOCHS] = ForeignClock(epoch)
        known.recent[VIEW] = self._tick
        known.via[VIEW] = NOBODY
        self._touch(EPOCHS)

    def touched(self) -> list[int]:
        """Return own groups in which something was multicast, delivered or installed since."""
        since, recent = self._epoch_tick, self._recent
        return [group for group in self._mine if recent.get(group, -1) >= since]

    def with_epoch(self, stamps: Foreign) -> Foreign:
        """Return the stamps of a run together with its epoch, whether that is news or not."""
        known = self.foreign.get(EPOCHS)
        if known is None or epoch_of(stamps):
            return stamps
        return (*stamps, (EPOCHS, known.view, ()))

    # What rides along.

    def stamp(self, to: int, *, is_letter: bool = False) -> Foreign:
        """Return what a run to a group has to carry of others; a letter tells its group nothing."""
        stamps = self._news(to)
        if not is_letter:
            self._mine[to].told = self._tick
            self._tick += 1
        self._owe(to, stamps)
        return tuple(stamps)

    def has_news(self, to: int) -> bool:
        """Whether the next run to a group would carry anything of others."""
        return bool(self._news(to))

    def _news(self, to: int) -> list[tuple[int, int, Stamp]]:
        told = self._mine[to].told
        stamps: list[tuple[int, int, Stamp]] = []
        for group in reversed(self._recent):
            if self._recent[group] <= told:
                break
            if group != to and (one := self._stamp_one(group, to, told)) is not None:
                stamps.append(one)
        stamps.reverse()
        return stamps

    def whole(self, to: int) -> Foreign:
        """Return all that is known of other groups: for who joins a group, and knows nothing."""
        found = [self._stamp_one(group, to, 0, is_whole=True) for group in self._recent]
        stamps = [one for one in found if one is not None and one[0] != to]
        self._owe(to, stamps)
        return tuple(stamps)

    def _owe(self, to: int, stamps: list[tuple[int, int, Stamp]]) -> None:
        for group, view, entries in stamps:
            if group == EPOCHS:
                continue  # it is never forgotten
            owed = self._owed.setdefault((group, view), {}).setdefault(to, tag_of(view))
            owed.update(entries)

    def _stamp_one(
        self, group: int, to: int, told: int, *, is_whole: bool = False
    ) -> tuple[int, int, Stamp] | None:
        """Return the stamp of one group; None: there is nothing to say."""
        clock = self._mine.get(group)
        if clock is not None:
            stamp = _own_stamp(group, clock, told)
            # What nobody could have learnt yet may wait for its turn behind what is to come.
            return _delivered_only(stamp, clock) if is_whole else stamp
        known = self.foreign.get(group)
        if known is None:
            return None
        # Before the first multicast in a view, nobody can be taken to know anything.
        counts = known.counts
        names = [
            rank
            for rank in _newer(known.recent, told)
            if rank in counts and (not told or known.via.get(rank) != to)
        ]
        if not is_whole and self._may_name is not None and not self._may_name(group):
            names = [rank for rank in names if known.via.get(rank) == NOBODY]
        if not names:
            return None
        entries = tuple([(rank, counts[rank]) for rank in sorted(names) if rank != VIEW])
        return group, known.view, entries

    # What is forgotten.

    def collectable(self) -> list[tuple[int, Foreign]]:
        """Return, by group to be told, what may be forgotten there by now; each is told once."""
        for (group, view), owed in list(self._owed.items()):
            clock = self._mine.get(group)
            for to, entries in list(owed.items()):
                if clock is None:  # what is known is passed on when it is forgotten (forget)
                    gone = self._unknown(group, view, entries)
                else:
                    gone = _collectable(clock, view, entries)
                if gone:
                    self._pay(group, view, to, gone)
                    self._say(to, group, view, gone)
        words, self._words = self._words, {}
        return [
            (to, tuple((*name, tuple(sorted(said.items()))) for name, said in told.items()))
            for to, told in words.items()
        ]

    def _unknown(self, group: int, view: int, entries: Mapping[int, int]) -> Stamp:
        """Return which entries told of a group that the process is not in were forgotten since.

        They may have been told again along with others.
        """
        known = self.foreign.get(group)
        is_gone = known is None or known.view > view
        kept = known.counts if known is not None and not is_gone else {}
        return tuple((rank, count) for rank, count in sorted(entries.items()) if rank not in kept)

    def forget(self, words: Foreign, via: int) -> None:
        """Entries may be forgotten, as a member of ``via`` says; others are told in turn."""
        for group, view, entries in words:
            known = self.foreign.get(group)
            if known is not None and known.view == view:
                self._drop(group, known, entries)
            if group in self._mine:
                continue  # it gives the word itself, when it knows
            for to, owed in list(self._owed.get((group, view), {}).items()):
                gone = _paid(owed, entries)
                if gone:
                    self._pay(group, view, to, gone)
                    if to != via:
                        self._say(to, group, view, gone)

    def _pay(self, group: int, view: int, to: int, gone: Stamp) -> None:
        """A group is about to be told, or knows, what may be forgotten."""
        owed = self._owed[group, view]
        entries = owed[to]
        for rank, _ in gone:
            del entries[rank]
        if not entries:
            del owed[to]
            if not owed:
                del self._owed[group, view]

    def _say(self, to: int, group: int, view: int, gone: Stamp) -> None:
        """Tell a group with the next heartbeat."""
        said = self._words.setdefault(to, {}).setdefault((group, view), {})
        for rank, count in gone:
            said[rank] = max(count, said.get(rank, 0))

    def _drop(self, group: int, known: ForeignClock, entries: Stamp) -> None:
        for rank, count in entries:
            if known.counts.get(rank, count + 1) <= count:
                del known.counts[rank]
                known.recent.pop(rank, None)
                known.via.pop(rank, None)
        if not known.counts:
            del self.foreign[group]
            self._recent.pop(group, None)


def tag_of(view: int) -> dict[int, int]:
    """Return what is to be known of a view itself, as entries."""
    return {VIEW: 0} if view > FOUNDING else {}


def epoch_of(stamps: Foreign) -> int:
    """Return the epoch in the stamps of a run; 0: they name none."""
    return next((view for group, view, _ in stamps if group == EPOCHS), 0)


def _newer(recent: dict[int, int], told: int) -> Iterable[int]:
    """Yield the entries that have changed since ``told``, the latest first."""
    for rank in reversed(recent):
        if recent[rank] <= told:
            return
        yield rank


def _own_stamp(group: int, clock: GroupClock, told: int) -> tuple[int, int, Stamp] | None:
    """Return the stamp of a group that the process is in; None: there is nothing to say."""
    recent, entries, has_tag = clock.recent, [], False
    is_own_due = clock.delivered[clock.rank] < clock.sent
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
    entries.sort()
    return group, clock.view_number, tuple(entries)


def _delivered_only(
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
        return reach.is_installed_everywhere()
    if rank == clock.rank and clock.delivered[rank] < clock.sent:
        return False
    wanted = count_of(clock, rank) if count is None else count
    return reach.is_everywhere(rank, wanted, delivered=clock.is_gated)


def _collectable(clock: GroupClock, view: int, entries: Mapping[int, int]) -> Stamp:
    """Return which of the entries told of a group that the process is in may be forgotten."""
    told = sorted(entries.items())
    if view < clock.view_number:  # others may have it to leave, and to deliver what is left of it
        return tuple(told) if is_collectable(clock, VIEW) else ()
    return tuple((rank, count) for rank, count in told if is_collectable(clock, rank, count))


def _paid(owed: Mapping[int, int], entries: Stamp) -> Stamp:
    """Return which of the owed entries are among those that may be forgotten."""
    said = dict(entries)
    return tuple(
        (rank, count) for rank, count in sorted(owed.items()) if count <= said.get(rank, -1)
    )

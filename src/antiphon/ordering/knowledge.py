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
be, until all members are known to have installed it, and as long as anybody who failed may live and
be in an earlier view without knowing of it (``stack.reach``). Not that of a founding view: nobody
has left another for it.

Told by another group. What the sender said in a group h after its last multicast to b goes unsaid
in b if all members of b's view are members of h's (``encloses``), and the run in h is named
instead, come what may: then whoever gets the run in b waits for that one, which waits for what it
said. So of groups that the sender is in it names what has changed since its last run to any group
that encloses b; what it was told of others, since the last one to b itself, for what it learnt in h
it has not said there. For this to hold three things are needed. Who takes the run in b from its
sender has taken the one in h: channels are FIFO, whatever the group, and who has failed in one
group is heard in none (proof: ``membership.failures``). Who gets it by a relay may never get the
other: who relays it says all (``stack.relayed``). And if that is never delivered, because something
of its own group died with its senders, what it said is waited for in its place (``lost_runs``). A
run that everybody has received is not named, and so tells for nothing: it may wait still for what
it names. This is for view-atomic flushes, which bring all that one has to all, and not for declared
structures, whose joiners are told the past another way. Runs in FIFO order, letters and lists carry
no stamps of others, or tell one member, and count as nothing said.

Tags. A stamp of an older view than one's own says nothing any more, one of a newer view waits for
that view, and merging keeps the newer one (000-25).

Old stamps are collected by word, never by time (000-25). Who has sent an entry of h to group b owes
b the word that it may be forgotten; a member of h gives it when the entry may be left out or its
view has been left by all, and whoever is given it passes it on where it had passed on the entry. So
the word goes the ways that the entry went, once; words wait for the next heartbeat, and those to
one group go together. Who only learns that h has gone on to another view knows not that all have:
to whom it had named an older one it says the new view, which is from then on what is to be named.
Tags of views that are never forgotten, for somebody is doubted, are remembered of the latest
``GROUPS_MAX`` groups.

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

from antiphon.core.runs import Foreign, Stamp
from antiphon.ordering.own_stamps import (
    VIEW,
    GroupClock,
    collectable,
    count_of,
    delivered_only,
    is_collectable,
    is_doubted,
    own_stamp,
)

FOUNDING = 1
"""The number of a group's first view."""

EPOCHS = 2**62
"""A group that does not exist, and has no messages: its views are the epochs (``stack.epochs``)."""

GROUPS_MAX = 4096
"""Groups that the process is not in and of which something is known: then views are forgotten."""

NOBODY = -1
"""Not by a multicast to a group: by a letter, or by leaving a group."""


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
        "_encloses", "_enclosing", "_epoch_tick", "_lasting", "_may_name", "_mine", "_owed",
        "_recent", "_words", "foreign", "tick",
    )  # fmt: skip

    def __init__(
        self,
        mine: Mapping[int, GroupClock],
        may_name: Callable[[int], bool] | None = None,
        encloses: Callable[[int, int], bool] | None = None,
    ) -> None:
        """Know nothing; ``mine`` always tells the clocks of the groups that the process is in.

        ``may_name`` tells whether stamps of a group that it is not in ride along; None: all do.
        ``encloses`` tells whether who gets a run of the second group has got before what was
        multicast in the first; None: that is never so.
        """
        self._mine = mine
        self._encloses = encloses
        self._enclosing: dict[int, list[GroupClock]] = {}
        """By group: the others that are known to enclose it, in their current views."""
        self.tick = 1
        """Goes up with each run that carries stamps: what has changed since is changed at this."""
        self._epoch_tick = 0
        self._recent: dict[int, int] = {}
        self.foreign: dict[int, ForeignClock] = {}
        """Groups that the process is not in, as far as something of them is not collected."""
        self._owed: dict[tuple[int, int], dict[int, dict[int, int]]] = {}
        """By group and view: by the group that was told, the entries to be collected there."""
        self._lasting: dict[int, int] = {}
        """By group: a view that is owed about, and is named until that group has another one."""
        self._words: dict[int, dict[tuple[int, int], dict[int, int]]] = {}
        """By the group to be told: by group and view, what may be forgotten."""
        self._may_name = may_name

    # What changes.

    def note(self, group: int, clock: GroupClock, rank: int) -> None:
        """A message of a member was delivered, or multicast, in a group that the process is in."""
        tick, recent = self.tick, clock.recent
        if recent.get(rank) == tick:
            return  # once between two multicasts is enough
        recent.pop(rank, None)
        recent[rank] = tick
        if self._recent.get(group) != tick:
            self._touch(group)

    def note_view(self, group: int, clock: GroupClock) -> None:
        """The process has installed a view of a group."""
        self._enclosing.clear()
        self._lasting.pop(group, None)
        self.foreign.pop(group, None)
        if clock.view_number > FOUNDING:
            clock.recent[VIEW] = self.tick
            self._touch(group)

    def leave(self, group: int, clock: GroupClock, view: int | None) -> None:
        """The process is in a group no longer; ``view`` is the one without it, if it left by one.

        Who has not waited for that names what it knew, like any group's that it is not in.
        """
        self._enclosing.clear()
        self._lasting.pop(group, None)
        number = view if view is not None else clock.view_number
        ranks = range(len(clock.delivered)) if view is None else range(0)
        counts = {rank: count for rank in ranks if (count := count_of(clock, rank))}
        if number > FOUNDING or counts:
            left = self.foreign[group] = ForeignClock(number)
            left.counts |= counts
            left.recent |= dict.fromkeys(left.counts, self.tick)
            left.via |= dict.fromkeys(left.counts, NOBODY)
            self._touch(group)
        self._words.pop(group, None)
        for name, owed in list(self._owed.items()):
            owed.pop(group, None)
            if not owed:
                del self._owed[name]

    def _touch(self, group: int) -> None:
        self._recent.pop(group, None)
        self._recent[group] = self.tick

    def merge(self, foreign: Foreign, via: int) -> None:
        """A run with these stamps has been delivered; ``via`` is its group, or ``NOBODY``."""
        for group, view, entries in foreign:
            if group not in self._mine:
                self._merge_one(group, view, entries, via)

    def _merge_one(self, group: int, view: int, entries: Stamp, via: int) -> None:
        known = self.foreign.get(group)
        if known is None or view > known.view:
            if known is None and len(self.foreign) >= GROUPS_MAX:
                self._make_room()
            self._lasting.pop(group, None)
            known = self.foreign[group] = ForeignClock(view)
            if known.counts:
                known.recent[VIEW] = self.tick
                known.via[VIEW] = via
        elif view < known.view:
            return
        self._touch(group)
        counts, recent = known.counts, known.recent
        for rank, count in entries:
            if count > counts.get(rank, 0):
                counts[rank] = count
                recent.pop(rank, None)
                recent[rank] = self.tick
                known.via[rank] = via

    def _make_room(self) -> None:
        """Forget the group of which nothing but its view has been known for longest."""
        for group in self._recent:
            known = self.foreign.get(group)
            if known is not None and known.counts.keys() == {VIEW} and group != EPOCHS:
                del self.foreign[group], self._recent[group]
                return

    # Epochs.

    def begin_epoch(self, epoch: int) -> None:
        """Stamp what is multicast from now on with this epoch, as if it were a view."""
        self.tick += 1  # what is noted from now on is noted later
        self._epoch_tick = self.tick
        known = self.foreign[EPOCHS] = ForeignClock(epoch)
        known.recent[VIEW] = self.tick
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
        mine = self._mine[to]
        stamps = self._news(to, mine if is_letter else self._told_by(to, mine))
        if not is_letter:
            mine.told = self.tick
            self.tick += 1
        if stamps:
            self._owe(to, stamps)
        return tuple(stamps)

    def has_news(self, to: int) -> bool:
        """Whether the next run to a group would carry anything of others."""
        return bool(self._news(to, self._mine[to]))

    def _told_by(self, to: int, mine: GroupClock) -> GroupClock:
        """Return of which group everybody in this one has got the last run before the next one."""
        enclosing = self._enclosing.get(to)
        if enclosing is None:
            enclosing = self._enclosing[to] = self._look_around(to)
        last = mine
        for clock in enclosing:
            if clock.told > last.told:
                last = clock
        # What that run named goes unsaid only if the run itself is named.
        return mine if last is not mine and is_collectable(last, last.rank) else last

    def _look_around(self, to: int) -> list[GroupClock]:
        encloses = self._encloses
        if encloses is None:
            return []
        return [clock for group, clock in self._mine.items() if group != to and encloses(group, to)]

    def _news(self, to: int, last: GroupClock) -> list[tuple[int, int, Stamp]]:
        """Return the stamps of others: of own groups, what has changed since the ``last`` run."""
        told, told_own = self._mine[to].told, last.told
        first = told if self.foreign else told_own
        stamps: list[tuple[int, int, Stamp]] = []
        recent, mine = self._recent, self._mine
        for group in reversed(recent):
            if recent[group] <= first:
                break
            if group == to:
                continue
            clock = mine.get(group)
            if clock is None:
                one = self._stamp_one(group, to, told)
            else:
                one = own_stamp(group, clock, told_own, is_named=clock is last)
            if one is not None:
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
            owed_to = self._owed.get((group, view))
            if owed_to is None:
                owed_to = self._owed[group, view] = {}
            owed = owed_to.get(to)
            if owed is None:
                owed = owed_to[to] = tag_of(view)
                self._owe_no_more(to, group, view)
            if entries:
                self._lasting.pop(group, None)
                owed.update(entries)

    def _owe_no_more(self, to: int, group: int, view: int) -> None:
        """A group has been told a view of another: of older ones it remembers nothing."""
        for name in [name for name in self._owed if name[0] == group and name[1] < view]:
            self._owed[name].pop(to, None)
            if not self._owed[name]:
                del self._owed[name]

    def _stamp_one(
        self, group: int, to: int, told: int, *, is_whole: bool = False
    ) -> tuple[int, int, Stamp] | None:
        """Return the stamp of one group; None: there is nothing to say."""
        clock = self._mine.get(group)
        if clock is not None:
            stamp = own_stamp(group, clock, told)
            # What nobody could have learnt yet may wait for its turn behind what is to come.
            return delivered_only(stamp, clock) if is_whole else stamp
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
            if self._lasting.get(group) == view:
                continue
            known = self.foreign.get(group)
            for to, entries in list(owed.items()):
                if known is not None and known.view > view:
                    self._supersede(group, view, to, known.view)
                elif gone := self._gone(group, view, entries):
                    self._pay(group, view, to, gone)
                    self._say(to, group, view, gone)
            if owed and all(entries.keys() == {VIEW} for entries in owed.values()):
                self._note_lasting(group, view)
        words, self._words = self._words, {}
        return [
            (to, tuple((*name, tuple(sorted(said.items()))) for name, said in told.items()))
            for to, told in words.items()
        ]

    def _gone(self, group: int, view: int, entries: Mapping[int, int]) -> Stamp:
        """Return which entries told of a group may be forgotten, or were forgotten since.

        They may have been told again along with others. Of a group that the process is not in, what
        is known is passed on when it is forgotten (``forget``).
        """
        clock = self._mine.get(group)
        if clock is not None:
            return collectable(clock, view, entries)
        known = self.foreign.get(group)
        kept = known.counts if known is not None else {}
        return tuple((rank, count) for rank, count in sorted(entries.items()) if rank not in kept)

    def _note_lasting(self, group: int, view: int) -> None:
        """Nothing but a view is owed about: if nobody can say when, it is not looked at again."""
        clock, known = self._mine.get(group), self.foreign.get(group)
        is_known = known is not None and known.view == view
        if is_doubted(clock, view) if clock is not None else is_known:
            self._lasting[group] = view

    def _supersede(self, group: int, view: int, to: int, newer: int) -> None:
        """Tell a group the view that has followed one of which it was told entries."""
        self._pay(group, view, to, tuple(self._owed[group, view][to].items()))
        self._owed.setdefault((group, newer), {}).setdefault(to, tag_of(newer))
        self._say(to, group, newer, ())

    def forget(self, words: Foreign, via: int) -> None:
        """Entries may be forgotten, as a member of ``via`` says; others are told in turn.

        Without entries: the view named has followed what was known, and is to be named in its
        place.
        """
        for group, view, entries in words:
            if group in self._mine:
                continue  # it gives the word itself, when it knows
            known = self.foreign.get(group)
            if known is not None and known.view < view:
                # Not learnt by a multicast to ``via``: others there may not have heard it yet.
                self._merge_one(group, view, (), NOBODY)
                self._owe_no_more(via, group, view)
                known = self.foreign[group]
            if known is not None and known.view == view:
                self._drop(group, known, entries)
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
        self._lasting.pop(group, None)
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


def _paid(owed: Mapping[int, int], entries: Stamp) -> Stamp:
    """Return which of the owed entries are among those that may be forgotten."""
    said = dict(entries)
    return tuple(
        (rank, count) for rank, count in sorted(owed.items()) if count <= said.get(rank, -1)
    )

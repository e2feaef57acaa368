"""Joiners of groups whose overlaps are declared: what they deliver nothing before.

Law: where structures are declared (``structure``) stamps are left out, because who is in two groups
that overlap has had what names the one in the other; a joiner has not. So who was in the group
before tells it, first, all that it knows of other groups, and the joiner delivers nothing of the
group before it has heard all of them, and has delivered what they name (``bar``). Who of them has
failed need not be heard: the others, who go on, know what it multicast before.

What a joiner has received, it may hold for that. So a letter waits for what its own sender has said
alone: who has its acknowledgement speaks on, and names no letter. And in views in which somebody
joined an entry is left out of stamps only once everybody has delivered what it names
(``expect_bars``).
"""

from collections.abc import Iterable

from antiphon.core.ids import GroupNumber, Rank
from antiphon.core.runs import Foreign, Letter, Order, Run
from antiphon.ordering.delay_queue import Lack
from antiphon.ordering.knowledge import EPOCHS, Knowledge
from antiphon.ordering.vector import VectorDomain

BARRED = -2
"""The place, among a group's entries, of what a joiner is still to be told."""


class Barrier:
    """What a joiner is told before it delivers anything of a group."""

    __slots__ = ("awaited", "told")

    def __init__(self, awaited: Iterable[int]) -> None:
        """Be told by these members, by rank."""
        self.awaited = dict.fromkeys(awaited)
        self.told: list[Run] = []
        """What names the same: a run that waits for it, and is nobody's."""


class BarredDomain(VectorDomain):
    """The groups of a domain, some of which this process has just joined."""

    __slots__ = ("_barriers", "_waiting")

    def __init__(self) -> None:
        """Start in no group."""
        super().__init__()
        self._waiting: list[tuple[Run, Lack]] | None = None
        self._barriers: dict[int, Barrier] = {}

    def know(self) -> Knowledge:
        """Return what is known of other groups; begin to take note of that, if need be."""
        return self.knowledge if self.knowledge is not None else self._know()

    def awaits_past(self, group: GroupNumber) -> bool:
        """Whether a member is still to say what it knows of other groups."""
        barrier = self._barriers.get(group)
        return barrier is not None and bool(barrier.awaited)

    def expect_bars(self, group: GroupNumber) -> None:
        """Somebody has joined, and holds what it receives: what is received may not be ready."""
        self._groups[group].is_gated = True

    def bar(self, group: GroupNumber, ranks: Iterable[int]) -> None:
        """Deliver nothing of a group before these members have said what they know of others."""
        self._barriers[group] = Barrier(ranks)
        self._look_at_barrier(group)

    def hear_past(self, group: GroupNumber, rank: int, stamps: Foreign) -> None:
        """A member has said it. What is ready by now is not delivered before :meth:`drain`."""
        barrier = self._barriers.get(group)
        if barrier is not None and rank in barrier.awaited:
            del barrier.awaited[rank]
            view = self._groups[group].view_number
            told = Run(group, view, Rank(rank), 1, Order.CAUSAL, (), [], 0, foreign=stamps)
            barrier.told.append(told)
            self._look_at_barrier(group)

    def excuse(self, group: GroupNumber, ranks: Iterable[int] | None = None) -> bool:
        """These members, or all, need not be heard; return whether no other is still to be."""
        barrier = self._barriers.get(group)
        if barrier is None:
            return True
        for rank in list(barrier.awaited) if ranks is None else ranks:
            barrier.awaited.pop(rank, None)
        is_told = not barrier.awaited
        self._look_at_barrier(group)
        return is_told

    def lack(self, run: Run) -> Lack | None:
        """Return one thing that ``run`` still waits for, or None when it is ready."""
        lack = super().lack(run)
        if lack is not None or not self._barriers:
            return lack
        return self._letter_lack(run) if type(run) is Letter else self._barrier_lack(run.group)

    def _barrier_lack(self, group: int) -> Lack | None:
        barrier = self._barriers.get(group)
        if barrier is None:
            return None
        if barrier.awaited:
            return group, BARRED, 0
        if not any(map(self._foreign_lack, barrier.told)):
            del self._barriers[group]
            return None
        return self._told_lack(barrier.told)

    def _letter_lack(self, letter: Letter) -> Lack | None:
        """Return what of its sender's past a letter waits for, in a group that is barred."""
        barrier = self._barriers.get(letter.group)
        if barrier is None:
            return None
        if letter.sender in barrier.awaited:
            return letter.group, BARRED, 0
        return self._told_lack([one for one in barrier.told if one.sender == letter.sender])

    def _told_lack(self, told: Iterable[Run]) -> Lack | None:
        lacks = [lack for lack in map(self._foreign_lack, told) if lack is not None]
        if lacks and EPOCHS in self._expected:
            lacks = self._of_this_epoch(lacks)
        return lacks[0] if lacks else None

    def _of_this_epoch(self, lacks: list[Lack]) -> list[Lack]:
        """Return what may be of an epoch that has been entered; the rest nothing depends on yet."""
        waiting = self._waiting if self._waiting is not None else self._queue.waiting()
        found: list[Lack] = []
        for lack in lacks:
            last, seen = lack, {lack}
            while True:
                group, rank, count = last
                held = (why for run, why in waiting if _is_it(run, group, rank, count))
                last = next(held, lack)
                if last in seen:
                    found.append(lack)
                    break
                if last[0] == EPOCHS:
                    break
                seen.add(last)
        return found

    def look_at_barriers(self) -> bool:
        """Look again at what waits for what joiners are told; return whether anything is ready."""
        told = [one for barrier in self._barriers.values() for one in barrier.told]
        self._waiting = self._queue.waiting()  # what is woken waits for what is woken, too
        for group in {group: None for one in told for group, _, _ in one.foreign}:
            self._look_again(self._queue.wake_group(group))
        self._waiting = None
        return bool(told) and self._queue.has_ready and not self.is_frozen

    def _look_at_barrier(self, group: int) -> None:
        """Take note of what was told, when all have told it; what waited waits for that alone."""
        barrier = self._barriers[group]
        if not barrier.awaited:
            knowledge = self.know()
            for one in barrier.told:
                knowledge.merge(one.foreign, group)
            self._barrier_lack(group)
            self._look_again(self._queue.wake(group, BARRED, 0))


def _is_it(run: Run, group: int, rank: int, count: int) -> bool:
    """Whether a run has a message that is waited for."""
    return (run.group, run.sender) == (group, rank) and run.first <= count <= run.last

"""Groups with gates: what is held back in them, what is due, and what is still to be delivered.

Law: each group has a gate in each view (``gate``), behind the one delay queue of the domain. What
is noted here of a group is of its current view, and forgotten with it.

Who joins a group, where structures are declared (``structure``). Stamps are left out there because
who is in two groups that overlap has had what names the one in the other; a joiner has not. So who
was in the group before tells it, first, all that it knows of other groups, and the joiner delivers
nothing of the group before it has heard all of them, and has delivered what they name (``bar``).
Who of them has failed need not be heard: the others, who go on, know what it multicast before.
What a joiner has received, it may hold for that. So a letter waits for what its own sender has said
alone: who has its acknowledgement speaks on, and names no letter. And in views in which somebody
joined an entry is left out of stamps only once everybody has delivered what it names
(``expect_bars``).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from antiphon.core.ids import GroupNumber, Rank
from antiphon.core.runs import Foreign, Letter, Order, Run
from antiphon.ordering.delay_queue import Lack
from antiphon.ordering.gate import Gate
from antiphon.ordering.knowledge import EPOCHS, Knowledge, epoch_of
from antiphon.ordering.own_stamps import VIEW, count_of, is_collectable
from antiphon.ordering.settling import NEVER
from antiphon.ordering.total import POLICIES
from antiphon.ordering.vector import VectorDomain
from antiphon.ordering.vector_clock import VectorClock

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


class GatedDomain(VectorDomain):
    """The groups of a domain with their gates."""

    __slots__ = (
        "_barriers", "_flushed", "_gates", "_has_written", "_policy", "_unconfirmed",
        "_undelivered", "_waiting", "restless",
    )  # fmt: skip

    def __init__(self, policy: str = "follow") -> None:
        """Start in no group; ``policy`` says where the token goes (``total``)."""
        super().__init__()
        self._policy = POLICIES[policy]
        self._flushed = 0
        self._waiting: list[tuple[Run, Lack]] | None = None
        self._gates: dict[int, Gate] = {}
        self._barriers: dict[int, Barrier] = {}
        self._has_written: dict[int, None] = {}  # where, since the last run there with a stamp
        self._undelivered: dict[int, None] = {}  # where own messages wait to be delivered here
        # Where a uniform message waits for another group, and is not confirmed.
        self._unconfirmed: dict[int, None] = {}
        self.restless: dict[int, None] = {}
        """Groups in which something has come about by what came in another: to be looked at."""

    @property
    def queue_depth(self) -> int:
        """How many runs are held back."""
        return self._queue.depth + sum(gate.depth for gate in self._gates.values())

    @property
    def held_bytes(self) -> int:
        """Payload bytes of the runs that are held back."""
        return self._queue.held_bytes + sum(gate.held_bytes for gate in self._gates.values())

    @property
    def held_count(self) -> int:
        """Messages that had to wait for something in their causal past, so far."""
        return self._queue.held_count

    def gate(self, group: GroupNumber) -> Gate:
        """Return the gate of a group, to look into."""
        return self._gates[group]

    def is_due(self, group: GroupNumber) -> bool:
        """Whether the others wait for a sets-order list or a confirmation of this process."""
        gate = self._gates.get(group)
        return gate is not None and (
            bool(gate.total.unsaid) or (gate.uniform.is_active and gate.uniform.is_due)
        )

    def has_undelivered(self, group: GroupNumber) -> bool:
        """Whether something that the process multicast in ANOTHER group is not delivered here."""
        waiting = self._undelivered
        return bool(waiting) and any(other != group for other in waiting)

    def past(self, group: GroupNumber) -> dict[int, int]:
        """Return what the process has multicast or delivered in a view, by rank, and the view."""
        clock = self._groups[group]
        ranks = (VIEW, *range(clock.size))
        counts = {rank: count_of(clock, rank) for rank in ranks}
        return {rank: count for rank, count in counts.items() if count or rank == VIEW}

    def is_installed_everywhere(self, group: GroupNumber) -> bool:
        """Whether all members of a group are known to have left the views before this one."""
        reach = self._groups[group].reach
        return reach is not None and reach.is_installed_everywhere()

    def still_needed(self, group: GroupNumber, past: dict[int, int]) -> dict[int, int]:
        """Return what of this past has still to be named, for somebody may not have got it."""
        clock = self._groups[group]
        if clock.size == 1:
            return {}
        return {
            rank: count for rank, count in past.items() if not is_collectable(clock, rank, count)
        }

    def is_clear(self, group: GroupNumber) -> bool:
        """Whether a plain multicast would be delivered here at once, and carry nothing."""
        mine, gate = self._groups[group], self._gates[group]
        return (
            mine.delivered[mine.rank] == mine.sent
            and not gate.total.unsaid
            and not gate.uniform.is_active
            and not self._has_written
            and not self._undelivered
            and not self.is_frozen
        )

    # What is taken later than it came, and what is wrong with it.

    def arrive(self) -> int:
        """Return the place, in the order of receipt, of what cannot be taken yet."""
        return self._queue.arrive()

    @contextmanager
    def received_as(self, arrival: int) -> Iterator[None]:
        """Take something that was received before, in that place; while nothing is delivered."""
        assert self.is_frozen, "what is delivered at once has no place"
        self._queue.received_as = arrival
        try:
            yield
        finally:
            self._queue.received_as = 0

    def foreign_fault_of(self, run: Run) -> str:
        """Say what is wrong with the stamps of other groups in a run that comes from its sender.

        Only with those of groups that the sender is in, which are of its own knowledge. The others
        are hearsay: it may have been lied to, and what cannot be is waited for by nobody.
        """
        mine = self._groups.get(run.group)
        if mine is None or run.view != mine.view_number or run.sender >= mine.size:
            return ""
        for group, view, entries in run.foreign:
            clock = self._groups.get(group)
            if clock is None or view != clock.view_number or group == run.group:
                continue
            fault = clock.fault_of(entries)
            if not fault:
                continue
            sender = mine.view.members[run.sender].bare()
            if any(member.bare() == sender for member in clock.view.members):
                return f"of group {clock.view.group}, in group {mine.view.group}, {fault}"
        return ""

    # Epochs (``stack.epochs``).

    def enter_epoch(self, epoch: int, flushed: int) -> None:
        """Deliver what is of this epoch, and of no later one; ready runs wait for a drain.

        What is of epochs before ``flushed`` has been received.
        """
        self._flushed = flushed
        self._expected[EPOCHS] = epoch + 1
        self._look_again(self._queue.wake_group(EPOCHS))

    def know(self) -> Knowledge:
        """Return what is known of other groups; begin to take note of that, if need be."""
        return self.knowledge if self.knowledge is not None else self._know()

    def is_expected(self, group: GroupNumber) -> bool:
        """Whether the first view of a group is known, and still to be installed."""
        return group in self._expected

    def awaits_past(self, group: GroupNumber) -> bool:
        """Whether a member is still to say what it knows of other groups."""
        barrier = self._barriers.get(group)
        return barrier is not None and bool(barrier.awaited)

    def last_epoch(self, group: GroupNumber) -> int:
        """Return the latest epoch of what is held of a group."""
        held = (epoch_of(run.foreign) for run in self._queue.held() if run.group == group)
        return max(held, default=0)

    def still_held(
        self, group: GroupNumber, marks: list[tuple[int, int, int]]
    ) -> list[tuple[int, int, int]]:
        """Return the marks, by epoch, rank and count, of what can be delivered and was not."""
        clock = self._groups[group]
        return [
            (epoch, rank, count)
            for epoch, rank, count in marks
            if clock.lack_of(((rank, count),)) is not None
        ]

    def _is_early(self, mine: VectorClock) -> bool:
        """Whether what is multicast now is of an epoch that has still to be entered here."""
        known = self.knowledge.foreign.get(EPOCHS) if self.knowledge is not None else None
        is_later = known is not None and known.view >= self._expected.get(EPOCHS, NEVER)
        return is_later and mine.size > 1

    def _forget(self, group: int) -> None:
        """A view of a group ends."""
        for noted in (self._has_written, self._undelivered, self._unconfirmed, self.restless):
            noted.pop(group, None)

    # Joiners.

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

"""Groups with gates: what is held back in them, what is due, and what is still to be delivered.

Law: each group has a gate in each view (``gate``), behind the one delay queue of the domain. What
is noted here of a group is of its current view, and forgotten with it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from antiphon.core.ids import GroupNumber
from antiphon.core.runs import PORT_ORDER, Run
from antiphon.ordering.barred import BarredDomain
from antiphon.ordering.gate import Gate
from antiphon.ordering.knowledge import EPOCHS, epoch_of
from antiphon.ordering.own_stamps import VIEW, count_of, is_collectable
from antiphon.ordering.settling import NEVER
from antiphon.ordering.total import POLICIES
from antiphon.ordering.vector_clock import VectorClock


class GatedDomain(BarredDomain):
    """The groups of a domain with their gates."""

    __slots__ = (
        "_flushed", "_gates", "_has_written", "_policy", "_unconfirmed",
        "_undelivered", "restless",
    )  # fmt: skip

    def __init__(self, policy: str = "follow") -> None:
        """Start in no group; ``policy`` says where the token goes (``total``)."""
        super().__init__()
        self._policy = POLICIES[policy]
        self._flushed = 0
        self._gates: dict[int, Gate] = {}
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

    def is_left_by_all(self, group: GroupNumber) -> bool:
        """Whether nobody is known to be, or doubted not to be, in a view before this one."""
        reach = self._groups[group].reach
        return reach is not None and reach.is_left_by_all()

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

    def is_expected(self, group: GroupNumber) -> bool:
        """Whether the first view of a group is known, and still to be installed."""
        return group in self._expected

    def last_epoch(self, group: GroupNumber) -> int:
        """Return the latest epoch of what is held of a group."""
        held = (epoch_of(run.foreign) for run in self._queue.held() if run.group == group)
        return max(held, default=0)

    def still_held(
        self, group: GroupNumber, marks: list[tuple[int, int, int]]
    ) -> list[tuple[int, int, int]]:
        """Return the marks, by epoch, rank and count, of what can be delivered and was not.

        Lists are of no epoch: what gives turns may have been said in a later one than is known.
        """
        clock = self._groups[group]
        return [
            (epoch, rank, count)
            for epoch, rank, count in marks
            if clock.lack_of(((rank, count),)) is not None
            and self._without_lists(group, rank) < count
        ]

    def _without_lists(self, group: GroupNumber, rank: int) -> int:
        """Return up to which message of a member nothing but lists has still to be delivered."""
        last = self._groups[group].delivered[rank]
        for run in sorted(self._queue.held(), key=lambda run: run.first):
            is_mine = run.group == group and run.sender == rank and run.first == last + 1
            if is_mine and run.port == PORT_ORDER and not run.foreign:
                last = run.last
        return last

    def _is_early(self, mine: VectorClock) -> bool:
        """Whether what is multicast now is of an epoch that has still to be entered here."""
        known = self.knowledge.foreign.get(EPOCHS) if self.knowledge is not None else None
        is_later = known is not None and known.view >= self._expected.get(EPOCHS, NEVER)
        return is_later and mine.size > 1

    def _forget(self, group: int) -> None:
        """A view of a group ends."""
        for noted in (self._has_written, self._undelivered, self._unconfirmed, self.restless):
            noted.pop(group, None)

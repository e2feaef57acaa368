"""Vector clocks: what a process has sent, received and delivered in its groups.

Law: a clock is of one group and one view, and its counts only grow; a new view has a new clock.
What is asked here changes nothing.
"""

from collections.abc import Sequence

from antiphon.core.ids import GroupNumber, Rank
from antiphon.core.runs import Run, Stamp
from antiphon.core.views import View
from antiphon.ordering.delay_queue import DelayQueue, Lack
from antiphon.ordering.left_over import is_kept
from antiphon.ordering.own_stamps import Reach


class VectorClock:
    """What a process has sent, received and delivered in one of its groups, in one view."""

    __slots__ = (
        "changed",
        "delivered",
        "is_gated",
        "kept",
        "rank",
        "reach",
        "received",
        "recent",
        "sent",
        "size",
        "told",
        "view",
        "view_number",
    )  # fmt: skip

    def __init__(self, view: View, rank: Rank) -> None:
        self.view = view
        self.view_number = view.number
        self.rank = rank
        self.size = len(view.members)
        self.delivered = [0] * self.size
        self.received = [0] * self.size
        self.sent = 0
        # Ranks whose delivered count changed since the last stamped multicast: the next stamp.
        # A dict, because sets have no order that a second run would repeat.
        self.changed: dict[int, None] = {}
        # What the process knows of other groups, too (``knowledge``).
        self.recent: dict[int, int] = {}
        self.told = 0
        self.reach: Reach | None = None
        self.is_gated = False
        # By sender, how much can still be delivered, once the flush of the view has ended.
        self.kept: list[int] | None = None

    def stamp(self) -> Stamp:
        """Return the counts that changed since the last multicast with a stamp."""
        delivered, changed = self.delivered, self.changed
        if len(changed) == 1:  # a question and its answer
            (rank,) = changed
            return ((rank, delivered[rank]),)
        return tuple([(rank, delivered[rank]) for rank in sorted(changed)])

    def take_stamp(self) -> Stamp:
        """Return the stamp of the next multicast."""
        stamp = self.stamp()
        self.changed.clear()
        return stamp

    def say_out_of_turn(self, run: Run) -> str:
        """Say what is wrong with the number of a run's first message."""
        expected = self.received[run.sender] + 1
        what = "repeats" if run.first < expected else "skips to"
        return f"a run {what} message {run.first} of member {run.sender}, expected {expected}"

    def lack(self, run: Run) -> Lack | None:
        """Return one message that ``run`` still waits for, or None when it is ready."""
        delivered = self.delivered
        if run.first > delivered[run.sender] + 1:
            return run.group, run.sender, run.first - 1
        for rank, count in run.stamp:
            if rank >= self.size or delivered[rank] < count:
                return run.group, rank, count
        return None

    def lack_of(self, entries: Stamp) -> tuple[int, int] | None:
        """Return an entry of another group's run that is still waited for; None: there is none.

        For what cannot be nobody waits: whoever names it may have been lied to.
        """
        kept, delivered = self.kept, self.delivered
        for rank, count in entries:
            if rank >= self.size or delivered[rank] >= count:
                continue
            wanted = min(count, self.sent) if rank == self.rank else count
            if kept is not None:
                wanted = min(wanted, kept[rank])
            if delivered[rank] < wanted:
                return rank, wanted
        return None

    def fault_of(self, stamp: Stamp, *, is_relayed: bool = False) -> str:
        """Say what is wrong with a stamp that names what nobody in the view can have multicast.

        Who relays a run can see whom it names, but not how much this process has multicast.
        """
        for rank, count in stamp:
            if rank >= self.size:
                return f"a stamp has an entry for member {rank} in a view of {self.size}"
            if rank == self.rank and count > self.sent and not is_relayed:
                return f"a stamp names own message {count}, but only {self.sent} were sent"
        return ""


class GroupClocks:
    """The clocks of a process's groups, and what is held back: as far as it can be asked."""

    __slots__ = ("_groups", "_queue")

    def __init__(self) -> None:
        """Be in no group."""
        self._groups: dict[int, VectorClock] = {}
        self._queue = DelayQueue()

    @property
    def queue_depth(self) -> int:
        """How many runs are held back."""
        return self._queue.depth

    def is_closed(self, group: GroupNumber) -> bool:
        """Whether the flush of a group's view has ended here."""
        return self._groups[group].kept is not None

    def is_held(self, group: GroupNumber) -> bool:
        """Whether something of a closed view, which can be delivered, has still to be."""
        clock = self._groups[group]
        kept, number = clock.kept, clock.view_number
        assert kept is not None, "its flush has ended"
        held = (run for run in self._queue.held() if run.group == group)
        return any(run.view != number or is_kept(run, kept) for run in held)

    def received(self, group: GroupNumber) -> list[int]:
        """Return how many messages of each member have been received; own ones count as such."""
        mine = self._groups[group]
        counts = list(mine.received)
        counts[mine.rank] = mine.sent
        return counts

    def received_of(self, group: GroupNumber, rank: int) -> int:
        """Return how many messages of one member have been received; own ones count as such."""
        mine = self._groups[group]
        return mine.sent if rank == mine.rank else mine.received[rank]

    def clock(self, group: GroupNumber) -> list[int]:
        """Return how many messages of each member have been delivered."""
        return list(self._groups[group].delivered)

    def delivered(self, group: GroupNumber) -> Sequence[int]:
        """Return what always tells the same of the current view, without another look-up."""
        return self._groups[group].delivered

    def held(self) -> list[Run]:
        """List what waits for something of its past, in order of receipt."""
        return self._queue.held()

    def waiting(self) -> list[tuple[Run, Lack]]:
        """List the held runs in order of receipt, each with one message that it waits for."""
        return self._queue.waiting()

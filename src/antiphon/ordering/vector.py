"""CBCAST: causal multicast by vector time (ISIS 4.3, 5.1, 5.4; corrected).

Rule. A process counts, per group and sender, the messages it has DELIVERED. A multicast carries
the counts that changed since the sender's previous multicast to that group in that view; it is
delivered when it is its sender's next one and every count it carries has been reached.

Invariant. At every process, ``delivered[q] == c`` means messages 1 to c of q were delivered, in
that order, each after everything in its causal past. The past of a message is what its sender
had delivered (not merely received: erratum 000-3) and multicast before it.

Corrections of the printed rules: counts merge with the receiver's own (000-1: setting the
sender's entry is enough); the queue is in order of receipt (000-4); duplicates are dropped on
arrival (000-4); the own entry counts own deliveries and sends have a counter of their own (000-7).

Fault model. Reliable channels between live processes. With ``fifo_channels`` each pair's channel
is FIFO too, and a gap or a repetition is the peer's fault: endpoints need that. Without, runs may
come in any order and more than once, and a lost one holds back all that depends on it for ever.

Cost. n - 1 copies and no further message; two varints per changed entry and run; no round.

A FIFO multicast shares its sender's numbers but carries no counts: it waits for its sender's
earlier messages only. Causality therefore does not pass through it: a causal multicast comes
after whatever its sender had delivered, also FIFO messages, but a FIFO message itself may come
before what its sender had delivered.
"""

from collections.abc import Sequence

from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupNumber, Rank
from antiphon.core.runs import PORT_APPLICATION, Order, Run, Stamp
from antiphon.core.views import View
from antiphon.ordering.delay_queue import DelayQueue, Lack

NO_TOTAL_ORDER = "CBCAST alone gives no total order: multicast in causal or fifo order"


class VectorClock:
    """What a process has sent, received and delivered in one of its groups, in one view."""

    __slots__ = ("changed", "delivered", "rank", "received", "sent", "size", "view", "view_number")

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

    def check_stamp(self, stamp: Stamp) -> None:
        """Refuse a stamp that names what nobody in the view can have multicast.

        Asked of every run before it is held: once it is, its faults would come to light while
        another, honest peer's run is being received, and that peer would be blamed for them.
        """
        for rank, count in stamp:
            if rank >= self.size:
                message = f"a stamp has an entry for member {rank} in a view of {self.size}"
                raise PeerError(message)
            if rank == self.rank and count > self.sent:
                message = f"a stamp names own message {count}, but only {self.sent} were sent"
                raise PeerError(message)


class VectorDomain:
    """The causal machine of one process, for all its groups of one causality domain."""

    __slots__ = ("_fifo_channels", "_groups", "_queue")

    def __init__(self, *, fifo_channels: bool = True) -> None:
        """Start in no group."""
        self._fifo_channels = fifo_channels
        self._groups: dict[int, VectorClock] = {}
        self._queue = DelayQueue()

    @property
    def queue_depth(self) -> int:
        """How many runs are held back."""
        return self._queue.depth

    def install(self, group: GroupNumber, view: View, rank: Rank) -> None:
        """Enter the first, and so far only, view of a group."""
        if group in self._groups:
            message = f"group {view.group} is joined already"
            raise UsageError(message)
        if self._groups:
            message = (
                f"group {view.group} would be the second of its causality domain, and causal order "
                "across groups is not available yet: give each group a domain of its own"
            )
            raise UsageError(message)
        self._groups[group] = VectorClock(view, rank)

    def advance(self, group: GroupNumber, view: View, rank: Rank) -> list[Run]:
        """Enter the next view of a group, with all counts at zero; return what is discarded.

        After a flush only orphans are still held: a message in their past died with its sender
        (ISIS 5.5 (3)). They are the same everywhere.
        """
        before = self._groups.get(group)
        is_next = before is None or view.number > before.view_number
        assert is_next, "views are entered in order"
        orphans = self._queue.drop(group)
        self._groups[group] = VectorClock(view, rank)
        return orphans

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

    def waiting(self) -> list[tuple[Run, Lack]]:
        """List the held runs in order of receipt, each with one message that it waits for."""
        return self._queue.waiting()

    def multicast(
        self,
        group: GroupNumber,
        payloads: Sequence[bytes],
        order: Order,
        byte_count: int | None = None,
        port: int = PORT_APPLICATION,
    ) -> Run:
        """Stamp a run of own messages and deliver it here, at once (ISIS 5.1)."""
        assert payloads, "a run has at least one message"
        if order is Order.TOTAL:
            raise UsageError(NO_TOTAL_ORDER)
        mine = self._groups.get(group)
        if mine is None:
            message = f"this process is in no group with number {group}: join it first"
            raise UsageError(message)
        stamp = mine.take_stamp() if mine.changed and order is not Order.FIFO else ()
        first = mine.sent + 1
        mine.sent += len(payloads)
        mine.delivered[mine.rank] = mine.sent
        return Run(
            group, mine.view_number, mine.rank, first, order, stamp, payloads, byte_count,
            False, port,  # noqa: FBT003 - not uniform
        )  # fmt: skip

    def receive(self, run: Run) -> list[Run]:
        """Take a run from another member; return what can be delivered now, in order.

        A run at fault raises :class:`PeerError` and changes nothing. The tests are written out
        for the common case, a run that is its sender's next and lacks nothing: this is the path
        that every message takes at every member.
        """
        group = self._groups.get(run.group)
        sender = run.sender
        if (
            group is None
            or run.view != group.view_number
            or sender >= group.size
            or sender == group.rank
            or run.is_gated
        ):
            raise PeerError(self._say_misplaced(run))
        if not self._fifo_channels:
            fresh = _after(run, group.delivered[sender])
            if fresh is None:
                return []
            run = fresh
        elif run.first != group.received[sender] + 1:
            raise PeerError(group.say_out_of_turn(run))
        delivered = group.delivered
        if run.stamp or run.first != delivered[sender] + 1:
            lack = group.lack(run)
            if lack is not None:
                group.check_stamp(run.stamp)
                group.received[sender] = run.last
                self._queue.hold(run, lack)
                return []
        group.received[sender] = delivered[sender] = run.last
        group.changed[sender] = None
        ready = [run]
        if (run.group, sender) in self._queue.waiting_for:
            self._cascade(ready)
        return ready

    def _say_misplaced(self, run: Run) -> str:
        group = self._groups.get(run.group)
        if group is None:
            return f"a run is for group number {run.group}, of which this process is no member"
        if run.view != group.view_number:
            return f"a run is for view {run.view} of {group.view.group}, not {group.view_number}"
        if run.is_gated:
            return "a run asks for total order or uniform delivery: CBCAST alone gives neither"
        if run.sender == group.rank:
            return "a run claims to be of this process itself"
        return f"a run claims sender number {run.sender} in a view of {group.size}"

    def _cascade(self, ready: list[Run]) -> None:
        """Extend ``ready``, one delivered run, with what that unblocks, in order of receipt."""
        self._wake(ready[0])
        self._drain(ready)

    def _drain(self, ready: list[Run]) -> None:
        """Deliver what is ready, in order of receipt, and what that unblocks."""
        queue, groups = self._queue, self._groups
        while (run := queue.take_ready()) is not None:
            group = groups[run.group]
            # A copy of the run may have been ready too, and have been delivered just now.
            fresh = _after(run, group.delivered[run.sender])
            if fresh is not None:
                group.delivered[fresh.sender] = fresh.last
                group.changed[fresh.sender] = None
                ready.append(fresh)
                self._wake(fresh)

    def _wake(self, delivered: Run) -> None:
        """Look again at the runs that waited for what has just been delivered."""
        queue = self._queue
        for arrival, run in queue.wake(delivered.group, delivered.sender, delivered.last):
            lack = self._groups[run.group].lack(run)
            if lack is None:
                queue.put_ready(arrival, run)
            else:
                queue.hold_again(arrival, run, lack)


def _after(run: Run, delivered: int) -> Run | None:
    """Return what of ``run`` comes after its sender's message number ``delivered``."""
    if run.first > delivered:
        return run
    return run.after(delivered) if run.last > delivered else None

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
is FIFO too, and a gap or a repetition is the peer's fault; without, runs may come in any order
and more than once, and a lost one holds back all that depends on it for ever.

Cost. n - 1 copies and no further message; two varints per changed entry and run; no round.

A FIFO multicast shares its sender's numbers but carries no counts: it waits for its sender's
earlier messages only. Causality therefore does not pass through it: a causal multicast comes
after whatever its sender had delivered, also FIFO messages, but a FIFO message itself may come
before what its sender had delivered.
"""

from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupNumber, Rank
from antiphon.core.runs import Order, Run, Stamp
from antiphon.core.views import View
from antiphon.ordering.delay_queue import DelayQueue, Lack


class _Group:
    """What a process knows of one of its groups, in the current view."""

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

    def lack(self, run: Run) -> Lack | None:
        """Return one message that ``run`` still waits for, or None when it is ready.

        Raises :class:`PeerError` for a message that can never come, because nobody in the view
        could have multicast it.
        """
        delivered = self.delivered
        if run.first > delivered[run.sender] + 1:
            return run.group, run.sender, run.first - 1
        for rank, count in run.stamp:
            if rank >= self.size:
                message = f"a stamp has an entry for member {rank} in a view of {self.size}"
                raise PeerError(message)
            if delivered[rank] < count:
                if rank == self.rank and count > self.sent:
                    message = f"a stamp names own message {count}, but only {self.sent} were sent"
                    raise PeerError(message)
                return run.group, rank, count
        return None


class VectorDomain:
    """The causal machine of one process, for all its groups of one causality domain."""

    __slots__ = ("_fifo_channels", "_groups", "_queue")

    def __init__(self, *, fifo_channels: bool = True) -> None:
        """Start in no group."""
        self._fifo_channels = fifo_channels
        self._groups: dict[int, _Group] = {}
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
        self._groups[group] = _Group(view, rank)

    def clock(self, group: GroupNumber) -> list[int]:
        """Return how many messages of each member have been delivered."""
        return list(self._groups[group].delivered)

    def waiting(self) -> list[tuple[Run, Lack]]:
        """List the held runs in order of receipt, each with one message that it waits for."""
        return self._queue.waiting()

    def multicast(self, group: GroupNumber, payloads: list[bytes], order: Order) -> Run:
        """Stamp a run of own messages and deliver it here, at once (ISIS 5.1)."""
        assert payloads, "a run has at least one message"
        mine = self._groups[group]
        stamp: Stamp = ()
        if mine.changed and order is not Order.FIFO:
            delivered = mine.delivered
            stamp = tuple([(rank, delivered[rank]) for rank in sorted(mine.changed)])
            mine.changed.clear()
        first = mine.sent + 1
        mine.sent += len(payloads)
        mine.delivered[mine.rank] = mine.sent
        return Run(group, mine.view_number, mine.rank, first, order, stamp, payloads)

    def receive(self, run: Run) -> list[Run]:
        """Take a run from another member; return what can be delivered now, in order.

        A run at fault raises :class:`PeerError` and changes nothing.
        """
        group = self._groups.get(run.group)
        if group is None:
            message = f"a run is for group number {run.group}, of which this process is no member"
            raise PeerError(message)
        fresh = self._fresh(group, run)
        if fresh is None:
            return []
        lack = group.lack(fresh)
        group.received[fresh.sender] = last = fresh.first + len(fresh.payloads) - 1
        queue = self._queue
        if lack is not None:
            queue.hold(fresh, lack)
            return []
        group.delivered[fresh.sender] = last
        group.changed[fresh.sender] = None
        ready = [fresh]
        if queue.depth:
            self._cascade(ready)
        return ready

    def _fresh(self, group: _Group, run: Run) -> Run | None:
        """Refuse what no correct process sends; cut off what was delivered before."""
        sender = run.sender
        if run.view != group.view_number:
            message = f"a run is for view {run.view} of {group.view.group}, not {group.view_number}"
            raise PeerError(message)
        if sender >= group.size or sender == group.rank:
            message = f"a run claims sender number {sender} in a view of {group.size}"
            raise PeerError(message)
        if not self._fifo_channels:
            return _after(run, group.delivered[sender])
        expected = group.received[sender] + 1
        if run.first != expected:
            what = "repeats" if run.first < expected else "skips to"
            message = f"a run {what} message {run.first} of member {sender}, expected {expected}"
            raise PeerError(message)
        return run

    def _cascade(self, ready: list[Run]) -> None:
        """Extend ``ready``, one delivered run, with what that unblocks, in order of receipt."""
        queue, groups = self._queue, self._groups
        run: Run | None = ready[0]
        while run is not None:
            group = groups[run.group]
            for arrival, woken in queue.wake(run.group, run.sender, group.delivered[run.sender]):
                lack = groups[woken.group].lack(woken)
                if lack is None:
                    queue.put_ready(arrival, woken)
                else:
                    queue.hold_again(arrival, woken, lack)
            run = self._take_ready()
            if run is not None:
                group = groups[run.group]
                group.delivered[run.sender] = run.last
                group.changed[run.sender] = None
                ready.append(run)

    def _take_ready(self) -> Run | None:
        """Take the next ready run, without what a duplicate of it has delivered meanwhile."""
        while (run := self._queue.take_ready()) is not None:
            fresh = _after(run, self._groups[run.group].delivered[run.sender])
            if fresh is not None:
                return fresh
        return None


def _after(run: Run, delivered: int) -> Run | None:
    """Return what of ``run`` comes after its sender's message number ``delivered``."""
    if run.first > delivered:
        return run
    return run.after(delivered) if run.last > delivered else None

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

Several groups (ISIS 6.1; 000-2). A process counts for each of its groups; a run to one group waits,
besides, for what the stamps that it carries of its receiver's OTHER groups name (``knowledge``). A
stamp of a view that the receiver has left says nothing; one of a view that it has still to install,
also its first, waits for that (000-25, 001-10). All groups share one delay queue, and what is
ready leaves in order of receipt, whatever its group (000-15).

A closed view. When the flush of a group has ended here (``close``), what has not come never will:
an entry that names it counts as reached, and so does one that names what can never be delivered,
because a predecessor of the same group is lost. So two groups never wait for each other in a
circle.

Frozen (000-20). While a process waits to multicast until its past is safe, it delivers nothing, so
that its past does not grow; it receives and acknowledges as ever.

A FIFO multicast shares its sender's numbers but carries no counts: it waits for its sender's
earlier messages only. Causality therefore does not pass through it: a causal multicast comes
after whatever its sender had delivered, also FIFO messages, but a FIFO message itself may come
before what its sender had delivered.
"""

from collections.abc import Sequence

from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupNumber, Rank
from antiphon.core.runs import PORT_APPLICATION, Foreign, Letter, Order, Run, Stamp
from antiphon.core.views import View
from antiphon.ordering.delay_queue import DelayQueue, Lack
from antiphon.ordering.knowledge import NOBODY, VIEW, Knowledge, Reach
from antiphon.ordering.left_over import is_kept, kept_counts
from antiphon.ordering.settling import NEVER
from antiphon.ordering.total import TotalOrder

NO_TOTAL_ORDER = "CBCAST alone gives no total order: multicast in causal or fifo order"


class VectorClock:
    """What a process has sent, received and delivered in one of its groups, in one view."""

    __slots__ = (
        "changed",
        "delivered",
        "is_uniform",
        "kept",
        "rank",
        "reach",
        "received",
        "recent",
        "sent",
        "size",
        "told",
        "total",
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
        self.is_uniform = False
        self.total: TotalOrder | None = None
        # By sender, how much can still be delivered, once the flush of the view has ended.
        self.kept: list[int] | None = None

    @property
    def has_unsaid(self) -> bool:
        """Whether the process has given turns of the total order that nobody else knows of."""
        return self.total is not None and bool(self.total.unsaid)

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
        """Return an entry of another group's run that is still waited for; None: there is none."""
        kept, delivered = self.kept, self.delivered
        for rank, count in entries:
            if rank >= self.size:
                return rank, count  # nonsense: see check_stamp
            wanted = count if kept is None else min(count, kept[rank])
            if delivered[rank] < wanted:
                return rank, wanted
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

    __slots__ = ("_expected", "_fifo_channels", "_groups", "_queue", "is_frozen", "knowledge")

    def __init__(self, *, fifo_channels: bool = True) -> None:
        """Start in no group."""
        self._fifo_channels = fifo_channels
        self._groups: dict[int, VectorClock] = {}
        self._expected: dict[int, int] = {}  # first views that are agreed on, by group
        self._queue = DelayQueue()
        self.is_frozen = False
        """Whether nothing is delivered for now."""
        self.knowledge: Knowledge | None = None
        """What is known of other groups, once there is a second one."""

    @property
    def queue_depth(self) -> int:
        """How many runs are held back."""
        return self._queue.depth

    # Groups and views.

    def install(self, group: GroupNumber, view: View, rank: Rank) -> None:
        """Enter the first, and so far only, view of a group."""
        if group in self._groups:
            message = f"group {view.group} is joined already"
            raise UsageError(message)
        self._enter(group, VectorClock(view, rank))

    def advance(self, group: GroupNumber, view: View, rank: Rank) -> list[Run]:
        """Enter the next view of a group, with all counts at zero; return what is discarded.

        After a flush only orphans are still held: a message in their past died with its sender
        (ISIS 5.5 (3)). They are the same everywhere. What is ready by now is not delivered before
        the next input: :meth:`drain`.
        """
        before = self._groups.get(group)
        is_next = before is None or view.number > before.view_number
        assert is_next, "views are entered in order"
        orphans = self._queue.drop(group)
        self._enter(group, VectorClock(view, rank))
        return orphans

    def _enter(self, group: int, clock: VectorClock) -> None:
        self._groups[group] = clock
        self._expected.pop(group, None)
        if self.knowledge is None and len(self._groups) > 1:
            self._know()
        elif self.knowledge is not None:
            self.knowledge.note_view(group, clock)
        self._look_again(self._queue.wake_group(group))

    def expect(self, group: GroupNumber, view_number: int) -> None:
        """Be about to enter a group: whatever depends on its first view here waits for that.

        Nobody multicasts in a view before all who joined in it know of it (001-10).
        """
        assert group not in self._groups, "it is joined already"
        self._expected.setdefault(group, view_number)

    def leave(self, group: GroupNumber, view_number: int | None = None) -> list[Run]:
        """Be in a group no longer; return what is discarded. ``view_number``: of the view without.

        What is ready by now is not delivered before the next input: :meth:`drain`.
        """
        orphans = self._queue.drop(group)
        self._expected.pop(group, None)
        clock = self._groups.pop(group, None)
        if clock is not None and self.knowledge is not None:
            self.knowledge.leave(group, max(view_number or 0, clock.view_number))
        self._look_again(self._queue.wake_group(group))
        return orphans

    def _know(self) -> Knowledge:
        """Begin to take note of all groups."""
        assert self.knowledge is None, "it is begun once"
        knowledge = self.knowledge = Knowledge(self._groups)
        for group, clock in self._groups.items():
            knowledge.note_view(group, clock)
            for rank, count in enumerate(clock.delivered):
                if count or (rank == clock.rank and clock.sent):
                    knowledge.note(group, clock, rank)
        return knowledge

    def see(self, group: GroupNumber, reach: Reach) -> None:
        """Tell who knows how far the messages of a group have got."""
        self._groups[group].reach = reach

    def close(self, group: GroupNumber) -> None:
        """The flush of a group's view has ended here: what has not come will never come.

        What is ready by now is not delivered before :meth:`drain`.
        """
        clock = self._groups[group]
        if clock.kept is not None:
            return
        held = (run for run in self._queue.held() if run.group == group)
        clock.kept = kept_counts(self.received(group), held)
        self._look_again(self._queue.wake_group(group))

    def is_closed(self, group: GroupNumber) -> bool:
        """Whether the flush of a group's view has ended here."""
        return self._groups[group].kept is not None

    def is_held(self, group: GroupNumber) -> bool:
        """Whether something of a closed view, which can be delivered, has still to be."""
        kept = self._groups[group].kept
        assert kept is not None, "its flush has ended"
        return any(run.group == group and is_kept(run, kept) for run in self._queue.held())

    # What is known.

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

    # Sending.

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
        foreign: Foreign = ()
        if self.knowledge is not None:
            if order is not Order.FIFO:
                foreign = self.knowledge.stamp(group)
            self.knowledge.note(group, mine, mine.rank)
        first = mine.sent + 1
        mine.sent += len(payloads)
        mine.delivered[mine.rank] = mine.sent
        return Run(
            group, mine.view_number, mine.rank, first, order, stamp, payloads, byte_count,
            False, port, None, foreign,  # noqa: FBT003 - not uniform
        )  # fmt: skip

    # Receiving.

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
        is_plain = not (run.stamp or run.foreign or self.is_frozen)
        if not (is_plain and run.first == delivered[sender] + 1) and self._hold(run, group):
            return []
        assert not self._queue.has_ready, "what was received earlier has been delivered"
        group.received[sender] = delivered[sender] = run.last
        group.changed[sender] = None
        if self.knowledge is not None or run.foreign:
            self._learn(run, group)
        ready = [run]
        if (run.group, sender) in self._queue.waiting_for:
            self._wake(run)
            self._drain(ready)
        return ready

    def _hold(self, run: Run, group: VectorClock) -> bool:
        """Hold a run that lacks something, or comes while nothing is delivered; tell if so."""
        lack = self.lack(run)
        if lack is None and not self.is_frozen:
            return False
        self.check_stamps(run)
        group.received[run.sender] = run.last
        if lack is not None:
            self._queue.hold(run, lack)
        else:
            self._queue.put_ready(self._queue.arrive(), run)
        return True

    def lack(self, run: Run) -> Lack | None:
        """Return one thing that ``run`` still waits for, or None when it is ready."""
        lack = self._groups[run.group].lack(run)
        return self._foreign_lack(run) if lack is None and run.foreign else lack

    def _foreign_lack(self, run: Run) -> Lack | None:
        """Return something that ``run`` waits for in other groups (000-2: not in its own)."""
        for group, view, entries in run.foreign:
            clock = self._groups.get(group)
            here = clock.view_number if clock is not None else self._expected.get(group, NEVER) - 1
            if view > here:
                return group, VIEW, view
            # What is of a view that has been left was delivered, or lost, by then.
            if clock is not None and view == here and group != run.group:
                lack = clock.lack_of(entries)
                if lack is not None:
                    return group, *lack
        return None

    def check_stamps(self, run: Run) -> None:
        """Refuse a run whose stamps name what nobody can have multicast, before it is held."""
        self._groups[run.group].check_stamp(run.stamp)
        for group, view, entries in run.foreign:
            clock = self._groups.get(group)
            if clock is not None and view == clock.view_number and group != run.group:
                clock.check_stamp(entries)

    def _learn(self, run: Run, clock: VectorClock) -> None:
        """Take note, for the sake of other groups, of a run that is delivered."""
        knowledge = self.knowledge if self.knowledge is not None else self._know()
        if type(run) is Letter:
            knowledge.merge(run.foreign, NOBODY)
            return
        knowledge.note(run.group, clock, run.sender)
        if run.foreign:
            knowledge.merge(run.foreign, run.group)

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

    # Delivering.

    def drain(self) -> list[Run]:
        """Return what can be delivered by now, in order of receipt."""
        ready: list[Run] = []
        self._drain(ready)
        return ready

    def _drain(self, ready: list[Run]) -> None:
        """Deliver what is ready, in order of receipt, and what that unblocks."""
        queue, groups = self._queue, self._groups
        while not self.is_frozen and (run := queue.take_ready()) is not None:
            group = groups[run.group]
            # A copy of the run may have been ready too, and have been delivered just now.
            fresh = _after(run, group.delivered[run.sender])
            if fresh is not None:
                group.delivered[fresh.sender] = fresh.last
                group.changed[fresh.sender] = None
                if self.knowledge is not None or fresh.foreign:
                    self._learn(fresh, group)
                ready.append(fresh)
                self._wake(fresh)

    def _wake(self, delivered: Run) -> None:
        """Look again at the runs that waited for what has just been delivered."""
        self._look_again(self._queue.wake(delivered.group, delivered.sender, delivered.last))

    def _look_again(self, woken: list[tuple[int, Run]]) -> None:
        """File runs that were woken anew, or put them to what is ready."""
        for arrival, run in woken:
            lack = self.lack(run)
            if lack is None:
                self._pass(arrival, run)
            else:
                self._queue.hold_again(arrival, run, lack)

    def _pass(self, arrival: int, run: Run) -> None:
        """A run lacks nothing any more."""
        self._queue.put_ready(arrival, run)


def _after(run: Run, delivered: int) -> Run | None:
    """Return what of ``run`` comes after its sender's message number ``delivered``."""
    if run.first > delivered:
        return run
    return run.after(delivered) if run.last > delivered else None

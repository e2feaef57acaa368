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

from collections.abc import Callable, Sequence

from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupNumber, Rank
from antiphon.core.runs import PORT_APPLICATION, Foreign, Letter, Order, Run
from antiphon.core.views import View
from antiphon.ordering.delay_queue import Lack
from antiphon.ordering.falsehoods import Falsehoods, corrected
from antiphon.ordering.knowledge import NOBODY, Knowledge
from antiphon.ordering.left_over import is_kept, kept_counts
from antiphon.ordering.lost_runs import LostRuns
from antiphon.ordering.own_stamps import VIEW, Reach
from antiphon.ordering.settling import NEVER
from antiphon.ordering.vector_clock import GroupClocks, VectorClock

_FIFO, _TOTAL = Order.FIFO, Order.TOTAL  # looking a member of an enum up is slow

NO_TOTAL_ORDER = "CBCAST alone gives no total order: multicast in causal or fifo order"


class VectorDomain(GroupClocks):
    """The causal machine of one process, for all its groups of one causality domain."""

    __slots__ = (
        "_expected", "_falsehoods", "_fifo_channels", "_lost", "encloses", "is_frozen",
        "is_relayed", "knowledge", "may_name",
    )  # fmt: skip

    def __init__(self, *, fifo_channels: bool = True) -> None:
        """Start in no group."""
        super().__init__()
        self._fifo_channels = fifo_channels
        self._expected: dict[int, int] = {}  # first views that are agreed on, by group
        self._lost: LostRuns | None = None
        self._falsehoods: Falsehoods | None = None
        self.is_frozen = False
        """Whether nothing is delivered for now."""
        self.is_relayed = False
        """Whether what is being taken comes from another process than its sender."""
        self.knowledge: Knowledge | None = None
        """What is known of other groups, once there is a second one."""
        self.may_name: Callable[[int], bool] | None = None
        """Whether stamps of a group that the process is not in are needed; None: all are."""
        self.encloses: Callable[[int, int], bool] | None = None
        """Whether who gets a run of the second group has got before what was multicast in the
        first, for all are members of that; None: nobody knows."""

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
        self._lose(orphans)
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
        self._lose(orphans)
        self._expected.pop(group, None)
        if group in self._groups:
            # Also from an only group: what is known of it matters to the next one.
            knowledge = self.knowledge if self.knowledge is not None else self._know()
            knowledge.leave(group, self._groups.pop(group), view_number)
        self._look_again(self._queue.wake_group(group))
        return orphans

    def _know(self) -> Knowledge:
        """Begin to take note of all groups."""
        assert self.knowledge is None, "it is begun once"
        knowledge = self.knowledge = Knowledge(self._groups, self.may_name, self.encloses)
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
        held = [run for run in self._queue.held() if run.group == group]
        kept = clock.kept = kept_counts(self.received(group), held)
        self._lose([run for run in held if not is_kept(run, kept)])
        self._look_again(self._queue.wake_group(group))

    def _lose(self, orphans: Sequence[Run]) -> None:
        """These runs will never be delivered here."""
        if orphans:
            self._lost = self._lost if self._lost is not None else LostRuns()
            self._lost.note(orphans)

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
        if order is _TOTAL:
            raise UsageError(NO_TOTAL_ORDER)
        mine = self._groups.get(group)
        if mine is None:
            message = f"this process is in no group with number {group}: join it first"
            raise UsageError(message)
        stamp = mine.take_stamp() if mine.changed and order is not _FIFO else ()
        foreign: Foreign = ()
        if self.knowledge is not None:
            if order is not _FIFO:
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
        waiting_for = self._queue.waiting_for
        if waiting_for and (run.group, sender) in waiting_for:
            self._wake(run)
            self._drain(ready)
        return ready

    def _hold(self, run: Run, group: VectorClock) -> bool:
        """Hold a run that lacks something, or comes while nothing is delivered; tell if so."""
        lack = self.lack(run)
        if lack is None and not self.is_frozen:
            return False
        self.check_stamp(run)
        group.received[run.sender] = run.last
        if lack is not None:
            self._queue.hold(run, lack)
        else:
            self._queue.put_ready(self._queue.arrive(), run)
        return True

    def lack(self, run: Run) -> Lack | None:
        """Return one thing that ``run`` still waits for, or None when it is ready."""
        # What came before in another group comes last, mostly: who waits for it is looked at once.
        lack = self._foreign_lack(run) if run.foreign else None
        if lack is not None:
            if self._falsehoods is None:
                return lack
            run.foreign = self._falsehoods.corrected(run.foreign, self._groups)
            lack = self._foreign_lack(run)
            if lack is not None:
                return lack
        clock = self._groups[run.group]
        # Only letters are of a view that was left: they lack nothing of that any more.
        return clock.lack(run) if run.view == clock.view_number else None

    def _foreign_lack(self, run: Run) -> Lack | None:
        """Return something that ``run`` waits for in other groups (000-2: not in its own)."""
        lost = self._lost
        for group, view, entries in run.foreign if lost is None else lost.behind(run.foreign):
            clock = self._groups.get(group)
            here = clock.view_number if clock is not None else self._expected.get(group, NEVER) - 1
            if view > here:
                return group, VIEW, view
            # What is of a view that has been left was delivered, or lost, by then.
            if clock is not None and view == here and group != run.group:
                size, delivered = clock.size, clock.delivered
                for rank, count in entries:  # nearly always all have been
                    if rank >= size or delivered[rank] < count:
                        lack = clock.lack_of(entries)
                        if lack is not None:
                            return group, *lack
                        break
        return None

    def check_stamp(self, run: Run) -> None:
        """Refuse a run whose stamp names what nobody can have multicast.

        Asked of every run before it is held: once it is, its faults would come to light while
        another, honest peer's run is being received, and that peer would be blamed for them.
        """
        mine = self._groups[run.group]
        if run.view == mine.view_number:
            fault = mine.fault_of(run.stamp, is_relayed=self.is_relayed)
            if fault:
                raise PeerError(fault)

    def _learn(self, run: Run, clock: VectorClock) -> None:
        """Take note, for the sake of other groups, of a run that is delivered."""
        knowledge = self.knowledge if self.knowledge is not None else self._know()
        foreign, via = run.foreign, int(run.group)
        if foreign and self._lost is not None:
            foreign = self._lost.behind(foreign)
        if type(run) is Letter:
            via = NOBODY
        elif clock.recent.get(run.sender) != knowledge.tick:
            knowledge.note(run.group, clock, run.sender)
        for stamp in foreign:
            if stamp[0] not in self._groups:
                knowledge.merge((stamp,), via)

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

    def disbelieve(self, group: int, rank: int, number: int, before: int) -> None:
        """Wait no longer for what was found not to be, where it was received before this place.

        That is messages of a member of another group up to this one; or, with the rank ``VIEW``,
        this view of it. What comes later and names it is lied to as well, unless it may be so by
        then (``falsehoods``). What is ready by that waits for a drain.
        """
        if self._falsehoods is None:
            self._falsehoods = Falsehoods()
        clock = self._groups[group]
        self._falsehoods.note(clock, group, rank, number)
        for place, run in self._queue.placed():
            if place < before:
                run.foreign = corrected(run.foreign, clock, group, rank, number)
        self._look_again(self._queue.wake_group(group))

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

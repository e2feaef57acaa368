"""All orders in one group: fifo, causal and total multicasts, uniform or not, and letters.

Law: the numbers of a sender run through all it multicasts, so each message comes after its
sender's earlier ones whatever their order: a process's own later CBCAST never overtakes its own
earlier ABCAST, at itself either (000-7). Beyond that

    fifo       waits for nothing
    causal     waits for its past (``vector``)
    total      waits for its past, and for its turn (``total``)
    uniform    waits for its mark too (``uniform``)
    letter     to one member: waits for its past, and is in nobody's numbers (ISIS 7.2)

and everything that is ready leaves in order of receipt. Plain runs take the short way of
``VectorDomain``, at its cost; everything else the long way below.

When a view is left, after its flush, ``finish`` delivers what is left: first what waited for a
mark, then the total messages by turn or by rule. What remains is orphaned.
"""

from collections.abc import Sequence

from antiphon.core.control import Confirm
from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupNumber, Rank
from antiphon.core.runs import PORT_APPLICATION, PORT_ORDER, Letter, Order, Run
from antiphon.core.views import View
from antiphon.ordering.gate import Arrived, Gate
from antiphon.ordering.total import POLICIES
from antiphon.ordering.vector import VectorClock, VectorDomain

_FIFO, _TOTAL = Order.FIFO, Order.TOTAL


class MixedDomain(VectorDomain):
    """The ordering machine of one process in a dynamic group."""

    __slots__ = ("_gates", "_has_written", "_policy")

    def __init__(self, policy: str = "follow") -> None:
        """Start in no group; ``policy`` says where the token goes (``total``)."""
        super().__init__()
        self._policy = POLICIES[policy]
        self._gates: dict[int, Gate] = {}
        self._has_written = False  # a letter, since the last run with a stamp

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

    def is_clear(self, group: GroupNumber) -> bool:
        """Whether a plain multicast would be delivered here at once, and carry nothing."""
        mine, gate = self._groups[group], self._gates[group]
        return (
            mine.delivered[mine.rank] == mine.sent
            and not gate.total.unsaid
            and not gate.uniform.is_active
            and not self._has_written
        )

    # Views.

    def advance(
        self, group: GroupNumber, view: View, rank: Rank, *, has_holder: bool = True
    ) -> list[Run]:
        """Enter the next view; return what is discarded.

        Without a holder, because a newer view is known already, nobody gives turns in this one.
        """
        orphans = super().advance(group, view, rank)
        self._has_written = False
        self._gates[group] = Gate(
            rank, self._groups[group].delivered, self._policy(), has_holder=has_holder
        )
        return orphans

    def stop(self, group: GroupNumber) -> list[tuple[Run, list[Run]]]:
        """A newer view is known: give no turn any more; return the last lists, as multicast."""
        last_words: list[tuple[Run, list[Run]]] = []
        gate = self._gates.get(group)
        if gate is not None:
            while gate.total.unsaid:  # all of them: this process has delivered by these turns
                last_words.append(self._multicast_order(group, is_last=True))
            gate.total.stop()
        return last_words

    def finish(self, group: GroupNumber) -> list[Run]:
        """Leave the view: deliver all that can be, in an order that is the same everywhere."""
        ready: list[Run] = []
        gate = self._gates.get(group)
        if gate is None:
            return ready
        gate.total.stop()
        self._put(gate.leave())
        self._drain(ready)
        while (arrived := gate.take_left_over()) is not None:
            self._put([arrived])
            self._drain(ready)
        assert not gate.depth, "nothing waits for a turn or a mark any more"
        return ready

    # Sending.

    def multicast_any(
        self,
        group: GroupNumber,
        payloads: Sequence[bytes],
        order: Order,
        byte_count: int | None = None,
        *,
        uniform: bool = False,
        port: int = PORT_APPLICATION,
        is_last: bool = False,
    ) -> tuple[Run, list[Run]]:
        """Multicast a run in any order; return it, and what can be delivered here now."""
        mine, gate = self._groups[group], self._gates[group]
        is_first = mine.delivered[mine.rank] == mine.sent
        # What follows a letter must lack all that the letter lacks, so a fifo run has a stamp then.
        has_stamp = order is not _FIFO or self._has_written
        stamp = mine.take_stamp() if mine.changed and has_stamp else ()
        self._has_written = self._has_written and not has_stamp
        first, last = mine.sent + 1, mine.sent + len(payloads)
        if order is _TOTAL and is_first:
            gate.total.give_turn(mine.rank, last)
        # Not on fifo runs: their past is not linked to that of the lists before.
        may_move = is_first and not is_last
        sets_order = gate.total.say(last, may_move=may_move) if order is not _FIFO else None
        mine.sent = last
        run = Run(
            group, mine.view_number, mine.rank, first, order, stamp, payloads, byte_count,
            uniform, port, sets_order,
        )  # fmt: skip
        self._settle(mine, gate, run)
        if is_first:
            self._admit(gate, self._queue.arrive(), run)
        else:
            self._queue.hold(run, (group, mine.rank, first - 1))
        ready: list[Run] = []
        self._put(gate.look_at_turn())
        self._drain(ready)
        return run, ready

    def multicast_order(self, group: GroupNumber) -> tuple[Run, list[Run]] | None:
        """Multicast the sets-order list by itself, if one is due."""
        if not self._gates[group].total.unsaid:
            return None
        return self._multicast_order(group, is_last=False)

    def _multicast_order(self, group: GroupNumber, *, is_last: bool) -> tuple[Run, list[Run]]:
        return self.multicast_any(group, [b""], Order.CAUSAL, 0, port=PORT_ORDER, is_last=is_last)

    def write_letter(self, group: GroupNumber, payload: bytes, port: int) -> Letter:
        """Stamp a letter; nothing is counted."""
        mine = self._groups[group]
        self._has_written = True
        return Letter(
            group, mine.view_number, mine.rank, mine.sent + 1, Order.CAUSAL, mine.stamp(),
            [payload], len(payload), port=port,
        )  # fmt: skip

    # Receiving.

    def receive_plain(self, run: Run) -> bool:
        """Take a plain run that lacks nothing, and for which nothing waits; else do nothing.

        Returns whether it was taken, and so delivered. Written out: most runs come this way.
        """
        group = self._groups.get(run.group)
        sender, first = run.sender, run.first
        if (
            group is None
            or run.is_gated
            or run.sets_order is not None
            or run.view != group.view_number
            or sender >= group.size
            or sender == group.rank
            or first != group.received[sender] + 1
            or self._gates[run.group].uniform.is_active
            or (run.group, sender) in self._queue.waiting_for
        ):
            return False
        delivered = group.delivered
        if first != delivered[sender] + 1:
            return False
        for rank, count in run.stamp:
            if rank >= group.size or delivered[rank] < count:
                return False
        group.received[sender] = delivered[sender] = run.last
        group.changed[sender] = None
        return True

    def receive(self, run: Run) -> list[Run]:
        """Take a run from another member; return what can be delivered now, in order."""
        gate = self._gates.get(run.group)
        if gate is None or not (
            run.is_gated or run.sets_order is not None or gate.uniform.is_active
        ):
            return VectorDomain.receive(self, run)  # every plain run: super() would cost more
        return self._receive_any(self._groups[run.group], gate, run)

    def _receive_any(self, group: VectorClock, gate: Gate, run: Run) -> list[Run]:
        if run.view != group.view_number or run.sender >= group.size or run.sender == group.rank:
            raise PeerError(self._say_misplaced(run))
        if run.first != group.received[run.sender] + 1:
            raise PeerError(group.say_out_of_turn(run))
        group.check_stamp(run.stamp)
        if run.sets_order is not None:
            gate.total.check(run)
        group.received[run.sender] = run.last
        assert group.delivered[run.sender] < run.last, "it was received once"
        self._settle(group, gate, run)
        if run.sets_order is not None:
            gate.total.learn(run)  # on receipt, before its own past (000-5, 000-6)
        lack = group.lack(run)
        if lack is not None:
            self._queue.hold(run, lack)
        else:
            self._admit(gate, self._queue.arrive(), run)
        self._put(gate.look_at_turn())
        ready: list[Run] = []
        self._drain(ready)
        return ready

    def receive_letter(self, letter: Letter) -> list[Run]:
        """Take a letter of the current view; return what can be delivered now."""
        group = self._groups[letter.group]
        if letter.sender >= group.size or letter.sender == group.rank:
            raise PeerError(self._say_misplaced(letter))
        group.check_stamp(letter.stamp)
        lack = group.lack(letter)
        if lack is None:
            return [letter]
        self._queue.hold(letter, lack)
        return []

    def confirm(self, group: GroupNumber, rank: int, confirm: Confirm) -> list[Run]:
        """Take what a member confirms and marks (``uniform``); return what can be delivered."""
        mine, gate = self._groups[group], self._gates[group]
        if confirm.settled > mine.sent or confirm.marked > mine.received[rank]:
            message = f"member {rank} confirms what was never multicast"
            raise PeerError(message)
        gate.uniform.learn(rank, confirm)
        self._put(gate.look_again(rank))
        if gate.uniform.mark_own(mine.sent):
            self._put(gate.look_again(mine.rank))
        self._put(gate.look_at_turn())
        ready: list[Run] = []
        self._drain(ready)
        return ready

    def confirmations(self, group: GroupNumber) -> list[tuple[int, Confirm]]:
        """Return what to confirm and mark, to which members."""
        return self._gates[group].uniform.say(self._groups[group].view_number)

    # Inside.

    def _settle(self, group: VectorClock, gate: Gate, run: Run) -> None:
        """Note a run's receipt for the sake of uniform ones, once there are any."""
        uniform = gate.uniform
        if run.uniform and not uniform.is_active:
            received = self.received(GroupNumber(run.group))
            received[run.sender] = run.first - 1
            held = [held for held, _ in self._queue.waiting() if type(held) is Run]
            uniform.activate(received, group.delivered, held + gate.waiting())
        if uniform.is_active:
            uniform.take(run)
            uniform.mark_own(group.sent)  # in a view of one there is nobody to confirm

    def _admit(self, gate: Gate, arrival: int, run: Run) -> None:
        """A run's past has been delivered."""
        if run.is_gated:
            self._put(gate.admit(arrival, run))
        else:
            self._queue.put_ready(arrival, run)

    def _put(self, arrived: list[Arrived]) -> None:
        for arrival, run in arrived:
            self._queue.put_ready(arrival, run)

    def _drain(self, ready: list[Run]) -> None:
        """Deliver what is ready, in order of receipt, and what that unblocks."""
        while (run := self._queue.take_ready()) is not None:
            if type(run) is Letter:
                ready.append(run)
                continue
            group, gate = self._groups[run.group], self._gates[run.group]
            assert run.first == group.delivered[run.sender] + 1, "channels are FIFO: no copies"
            group.delivered[run.sender] = run.last
            is_here = run.sender == group.rank or run.last <= group.received[run.sender]
            assert is_here, "what is delivered was received"
            if run.sender != group.rank:
                group.changed[run.sender] = None
            ready.append(run)
            if run.order is _TOTAL:
                gate.total.note_delivered()
            self._wake(run)
            if run.sets_order is not None and run.sets_order.successor == group.rank:
                self._put(gate.take_token(run))
            self._put(gate.look_at_turn())

    def _wake(self, delivered: Run) -> None:
        """Look again at the runs that waited for what has just been delivered."""
        queue = self._queue
        for arrival, run in queue.wake(delivered.group, delivered.sender, delivered.last):
            lack = self._groups[run.group].lack(run)
            if lack is None:
                self._admit(self._gates[run.group], arrival, run)
            else:
                queue.hold_again(arrival, run, lack)

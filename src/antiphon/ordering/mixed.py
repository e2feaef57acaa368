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

Several groups: turns and marks are of a group, the past is of the domain. Three things follow. A
message is confirmed (``uniform``) when all it depends on in other groups has been received, too. A
list by itself carries no stamps of other groups, and waits for none: it is no news to an
application, and what says last words must wait for nobody. And nothing is multicast in one group
while an own message of another is still to be delivered here (``has_undelivered``: the caller
looks). Else what is named might have no turn yet, and turns of two groups, given by holders that
are each in one of them, could wait for each other: p: w in A, x in B; q: y in B, u in A; A gives
turns to u, w, and B to x, y; whoever is in both waits for ever.

When a view is left, after its flush, marks are needed no more (``close``); when nothing of it waits
for another group, ``finish`` delivers what is left: the total messages by turn or by rule. What
remains is orphaned.
"""

from collections.abc import Sequence

from antiphon.core.control import Confirm
from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupNumber, Rank
from antiphon.core.runs import PORT_APPLICATION, PORT_ORDER, Foreign, Letter, Order, Run
from antiphon.core.views import View
from antiphon.ordering.gate import Arrived, Gate
from antiphon.ordering.gated import GatedDomain
from antiphon.ordering.knowledge import EPOCHS, epoch_of
from antiphon.ordering.left_over import is_kept, total_order
from antiphon.ordering.settling import is_unsettled
from antiphon.ordering.total import POLICIES
from antiphon.ordering.vector import VectorDomain
from antiphon.ordering.vector_clock import VectorClock

_FIFO, _TOTAL = Order.FIFO, Order.TOTAL


class MixedDomain(GatedDomain):
    """The ordering machine of one process in a dynamic group, or in several of one domain."""

    __slots__ = ()

    # Views.

    def advance(
        self,
        group: GroupNumber,
        view: View,
        rank: Rank,
        *,
        has_holder: bool = True,
        token: str | None = None,
    ) -> list[Run]:
        """Enter the next view; return what is discarded.

        Without a holder, because a newer view is known already, nobody gives turns in this one.
        ``token`` says where it goes in this group, if not as in others.
        """
        self._forget(group)
        orphans = super().advance(group, view, rank)
        policy = self._policy if token is None else POLICIES[token]
        self._gates[group] = Gate(
            rank, self._groups[group].delivered, policy(), has_holder=has_holder,
            elsewhere=self._is_unsettled,
        )  # fmt: skip
        self.excuse(group)  # who has not told it by now never will
        self._settle_elsewhere(group)
        return orphans

    def leave(self, group: GroupNumber, view_number: int | None = None) -> list[Run]:
        """Be in a group no longer; return what is discarded."""
        self._forget(group)
        self._gates.pop(group, None)
        self._barriers.pop(group, None)
        orphans = super().leave(group, view_number)
        self._settle_elsewhere(group)
        return orphans

    def close(self, group: GroupNumber) -> None:
        """The flush of a group's view has ended here: nothing waits for a mark any more."""
        if self.is_closed(group):
            return
        super().close(group)
        gate = self._gates[group]
        gate.total.conclude(self._left_over(group))
        self._put(gate.leave())
        self._put(gate.look_at_turn())
        self._settle_elsewhere(group)

    def is_held(self, group: GroupNumber) -> bool:
        """Whether something of a closed view, which can be delivered, has still to be."""
        return bool(self._gates[group].depth) or super().is_held(group)

    def _left_over(self, group: int) -> list[Run]:
        """Return the total messages of a closed view in the order in which all deliver them."""
        clock, gate = self._groups[group], self._gates[group]
        assert clock.kept is not None, "its flush has ended"
        held = [
            run
            for run in (*self._queue.held(), *gate.waiting())
            if run.group == group and type(run) is Run and is_kept(run, clock.kept)
        ]

        def first_of(ready: list[Run]) -> Run:
            first = min(epoch_of(run.foreign) for run in ready)
            return gate.total.first_of(run for run in ready if epoch_of(run.foreign) == first)

        return total_order(clock.delivered, held, first_of)

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
        # Not frozen: it is the same everywhere, whoever waits for something there.
        was_frozen, self.is_frozen = self.is_frozen, False
        self._put(gate.leave())
        self._drain(ready)
        while (arrived := gate.take_left_over()) is not None:
            self._put([arrived])
            self._drain(ready)
        self.is_frozen = was_frozen
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
        is_list: bool = False,
    ) -> tuple[Run, list[Run]]:
        """Multicast a run in any order; return it, and what can be delivered here now."""
        mine, gate = self._groups[group], self._gates[group]
        is_first = mine.delivered[mine.rank] == mine.sent
        # What follows a letter must lack all that the letter lacks, so a fifo run has a stamp then.
        has_stamp = order is not _FIFO or group in self._has_written
        stamp = mine.take_stamp() if mine.changed and has_stamp else ()
        if has_stamp:
            self._has_written.pop(group, None)
        foreign: Foreign = ()
        if self.knowledge is not None:
            if has_stamp and not is_list:
                foreign = self._stamp_others(mine, group, order)
            self.knowledge.note(group, mine, mine.rank)
        first, last = mine.sent + 1, mine.sent + len(payloads)
        is_now = is_first and not self.is_frozen and not self._is_early(mine)
        has_turn = order is not _TOTAL or is_now
        if order is _TOTAL and has_turn:
            gate.total.give_turn(mine.rank, last)
        # Not with what would still need a turn: who gets the token has to deliver it first.
        may_move = is_first and has_turn and not is_last and not self._undelivered
        # Not on fifo runs: their past is not linked to that of the lists before.
        sets_order = gate.total.say(last, may_move=may_move) if order is not _FIFO else None
        mine.sent = last
        run = Run(
            group, mine.view_number, mine.rank, first, order, stamp, payloads, byte_count,
            uniform, port, sets_order, foreign,
        )  # fmt: skip
        self._undelivered[group] = None
        self._settle(mine, gate, run)
        # Of other groups an own run lacks what the process has multicast there and not delivered.
        lack = self.lack(run)
        if lack is None:
            self._admit(gate, self._queue.arrive(), run)
        else:
            self._queue.hold(run, lack)
        ready: list[Run] = []
        self._put(gate.look_at_turn())
        self._drain(ready)
        return run, ready

    def _stamp_others(self, mine: VectorClock, group: GroupNumber, order: Order) -> Foreign:
        """Return the stamps of other groups; what has no turn is put in order by its epoch."""
        assert self.knowledge is not None, "there are other groups"
        foreign = self.knowledge.stamp(group)
        if mine.size == 1:  # nobody else is there to tell epochs apart, and who leaves may not wait
            return tuple(stamp for stamp in foreign if stamp[0] != EPOCHS)
        return self.knowledge.with_epoch(foreign) if order is _TOTAL else foreign

    def multicast_order(self, group: GroupNumber) -> tuple[Run, list[Run]] | None:
        """Multicast the sets-order list by itself, if one is due."""
        if not self._gates[group].total.unsaid:
            return None
        return self._multicast_order(group, is_last=False)

    def _multicast_order(self, group: GroupNumber, *, is_last: bool) -> tuple[Run, list[Run]]:
        return self.multicast_any(
            group, [b""], Order.CAUSAL, 0, port=PORT_ORDER, is_last=is_last, is_list=True
        )

    def multicast_news(self, group: GroupNumber) -> tuple[Run, list[Run]]:
        """Multicast nothing but what is known of other groups: before a letter tells one member.

        Where stamps are left out (``structure``), what one member learns all must be able to know.
        """
        return self.multicast_any(group, [b""], Order.CAUSAL, 0, port=PORT_ORDER)

    def write_letter(self, group: GroupNumber, payload: bytes, port: int) -> Letter:
        """Stamp a letter; nothing is counted."""
        mine = self._groups[group]
        self._has_written[group] = None
        know = self.knowledge
        return Letter(
            group, mine.view_number, mine.rank, mine.sent + 1, Order.CAUSAL, mine.stamp(),
            [payload], len(payload), port=port,
            foreign=know.stamp(group, is_letter=True) if know is not None else (),
        )  # fmt: skip

    # Receiving.

    def receive_plain(self, run: Run) -> bool:
        """Take a plain run that lacks nothing, and for which nothing waits; else do nothing.

        Returns whether it was taken, and so delivered. Written out: most runs come this way.
        """
        group = self._groups.get(run.group)
        sender, first = run.sender, run.first
        waiting_for = self._queue.waiting_for
        if (
            group is None
            or run.is_gated
            or run.sets_order is not None
            or run.view != group.view_number
            or sender >= group.size
            or sender == group.rank
            or first != group.received[sender] + 1
            or self._gates[run.group].uniform.is_active
            or (waiting_for and (run.group, sender) in waiting_for)
            or self.is_frozen
            or self._unconfirmed
            or self._barriers
        ):
            return False
        delivered = group.delivered
        if first != delivered[sender] + 1:
            return False
        for rank, count in run.stamp:
            if rank >= group.size or delivered[rank] < count:
                return False
        if run.foreign and not self._has_others(run):
            return False
        group.received[sender] = delivered[sender] = run.last
        group.changed[sender] = None
        if self.knowledge is not None or run.foreign:
            self._learn(run, group)
        return True

    def _has_others(self, run: Run) -> bool:
        """Whether all that a run names of other groups has been delivered here, and can be."""
        groups = self._groups
        for number, view, entries in run.foreign:
            group = groups.get(number)
            if group is None or group.view_number != view or self._lost is not None:
                return self._foreign_lack(run) is None and not self.foreign_fault_of(run)
            delivered, size = group.delivered, group.size
            for rank, count in entries:
                if rank >= size or delivered[rank] < count:
                    return False  # also what nobody can have multicast
        return True

    def receive(self, run: Run) -> list[Run]:
        """Take a run from another member; return what can be delivered now, in order."""
        gate = self._gates.get(run.group)
        if gate is None or not (
            run.is_gated or run.sets_order is not None or gate.uniform.is_active or self._barriers
        ):
            ready = VectorDomain.receive(self, run)  # every plain run: super() would cost more
        else:
            ready = self._receive_any(self._groups[run.group], gate, run)
        if self._unconfirmed:
            self._settle_elsewhere(run.group)
        return ready

    def _receive_any(self, group: VectorClock, gate: Gate, run: Run) -> list[Run]:
        if run.view != group.view_number or run.sender >= group.size or run.sender == group.rank:
            raise PeerError(self._say_misplaced(run))
        if run.first != group.received[run.sender] + 1:
            raise PeerError(group.say_out_of_turn(run))
        self.check_stamp(run)
        if run.sets_order is not None:
            gate.total.check(run)
        group.received[run.sender] = run.last
        assert group.delivered[run.sender] < run.last, "it was received once"
        self._settle(group, gate, run)
        if run.sets_order is not None:
            gate.total.learn(run)  # on receipt, before its own past (000-5, 000-6)
        lack = self.lack(run)
        if lack is not None:
            self._queue.hold(run, lack)
        else:
            self._admit(gate, self._queue.arrive(), run)
        self._put(gate.look_at_turn())
        ready: list[Run] = []
        self._drain(ready)
        return ready

    def receive_letter(self, letter: Letter) -> list[Run]:
        """Take a letter of this view, or an earlier one; return what can be delivered now."""
        group = self._groups[letter.group]
        is_current = letter.view == group.view_number
        if is_current and (letter.sender >= group.size or letter.sender == group.rank):
            raise PeerError(self._say_misplaced(letter))
        self.check_stamp(letter)
        lack = self.lack(letter)
        if lack is not None:
            self._queue.hold(letter, lack)
            return []
        self._queue.put_ready(self._queue.arrive(), letter)
        return self.drain()

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

    def enter_epoch(self, epoch: int, flushed: int) -> None:
        """Deliver what is of this epoch, and of no later one; ready runs wait for a drain."""
        super().enter_epoch(epoch, flushed)
        self._settle_elsewhere(EPOCHS)

    # Inside.

    def _settle(self, group: VectorClock, gate: Gate, run: Run) -> None:
        """Note a run's receipt for the sake of uniform ones, once there are any."""
        uniform = gate.uniform
        group.is_gated |= run.is_gated
        if run.uniform and not uniform.is_active:
            received = self.received(GroupNumber(run.group))
            received[run.sender] = run.first - 1
            held = [
                one for one in self._queue.held() if type(one) is Run and one.group == run.group
            ]
            uniform.activate(received, group.delivered, held + gate.waiting())
        if uniform.is_active:
            uniform.take(run)
            uniform.mark_own(group.sent)  # in a view of one there is nobody to confirm
            if uniform.waits_elsewhere:  # this run, or what was settled by it or held before it
                self._unconfirmed[run.group] = None

    def _admit(self, gate: Gate, arrival: int, run: Run) -> None:
        """A run's past has been delivered."""
        if run.is_gated:
            self._put(gate.admit(arrival, run))
        else:
            self._queue.put_ready(arrival, run)

    def _pass(self, arrival: int, run: Run) -> None:
        """A run lacks nothing any more; a letter waits for nothing else."""
        self._admit(self._gates[run.group], arrival, run)

    def _put(self, arrived: list[Arrived]) -> None:
        for arrival, run in arrived:
            self._queue.put_ready(arrival, run)

    def _drain(self, ready: list[Run]) -> None:
        """Deliver what is ready, in order of receipt, and what that unblocks."""
        while not self.is_frozen and (run := self._queue.take_ready()) is not None:
            group, gate = self._groups[run.group], self._gates[run.group]
            if self.knowledge is not None or run.foreign:
                self._learn(run, group)
            ready.append(run)
            if type(run) is Letter:
                continue
            self._count(run, group)
            if run.order is _TOTAL:
                gate.total.note_delivered()
            self._wake(run)
            if run.sets_order is not None and run.sets_order.successor == group.rank:
                self._put(gate.take_token(run))
            self._put(gate.look_at_turn())

    def _count(self, run: Run, group: VectorClock) -> None:
        """A run is delivered."""
        assert run.first == group.delivered[run.sender] + 1, "channels are FIFO: no copies"
        group.delivered[run.sender] = run.last
        is_here = run.sender == group.rank or run.last <= group.received[run.sender]
        assert is_here, "what is delivered was received"
        if run.sender != group.rank:
            group.changed[run.sender] = None
        elif run.last == group.sent:
            self._undelivered.pop(run.group, None)

    # Uniform messages that name what is of another group.

    def disbelieve(self, group: int, rank: int, number: int, before: int) -> None:
        """Do the same; uniform messages may have waited for it to be confirmed."""
        super().disbelieve(group, rank, number, before)
        self._settle_elsewhere(group)

    def _settle_elsewhere(self, group: int) -> None:
        """Something has come in a group: look again at what waits for it to be confirmed."""
        for number in [number for number in self._unconfirmed if number != group]:
            uniform = self._gates[number].uniform
            if uniform.look_again():
                self.restless[number] = None
            if not uniform.waits_elsewhere:
                del self._unconfirmed[number]

    def _is_unsettled(self, run: Run) -> bool:
        """Whether something of another group that a run depends on is not here."""
        at_gates = (one for gate in self._gates.values() for one in gate.waiting())
        expected = self._expected
        if EPOCHS in expected:  # of earlier epochs all is here, if not delivered
            expected = {**expected, EPOCHS: self._flushed + 1}
        return is_unsettled(run, self._groups, expected, [*self._queue.held(), *at_gates])

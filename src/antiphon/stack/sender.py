"""What one process sends in one group: from the send queue to the group, as fast as that takes it.

Rule. What is handed over leaves in program order: at once if nothing is before it and the group
lets it, else it waits its turn. The application is admitted while the group is in a view that
nobody is leaving, little enough is on its way (``flow_control``), and the queue is not full; for
letters, while few of them wait. A member that holds up what waits, and has not moved for too long,
is given up (``stalls``).

Invariant: nothing is sent that was not handed over, or twice, or out of order; what is handed over
is sent, or returned to the application (``send_queue``), or was a letter to who is gone.
"""

from antiphon.core.errors import UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, Order
from antiphon.ordering.tree_stability import TreeStability
from antiphon.stack.agenda import Agenda
from antiphon.stack.between import let_wait
from antiphon.stack.effects import AdmitSenders, GiveUpProcess, SendLetter
from antiphon.stack.flow_control import FlowControl
from antiphon.stack.inputs import ACKNOWLEDGE, LetterRequested, MulticastRequested
from antiphon.stack.member import Member
from antiphon.stack.member_datagrams import PAYLOADS_BYTES_SAFE
from antiphon.stack.send_queue import SendQueue, WaitingLetter, WaitingRun
from antiphon.stack.stalls import Awaited, Stalls

ACKNOWLEDGE_US = 5_000
"""How long an acknowledgement may wait that nobody has asked for, to serve several letters."""


class Sender:
    """Sends for one process in one group."""

    __slots__ = ("_admits", "_agenda", "_flow", "_member", "_receiver", "_stalls", "queue")

    def __init__(
        self, member: Member, queue: SendQueue, flow: FlowControl, agenda: Agenda, stall_us: int
    ) -> None:
        """Nobody is admitted yet."""
        self._member, self._receiver = member, member.receiver
        self.queue = queue
        self._flow = flow
        self._agenda = agenda
        self._stalls = Stalls(stall_us)
        self._admits = (False, False)

    # What the application hands over.

    def multicast(self, asked: MulticastRequested, *, is_over: bool = False) -> None:
        """Multicast a run, now or in its turn; if this incarnation is over, in the next one's."""
        if asked.byte_count > PAYLOADS_BYTES_SAFE:  # else none of them is too large
            self._member.check_payloads(asked.payloads)
        queue, how = self.queue, asked.how
        self._member.check(how.order, uniform=how.uniform)
        expires_us = None if how.lifetime_us is None else self._agenda.now_us + how.lifetime_us
        item = WaitingRun(how, asked.payloads, asked.byte_count, expires_us)
        places = queue.places
        is_next = not (is_over or queue.waiting or queue.is_void)
        is_next = is_next and (places.order is None or places.is_first)
        if is_next and self._may_multicast(item) and not self._is_void(asked.incarnation):
            rest = self._send_run(item)
            if rest is not None:
                let_wait(queue, rest, asked.incarnation)
        else:
            let_wait(queue, item, asked.incarnation)

    def send(self, asked: LetterRequested) -> None:
        """Send a letter, now or in its turn."""
        if asked.to == self._member.me:
            message = "a letter goes to another member: a process has no need to send itself one"
            raise UsageError(message)
        item = WaitingLetter(asked.to, asked.payload, PORT_APPLICATION)
        let_wait(self.queue, item, asked.incarnation)

    def _is_void(self, incarnation: int) -> bool:
        """Whether what an application began to send in one incarnation belongs to an ended one."""
        return incarnation not in {0, self.queue.incarnation}

    # What leaves.

    def send_next(self) -> bool:
        """Send the first thing that waits, or drop it; return whether it may go out now."""
        queue, member = self.queue, self._member
        assert queue.waiting, "something is to be sent"
        if not queue.places.is_first:
            return False
        item = queue.waiting[0]
        if isinstance(item, WaitingRun):
            if not self._may_multicast(item):
                return False
            queue.take()
            rest = self._send_run(item)
            if rest is not None:
                queue.put_back(rest)
        elif item.to in member.receiver.ranks:
            return self._may_send(item) and self._send_letter(item)
        elif member.may_multicast:  # in a view, and one without that process
            queue.take()
        else:
            return False
        return True

    def _may_multicast(self, run: WaitingRun) -> bool:
        member = self._member
        if member.blocks is not None and not member.blocks.group.has_room:
            return False
        # Written out, as nearly all groups are alone in their domain.
        if not member.domain.is_shared:
            return member.may_multicast
        is_free = run.how.order is Order.FIFO  # as ``Member.is_safe``
        return member.may_multicast and (is_free or member.domain.is_safe_for(member.group))

    def _send_letter(self, item: WaitingLetter) -> bool:
        """Send the letter that is first, or what has to be said to all before it, if that may."""
        member, agenda = self._member, self._agenda
        if (epochs := member.domain.epochs) is not None:
            epochs.cross(member.group)
        if member.has_news:
            if member.may_multicast:
                agenda.work.extend(member.multicast_news())
                return True
            return False
        self.queue.take()
        letter = member.write_letter(item.to, item.payload, item.port)
        agenda.done.append(SendLetter(item.to, letter))
        return True

    @property
    def awaits_receipts(self) -> bool:
        """Whether the first thing that waits would leave, but for receipts in other groups."""
        queue, member = self.queue, self._member
        if not queue.waiting or not queue.places.is_first:
            return False
        item = queue.waiting[0]
        if isinstance(item, WaitingRun):
            may, order = member.may_multicast, item.how.order
        else:
            may, order = member.may_send(item.to), Order.CAUSAL
        return may and not member.is_safe(order) and member.domain.awaits_receipts

    def _may_send(self, letter: WaitingLetter) -> bool:
        """Whether a letter may go out now.

        The application's go one by one: who does not read does not acknowledge, and is to hold
        its correspondents up.
        """
        if not self._member.may_send(letter.to) or not self._member.is_safe(Order.CAUSAL):
            return False
        return letter.port != PORT_APPLICATION or self._member.letters.waiting_for is None

    def _send_run(self, item: WaitingRun) -> WaitingRun | None:
        """Multicast a run; return what of it is too much for one."""
        agenda, epochs, rest = self._agenda, self._member.domain.epochs, None
        if self._member.blocks is not None:
            item, rest = item.up_to(self._member.blocks.group.run_bytes_max)
        order, uniform, port, priority, _ = item.how
        if epochs is not None and order is not Order.FIFO:
            epochs.cross(self._member.group)
        agenda.work.extend(
            self._member.multicast(
                item.payloads, order, agenda.now_us, item.byte_count, uniform=uniform, port=port,
                priority=priority, expires_us=item.expires_us,
            )
        )  # fmt: skip
        return rest

    # Who may hand over more, and who holds it up.

    def admit(self) -> None:
        """Tell the application whether it may hand over more, if that has changed."""
        receiver, queue = self._receiver, self.queue
        may = (
            self._member.is_open
            and not queue.is_full
            and self._flow.has_room(receiver.kept_bytes, receiver.members)
            and (self._member.blocks is None or self._member.blocks.group.is_open)
        )
        admits = may, may and queue.takes_letters
        if admits != self._admits:
            self._admits = admits
            self._agenda.done.append(AdmitSenders(*admits))

    def look_for_stalls(self) -> None:
        """Give up who holds up what waits to be sent, or takes no datagram; every heartbeat."""
        for who, why in self._stalls.look(self._agenda.now_us, self._awaited()):
            self.give_up(who, why)

    def give_up(self, who: ProcessId, why: str) -> None:
        """A member takes nothing: go on without it, if the others agree."""
        agenda = self._agenda
        assert who != self._member.me, "nobody gives itself up"
        agenda.work.append(GiveUpProcess(who, why))
        agenda.work.extend(self._member.lose(who, agenda.now_us, is_certain=False))

    def restore(self, who: ProcessId) -> None:
        """A member that was given up is there after all."""
        self._stalls.restore(who)

    def _awaited(self) -> dict[Awaited, int]:
        """Return who holds senders up, and how far each has come."""
        member, flow = self._member, self._flow
        if not member.is_open:
            return {}
        blocks = member.blocks.group if member.blocks is not None else None
        found: dict[Awaited, int] = {}
        if blocks is not None:  # what is lost for good is lost whoever waits
            found |= {(who, "datagrams"): count for who, count in blocks.awaited().items()}
        if not self.queue.waiting and not flow.are_senders_waiting:
            return found
        awaited = member.letters.waiting_for
        if awaited is not None:
            assert awaited in member.receiver.ranks, "nobody waits for who is gone"
            found[awaited, "letter"] = member.letters.acknowledged_by(awaited)
        if blocks is not None:
            found |= {(who, "messages"): count for who, count in blocks.unconfirmed().items()}
        if not flow.has_room(member.kept_bytes, member.members):
            tree = member.receiver.tree
            found |= self._unconfirmed() if tree is None else self._unconfirmed_by(tree)
        return found

    def _unconfirmed(self) -> dict[Awaited, int]:
        """Return who has not confirmed all, or takes no more for now."""
        member, flow = self._member, self._flow
        sent = member.receiver.received()[member.members.index(member.me)]
        return {
            (who, "messages"): flow.progress(who)
            for who in member.members
            if flow.confirmed.get(who, 0) < sent or who in flow.full
            if who != member.me
        }

    def _unconfirmed_by(self, tree: TreeStability) -> dict[Awaited, int]:
        """Return who holds receipts up, as the root says; and neighbours that take no more."""
        member, full = self._member, self._flow.full
        seen = sum(map(tree.stable, range(len(member.members))))
        found: dict[Awaited, int] = {
            (who, "messages"): seen for who in member.members if who in full
        }
        for rank, count in tree.holding:
            if member.members[rank] != member.me:
                found[member.members[rank], "messages"] = count
        return found

    def acknowledge_soon(self) -> None:
        """See to it that what others wait for is said, at once or a little later."""
        member, agenda = self._member, self._agenda
        letters = member.letters
        is_order_due = member.ordering.is_due(member.group)
        if not (is_order_due or letters.unacknowledged):
            return
        if not (is_order_due or letters.is_due) and agenda.is_set(ACKNOWLEDGE):
            return  # nobody waits, and it will be said as soon as it would be now
        withhold = self._flow.is_behind
        if member.is_due or letters.may_acknowledge(withhold=withhold):
            agenda.set_timer(ACKNOWLEDGE, agenda.now_us)
        elif letters.unacknowledged and (not withhold or any(letters.unacknowledged.values())):
            agenda.set_timer(ACKNOWLEDGE, agenda.now_us + ACKNOWLEDGE_US)

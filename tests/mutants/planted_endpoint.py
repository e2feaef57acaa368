"""Planted bugs of the endpoint: send queue, acknowledgements, flow control, eviction."""

from collections.abc import Mapping

from msgspec.structs import replace as with_fields
from tests.mutants.registry import plant

from antiphon.core.control import Alive
from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION
from antiphon.stack.effects import AdmitSenders, Effect
from antiphon.stack.flow_control import FlowControl
from antiphon.stack.inputs import ACKNOWLEDGE
from antiphon.stack.member import Member
from antiphon.stack.send_queue import Item, SendQueue, WaitingLetter, WaitingRun
from antiphon.stack.sender import ACKNOWLEDGE_US, Sender
from antiphon.stack.stalls import Awaited, Stalls

_RIGHT_PUT = SendQueue.put
_RIGHT_END_INCARNATION = SendQueue.end_incarnation
_RIGHT_COUNT = SendQueue._count
_RIGHT_LOOK = Stalls.look
_RIGHT_SEND_NEXT = Sender.send_next

# The send queue.


@plant(SendQueue, "put", "send queue: program order")
def queued_letter_overtakes_a_queued_run(self: SendQueue, item: Item) -> None:
    """A letter goes before all that waits."""
    _RIGHT_PUT(self, item)
    if self.waiting and self.waiting[-1] is item and isinstance(item, WaitingLetter):
        self.waiting.rotate(1)


@plant(SendQueue, "put", "send queue: program order")
def runs_of_different_orders_are_merged_in_the_queue(self: SendQueue, item: Item) -> None:
    """Whatever the application multicasts next joins the run that waits."""
    last = self.waiting[-1] if self.waiting else None
    if (
        isinstance(item, WaitingRun)
        and isinstance(last, WaitingRun)
        and item.how.port == last.how.port == PORT_APPLICATION
        and not self.is_void
    ):
        item = WaitingRun(last.how, item.payloads, item.byte_count)
    _RIGHT_PUT(self, item)


@plant(SendQueue, "end_incarnation", "send queue: incarnations")
def queue_keeps_a_tools_word_for_the_next_incarnation(self: SendQueue) -> list[Item]:
    """Only what the application sent ends with the incarnation."""
    kept = [item for item in self.waiting if isinstance(item, WaitingRun) and item.how.port]
    dropped = _RIGHT_END_INCARNATION(self)
    for item in kept:
        _RIGHT_PUT(self, item)
    return dropped


@plant(SendQueue, "_count", "send queue: turns")
def letter_that_has_gone_out_counts_as_waiting(self: SendQueue, item: Item, sign: int) -> None:
    """No second letter is ever admitted."""
    if sign > 0 or not isinstance(item, WaitingLetter):
        _RIGHT_COUNT(self, item, sign)


@plant(Sender, "send_next", "send queue: who is gone")
def letter_to_who_is_gone_waits_for_ever(self: Sender) -> bool:
    """Nobody drops it, and all that follows waits behind it."""
    item = self.queue.waiting[0]
    if isinstance(item, WaitingLetter) and item.to not in self._member.receiver.ranks:
        return False
    return _RIGHT_SEND_NEXT(self)


# Acknowledgements.


@plant(Sender, "acknowledge_soon", "acknowledgements: lists")
def timer_is_not_set_when_an_own_list_is_due(self: Sender) -> None:
    """Only letters are acknowledged in time."""
    letters, withhold = self._member.letters, self._flow.is_behind
    if letters.may_acknowledge(withhold=withhold):
        self._agenda.set_timer(ACKNOWLEDGE, self._agenda.now_us)
    elif letters.unacknowledged and (not withhold or any(letters.unacknowledged.values())):
        self._agenda.set_timer(ACKNOWLEDGE, self._agenda.now_us + ACKNOWLEDGE_US)


@plant(Sender, "acknowledge_soon", "acknowledgements: replies")
def acknowledgement_that_nobody_asked_for_is_never_sent(self: Sender) -> None:
    """Whoever replied and sends nothing else is never set free."""
    member = self._member
    if member.is_due or member.letters.may_acknowledge(withhold=self._flow.is_behind):
        self._agenda.set_timer(ACKNOWLEDGE, self._agenda.now_us)


@plant(Member, "request_acknowledgement", "acknowledgements: replies")
def acknowledgement_is_never_asked_for(self: Member) -> list[Effect]:
    """Who waits for an acknowledgement does not ask for it."""
    return []


# Flow control, and eviction.


@plant(FlowControl, "say", "flow control: confirmations")
def withheld_receipts_are_never_said_later(self: FlowControl, alive: Alive) -> Alive:
    """What was not confirmed in its time is forgotten."""
    is_withheld = alive.number == self._number and self.is_behind
    return with_fields(alive, received=()) if is_withheld else alive


@plant(FlowControl, "fill", "flow control: channels")
def full_channel_is_never_forgotten(self: FlowControl, peer: ProcessId, *, is_full: bool) -> None:
    """Once full, always full."""
    if is_full:
        self.full[peer] = None


@plant(Sender, "admit", "flow control: views")
def sender_is_admitted_while_the_view_is_left(self: Sender) -> None:
    """Whether the view is open is not asked."""
    member = self._member
    may = (
        member.view is not None
        and not self.queue.is_full
        and self._flow.has_room(member.kept_bytes, member.members)
    )
    admits = may, may and self.queue.takes_letters
    if admits != self._admits:
        self._admits = admits
        self._agenda.done.append(AdmitSenders(*admits))


@plant(Stalls, "look", "eviction")
def member_that_moves_is_given_up_anyway(
    self: Stalls, now_us: int, owing: Mapping[Awaited, int]
) -> list[tuple[ProcessId, str]]:
    """How far a debtor has come is not looked at."""
    return _RIGHT_LOOK(self, now_us, dict.fromkeys(owing, 0))


@plant(Stalls, "restore", "eviction")
def member_given_up_wrongly_gets_no_more_time(self: Stalls, who: ProcessId) -> None:
    """Two that gave each other up may do so again and again, each before the other restores it."""

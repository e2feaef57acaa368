"""Planted bugs of uniform multicast (Uniform 4), of its order, and of letters (ISIS 7.2)."""

from tests.mutants.registry import plant

from antiphon.core.control import Confirm
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Letter, Order, Run
from antiphon.membership.effects import Effect
from antiphon.ordering.delay_queue import Lack
from antiphon.ordering.gate import Arrived, Gate
from antiphon.ordering.letters import Letters
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.uniform import Uniformity
from antiphon.stack.member import Member
from antiphon.stack.member_questions import MemberQuestions
from antiphon.stack.receiver import GROUP, Receiver
from antiphon.stack.send_queue import WaitingLetter
from antiphon.stack.sender import Sender

_RIGHT_IS_OPEN = Gate._is_open
_RIGHT_TAKE_LETTER = Member.take_letter
_RIGHT_WRITE_LETTER = MixedDomain.write_letter


@plant(Uniformity, "mark_own", "003-6")
def one_confirmation_is_not_waited_for(self: Uniformity, sent: int) -> bool:
    """A message is marked when all members but one have confirmed it."""
    others = sorted(count for rank, count in enumerate(self._confirmed) if rank != self._rank)
    marked = others[1] if len(others) > 1 else min(others, default=sent)
    if marked <= self.marked[self._rank]:
        return False
    self.marked[self._rank] = marked
    return True


@plant(Uniformity, "_lack", "003-7, D4 with a plain past")
def confirmed_on_receipt(self: Uniformity, run: Run) -> Lack | None:
    """A message is confirmed when it has come, whether or not what it depends on has."""
    return None


@plant(Uniformity, "_lack", "003-7, D4 with a plain past")
def only_the_past_of_its_sender_is_settled(self: Uniformity, run: Run) -> Lack | None:
    """A message is confirmed when its sender's earlier ones are there."""
    if run.first > self.settled[run.sender] + 1:
        return run.group, run.sender, run.first - 1
    return None


@plant(Uniformity, "activate", "003-7, kin")
def everything_received_counts_as_settled(
    self: Uniformity, received: list[int], delivered: list[int], held: list[Run]
) -> None:
    """What came before the first uniform message is taken for settled."""
    self.is_active = True
    self.settled[:] = self._wanted[:] = received


@plant(Uniformity, "take", "D.3, kin")
def lists_are_not_confirmed(self: Uniformity, run: Run) -> None:
    """Only uniform messages are confirmed, not the lists that give them their turns."""
    if run.uniform:
        self._wanted[run.sender] = run.last
    self._take(run)


@plant(Gate, "_is_open", "003-7, total")
def order_of_uniform_messages_is_not_uniform(self: Gate, run: Run) -> bool:
    """A marked message passes in its turn, although the list may die with who knows it."""
    if not run.uniform or run.order is not Order.TOTAL or self.is_left:
        return _RIGHT_IS_OPEN(self, run)
    return self.total.turn_of(run) is not None and self.uniform.marked[run.sender] >= run.last


@plant(Gate, "_is_open", "003-7, total")
def list_that_is_still_unsaid_counts_as_marked(self: Gate, run: Run) -> bool:
    """The holder waits for the mark of its lists, but not of what it has yet to say."""
    turn = self.total.turn_of(run) if run.uniform and run.order is Order.TOTAL else None
    if turn is None or self.is_left or turn.number:
        return _RIGHT_IS_OPEN(self, run)
    return self.uniform.marked[run.sender] >= run.last


@plant(Gate, "_is_open", "003-7, total")
def mark_alone_opens_the_gate(self: Gate, run: Run) -> bool:
    """A message that is uniform and total waits for its mark only."""
    if run.uniform and run.order is Order.TOTAL and not self.is_left:
        return self.uniform.marked[run.sender] >= run.last
    return _RIGHT_IS_OPEN(self, run)


@plant(Gate, "leave", "003-6, termination")
def unmarked_messages_are_dropped(self: Gate) -> list[Arrived]:
    """What is not marked when the view is left is not delivered."""
    self.is_left = True
    self._waiting = {
        rank: (arrival, run) for rank, (arrival, run) in self._waiting.items() if not run.uniform
    }
    return []


@plant(Receiver, "take_confirm", "003-6, kin")
def confirmations_of_other_views_count(self: Receiver, peer: ProcessId, confirm: Confirm) -> None:
    """Counts of one view are taken for those of another."""
    if self._transition.pending or peer not in self.ranks:
        return
    self.deliver(self._ordering.confirm(GROUP, self.ranks[peer], confirm))


# Letters.


@plant(MemberQuestions, "may_multicast", "ISIS 7.2", is_property=True)
def sender_of_a_letter_goes_on_multicasting(self: Member) -> bool:
    """Nothing waits for a letter to be acknowledged."""
    return self.membership.may_multicast


def _send_to_anybody(self: Letters, to: ProcessId) -> None:
    self.waiting_for = to
    self._sent[to] = self._sent.get(to, 0) + 1


def _may_send_to_anybody(self: Sender, letter: WaitingLetter) -> bool:
    return self._member.may_send(letter.to)


@plant(
    MemberQuestions, "may_send", "000-24",
    also=((Letters, "send", _send_to_anybody), (Sender, "_may_send", _may_send_to_anybody)),
)  # fmt: skip
def letter_to_another_does_not_wait(self: Member, to: ProcessId) -> bool:
    """Only multicasts wait for a letter to be acknowledged, not letters to somebody else."""
    return self.membership.may_multicast


@plant(MixedDomain, "write_letter", "ISIS 7.2, kin")
def letter_has_no_stamp(self: MixedDomain, group: GroupNumber, payload: bytes, port: int) -> Letter:
    """A letter waits for what its sender multicast, not for what its sender delivered."""
    letter = _RIGHT_WRITE_LETTER(self, group, payload, port)
    letter.stamp = ()
    return letter


@plant(MixedDomain, "write_letter", "ISIS 7.2, kin")
def letter_overtakes_the_multicasts_of_its_sender(
    self: MixedDomain, group: GroupNumber, payload: bytes, port: int
) -> Letter:
    """A letter waits for what is in its stamp alone."""
    letter = _RIGHT_WRITE_LETTER(self, group, payload, port)
    letter.first = 1
    return letter


@plant(Member, "take_letter", "000-17 d, kin")
def early_letter_is_not_acknowledged(
    self: Member, peer: ProcessId, letter: Letter, now_us: int
) -> list[Effect]:
    """A letter of a view that is still to be installed is kept, and its sender waits."""
    effects = _RIGHT_TAKE_LETTER(self, peer, letter, now_us)
    if letter.view > self.membership.transition.number:
        self.letters.unacknowledged.pop(peer, None)
    return effects


# The application's letters go one by one: here as replies do.
@plant(
    Letters, "hear_acknowledgement", "000-24, kin",
    also=((Sender, "_may_send", _may_send_to_anybody),),
)  # fmt: skip
def any_acknowledgement_frees_the_sender(self: Letters, peer: ProcessId, count: int) -> bool:
    """One letter was received, and a later one is still on its way."""
    if peer not in self._sent:
        return False
    self._acknowledged[peer] = max(count, self._acknowledged.get(peer, 0))
    is_free = peer == self.waiting_for
    if is_free:
        self.waiting_for = None
    return is_free


@plant(Letters, "enter", "kin of 000-17 f")
def letter_to_the_dead_is_waited_for(self: Letters, members: object) -> None:
    """No view sets a process free that waits for an acknowledgement."""

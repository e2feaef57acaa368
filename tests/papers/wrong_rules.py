"""Planted bugs for single claims of the papers, and for golden conversations about causal order.

Law: as in ``tests/mutants``, a mistake replaces methods of the real machines for a while. These are
not hunted in random worlds; each is the opposite of one claim, and the test of that must find it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tests.mutants.planted import MUTANTS
from tests.mutants.registry import UNMET, Mutant, Patch

from antiphon.core.control import Alive, Ask, Decide, Flush
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Letter, Order, Run, SetsOrder, Stamp
from antiphon.core.views import View
from antiphon.membership.all_to_all_flush import AllToAllFlush
from antiphon.membership.changes import Changes
from antiphon.membership.coordination import Coordination
from antiphon.membership.coordinator_flush import CoordinatorFlush
from antiphon.membership.ending import Departure
from antiphon.membership.failure_detector import FailureDetector
from antiphon.membership.view_atomic_flush import ViewAtomicFlush
from antiphon.ordering.delay_queue import Lack
from antiphon.ordering.gate import Gate
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.stability import Stability
from antiphon.ordering.total import Fixed, TotalOrder
from antiphon.ordering.uniform import Uniformity
from antiphon.ordering.vector import VectorDomain
from antiphon.ordering.vector_clock import VectorClock
from antiphon.stack.announcer import Announcer
from antiphon.stack.member import Member
from antiphon.stack.receiver import GROUP, Receiver
from antiphon.toolkit import calls, commit
from antiphon.toolkit.calls import Calls
from antiphon.toolkit.commit import Commit

HERE: list[Mutant] = []
"""The mistakes below."""


def _wrong(
    target: type, method: str, source: str, also: tuple[Patch, ...] = ()
) -> Callable[[Any], Any]:
    def register(wrong: Any) -> Any:
        name = wrong.__name__.replace("_", " ")
        HERE.append(Mutant(name, "", source, target, method, wrong, also))
        return wrong

    return register


def bug(name: str) -> Mutant:
    """Return the planted bug of a name, from here or from ``tests/mutants``."""
    (found,) = [mutant for mutant in [*MUTANTS, *UNMET, *HERE] if mutant.name == name]
    return found


# ISIS 4.3, 5.1 and 5.4, for the golden conversations.

_VECTOR_RECEIVE = VectorDomain.receive
_VECTOR_MULTICAST = VectorDomain.multicast
_DRAIN = MixedDomain._drain
_LACK = VectorClock.lack


@_wrong(VectorClock, "lack", "ISIS 5.1 step 2")
def stamps_are_ignored(self: VectorClock, run: Run) -> Lack | None:
    """A message waits for the earlier ones of its sender only."""
    if run.first > self.delivered[run.sender] + 1:
        return run.group, run.sender, run.first - 1
    return None


@_wrong(VectorClock, "take_stamp", "ISIS 5.4")
def stamps_are_never_short(self: VectorClock) -> Stamp:
    """A stamp has all counts that are not zero, changed or not."""
    counts = enumerate(self.delivered)
    return tuple((rank, count) for rank, count in counts if count and rank != self.rank)


@_wrong(VectorDomain, "receive", "000-1, second schedule")
def clock_becomes_that_of_the_message(self: VectorDomain, run: Run) -> list[Run]:
    """A delivery makes the receiver forget what the message does not know of."""
    ready = _VECTOR_RECEIVE(self, run)
    if ready:
        self._groups[run.group].changed = {ready[-1].sender: None}
    return ready


def _exact_lack(self: VectorClock, run: Run) -> Lack | None:
    if run.first != self.delivered[run.sender] + 1:
        return run.group, run.sender, run.first - 1
    return None


@_wrong(VectorDomain, "receive", "000-1, first schedule", ((VectorClock, "lack", _exact_lack),))
def clock_takes_over_the_clock_of_the_sender(self: VectorDomain, run: Run) -> list[Run]:
    """A delivery counts one message more than was delivered: the sender has sent on."""
    ready = _VECTOR_RECEIVE(self, run)
    self._groups[run.group].delivered[run.sender] += len(ready)
    return ready


def _stamp_of_receipts(self: VectorClock) -> Stamp:
    return tuple((rank, self.received[rank]) for rank in sorted(self.changed))


@_wrong(VectorDomain, "receive", "000-3", ((VectorClock, "stamp", _stamp_of_receipts),))
def receipt_is_a_cause(self: VectorDomain, run: Run) -> list[Run]:
    """What was received and is held counts as the past of what is multicast next."""
    ready = _VECTOR_RECEIVE(self, run)
    self._groups[run.group].changed[run.sender] = None
    return ready


@_wrong(VectorDomain, "receive", "ISIS 5.1")
def concurrent_messages_wait_for_each_other(self: VectorDomain, run: Run) -> list[Run]:
    """Everything waits for the first message of the most senior member."""
    group = self._groups[run.group]
    if run.sender and not group.delivered[0]:
        group.received[run.sender] = run.last
        self._queue.hold(run, (run.group, 0, 1))
        return []
    return _VECTOR_RECEIVE(self, run)


@_wrong(MixedDomain, "_drain", "000-4")
def queue_is_sorted(self: MixedDomain, ready: list[Run]) -> None:
    """What becomes ready at once is delivered by sender, not in order of receipt."""
    found: list[Run] = []
    _DRAIN(self, found)
    ready += sorted(found, key=lambda run: run.sender)


@_wrong(VectorDomain, "multicast", "fifo beside causal")
def fifo_crosses_off_the_stamp(
    self: VectorDomain, group: GroupNumber, payloads: Sequence[bytes], order: Order,
    byte_count: int | None = None, port: int = 0,
) -> Run:  # fmt: skip
    """A fifo multicast counts as one that has told what changed."""
    run = _VECTOR_MULTICAST(self, group, payloads, order, byte_count, port)
    if order is Order.FIFO:
        self._groups[group].changed.clear()
    return run


# ISIS 5.2.

_SAY = TotalOrder.say


@_wrong(TotalOrder, "say", "ISIS 5.2 step 3")
def one_list_for_each_message(self: TotalOrder, number: int, *, may_move: bool) -> SetsOrder | None:
    """A list has one turn."""
    rest, self.unsaid = self.unsaid[1:], self.unsaid[:1]
    self._next_given -= len(rest)
    said = _SAY(self, number, may_move=may_move)
    self._next_given += len(rest)
    self.unsaid += rest
    return said


@_wrong(MixedDomain, "is_clear", "ISIS 5.2 step 3")
def list_waits_for_its_own_message(self: MixedDomain, group: GroupNumber) -> bool:
    """A list never rides on a plain multicast of the holder."""
    mine = self._groups[group]
    return mine.delivered[mine.rank] == mine.sent


@_wrong(Fixed, "successor", "ISIS 5.2")
def token_wanders(self: Fixed, holder: int) -> int:
    """The token goes to somebody else with every list."""
    return 1 - holder if holder < 2 else 0


@_wrong(MixedDomain, "receive", "ISIS 5.2 step 1")
def abcast_holds_up_everybody(self: MixedDomain, run: Run) -> list[Run]:
    """While a total message waits, nothing of anybody is delivered."""
    gate = self._gates.get(run.group)
    if gate is not None and gate.depth and run.sets_order is None:
        self._groups[run.group].received[run.sender] = run.last
        return []
    return _MIXED_RECEIVE(self, run)


_MIXED_RECEIVE = MixedDomain.receive


# ISIS 5.3.


@_wrong(Stability, "reach", "ISIS 5.3")
def nothing_ever_becomes_stable(self: Stability, sent: int) -> None:
    """What others say they received is not counted."""


@_wrong(Stability, "alive", "ISIS 5.3")
def stability_is_kept_secret(
    self: Stability, number: int, received: list[int], agreed: int, *, is_blocked: bool = False
) -> Alive:
    """The others are not told how far own messages are stable."""
    news = tuple(enumerate(received))
    return Alive(number, news, 0, agreed, is_blocked)


@_wrong(Announcer, "announce", "5.5 (5) against 5.3")
def only_deliveries_are_acknowledged(self: Announcer, now_us: int) -> Alive:
    """Stability counts what was delivered, not what was received."""
    self._said_us = now_us
    delivered = list(self._receiver._ordering._groups[GROUP].delivered)
    number = self._membership.transition.number
    return self._receiver.stability.alive(number, delivered, number)


@_wrong(Stability, "k_stable", "ISIS 5.3, 000-16")
def sender_counts_among_the_k(self: Stability, k: int) -> int:
    """The sender itself is taken for a destination."""
    return sorted(self._reached, reverse=True)[k - 1]


# ISIS 5.5.


@_wrong(AllToAllFlush, "_check", "000-19")
def only_its_own_round_installs_a_view(self: AllToAllFlush) -> None:
    """A view waits for the flushes of its own round."""
    transition = self._transition
    for view in transition.pending[:1]:
        participants = transition.participants(view.number)
        if all(self._flushed.get(process, 0) >= view.number for process in participants):
            self.installable = max(self.installable, view.number)


@_wrong(CoordinatorFlush, "learn", "ISIS 5.5, the linear flush")
def everybody_is_told(self: CoordinatorFlush) -> None:
    """Flush messages go to everybody, not to the coordinator alone."""
    number = self._transition.pending[-1].number
    everybody = self._transition.everybody()
    self._out.relay(everybody, self._doubtful())
    self._flushed[self._me] = number

    self._out.send_each(everybody, Flush(number))
    self._check()


# ISIS 7.2.

_WRITE_LETTER = MixedDomain.write_letter


@_wrong(MixedDomain, "write_letter", "ISIS 7.2")
def letter_is_counted(self: MixedDomain, group: GroupNumber, payload: bytes, port: int) -> Letter:
    """The own entry is incremented, as for a multicast."""
    letter = _WRITE_LETTER(self, group, payload, port)
    mine = self._groups[group]
    mine.sent += 1
    mine.delivered[mine.rank] += 1
    return letter


@_wrong(MixedDomain, "_drain", "000-24, arbitrary choice")
def ready_letters_come_last(self: MixedDomain, ready: list[Run]) -> None:
    """Of what is ready, multicasts are delivered first."""
    found: list[Run] = []
    _DRAIN(self, found)
    ready += sorted(found, key=lambda run: isinstance(run, Letter))


@_wrong(Member, "take_letter", "ISIS 7.2")
def letters_are_acknowledged_when_delivered(
    self: Member, peer: ProcessId, letter: Letter, now_us: int
) -> list[Any]:
    """A letter that has to wait for its past is not acknowledged."""
    effects = _TAKE_LETTER(self, peer, letter, now_us)
    if letter in [run for run, _ in self.ordering.waiting()]:
        self.letters.unacknowledged.pop(peer, None)
    return effects


_TAKE_LETTER = Member.take_letter


# ISIS 7.4.


@_wrong(Coordination, "_coordinator", "ISIS 7.4")
def every_member_proposes(self: Coordination, latest: View) -> ProcessId:
    """Whoever hears of a change takes itself for the one that makes it."""
    return self._me


@_wrong(Coordination, "announce", "ISIS 7.4")
def joiner_is_not_told(self: Coordination, view: View) -> None:
    """Only those that were members before hear of the new view."""
    to = dict.fromkeys([*self._transition.everybody(), *view.failed])
    self._out.send_each([who for who in to if who not in view.joined], Decide((view,)))


@_wrong(ViewAtomicFlush, "learn", "ISIS 7.4")
def news_of_a_view_starts_nothing(self: ViewAtomicFlush) -> None:
    """Nobody begins to leave the old view."""


@_wrong(Changes, "take", "ISIS 7.4")
def suspicions_are_kept_to_oneself(self: Changes, peer: ProcessId, ask: Ask) -> None:
    """The coordinator counts what it has seen itself only."""


# Uniform 2.


@_wrong(FailureDetector, "check", "Uniform 2.1")
def nobody_is_ever_suspected(self: FailureDetector, now_us: int) -> list[ProcessId]:
    """However long a process is silent, nobody minds."""
    return []


@_wrong(View, "last_incarnation_of", "Uniform 2.1")
def former_incarnations_are_taken_in(self: View, name: str) -> int:
    """The group does not remember who was in it before."""
    return 0


def _pay_no_heed(self: Departure, number: int) -> None:
    """Do not mind that one is out."""


@_wrong(Coordination, "announce", "003-8", ((Departure, "hear_out", _pay_no_heed),))
def excluded_process_is_not_told(self: Coordination, view: View) -> None:
    """Only those that are in the new view hear of it."""
    self._out.send_each(list(view.members), Decide((view,)))


# Uniform 3.


@_wrong(Receiver, "received", "003-8")
def reports_count_deliveries(self: Receiver) -> list[int]:
    """A report says how much was delivered."""
    return list(self._ordering._groups[GROUP].delivered)


@_wrong(ViewAtomicFlush, "_coordinator", "Uniform 3.3")
def report_goes_to_the_first_coordinator_for_ever(self: ViewAtomicFlush) -> ProcessId:
    """Whoever led first is reported to, dead or alive."""
    current = self._transition.current
    return current.members[0] if current is not None else self._me


# Uniform 4.


@_wrong(Gate, "_is_open", "Uniform 4.1")
def uniform_messages_are_delivered_on_receipt(self: Gate, run: Run) -> bool:
    """A uniform message waits for nobody."""
    return True


@_wrong(Uniformity, "_is_mark_due", "Uniform 4.1")
def mark_is_not_told(self: Uniformity) -> bool:
    """The sender keeps to itself that all have its message."""
    return False


@_wrong(VectorClock, "lack", "003-7")
def uniform_messages_have_no_past(self: VectorClock, run: Run) -> Lack | None:
    """A uniform message waits for its mark, and for nothing that it depends on."""
    return None if run.uniform else _LACK(self, run)


@_wrong(MixedDomain, "finish", "003-7")
def termination_in_order_of_senders(self: MixedDomain, group: GroupNumber) -> list[Run]:
    """What is left when a view ends is sorted by sender, dependencies or not."""
    return sorted(_FINISH(self, group), key=lambda run: run.sender)


_FINISH = MixedDomain.finish


# Uniform 5.


@_wrong(Commit, "_begin_view", "Uniform 5.1")
def new_coordinator_waits_for_the_old_one(
    self: Commit, view: View, now_us: int
) -> list[commit.Effect]:
    """A view without the coordinator starts nothing."""
    self._view = view
    return []


# Calls, for the golden conversations.


@_wrong(Calls, "enter", "calls")
def dead_members_are_waited_for(self: Calls, view: View) -> list[calls.Effect]:
    """Who left the view without a word may still answer."""
    self._view = view
    return []


@_wrong(Calls, "late", "calls")
def time_is_never_up(self: Calls, now_us: int) -> list[int]:
    """A call waits for as long as it takes."""
    return []


@_wrong(Calls, "answer", "calls")
def every_answer_is_to_call_2(_: Calls, number: int, payload: bytes) -> bytes:
    """A reply does not say what it replies to."""
    return _ANSWER(2, payload)


_ANSWER = Calls.answer


@_wrong(Calls, "refuse", "calls")
def refusal_is_an_answer(_: Calls, number: int, why: str) -> bytes:
    """Whatever a handler does counts as an answer."""
    return _ANSWER(number, why.encode())

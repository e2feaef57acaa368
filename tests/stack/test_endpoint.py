"""The endpoint, input by input: queue, acknowledgements, flow control, stalls, faults, the end."""

from typing import Any, TypeVar

import pytest
from tests.membership.hands import A, B, C, run_of, view_of

from antiphon.core.control import Alive, Decide, Install, LetterAsked, LetterTaken, StateTaken
from antiphon.core.errors import DefiniteCallError, UsageError
from antiphon.core.ids import ProcessId, Rank, ViewNumber
from antiphon.core.runs import PORT_APPLICATION, PORT_CALLS, Letter, Order
from antiphon.core.views import View
from antiphon.membership.failure_detector import Timing
from antiphon.stack.effects import (
    AdmitSenders,
    ConcludeCall,
    DeliverRuns,
    Effect,
    ExpectPeers,
    GiveUpProcess,
    InstallView,
    LeaveGroup,
    RejectPeer,
    ReturnUnsent,
    SendControl,
    SendLetter,
    SendRun,
    SetTimer,
    SuspectProcess,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    ACKNOWLEDGE,
    HEARTBEAT,
    CallRequested,
    ControlReceived,
    LeaveRequested,
    LetterReceived,
    LetterRequested,
    MulticastRequested,
    PeerFilled,
    PeerHeard,
    PeerLost,
    ReaderAdvanced,
    ReaderLagged,
    RunsReceived,
    SendersWaited,
    Stopped,
    TimerFired,
)
from antiphon.stack.receiver import GROUP
from antiphon.stack.send_queue import How, WaitingLetter
from antiphon.stack.sender import ACKNOWLEDGE_US
from antiphon.stack.settings import Limits, Settings
from antiphon.toolkit.calls import Wanted

T = TypeVar("T")
THREE = view_of(A, B, C)
CAUSAL = How(Order.CAUSAL)
BEAT = Timing().heartbeat_us


def _call(number: int, deadline_us: int | None = None) -> CallRequested:
    return CallRequested(number, b"?", Wanted.ALL, deadline_us, Order.CAUSAL)


def endpoint(
    me: ProcessId = B, view: View | None = THREE, settings: Settings | None = None, **options: Any
) -> Endpoint:
    """Return an endpoint that has begun, at time 0."""
    machine = Endpoint(me, view, settings or Settings(), 0, **options)
    machine.start()
    return machine


def of(kind: type[T], effects: list[Effect]) -> list[T]:
    """Return the effects of one kind."""
    return [effect for effect in effects if isinstance(effect, kind)]


def said(payload: bytes, how: How = CAUSAL) -> MulticastRequested:
    """Return the wish to multicast a message."""
    return MulticastRequested([payload], how, len(payload))


def letter(sender: int, payload: bytes = b"", port: int = PORT_APPLICATION) -> Letter:
    """Return a letter of a member of the first view."""
    return Letter(
        GROUP, ViewNumber(1), Rank(sender), 1, Order.CAUSAL, (), [payload], len(payload), port=port
    )  # fmt: skip


def timers(effects: list[Effect]) -> dict[str, int]:
    """Return which timers are set, and to when."""
    return {effect.timer.kind: effect.time_us for effect in of(SetTimer, effects)}


def sent_words(effects: list[Effect]) -> list[bytes]:
    """Return what goes out, in order: runs and letters."""
    words: list[bytes] = []
    for effect in effects:
        if isinstance(effect, SendRun):
            words += effect.run.payloads
        elif isinstance(effect, SendLetter):
            words += effect.letter.payloads
    return words


# Beginning.


def test_founder_begins_with_a_view_a_heartbeat_and_its_channels() -> None:
    """Channels come before anything that is sent over them; senders are admitted."""
    machine = Endpoint(B, THREE, Settings(), 7)
    effects = machine.start()
    assert timers(effects) == {"heartbeat": 7 + BEAT}
    assert of(ExpectPeers, effects)[0].processes == (A, B, C)
    assert of(InstallView, effects) == [InstallView(THREE)]
    assert of(AdmitSenders, effects) == [AdmitSenders(messages=True, letters=True)]


def test_outsider_admits_nobody() -> None:
    """Before the first view there is nobody to send to; what is sent waits."""
    machine = endpoint(me=ProcessId("x"), view=None)
    assert machine.step(said(b"x"), 1) == []
    assert len(machine.queue.waiting) == 1


# The queue.


def test_program_order_is_kept_while_a_letter_is_not_acknowledged() -> None:
    """Multicast, letter, multicast, letter to another: each waits for what was before."""
    machine = endpoint()
    out = []
    for asked in (
        said(b"1"), LetterRequested(A, b"2"), said(b"3"), LetterRequested(C, b"4"), said(b"5"),
    ):  # fmt: skip
        out += machine.step(asked, 1)
    assert sent_words(out) == [b"1", b"2"]
    assert of(SendControl, out) == [SendControl((A,), LetterAsked())], "asked once, to hurry"
    out = machine.step(ControlReceived(A, LetterTaken(1)), 2)
    assert sent_words(out) == [b"3", b"4"]
    assert sent_words(machine.step(ControlReceived(C, LetterTaken(1)), 3)) == [b"5"]


def test_letter_to_who_is_gone_is_dropped_and_what_follows_goes_out() -> None:
    """Only a view says who is gone."""
    machine = endpoint()
    machine.step(LetterRequested(C, b"1"), 1)
    assert sent_words(machine.step(LetterRequested(C, b"2"), 1)) == []
    assert sent_words(machine.step(said(b"3"), 1)) == []
    without = view_of(A, B, number=2, failed=(C,))
    out = machine.step(ControlReceived(A, Decide((without,))), 2)
    assert sent_words(out) == []
    out = machine.step(ControlReceived(A, Install(2)), 3)
    assert sent_words(out) == [b"3"]


def test_nothing_is_admitted_or_sent_while_a_view_is_left() -> None:
    """Senders wait until the next view; what is handed over all the same waits."""
    machine = endpoint()
    without = view_of(A, B, number=2, failed=(C,))
    out = machine.step(ControlReceived(A, Decide((without,))), 2)
    assert of(AdmitSenders, out) == [AdmitSenders(messages=False, letters=False)]
    assert sent_words(machine.step(said(b"x"), 2)) == []
    out = machine.step(ControlReceived(A, Install(2)), 3)
    assert sent_words(out) == [b"x"]
    assert of(AdmitSenders, out) == [AdmitSenders(messages=True, letters=True)]
    assert of(SendRun, out)[0].run.view == 2


def test_second_letter_waits_outside() -> None:
    """While one letter waits behind another, no more letters are admitted; messages are."""
    machine = endpoint()
    machine.step(LetterRequested(A, b"1"), 1)
    out = machine.step(LetterRequested(A, b"2"), 1)
    assert of(AdmitSenders, out) == [AdmitSenders(messages=True, letters=False)]
    out = machine.step(ControlReceived(A, LetterTaken(1)), 2)
    assert of(AdmitSenders, out) == [AdmitSenders(messages=True, letters=True)]


def test_letter_to_oneself_is_a_mistake() -> None:
    """It would never go out; the machine goes on."""
    machine = endpoint()
    with pytest.raises(UsageError, match="another member"):
        machine.step(LetterRequested(B, b"1"), 1)
    assert sent_words(machine.step(said(b"2"), 1)) == [b"2"]


# Acknowledgements.


def test_letter_is_acknowledged_at_once_when_its_sender_may_wait() -> None:
    """A timer at now: one acknowledgement for all that has come by then."""
    machine = endpoint()
    out = machine.step(LetterReceived(A, letter(0)), 10)
    assert timers(out) == {"acknowledge": 10}
    assert timers(machine.step(LetterReceived(A, letter(0)), 10)) == {}, "it is set"
    assert machine.step(TimerFired(ACKNOWLEDGE), 11) == [SendControl((A,), LetterTaken(2))]
    assert machine.step(TimerFired(ACKNOWLEDGE), 12) == []


def test_reply_is_acknowledged_later_or_when_somebody_asks() -> None:
    """Nobody is known to wait: 5 ms, unless the replier has something to send."""
    machine = endpoint()
    reply = letter(0, port=PORT_CALLS)
    out = machine.step(LetterReceived(A, reply), 10)
    assert timers(out) == {"acknowledge": 10 + ACKNOWLEDGE_US}
    out = machine.step(ControlReceived(A, LetterAsked()), 20)
    assert timers(out) == {"acknowledge": 20}
    out = machine.step(TimerFired(ACKNOWLEDGE), 20)
    assert of(SendControl, out) == [SendControl((A,), LetterTaken(1))]


def test_acknowledgement_is_withheld_by_who_reads_too_slowly_but_not_of_replies() -> None:
    """Who does not read holds its correspondents up; whom it has called it does not."""
    machine = endpoint()
    machine.step(ReaderLagged(is_behind=True), 1)
    assert timers(machine.step(LetterReceived(A, letter(0)), 2)) == {}
    out = machine.step(LetterReceived(C, letter(2, port=PORT_CALLS)), 3)
    assert "acknowledge" in timers(out)
    out = machine.step(TimerFired(ACKNOWLEDGE), 3 + ACKNOWLEDGE_US)
    assert of(SendControl, out) == [SendControl((C,), LetterTaken(1))]
    out = machine.step(ReaderLagged(is_behind=False), 9_000)
    assert timers(out) == {"acknowledge": 9_000}
    assert machine.step(TimerFired(ACKNOWLEDGE), 9_000) == [SendControl((A,), LetterTaken(1))]


def test_list_of_the_token_holder_is_said_when_others_wait_for_it() -> None:
    """Another member's ABCAST is delivered everywhere though nobody polls the holder."""
    holder = endpoint(A)
    asker = endpoint(B)
    (run,) = (effect.run for effect in of(SendRun, asker.step(said(b"x", How(Order.TOTAL)), 1)))
    out = holder.step(RunsReceived(B, [run]), 5)
    assert timers(out) == {"acknowledge": 5}
    out = holder.step(TimerFired(ACKNOWLEDGE), 6)
    (order,) = (effect.run for effect in of(SendRun, out))
    delivered = of(DeliverRuns, asker.step(RunsReceived(A, [order]), 7))
    assert b"x" in [payload for one in delivered for run in one.runs for payload in run.payloads]


# Flow control.


def test_senders_wait_while_too_much_has_not_reached_everybody() -> None:
    """They are admitted again when the others confirm."""
    machine = endpoint(settings=Settings(limits=Limits(unstable_bytes=10)))
    assert of(AdmitSenders, machine.step(said(bytes(10)), 1)) == []
    out = machine.step(said(b"x"), 1)
    assert of(AdmitSenders, out) == [AdmitSenders(messages=False, letters=False)]
    assert of(AdmitSenders, machine.step(ControlReceived(A, Alive(1, ((1, 2),), 0, 1)), 2)) == []
    out = machine.step(ControlReceived(C, Alive(1, ((1, 2),), 0, 1)), 3)
    assert of(AdmitSenders, out) == [AdmitSenders(messages=True, letters=True)]


@pytest.mark.parametrize("end", [PeerFilled(C, is_full=False), PeerLost(C)])
def test_senders_wait_while_a_channel_is_full(end: PeerFilled | PeerLost) -> None:
    """Until it takes more, or its process is dead; other traffic goes on meanwhile."""
    machine = endpoint(A, view_of(A, B, C))
    out = machine.step(PeerFilled(C, is_full=True), 1)
    assert of(AdmitSenders, out) == [AdmitSenders(messages=False, letters=False)]
    machine.step(end, 2)
    assert not machine.flow.full


def test_reader_that_lags_confirms_nothing_until_it_reads_or_somebody_waits_to_send() -> None:
    """What was withheld is said at the next heartbeat; two that wait must not wait for ever."""
    machine = endpoint()
    machine.step(RunsReceived(A, [run_of(0, 1)]), 1)
    machine.step(ReaderLagged(is_behind=True), 1)
    assert _confirmed(machine.step(TimerFired(HEARTBEAT), BEAT)) == {()}
    machine.step(SendersWaited(is_waiting=True), BEAT)
    assert _confirmed(machine.step(TimerFired(HEARTBEAT), 2 * BEAT)) == {((0, 1),)}


def _confirmed(effects: list[Effect]) -> set[object]:
    words = [effect.message for effect in of(SendControl, effects)]
    return {word.received for word in words if isinstance(word, Alive)}


# Stalls.

PATIENCE = Settings(timing=Timing(stall_us=5 * BEAT, timeout_us=10**9, timeout_us_max=10**9))


def _beats(machine: Endpoint, first: int, last: int) -> list[Effect]:
    effects: list[Effect] = []
    for beat in range(first, last):
        effects += machine.step(PeerHeard(A), beat * BEAT)
        effects += machine.step(PeerHeard(C), beat * BEAT)
        effects += machine.step(TimerFired(HEARTBEAT), beat * BEAT)
    return effects


def test_member_that_takes_nothing_while_something_waits_is_given_up() -> None:
    """Its channel is of no use, and the view is to go on without it."""
    machine = endpoint(A, settings=PATIENCE)
    machine.step(LetterRequested(C, b"?"), 1)
    machine.step(said(b"waits"), 1)
    assert of(GiveUpProcess, _beats(machine, 1, 6)) == []
    out = _beats(machine, 6, 8)
    assert of(GiveUpProcess, out)[0] == GiveUpProcess(
        C, "it has not acknowledged a letter for 0.5 s"
    )
    assert of(SuspectProcess, out)[0].process == C
    asked = [one.message for one in of(SendControl, out) if B in one.to]
    assert any(not isinstance(message, Alive) for message in asked), "for a view without c"


def test_member_that_holds_up_nobody_is_not_given_up() -> None:
    """A letter that is not acknowledged, with nothing behind it, harms nobody."""
    machine = endpoint(A, settings=PATIENCE)
    machine.step(LetterRequested(C, b"?"), 1)
    assert of(GiveUpProcess, _beats(machine, 1, 30)) == []


def test_member_that_moves_however_slowly_is_not_given_up() -> None:
    """Each acknowledgement begins its time anew."""
    machine = endpoint(A, settings=PATIENCE)
    for count in range(12):
        machine.queue.put(WaitingLetter(C, b"?", PORT_CALLS))
        machine.queue.put(WaitingLetter(C, b"!", PORT_CALLS))
        machine.step(PeerHeard(C), 4 * count * BEAT)
        machine.step(said(b"waits"), 4 * count * BEAT)
        assert of(GiveUpProcess, _beats(machine, 4 * count, 4 * count + 4)) == []
        machine.step(ControlReceived(C, LetterTaken(count + 1)), (4 * count + 4) * BEAT - 1)


def test_member_that_confirms_nothing_is_given_up_when_senders_wait() -> None:
    """Whoever waits to be admitted is held up as well; the one that confirms stays."""
    settings = Settings(timing=PATIENCE.timing, limits=Limits(unstable_bytes=1))
    machine = endpoint(A, settings=settings)
    machine.step(said(b"too much"), 1)
    machine.step(SendersWaited(is_waiting=True), 1)
    machine.step(ControlReceived(B, Alive(1, ((0, 1),), 0, 1)), 2)
    out = _beats(machine, 1, 8)
    assert of(GiveUpProcess, out)[0] == GiveUpProcess(C, "it has taken nothing for 0.5 s")


# Faults of others, and the end.


@pytest.mark.parametrize(
    "lie",
    [
        RunsReceived(A, [run_of(0, 5)]),
        RunsReceived(A, [run_of(2, 1)]),
        RunsReceived(A, [run_of(0, 1, stamp=((9, 1),))]),
        LetterReceived(A, letter(2)),
        ControlReceived(A, Alive(1, ((1, 5),), 0, 1)),
        ControlReceived(A, StateTaken(1, 1)),
        ControlReceived(B, LetterAsked()),
    ],
    ids=lambda lie: type(lie).__name__,
)
def test_fault_of_a_peer_is_its_own(lie: Any) -> None:
    """It is rejected, nothing is raised, and the next right run is taken."""
    machine = endpoint()
    out = machine.step(lie, 1)
    (rejected,) = of(RejectPeer, out)
    assert rejected.peer == lie.peer
    assert rejected.why
    assert of(DeliverRuns, machine.step(RunsReceived(A, [run_of(0, 1)]), 2))


def test_after_the_end_only_the_queue_goes_on() -> None:
    """What the application sends is told to it when its reader comes to the next incarnation."""
    machine = endpoint()
    machine.step(LetterRequested(A, b"out"), 1)
    machine.step(said(b"waits"), 1)
    machine.step(_call(1), 1)
    out = machine.step(Stopped("killed"), 2)
    (end,) = of(ConcludeCall, out)
    assert isinstance(end.error, DefiniteCallError), "it never went out"
    for happened in (
        RunsReceived(A, [run_of(0, 1)]), TimerFired(HEARTBEAT), PeerLost(A), _call(2),
        ControlReceived(A, LetterTaken(1)), said(b"too late"),
    ):  # fmt: skip
        assert machine.step(happened, 3) == []
    (returned,) = of(ReturnUnsent, machine.step(ReaderAdvanced(2), 4))
    words = [payload for item in returned.items for payload in getattr(item, "payloads", ())]
    assert words == [b"waits", b"too late"]


def test_leaver_alone_is_out_at_once() -> None:
    """The view ends with it, and nothing is left to be done."""
    machine = endpoint(A, view_of(A))
    out: list[Effect] = []
    out += machine.step(LeaveRequested(), 1)
    assert of(LeaveGroup, out) == [LeaveGroup("")]
    assert machine.is_over

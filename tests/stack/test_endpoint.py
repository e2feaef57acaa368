"""The endpoint, input by input: its beginning, queue, acknowledgements, faults, its end."""

from typing import Any

import pytest
from tests.membership.hands import A, B, C, run_of, view_of
from tests.stack.endpoint_by_hand import (
    BEAT,
    THREE,
    call,
    endpoint,
    letter,
    of,
    said,
    sent_words,
    timers,
)

from antiphon.core.control import Alive, Decide, Install, LetterAsked, LetterTaken, StateTaken
from antiphon.core.errors import DefiniteCallError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_CALLS, Order
from antiphon.stack.effects import (
    AdmitSenders,
    ConcludeCall,
    DeliverRuns,
    Effect,
    ExpectPeers,
    InstallView,
    LeaveGroup,
    RejectPeer,
    ReturnUnsent,
    SendControl,
    SendRun,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    ACKNOWLEDGE,
    HEARTBEAT,
    ControlReceived,
    LeaveRequested,
    LetterReceived,
    LetterRequested,
    PeerLost,
    ReaderAdvanced,
    ReaderLagged,
    RunsReceived,
    Stopped,
    TimerFired,
)
from antiphon.stack.send_queue import How
from antiphon.stack.sender import ACKNOWLEDGE_US
from antiphon.stack.settings import Settings

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
    machine.step(call(1), 1)
    out = machine.step(Stopped("killed"), 2)
    (end,) = of(ConcludeCall, out)
    assert isinstance(end.error, DefiniteCallError), "it never went out"
    for happened in (
        RunsReceived(A, [run_of(0, 1)]), TimerFired(HEARTBEAT), PeerLost(A), call(2),
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

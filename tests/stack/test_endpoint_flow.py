"""The endpoint, input by input: flow control, and members that take nothing."""

from dataclasses import replace

import pytest
from tests.membership.hands import A, B, C, run_of, view_of
from tests.stack.endpoint_by_hand import BEAT, endpoint, of, said

from antiphon.core.control import Alive, LetterTaken, ReadingOn
from antiphon.core.runs import PORT_CALLS
from antiphon.membership.failure_detector import Timing
from antiphon.stack.effects import (
    AdmitSenders,
    Effect,
    GiveUpProcess,
    SendControl,
    SuspectProcess,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    HEARTBEAT,
    ControlReceived,
    LetterRequested,
    PeerFilled,
    PeerHeard,
    PeerLost,
    ReaderLagged,
    RunsReceived,
    SendersWaited,
    TimerFired,
)
from antiphon.stack.send_queue import WaitingLetter
from antiphon.stack.settings import Limits, Settings

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


@pytest.mark.parametrize("flush", ["all-to-all", "coordinator", "view-atomic"])
def test_who_is_left_alone_is_admitted(flush: str) -> None:
    """No other member is there whose word would let it drop copies of the view before."""
    settings = Settings(flush=flush, limits=Limits(unstable_bytes=10))
    machine = endpoint(A, view_of(A, B), settings=settings)
    machine.step(said(bytes(11)), 1)
    out = machine.step(PeerLost(B), 2)
    for beat in range(1, 4):
        out += machine.step(TimerFired(HEARTBEAT), beat * BEAT)
    assert machine.member.members == (A,)
    assert machine.member.kept_bytes == 0
    assert of(AdmitSenders, out)[-1] == AdmitSenders(messages=True, letters=True)


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


def test_reader_that_lags_and_reads_on_says_so() -> None:
    """To all the others, and not each time."""
    machine = endpoint()
    machine.step(RunsReceived(A, [run_of(0, 1)]), 1)
    assert not of(SendControl, machine.step(ReaderLagged(is_behind=True), 1))
    (said,) = of(SendControl, machine.step(ReaderLagged(is_behind=True), 2))
    assert said == SendControl((A, C), ReadingOn(1, 1))
    assert not of(SendControl, machine.step(ReaderLagged(is_behind=True), 3))


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


@pytest.mark.parametrize("reads_on", [True, False])
def test_member_that_confirms_nothing_is_not_given_up_while_it_reads(reads_on: bool) -> None:
    """Its application is slow, but not gone."""
    settings = replace(PATIENCE, limits=Limits(unstable_bytes=10))
    machine = endpoint(A, settings=settings)
    machine.step(said(b"more than ten bytes"), 1)
    machine.step(SendersWaited(is_waiting=True), 1)
    given_up: list[GiveUpProcess] = []
    for count in range(12):
        everything = Alive(1, ((0, 1),), 0, 1)
        machine.step(ControlReceived(C, everything), 3 * count * BEAT)
        if reads_on:
            machine.step(ControlReceived(B, ReadingOn(1, count)), 3 * count * BEAT)
        given_up += of(GiveUpProcess, _beats(machine, 3 * count, 3 * count + 3))
    assert {effect.process for effect in given_up} == (set() if reads_on else {B})


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

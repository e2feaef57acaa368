"""The endpoint, input by input: calls, commit and state transfer."""

import pytest
from tests.membership.hands import A, B, C, view_of
from tests.stack.endpoint_by_hand import call, endpoint, letter, of, timers
from tests.stack.memory_driver import MemoryDriver, Where

from antiphon.core.errors import DefiniteCallError, UsageError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import PORT_COMMIT
from antiphon.stack.effects import (
    AskVote,
    ConcludeCall,
    Effect,
    ExpectState,
    HandRequest,
    IgnoreMessage,
    LoadChunk,
    NameTransaction,
    SaveState,
    SendLetter,
    SendRun,
)
from antiphon.stack.endpoint import TICKS_PER_VOTE
from antiphon.stack.inputs import (
    CALLS,
    VOTES,
    CallAbandoned,
    JoinRequested,
    LetterReceived,
    LetterRequested,
    PieceLoaded,
    RequestAnswered,
    RunsReceived,
    StateSaved,
    TimerFired,
    TransactionRequested,
)
from antiphon.stack.ports import CommitOptions

# Tools.


def test_call_is_answered_by_all_others() -> None:
    """The request goes out, is handed over, answered by letter, and the call ends."""
    caller, one, two = endpoint(A), endpoint(B), endpoint(C)
    (sent,) = of(SendRun, caller.step(call(1, 10**9), 1))
    ended: list[ConcludeCall] = []
    for machine, me in ((one, B), (two, C)):
        out = machine.step(RunsReceived(A, [sent.run]), 2)
        (asked,) = of(HandRequest, out)
        assert (asked.caller, asked.payload) == (A, b"?")
        (reply,) = of(SendLetter, machine.step(RequestAnswered(A, asked.number, b"!"), 3))
        ended += of(ConcludeCall, caller.step(LetterReceived(me, reply.letter), 4))
    assert [(end.number, end.error) for end in ended] == [(1, None)]
    assert set(ended[0].replies.answers.values()) == {b"!"}


def test_call_ends_at_its_deadline_and_is_withdrawn_if_it_never_went_out() -> None:
    """The machine sets a timer; a request that still waits has been done by nobody."""
    machine = endpoint(A)
    machine.step(LetterRequested(C, b"blocks"), 1)
    out = machine.step(call(1, 500), 1)
    assert timers(out)["calls"] == 500
    assert machine.queue.waiting
    (end,) = of(ConcludeCall, machine.step(TimerFired(CALLS), 500))
    assert isinstance(end.error, DefiniteCallError)
    assert not machine.queue.waiting
    machine.step(call(2), 600)
    machine.step(CallAbandoned(2), 601)
    assert not machine.queue.waiting


def test_answer_that_nobody_waits_for_is_a_mistake() -> None:
    """Of a process to itself, or to a call that wants none."""
    machine = endpoint()
    for answered in (RequestAnswered(B, 1, b""), RequestAnswered(A, 0, b"")):
        with pytest.raises(UsageError):
            machine.step(answered, 1)
    assert not machine.queue.waiting


def test_votes_are_waited_for_by_a_timer() -> None:
    """While a transaction is open its coordinator looks at the time, and no longer."""
    machine = endpoint(A, view_of(A), commit=CommitOptions(20_000))
    out = machine.step(TransactionRequested(5, b"body", ()), 1)
    assert of(NameTransaction, out)[0].number == 5
    assert of(AskVote, out)
    assert timers(out)["votes"] == 1 + 20_000 // TICKS_PER_VOTE
    out = machine.step(TimerFired(VOTES), 1_001)
    assert timers(out)["votes"] == 1_001 + 20_000 // TICKS_PER_VOTE


def test_word_on_a_transaction_that_comes_by_letter_is_ignored() -> None:
    """It must come to all members, or one could be told what the others never hear."""
    machine = endpoint(commit=CommitOptions(20_000))
    out = machine.step(LetterReceived(A, letter(0, b"x", PORT_COMMIT)), 1)
    (ignored,) = of(IgnoreMessage, out)
    assert ignored.sender == A
    assert "one alone" in ignored.why


def test_state_is_given_to_a_joiner() -> None:
    """It is saved where the view begins, sent in pieces as they are loaded, and then complete."""
    x = ProcessId("x", address="at x")
    loaded: list[bytes] = []
    expected: list[ExpectState] = []

    def see(who: ProcessId, group: Where, effect: Effect) -> None:
        match effect:
            case SaveState(number):
                driver.give(who, group, StateSaved(number, [b"all ", b"that ", b"was"]))
            case ExpectState():
                expected.append(effect)
            case LoadChunk(number, data):
                loaded.append(data)
                driver.give(who, group, PieceLoaded(number))
            case _:
                pass

    driver = MemoryDriver(see)
    group = GroupNumber(1)
    for me, view in ((A, view_of(A, B)), (B, view_of(A, B)), (x, None)):
        driver.open(group, me, view, with_state=True)
    driver.give(x.bare(), group, JoinRequested(B))
    driver.world.run(5_000_000)
    assert b"".join(loaded) == b"all that was"
    assert len(expected) == 1
    assert driver.processes[x.bare()].endpoint(group).has_state
    latest = driver.processes[A.bare()].endpoint(group).latest
    assert latest is not None
    assert latest.members == (A, B, x)

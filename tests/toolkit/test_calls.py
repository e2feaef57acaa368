"""Group calls: who is asked, when a call ends, and what is said of each member then."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import (
    BackPressureError,
    DefiniteCallError,
    IndefiniteCallError,
    PeerError,
)
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.toolkit.calls import (
    OPEN_MAX,
    WHY_LENGTH_MAX,
    Answered,
    Calls,
    Conclude,
    Effect,
    Failed,
    Handle,
    Refused,
    TimedOut,
    Wanted,
)

A, B, C, D, E = (ProcessId(name) for name in "abcde")


def view(number: int, *members: ProcessId) -> View:
    """Return a view."""
    return View(GroupName("g"), ViewNumber(number), members)


def concluded(effects: list[Effect]) -> Conclude:
    """Return how a call ended."""
    effect = effects[-1]
    assert isinstance(effect, Conclude)
    return effect


def calling(
    wanted: Wanted, *others: ProcessId, deadline_us: int | None = None
) -> tuple[Calls, int]:
    """Return the calls of a, one of which is waiting for replies of ``others``."""
    calls = Calls(A)
    calls.enter(view(1, A, *others))
    number, request = calls.begin(b"do", wanted, deadline_us)
    assert calls.deliver(A, request) == [Handle(A, 0, b"do")]
    return calls, number


def test_request_is_handled_by_all_and_answered_by_the_others() -> None:
    """Each member is handed the body; the answers of the others go to the caller."""
    caller, member = Calls(A), Calls(B)
    caller.enter(view(1, A, B))
    number, request = caller.begin(b"do", Wanted.ALL)
    assert member.deliver(A, request) == [Handle(A, number, b"do")]
    assert caller.deliver(A, request) == [Handle(A, 0, b"do")]
    end = concluded(caller.take_reply(B, Calls.answer(number, b"done")))
    assert end.error is None
    assert end.replies == {"b": Answered(b"done")}
    assert end.replies.answers == {"b": b"done"}
    assert end.replies.is_complete


@pytest.mark.parametrize(
    ("wanted", "needed"), [(Wanted.FIRST, 1), (Wanted.MAJORITY, 3), (Wanted.ALL, 4)]
)
def test_call_ends_as_soon_as_enough_have_answered(wanted: Wanted, needed: int) -> None:
    """First, more than half of the others, or all; the rest is not waited for."""
    calls, number = calling(wanted, B, C, D, E)
    for member in (B, C, D, E)[: needed - 1]:
        assert calls.take_reply(member, Calls.answer(number, b"x")) == []
    last = (B, C, D, E)[needed - 1]
    end = concluded(calls.take_reply(last, Calls.answer(number, b"x")))
    assert end.error is None
    assert list(end.replies.answers) == ["b", "c", "d", "e"][:needed]
    assert end.replies.asked == ("b", "c", "d", "e")
    assert end.replies.is_complete == (needed == 4)
    assert len(end.replies) == needed


def test_call_that_wants_no_replies_keeps_nothing() -> None:
    """Such a call has number 0, at its callee too."""
    calls = Calls(A)
    calls.enter(view(1, A, B))
    number, request = calls.begin(b"do", Wanted.NONE)
    assert number == 0
    assert calls.deliver(A, request) == [Handle(A, 0, b"do")]
    assert Calls(B).deliver(A, request) == [Handle(A, 0, b"do")]
    assert calls.abandon("over") == []


def test_first_passes_over_refusals_and_failures() -> None:
    """A refusal is no answer; somebody else may have one."""
    calls, number = calling(Wanted.FIRST, B, C, D)
    assert calls.take_reply(B, Calls.refuse(number, "KeyError: 'x'")) == []
    assert calls.enter(view(2, A, B, D)) == []
    end = concluded(calls.take_reply(D, Calls.answer(number, b"x")))
    assert end.error is None
    assert end.replies == {"b": Refused("KeyError: 'x'"), "c": Failed(), "d": Answered(b"x")}


def test_all_waits_for_everyone_even_if_one_refuses() -> None:
    """The error comes when every member's ending is known, and carries all of them."""
    calls, number = calling(Wanted.ALL, B, C)
    assert calls.take_reply(B, Calls.refuse(number, "no")) == []
    end = concluded(calls.take_reply(C, Calls.answer(number, b"x")))
    assert isinstance(end.error, IndefiniteCallError)
    assert end.error.replies == {"b": Refused("no"), "c": Answered(b"x")}
    assert str(end.error) == (
        "1 of 2 members answered, all wanted (b refused (no)): some may have done what was asked, "
        "so look at `replies` before you repeat it"
    )


def test_member_that_leaves_the_view_has_failed() -> None:
    """What it sends afterwards does not count."""
    calls, number = calling(Wanted.MAJORITY, B, C)
    calls.take_reply(B, Calls.answer(number, b"x"))
    end = concluded(calls.enter(view(2, A, B)))
    assert isinstance(end.error, IndefiniteCallError)
    assert end.replies["c"] == Failed()
    assert calls.take_reply(C, Calls.answer(number, b"late")) == []


def test_answer_before_the_failure_counts() -> None:
    """Who answered and then left has answered."""
    calls, number = calling(Wanted.ALL, B, C)
    calls.take_reply(C, Calls.answer(number, b"x"))
    assert calls.enter(view(2, A, B)) == []
    end = concluded(calls.take_reply(B, Calls.answer(number, b"y")))
    assert end.error is None


def test_silence_is_timed_out_at_the_deadline() -> None:
    """Each member that has not answered by then has timed out."""
    calls, number = calling(Wanted.ALL, B, C, deadline_us=100)
    calls.take_reply(B, Calls.answer(number, b"x"))
    assert calls.tick(99) == []
    end = concluded(calls.tick(100))
    assert isinstance(end.error, IndefiniteCallError)
    assert end.replies == {"b": Answered(b"x"), "c": TimedOut()}
    assert calls.take_reply(C, Calls.answer(number, b"late")) == []
    assert calls.tick(1000) == [], "a call ends once"


def test_second_reply_of_a_member_is_dropped() -> None:
    """The first word counts."""
    calls, number = calling(Wanted.MAJORITY, B, C)
    calls.take_reply(B, Calls.answer(number, b"x"))
    assert calls.take_reply(B, Calls.answer(number, b"y")) == []
    end = concluded(calls.take_reply(C, Calls.answer(number, b"z")))
    assert end.replies.answers == {"b": b"x", "c": b"z"}


def test_reply_of_nobody_who_was_asked_is_dropped() -> None:
    """A process that joined later, or the caller itself, has nothing to say."""
    calls, number = calling(Wanted.FIRST, B)
    calls.enter(view(2, A, B, C))
    assert calls.take_reply(C, Calls.answer(number, b"x")) == []
    assert calls.take_reply(A, Calls.answer(number, b"x")) == []


def test_those_in_the_view_of_the_request_are_asked() -> None:
    """A request that waits for the next view goes to the members of that."""
    calls = Calls(A)
    calls.enter(view(1, A, B))
    number, request = calls.begin(b"do", Wanted.ALL)
    calls.enter(view(2, A, B, C))
    calls.deliver(A, request)
    assert calls.take_reply(B, Calls.answer(number, b"x")) == []
    assert concluded(calls.take_reply(C, Calls.answer(number, b"y"))).replies.asked == ("b", "c")


def test_reply_before_the_own_copy_counts() -> None:
    """In total order others may have the request before its caller; those asked may be fewer."""
    calls = Calls(A)
    calls.enter(view(1, A, B, C))
    number, request = calls.begin(b"do", Wanted.ALL)
    assert calls.take_reply(B, Calls.answer(number, b"x")) == []
    assert calls.take_reply(C, Calls.answer(number, b"y")) == []
    assert calls.take_reply(D, Calls.answer(number, b"z")) == []
    calls.enter(view(2, A, B))
    end = concluded(calls.deliver(A, request))
    assert end.replies == {"b": Answered(b"x")}


def test_call_alone_in_the_group_is_a_definite_error() -> None:
    """Nobody can have done it; all of nobody is no error."""
    calls = Calls(A)
    calls.enter(view(1, A))
    for wanted, kind in [
        (Wanted.FIRST, DefiniteCallError),
        (Wanted.MAJORITY, DefiniteCallError),
        (Wanted.ALL, type(None)),
    ]:
        _, request = calls.begin(b"do", wanted)
        assert type(concluded(calls.deliver(A, request)).error) is kind


def test_exclusion_before_the_request_went_out_is_definite() -> None:
    """What is known not to have been sent was executed nowhere; else nobody can tell."""
    calls = Calls(A)
    calls.enter(view(1, A, B))
    number, _ = calls.begin(b"do", Wanted.ALL)
    end = concluded(calls.abandon("excluded", {number}))
    assert isinstance(end.error, DefiniteCallError)
    assert str(end.error) == (
        "the request never went out, so nobody has done what was asked (excluded)"
    )
    calls.begin(b"do", Wanted.ALL)
    assert isinstance(concluded(calls.abandon("excluded")).error, IndefiniteCallError)


def test_exclusion_afterwards_is_indefinite() -> None:
    """The others may have done it, and cannot say so any more."""
    calls, _ = calling(Wanted.FIRST, B)
    end = concluded(calls.abandon("excluded"))
    assert isinstance(end.error, IndefiniteCallError)
    assert "excluded" in str(end.error)


def test_deadline_before_the_own_copy_is_there_is_indefinite() -> None:
    """In total order it may take its time; those asked are the others of the view all the same."""
    calls = Calls(A)
    calls.enter(view(1, A, B, C))
    number, request = calls.begin(b"do", Wanted.ALL, 100)
    assert calls.take_reply(C, Calls.answer(number, b"x")) == []
    assert calls.late(99) == []
    assert calls.late(100) == [number]
    end = concluded(calls.tick(100))
    assert isinstance(end.error, IndefiniteCallError)
    assert "1 of 2 members answered" in str(end.error)
    assert end.replies == {"b": TimedOut(), "c": Answered(b"x")}
    assert not end.replies.is_complete
    assert calls.deliver(A, request) == [Handle(A, 0, b"do")]


def test_exclusion_before_the_own_copy_is_there_says_who_was_asked() -> None:
    """Nothing is known of them."""
    calls = Calls(A)
    calls.enter(view(1, A, B))
    calls.begin(b"do", Wanted.ALL)
    end = concluded(calls.abandon("excluded"))
    assert isinstance(end.error, IndefiniteCallError)
    assert end.replies.asked == ("b",)
    assert not end.replies.is_complete


def test_request_taken_back_in_time_is_definite() -> None:
    """It had not gone out when its time was up: nobody has done it."""
    calls = Calls(A)
    calls.enter(view(1, A, B))
    number, _ = calls.begin(b"do", Wanted.ALL, 100)
    end = concluded(calls.tick(100, [number]))
    assert isinstance(end.error, DefiniteCallError)
    assert end.replies.asked == ()


def test_call_given_up_ends_in_silence() -> None:
    """Nobody waits for it: neither a reply nor its time brings it back."""
    calls, number = calling(Wanted.ALL, B, deadline_us=100)
    calls.give_up(number)
    calls.give_up(number)
    assert calls.take_reply(B, Calls.answer(number, b"x")) == []
    assert calls.tick(100) == []


def test_too_many_open_calls_are_refused() -> None:
    """Memory is bounded: who calls faster than others answer has to wait."""
    calls = Calls(A)
    for _ in range(OPEN_MAX):
        calls.begin(b"", Wanted.ALL)
    with pytest.raises(BackPressureError, match="wait until some have ended"):
        calls.begin(b"", Wanted.ALL)


def test_long_refusal_is_cut() -> None:
    """The text of an exception has no right to unlimited room."""
    calls, number = calling(Wanted.FIRST, B)
    end = concluded(calls.take_reply(B, Calls.refuse(number, "\udcff" + "x" * 10_000)))
    ending = end.replies["b"]
    assert isinstance(ending, Refused)
    assert len(ending.why) == WHY_LENGTH_MAX


@given(st.binary(max_size=100))
def test_any_bytes_raise_only_peer_errors(payload: bytes) -> None:
    """Whatever a member sends, it is taken or refused."""
    calls, _ = calling(Wanted.ALL, B)
    with suppress(PeerError):
        calls.deliver(B, payload)
    with suppress(PeerError):
        calls.take_reply(B, payload)


@pytest.mark.parametrize(
    "payload",
    [b"", b"\xc1", b"\x91" * 100_000, b"\x93\xa7Request\xff\xc4\x00", b"\x93\xa1\xff\x01\xc4\x00"],
    ids=["nothing", "no msgpack", "deep", "negative", "no text"],
)
def test_forged_bytes_are_the_peers_fault(payload: bytes) -> None:
    """Malformed requests and replies are refused by name of their sender."""
    with pytest.raises(PeerError, match="a request cannot be read"):
        Calls(A).deliver(B, payload)
    with pytest.raises(PeerError, match="a reply cannot be read"):
        Calls(A).take_reply(B, payload)


def test_refusal_that_is_no_text_is_the_peers_fault() -> None:
    """A reason has to be readable."""
    calls, number = calling(Wanted.ALL, B)
    forged = Calls.refuse(number, "??").replace(b"??", b"\xff\xff")
    with pytest.raises(PeerError, match="a reply cannot be read"):
        calls.take_reply(B, forged)

"""One member between views, driven by hand: joining, leaving, being excluded, being blocked."""

from collections.abc import Sequence

import pytest
from tests.membership.hands import (
    A,
    B,
    C,
    D,
    E,
    Effects,
    X,
    kinds,
    member,
    permit,
    relayed,
    run_of,
    sent,
    view_of,
)

from antiphon.core.control import (
    Accept,
    Alive,
    AnyMessage,
    Ask,
    Decide,
    Install,
    JoinRefused,
    JoinRequest,
    Out,
    Prepare,
    Promise,
    Propose,
    Reject,
    Report,
    Want,
)
from antiphon.core.ids import ProcessId
from antiphon.membership.effects import (
    BlockGroup,
    InstallView,
    LeaveGroup,
    ResumeGroup,
    SuspectProcess,
)
from antiphon.membership.failure_detector import Timing
from antiphon.stack.member import Member

BEAT = Timing().heartbeat_us
TIMEOUT = Timing().timeout_us
THREE = view_of(A, B, C)
WITH_X = view_of(A, B, C, X, number=2, joined=(X,))
WITHOUT_C = view_of(A, B, number=2, failed=(C,))


def test_views_agreed_on_together_are_installed_one_by_one() -> None:
    """Every view is an event of its own, in order."""
    machine = member(B, THREE)
    third = view_of(A, B, X, number=3, failed=(C,))
    machine.take_control(A, Decide((WITH_X, third)), 0)
    effects = machine.take_control(A, Install(2, (2,)), 0)
    effects += machine.take_control(A, Install(3), 0)
    assert [e.view for e in effects if isinstance(e, InstallView)] == [WITH_X, third]


def test_excluded_process_learns_it_and_stops() -> None:
    """003-8: by the decision, or when it speaks to somebody who has gone on."""
    machine = member(C, THREE)
    effects = machine.take_control(A, Decide((WITHOUT_C,)), 0)
    assert isinstance(effects[-1], LeaveGroup)
    told = Decide((THREE, WITHOUT_C))
    assert sent(effects) == [(A, told), (B, told)], "its vote may have decided it: it tells"
    assert not machine.may_multicast
    assert machine.take_run(A, run_of(0, 1), 0) == []
    assert machine.take_control(A, Out(2), 0) == []
    late = member(C, THREE)
    (end,) = late.take_control(B, Out(2), 0)
    assert isinstance(end, LeaveGroup)
    assert end.why == "the others have gone on without this process since view 2"


@pytest.mark.parametrize("message", [Alive(1, (), 0, 1), Want(0), Report(1, (0, 0, 0), ()), Out(1)])
def test_excluded_process_that_speaks_is_told(message: AnyMessage) -> None:
    """003-8: whatever a former member says, the answer is that it is out, and since when."""
    machine = member(B, THREE)
    permit(machine, WITHOUT_C)
    effects = machine.take_control(C, message, 0)
    expected = [] if isinstance(message, Out) else [(C, Out(2))]
    assert [item for item in sent(effects) if isinstance(item[1], Out)] == expected


def test_leaver_takes_part_until_the_view_without_it() -> None:
    """A leaver asks, reports, installs the view it is not in, says farewell and is gone."""
    machine = member(C, THREE)
    assert sent(machine.leave(0)) == [(A, Ask((), (), leaving=True, has_state=False))]
    leaving = view_of(A, B, number=2, left=(C,))
    effects = machine.take_control(A, Decide((leaving,)), 0)
    assert sent(effects) == [(A, Report(1, (0, 0, 0), ()))]
    effects = machine.take_control(A, Install(2), 0)
    assert kinds(effects) == ["InstallView", "SendControl", "LeaveGroup"]
    assert effects[-1] == LeaveGroup("")


def test_leaver_that_is_left_alone_loses_patience() -> None:
    """A leaver that never hears how the flush ended goes, and says what it does not know."""
    machine = member(C, THREE)
    machine.take_control(A, Decide((view_of(A, B, number=2, left=(C,)),)), 0)
    ends: list[str] = []
    for now in range(0, 30 * TIMEOUT, BEAT):
        ends += [e.why for e in machine.tick(now) if isinstance(e, LeaveGroup)]
    assert ends == ["it left, but could not learn what the others delivered last"]


def test_last_member_leaves_at_once() -> None:
    """There is nobody to agree with."""
    assert member(A, view_of(A)).leave(0)[-1] == LeaveGroup("")


def test_founder_alone_takes_a_joiner_in() -> None:
    """A group of one agrees with itself."""
    machine = member(A, view_of(A))
    effects = machine.take_control(X, JoinRequest(X), 0)
    assert (X, Decide((view_of(A, X, number=2, joined=(X,), stateless=(X,)),))) in sent(effects)
    assert any(isinstance(effect, InstallView) for effect in effects)


def test_joiner_is_told_again_what_it_missed() -> None:
    """Who asks although it is in already gets the views."""
    machine = member(A, view_of(A))
    machine.take_control(X, JoinRequest(X), 0)
    ((to, message),) = sent(machine.take_control(X, JoinRequest(X), 1))
    assert to == X
    assert isinstance(message, Decide)
    assert X in message.views[-1].members


def test_taken_name_is_refused() -> None:
    """A name that a trusted member bears elsewhere is not given twice."""
    machine = member(A, THREE)
    other = ProcessId("c", 2, 1, "elsewhere")
    ((to, refusal),) = sent(machine.take_control(other, JoinRequest(other), 0))
    assert to == other
    assert isinstance(refusal, JoinRefused)
    assert "the name c is taken" in refusal.why


def test_new_incarnation_at_the_same_place_replaces_the_old() -> None:
    """Where another incarnation listens now, the old one is certainly dead."""
    machine = member(A, THREE)
    again = ProcessId("c", 2, 1, C.address)
    effects = machine.take_control(again, JoinRequest(again), 0)
    assert SuspectProcess(C) in effects
    proposed = [message for _, message in sent(effects) if isinstance(message, Propose)]
    assert [message.view.failed for message in proposed] == [(C,), (C,)]


def test_outdated_incarnation_is_told_its_next_number() -> None:
    """Who asks with a number that was used gets the one to ask with."""
    machine = member(A, view_of(A, B))
    machine.lose(B, 0)
    old = ProcessId("b", 1, 7, "elsewhere")
    ((_, refusal),) = sent(machine.take_control(old, JoinRequest(old), 0))
    assert isinstance(refusal, JoinRefused)
    assert refusal.next_incarnation == 2
    (end,) = member(old, None).take_control(A, refusal, 0)
    assert isinstance(end, LeaveGroup)
    assert end.next_incarnation == 2


def test_minority_blocks_and_resumes() -> None:
    """Too few reachable members: an event, no multicasts; heard again: an event, and on."""
    machine = member(C, THREE)
    events: Effects = []
    now = 0
    while now < 2 * TIMEOUT:
        now += BEAT
        events += machine.tick(now)
    assert BlockGroup((C,)) in events
    assert not machine.may_multicast
    for peer in (A, B):
        machine.take_control(peer, Alive(1, (), 0, 1), now)
    events = machine.tick(now + 1)
    assert ResumeGroup() in events
    assert machine.may_multicast


def test_dead_member_is_excluded_by_the_senior() -> None:
    """The most senior unsuspected member proposes the view without the dead one."""
    machine = member(A, THREE)
    effects = machine.lose(C, 0)
    assert SuspectProcess(C) in effects
    assert [type(message).__name__ for _, message in sent(effects)] == ["Propose", "Propose"]
    junior = member(B, THREE)
    assert sent(junior.lose(C, 0)) == [(A, Ask((C,), (), leaving=False, has_state=False))]


def test_proposer_that_gets_no_answer_asks_again_and_more_and_more_rarely() -> None:
    """A ballot under way is repeated as it is: giving it up would waste what is on its way."""
    machine = member(A, THREE)
    machine.lose(C, 0)
    when = []
    for beat in range(1, 41):
        machine.take_control(B, Alive(1, (), 0, 1), beat * BEAT)
        said = [message for _, message in sent(machine.tick(beat * BEAT))]
        if proposals := [message for message in said if isinstance(message, Propose)]:
            assert {proposal.ballot for proposal in proposals} == {1}
            when.append(beat)
        assert not any(isinstance(message, Prepare) for message in said)
    assert when == [4, 12, 28]


def asked_at(machine: Member, peers: Sequence[ProcessId], now: int, beats: int) -> list[int]:
    """Let time pass in which these are heard; return after which beats votes are asked for."""
    found = []
    for beat in range(1, beats + 1):
        for peer in peers:
            machine.take_control(peer, Alive(1, (), 0, 1), now + beat * BEAT)
        said = [message for _, message in sent(machine.tick(now + beat * BEAT))]
        if any(isinstance(message, Prepare | Propose) for message in said):
            found.append(beat)
    return found


def test_time_without_touch_is_no_measure_of_the_way() -> None:
    """Who was blocked while it waited for a vote asks as soon and as often as if it had not."""
    machine = member(A, THREE)
    machine.lose(C, 0)
    now = 100 * BEAT
    asked_at(machine, [], 0, 100)
    machine.take_control(B, Reject(2, 2), now)  # held up for as long as the two were cut off
    assert asked_at(machine, [B], now, 1) == [1]
    machine.take_control(B, Reject(2, 5), now + BEAT)
    assert asked_at(machine, [B], now + BEAT, 20) == [4, 12]


def test_late_vote_is_no_measure_of_the_way() -> None:
    """Who was away votes on what is decided: others need not be given as much time."""
    machine = member(A, view_of(A, B, C, D, E))
    machine.lose(E, 0)
    for peer in (B, C):
        machine.take_control(peer, Accept(2, 1), 0)
    assert asked_at(machine, [B, C, D], 0, 50) == []
    now = 50 * BEAT
    machine.take_control(D, Accept(2, 1), now)
    machine.lose(D, now)
    assert asked_at(machine, [B, C], now, 20) == [4, 12]


def test_who_is_suspected_learns_that_it_is_not_heard() -> None:
    """And if that lasts, who is not heard excludes who does not hear."""
    machine = member(A, THREE)
    accusation = Ask((A,), (), leaving=False, has_state=False)
    machine.take_control(C, accusation, 0)
    proposed = []
    for beat in range(1, 20):
        for peer in (B, C):
            machine.take_control(peer, Alive(1, (), 0, 1), beat * BEAT)
        said = [message for _, message in sent(machine.tick(beat * BEAT))]
        proposed += [message.view for message in said if isinstance(message, Propose)]
        assert bool(proposed) is (beat * BEAT >= TIMEOUT), beat
    assert proposed[0].failed == (C,)


def test_next_in_line_takes_over_from_who_is_blocked() -> None:
    """The senior hears too few and says so: who hears enough coordinates, and excludes it."""
    machine = member(B, view_of(A, B, C, D))
    proposed = []
    for beat in range(1, 50):
        machine.take_control(A, Alive(1, (), 0, 1, is_blocked=True), beat * BEAT)
        for peer in (C, D):
            machine.take_control(peer, Alive(1, (), 0, 1), beat * BEAT)
        said = [message for _, message in sent(machine.tick(beat * BEAT))]
        proposed += [message for message in said if isinstance(message, Prepare)]
    assert proposed
    machine.take_control(C, Promise(2, proposed[0].ballot, 0, None), 50 * BEAT)
    effects = machine.take_control(D, Promise(2, proposed[0].ballot, 0, None), 50 * BEAT)
    views = [message.view for _, message in sent(effects) if isinstance(message, Propose)]
    assert {view.failed for view in views} == {(A,)}


def test_who_was_blocked_itself_bears_with_others_that_still_are() -> None:
    """The first to hear enough of the others again does not exclude those that are not so far."""
    machine = member(B, view_of(A, B, C, D, E))
    now = 0
    for beat in range(1, 80):  # a is dead, d and e are out of reach: b and c are blocked, for long
        now = beat * BEAT
        machine.take_control(C, Alive(1, (), 0, 1, is_blocked=beat > 16), now)
        machine.tick(now)
    assert not machine.may_multicast
    for peer in (D, E):
        machine.take_control(peer, Alive(1, (), 0, 1), now)
    proposed = []
    for _ in range(3):
        now += BEAT
        for peer in (C, D, E):
            machine.take_control(peer, Alive(1, (), 0, 1, is_blocked=peer == C), now)
        said = [message for _, message in sent(machine.tick(now))]
        proposed += [message for message in said if isinstance(message, Prepare)]
    machine.take_control(C, Promise(2, proposed[0].ballot, 0, None), now)
    effects = machine.take_control(D, Promise(2, proposed[0].ballot, 0, None), now)
    views = [message.view for _, message in sent(effects) if isinstance(message, Propose)]
    assert {view.failed for view in views} == {(A,)}


def test_blocked_process_says_so() -> None:
    """Others have to know that it cannot coordinate."""
    machine = member(A, THREE)
    for peer in (B, C):
        machine.lose(peer, 0)
    said = [message for _, message in sent(machine.tick(2 * BEAT))]
    assert {message.is_blocked for message in said if isinstance(message, Alive)} == {True}


def test_relays_reach_all_participants_of_a_larger_view() -> None:
    """A member that holds a failed sender's unstable message passes it on before it reports."""
    machine = member(B, view_of(A, B, C, D))
    assert machine.receiver.receive_plain(D, run_of(3, 1))
    effects = machine.take_control(A, Decide((view_of(A, B, C, number=2, failed=(D,)),)), 0)
    assert relayed(effects) == [(A, run_of(3, 1)), (C, run_of(3, 1))]
    assert sent(effects) == [(A, Report(1, (0, 0, 0, 1), (3,)))]

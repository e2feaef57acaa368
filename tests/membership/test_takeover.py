"""Taking over: who may, what follows here, and what it tells those that were left behind."""

from collections.abc import Callable

import pytest
from tests.membership.hands import A, B, C, D, E, Effects, kinds, member, sent, view_of

from antiphon.core.control import Alive, Decide, JoinRequest, Out, Standing
from antiphon.core.errors import UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, Order
from antiphon.core.views import COUNT_BITS, LINEAGE_MAX, View, lineage_of, say_number
from antiphon.membership.effects import InstallView, LeaveGroup, ProbeProcess, SendControl
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import HEARTBEAT, PeerLost, TakeOverRequested, TimerFired
from antiphon.stack.member import Member
from antiphon.stack.settings import Settings

STEP = 5
OURS = view_of(A, B, C)


def blocked(me: ProcessId = A) -> Member:
    """Return a member of three that has lost the two others."""
    machine = member(me, OURS)
    for other in (A, B, C):
        if other != me:
            machine.lose(other, 1_000)
    assert machine.membership.is_blocked
    return machine


def taken_over(step: int = STEP) -> tuple[Member, View]:
    """Return a member that has taken over, and its view."""
    machine = blocked()
    machine.take_over(step, 2_000)
    assert machine.view is not None
    return machine, machine.view


def test_who_takes_over_is_alone_in_a_view_of_a_new_lineage() -> None:
    """All others have failed, the count goes on, and it can multicast at once."""
    machine = blocked()
    assert not machine.may_multicast
    effects = machine.take_over(STEP, 2_000)
    (installed,) = (effect.view for effect in effects if isinstance(effect, InstallView))
    assert installed.members == (A,)
    assert set(installed.failed) == {B, C}
    assert installed.number == (STEP << COUNT_BITS) + 2
    assert installed.last_incarnation_of("b") == 1
    assert machine.may_multicast
    assert "ResumeGroup" not in kinds(effects)
    assert (B, Decide((installed,))) in sent(effects)


def test_who_is_not_blocked_cannot_take_over() -> None:
    """Nothing changes, and the sentence says why."""
    machine = member(A, OURS)
    with pytest.raises(UsageError, match="it reaches enough members to go on with them"):
        machine.take_over(STEP, 1_000)
    assert machine.view == OURS


def test_who_has_no_state_cannot_take_over() -> None:
    """What the group had would be lost, and nobody would know."""
    machine = blocked()
    machine.membership._changes.has_state = False
    with pytest.raises(UsageError, match="it has not got the group's state"):
        machine.take_over(STEP, 2_000)


def test_who_is_outside_cannot_take_over() -> None:
    """A joiner has nothing to go on with."""
    with pytest.raises(UsageError, match="it is in no view of the group"):
        member(A, None).take_over(STEP, 1_000)


def test_lineages_end_before_numbers_do() -> None:
    """A view that would be numbered too high is not made."""
    late = view_of(A, B, C, number=(LINEAGE_MAX << COUNT_BITS) + 1)
    machine = member(A, late)
    for other in (B, C):
        machine.lose(other, 1_000)
    with pytest.raises(UsageError, match="taken over too often"):
        machine.take_over(STEP, 2_000)


def test_what_waits_for_the_dead_is_given_up_and_own_words_are_delivered() -> None:
    """Uniform messages that nobody else will confirm are delivered before the new view."""
    machine = member(A, OURS)
    effects = machine.multicast([b"x"], Order.CAUSAL, 500, uniform=True, port=PORT_APPLICATION)
    assert "DeliverRuns" not in kinds(effects)
    for other in (B, C):
        machine.lose(other, 1_000)
    told = [kind for kind in kinds(machine.take_over(STEP, 2_000)) if kind != "SendControl"]
    assert told[:2] == ["DeliverRuns", "InstallView"]


def test_views_that_were_agreed_on_but_not_installed_are_dropped() -> None:
    """Nobody installs them in the new lineage; who failed or joined in them is left behind too."""
    machine = member(A, view_of(A, B, C, D))
    machine.take_control(
        B, Decide((view_of(A, B, C, E, number=2, joined=(E,), failed=(D,)),)), 1_000
    )
    assert [view.number for view in machine.membership.transition.pending] == [2]
    for other in (B, C, E):
        machine.lose(other, 1_000)
    machine.take_over(STEP, 2_000)
    assert machine.view is not None
    assert machine.view.members == (A,)
    assert machine.view.number == (STEP << COUNT_BITS) + 3
    assert set(machine.view.failed) == {B, C, D, E}
    assert not machine.membership.transition.pending


def test_whoever_hears_of_a_later_lineage_is_out_and_tells_the_others() -> None:
    """From a decision, from somebody's word, from an answer, or from a question."""
    _, view = taken_over()
    hears: list[Callable[[Member], Effects]] = [
        lambda machine: machine.take_control(A, Decide((view,)), 3_000),
        lambda machine: machine.take_control(C, Out(view.number), 3_000),
        lambda machine: machine.hear_question(view.number, 3_000),
    ]
    for hear in hears:
        machine = member(B, OURS)
        effects = hear(machine)
        (end,) = (effect for effect in effects if isinstance(effect, LeaveGroup))
        assert end.why == (
            "a member has taken the group over, without this process, since view 2 of lineage 5"
        )
        assert (C, Out(view.number)) in sent(effects)
        assert not machine.hear_question(view.number, 4_000)


def test_earlier_lineage_is_contradicted() -> None:
    """Who was left behind cannot tell the new lineage that it is out; it is told so itself."""
    machine, view = taken_over()
    assert sent(machine.take_control(B, Out(9), 3_000)) == []
    assert machine.hear_question(9, 3_000) == []
    assert machine.membership.answer(B, 9, has_channel=False) == Out(view.number)
    said = sent(machine.take_control(B, Alive(9, (), 0, 9), 3_000))
    assert (B, Out(view.number)) in said
    assert not machine.membership.is_over


def test_of_two_lineages_the_later_one_survives() -> None:
    """Each has left the other behind; when they meet, in either way, one ends."""
    early, first = taken_over(3)
    late = blocked(B)
    late.take_over(4, 2_000)
    assert late.view is not None
    assert late.view.number > first.number
    assert late.membership.answer(A, first.number, has_channel=False) == Out(late.view.number)
    assert late.hear_question(first.number, 3_000) == []
    assert "LeaveGroup" in kinds(early.hear_question(late.view.number, 3_000))


def test_those_left_behind_are_asked_until_they_are_back() -> None:
    """Rarely, in the end, and not any more when a new incarnation of them is a member."""
    machine, view = taken_over()
    beat_us = machine.membership.heartbeat_us
    asked: dict[str, list[int]] = {"b": [], "c": []}
    for time_us in range(2_000, 60_000_000, beat_us):
        for effect in machine.tick(time_us):
            if isinstance(effect, ProbeProcess):
                asked[effect.process.name].append(time_us)
    assert len(asked["b"]) == len(asked["c"])
    gaps = [later - sooner for sooner, later in zip(asked["b"], asked["b"][1:], strict=False)]
    assert gaps[0] <= 2 * beat_us
    assert max(gaps) <= 8_000_000
    back = type(B)("b", 2, 7)
    machine.take_control(back, JoinRequest(back), 60_000_000)
    assert machine.view is not None
    assert back in machine.view.members
    assert lineage_of(machine.view.number) == view.lineage
    later = [machine.tick(60_000_000 + at * beat_us) for at in range(1, 200)]
    probed = {e.process.name for effects in later for e in effects if isinstance(e, ProbeProcess)}
    assert probed == {"c"}


def test_joiner_is_taken_in_under_the_new_lineage() -> None:
    """The view after the first of a lineage is agreed on as any other."""
    machine, view = taken_over()
    new = type(B)("d", 1, 9)
    effects = machine.take_control(new, JoinRequest(new), 3_000)
    told = [m for to, m in sent(effects) if to == new and isinstance(m, Decide)]
    assert told[0].views[-1].members == (A, new)
    assert told[0].views[-1].number == view.number + 1
    assert isinstance(machine.membership.answer(new, 0, has_channel=True), Standing)
    assert any(isinstance(effect, SendControl) for effect in effects)


def test_numbers_are_said_with_their_lineage() -> None:
    """People do not read bits."""
    assert say_number(7) == "view 7"
    assert say_number((3 << COUNT_BITS) + 7) == "view 7 of lineage 3"


def test_who_has_left_others_behind_is_not_idle() -> None:
    """It asks them every few heartbeats; were nobody left behind, it would be idle."""
    machine = Endpoint(A, OURS, Settings(), 0)
    machine.start()
    for other in (B, C):
        machine.step(PeerLost(other), 1_000)
    machine.step(TakeOverRequested(STEP), 2_000)
    machine.step(TimerFired(HEARTBEAT), 200_000)
    assert not machine.is_idle
    machine.member.membership._probing.meet((B, C))
    assert machine.is_idle

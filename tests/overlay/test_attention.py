"""Whom members have channels with, beat to and watch: their neighbours, or all in an alarm."""

from math import log2
from unittest.mock import patch

import pytest
from tests.membership.hands import A, B, member, view_of
from tests.overlay.group_by_hand import BEAT_US, WAY_US, Group

from antiphon.core.control import AlarmSaid, Beat
from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.membership.attention import ALARMED_MAX, Attention
from antiphon.membership.effects import Outbox, SendControl
from antiphon.membership.failure_detector import Timing
from antiphon.membership.transition import Transition
from antiphon.ordering.overlay.topologies import incomplete_hypercube
from antiphon.stack.acquaintances import Acquaintances
from antiphon.stack.effects import BlockGroup, ExpectPeers, SuspectProcess
from antiphon.stack.inputs import LetterRequested, PeerLost

MEMBERS = tuple(ProcessId(f"p{rank}") for rank in range(8))
TIMEOUT_US = Timing().timeout_us
G, H = GroupNumber(1), GroupNumber(2)


def needed(group: Group, rank: int) -> set[int]:
    """Return with whom a member has a channel, by rank."""
    me = group.members[rank]
    said = [effect for who, effect in group.of(ExpectPeers) if who == me][-1]
    return {group.members.index(who) for who in said.processes if who not in (*said.idle, me)}


@pytest.mark.parametrize("size", [8, 16, 32])
def test_calm_members_need_their_neighbours_only_and_beat_to_them(size: int) -> None:
    """N log2 n beats per heartbeat on a full cube, and nothing else, ever."""
    group = Group(size)
    group.settle()
    for rank in range(size):
        assert needed(group, rank) == set(incomplete_hypercube(size, rank))
    group.run(10 * BEAT_US)
    assert group.said == {Beat: 10 * size * log2(size)}


def test_suspicion_alarms_who_has_it_and_then_all_and_ends() -> None:
    """A neighbour suspects who is dead as soon as anybody would; the rest are told."""
    group = Group(16)
    group.settle()
    group.crash(group.members[5])
    group.run(TIMEOUT_US + BEAT_US)
    suspecting = [me for me, _ in group.of(SuspectProcess)]
    assert suspecting[0] in {group.members[rank] for rank in incomplete_hypercube(16, 5)}
    group.run(10 * BEAT_US)
    assert {endpoint.member.view_number for endpoint in group.endpoints.values()} == {2}
    assert all(one.member.membership.attention.is_alarmed for one in group.endpoints.values())
    group.settle()
    group.run(10 * BEAT_US)
    degrees = sum(len(incomplete_hypercube(15, rank)) for rank in range(15))
    assert group.said == {Beat: 10 * degrees}


def test_false_alarm_of_one_leaves_the_others_calm() -> None:
    """They beat to who is alarmed, and stop when that is over."""
    group = Group(16)
    group.settle()
    alarmed = group.endpoints[group.members[4]]
    for _ in range(40):
        alarmed.member.membership.attend(group.now_us, has_reason=True)
        group.run(BEAT_US)
    assert needed(group, 15) == {*incomplete_hypercube(16, 15), 4}
    assert needed(group, 4) == set(range(16)) - {4}
    assert not group.of(SuspectProcess)
    group.settle()
    assert needed(group, 15) == set(incomplete_hypercube(16, 15))
    assert needed(group, 4) == set(incomplete_hypercube(16, 4))
    assert not group.of(SuspectProcess)


def test_that_check_finds_who_does_not_beat_to_who_is_alarmed() -> None:
    """It watches everybody, for longer than it waits for anybody."""

    def needs(self: Attention, process: ProcessId) -> bool:
        return self._is_ending or self.watches(process) or process in self._met

    group = Group(16)
    group.settle()
    alarmed = group.endpoints[group.members[4]]
    with patch.object(Attention, "needs", needs):
        for _ in range(40):
            alarmed.member.membership.attend(group.now_us, has_reason=True)
            group.run(BEAT_US)
    assert (group.members[4], SuspectProcess(group.members[15])) in group.done


def test_member_that_loses_all_its_neighbours_is_blocked_within_three_timeouts() -> None:
    """So it says itself, whatever has become of the others."""
    group = Group(16)
    group.settle()
    lone = group.members[9]
    group.crash(*(who for who in group.members if who != lone))
    group.run(3 * TIMEOUT_US + 5 * BEAT_US)
    assert [me for me, _ in group.of(BlockGroup)] == [lone]


def test_certain_death_of_who_is_no_neighbour_is_an_alarm() -> None:
    """Whoever dials it finds that nobody listens: it is suspected by that, as ever."""
    group = Group(16)
    group.settle()
    one, dead = group.members[0], group.members[15]
    group.crash(dead)
    group.give(one, LetterRequested(dead, b"x", 1))
    assert 15 in needed(group, 0)
    group.give(one, PeerLost(dead))
    assert (one, SuspectProcess(dead)) in group.done
    group.run(10 * BEAT_US)
    assert {endpoint.member.view_number for endpoint in group.endpoints.values()} == {2}


def test_letter_makes_a_channel_first_and_it_sleeps_again() -> None:
    """At its sender, and for the acknowledgement at its receiver."""
    group = Group(16)
    group.settle()
    group.give(group.members[0], LetterRequested(group.members[15], b"x", 1))
    assert needed(group, 0) == {*incomplete_hypercube(16, 0), 15}
    group.run(BEAT_US)
    assert needed(group, 15) == {*incomplete_hypercube(16, 15), 0}
    group.run(2 * TIMEOUT_US)
    assert needed(group, 0) == set(incomplete_hypercube(16, 0))
    assert needed(group, 15) == set(incomplete_hypercube(16, 15))


def test_alarm_is_told_once_and_its_end_before_anybody_is_idle() -> None:
    """By hand: told to those who come later, too."""
    view = view_of(*MEMBERS)
    out, transition = Outbox(MEMBERS[0]), Transition(view)
    attention = Attention(out, transition, Timing(), lambda: MEMBERS[1:3])
    assert attention.is_alarmed
    assert not attention.look(0, has_reason=True)
    attention.tell()
    assert out.take() == [SendControl(MEMBERS[1:], AlarmSaid(is_raised=True))]
    attention.tell()
    assert not out.take()
    assert not attention.look(TIMEOUT_US - 1, has_reason=False), "it lasts for a while"
    assert attention.look(TIMEOUT_US, has_reason=False)
    assert not attention.watches(MEMBERS[3])
    assert not attention.idle
    attention.tell()
    assert out.take() == [SendControl(MEMBERS[1:], AlarmSaid(is_raised=False))]
    assert not attention.is_quiet
    assert not attention.look(TIMEOUT_US + 1, has_reason=False)
    assert attention.is_quiet
    assert tuple(attention.idle) == MEMBERS[3:]
    assert attention.hear(MEMBERS[5], is_raised=True)
    assert not attention.hear(MEMBERS[5], is_raised=True)
    assert MEMBERS[5] not in attention.idle
    assert not attention.watches(MEMBERS[5])
    assert not attention.hear(MEMBERS[5], is_raised=False)
    assert tuple(attention.idle) == MEMBERS[3:]


def test_few_are_remembered_to_be_alarmed() -> None:
    """As many as a view may have members: strangers cannot fill the memory."""
    attention = Attention(Outbox(A), Transition(view_of(A, B)), Timing(), lambda: (B,))
    for number in range(ALARMED_MAX + 10):
        attention.hear(ProcessId(f"x{number}"), is_raised=True)
    assert len(attention._alarmed) == ALARMED_MAX


def test_alarm_is_refused_where_everybody_watches_everybody() -> None:
    """No correct member says it there."""
    with pytest.raises(PeerError, match="alarmed"):
        member(B, view_of(A, B)).take_control(A, AlarmSaid(is_raised=True), 0)


def test_process_is_idle_if_no_group_of_its_needs_a_channel() -> None:
    """Two groups know it, one needs it not; then neither does; then it is known to none."""
    me, a, b = (who.bare() for who in MEMBERS[:3])
    known = Acquaintances(me, ProcessId.bare)
    assert known.expect(G, (me, a, b), ()) == (ExpectPeers((me, a, b)),)
    assert list(known.others) == [a, b]
    assert known.expect(H, (me, b), ()) == ()
    assert known.expect(G, (me, a, b), (a, b)) == (ExpectPeers((me, a, b), (a,)),)
    assert list(known.others) == [b]
    assert known.expect(H, (), ()) == (ExpectPeers((me, a, b), (a, b)),)
    assert not known.others
    assert known.expect(G, (me, b), ()) == (ExpectPeers((me, b)),)
    assert known.members(G, b) == (b,)
    assert known.all_members(G) == [me, b]


def test_nobody_leads_before_it_has_heard_a_quorum() -> None:
    """Who is watched anew counts as heard; whoever leads must have heard more than that."""
    group = Group(16)
    group.settle()
    senior = group.members[0]
    group.crash(*(who for who in group.members if who != senior))
    endpoint = group.endpoints[senior]
    endpoint.member.membership.attend(group.now_us, has_reason=True)
    fresh = endpoint.member.membership._detector.is_fresh
    assert not fresh(group.members[15], group.now_us)
    assert fresh(group.members[1], group.now_us + WAY_US)

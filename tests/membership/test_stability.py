"""Stability: copies are kept as long as anybody may need them, and not one step longer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.membership.hands import A, B, C, member, run_of, sent, view_of

from antiphon.core.control import Alive
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Order
from antiphon.membership.effects import SendRun
from antiphon.membership.failure_detector import Timing
from antiphon.ordering.stability import Stability
from antiphon.stack.member import Member

BEAT = Timing().heartbeat_us


def alive(*received: tuple[int, int], stable: int = 0, number: int = 1) -> Alive:
    """Return what a member says."""
    return Alive(number, received, stable, number)


def sender(count: int = 3, size: int = 3) -> Stability:
    """Return member 0 of a view after it has multicast some messages."""
    stability = Stability(size, 0)
    for number in range(1, count + 1):
        stability.keep(run_of(0, number))
    return stability


def test_own_messages_are_released_exactly_when_all_have_them() -> None:
    """A copy is dropped with the word of the last member, and not with the word before."""
    mine = sender()
    assert mine.kept_bytes == 3
    assert mine.learn(1, alive((0, 3)), 3)
    mine.reach(3)
    assert (mine.stable(0), mine.kept_bytes) == (0, 3)
    assert mine.learn(2, alive((0, 2)), 3)
    mine.reach(3)
    assert (mine.stable(0), mine.kept_bytes) == (2, 1)
    assert mine.learn(2, alive((0, 3)), 3)
    mine.reach(3)
    assert (mine.stable(0), mine.kept_bytes) == (3, 0)


def test_others_messages_are_released_when_their_sender_says_so() -> None:
    """Only the sender knows that all have received; others believe it, and only it."""
    other = Stability(3, 1)
    other.keep(run_of(0, 1, count=2))
    other.keep(run_of(0, 3))
    other.keep(run_of(2, 1))
    assert other.learn(2, alive((0, 3), stable=1), 0)
    assert [run.first for run in other.copies[0]] == [1, 3]
    assert not other.copies[2]
    assert other.learn(0, alive(stable=1), 0)
    assert [run.first for run in other.copies[0]] == [1, 3]  # a run goes as a whole
    assert other.learn(0, alive(stable=2), 0)
    assert [run.first for run in other.copies[0]] == [3]
    assert other.kept_bytes == 1


def test_old_word_takes_nothing_back() -> None:
    """Counts only grow, in whatever order words arrive."""
    mine = sender()
    mine.learn(1, alive((0, 3)), 3)
    mine.learn(1, alive((0, 1)), 3)
    mine.learn(2, alive((0, 3)), 3)
    mine.reach(3)
    assert mine.stable(0) == 3


@pytest.mark.parametrize(("k", "count"), [(0, 0), (1, 3), (2, 2), (3, 1), (4, 0), (9, 0), (-1, 0)])
def test_k_stable_counts_other_holders(k: int, count: int) -> None:
    """000-16: k-stable means held by k members beside the sender."""
    mine = sender(3, 5)
    for peer, received in ((1, 1), (2, 3), (3, 2), (4, 0)):
        mine.learn(peer, alive((0, received)), 3)
    mine.reach(3)
    assert mine.k_stable(k) == count


def test_member_that_claims_what_was_never_sent_is_not_believed() -> None:
    """A count beyond what was multicast is no correct member's, and frees nothing."""
    mine = sender(2)
    assert mine.learn(1, alive((0, 2)), 2)
    assert not mine.learn(2, alive((0, 3)), 2)
    mine.reach(2)
    assert mine.kept_bytes == 2


def test_word_is_of_what_is_new() -> None:
    """Each Alive says only what changed since the last, and together they say everything."""
    mine = Stability(3, 0)
    assert mine.alive(1, [0, 2, 0], 1).received == ((1, 2),)
    assert mine.alive(1, [4, 2, 1], 1).received == ((0, 4), (2, 1))
    assert mine.alive(1, [4, 2, 1], 1).received == ()


def test_view_of_one_keeps_nothing() -> None:
    """With nobody else there, what is multicast is stable."""
    mine = sender(3, 1)
    mine.release_alone()
    assert mine.kept_bytes == 0
    assert not mine.copies[0]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 4), st.booleans()), min_size=1, max_size=40
    )
)
def test_nothing_is_dropped_that_somebody_lacks(steps: list[tuple[int, int, bool]]) -> None:
    """Whatever is said in whatever order, a dropped message has been received by every member."""
    size = 3
    everyone = [Stability(size, rank) for rank in range(size)]
    sent = [0] * size
    received = [[0] * size for _ in range(size)]
    for who, count, speaks in steps:
        if speaks:
            everyone[who].reach(sent[who])
            said = everyone[who].alive(1, list(received[who]), 1)
            for other in range(size):
                if other != who:
                    assert everyone[other].learn(who, said, sent[other])
        else:
            run = run_of(who, sent[who] + 1, count=count)
            sent[who] += count
            everyone[who].keep(run)
            received[who][who] = sent[who]
            lucky = (who + 1 + count % 2) % size  # the other one gets it late
            everyone[lucky].keep(run_of(who, received[lucky][who] + 1, count=count))
            received[lucky][who] += count
        for holder in range(size):
            for rank in range(size):
                least = min(row[rank] for row in received)
                assert everyone[holder].stable(rank) <= least
                kept = everyone[holder].copies[rank]
                assert sum(run.count for run in kept) >= received[holder][rank] - least


def talk(everyone: dict[ProcessId, Member], talker: ProcessId, now_us: int) -> None:
    """Let one member multicast a hundred bytes, which all others get at once."""
    (said, _) = everyone[talker].multicast([b"x" * 100], Order.CAUSAL, now_us)
    assert isinstance(said, SendRun)
    for other in [machine for who, machine in everyone.items() if who != talker]:
        assert other.receiver.receive_plain(talker, said.run)
        if said.alive is not None:
            other.take_control(talker, said.alive, now_us)


def test_buffers_stay_bounded_under_sustained_load() -> None:
    """What is kept is a few heartbeats' worth, however long the load goes on."""
    everyone = {who: member(who, view_of(A, B, C)) for who in (A, B, C)}
    most: list[int] = []
    for now_us in range(BEAT, 60 * BEAT, BEAT):
        for place in range(60):
            talk(everyone, (A, B, C)[place % 3], now_us)
        for who, machine in everyone.items():
            for to, message in sent(machine.tick(now_us + 1)):
                everyone[to].take_control(who, message, now_us + 1)
        most.append(max(machine.kept_bytes for machine in everyone.values()))
    assert max(most) <= 3 * 60 * 100
    assert max(most[30:]) <= max(most[:30])

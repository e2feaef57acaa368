"""What is known to be delivered by all: every member's word, and nothing concurrent to come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.membership.hands import A, B, C, member, sent, view_of

from antiphon.core.control import Alive
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Order
from antiphon.membership.effects import Effect, SendRun
from antiphon.membership.failure_detector import Timing
from antiphon.ordering.matrix_clock import MatrixClock
from antiphon.ordering.stability import Stability
from antiphon.stack.member import Member

BEAT = Timing().heartbeat_us

Waiting = tuple[ProcessId, Effect]
"""What a member does, and has not been carried to others yet."""


def alive(*received: tuple[int, int], undelivered: tuple[tuple[int, int], ...] = ()) -> Alive:
    """Return what a member says."""
    return Alive(1, received, 0, 1, undelivered=undelivered)


def test_message_is_known_when_the_last_member_has_said_so() -> None:
    """Every member's word is needed, this one's too."""
    mine = MatrixClock(3, [3, 0, 0])
    mine.learn(0, alive((0, 3)))
    mine.learn(1, alive((0, 3)))
    assert mine.delivered(0) == 0
    mine.learn(2, alive((0, 2)))
    assert mine.delivered(0) == 2
    mine.learn(2, alive((0, 3)))
    assert mine.delivered(0) == 3


def test_what_is_received_only_does_not_count() -> None:
    """A member that holds a message back says so, and later that it has delivered it."""
    mine = MatrixClock(2, [2, 0])
    mine.learn(0, alive((0, 2)))
    mine.learn(1, alive((0, 2), undelivered=((0, 1),)))
    assert mine.delivered(0) == 1
    mine.learn(1, alive((0, 2)))
    assert mine.delivered(0) == 2


def test_word_counts_when_what_its_speaker_multicast_before_is_delivered() -> None:
    """Message 5 of member 1 may be concurrent with message 1 of member 0: it must come first."""
    delivered = [1, 4]
    mine = MatrixClock(2, delivered)
    mine.learn(0, alive((0, 1)))
    mine.learn(1, alive((0, 1), (1, 5)))
    assert mine.delivered(0) == 0
    delivered[1] = 5
    assert mine.delivered(0) == 1


def test_own_word_waits_for_own_messages_likewise() -> None:
    """An own total multicast that waits for its turn is concurrent with what came since."""
    delivered = [0, 1]
    mine = MatrixClock(2, delivered)
    mine.learn(1, alive((1, 1)))
    mine.learn(0, alive((0, 1), (1, 1), undelivered=((0, 0),)))
    assert mine.delivered(1) == 0
    delivered[0] = 1
    assert mine.delivered(1) == 1


def test_steady_stream_of_words_puts_none_off_for_ever() -> None:
    """However many words wait, the first counts as soon as what it waits for is delivered."""
    delivered = [9, 0]
    mine = MatrixClock(2, delivered)
    mine.learn(0, alive((0, 9)))
    for number in range(1, 10):
        mine.learn(1, alive((0, number), (1, number)))
        delivered[1] = number - 1  # always one behind
        assert mine.delivered(0) >= number - 2
    delivered[1] = 9
    assert mine.delivered(0) == 9


def test_deliveries_are_said_only_where_they_differ() -> None:
    """Nothing is added to receipts of what is delivered; a late delivery is news by itself."""
    delivered = [0, 2, 0]
    mine = Stability(3, 0, delivered)
    assert mine.alive(1, [0, 2, 0], 1) == Alive(1, ((1, 2),), 0, 1)
    assert mine.alive(1, [0, 2, 3], 1) == Alive(1, ((2, 3),), 0, 1, undelivered=((2, 0),))
    delivered[2] = 1
    assert mine.alive(1, [0, 2, 3], 1) == Alive(1, ((2, 3),), 0, 1, undelivered=((2, 1),))
    delivered[2] = 3
    assert mine.alive(1, [0, 2, 3], 1) == Alive(1, ((2, 3),), 0, 1)
    assert mine.alive(1, [0, 2, 3], 1) == Alive(1, (), 0, 1)


@pytest.mark.parametrize("undelivered", [((0, 2),), ((0, 3),), ((1, 0),)])
def test_member_that_delivers_what_it_did_not_receive_is_not_believed(
    undelivered: tuple[tuple[int, int], ...],
) -> None:
    """Fewer are delivered than received, of whom something is received, or nothing is said."""
    mine = Stability(3, 0)
    assert not mine.learn(1, alive((0, 2), undelivered=undelivered), 2)
    assert mine.learn(1, alive((0, 2), undelivered=((0, 1),)), 2)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.booleans()), max_size=60),
)
def test_nothing_is_known_that_is_not_so(steps: list[tuple[int, int, bool]]) -> None:
    """Whoever delivers and speaks when, nobody knows of what somebody has not delivered."""
    size = 3
    delivered = [[0] * size for _ in range(size)]
    everyone = [Stability(size, rank, delivered[rank]) for rank in range(size)]
    sent_count = [0] * size
    for who, whose, speaks in steps:
        if speaks:
            received = list(sent_count)  # by all at once, and delivered later
            said = everyone[who].alive(1, received, 1)
            for other in range(size):
                if other != who:
                    assert everyone[other].learn(who, said, sent_count[other])
        elif who == whose and delivered[who][who] == sent_count[who]:
            sent_count[who] += 1
        else:
            delivered[who][whose] = min(delivered[who][whose] + 1, sent_count[whose])
        for holder in everyone:
            for rank in range(size):
                known = holder.deliveries.delivered(rank)
                assert known <= min(row[rank] for row in delivered)


def beat(everyone: dict[ProcessId, Member], now_us: int) -> int:
    """Let all members beat once; return how many messages that took."""
    said = [
        (who, to, message)
        for who, machine in everyone.items()
        for to, message in sent(machine.tick(now_us))
    ]
    for who, to, message in said:
        everyone[to].take_control(who, message, now_us)
    return len(said)


def carry(everyone: dict[ProcessId, Member], who: ProcessId, effect: Effect) -> list[Waiting]:
    """Let what one member sends arrive at once; return what others send of it."""
    follows: list[Waiting] = []
    if isinstance(effect, SendRun):
        for other, machine in everyone.items():
            if other != who:
                follows += [(other, done) for done in machine.take_run(who, effect.run, BEAT)]
    for to, message in sent([effect]):
        follows += [(to, done) for done in everyone[to].take_control(who, message, BEAT)]
    return follows


@pytest.mark.parametrize("order", [Order.CAUSAL, Order.TOTAL])
@pytest.mark.parametrize("uniform", [False, True])
def test_last_message_of_a_quiet_group_is_known_soon(order: Order, uniform: bool) -> None:
    """Two heartbeats after it is delivered everybody knows; from then on nothing is said."""
    everyone = {who: member(who, view_of(A, B, C)) for who in (A, B, C)}
    beat(everyone, BEAT)
    waiting = [(B, done) for done in everyone[B].multicast([b"x"], order, BEAT, uniform=uniform)]
    while waiting:  # runs, lists and confirmations
        waiting += carry(everyone, *waiting.pop(0))
        if not waiting:
            for who, machine in everyone.items():
                waiting += [(who, done) for done in machine.acknowledge(BEAT)]
    for count in (2, 3):
        beat(everyone, count * BEAT)
    known = [machine.stability.deliveries.delivered(1) for machine in everyone.values()]
    assert known == [1, 1, 1]
    beat(everyone, 4 * BEAT)  # how far own messages are stable
    assert beat(everyone, 5 * BEAT) == 0

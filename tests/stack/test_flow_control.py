"""Flow control: what is withheld is said later; full channels and much on the way stop senders."""

from antiphon.core.control import Alive, ReadingOn
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.stack.flow_control import FlowControl
from antiphon.stack.settings import Limits

ANN, BOB = ProcessId("ann"), ProcessId("bob")
MEMBERS = (ANN, BOB)


def view(number: int) -> View:
    """Return a view of both."""
    return View(GroupName("g"), ViewNumber(number), MEMBERS)


STALL_US = 8_000


def flow_control(limits: Limits | None = None, held_bytes: int = 0) -> FlowControl:
    """Return the flow control of bob, the second of two, in view 3."""
    flow = FlowControl(BOB, limits or Limits(), lambda: held_bytes, STALL_US)
    flow.enter(view(3))
    return flow


def test_withheld_receipts_are_said_when_they_may_be() -> None:
    """The latest of each sender, all at once; what is stable is said at any time."""
    flow = flow_control()
    flow.lag(0, is_behind=True)
    assert flow.say(Alive(3, ((0, 5), (1, 2)), 7, 3)) == Alive(3, (), 7, 3)
    assert flow.say(Alive(3, ((1, 4),), 8, 3)) == Alive(3, (), 8, 3)
    flow.lag(0, is_behind=False)
    said = flow.say(Alive(3, ((2, 1),), 9, 3))
    assert said == Alive(3, ((0, 5), (1, 4), (2, 1)), 9, 3)
    assert flow.say(Alive(3, ((1, 5),), 9, 3)) == Alive(3, ((1, 5),), 9, 3)


def test_withheld_receipts_say_what_is_delivered_by_then() -> None:
    """Of each sender as it stands: nothing of what was held and has been delivered since."""
    flow = flow_control()
    flow.lag(0, is_behind=True)
    held = Alive(3, ((0, 5), (1, 2)), 0, 3, undelivered=((0, 4), (1, 1)))
    assert flow.say(held) == Alive(3, (), 0, 3)
    flow.lag(0, is_behind=False)
    said = flow.say(Alive(3, ((1, 2), (2, 6)), 0, 3, undelivered=((2, 3),)))
    assert said == Alive(3, ((0, 5), (1, 2), (2, 6)), 0, 3, undelivered=((0, 4), (2, 3)))


def test_new_view_makes_what_was_withheld_void() -> None:
    """Numbers of one view say nothing about another."""
    flow = flow_control()
    flow.lag(0, is_behind=True)
    flow.say(Alive(3, ((0, 5),), 0, 3))
    flow.enter(view(4))
    flow.lag(0, is_behind=False)
    assert flow.say(Alive(4, ((0, 1),), 0, 4)) == Alive(4, ((0, 1),), 0, 4)


def test_word_of_another_view_is_said_as_it_is() -> None:
    """A farewell, or a word of who is outside, confirms nothing that could be withheld."""
    flow = flow_control()
    flow.lag(0, is_behind=True)
    assert flow.say(Alive(4, ((0, 1),), 0, 4)) == Alive(4, ((0, 1),), 0, 4)


def test_confirmations_are_noted_by_member() -> None:
    """Only those of the current view, and of this process's own messages."""
    flow = flow_control()
    flow.hear(ANN, Alive(3, ((0, 9), (1, 4)), 0, 3))
    flow.hear(ANN, Alive(2, ((1, 8),), 0, 3))
    assert flow.confirmed == {ANN: 4}
    flow.enter(view(4))
    assert flow.confirmed == {}


def test_nothing_is_withheld_for_the_reader_while_somebody_waits_to_send() -> None:
    """Two processes that both wait to send must not wait for each other's confirmations."""
    flow = flow_control()
    flow.lag(0, is_behind=True)
    assert flow.is_behind
    flow.are_senders_waiting = True
    assert not flow.is_behind
    flow.are_senders_waiting = False
    assert flow.is_behind


def test_who_reads_on_says_so_now_and_then() -> None:
    """Not at the first word, that it is behind; nor when somebody waits here, who confirms."""
    flow = flow_control()
    assert not flow.lag(0, is_behind=True)
    said = [now_us for now_us in range(0, 10_000, 100) if flow.lag(now_us, is_behind=True)]
    assert said == list(range(0, 10_000, STALL_US // 8))
    assert flow.moves == len(said)
    assert flow.reads == 100
    assert not flow.lag(20_000, is_behind=False)
    assert not flow.lag(30_000, is_behind=True)
    flow.are_senders_waiting = True
    assert not flow.lag(40_000, is_behind=True)


def test_who_reads_on_moves() -> None:
    """In the view that it speaks of."""
    flow = flow_control()
    flow.hear(ANN, Alive(3, ((1, 4),), 0, 3))
    seen = {flow.progress(ANN)}
    for count in (1, 2):
        flow.hear_reading(ANN, ReadingOn(3, count))
        seen.add(flow.progress(ANN))
    assert len(seen) == 3
    flow.hear_reading(ANN, ReadingOn(2, 9))
    assert flow.progress(ANN) in seen
    assert flow.confirmed == {ANN: 4}
    flow.enter(view(4))
    assert not flow.progress(ANN)


def test_who_holds_back_too_much_is_behind_whoever_waits() -> None:
    """What waits for its past takes memory, whether the application sends or not."""
    assert not flow_control(Limits(held_bytes=10), held_bytes=10).is_behind
    flow = flow_control(Limits(held_bytes=10), held_bytes=11)
    flow.are_senders_waiting = True
    assert flow.is_behind


def test_full_channel_of_a_member_leaves_no_room_until_it_takes_more() -> None:
    """That of a process which is no member stops nobody."""
    flow = flow_control()
    flow.fill(ANN, is_full=True)
    assert not flow.has_room(0, MEMBERS)
    assert flow.has_room(0, (BOB,))
    flow.fill(ANN, is_full=False)
    assert flow.has_room(0, MEMBERS)


def test_too_much_on_the_way_leaves_no_room() -> None:
    """The limit itself is still allowed."""
    flow = flow_control(Limits(unstable_bytes=100))
    assert flow.has_room(100, MEMBERS)
    assert not flow.has_room(101, MEMBERS)

"""The oracle itself, on histories small enough to judge by hand."""

from tests.properties.event_graph import Event, Message, complaints, pasts

ASKS: Message = (0, 1)
ANSWERS: Message = (1, 1)


def _history(third: list[Message], *, is_fifo: bool = False) -> list[list[Event]]:
    """Process 0 asks, 1 answers, 2 delivers what it is told."""
    return [
        [Event("multicast", ASKS), Event("deliver", ASKS), Event("deliver", ANSWERS)],
        [
            Event("deliver", ASKS),
            Event("multicast", ANSWERS, is_fifo),
            Event("deliver", ANSWERS),
        ],
        [Event("deliver", message) for message in third],
    ]


def test_question_before_answer_is_no_complaint() -> None:
    """A causal history that ended well is left alone."""
    assert complaints(_history([ASKS, ANSWERS]), is_complete=True) == []


def test_answer_before_question_is_a_complaint() -> None:
    """The delivery that came too early is named, with what it should have waited for."""
    assert complaints(_history([ANSWERS, ASKS]), is_complete=True) == [
        "process 2 delivered (1, 1) before [(0, 1)]"
    ]


def test_fifo_answer_before_question_is_no_complaint() -> None:
    """A FIFO message has only its sender's own messages in its past."""
    assert complaints(_history([ANSWERS, ASKS], is_fifo=True), is_complete=True) == []


def test_second_delivery_is_a_complaint() -> None:
    """Nothing may be delivered twice."""
    assert complaints(_history([ASKS, ANSWERS, ASKS]), is_complete=True) == [
        "process 2 delivered (0, 1) twice"
    ]


def test_invented_message_is_a_complaint() -> None:
    """Nothing may be delivered that nobody multicast."""
    assert complaints(_history([ASKS, ANSWERS, (2, 9)]), is_complete=True) == [
        "process 2 delivered (2, 9), which nobody multicast"
    ]


def test_missing_message_is_a_complaint_only_at_the_end() -> None:
    """While something is under way it may be missing; when all is quiet it may not."""
    assert complaints(_history([ASKS]), is_complete=False) == []
    assert complaints(_history([ASKS]), is_complete=True) == ["process 2 never delivered (1, 1)"]


def test_own_message_delivered_late_is_a_complaint() -> None:
    """Between a multicast and its delivery at the sender nothing else is delivered."""
    late = [[Event("multicast", ASKS), Event("deliver", ANSWERS), Event("deliver", ASKS)]]
    assert "process 0 delivered (1, 1) while it owed itself (0, 1)" in complaints(
        late, is_complete=False
    )


def test_own_message_never_delivered_is_a_complaint() -> None:
    """Also before the end: self-delivery is immediate."""
    assert complaints([[Event("multicast", ASKS)]], is_complete=False) == [
        "process 0 never delivered its own (0, 1)"
    ]


def test_past_is_closed_over_chains() -> None:
    """What came before what came before a message is in its past, though its sender forgot it."""
    first, second, third = (0, 1), (1, 1), (2, 1)
    history = [
        [Event("multicast", first)],
        [Event("deliver", first), Event("multicast", second)],
        [Event("deliver", second), Event("multicast", third)],
    ]
    assert pasts(history)[third] == {first, second}

"""The oracle on hand-written traces: total order, uniform delivery, transactions."""

from collections.abc import Callable

import pytest
from tests.oracle.known_orders import (
    ASKED,
    CASES,
    COMMIT,
    TOTAL,
    TOTAL_CAUSAL,
    UNIFORM,
    Case,
    another_order_at_one,
    another_order_at_one_who_died,
    answer_before_its_question,
    commit_of_what_was_refused,
    two_decisions,
    two_decisions_of_one_process,
    two_decisions_without_any_delivery,
    uniform_message_of_the_dead,
    uniform_message_that_a_survivor_never_got,
)
from tests.trace.hand_written import crash, deliver, multicast, start, stop

from antiphon.oracle import judge
from antiphon.trace.schema import Event
from antiphon.trace.verdict import MessageId, Property, Status, Violation


def first_violation(rows: list[Event], which: Property) -> Violation:
    """Return the first explanation."""
    placed = [(row, "log", line) for line, row in enumerate(rows, 1)]
    return judge(placed).of(which).violations[0]


def told(violation: Violation) -> list[tuple[int, str]]:
    """Return the lines and words of a chain."""
    return [(link.line, link.text) for link in violation.chain]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_known_traces_have_the_verdicts_they_should_have(case: Callable[[], Case]) -> None:
    """Each is broken as often as its definition says, and whatever is broken is explained."""
    rows, expected = case()
    verdict, found = judge(rows), {}
    for item in map(verdict.of, ASKED):
        assert (item.status is Status.VIOLATED) == (item.violation_count > 0)
        assert len(item.violations) == min(3, item.violation_count)
        found[item.property] = -1 if item.status is Status.UNKNOWN else item.violation_count
    assert {which: count for which, count in found.items() if count} == expected


def test_two_orders_are_told_by_who_delivered_what_first() -> None:
    """Both messages, both processes and all four deliveries are named."""
    violation = first_violation(another_order_at_one()[0], TOTAL)
    assert violation.text == (
        "C delivered message 1 of B before message 1 of A, "
        "but A delivered message 1 of A before message 1 of B"
    )
    assert (violation.process, violation.message, violation.earlier) == (
        "C", MessageId("B", 1), MessageId("A", 1),
    )  # fmt: skip
    assert told(violation) == [
        (6, "A delivered message 1 of A"),
        (7, "A delivered message 1 of B"),
        (10, "C delivered message 1 of B"),
        (11, "C delivered message 1 of A only after message 1 of B"),
    ]


def test_who_is_held_only_to_uniform_messages_is_named() -> None:
    """A verdict on total order says whose order was not looked at, but for uniform messages."""
    reason = judge(another_order_at_one_who_died()[0]).of(TOTAL).reason
    assert reason == (
        "1 process is held to it in uniform messages only, as the record ends early: C"
    )


def test_total_order_against_causality_is_told_like_causal_order() -> None:
    """The chain leads from the question over the answer to where it came too early."""
    violation = first_violation(answer_before_its_question()[0], TOTAL_CAUSAL)
    assert violation.property is TOTAL_CAUSAL
    assert violation.text == (
        "A delivered message 1 of B, but only later message 1 of A, "
        "which B had delivered before multicasting it"
    )
    assert [line for line, _ in told(violation)] == [1, 2, 3, 5]


def test_who_went_on_without_a_uniform_message_is_told_by_the_view_row() -> None:
    """Who delivered it, though dead, and where the other installed the next view."""
    violation = first_violation(uniform_message_of_the_dead()[0], UNIFORM)
    assert violation.text == (
        "B never delivered message 1 of A, which is uniform and which A delivered, "
        "and went on to view 2"
    )
    assert told(violation) == [
        (7, "A multicast message 1 of A"),
        (8, "A delivered message 1 of A"),
        (12, "B installed view 2 without having delivered message 1 of A"),
    ]


def test_who_ended_without_a_uniform_message_is_told_by_its_end() -> None:
    """A whole process is held to it, view or no view."""
    violation = first_violation(uniform_message_that_a_survivor_never_got()[0], UNIFORM)
    assert violation.text == (
        "B never delivered message 1 of A, which is uniform and which A delivered"
    )
    assert told(violation)[-1] == (
        7, "B never delivered message 1 of A up to the end of its record",
    )  # fmt: skip


def test_two_decisions_are_told_by_both() -> None:
    """Who decided what about which transaction; there is no message."""
    violation = first_violation(two_decisions()[0], COMMIT)
    assert violation.text == ("B decided to abort transaction 3 of A, but A decided to commit it")
    assert violation.message is None
    assert told(violation) == [
        (3, "A decided to commit transaction 3 of A"),
        (4, violation.text),
    ]


def test_second_thoughts_are_told_as_such() -> None:
    """A process that contradicts itself is not told as two."""
    violation = first_violation(two_decisions_of_one_process()[0], COMMIT)
    assert violation.text == ("A decided to abort transaction 1 of A, but had decided to commit it")


def test_commit_against_a_vote_is_told_by_the_vote() -> None:
    """Who voted no, and who committed all the same."""
    violation = first_violation(commit_of_what_was_refused()[0], COMMIT)
    assert violation.text == "A decided to commit transaction 7 of B, on which C voted no"
    assert told(violation)[0] == (3, "C voted no on transaction 7 of B")


def test_transactions_of_a_named_group_are_told_with_it() -> None:
    """Where there are groups, the sentence names the one concerned."""
    violation = first_violation(two_decisions_without_any_delivery()[0], COMMIT)
    assert violation.text.endswith("it (group g)")


def test_own_messages_that_wait_for_their_turn_count_as_not_delivered() -> None:
    """Who asks for total order does not deliver by multicasting: neither this nor what follows."""
    rows = [start("A"), multicast("A", 1, order="total"), multicast("A", 2), deliver("A", "B")]
    rows += [multicast("B"), deliver("B", "B")]
    assert not judge([*rows, crash("A")]).is_violated
    own = judge([*rows, stop("A")]).of(Property.SELF_DELIVERY)
    assert [violation.message for violation in own.violations] == [
        MessageId("A", 1), MessageId("A", 2),
    ]  # fmt: skip


def test_what_was_not_asked_for_is_unknown() -> None:
    """A trace of causal messages says nothing about these properties, and why."""
    verdict = judge([multicast("A"), deliver("B", "A")])
    assert [verdict.of(which).reason for which in ASKED] == [
        "nothing was multicast in total order",
        "nothing was multicast in total order",
        "nothing was multicast with uniform delivery",
        "no transaction was decided",
    ]

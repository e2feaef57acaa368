"""Total order: the errata of ISIS 5.2 and 5.5 as schedules, each with the printed rule beside it.

Law: a table of processes, moved by hand; the oracle judges. Where an erratum says that the printed
rule breaks, the printed rule is planted, and the same schedule has to break.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from tests.membership.hands import A, B, C, D, view_of
from tests.mutants.planted import MUTANTS, planted
from tests.ordering.table import CAUSAL, FIFO, TOTAL, Table

from antiphon.core.errors import UsageError
from antiphon.core.runs import Order
from antiphon.ordering.total import POLICIES, Fixed, Follow
from antiphon.stack.settings import Settings

Outcome = tuple[list[str], dict[str, int]]
"""Promises broken, and what is held back in the end."""

WELL: Outcome = ([], {})


def with_bug(name: str) -> AbstractContextManager[None]:
    """Plant a bug for a while."""
    return planted(next(mutant for mutant in MUTANTS if mutant.name == name))


def end(table: Table) -> Outcome:
    """Let everything come to an end."""
    table.settle()
    return table.judge(), table.held


def list_meets_its_own_messages() -> Outcome:
    """000-5: the list arrives where the messages that it is about are held."""
    table = Table(3)
    table.say(B, TOTAL)
    table.arrive(B, A, C)
    table.acknowledge(A)
    table.arrive(A, C)
    return end(table)


def list_meets_a_message_after_its_own() -> Outcome:
    """000-6: p's CBCAST waits for p's ABCAST, and the list was said after both."""
    table = Table(3)
    table.say(B, TOTAL)
    table.say(B)
    table.arrive(B, A, C, count=2)
    table.acknowledge(A)
    table.arrive(A, C)
    return end(table)


def own_message_after_own_total_one() -> Outcome:
    """000-7: who does not hold the token multicasts in total, then in causal order."""
    table = Table(3)
    table.say(B, TOTAL)
    table.say(B)
    assert table.order(B) == []
    return end(table)


def token_comes_to_who_has_something_waiting() -> Outcome:
    """000-9: the new holder has messages of its own and of others in its queue."""
    table = Table(3, token="follow")
    for _ in range(8):
        table.say(B, TOTAL)
        table.arrive(B, A)
    table.say(C, TOTAL)
    table.arrive(C, B)  # not at the old holder when it speaks for the last time
    table.acknowledge(A)
    table.say(B, TOTAL)
    return end(table)


def view_comes_before_the_list() -> Outcome:
    """000-10 S1: the holder delivered by turns that it has not told anybody."""
    table = Table(4)
    table.say(B, TOTAL)
    table.say(C, TOTAL)
    table.arrive(C, A, B, D)
    table.arrive(B, A, C, D)
    table.crash(D)
    table.learn(view_of(A, B, C, number=2, failed=(D,)), A, B, C)
    return end(table)


def messages_come_to_the_holder_during_the_flush() -> Outcome:
    """000-10 S2: the holder knows of a newer view, and more arrives."""
    table = Table(4)
    table.say(B, TOTAL)
    table.say(C, TOTAL)
    table.crash(D)
    table.learn(view_of(A, B, C, number=2, failed=(D,)), A)
    table.arrive(C, A, B)
    table.arrive(B, A, C)
    table.learn(view_of(A, B, C, number=2, failed=(D,)), B, C)
    return end(table)


def token_comes_during_the_flush() -> Outcome:
    """000-10 S3: a list names c, which knows of a newer view already."""
    table = Table(4, token="follow")
    for _ in range(8):
        table.say(C, TOTAL)
        table.arrive(C, A, B, D)
    table.say(B, TOTAL)
    table.say(C, TOTAL)
    table.acknowledge(A)
    table.crash(D)
    table.learn(view_of(A, B, C, number=2, failed=(D,)), C)
    table.arrive(A, C)
    table.arrive(B, C)
    table.learn(view_of(A, B, C, number=2, failed=(D,)), A, B)
    return end(table)


def holder_dies_with_dependent_messages_left() -> Outcome:
    """000-11: b's message depends on c's, and b comes before c by name."""
    table = Table(4)
    table.say(C, TOTAL)
    table.arrive(C, A, B, D)
    table.say(C)
    table.say(D, TOTAL)
    table.acknowledge(A)
    table.arrive(A, B)
    table.say(B, TOTAL)  # after c1, which has a turn here
    table.arrive(B, C, D)
    table.crash(A)
    table.learn(view_of(B, C, D, number=2, failed=(A,)), B, C, D)
    return end(table)


def turn_dies_with_its_message() -> Outcome:
    """000-11: d's message reached only the holder, which gave it the first turn; both die."""
    table = Table(5)
    table.say(D, TOTAL)
    table.arrive(D, A)
    table.acknowledge(A)
    table.arrive(A, B, C)
    table.say(C, TOTAL)
    table.say(B, TOTAL)
    table.crash(A, D)
    e = table.people[4]
    table.learn(view_of(B, C, e, number=2, failed=(A, D)), B, C, e)
    return end(table)


def token_would_leave_with_a_list_nobody_can_deliver() -> Outcome:
    """The holder's list rides on an own total message that waits for an own uniform one."""
    table = Table(3, token="follow")
    table.say(A, uniform=True)
    for _ in range(8):
        table.say(B, TOTAL)
        table.arrive(B, A)
    table.say(A, TOTAL)
    return end(table)


SCHEDULES: list[tuple[Callable[[], Outcome], str]] = [
    (list_meets_its_own_messages, "list counts when delivered"),
    (list_meets_a_message_after_its_own, "list counts when delivered"),
    (own_message_after_own_total_one, "own causal message overtakes own total one"),
    (token_comes_to_who_has_something_waiting, "new holder looks at new messages only"),
    (token_comes_to_who_has_something_waiting, "token is lost on the way"),
    (view_comes_before_the_list, "last list is not said"),
    (messages_come_to_the_holder_during_the_flush, "holder gives turns during the flush"),
    (token_comes_during_the_flush, "token is taken during the flush"),
    (turn_dies_with_its_message, "lost turns are waited for"),
    (token_would_leave_with_a_list_nobody_can_deliver, "token moves while own messages wait"),
]


def _schedule_name(value: object) -> str:
    return getattr(value, "__name__", str(value)).replace("_", "-").replace(" ", "-")


@pytest.mark.parametrize(("schedule", "bug"), SCHEDULES, ids=_schedule_name)
def test_schedule_of_an_erratum_is_harmless(schedule: Callable[[], Outcome], bug: str) -> None:
    """The machines as they are keep every promise, and nothing stays held."""
    assert schedule() == WELL


@pytest.mark.parametrize(("schedule", "bug"), SCHEDULES, ids=_schedule_name)
def test_printed_rule_breaks_the_same_schedule(schedule: Callable[[], Outcome], bug: str) -> None:
    """With the wrong rule planted a promise is broken, or something is held for ever."""
    with with_bug(bug):
        try:
            outcome = schedule()
        except AssertionError:  # a machine that finds itself in an impossible state
            return
        assert outcome != WELL


def test_left_overs_follow_causality_first() -> None:
    """000-11: what depends on another comes after it, whatever their names."""
    assert holder_dies_with_dependent_messages_left() == WELL


def test_own_causal_message_never_overtakes_own_total_one_at_itself() -> None:
    """000-7: at the sender both are delivered, in the order in which they were multicast."""
    table = Table(3)
    table.say(B, TOTAL)
    table.say(B)
    table.say(B, FIFO)
    table.settle()
    for who in (A, B, C):
        assert table.order(who) == ["b1", "b2", "b3"]


def test_all_orders_mix() -> None:
    """Fifo, causal, total, uniform or not: every promise is kept and everything is delivered."""
    table = Table(4, token="follow")
    ways = [(order, uniform) for order in (TOTAL, FIFO, CAUSAL) for uniform in (False, True)]
    for turn in range(24):
        who = table.people[turn % 4]
        order, uniform = ways[turn % 6]
        table.say(who, order, uniform=uniform)
        if turn % 5 == 0:
            table.arrive(who, table.people[(turn + 1) % 4])
        if turn % 7 == 0:
            table.acknowledge(table.people[(turn + 2) % 4])
    assert end(table) == WELL
    assert all(len(table.order(who)) == 24 for who in table.people)


@pytest.mark.parametrize("token", list(POLICIES))
def test_crashed_holder_gives_way_to_the_next_view(token: str) -> None:
    """The survivors agree on the order of what was left, and go on."""
    table = Table(4, token=token)
    table.say(C, TOTAL)
    table.say(B, TOTAL)
    table.arrive(C, A, B)
    table.arrive(B, A, D)
    table.acknowledge(A)
    table.crash(A)
    table.learn(view_of(B, C, D, number=2, failed=(A,)), B, C, D)
    table.settle()
    table.say(D, TOTAL)
    assert end(table) == WELL
    assert table.order(B) == table.order(C) == table.order(D)
    assert len(table.order(B)) == 3


# Cost, and where the token goes.


def multicasts(table: Table) -> int:
    """Count all multicasts, sets-order messages included."""
    return sum(event.kind == "multicast" for seat in table.seats.values() for event in seat.events)


@pytest.mark.parametrize("batch", [1, 2, 5, 10])
def test_list_serves_all_messages_since_the_last_one(batch: int) -> None:
    """With a fixed token an ABCAST costs 1 + 1/k multicasts where a list has k turns."""
    table = Table(3, token="fixed")
    for _ in range(20 // batch):
        for _ in range(batch):
            table.say(B, TOTAL)
        table.settle()
    assert multicasts(table) == 20 + 20 // batch


def test_holder_needs_no_list_of_its_own() -> None:
    """What the holder itself multicasts in total order carries its turn: one multicast each."""
    table = Table(3, token="fixed")
    for _ in range(20):
        table.say(A, TOTAL)
        table.settle()
    assert multicasts(table) == 20


def test_token_follows_who_multicasts() -> None:
    """After a few turns the sender holds the token, and lists go out no more."""
    table = Table(3, token="follow")
    for _ in range(8):
        table.say(B, TOTAL)
        table.settle()
    before = multicasts(table)
    for _ in range(10):
        table.say(B, TOTAL)
        table.settle()
    assert multicasts(table) == before + 10
    assert end(table) == WELL


def test_total_order_alone_delivers_at_the_holder_at_once() -> None:
    """The holder's own message waits for nobody."""
    table = Table(3)
    table.say(A, TOTAL)
    assert table.order(A) == ["a1"]


def test_follow_moves_for_nearly_all_and_stays_otherwise() -> None:
    """Seven of eight turns are enough, wherever the odd one is; six are not."""
    for odd in range(8):
        policy = Follow()
        for turn in range(8):
            policy.note(0 if turn == odd else 2)
        assert policy.successor(0) == 2
    policy = Follow()
    for turn in range(8):
        policy.note(0 if turn < 2 else 2)
    assert policy.successor(0) == 0
    for _ in range(2):
        policy.note(2)
    assert policy.successor(0) == 2


def test_few_turns_move_nothing() -> None:
    """One burst of less than a window is no habit."""
    policy = Follow()
    for _ in range(7):
        policy.note(2)
    assert policy.successor(0) == 0


def test_fixed_token_stays() -> None:
    """Whoever multicasts."""
    policy = Fixed()
    for _ in range(100):
        policy.note(2)
    assert policy.successor(0) == 0


# Bad input.


@pytest.mark.parametrize("flush", ["coordinator", "all-to-all"])
@pytest.mark.parametrize("order", list(Order))
def test_uniform_multicast_is_refused_where_the_flush_cannot_give_it(
    flush: str, order: Order
) -> None:
    """The flushes of ISIS give no D3, and so no D4; the group is unharmed."""
    table = Table(3, flush)
    with pytest.raises(UsageError, match="uniform delivery needs the view-atomic flush"):
        table.say(B, order, uniform=True)
    table.say(B, order)
    assert end(table) == WELL
    assert table.order(C) == ["b1"]


def test_unknown_token_policy_is_refused() -> None:
    """The sentence says what there is."""
    with pytest.raises(UsageError, match="choose follow or fixed"):
        Settings(token="mine")

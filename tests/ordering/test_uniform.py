"""Uniform multicast: D4 with every order, and the schedules in which less would not be enough.

Law: a table of processes, moved by hand; the oracle judges, crashed processes included.
"""

import pytest
from tests.membership.hands import A, B, C, D, E, view_of
from tests.mutants.planted import MUTANTS, planted
from tests.ordering.table import CAUSAL, FIFO, TOTAL, Table

from antiphon.core.control import Confirm
from antiphon.core.errors import PeerError
from antiphon.core.runs import Order

ALL = (A, B, C)


def with_bug(name: str) -> object:
    """Plant a bug for a while."""
    return planted(next(mutant for mutant in MUTANTS if mutant.name == name))


def outcome(table: Table) -> tuple[list[str], dict[str, int]]:
    """Let everything come to an end; return what was broken and what is held."""
    table.settle()
    return table.judge(), table.held


# The two phases.


@pytest.mark.parametrize("order", list(Order))
def test_uniform_message_waits_until_all_have_confirmed(order: Order) -> None:
    """003-6: nobody delivers it, its sender included, before every member has it."""
    table = Table(3)
    table.say(A, order, uniform=True)
    table.arrive(A, B)
    table.acknowledge(A, B)
    table.arrive(B, A, count=len(table.channels[B, A]))
    assert [table.order(who) for who in ALL] == [[], [], []]
    assert outcome(table) == ([], {})
    assert [table.order(who) for who in ALL] == [["a1"]] * 3


def test_group_of_one_waits_for_nobody() -> None:
    """There is nobody to confirm."""
    table = Table(1)
    for order in Order:
        table.say(A, order, uniform=True)
    assert table.order(A) == ["a1", "a2", "a3"]
    assert outcome(table) == ([], {})


def test_confirmations_serve_many_messages() -> None:
    """Fifty messages in flight cost one confirmation and one mark for each other member."""
    table = Table(3)
    for _ in range(50):
        table.say(A, uniform=True)
    table.arrive(A, B, C, count=50)
    table.acknowledge(B, C)
    table.arrive(B, A)
    table.arrive(C, A)
    table.acknowledge(A)
    assert not table.channels[B, A]
    assert [type(item) for item in table.channels[A, B]] == [Confirm]
    assert outcome(table) == ([], {})
    assert len(table.order(C)) == 50


def lost_message(*, dies: bool = True) -> tuple[list[str], dict[str, int]]:
    """003-6, one acknowledgement short: c's message reaches b, not a; c, then b, die."""
    table = Table(3)
    table.say(C, uniform=True)
    table.arrive(C, B)
    table.acknowledge(B)
    table.arrive(B, C)
    table.crash(C)
    table.learn(view_of(A, B, number=2, failed=(C,)), A)
    table.crash(B)
    table.learn(view_of(A, number=3, failed=(B,)), A)
    return outcome(table)


def test_one_confirmation_too_few_loses_what_was_delivered() -> None:
    """With all but one confirmation c has delivered what the next view never sees."""
    assert lost_message() == ([], {})
    with with_bug("one confirmation is not waited for"):  # type: ignore[attr-defined]
        assert lost_message()[0] == ["uniform"]


# Its past.


def past_dies_with_its_senders(order: Order) -> tuple[list[str], dict[str, int]]:
    """D's plain message reaches only e, whose uniform one depends on it; then both die."""
    table = Table(5)
    table.say(D, order)
    table.arrive(D, E)
    table.say(E, uniform=True)
    table.arrive(E, A, B, C, D)
    table.acknowledge(A, B, C, D)
    for who in (A, B, C, D):
        channel = table.channels[who, E]
        table.arrive(who, E, count=len(channel))
    table.crash(D, E)
    table.learn(view_of(A, B, C, number=2, failed=(D, E)), A, B, C)
    return outcome(table)


@pytest.mark.parametrize("order", [CAUSAL, FIFO])
def test_uniform_message_is_confirmed_with_its_past_only(order: Order) -> None:
    """Confirming on mere receipt would let e deliver what the others may never deliver."""
    assert past_dies_with_its_senders(order) == ([], {})
    with with_bug("confirmed on receipt"):  # type: ignore[attr-defined]
        assert past_dies_with_its_senders(order)[0] == ["uniform"]


def past_dies_before_the_first_uniform_message() -> tuple[list[str], dict[str, int]]:
    """The same, where the dependent message is a plain one ahead of the first uniform one."""
    table = Table(5)
    table.say(D)
    table.arrive(D, E)
    table.say(E)
    table.say(E, uniform=True)
    table.arrive(E, A, B, C, D, count=2)
    table.acknowledge(A, B, C, D)
    for who in (A, B, C, D):
        table.arrive(who, E, count=len(table.channels[who, E]))
    table.crash(D, E)
    table.learn(view_of(A, B, C, number=2, failed=(D, E)), A, B, C)
    return outcome(table)


def test_what_came_before_the_first_uniform_message_must_be_settled_too() -> None:
    """What is held when uniform delivery is first asked for is not settled by having come."""
    assert past_dies_before_the_first_uniform_message() == ([], {})
    with with_bug("everything received counts as settled"):  # type: ignore[attr-defined]
        assert past_dies_before_the_first_uniform_message()[0] == ["uniform"]


# Order.


def test_uniform_messages_are_causal() -> None:
    """003-7: r learns that n may be delivered before it learns so of m, on which n depends."""
    table = Table(3)
    table.say(A, uniform=True)
    table.arrive(A, B, C)
    table.acknowledge(B, C)
    table.arrive(B, A)
    table.arrive(C, A)
    table.acknowledge(A)
    table.arrive(A, B)
    assert table.order(B) == ["a1"]
    table.say(B, uniform=True)
    table.arrive(B, A, C)
    table.acknowledge(A, C)
    table.arrive(C, B, count=len(table.channels[C, B]))
    table.arrive(A, B, count=len(table.channels[A, B]))
    table.acknowledge(B)
    table.arrive(B, C, count=len(table.channels[B, C]))
    assert "b1" not in table.order(C)
    assert outcome(table) == ([], {})
    assert table.order(C) == ["a1", "b1"]


@pytest.mark.parametrize("order", [FIFO, CAUSAL, TOTAL])
def test_termination_keeps_the_order_of_a_sender(order: Order) -> None:
    """003-7: what is unmarked when a view is left is delivered in its order all the same."""
    table = Table(4)
    for _ in range(3):
        table.say(A, order, uniform=True)
    table.arrive(A, B, C, D, count=3)
    table.crash(D)
    table.learn(view_of(A, B, C, number=2, failed=(D,)), A, B, C)
    assert outcome(table) == ([], {})
    for who in ALL:
        assert table.order(who) == ["a1", "a2", "a3"]


def test_termination_needs_no_message_more() -> None:
    """What is unmarked is delivered with the view, by the flush alone."""
    table = Table(3)
    table.say(A, uniform=True)
    table.arrive(A, B, C)
    table.crash(C)
    table.learn(view_of(A, B, number=2, failed=(C,)), A, B)
    while any(table.channels.values()):
        for (source, target), channel in table.channels.items():
            table.arrive(source, target, count=len(channel))
    assert table.order(A) == table.order(B) == ["a1"]
    assert table.judge() == []


def test_two_uniform_senders_in_total_order_agree() -> None:
    """003-7: p delivers m, n and r delivers n, m: not if they ask for total order."""
    table = Table(3)
    table.say(B, TOTAL, uniform=True)
    table.say(C, TOTAL, uniform=True)
    table.arrive(C, A)
    table.arrive(B, C, A)
    assert outcome(table) == ([], {})
    assert table.order(A) == table.order(B) == table.order(C) == ["c1", "b1"]


def holder_delivers_and_dies() -> tuple[list[str], dict[str, int]]:
    """The marks of two messages come to the holder before anybody has its list; it dies."""
    table = Table(4)
    table.say(C, uniform=True)
    table.say(C, TOTAL, uniform=True)
    table.say(B, uniform=True)
    table.say(B, TOTAL, uniform=True)
    table.arrive(C, A, B, D, count=2)
    table.arrive(B, A, C, D, count=2)
    table.acknowledge(A, B, C, D)
    for source in (A, C, D):
        table.arrive(source, B, count=len(table.channels[source, B]))
    for source in (A, B, D):
        table.arrive(source, C, count=len(table.channels[source, C]))
    table.acknowledge(C)
    table.arrive(C, A, count=len(table.channels[C, A]))
    table.acknowledge(B)
    table.arrive(B, A, count=len(table.channels[B, A]))
    table.crash(A)
    table.learn(view_of(B, C, D, number=2, failed=(A,)), B, C, D)
    return outcome(table)


@pytest.mark.parametrize(
    "bug",
    ["order of uniform messages is not uniform", "list that is still unsaid counts as marked"],
)
def test_order_of_uniform_messages_is_uniform(bug: str) -> None:
    """Also the dead delivered them in the order of the living: the list has to be marked too."""
    assert holder_delivers_and_dies() == ([], {})
    with with_bug(bug):  # type: ignore[attr-defined]
        assert holder_delivers_and_dies()[0] == ["total"]


# Hostile peers.


@pytest.mark.parametrize(
    "confirm", [Confirm(1, 3, 0), Confirm(1, 2**62, 0), Confirm(1, 0, 1), Confirm(1, 1, 2**62)]
)
def test_confirmation_of_what_was_never_multicast_is_refused(confirm: Confirm) -> None:
    """The peer's fault, and nothing changes: nothing is delivered, everything goes on."""
    table = Table(3)
    table.say(A, uniform=True, count=2)
    machine = table.seats[A].machine
    with pytest.raises(PeerError, match="confirms what was never multicast"):
        machine.take_control(B, confirm, 0)
    assert machine.take_effects() == []
    assert outcome(table) == ([], {})
    assert table.order(A) == ["a1", "a2"]


def test_confirmation_of_another_view_or_a_stranger_is_ignored() -> None:
    """It may be late; nothing is marked by it."""
    table = Table(2)
    table.say(A, uniform=True)
    machine = table.seats[A].machine
    for peer, confirm in ((B, Confirm(2, 1, 0)), (B, Confirm(0, 1, 0)), (C, Confirm(1, 1, 0))):
        assert machine.take_control(peer, confirm, 0) == []
    assert table.order(A) == []

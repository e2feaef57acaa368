"""The gate: what waits there, and what opens it."""

import pytest

from antiphon.core.ids import GroupNumber, Rank, ViewNumber
from antiphon.core.runs import Order, Run, SetsOrder
from antiphon.ordering.gate import Gate
from antiphon.ordering.total import Fixed, Follow

SIZE = 3


def run_of(
    sender: int,
    first: int = 1,
    order: Order = Order.TOTAL,
    *,
    uniform: bool = False,
    sets_order: SetsOrder | None = None,
) -> Run:
    """Return a run of one message."""
    return Run(
        GroupNumber(0), ViewNumber(1), Rank(sender), first, order, (), [b""], None, uniform, 0,
        sets_order,
    )  # fmt: skip


def gate(rank: int = 2) -> Gate:
    """Return a gate at which nothing waits; member 0 is the holder."""
    return Gate(rank, [0] * SIZE, Fixed())


def give(where: Gate, *turns: tuple[int, int], number: int = 1) -> None:
    """Let a list of the holder, member 0, be received."""
    where.total.learn(run_of(0, number, Order.CAUSAL, sets_order=SetsOrder(number, turns)))


def test_total_run_waits_for_its_turn() -> None:
    """It passes when the next turn is its own, and not before."""
    here = gate()
    assert here.admit(1, run_of(1)) == []
    assert here.depth == 1
    give(here, (2, 1), (1, 1))
    assert here.look_at_turn() == []
    assert here.admit(2, run_of(2))[0][1].sender == 2
    assert here.look_again(1) == [], "the turn of member 2 is not over"


@pytest.mark.parametrize(
    ("run_marked", "list_marked", "passes"),
    [(0, 0, False), (1, 0, False), (0, 1, False), (1, 1, True)],
)
def test_uniform_total_run_needs_turn_mark_and_marked_list(
    run_marked: int, list_marked: int, passes: bool
) -> None:
    """Two of the three are not enough."""
    here = gate()
    here.admit(1, run_of(1, uniform=True))
    give(here, (1, 1))
    here.uniform.marked[1] = run_marked
    here.uniform.marked[0] = list_marked
    assert bool(here.look_at_turn()) is passes


def test_marks_without_a_turn_do_not_open() -> None:
    """Total order is not bought with uniformity."""
    here = gate()
    here.admit(1, run_of(1, uniform=True))
    here.uniform.marked[:] = [9, 9, 9]
    assert here.look_again(1) == []


@pytest.mark.parametrize("order", [Order.FIFO, Order.CAUSAL])
def test_uniform_run_needs_its_mark_alone(order: Order) -> None:
    """Turns are of no concern to it."""
    here = gate()
    assert here.admit(1, run_of(1, order=order, uniform=True)) == []
    here.uniform.marked[1] = 1
    assert len(here.look_again(1)) == 1
    assert here.depth == 0


def test_holder_waits_for_the_mark_of_what_it_still_has_to_say() -> None:
    """A turn that nobody else knows of orders nothing uniformly."""
    here = gate(0)
    here.uniform.marked[:] = [9, 9, 9]
    assert here.admit(1, run_of(1, uniform=True)) == []
    assert here.total.say(3, may_move=False) == SetsOrder(1, ((1, 1),))
    assert len(here.look_at_turn()) == 1


def test_leaving_opens_for_marks_and_then_for_turns() -> None:
    """What waited for a mark passes at once; total runs pass by turn, then by sender."""
    here = gate()
    here.admit(1, run_of(1, order=Order.CAUSAL, uniform=True))
    assert [run.sender for _, run in here.leave()] == [1]
    here.admit(2, run_of(2))
    here.admit(3, run_of(1, 2))
    give(here, (0, 5), (2, 1))  # the first turn is of a message that was lost
    taken = [here.take_left_over() for _ in range(3)]
    assert [item and item[1].sender for item in taken] == [2, 1, None]


def test_new_holder_gives_turns_in_order_of_receipt() -> None:
    """000-9: to all that waits, its own included, and numbers continue."""
    here = Gate(2, [0] * SIZE, Follow())
    here.admit(5, run_of(1))
    here.admit(4, run_of(2))
    passed = here.take_token(run_of(0, 1, Order.CAUSAL, sets_order=SetsOrder(1, (), 2)))
    assert [run.sender for _, run in passed] == [2]
    assert here.total.say(1, may_move=False) == SetsOrder(1, ((2, 1), (1, 1)))

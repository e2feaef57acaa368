"""All interleavings of small plans: one order, causality, nothing held; and bugs are found."""

import pytest
from tests.mutants.planted import MUTANTS, planted
from tests.ordering.all_interleavings import Say, search

from antiphon.core.runs import Order

F, C, T = Order.FIFO, Order.CAUSAL, Order.TOTAL

PLANS: dict[str, list[Say]] = {
    "000-5, one total message": [Say(1, T)],
    "000-6, a causal one behind it": [Say(1, T), Say(1, C), Say(2, C)],
    "two senders": [Say(1, T), Say(2, T)],
    "two senders and the holder": [Say(0, T), Say(1, T), Say(2, T)],
    "one depends on the other": [Say(1, T), Say(2, T, after=1)],
    "causal in between": [Say(1, C), Say(2, T, after=1), Say(0, T)],
    "fifo in between": [Say(1, T), Say(1, F), Say(2, T, after=1)],
    "holder speaks in causal order": [Say(1, T), Say(0, C), Say(2, T)],
    "two of one sender": [Say(1, T), Say(1, T), Say(2, T)],
    "uniform": [Say(1, C, uniform=True), Say(2, C, after=1)],
    "003-7, two uniform ones": [Say(1, C, uniform=True), Say(2, C, uniform=True, after=1)],
    "uniform total": [Say(1, T, uniform=True)],
    "uniform total of the holder": [Say(0, T, uniform=True), Say(1, C)],
    "own plain past": [Say(1, C), Say(1, F, uniform=True), Say(2, C, after=1)],
}

MOVING = ["two senders", "two senders and the holder", "one depends on the other",
          "causal in between", "two of one sender", "uniform total"]  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
def test_every_interleaving_keeps_the_order(name: str) -> None:
    """With a fixed token, whatever arrives when."""
    count, complaint = search(PLANS[name])
    assert complaint == ""
    assert count > 1


@pytest.mark.parametrize("name", MOVING)
def test_every_interleaving_keeps_the_order_while_the_token_moves(name: str) -> None:
    """With a token that goes to whoever had the last turn."""
    count, complaint = search(PLANS[name], moves=True)
    assert complaint == ""
    assert count > 1


@pytest.mark.parametrize(
    ("bug", "plan", "moves"),
    [
        ("list counts when delivered", "000-5, one total message", False),
        ("own message needs no turn", "two senders", False),
        ("token is lost on the way", "two of one sender", True),
        ("new holder looks at new messages only", "two senders", True),
        ("lists are not confirmed", "uniform total", False),
    ],
)
def test_search_finds_a_planted_bug(bug: str, plan: str, moves: bool) -> None:
    """Some interleaving breaks an order, holds something for ever, or makes a machine complain."""
    with planted(next(mutant for mutant in MUTANTS if mutant.name == bug)):
        try:
            complaint = search(PLANS[plan], moves=moves)[1]
        except Exception as error:  # noqa: BLE001 - whatever a broken machine raises
            complaint = str(error)
    assert complaint

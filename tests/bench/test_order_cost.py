"""Multicasts per ABCAST, as ISIS 5.2 counts them: 1 + 1/k, or 1 with the token at the sender."""

import pytest

from antiphon.bench.order_cost import measure_order_cost


@pytest.mark.parametrize("burst", [1, 2, 3])
def test_fixed_token_costs_one_list_per_burst(burst: int) -> None:
    """A list serves all messages that come together, whoever sent them."""
    cost = measure_order_cost("fixed", burst, rounds=30)
    assert (cost.messages, cost.lists) == (30 * burst, 30)
    assert cost.per_message == pytest.approx(1 + 1 / burst)


def test_token_that_follows_the_sender_costs_nothing_more() -> None:
    """After eight messages the sender has the token, and nobody sends a list any more."""
    cost = measure_order_cost("follow", 1, rounds=100)
    assert cost.lists == 8

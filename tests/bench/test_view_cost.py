"""Messages of a view change: as the papers say."""

import pytest

from antiphon.bench.view_cost import measure_view_cost


@pytest.mark.parametrize("size", [4, 8, 16])
def test_linear_flushes_take_two_messages_per_survivor(size: int) -> None:
    """A crash costs 2 (n - 2) messages among n - 1 survivors, with either linear flush."""
    for flush in ("view-atomic", "coordinator"):
        assert measure_view_cost(flush, "crash", size).flushing == 2 * (size - 2)


@pytest.mark.parametrize("size", [4, 8, 16])
def test_all_to_all_flush_takes_a_message_per_pair(size: int) -> None:
    """A crash costs (n - 1) (n - 2) messages among n - 1 survivors."""
    survivors = size - 1
    assert measure_view_cost("all-to-all", "crash", size).flushing == survivors * (survivors - 1)


def test_join_costs_three_messages_per_member_to_agree_and_two_to_install() -> None:
    """Propose, accept, decide; report, permission; and the joiner's request."""
    cost = measure_view_cost("view-atomic", "join", 16)
    assert 3 * 15 <= cost.agreement <= 3 * 16 + 4
    assert cost.flushing == 2 * 16 - 1

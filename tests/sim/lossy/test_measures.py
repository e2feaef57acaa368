"""Measures of recovery: within the bars, and beside receivers that ask the sender."""

import pytest

from antiphon.ordering.blocks.settings import BlockSettings
from antiphon.sim.lossy.measures import (
    Traffic,
    ask_for_last,
    delivery_rate,
    quantile,
    recover,
    recover_by_asking,
    recover_last,
)
from antiphon.sim.lossy.network import LossOptions

SETTINGS = BlockSettings()
PERIOD_US = SETTINGS.null_us


@pytest.mark.parametrize("size", [3, 10, 30])
def test_loss_under_traffic_is_recovered_within_two_periods_at_the_median(size: int) -> None:
    """Whatever the size of the group; nothing stays lost."""
    traffic = Traffic(size=size, senders=3, interval_us=10_000, duration_us=400_000)
    found = recover("1", traffic, SETTINGS, LossOptions(loss=0.05))
    assert len(found.periods) == found.missed > 5
    assert found.quantile(0.5) <= 2


@pytest.mark.parametrize("lost_at", [1, 4])
def test_last_message_is_recovered_within_three_periods_at_the_median(lost_at: int) -> None:
    """At one or at all others."""
    times = sorted(
        each for seed in range(20) for each in recover_last(f"{seed}", 5, SETTINGS, lost_at=lost_at)
    )
    assert quantile(times, 0.5) <= 3
    assert times[-1] <= 4


def test_message_of_a_sender_that_dies_is_recovered_from_others() -> None:
    """Receivers that ask the sender alone never get it."""
    for seed in range(20):
        assert max(recover_last(f"{seed}", 4, SETTINGS, lost_at=2, crashes=True)) <= 6
        asked = ask_for_last(f"{seed}", 4, PERIOD_US, 10_000, lost_at=2, crashes=True)
        assert min(asked) > 1_000


def test_receivers_that_ask_get_everything_while_senders_live() -> None:
    """So that the comparison is fair."""
    traffic = Traffic(interval_us=10_000, duration_us=400_000)
    found = recover_by_asking("1", traffic, PERIOD_US, 10_000, LossOptions(loss=0.05))
    assert len(found.periods) == found.missed > 5
    assert found.quantile(0.5) <= 2
    assert max(ask_for_last("1", 4, PERIOD_US, 10_000, lost_at=3)) < 3


def test_five_percent_loss_leaves_half_of_the_rate() -> None:
    """At least; nothing is repeated on channels that keep order and lose nothing."""
    rates = [
        delivery_rate("1", 4, SETTINGS, LossOptions(loss=loss), every_us=500, duration_us=100_000)
        for loss in (0.0, 0.05)
    ]
    assert rates[1][0] >= 0.5 * rates[0][0]
    assert rates[0][1] == 0

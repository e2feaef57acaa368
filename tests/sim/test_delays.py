"""Channels of large groups: reliable, FIFO for each pair, and never slower than they say."""

from functools import partial

import pytest

from antiphon.core.errors import UsageError
from antiphon.sim.delays import DelayChannels, DelayOptions
from antiphon.sim.scheduler import Scheduler

SIZE = 4


def _mixed_traffic(options: DelayOptions, seed: str) -> dict[tuple[int, int], list[int]]:
    """Send 50 items from everybody, some to all and some to one; return what arrived, by pair."""
    scheduler = Scheduler()
    arrived: dict[tuple[int, int], list[int]] = {}

    def receive(target: int, item: tuple[int, int, int]) -> None:
        source, number, sent_us = item
        assert 0 <= scheduler.now_us - sent_us <= options.longest_us
        arrived.setdefault((source, target), []).append(number)

    receivers = [partial(receive, target) for target in range(SIZE)]
    channels = DelayChannels(scheduler, options, seed, [*receivers])

    def act(what: tuple[int, int]) -> None:
        source, number = what
        item = (source, number, scheduler.now_us)
        if number % 3:
            channels.multicast(source, item)
        else:
            for target in range(SIZE):
                if target != source:
                    channels.send(source, target, item)

    for number in range(50):
        for source in range(SIZE):
            scheduler.at(number * 100, act, (source, number))
    scheduler.run()
    assert channels.copy_count == 50 * SIZE * (SIZE - 1)
    return arrived


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_channels_are_fifo_whether_sent_to_all_or_to_one(seed: str) -> None:
    """Everything arrives at everybody else once, in the order in which it was sent."""
    arrived = _mixed_traffic(DelayOptions(delay_us_mean=2_000), seed)
    pairs = {(source, target) for source in range(SIZE) for target in range(SIZE)}
    assert set(arrived) == {pair for pair in pairs if pair[0] != pair[1]}
    assert all(numbers == list(range(50)) for numbers in arrived.values())


def test_channels_without_delay_deliver_at_once() -> None:
    """With no delay at all, what is sent arrives at the same microsecond."""
    assert len(_mixed_traffic(DelayOptions(delay_us_min=0, delay_us_mean=0), "1")) == 12


def test_negative_delay_is_refused() -> None:
    """Nothing arrives before it was sent."""
    with pytest.raises(UsageError, match="delays cannot be negative"):
        DelayOptions(delay_us_min=-1)

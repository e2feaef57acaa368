"""Channels for large simulated groups: every pair of processes has one, with random delays.

Law: channels are reliable and FIFO, as the endpoint asks for. What a channel does to a copy depends
on the seed alone, and no copy is longer under way than ``longest_us``. Channels are independent, so
copies of different senders overtake each other freely. Nothing is ever cut or lost here: faults are
for explored worlds (``channels``), and this is written for speed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from random import Random
from typing import Any

from antiphon.core.errors import UsageError
from antiphon.sim.scheduler import Scheduler

Receive = Callable[[Any], None]

_LONGEST = 37
"""No draw is longer than so many times the mean: 53 random bits give at most 53 ln 2 = 36.7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayOptions:
    """How long a copy is on its way."""

    delay_us_min: int = 50
    """The shortest delay."""
    delay_us_mean: int = 1_000
    """Mean of the exponential part that comes on top."""

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated."""
        if self.delay_us_min < 0 or self.delay_us_mean < 0:
            message = "delays cannot be negative"
            raise UsageError(message)

    @property
    def longest_us(self) -> int:
        """Longer than any copy is on its way."""
        return self.delay_us_min + _LONGEST * self.delay_us_mean + 1


class DelayChannels:
    """Channels between processes numbered 0 to ``process_count - 1``."""

    __slots__ = (
        "_channels",
        "_delay_us_mean",
        "_delay_us_min",
        "_receivers",
        "_scheduler",
        "_uniform",
        "copy_count",
    )

    def __init__(
        self, scheduler: Scheduler, options: DelayOptions, seed: str, receivers: list[Receive]
    ) -> None:
        """Connect every process to every other."""
        self._scheduler = scheduler
        self._uniform = Random(f"{seed}/network").random
        self._delay_us_min = options.delay_us_min
        self._delay_us_mean = options.delay_us_mean
        self._receivers = receivers
        # Per source, the other processes, and when the last copy on the channel to each arrives:
        # later copies may not arrive earlier.
        self._channels = [
            ([0] * (len(receivers) - 1), receivers[:source] + receivers[source + 1 :])
            for source in range(len(receivers))
        ]
        self.copy_count = 0
        """Copies sent so far."""

    def multicast(self, source: int, item: object) -> None:
        """Send a copy of ``item`` to every process but ``source``."""
        earliest = self._scheduler.now_us + self._delay_us_min
        due_us, others = self._channels[source]
        mean, uniform = self._delay_us_mean, self._uniform
        for place, due in enumerate(due_us):
            # Exponential delays, written out: this is the simulator's innermost loop.
            arrival = earliest - int(mean * log(1.0 - uniform()))
            if arrival > due:
                due_us[place] = arrival
        self.copy_count += len(others)
        self._scheduler.at_each(due_us, others, item)

    def send(self, source: int, target: int, item: object) -> None:
        """Send ``item`` to one other process."""
        due_us, _ = self._channels[source]
        place = target if target < source else target - 1
        earliest = self._scheduler.now_us + self._delay_us_min
        arrival = earliest - int(self._delay_us_mean * log(1.0 - self._uniform()))
        due_us[place] = arrival = max(arrival, due_us[place])
        self.copy_count += 1
        self._scheduler.at(arrival, self._receivers[target], item)

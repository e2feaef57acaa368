"""An abstract network: every pair of processes has a channel with random delay.

Law: what a channel does to a copy (its delay, its loss, its duplication) depends on the seed
alone. Channels are independent, so copies of different senders overtake each other freely;
within a channel order is kept unless ``reorder`` is set.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from random import Random
from typing import Any

from antiphon.core.errors import UsageError
from antiphon.sim.scheduler import Scheduler

Receive = Callable[[Any], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions:
    """What can happen to a copy of a frame on its way."""

    delay_us_min: int = 50
    """The shortest delay."""
    delay_us_mean: int = 1_000
    """Mean of the exponential part that comes on top."""
    loss: float = 0.0
    """Probability that a copy never arrives."""
    duplicate: float = 0.0
    """Probability that a copy arrives twice."""
    reorder: bool = False
    """Whether copies may overtake each other within one channel too."""

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated."""
        for name in ("loss", "duplicate"):
            if not 0.0 <= getattr(self, name) < 1.0:
                message = f"{name} must be a probability from 0 to below 1"
                raise UsageError(message)
        if self.delay_us_min < 0 or self.delay_us_mean < 0:
            message = "delays cannot be negative"
            raise UsageError(message)

    @property
    def is_fifo(self) -> bool:
        """Whether every channel is reliable and FIFO."""
        return not (self.loss or self.duplicate or self.reorder)


class Network:
    """Channels between processes numbered 0 to ``process_count - 1``."""

    __slots__ = (
        "_channels",
        "_delay_us_mean",
        "_delay_us_min",
        "_is_fifo",
        "_options",
        "_scheduler",
        "_uniform",
        "lost_count",
    )

    def __init__(
        self, scheduler: Scheduler, options: NetworkOptions, seed: str, receivers: list[Receive]
    ) -> None:
        """Connect every process to every other."""
        self._scheduler = scheduler
        self._options = options
        self._uniform = Random(f"{seed}/network").random
        self._delay_us_min = options.delay_us_min
        self._delay_us_mean = options.delay_us_mean
        self._is_fifo = options.is_fifo
        # Per source, the other processes, and when the last copy on the channel to each arrives:
        # later copies may not arrive earlier.
        self._channels = [
            ([0] * (len(receivers) - 1), receivers[:source] + receivers[source + 1 :])
            for source in range(len(receivers))
        ]
        self.lost_count = 0

    def multicast(self, source: int, frame: object) -> None:
        """Send a copy of ``frame`` to every process but ``source``."""
        earliest = self._scheduler.now_us + self._delay_us_min
        if not self._is_fifo:
            self._multicast_badly(source, frame, earliest)
            return
        busy, others = self._channels[source]
        mean, uniform = self._delay_us_mean, self._uniform
        for place, due in enumerate(busy):
            # Exponential delays, written out: this is the simulator's innermost loop.
            arrival = earliest - int(mean * log(1.0 - uniform()))
            if arrival > due:
                busy[place] = arrival
        self._scheduler.at_each(busy, others, frame)

    def _multicast_badly(self, source: int, frame: object, earliest: int) -> None:
        options, uniform = self._options, self._uniform
        busy, others = self._channels[source]
        for place, receive in enumerate(others):
            if uniform() < options.loss:
                self.lost_count += 1
                continue
            for _ in range(2 if uniform() < options.duplicate else 1):
                arrival = earliest - int(options.delay_us_mean * log(1.0 - uniform()))
                if not options.reorder:
                    arrival = busy[place] = max(arrival, busy[place])
                self._scheduler.at(arrival, receive, frame)

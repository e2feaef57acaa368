"""A workload: who multicasts what and when, reacting to what it delivers.

Law: what an application does depends on the seed and on its own deliveries, never on another
process's state, so the causal chains that arise are real. Every process multicasts bursts at
random moments; a delivered burst may be answered after some thought, and the answer may be
answered. The total number of messages is exact.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from antiphon.core.errors import UsageError
from antiphon.core.runs import Run
from antiphon.sim.scheduler import Scheduler

Multicast = Callable[[int, list[bytes]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions:
    """How much is said, how often, and how talkative the answers are."""

    message_count: int = 1_000
    """Messages multicast in all, by all processes together."""
    interval_us_mean: int = 2_000
    """Mean time between the bursts that a process starts by itself."""
    answers: float = 0.7
    """Mean number of answers that a burst gets, from all other processes together."""
    thought_us_max: int = 500
    """Longest time between delivering a burst and answering it."""
    burst_max: int = 4
    """Longest burst: messages multicast with no delivery in between."""
    payload_bytes: int = 32
    """Size of a message."""

    def __post_init__(self) -> None:
        """Refuse what cannot be done."""
        if self.message_count < 1 or self.burst_max < 1:
            message = "at least one message, in bursts of at least one"
            raise UsageError(message)
        if not 0.0 <= self.answers <= 1.0:
            message = "answers must be from 0 to 1: above, every answer breeds more than one other"
            raise UsageError(message)
        if min(self.interval_us_mean, self.thought_us_max, self.payload_bytes) < 0:
            message = "times and sizes cannot be negative"
            raise UsageError(message)


class Workload:
    """The applications of all processes."""

    __slots__ = (
        "_answer",
        "_left",
        "_multicast",
        "_options",
        "_payload",
        "_random",
        "_scheduler",
        "_uniform",
    )

    def __init__(
        self, scheduler: Scheduler, options: WorkloadOptions, seed: str, multicast: Multicast
    ) -> None:
        """Prepare to call ``multicast(process, payloads)``."""
        self._scheduler = scheduler
        self._options = options
        self._random = Random(f"{seed}/workload")
        self._uniform = self._random.random
        self._multicast = multicast
        self._left = options.message_count
        self._answer = 0.0
        self._payload = bytes(options.payload_bytes)

    def start(self, process_count: int) -> None:
        """Let every process begin at a random moment."""
        self._answer = self._options.answers / max(1, process_count - 1)
        for process in range(process_count):
            self._scheduler.at(self._pause_us(), self._begin, process)

    @property
    def is_over(self) -> bool:
        """Whether nobody will multicast anything any more."""
        return not self._left

    def on_deliver(self, process: int, run: Run) -> None:  # noqa: ARG002 - whatever it says
        """Perhaps answer what ``process`` has just delivered."""
        if self._left and self._uniform() < self._answer:
            thought_us = int(self._uniform() * self._options.thought_us_max)
            self._scheduler.at(self._scheduler.now_us + thought_us, self._say, process)

    def _begin(self, process: int) -> None:
        self._say(process)
        if self._left:
            self._scheduler.at(self._scheduler.now_us + self._pause_us(), self._begin, process)

    def _say(self, process: int) -> None:
        if not self._left:
            return
        count = min(1 + int(self._uniform() * self._options.burst_max), self._left)
        self._left -= count
        self._multicast(process, [self._payload] * count)

    def _pause_us(self) -> int:
        mean = self._options.interval_us_mean
        return int(self._random.expovariate(1.0 / mean)) if mean else 0

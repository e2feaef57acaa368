"""Channels that lose, reorder and repeat datagrams.

Law: what becomes of a datagram depends on the seed and on ``drops`` alone. A datagram that is not
lost arrives, within ``longest_us``, once or twice, in any order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from antiphon.sim.scheduler import Scheduler

Datagram = tuple[int, bytes]
"""Who sent it, and what."""

Drops = Callable[[int, int, bytes], bool]
"""Whether a datagram from one process to another is dropped, whatever the dice say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossOptions:
    """What channels do to datagrams."""

    loss: float = 0.0
    """How many are lost, from 0 to 1."""
    duplication: float = 0.0
    """How many arrive twice."""
    reordering: float = 0.0
    """How many are late."""
    delay_us_min: int = 200
    delay_us_max: int = 1_000
    late_us: int = 10_000
    """How much longer late ones, and second copies, may take."""

    @property
    def longest_us(self) -> int:
        """No datagram is longer on its way."""
        return self.delay_us_max + self.late_us


class LossyNetwork:
    """Channels between processes numbered from 0."""

    __slots__ = ("_arrive", "_options", "_random", "_scheduler", "drops", "lost", "sent")

    def __init__(
        self,
        scheduler: Scheduler,
        options: LossOptions,
        seed: str,
        arrive: list[Callable[[Datagram], None]],
    ) -> None:
        """Connect every process to every other."""
        self._scheduler, self._options, self._arrive = scheduler, options, arrive
        self._random = Random(f"{seed}/datagrams")
        self.drops: Drops = lambda _source, _target, _data: False
        self.sent = 0
        self.lost = 0

    def multicast(self, source: int, data: bytes) -> list[int]:
        """Send a datagram to every process but ``source``; return for whom it is lost."""
        others = (target for target in range(len(self._arrive)) if target != source)
        return [target for target in others if not self.send(source, target, data)]

    def send(self, source: int, target: int, data: bytes) -> bool:
        """Send a datagram to one process; tell whether it arrives."""
        options, dice = self._options, self._random
        self.sent += 1
        if dice.random() < options.loss or self.drops(source, target, data):
            self.lost += 1
            return False
        self._schedule(source, target, data, is_late=dice.random() < options.reordering)
        if dice.random() < options.duplication:
            self._schedule(source, target, data, is_late=True)
        return True

    def _schedule(self, source: int, target: int, data: bytes, *, is_late: bool) -> None:
        options = self._options
        delay_us = self._random.randint(options.delay_us_min, options.delay_us_max)
        if is_late:
            delay_us += self._random.randint(0, options.late_us)
        arrival_us = self._scheduler.now_us + delay_us
        self._scheduler.at(arrival_us, self._arrive[target], (source, data))

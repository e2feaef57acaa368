"""The timers of a simulated process: set by its machine, they fire when its own clock says so.

Law: a timer that is set again fires only at its latest time. One whose time has come fires when all
that has arrived by then is taken; if the process is paused, when it goes on.
"""

from collections.abc import Callable
from functools import partial
from random import Random

from antiphon.sim.clock import Clock
from antiphon.sim.pace import Pace
from antiphon.stack.inputs import ACKNOWLEDGE, HEARTBEAT, Timer

TURN_US = 600
"""A timer whose time has come fires up to so much later: when what has arrived is taken."""


class Timers:
    """The timers that one incarnation has set."""

    __slots__ = ("_clock", "_count", "_fire", "_later", "_numbers", "_pace", "_random")

    def __init__(
        self,
        clock: Clock,
        pace: Pace,
        random: Random,
        later: Callable[[int, Callable[[], None]], None],
        fire: Callable[[Timer], None],
    ) -> None:
        """Call ``fire`` with each timer whose time has come; ``later`` waits in world time."""
        self._clock = clock
        self._pace = pace
        self._random = random
        self._later = later
        self._fire = fire
        self._numbers: dict[Timer, int] = {}
        self._count = 0

    def set(self, timer: Timer, delay_us: int) -> None:
        """Fire after ``delay_us`` of the process's clock, and not at the time set before."""
        self._count += 1
        number = self._numbers[timer] = self._count
        if timer == HEARTBEAT and number == 1:
            # Not in step with each other: timers that fire together hide races.
            delay_us = 1 + int(self._random.random() * delay_us)
        elif timer == ACKNOWLEDGE and delay_us <= 0:
            delay_us = int(self._random.random() * TURN_US)
        delay_us = self._clock.lasts_us(max(0, delay_us))
        self._later(delay_us, partial(self._be_due, timer, number))

    def _be_due(self, timer: Timer, number: int) -> None:
        if self._numbers.get(timer) == number:
            self._pace.do(partial(self._fire_now, timer, number))

    def _fire_now(self, timer: Timer, number: int) -> None:
        if self._numbers.get(timer) == number:
            del self._numbers[timer]
            self._fire(timer)

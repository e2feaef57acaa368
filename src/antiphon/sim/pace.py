"""The pace of a simulated process: it does what is to be done at once, in slices, or later.

Law: nothing is lost and nothing overtakes. A stopped process (SIGSTOP) does nothing until it goes
on; a busy one, whose event loop is held up by its application, does what has come together every
so often. What waits is done in the order in which it came, timers and arrivals alike.
"""

from collections import deque
from collections.abc import Callable
from functools import partial

Action = Callable[[], None]


class Pace:
    """When one process does things."""

    __slots__ = ("_is_stopped", "_later", "_round", "_slice_us", "_waiting", "is_paused")

    def __init__(self, later: Callable[[int, Action], None]) -> None:
        """Do everything at once; ``later(delay_us, action)`` is a timer."""
        self._later = later
        self._is_stopped = False
        self._slice_us = 0
        self._round = 0
        self._waiting: deque[Action] = deque()
        self.is_paused = False
        """Whether nothing is done now."""

    @property
    def is_steady(self) -> bool:
        """Whether the process is neither stopped nor busy."""
        return not self._is_stopped and not self._slice_us

    def do(self, action: Action) -> None:
        """Do something, now or as soon as possible."""
        if self.is_paused:
            self._waiting.append(action)
        else:
            action()

    def stop(self) -> None:
        """Do nothing from now on."""
        self._is_stopped = self.is_paused = True

    def go_on(self) -> None:
        """Do what has waited; a busy process does so at its next slice."""
        self._is_stopped = False
        if not self._slice_us:
            self._catch_up()

    def work_in_slices(self, slice_us: int) -> None:
        """Look at what has come only every ``slice_us``; 0: no longer."""
        self._slice_us = slice_us
        self._round += 1
        if slice_us:
            self.is_paused = True
            self._later(slice_us, partial(self._end_slice, self._round))
        elif not self._is_stopped:
            self._catch_up()

    def _end_slice(self, number: int) -> None:
        if number != self._round:
            return  # it is not busy any more, or in another way
        if not self._is_stopped:
            self._catch_up()
            self.is_paused = True
        self._later(self._slice_us, partial(self._end_slice, number))

    def _catch_up(self) -> None:
        self.is_paused = False
        while self._waiting and not self.is_paused:
            self._waiting.popleft()()

"""The agenda of a machine: what is to be done in this step, and when it is to be woken again.

Law: work is what the parts of a machine have returned and nobody has looked at; done is what the
driver will be given, in order. A timer is set once, and only ever moved ahead: whoever wants to be
woken earlier says so, and it fires once for all.
"""

from collections import deque

from antiphon.stack.effects import Effect, SetTimer
from antiphon.stack.inputs import Timer


class Agenda:
    """What is to be done, now and later."""

    __slots__ = ("_timers", "done", "now_us", "work")

    def __init__(self, now_us: int) -> None:
        """Nothing is to be done."""
        self.now_us = now_us
        self.work: deque[Effect] = deque()
        """What the machine itself has still to look at, in order."""
        self.done: list[Effect] = []
        """What the driver is to do, in order."""
        self._timers: dict[Timer, int] = {}

    def set_timer(self, timer: Timer, time_us: int) -> None:
        """Have a timer fire at ``time_us``, unless it does so earlier anyway."""
        before_us = self._timers.get(timer)
        if before_us is None or time_us < before_us:
            self._timers[timer] = time_us
            self.done.append(SetTimer(timer, time_us))

    def is_set(self, timer: Timer) -> bool:
        """Whether a timer will fire."""
        return timer in self._timers

    def fire(self, timer: Timer) -> int:
        """A timer has fired; return how late that is."""
        return self.now_us - self._timers.pop(timer, self.now_us)

    def take(self) -> list[Effect]:
        """Hand over what the driver is to do."""
        assert not self.work, "everything that came up has been looked at"
        done, self.done = self.done, []
        return done

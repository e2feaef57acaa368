"""Timers of one incarnation: the machine sets them, the event loop lets them fire.

Law: setting a timer replaces what it was set to. A timer is never early: machines count on it, and
event loops may be early by their resolution.
"""

import asyncio
from collections.abc import Callable

from antiphon.stack.effects import SetTimer
from antiphon.stack.inputs import Timer


class Timers:
    """Fires for one machine."""

    def __init__(self, now_us: Callable[[], int], fire: Callable[[Timer, int], None]) -> None:
        """Call ``fire`` with each timer when its time has come, and with how late that is (µs)."""
        self._now_us = now_us
        self._on_fire = fire
        self.handles: dict[Timer, asyncio.Handle] = {}
        """What has still to fire, or was cancelled."""
        self._is_stopped = False

    def set(self, asked: SetTimer) -> None:
        """Set a timer."""
        if self._is_stopped:
            return
        timer, time_us = asked.timer, asked.time_us
        before = self.handles.get(timer)
        if before is not None:
            before.cancel()
        loop = asyncio.get_running_loop()
        delay_us = time_us - self._now_us()
        if delay_us <= 0:
            self.handles[timer] = loop.call_soon(self._fire, timer, time_us)
        else:
            self.handles[timer] = loop.call_later(delay_us / 1e6, self._fire, timer, time_us)

    def cancel(self, timer: Timer) -> None:
        """Let a timer not fire, until it is set again."""
        handle = self.handles.pop(timer, None)
        if handle is not None:
            handle.cancel()

    def stop(self) -> None:
        """Fire no longer; what is set from now on does not fire either."""
        self._is_stopped = True
        for handle in self.handles.values():
            handle.cancel()

    def _fire(self, timer: Timer, time_us: int) -> None:
        del self.handles[timer]
        fired_us = self._now_us()
        if fired_us < time_us:
            self.set(SetTimer(timer, time_us))
        else:
            self._on_fire(timer, fired_us - time_us)

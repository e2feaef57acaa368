"""The heartbeat of a process: a timer that repeats, and notices when it was kept waiting.

Law: it beats once per heartbeat while the event loop runs. A beat that comes late by half of the
time to suspicion or more is logged: the others have heard nothing meanwhile, and exclude who is
silent for the whole of it. Not more often than a person can read.
"""

import asyncio
import logging
from collections.abc import Callable

from antiphon.membership.failure_detector import Timing

WARN_S = 10.0
"""However often the event loop is blocked, this long passes between two warnings."""

_log = logging.getLogger("antiphon")

_BLOCKED = (
    "%s was silent for %.1f s: its event loop was blocked, or the process stopped; the others "
    "suspect and exclude who is silent for %.1f s: keep long work off the event loop "
    "(asyncio.to_thread), or allow more with Timing(timeout_us=...)"
)


class Heartbeat:
    """A repeated timer on the running event loop."""

    def __init__(self, who: str, timing: Timing, beat: Callable[[], None]) -> None:
        """Prepare to call ``beat`` again and again, for the process called ``who``."""
        self._who = who
        self._beat = beat
        self._period_s = timing.heartbeat_us / 1e6
        self._timeout_s = timing.timeout_us / 1e6
        self._timer: asyncio.TimerHandle | None = None
        self._due_s = 0.0
        self._quiet_until_s = 0.0

    def begin(self) -> None:
        """Beat from now on, first after one heartbeat."""
        loop = asyncio.get_running_loop()
        self._due_s = loop.time() + self._period_s
        self._timer = loop.call_at(self._due_s, self._fire)

    def stop(self) -> None:
        """Beat no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _fire(self) -> None:
        now_s = asyncio.get_running_loop().time()
        late_s = now_s - self._due_s
        self.begin()
        if late_s >= self._timeout_s / 2 and now_s >= self._quiet_until_s:
            self._quiet_until_s = now_s + WARN_S
            _log.warning(_BLOCKED, self._who, late_s + self._period_s, self._timeout_s)
        self._beat()

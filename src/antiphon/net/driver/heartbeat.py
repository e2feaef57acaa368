"""Late heartbeats: an event loop that was kept waiting says so.

Law: a heartbeat that comes late by half of the time to suspicion or more is logged: the others have
heard nothing meanwhile, and exclude who is silent for the whole of it. Not more often than a person
can read.
"""

import logging

from antiphon.membership.failure_detector import Timing

WARN_S = 10.0
"""However often the event loop is blocked, this long passes between two warnings."""

_log = logging.getLogger("antiphon")

_BLOCKED = (
    "%s was silent for %.1f s: its event loop was blocked, or the process stopped; the others "
    "suspect and exclude who is silent for %.1f s: keep long work off the event loop "
    "(asyncio.to_thread), or allow more with Timing(timeout_us=...)"
)


class Lateness:
    """Watches the heartbeats of one process."""

    def __init__(self, who: str, timing: Timing) -> None:
        """Watch those of the process called ``who``."""
        self._who = who
        self._period_s = timing.heartbeat_us / 1e6
        self._timeout_s = timing.timeout_us / 1e6
        self._quiet_until_s = 0.0

    def note(self, now_s: float, late_s: float) -> None:
        """It is ``now_s``, and a heartbeat comes ``late_s`` after its time."""
        if late_s >= self._timeout_s / 2 and now_s >= self._quiet_until_s:
            self._quiet_until_s = now_s + WARN_S
            _log.warning(_BLOCKED, self._who, late_s + self._period_s, self._timeout_s)

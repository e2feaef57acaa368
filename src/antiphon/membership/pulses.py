"""Pulses: when each other process was last heard, whatever the group it was heard in.

Law: one process is heard once, not once per group: failure detectors of all groups of a process
(``failure_detector``) look at the same pulses. Gaps between signs of life are learnt as TCP's
retransmission timer learns round trips. Some evidence is certain: who is condemned is so in every
group.

A process that was itself stopped (SIGSTOP, a suspended machine) finds everybody silent for as long
as it slept. It notices by its own late look, and forgives everybody that time, once.
"""

from antiphon.core.ids import ProcessId
from antiphon.membership.failures import Failures

_NEW = 2
"""Who has not been heard yet is given so many times the time. Who joins, or founds the group with
others, begins when it is told, and is heard a round trip later; or some, for channels are made."""

_CONDEMNED_MAX = 4096


class Pulse:
    """What is known of one process."""

    __slots__ = ("deviation_us", "doubled_us", "floor_us", "gap_us", "heard_us", "is_new")

    def __init__(self, now_us: int, floor_us: int) -> None:
        """Count it as heard now."""
        self.begin(now_us, floor_us)

    def begin(self, now_us: int, floor_us: int) -> None:
        """Forget what was learnt."""
        self.heard_us = now_us
        self.is_new = True
        self.floor_us = floor_us
        self.gap_us = 0
        self.deviation_us = 0
        self.doubled_us = -1

    def await_first(self, now_us: int) -> None:
        """Bear as much as of a new one, and forget nothing that was learnt."""
        self.heard_us = max(self.heard_us, now_us)
        self.is_new = True

    def timeout_us(self, heartbeat_us: int) -> int:
        """Return how long this process may be silent."""
        floor_us = self.floor_us * (_NEW if self.is_new else 1)
        return max(floor_us, heartbeat_us + self.gap_us + 4 * self.deviation_us)

    def hear(self, now_us: int) -> None:
        """Learn from the silence that has just ended."""
        self.is_new = False
        gap_us = now_us - self.heard_us
        if gap_us <= 0:
            return
        self.heard_us = now_us
        error = gap_us - self.gap_us
        self.gap_us += error // 8
        self.deviation_us += (abs(error) - self.deviation_us) // 4
        assert self.gap_us >= 0 <= self.deviation_us, "the time that is borne only grows by them"

    def double(self, floor_us_max: int) -> None:
        """It was suspected wrongly: bear more; once, however many groups found out."""
        if self.doubled_us != self.heard_us:
            self.doubled_us = self.heard_us
            self.floor_us = min(2 * self.floor_us, floor_us_max)


class Pulses:
    """Of all processes that one process watches, in any group."""

    __slots__ = ("_checked_us", "_late_us", "_pulses", "_watchers", "condemned", "dead", "failures")

    def __init__(self, now_us: int) -> None:
        """Nobody has been heard."""
        self._pulses: dict[ProcessId, Pulse] = {}
        self._watchers: dict[ProcessId, int] = {}
        self._checked_us = now_us
        self._late_us = 0
        self.condemned: dict[ProcessId, None] = {}
        """Who is certainly dead, or taken for it."""
        self.dead: dict[ProcessId, None] = {}
        """Who is certainly dead, by ``bare`` ids: nobody listens where it was, or somebody else."""
        self.failures = Failures()
        """Who failed in a view of any group."""

    def hear(self, process: ProcessId, now_us: int) -> None:
        """Something came from ``process``."""
        pulse = self._pulses.get(process)
        if pulse is not None:
            pulse.hear(now_us)

    def watch(self, process: ProcessId, now_us: int, floor_us: int) -> Pulse:
        """Begin to watch a process for one more group; it counts as heard now.

        Also where another group watches it: it may have left that one, and have had no reason to
        let hear of itself since.
        """
        pulse = self._pulses.get(process)
        if pulse is None:
            pulse = self._pulses[process] = Pulse(now_us, floor_us)
        else:
            pulse.await_first(now_us)
        self._watchers[process] = self._watchers.get(process, 0) + 1
        return pulse

    def unwatch(self, process: ProcessId) -> None:
        """Watch a process for one group less."""
        assert self._watchers[process] > 0, "whoever stops watching has begun to"
        self._watchers[process] -= 1
        if not self._watchers[process]:
            del self._watchers[process], self._pulses[process]
        assert self._watchers.keys() == self._pulses.keys(), "who is watched has a pulse"

    def renew(self, process: ProcessId, now_us: int, floor_us: int) -> None:
        """Watch a process, in all groups, as if it were new: it was condemned wrongly."""
        self._pulses[process].begin(now_us, floor_us)

    def condemn(self, process: ProcessId) -> None:
        """``process`` is certainly dead."""
        self.condemned[process] = None
        if len(self.condemned) > _CONDEMNED_MAX:
            del self.condemned[next(iter(self.condemned))]

    def note_death(self, process: ProcessId) -> None:
        """``process`` is certainly dead, and not only taken for it."""
        self.dead[process.bare()] = None
        if len(self.dead) > _CONDEMNED_MAX:
            del self.dead[next(iter(self.dead))]

    def is_dead(self, process: ProcessId) -> bool:
        """Whether ``process``, as whatever group knows it, is certainly dead."""
        return bool(self.dead) and process.bare() in self.dead

    def is_calm(self, now_us: int, bears_us: int) -> bool:
        """Whether nobody was silent for ``bears_us``."""
        return all(now_us - pulse.heard_us < bears_us for pulse in self._pulses.values())

    def forgive_own_sleep(self, now_us: int, heartbeat_us: int) -> int:
        """Note that this process looks at the clock; return for how long it slept before."""
        assert now_us >= self._checked_us, "time does not run backward"
        if now_us != self._checked_us:
            self._late_us = max(0, now_us - self._checked_us - 2 * heartbeat_us)
            self._checked_us = now_us
            if self._late_us:
                for pulse in self._pulses.values():
                    pulse.heard_us = min(pulse.heard_us + self._late_us, now_us)
        return self._late_us

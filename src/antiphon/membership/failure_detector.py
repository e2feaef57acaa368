"""The failure detector: who has not been heard of for too long.

Law: complete, not accurate. A process that stops is suspected for good after at most its timeout;
a suspicion may be wrong, and ends when the process is heard again. What follows from a suspicion
is not decided here but by the members together (``agreement``): nobody tells anybody else whom
he suspects except in asking for a new view.

Anything that arrives from a process shows that it lives, so heartbeats are needed only where
nothing else is sent. The timeout follows the gaps that were seen (mean and deviation, as TCP's
retransmission timer does), has a floor, and is doubled for a process that was suspected wrongly.

A process that was itself stopped (SIGSTOP, a suspended machine) finds everybody silent for as
long as it slept. It notices by its own late timer, and forgives everybody that time.

Some evidence is certain: nobody listens any more where the process was, or another life of the
same name does. Such a process is condemned, and never trusted again. One that was given up because
it takes nothing is condemned too, but may be pardoned (``probing``).

Fault model: asynchronous; clocks need only run forward. Cost: no message of its own.
"""

from dataclasses import dataclass

from antiphon.core.ids import ProcessId

_SMALL_GROUP = 32
_CONDEMNED_MAX = 4096
_BEATS_MISSED = 5
"""However short the floor, a process may miss this many heartbeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How often processes let hear of themselves, and how long silence is borne."""

    heartbeat_us: int = 100_000
    """A process is heard at least this often, and looks at its timers this often."""
    timeout_us: int = 1_500_000
    """The floor: shorter silences are never suspicious."""
    timeout_us_max: int = 30_000_000
    """The ceiling of the adaptive timeout."""


class _Peer:
    """What is known of one process."""

    __slots__ = ("deviation_us", "floor_us", "gap_us", "heard_us")

    def __init__(self, now_us: int, floor_us: int) -> None:
        self.heard_us = now_us
        self.floor_us = floor_us
        self.gap_us = 0
        self.deviation_us = 0

    def timeout_us(self, heartbeat_us: int) -> int:
        """Return how long this process may be silent."""
        return max(self.floor_us, heartbeat_us + self.gap_us + 4 * self.deviation_us)

    def hear(self, now_us: int) -> None:
        """Learn from the silence that has just ended."""
        gap_us = now_us - self.heard_us
        if gap_us <= 0:
            return
        self.heard_us = now_us
        error = gap_us - self.gap_us
        self.gap_us += error // 8
        self.deviation_us += (abs(error) - self.deviation_us) // 4


class FailureDetector:
    """Suspicions of one process."""

    def __init__(self, timing: Timing, now_us: int) -> None:
        """Watch nobody yet."""
        self._timing = timing
        self._peers: dict[ProcessId, _Peer] = {}
        self._condemned: dict[ProcessId, None] = {}
        self._checked_us = now_us
        self.heartbeat_us = timing.heartbeat_us
        self.suspected: dict[ProcessId, None] = {}
        """Watched processes that are suspected now."""

    def watch(self, processes: list[ProcessId], now_us: int) -> None:
        """Watch these processes and no others; new ones count as heard now."""
        # In a large group heartbeats are rarer, or a process would do nothing else.
        self.heartbeat_us = self._timing.heartbeat_us * max(1, len(processes) // _SMALL_GROUP)
        old = self._peers
        self._peers = {
            process: old.get(process) or _Peer(now_us, self._timing.timeout_us)
            for process in processes
        }
        self.suspected = {
            process: None
            for process in self._peers
            if process in self.suspected or process in self._condemned
        }

    def hear(self, process: ProcessId, now_us: int) -> None:
        """Something came from ``process``."""
        peer = self._peers.get(process)
        if peer is not None:
            peer.hear(now_us)

    def condemn(self, process: ProcessId) -> bool:
        """``process`` is certainly dead; tell whether that is news."""
        self._condemned[process] = None
        if len(self._condemned) > _CONDEMNED_MAX:
            del self._condemned[next(iter(self._condemned))]
        if process not in self._peers or process in self.suspected:
            return False
        self.suspected[process] = None
        return True

    def pardon(self, process: ProcessId, now_us: int) -> None:
        """``process`` was condemned wrongly: watch it as if it were new."""
        self._condemned.pop(process, None)
        if self.suspected.pop(process, self) is None:
            self._peers[process] = _Peer(now_us, self._timing.timeout_us)

    def check(self, now_us: int) -> list[ProcessId]:
        """Look at the time; return who is suspected since the last look."""
        self._forgive_own_sleep(now_us)
        shortest_us = max(self._timing.timeout_us, _BEATS_MISSED * self.heartbeat_us)
        longest_us = max(self._timing.timeout_us_max, shortest_us)
        news: list[ProcessId] = []
        for process, peer in self._peers.items():
            silent_us = now_us - peer.heard_us
            is_silent = silent_us > shortest_us and silent_us > min(
                peer.timeout_us(self.heartbeat_us), longest_us
            )
            if is_silent and process not in self.suspected:
                self.suspected[process] = None
                news.append(process)
            elif not is_silent and process in self.suspected and process not in self._condemned:
                del self.suspected[process]
                peer.floor_us = min(2 * peer.floor_us, self._timing.timeout_us_max)
        return news

    def _forgive_own_sleep(self, now_us: int) -> None:
        late_us = now_us - self._checked_us - 2 * self._timing.heartbeat_us
        self._checked_us = now_us
        if late_us > 0:
            for peer in self._peers.values():
                peer.heard_us = min(peer.heard_us + late_us, now_us)

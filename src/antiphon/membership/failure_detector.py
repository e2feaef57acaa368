"""The failure detector: who has not been heard of for too long.

Law: complete, not accurate. A process that stops is suspected for good after at most its timeout;
a suspicion may be wrong, and ends when the process is heard again. What follows from a suspicion
is not decided here but by the members together (``agreement``): nobody tells anybody else whom
he suspects except in asking for a new view.

Anything that arrives from a process shows that it lives, so heartbeats are needed only where
nothing else is sent. The timeout follows the gaps that were seen (mean and deviation, as TCP's
retransmission timer does), has a floor, and is doubled for a process that was suspected wrongly. A
process that has not been heard yet is given twice the floor (``pulses``).

A suspicion is due when the silence will be too long before the next look: so whoever stops is
suspected within its timeout of its last sign of life, however rarely one looks.

Hearing is not being heard. A process may say that it does not hear this one, or that it is blocked
itself, having lost touch with a majority. If it says so for long, it is unfit: heard, but no member
that the others could go on with (``changes`` says who goes).

A process that was itself stopped (SIGSTOP, a suspended machine) finds everybody silent for as
long as it slept. It notices by its own late timer, and forgives everybody that time.

Some evidence is certain: nobody listens any more where the process was, or another incarnation of
it does. Such a process is condemned, and never trusted again. One that was given up because it
takes nothing is condemned too, but may be pardoned (``probing``).

Fault model: asynchronous; clocks need only run forward. Cost: no message of its own.
"""

from dataclasses import dataclass, fields

from antiphon.core.errors import UsageError
from antiphon.core.ids import ProcessId
from antiphon.membership.pulses import Pulse, Pulses

_SMALL_GROUP = 32
DEAF = "deaf"
"""It does not hear this process."""

BLOCKED = "blocked"
"""It has lost touch with a majority."""

_BORNE = {DEAF: 1, BLOCKED: 3}
"""For how many times the silence that is borne: who is blocked may have to ask around first."""

_CEILING_US = 30_000_000
"""Of the timeout, unless another one is given."""

_BEATS_MISSED = 5
"""However short the floor, a process may miss this many heartbeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How often processes let hear of themselves, and how long silence is borne.

    All in microseconds, as whole numbers above 0: ``Timing(timeout_us=5_000_000)`` is 5 seconds.

    - ``heartbeat_us``: a process is heard at least this often, and looks at its timers this often;
      in groups of more than 32 members more rarely, in proportion, and where nothing happens in
      any group three times as rarely, or five times within ``timeout_us`` if that is more often.
      A process may be kept from beating for ``timeout_us`` less four heartbeats, at the least.
    - ``timeout_us``: within this time of its last sign of life a process that stopped is
      suspected, where gaps between signs of life are short. The floor of the timeout: silences
      shorter than this less a heartbeat are never suspicious. Five heartbeats may be missed,
      however short it is.
    - ``timeout_us_max``: the ceiling of the timeout, which grows with the gaps that were seen and
      with suspicions that turned out to be wrong; ``timeout_us``, if that is longer than 30 s.
    - ``stall_us``: how long a member may hold up those who send, taking nothing, before it is
      given up.
    """

    heartbeat_us: int = 100_000
    timeout_us: int = 1_500_000
    timeout_us_max: int = _CEILING_US
    stall_us: int = 30_000_000

    def __post_init__(self) -> None:
        """Refuse what is no time, and a ceiling below the floor."""
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or value <= 0:
                message = (
                    f"{field.name} is a whole number of microseconds, above 0, not {value!r:.100}"
                )
                raise UsageError(message)
        if self.timeout_us_max == _CEILING_US < self.timeout_us:  # nobody has given another
            object.__setattr__(self, "timeout_us_max", self.timeout_us)
        if self.timeout_us_max < self.timeout_us:
            message = (
                "timeout_us_max, the ceiling, is at least timeout_us, the floor: "
                f"{self.timeout_us_max} is below {self.timeout_us}"
            )
            raise UsageError(message)


class FailureDetector:
    """Suspicions of one process."""

    def __init__(
        self, timing: Timing, now_us: int, pulses: Pulses | None = None, *, is_sparse: bool = False
    ) -> None:
        """Watch nobody yet; ``pulses`` are shared by all groups of a process.

        ``is_sparse``: not everybody is watched all the time (``attention``).
        """
        self._timing = timing
        self._is_sparse = is_sparse
        self._pulses = pulses if pulses is not None else Pulses(now_us)
        self.hear = self._pulses.hear
        """Something came from a process."""
        self._peers: dict[ProcessId, Pulse] = {}
        self.heartbeat_us = timing.heartbeat_us
        self._ailing: dict[ProcessId, dict[str, int]] = {}
        """Who says what makes it unfit, and since when."""
        self.suspected: dict[ProcessId, None] = {}
        """Watched processes that are suspected now."""

    def watch(self, processes: list[ProcessId], now_us: int) -> None:
        """Watch these processes and no others; new ones count as heard now."""
        # In a large group heartbeats are rarer, or a process would do nothing else.
        self.heartbeat_us = self._timing.heartbeat_us * max(1, len(processes) // _SMALL_GROUP)
        old, pulses = self._peers, self._pulses
        self._peers = {
            process: old.get(process) or pulses.watch(process, now_us, self._timing.timeout_us)
            for process in processes
        }
        for process in old:
            if process not in self._peers:
                pulses.unwatch(process)
        self._ailing = {who: said for who, said in self._ailing.items() if who in self._peers}
        self.suspected = {
            process: None
            for process in self._peers
            if process in self.suspected or process in pulses.condemned
        }
        assert self._ailing.keys() <= self._peers.keys(), "who is not watched is not noted"

    def note(self, process: ProcessId, ailment: str, now_us: int, *, is_so: bool) -> None:
        """A process says that it does not hear this one, or is blocked; or is so no longer."""
        if is_so and process in self._peers:
            self._ailing.setdefault(process, {}).setdefault(ailment, now_us)
        elif not is_so and (said := self._ailing.get(process)) is not None:
            said.pop(ailment, None)
            if not said:
                del self._ailing[process]

    def bear(self, now_us: int) -> None:
        """What others have said counts from now on: so far this process was cut off itself."""
        for said in self._ailing.values():
            for ailment in said:
                said[ailment] = now_us

    def has(self, process: ProcessId, ailment: str) -> bool:
        """Whether a process says so, for however short a time."""
        return ailment in self._ailing.get(process, ())

    def unfit(self, now_us: int, *ailments: str) -> list[ProcessId]:
        """Return who has said one of these for longer than is borne."""
        silence_us = max(self._timing.timeout_us, _BEATS_MISSED * self.heartbeat_us)
        return [
            process
            for process, said in self._ailing.items()
            if any(
                now_us - said[one] >= _BORNE[one] * silence_us for one in ailments if one in said
            )
        ]

    @property
    def doubted(self) -> list[ProcessId]:
        """Who is suspected and may live after all."""
        return [process for process in self.suspected if process not in self._pulses.condemned]

    def is_fresh(self, process: ProcessId, now_us: int) -> bool:
        """Whether a process was heard just now, and not only not too long ago."""
        peer = self._peers.get(process)
        fresh_us = max(self._timing.timeout_us // 3, _BEATS_MISSED * self.heartbeat_us)
        if peer is None or (self._is_sparse and peer.is_new):
            return False  # that it counts as heard says nothing of whom this process reaches
        return now_us - peer.heard_us <= fresh_us

    def condemn(self, process: ProcessId) -> bool:
        """``process`` is certainly dead; tell whether that is news."""
        self._pulses.condemn(process)
        if process not in self._peers or process in self.suspected:
            return False
        self.suspected[process] = None
        return True

    def pardon(self, process: ProcessId, now_us: int) -> None:
        """``process`` was condemned wrongly: watch it as if it were new."""
        self._pulses.condemned.pop(process, None)
        if self.suspected.pop(process, self) is None:
            assert process in self._peers, "who is suspected is watched"
            self._pulses.renew(process, now_us, self._timing.timeout_us)

    def check(self, now_us: int) -> list[ProcessId]:
        """Look at the time; return who is suspected since the last look."""
        self._forgive_own_sleep(now_us)
        shortest_us = max(self._timing.timeout_us, _BEATS_MISSED * self.heartbeat_us)
        longest_us = max(self._timing.timeout_us_max, shortest_us)
        news: list[ProcessId] = []
        condemned = self._pulses.condemned
        for process, peer in self._peers.items():
            silent_us = now_us - peer.heard_us + self._timing.heartbeat_us  # by the next look
            is_silent = process in condemned or (
                silent_us > shortest_us
                and silent_us > min(peer.timeout_us(self.heartbeat_us), longest_us)
            )
            if is_silent and process not in self.suspected:
                self.suspected[process] = None
                news.append(process)
            elif not is_silent and process in self.suspected:
                del self.suspected[process]
                peer.double(self._timing.timeout_us_max)
        assert self.suspected.keys() <= self._peers.keys(), "who is suspected is watched"
        return news

    @property
    def patience_us(self) -> int:
        """The longest silence that is borne of anybody now."""
        shortest_us = max(self._timing.timeout_us, _BEATS_MISSED * self.heartbeat_us)
        timeouts = [peer.timeout_us(self.heartbeat_us) for peer in self._peers.values()]
        longest_us = min(max(timeouts, default=0), self._timing.timeout_us_max)
        assert shortest_us > 0, "some silence is always borne"
        return max(longest_us, shortest_us)

    def _forgive_own_sleep(self, now_us: int) -> None:
        late_us = self._pulses.forgive_own_sleep(now_us, self._timing.heartbeat_us)
        if late_us:
            for said in self._ailing.values():
                for ailment, since_us in said.items():
                    said[ailment] = min(since_us + late_us, now_us)

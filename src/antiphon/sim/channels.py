"""Channels of a world with faults: reliable and FIFO between live processes, until one crashes.

Law: what is sent arrives once and in order, after a delay that the seed decides. A cut channel
delivers nothing until it is healed, and loses nothing: that is what a connection does that is
taken up again; a link that is down is such a channel. A crash cuts short what its victim had sent:
of each channel a prefix arrives that the seed decides, and the rest is lost. Delays of a channel
depend on the seed and the channel alone, so taking a step out of a scenario leaves the others'
delays as they were.
"""

from collections import Counter, deque
from collections.abc import Callable
from math import log
from typing import Any
from zlib import crc32

from antiphon.core.ids import ProcessId
from antiphon.sim.scheduler import Scheduler
from antiphon.stack.inputs import LetterReceived, RunsReceived

SENT_MAX = 2_000_000
"""More than any world needs: two machines answering each other for ever would fill the memory."""

Arrive = Callable[[ProcessId, ProcessId, Any], None]

OnFull = Callable[[ProcessId, ProcessId, bool], None]
"""Called with the two ends of a channel that takes no more for now, or takes more again."""

_BULKY = (RunsReceived, LetterReceived)
"""What takes room: control messages are small, and always find some."""


class Dice:
    """A generator that costs little to make: a large world has a million channels.

    A multiplicative congruential one, seeded by a checksum; good enough for delays.
    """

    __slots__ = ("_state",)

    def __init__(self, seed: str) -> None:
        self._state = (crc32(seed.encode()) << 16 | 0x330E) * _FACTOR & _MASK

    def random(self) -> float:
        """Return a number from 0 to below 1."""
        self._state = (self._state * _FACTOR + _SUMMAND) & _MASK
        return (self._state >> 11) / (1 << 53)


_FACTOR, _SUMMAND, _MASK = 6364136223846793005, 1442695040888963407, (1 << 64) - 1


class _Channel:
    """From one process to one other."""

    __slots__ = (
        "bulk", "due_us", "held", "in_flight", "is_cut", "is_full", "random", "source", "target",
    )  # fmt: skip

    def __init__(self, seed: int, source: ProcessId, target: ProcessId) -> None:
        self.source, self.target = source, target
        self.random = Dice(f"{seed}/{source}/{target}")
        self.in_flight: deque[Any] = deque()
        self.due_us = 0
        self.is_cut = False
        self.held = 0  # arrivals that were due while the channel was cut
        self.bulk = 0  # what is in flight and takes room
        self.is_full = False


class Channels:
    """All channels of a world, made when first used."""

    def __init__(
        self,
        scheduler: Scheduler,
        seed: int,
        delay_us_mean: int,
        arrive: Arrive,
        distance_us: int = 0,
    ) -> None:
        """Call ``arrive(source, target, item)`` for what arrives."""
        self._distance_us = distance_us
        self._scheduler = scheduler
        self._seed = seed
        self._delay_us_mean = delay_us_mean
        self._arrive = arrive
        self._channels: dict[tuple[ProcessId, ProcessId], _Channel] = {}
        self._sides: dict[str, None] | None = None
        self._slow_us: dict[tuple[str, str], int] = {}
        self._far_us: dict[tuple[str, str], int] = {}
        self._down: dict[tuple[str, str], None] = {}
        self._last_due_us = 0
        self._severed: dict[tuple[ProcessId, ProcessId], None] = {}
        self.room = 0
        """Messages and letters in flight with which a channel is full; 0: it never is."""
        self.on_full: OnFull = lambda _source, _target, _is_full: None
        self.sent_count = 0
        self.sent_by_kind: Counter[str] = Counter()

    def send(self, source: ProcessId, target: ProcessId, item: object) -> None:
        """Send ``item``."""
        channel = self._channels.get((source, target))
        if channel is None:
            channel = self._channels[source, target] = _Channel(self._seed, source, target)
            channel.is_cut = self._is_held(source, target)
        self.sent_count += 1
        self.sent_by_kind[type(getattr(item, "message", item)).__name__] += 1
        assert self.sent_count < SENT_MAX, "processes send to each other without end"
        now_us = self._scheduler.now_us
        delay_us = 50 - int(self._delay_us_mean * log(1.0 - channel.random.random()))
        delay_us += self.way_us(source.name, target.name)[0]
        channel.due_us = max(channel.due_us, now_us + delay_us)
        self._last_due_us = max(self._last_due_us, channel.due_us)
        channel.in_flight.append(item)
        if self.room and isinstance(item, _BULKY):
            channel.bulk += 1
            self._look_if_full(channel)
        self._scheduler.at(channel.due_us, self._on_due, channel)

    def post(self, source: ProcessId, target: ProcessId, item: object) -> None:
        """Send a question, or its answer: likewise, but it is no message of the group."""
        Channels.send(self, source, target, item)  # whoever counts the group's leaves it out

    def _on_due(self, channel: _Channel) -> None:
        if channel.is_cut:
            channel.held += 1
        elif channel.in_flight:
            item = channel.in_flight.popleft()
            if self.room and isinstance(item, _BULKY):
                channel.bulk -= 1
                self._look_if_full(channel)
            self._arrive(channel.source, channel.target, item)

    def _look_if_full(self, channel: _Channel) -> None:
        limit = self.room // 2 if channel.is_full else self.room
        is_full = channel.bulk > limit
        if is_full != channel.is_full:
            channel.is_full = is_full
            self.on_full(channel.source, channel.target, is_full)

    def lose_sent(self, source: ProcessId) -> None:
        """``source`` has crashed: of each of its channels some prefix still arrives."""
        for (sender, _), channel in self._channels.items():
            if sender == source:
                kept = int(channel.random.random() * (len(channel.in_flight) + 1))
                while len(channel.in_flight) > kept:
                    channel.in_flight.pop()

    def partition(self, names: tuple[str, ...]) -> None:
        """Cut every channel between these processes and the others."""
        self._sides = dict.fromkeys(names)
        self._cut_or_heal()

    def heal(self) -> None:
        """Restore every channel that was cut; what was held arrives."""
        self._sides = None
        self._cut_or_heal()

    def sever(self, process: ProcessId, other: ProcessId) -> None:
        """Cut both channels of a pair, because ``process`` has given the other up."""
        self._severed[process, other] = None
        self._cut_or_heal()

    def restore(self, process: ProcessId, other: ProcessId) -> None:
        """``process`` takes the other back."""
        self._severed.pop((process, other), None)
        self._cut_or_heal()

    def slow(self, source: str, target: str, extra_us: int) -> None:
        """Delay what one process sends to one other, from now on; 0: no longer."""
        self._slow_us[source, target] = extra_us

    def far(self, source: str, target: str, distance_us: int) -> None:
        """Say how far it is from one process to one other, for good."""
        self._far_us[source, target] = distance_us

    def down(self, source: str, target: str) -> None:
        """Cut the link from one process to one other."""
        self._down[source, target] = None
        self._cut_or_heal()

    def up(self, source: str, target: str) -> None:
        """Take the link from one process to one other up again; what was held arrives."""
        self._down.pop((source, target), None)
        self._cut_or_heal()

    def up_all(self) -> None:
        """Let no link be down any longer."""
        self._down.clear()
        self._cut_or_heal()

    def way_us(self, source: str, target: str) -> tuple[int, int]:
        """Return what everything from one process to another takes, and what is added, on mean."""
        way = source, target
        far_us = self._far_us.get(way, self._distance_us) + self._slow_us.get(way, 0)
        return far_us, self._delay_us_mean

    def reaches(self, source: str, target: str) -> bool:
        """Whether what one process sends now comes to another, as soon as it should."""
        way = source, target
        return not self.is_cut(source, target) and not self._slow_us.get(way)

    @property
    def distance_us_max(self) -> int:
        """The longest way that any message has to go, and what a delay rarely adds to it."""
        return max([self._distance_us, *self._far_us.values()]) + 50 + 8 * self._delay_us_mean

    @property
    def under_way_us(self) -> int:
        """How long it takes until all that was sent has arrived, where nothing is cut."""
        return max(0, self._last_due_us - self._scheduler.now_us)

    def speed_up(self) -> None:
        """Slow nothing down any longer."""
        self._slow_us.clear()

    def _is_held(self, source: ProcessId, target: ProcessId) -> bool:
        """Whether nothing arrives: the network carries nothing, or one has given the other up."""
        is_severed = (source, target) in self._severed or (target, source) in self._severed
        return is_severed or self.is_cut(source.name, target.name)

    def is_cut(self, source: str, target: str) -> bool:
        """Whether the network carries nothing from one process to another."""
        sides = self._sides
        is_split = sides is not None and (source in sides) != (target in sides)
        return is_split or (source, target) in self._down

    def _cut_or_heal(self) -> None:
        for (source, target), channel in self._channels.items():
            channel.is_cut = self._is_held(source, target)
            if not channel.is_cut:
                for _ in range(channel.held):
                    self._scheduler.at(self._scheduler.now_us, self._on_due, channel)
                channel.held = 0

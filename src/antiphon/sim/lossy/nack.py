"""The comparison: receivers that ask the sender again, by a fixed timer.

Rule. Messages are numbered per sender. A sender that was silent for a period tells its last number.
A receiver that finds a gap waits for a fixed time, asks the sender for what it lacks, and asks
again whenever that time has passed. Only the sender answers, to who has asked. Order is FIFO, at
best: this is what receiver-initiated multicast does without help from others (Blocks II).

Cost. n - 1 datagrams per message; one question and one answer per loss and receiver; what a
sender has lost with its own life nobody has.
"""

from collections.abc import Callable
from random import Random
from struct import Struct

from antiphon.sim.lossy.network import Datagram, LossOptions, LossyNetwork
from antiphon.sim.scheduler import Scheduler

_WIRE = Struct(">BHI")
_DATA, _TELL, _ASK = range(3)


class NackWorld:
    """Some processes."""

    def __init__(
        self, seed: str, size: int, period_us: int, timer_us: int, options: LossOptions
    ) -> None:
        """Begin, each in the midst of its silence."""
        self.scheduler = Scheduler()
        self.random = Random(f"{seed}/world")
        self._period_us, self._timer_us = period_us, timer_us
        arrivals = [self._arrival(rank) for rank in range(size)]
        self.network = LossyNetwork(self.scheduler, options, seed, arrivals)
        self._size = size
        self.sent = [0] * size
        self._silent_us = [0] * size
        self._told = [[0] * size for _ in range(size)]  # by receiver and sender, the last number
        self._asking: set[tuple[int, int]] = set()
        self.is_up = [True] * size
        self.received_us: dict[tuple[int, tuple[int, int]], int] = {}
        """By receiver and message (sender, number): when it first came."""
        self.missed_us: dict[tuple[int, tuple[int, int]], int] = {}
        """Of those whose first copy was lost: when it was sent."""
        self.repeated = 0
        for rank in range(size):
            self.scheduler.at(self.random.randrange(period_us), self._tell, rank)

    def multicast(self, sender: int) -> None:
        """Send the next message of a process."""
        self.sent[sender] += 1
        number = self.sent[sender]
        self._silent_us[sender] = self.scheduler.now_us
        for target in self.network.multicast(sender, _WIRE.pack(_DATA, sender, number)):
            self.missed_us[target, (sender, number)] = self.scheduler.now_us

    def _tell(self, rank: int) -> None:
        """Say how far a process is, if it is silent; look again in time."""
        now_us = self.scheduler.now_us
        if not self.is_up[rank]:
            return
        due_us = self._silent_us[rank] + self._period_us
        if now_us >= due_us or now_us < self._period_us:
            self._silent_us[rank] = now_us
            self.network.multicast(rank, _WIRE.pack(_TELL, rank, self.sent[rank]))
            due_us = now_us + self._period_us
        self.scheduler.at(due_us, self._tell, rank)

    def _arrival(self, me: int) -> Callable[[Datagram], None]:
        def arrive(datagram: Datagram) -> None:
            if self.is_up[me]:
                self._receive(me, *datagram)

        return arrive

    def _receive(self, me: int, source: int, data: bytes) -> None:
        kind, sender, number = _WIRE.unpack(data)
        if kind == _ASK:
            if self.is_up[sender]:
                self.repeated += 1
                self.network.send(me, source, _WIRE.pack(_DATA, me, number))
            return
        if kind == _DATA:
            self.received_us.setdefault((me, (sender, number)), self.scheduler.now_us)
        self._told[me][sender] = max(self._told[me][sender], number)
        if (me, sender) not in self._asking and self._lacking(me, sender):
            self._asking.add((me, sender))
            self.scheduler.at(self.scheduler.now_us + self._timer_us, self._ask, (me, sender))

    def _lacking(self, me: int, sender: int) -> list[int]:
        # Looked for among the last ones: nobody falls behind by more here.
        last = self._told[me][sender]
        numbers = range(max(1, last - 500), last + 1)
        return [number for number in numbers if (me, (sender, number)) not in self.received_us]

    def _ask(self, who: tuple[int, int]) -> None:
        me, sender = who
        lacking = self._lacking(me, sender)
        if not lacking or not self.is_up[me]:
            self._asking.discard(who)
            return
        for number in lacking:
            self.network.send(me, sender, _WIRE.pack(_ASK, sender, number))
        self.scheduler.at(self.scheduler.now_us + self._timer_us, self._ask, who)

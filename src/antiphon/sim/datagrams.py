"""Datagrams of a world with faults: lost, repeated, late and out of order, beside its channels.

Law: what becomes of a datagram depends on the seed, the two ends and what was sent between them
before. It goes the way of the channel (``channels``), as far and as slowly, and is lost where the
channel holds something back; and now and then in any case. What its sender had under way when it
crashed is lost, or not.
"""

from collections.abc import Mapping
from math import log
from typing import Protocol

from antiphon.core.ids import ProcessId
from antiphon.sim.channels import SENT_MAX, Channels, Dice
from antiphon.sim.scheduler import Scheduler
from antiphon.stack.inputs import DatagramsReceived

_REPEATED, _LATE = 0.5, 0.5
"""Of every datagram lost, how many others arrive twice, and how many are late."""

_LATE_WAYS = 8
"""How many times as long as others late ones may take."""


class Hearer(Protocol):
    """A process to which datagrams come."""

    @property
    def is_paused(self) -> bool:
        """Whether it does nothing now: what comes then is kept by nobody."""

    def give(self, happened: DatagramsReceived) -> None:
        """Give an input to its machine, if it is up."""


class _Datagram:
    """One that is under way."""

    __slots__ = ("data", "is_lost", "source", "target")

    def __init__(self, source: ProcessId, target: ProcessId, data: bytes) -> None:
        self.source, self.target, self.data = source, target, data
        self.is_lost = False


class LossyChannels:
    """All that is sent by datagram in a world."""

    def __init__(
        self,
        scheduler: Scheduler,
        channels: Channels,
        seed: int,
        loss: float,
        listeners: Mapping[ProcessId, Hearer],
    ) -> None:
        """Lose so many, from 0 to 1; the others come to whoever listens then."""
        self._scheduler, self._channels = scheduler, channels
        self._seed, self._listeners = seed, listeners
        self.loss = loss
        self._dice: dict[tuple[ProcessId, ProcessId], Dice] = {}
        self._under_way: dict[_Datagram, None] = {}
        self.sent_count = 0

    def send(self, source: ProcessId, target: ProcessId, data: bytes) -> None:
        """Send a datagram."""
        dice = self._dice.get((source, target))
        if dice is None:
            dice = self._dice[source, target] = Dice(f"{self._seed}/{source}/{target}/datagrams")
        self.sent_count += 1
        assert self.sent_count < SENT_MAX, "processes send to each other without end"
        if dice.random() < self.loss:
            return
        self._set_out(dice, source, target, data)
        if dice.random() < self.loss * _REPEATED:
            self._set_out(dice, source, target, data)

    def _set_out(self, dice: Dice, source: ProcessId, target: ProcessId, data: bytes) -> None:
        way_us, delay_us = self._channels.way_us(source.name, target.name)
        took_us = 50 + way_us - int(delay_us * log(1.0 - dice.random()))
        if dice.random() < self.loss * _LATE:
            took_us += int(dice.random() * _LATE_WAYS * (way_us + delay_us))
        if self._channels.is_cut(source.name, target.name):
            return
        datagram = _Datagram(source, target, data)
        self._under_way[datagram] = None
        self._scheduler.at(self._scheduler.now_us + took_us, self._on_due, datagram)

    def _on_due(self, datagram: _Datagram) -> None:
        del self._under_way[datagram]
        source, target = datagram.source, datagram.target
        if not (datagram.is_lost or self._channels.is_cut(source.name, target.name)):
            listener = self._listeners.get(target)
            if listener is not None and not listener.is_paused:
                listener.give(DatagramsReceived([(source, datagram.data)]))

    def lose_sent(self, source: ProcessId) -> None:
        """``source`` has crashed: some of what it has under way is lost."""
        dice = Dice(f"{self._seed}/{source}/crash")
        for datagram in self._under_way:
            if datagram.source == source:
                datagram.is_lost = dice.random() < 0.5

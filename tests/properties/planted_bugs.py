"""Wrong machines, on purpose: each is one plausible mistake, most of them out of the errata.

Law: a mistake is planted into the real machines, never into a copy of them, so that it goes the
same way through codec and queue as the right ones. ``PLANTED`` names, for each, where it shows (in
whole endpoints, or in the bare ordering machine over FIFO or unordered channels) and which judge
must find it: "graph" means that the order really is wrong, by the event graph alone; "twin" that
the order is causal still, but not the one of rescanning from the head, or later than it could be,
which only the slow machine sees.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, NamedTuple

import pytest

from antiphon.core.ids import GroupNumber, Rank
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.ordering import vector_clock
from antiphon.ordering.delay_queue import DelayQueue, Lack
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.vector import VectorDomain

_RIGHT_LACK = vector_clock.VectorClock.lack
_RIGHT_SHORT_WAY = MixedDomain.receive_plain


def _lacks_nothing(_group: vector_clock.VectorClock, _run: Run) -> Lack | None:
    """Deliver on receipt."""
    return None


def _lacks_own_predecessor_only(group: vector_clock.VectorClock, run: Run) -> Lack | None:
    """Ignore the stamp: FIFO order in place of causal order."""
    lack = _RIGHT_LACK(group, run)
    return lack if lack is not None and lack[1] == run.sender else None


def _lacks_all_but_the_last(group: vector_clock.VectorClock, run: Run) -> Lack | None:
    """Wait for one message less than the stamp says."""
    lack = _RIGHT_LACK(group, run)
    if lack is None or lack[1] == run.sender:
        return lack
    return lack if group.delivered[lack[1]] < lack[2] - 1 else None


def _lacks_first_entry_only(group: vector_clock.VectorClock, run: Run) -> Lack | None:
    """Look at the first entry of the stamp and never at the others."""
    short = Run(run.group, run.view, run.sender, run.first, run.order, run.stamp[:1], run.payloads)
    return _RIGHT_LACK(group, short)


class CopiesMessageClock(VectorDomain):
    """Erratum 000-1: the clock becomes VT(m), and what m did not know of is forgotten."""

    __slots__ = ("known",)

    def install(self, group: GroupNumber, view: View, rank: Rank) -> None:
        """Keep, per sender, its vector time as its stamps have told it so far."""
        super().install(group, view, rank)
        self.known = [[0] * len(view.members) for _ in view.members]

    def receive(self, run: Run) -> list[Run]:
        """Replace every entry but the own one."""
        ready = super().receive(run)
        mine = self._groups[run.group]
        for delivered in ready:
            known = self.known[delivered.sender]
            known[delivered.sender] = delivered.last
            for rank, count in delivered.stamp:
                known[rank] = count
            mine.delivered[:] = [*known[: mine.rank], mine.sent, *known[mine.rank + 1 :]]
        return ready

    def multicast(
        self,
        group: GroupNumber,
        payloads: Sequence[bytes],
        order: Order,
        byte_count: int | None = None,
        port: int = 0,
    ) -> Run:
        """Leave out entries that fell back to zero, which the wire cannot carry."""
        run = super().multicast(group, payloads, order, byte_count, port)
        run.stamp = tuple(entry for entry in run.stamp if entry[1])
        return run


class TakesSenderClock(VectorDomain):
    """Erratum 000-1: the entry of the sender becomes what the sender has sent by now."""

    __slots__ = ()
    everybody: ClassVar[dict[int, VectorDomain]] = {}

    def install(self, group: GroupNumber, view: View, rank: Rank) -> None:
        """Make all machines of the world know each other."""
        super().install(group, view, rank)
        self.everybody[rank] = self

    def receive(self, run: Run) -> list[Run]:
        """Look into the sender."""
        ready = super().receive(run)
        for delivered in ready:
            live = self.everybody[delivered.sender]._groups[run.group].sent
            self._groups[run.group].delivered[delivered.sender] = live
        return ready


class StampsWhatWasReceived(VectorDomain):
    """Erratum 000-3: a message received but not delivered counts as a cause."""

    __slots__ = ()

    def multicast(
        self,
        group: GroupNumber,
        payloads: Sequence[bytes],
        order: Order,
        byte_count: int | None = None,
        port: int = 0,
    ) -> Run:
        """Stamp with the counts of receipts."""
        mine = self._groups[group]
        delivered = mine.delivered
        mine.delivered = [*mine.received]
        for rank, count in enumerate(mine.received):
            if count > delivered[rank] and rank != mine.rank:
                mine.changed[rank] = None
        run = super().multicast(group, payloads, order, byte_count, port)
        mine.delivered = delivered
        delivered[mine.rank] = mine.sent
        return run


class ForgetsStampOnFifoSend(VectorDomain):
    """A FIFO multicast carries no stamp, yet what it would have carried is crossed off."""

    __slots__ = ()

    def multicast(
        self,
        group: GroupNumber,
        payloads: Sequence[bytes],
        order: Order,
        byte_count: int | None = None,
        port: int = 0,
    ) -> Run:
        """Cross off too much."""
        run = super().multicast(group, payloads, order, byte_count, port)
        self._groups[group].changed.clear()
        return run


class CompressesAgainstLastDelivery(VectorDomain):
    """The stamp says what changed with the last arrival, not since the last multicast."""

    __slots__ = ()

    def receive(self, run: Run) -> list[Run]:
        """Cross off on arrival."""
        self._groups[run.group].changed.clear()
        return super().receive(run)


class CarriesAnEntryOnce(VectorDomain):
    """An entry that was carried before is taken for known, though it has grown."""

    __slots__ = ("carried",)

    def __init__(self, *, fifo_channels: bool = True) -> None:
        """Start with nothing carried."""
        super().__init__(fifo_channels=fifo_channels)
        self.carried: dict[int, None] = {}

    def multicast(
        self,
        group: GroupNumber,
        payloads: Sequence[bytes],
        order: Order,
        byte_count: int | None = None,
        port: int = 0,
    ) -> Run:
        """Drop what went out before."""
        run = super().multicast(group, payloads, order, byte_count, port)
        run.stamp = tuple(entry for entry in run.stamp if entry[0] not in self.carried)
        self.carried.update((rank, None) for rank, _ in run.stamp)
        return run


class CountsRunsNotMessages(VectorDomain):
    """A delivered run moves its sender's count by one."""

    __slots__ = ()

    def receive(self, run: Run) -> list[Run]:
        """Count runs."""
        before = self.clock(run.group)
        ready = super().receive(run)
        for delivered in ready:
            before[delivered.sender] += 1
            self._groups[run.group].delivered[delivered.sender] = before[delivered.sender]
        return ready


class DropsEarlyRuns(VectorDomain):
    """What comes before its turn is thrown away, as if it would come again."""

    __slots__ = ()

    def receive(self, run: Run) -> list[Run]:
        """Hold nothing that has a gap before it."""
        if run.first > self.clock(run.group)[run.sender] + 1:
            return []
        return super().receive(run)


class TakesLatestReady(DelayQueue):
    """Of several ready runs the one received last goes first."""

    __slots__ = ()

    def put_ready(self, arrival: int, run: Run) -> None:
        """Turn the order around."""
        super().put_ready(-arrival, run)


class OrdersByWaking(DelayQueue):
    """Ready runs go in the order in which they became ready."""

    __slots__ = ("woken",)

    def put_ready(self, arrival: int, run: Run) -> None:
        """Forget the order of receipt."""
        del arrival
        self.woken: int = getattr(self, "woken", 0) + 1
        super().put_ready(self.woken, run)


class SkipsTheSecondLook(DelayQueue):
    """A run that was woken goes out, whatever else it lacks."""

    __slots__ = ()

    def hold_again(self, arrival: int, run: Run, lack: Lack) -> None:
        """Take the first lack for the only one."""
        del lack
        self.put_ready(arrival, run)


class LosesWhatStillLacks(DelayQueue):
    """A run that was woken and lacks something more is not filed again."""

    __slots__ = ()

    def hold_again(self, arrival: int, run: Run, lack: Lack) -> None:
        """Lose it."""


class WakesOneOnly(DelayQueue):
    """Of several runs that wait for one message, one is woken."""

    __slots__ = ()

    def wake(self, group: int, rank: int, number: int) -> list[tuple[int, Run]]:
        """Put the others back."""
        woken = super().wake(group, rank, number)
        for arrival, run in woken[1:]:
            self.hold_again(arrival, run, (group, rank, number))
        return woken[:1]


class WakesExactNumberOnly(DelayQueue):
    """A delivery that goes beyond what was waited for wakes nobody."""

    __slots__ = ()

    def wake(self, group: int, rank: int, number: int) -> list[tuple[int, Run]]:
        """Compare with ``==``: put back those who waited for less."""
        late = super().wake(group, rank, number - 1)
        woken = super().wake(group, rank, number)
        for arrival, run in late:
            self.hold_again(arrival, run, (group, rank, 0))
        return woken


def _cuts_nothing(run: Run, _delivered: int) -> Run | None:
    """Duplicates are not dropped."""
    return run


def _cuts_all_or_nothing(run: Run, delivered: int) -> Run | None:
    """A run delivered in part is taken for delivered."""
    return run if run.first > delivered else None


def _takes_whatever_is_next(domain: MixedDomain, run: Run) -> bool:
    """Look at the sender's number alone on the short way, and not at the stamp."""
    stampless = Run(run.group, run.view, run.sender, run.first, run.order, (), run.payloads)
    return _RIGHT_SHORT_WAY(domain, stampless)


def _wakes_nobody(domain: MixedDomain, run: Run) -> bool:
    """Take the short way though others wait for this very run."""
    waiting_for = domain._queue.waiting_for
    domain._queue.waiting_for = {}
    is_taken = _RIGHT_SHORT_WAY(domain, run)
    domain._queue.waiting_for = waiting_for
    return is_taken


def _takes_and_denies_it(domain: MixedDomain, run: Run) -> bool:
    """Take a run the short way, and say that nothing has been done."""
    _RIGHT_SHORT_WAY(domain, run)
    return False


Where = Literal["endpoint", "fifo", "unordered"]


class Planted(NamedTuple):
    """Where a mistake goes, where it shows, and who must find it."""

    target: str
    mistake: type | Callable[..., object]
    where: Where
    judge: Literal["graph", "twin"]

    @property
    def fifo_channels(self) -> bool:
        """Whether channels are FIFO where it shows."""
        return self.where != "unordered"


_LACK = "antiphon.ordering.vector_clock.VectorClock.lack"
_QUEUE = "antiphon.ordering.vector_clock.DelayQueue"
_CUT = "antiphon.ordering.vector._after"
_MACHINE = "tests.properties.processes.VectorDomain"
_SHORT_WAY = "antiphon.ordering.mixed.MixedDomain.receive_plain"

PLANTED = [
    Planted(_LACK, _lacks_nothing, where="endpoint", judge="graph"),
    Planted(_LACK, _lacks_nothing, where="unordered", judge="graph"),
    Planted(_LACK, _lacks_own_predecessor_only, where="endpoint", judge="graph"),
    Planted(_LACK, _lacks_all_but_the_last, where="endpoint", judge="graph"),
    Planted(_LACK, _lacks_first_entry_only, where="endpoint", judge="graph"),
    Planted(_SHORT_WAY, _takes_whatever_is_next, where="endpoint", judge="graph"),
    Planted(_SHORT_WAY, _wakes_nobody, where="endpoint", judge="graph"),
    Planted(_SHORT_WAY, _takes_and_denies_it, where="endpoint", judge="graph"),
    Planted(_MACHINE, CopiesMessageClock, where="fifo", judge="graph"),
    Planted(_MACHINE, TakesSenderClock, where="fifo", judge="graph"),
    Planted(_MACHINE, StampsWhatWasReceived, where="fifo", judge="twin"),
    Planted(_MACHINE, ForgetsStampOnFifoSend, where="fifo", judge="graph"),
    Planted(_MACHINE, CompressesAgainstLastDelivery, where="fifo", judge="graph"),
    Planted(_MACHINE, CarriesAnEntryOnce, where="fifo", judge="graph"),
    Planted(_MACHINE, CountsRunsNotMessages, where="fifo", judge="graph"),
    Planted(_MACHINE, DropsEarlyRuns, where="unordered", judge="graph"),
    Planted(_QUEUE, TakesLatestReady, where="endpoint", judge="twin"),
    Planted(_QUEUE, OrdersByWaking, where="endpoint", judge="twin"),
    Planted(_QUEUE, SkipsTheSecondLook, where="endpoint", judge="graph"),
    Planted(_QUEUE, LosesWhatStillLacks, where="endpoint", judge="graph"),
    Planted(_QUEUE, WakesOneOnly, where="endpoint", judge="graph"),
    Planted(_QUEUE, WakesExactNumberOnly, where="unordered", judge="graph"),
    Planted(_CUT, _cuts_nothing, where="unordered", judge="graph"),
    Planted(_CUT, _cuts_all_or_nothing, where="unordered", judge="graph"),
]


def plant(bug: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the mistake where the real machines find it, until the test ends."""
    monkeypatch.setattr(bug.target, bug.mistake)

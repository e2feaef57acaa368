"""A whole driver in memory, of at most 60 lines: it does what an endpoint's contract asks, no more.

Law: one input at a time; what that returns is done in order, before the next one. Channels are
reliable and FIFO, a timer fires at its time and after whatever has arrived by then. What is for the
application (deliveries, views, requests, ends of calls) is handed to it.
"""

from collections import defaultdict
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random

from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.stack import effects
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    ControlReceived,
    Input,
    LetterReceived,
    PeerLost,
    ProbeAnswered,
    RunsReceived,
    Timer,
    TimerFired,
)
from antiphon.stack.settings import Settings

Application = Callable[[ProcessId, effects.Effect], None]


class MemoryDriver:
    """Endpoints, channels between them, a clock, and timers."""

    def __init__(self, application: Application, seed: int = 0) -> None:
        self.now_us = self._count = 0
        self.endpoints: dict[ProcessId, Endpoint] = {}
        self._application, self._random = application, Random(seed)
        self._events: list[tuple[int, int, int, ProcessId, Input]] = []
        self._arrivals: dict[tuple[ProcessId, ProcessId], int] = defaultdict(int)
        self._timers: dict[tuple[ProcessId, Timer], int] = {}
        self._views: dict[ProcessId, View] = {}

    def start(self, me: ProcessId, view: View | None) -> None:
        """Start a process, in a view that was agreed on, or outside."""
        self.endpoints[me] = Endpoint(me, view, Settings(), self.now_us)
        self._do_all(me, self.endpoints[me].start())

    def crash(self, me: ProcessId) -> None:
        """Let a process be gone; the others notice when all that it has sent has come."""
        del self.endpoints[me]
        for other in self.endpoints:
            self._carry(me, other, PeerLost(me))  # after all that it has sent

    def give(self, me: ProcessId, happened: Input, time_us: int = 0, rank: int = 0) -> int:
        """Let something happen to a process, now or later."""
        self._count += 1
        heappush(self._events, (max(time_us, self.now_us), rank, self._count, me, happened))
        return self._count

    def run(self, until_us: int) -> None:
        """Let time pass."""
        while self._events and self._events[0][0] <= until_us:
            self.now_us, _, count, me, happened = heappop(self._events)
            is_old = type(happened) is TimerFired and self._timers[me, happened.timer] != count
            if me in self.endpoints and not is_old:
                self._do_all(me, self.endpoints[me].step(happened, self.now_us))

    def _carry(self, source: ProcessId, target: ProcessId, happened: Input) -> None:
        soon = self.now_us + self._random.randrange(50, 2_000)
        arrival = self._arrivals[source, target] = max(soon, self._arrivals[source, target])
        self.give(target, happened, arrival)

    def _do_all(self, me: ProcessId, todo: list[effects.Effect]) -> None:  # noqa: C901, PLR0912
        for effect in todo:
            match effect:
                case effects.SetTimer(timer, time_us):  # after what has arrived: rank 1
                    self._timers[me, timer] = self.give(me, TimerFired(timer), time_us, 1)
                case effects.SendRun(run, alive):
                    for other in (who for who in self._views[me].members if who != me):
                        if alive is not None:
                            self._carry(me, other, ControlReceived(me, alive))
                        self._carry(me, other, RunsReceived(me, [run]))
                case effects.SendControl(to, message):
                    for other in to:
                        self._carry(me, other, ControlReceived(me, message))
                case effects.RelayRuns(to, runs):
                    for other in to:
                        self._carry(me, other, RunsReceived(me, runs, is_relayed=True))
                case effects.SendLetter(to, letter):
                    self._carry(me, to, LetterReceived(me, letter))
                case effects.RejectPeer(peer):
                    self.give(me, PeerLost(peer))
                case effects.ProbeProcess(process) if process in self.endpoints:
                    asked = self.endpoints[process].member.membership
                    if (said := asked.answer(me, 0, has_channel=True)) is not None:
                        self._carry(process, me, ProbeAnswered(process, said))
                case _:  # channels are there for all, whatever is expected or given up
                    if isinstance(effect, effects.InstallView):
                        self._views[me] = effect.view  # from here on runs go to its members
                    self._application(me, effect)
        if self.endpoints[me].is_over:
            del self.endpoints[me]

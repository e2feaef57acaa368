"""A whole driver of at most 60 lines: it does what ``docs/machine.md`` asks, and no more.

Law: one input at a time; what that returns is done in order, before the next one. What is for the
application (deliveries, views, requests, ends of calls) is handed to it. Processes go by their bare
ids, groups by numbers that are the same everywhere. Below the driver is a world in memory: a clock,
and channels that are reliable and FIFO, one per pair of processes.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from heapq import heappop, heappush
from random import Random
from typing import Any

from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.views import View
from antiphon.membership.failure_detector import Timing
from antiphon.stack import effects
from antiphon.stack import inputs as on
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.process import InGroup, Process
from antiphon.stack.settings import Settings

Action = Callable[[], None]
Where = GroupNumber | None
"""A group, or the process itself."""
Application = Callable[[ProcessId, Where, effects.Effect], None]


class World:
    """A clock, alarms, and channels."""

    def __init__(self, seed: int) -> None:
        """Begin at time 0."""
        self.now_us = self._count = 0
        self._random = Random(seed)
        self._events: list[tuple[int, bool, int, Hashable, Action]] = []
        self._arrivals: dict[tuple[ProcessId, ProcessId], int] = defaultdict(int)
        self._alarms: dict[Hashable, int] = {}

    def at(self, time_us: int, action: Action, alarm: Hashable = None) -> None:
        """Do something at a time; an alarm is after all else, and the last one of its name."""
        self._count += 1
        self._alarms[alarm] = self._count
        event = max(time_us, self.now_us), alarm is not None, self._count, alarm, action
        heappush(self._events, event)

    def send(self, source: ProcessId, target: ProcessId, action: Action) -> None:
        """Do something when what is sent now has come, after all that was sent before."""
        soon = self.now_us + self._random.randrange(50, 2_000)
        arrival = self._arrivals[source, target] = max(soon, self._arrivals[source, target])
        self.at(arrival, action)

    def run(self, until_us: int) -> None:
        """Let time pass."""
        while self._events and self._events[0][0] <= until_us:
            self.now_us, _, count, alarm, action = heappop(self._events)
            if alarm is None or self._alarms[alarm] == count:
                action()


class MemoryDriver:
    """Processes, and what they say to each other."""

    def __init__(self, application: Application, seed: int = 0) -> None:
        self.world = World(seed)
        self.processes: dict[ProcessId, Process] = {}
        self._application = application
        self._parts: dict[tuple[ProcessId, Where], Endpoint] = {}
        self._others: dict[tuple[ProcessId, Where], list[ProcessId]] = {}

    def open(self, group: GroupNumber, me: ProcessId, view: View | None, **options: Any) -> None:
        """Begin in a group, in a view that was agreed on, or outside; start the process first."""
        who, now_us = me.bare(), self.world.now_us
        if who not in self.processes:
            self.processes[who] = Process(who, Timing(), now_us)
            self._do_all(who, None, self.processes[who].start())
        todo = self.processes[who].open(group, me, view, Settings(), now_us, **options)
        self._parts[who, group] = self.processes[who].endpoint(group)
        self._do_all(who, group, todo)

    def crash(self, who: ProcessId) -> None:
        """Let a process be gone; the others notice when all that it has sent has come."""
        del self.processes[who]
        self._send(who, self.processes, None, on.PeerLost(who))

    def give(self, who: ProcessId, of: Where, what: Any, time_us: int = 0, key: Any = None) -> None:
        """Let something happen to a process, or to its part in a group, now or later."""
        self.world.at(time_us, partial(self._take, who, of, what), key)

    def _take(self, who: ProcessId, of: Where, what: Any) -> None:
        if who in self.processes:
            machine, now_us = self.processes[who], self.world.now_us
            todo = machine.step(what, now_us) if of is None else machine.step_in(of, what, now_us)
            self._do_all(who, of, todo)

    def _send(self, who: ProcessId, to: Iterable[ProcessId], of: Where, what: on.Input) -> None:
        for other in map(ProcessId.bare, to):
            self.world.send(who, other, partial(self._take, other, of, what))

    def _do_all(self, who: ProcessId, of: Where, todo: Sequence[InGroup | effects.Effect]) -> None:
        for each in todo:
            self._do(who, *(each if isinstance(each, InGroup) else (of, each)))
        for group in self.processes[who].groups:
            if self._parts[who, group].is_over:
                self._do_all(who, None, self.processes[who].close(group))

    def _do(self, who: ProcessId, of: Where, what: effects.Effect) -> None:  # noqa: C901
        me = self._parts[who, of].me if of is not None else who
        match what:
            case effects.SetTimer(timer, time_us):
                self.give(who, None, on.TimerFired(timer), time_us, (who, timer))
            case effects.SendRun(run, alive):
                if alive is not None:
                    self._send(who, self._others[who, of], of, on.ControlReceived(me, alive))
                self._send(who, self._others[who, of], of, on.RunsReceived(me, [run]))
            case effects.SendControl(to, said):
                received = on.ControlReceived(me, said) if of is not None else on.PeerHeard(who)
                self._send(who, to, of, received)
            case effects.RelayRuns(to, runs):
                self._send(who, to, of, on.RunsReceived(me, runs, is_relayed=True))
            case effects.SendLetter(to, letter):
                self._send(who, (to,), of, on.LetterReceived(me, letter))
            case effects.RejectPeer(peer):
                self.give(who, None, on.PeerLost(peer.bare()))
            case effects.ProbeProcess(asked) if asked.bare() in self.processes:
                answer = self._parts[asked.bare(), of].answer(me, 0, has_channel=True)
                if answer is not None:
                    self._send(asked.bare(), (who,), of, on.ProbeAnswered(asked, answer))
            case _:  # channels are there for all, whatever is expected or given up
                if isinstance(what, effects.InstallView):  # from here on runs go to its members
                    self._others[who, of] = [each for each in what.view.members if each != me]
                self._application(who, of, what)

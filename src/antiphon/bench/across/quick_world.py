"""Processes in many groups of one causality domain, on virtual time: for measurements.

Law: a world drives its processes by the contract of the machine, the short way included, and
nothing else: nothing is recorded, judged or drawn. Every way takes the same time, so times are
multiples of a round trip, and one queue keeps all channels in order. Groups are static: founded at
the beginning, and nobody leaves. They go by digests of 32 bits, as on the network.
"""

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from zlib import crc32

from antiphon.core.control import Alive, AnyMessage, Beat
from antiphon.core.errors import AntiphonError
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.membership.failure_detector import Timing
from antiphon.ordering.structure import Structure
from antiphon.stack import effects as told
from antiphon.stack import inputs as on
from antiphon.stack.process import InGroup, OfProcess, Process
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings

DELAY_US = 500
"""From one process to another."""

ROUND_TRIP_US = 2 * DELAY_US

NO_HEARTBEAT_US = 10**12
"""Of a world that ends before the first one."""

_CAUSAL = How(Order.CAUSAL)

OnRun = Callable[["QuickProcess", GroupNumber, Run], None]
OnControl = Callable[[GroupNumber, AnyMessage, int], None]
OnArrival = Callable[["QuickProcess", GroupNumber, on.Input], None]


class QuickProcess:
    """One process of a world."""

    def __init__(self, world: "QuickWorld", number: int, timing: Timing) -> None:
        """Begin in no group."""
        self.world = world
        self.number = number
        self.me = ProcessId(f"p{number}", 0)
        self.machine = Process(self.me, timing, 0)
        self.groups: list[GroupNumber] = []
        """Those that it is in."""
        self.is_deaf = False
        """Whether nothing arrives here."""
        self._timers: dict[on.Timer, int] = {}

    def multicast(self, group: GroupNumber, payloads: list[bytes]) -> None:
        """Hand over messages that make one run."""
        byte_count = sum(map(len, payloads))
        self.give(group, on.MulticastRequested(payloads, _CAUSAL, byte_count))

    def give(self, group: GroupNumber, happened: on.Input) -> None:
        """Give an input of one group; do what comes of it."""
        if type(happened) is on.RunsReceived:
            (run,) = happened.runs
            if self.machine.endpoint(group).receive(happened.peer, run):
                self.world.on_delivery(self, group, run)
                return
        self.do(self.machine.step_in(group, happened, self.world.now_us), group)

    def give_all(self, happened: OfProcess) -> None:
        """Give an input of the process."""
        self.do(self.machine.step(happened, self.world.now_us), None)

    def do(self, effects: Sequence[InGroup | told.Effect], group: GroupNumber | None) -> None:
        """Do effects in order; those that are of no other are of ``group``."""
        world = self.world
        for effect in effects:
            if isinstance(effect, InGroup):
                self.do([effect.what], effect.group)
            elif isinstance(effect, told.SetTimer):
                self._set_timer(effect)
            elif isinstance(effect, told.SendControl) and isinstance(effect.message, Beat):
                for to in effect.to:
                    world.carry(world.by_id[to], None, on.PeerHeard(self.me))
            elif group is not None:
                self._do_in_group(group, effect)

    def _do_in_group(self, group: GroupNumber, effect: told.Effect) -> None:
        world = self.world
        match effect:
            case told.DeliverRuns(runs):
                for run in runs:
                    world.on_delivery(self, group, run)
            case told.SendRun(run, alive):
                self._send(group, run, alive)
            case told.SendControl(to, message):
                world.on_control(group, message, len(to))
                happened = on.ControlReceived(self.me.numbered(1), message)
                for who in to:
                    world.carry(world.by_id[who.bare()], group, happened)
            case told.RejectPeer(peer, why):
                error = f"{self.me} rejects {peer}: {why}"
                raise AntiphonError(error)
            case _:
                pass

    def _send(self, group: GroupNumber, run: Run, alive: Alive | None) -> None:
        me, world = self.me.numbered(1), self.world
        world.on_send(self, group, run)
        others = [other for other in world.members[group] if other is not self]
        for other in others:
            if alive is not None:
                world.carry(other, group, on.ControlReceived(me, alive))
            world.carry(other, group, on.RunsReceived(me, [run]))

    def _set_timer(self, asked: told.SetTimer) -> None:
        timer = asked.timer
        number = self._timers[timer] = self._timers.get(timer, 0) + 1

        def fire() -> None:
            if self._timers[timer] == number:
                self.give_all(on.TimerFired(timer))

        self.world.at(max(asked.time_us, self.world.now_us + 1), fire)


class QuickWorld:
    """All processes, what is on its way, and the clock."""

    def __init__(
        self,
        groups: Sequence[Sequence[int]],
        *,
        resilience: int = 1,
        heartbeat_us: int = 100_000,
        structure: Structure | None = None,
    ) -> None:
        """Found groups of these processes, by number; a structure calls them g0, g1, ..."""
        self.now_us = 0
        self.on_delivery: OnRun = lambda _member, _group, _run: None
        self.on_send: OnRun = lambda _member, _group, _run: None
        self.on_control: OnControl = lambda _group, _message, _count: None
        """What is said to how many, heartbeats not counted."""
        self.on_arrival: OnArrival | None = None
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._on_the_way: deque[tuple[int, QuickProcess, GroupNumber | None, on.Input]] = deque()
        timing = Timing(heartbeat_us=heartbeat_us, timeout_us=max(1_500_000, 15 * heartbeat_us))
        numbers = sorted({number for members in groups for number in members})
        self.processes = [QuickProcess(self, number, timing) for number in numbers]
        self.by_id = {process.me: process for process in self.processes}
        self.members: dict[GroupNumber, list[QuickProcess]] = {}
        by_number = {process.number: process for process in self.processes}
        for process in self.processes:
            process.do(process.machine.start(), None)
        settings = Settings(timing=timing)
        for place, chosen in enumerate(groups):
            group = GroupNumber(crc32(f"group {place}".encode()))
            assert group not in self.members, "digests differ"
            members = self.members[group] = [by_number[number] for number in sorted(chosen)]
            ids = tuple(member.me.numbered(1) for member in members)
            view = View(GroupName(f"g{place}"), ViewNumber(1), ids)
            for member, me in zip(members, ids, strict=True):
                member.groups.append(group)
                effects = member.machine.open(
                    group, me, view, settings, 0, domain=group, causality="all",
                    resilience=resilience, structure=structure, name=f"g{place}",
                )  # fmt: skip
                member.do(effects, group)
        self.groups = list(self.members)
        """By the order in which they were given."""

    def at(self, time_us: int, action: Callable[[], None]) -> None:
        """Do something at a time."""
        self._count += 1
        heappush(self._heap, (time_us, self._count, action))

    def carry(self, to: QuickProcess, group: GroupNumber | None, happened: on.Input) -> None:
        """Send something, which arrives in its time."""
        self._on_the_way.append((self.now_us + DELAY_US, to, group, happened))

    def run(self, for_us: int) -> None:
        """Let time pass."""
        end_us = self.now_us + for_us
        heap, way = self._heap, self._on_the_way
        while True:
            way_us = way[0][0] if way else end_us + 1
            heap_us = heap[0][0] if heap else end_us + 1
            if min(way_us, heap_us) > end_us:
                break
            if way_us <= heap_us:  # what has arrived is taken before a timer fires
                self.now_us, to, group, happened = way.popleft()
                if to.is_deaf:
                    continue
                if group is not None:
                    if self.on_arrival is not None:
                        self.on_arrival(to, group, happened)
                    to.give(group, happened)
                elif isinstance(happened, OfProcess):
                    to.give_all(happened)
            else:
                self.now_us, _, action = heappop(heap)
                action()
        self.now_us = end_us

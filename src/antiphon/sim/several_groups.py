"""Worlds of processes in several groups each: for the process machine (``stack.process``).

Law: a world drives its processes by the contract and nothing else. Channels are FIFO and reliable,
one per pair of processes whatever the number of groups; delays come from the seed. A partition
holds messages back until it is healed. A crash loses some of what its victim had sent and nobody
had received. Each group's rows are kept apart, for the oracle to judge each group by itself; where
the groups are one causality domain, all that happens is noted in one sequence besides, to be judged
across groups (``across_checks``). Who is out of its groups stays out; who has left a group may join
it again, under the next number.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from random import Random

from antiphon.core.control import Beat
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber
from antiphon.core.runs import PORT_APPLICATION, Letter, Order, Run
from antiphon.core.views import View
from antiphon.membership.failure_detector import Timing
from antiphon.oracle import judge
from antiphon.sim.across_checks import AcrossChecks
from antiphon.stack import effects as told
from antiphon.stack import inputs as on
from antiphon.stack.process import InGroup, OfProcess, Process
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings
from antiphon.trace.rows import Rows
from antiphon.trace.schema import LEFT, QUIESCENT, Event
from antiphon.trace.verdict import Status

BLOCKED = "blocked: too few members are left"

_Item = tuple[GroupNumber, on.Input] | OfProcess

TIMING = Timing(heartbeat_us=10_000, timeout_us=100_000, timeout_us_max=400_000)


class Node:
    """One process, its rows by group, and what it has delivered."""

    def __init__(self, world: "SeveralGroups", me: ProcessId) -> None:
        """Begin in no group."""
        self.world, self.me = world, me
        self.machine = Process(me, TIMING, world.now_us)
        self.ids: dict[GroupNumber, ProcessId] = {}
        self.rows: dict[GroupNumber, Rows] = {}
        self.views: dict[GroupNumber, View] = {}
        self.ends: dict[GroupNumber, str] = {}
        self.delivered: dict[GroupNumber, list[tuple[str, int, int]]] = defaultdict(list)
        self.expected: tuple[ProcessId, ...] = ()
        self.beats = self.said = 0
        self.is_up = True
        self.timers: dict[on.Timer, int] = {}
        self.do(self.machine.start())

    def found(self, group: GroupNumber, view: View | None) -> None:
        """Open a group: in a founding view, or to join it."""
        name = view.group if view is not None else GroupName(f"g{group}")
        before = self.ids.get(group)
        me = self.ids[group] = self.me.numbered(before.incarnation + 1 if before is not None else 1)
        if before is not None:
            self.do(self.machine.close(group))
            del self.ends[group]
            self.views.pop(group, None)
        self.rows[group] = Rows(str(me), name, self.world.events[group].append)
        self.rows[group].start(self.world.now_us)
        world = self.world
        settings = Settings(timing=TIMING, flush=world.flush)
        effects = self.machine.open(
            group, me, view, settings, world.now_us, causality=world.causality,
            resilience=world.resilience,
        )  # fmt: skip
        self.do(effects, group)

    def say(self, group: GroupNumber, how: How) -> None:
        """Multicast one message, which has the next number, whatever its group."""
        self.said += 1
        said = str(self.said).encode()
        self.give((group, on.MulticastRequested([said], how, len(said))))

    def give(self, happened: "_Item") -> None:
        """Give one input; do what comes of it."""
        if not self.is_up:
            return
        if isinstance(happened, tuple):
            group, given = happened
            self.do(self.machine.step_in(group, given, self.world.now_us), group)
        else:
            self.do(self.machine.step(happened, self.world.now_us))

    def do(
        self, effects: Sequence[InGroup | told.Effect], group: GroupNumber | None = None
    ) -> None:
        """Do effects in order; those that are of no other are of ``group``."""
        for effect in effects:
            if isinstance(effect, InGroup):
                self.do_in_group(effect.group, effect.what)
            elif isinstance(effect, told.SetTimer):
                self.set_timer(effect)
            elif isinstance(effect, told.SendControl) and isinstance(effect.message, Beat):
                self.beats += len(effect.to)
                for to in effect.to:
                    self.world.send(self.me, to, on.PeerHeard(self.me))
            elif isinstance(effect, told.ExpectPeers):
                self.expected = effect.processes
            elif group is not None:
                self.do_in_group(group, effect)

    def set_timer(self, asked: told.SetTimer) -> None:
        """Have it fire, unless it is set anew before."""
        number = self.timers[asked.timer] = self.timers.get(asked.timer, 0) + 1

        def fire() -> None:
            if self.is_up and self.timers[asked.timer] == number:
                self.give(on.TimerFired(asked.timer))

        self.world.at(max(asked.time_us, self.world.now_us + 1), fire)

    def do_in_group(self, group: GroupNumber, effect: told.Effect) -> None:
        """Do what one group says."""
        rows, now_us = self.rows[group], self.world.now_us
        match effect:
            case told.DeliverRuns(runs):
                for run in runs:
                    self.take(group, run)
            case told.InstallView(view):
                self.views[group] = view
                rows.view(now_us, view)
                self.world.across.install(str(self.me), group, view.number, self.ids[group], view)
            case told.LeaveGroup(why):
                self.ends[group] = why
                rows.stop(now_us, why or LEFT)
            case _:
                self.carry(group, effect)

    def take(self, group: GroupNumber, run: Run) -> None:
        """A run, or a letter, is delivered."""
        world = self.world
        sender = str(self.machine.endpoint(group).sender_of(run))
        if type(run) is Letter:
            world.across.take(str(self.me), run.payloads[0])
        else:
            self.rows[group].run(world.now_us, "deliver", run, 0)
            self.delivered[group].append((sender, run.view, run.first))
            world.across.deliver(str(self.me), group, run, sender)
        if run.port == PORT_APPLICATION:
            world.on_delivery(self, group)

    def carry(self, group: GroupNumber, effect: told.Effect) -> None:
        """Send what one group says to others."""
        me = self.ids[group]
        match effect:
            case told.SendControl(to, message):
                self.send(group, to, on.ControlReceived(me, message))
            case told.SendRun(run, alive):
                self.rows[group].run(self.world.now_us, "multicast", run, 0)
                self.world.across.multicast(str(self.me), group, run, str(me))
                members = self.views[group].members
                others = tuple(process for process in members if process != me)
                if alive is not None:
                    self.send(group, others, on.ControlReceived(me, alive))
                self.send(group, others, on.RunsReceived(me, [run]))
            case told.SendLetter(to, letter):
                self.world.across.send(str(self.me), letter.payloads[0])
                self.send(group, (to,), on.LetterReceived(me, letter))
            case told.RelayRuns(to, runs):
                self.send(group, to, on.RunsReceived(me, runs, is_relayed=True))
            case _:
                pass

    def send(self, group: GroupNumber, to: tuple[ProcessId, ...], received: on.Input) -> None:
        """Send something to some processes."""
        for process in to:
            self.world.send(self.me, process.bare(), (group, received))


class SeveralGroups:
    """All processes, their channels and the clock."""

    def __init__(
        self,
        seed: int,
        *,
        causality: str | None = None,
        resilience: int = 1,
        flush: str = "view-atomic",
    ) -> None:
        """Begin with nobody; ``causality`` names the domain of all groups, if they share one."""
        self.random = Random(f"{seed}/several groups")
        self.causality, self.resilience, self.flush = causality, resilience, flush
        self.across = AcrossChecks()
        """What happened, in one sequence, to be judged across groups."""
        self.slow: dict[tuple[str, str], int] = {}
        """Additional delays, by source and destination."""
        self.on_delivery: Callable[[Node, GroupNumber], None] = lambda _node, _group: None
        """What applications do when something is delivered to them."""
        self.now_us = 0
        self.nodes: dict[ProcessId, Node] = {}
        self.events: dict[GroupNumber, list[Event]] = defaultdict(list)
        self.sent = 0
        self._letters = 0
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._channels: dict[tuple[ProcessId, ProcessId], deque[tuple[int, _Item]]] = {}
        self._cut: set[str] = set()
        self._held: list[tuple[ProcessId, ProcessId]] = []

    def start(self, names: str, groups: dict[int, str]) -> None:
        """Begin with processes of these names (letters), and groups of some of them."""
        ids = {name: ProcessId(name, 0) for name in names}
        for me in ids.values():
            self.nodes[me] = Node(self, me)
        for number, members in groups.items():
            group = GroupNumber(number)
            founders = tuple(ids[name].numbered(1) for name in members)
            view = View(GroupName(f"g{number}"), ViewNumber(1), founders)
            for name in members:
                self.nodes[ids[name]].found(group, view)

    def at(self, time_us: int, action: Callable[[], None]) -> None:
        """Do something at a time."""
        self._count += 1
        heappush(self._heap, (time_us, self._count, action))

    def send(self, source: ProcessId, to: ProcessId, item: _Item) -> None:
        """Send something over the one channel of a pair."""
        self.sent += 1
        channel = self._channels.setdefault((source, to), deque())
        due_us = self.now_us + 50 + int(self.random.expovariate(1.0) * 800)
        due_us += self.slow.get((source.name, to.name), 0)
        if channel:
            due_us = max(due_us, channel[-1][0])
        channel.append((due_us, item))
        self.at(due_us, partial(self._arrive, source, to))

    def _arrive(self, source: ProcessId, to: ProcessId) -> None:
        channel = self._channels[source, to]
        if (source.name in self._cut) != (to.name in self._cut):
            self._held.append((source, to))
        elif channel:
            _, item = channel.popleft()
            if to in self.nodes:
                self.nodes[to].give(item)

    def cut(self, names: str) -> None:
        """Part these processes from all others, and heal what was cut before."""
        self._cut = set(names)
        held, self._held = self._held, []
        for source, to in held:
            self.at(self.now_us, partial(self._arrive, source, to))

    def crash(self, name: str) -> None:
        """Kill a process: some of what it sent still arrives."""
        node = self.node(name)
        node.is_up = False
        self.across.crash(str(node.me))
        for rows in node.rows.values():
            rows.crash(self.now_us)
        for (source, _), channel in self._channels.items():
            if source == node.me:
                while channel and self.random.random() < 0.5:
                    channel.pop()

    def node(self, name: str) -> Node:
        """Return a process by its name."""
        return next(node for me, node in self.nodes.items() if me.name == name)

    def say(
        self, name: str, group: int, order: Order = Order.CAUSAL, *, uniform: bool = False
    ) -> None:
        """Multicast one message in one group."""
        self.node(name).say(GroupNumber(group), How(order, uniform))

    def write(self, name: str, group: int, to: str) -> None:
        """Send a letter to a member of a group."""
        node, number = self.node(name), GroupNumber(group)
        addressee = self.node(to).ids.get(number)
        if addressee is not None and to != name and number in node.views:
            self._letters += 1
            letter = on.LetterRequested(addressee, str(self._letters).encode())
            node.give((number, letter))

    def join(self, name: str, group: int, contact: str) -> None:
        """Let a process join a group through a member, which it asks until it is in."""
        node, number = self.node(name), GroupNumber(group)
        node.found(number, None)
        me = node.ids[number]

        def ask() -> None:
            if (
                node.is_up
                and node.ids[number] == me
                and number not in node.views
                and number not in node.ends
            ):
                node.give((number, on.JoinRequested(self.node(contact).ids[number])))
                self.at(self.now_us + 20_000, ask)

        ask()

    def leave(self, name: str, group: int) -> None:
        """Let a process leave one group."""
        self.node(name).give((GroupNumber(group), on.LeaveRequested()))

    def run(self, for_us: int) -> None:
        """Let time pass."""
        end_us = self.now_us + for_us
        while self._heap and self._heap[0][0] <= end_us:
            self.now_us, _, action = heappop(self._heap)
            action()
        self.now_us = end_us

    def judge(self) -> list[str]:
        """Return what the oracle finds wrong in any group."""
        found: list[str] = []
        for group, events in self.events.items():
            per: dict[str, int] = defaultdict(int)
            for node in self.nodes.values():
                if node.is_up and group in node.rows and group not in node.ends:
                    # Who is blocked for good may hold back what it will never deliver.
                    is_blocked = node.machine.endpoint(group).is_blocked
                    node.rows[group].stop(self.now_us, BLOCKED if is_blocked else QUIESCENT)
            for event in events:
                event.index = per[event.process]
                per[event.process] += 1
            verdict = judge(events, f"group {group}")
            found += [
                f"group {group}: {item.violations[0].text}"
                for item in verdict.properties
                if item.status is Status.VIOLATED
            ]
        return found

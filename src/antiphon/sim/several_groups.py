"""Worlds of processes in several groups each: for the process machine (``stack.process``).

Law: a world drives its processes by the contract and nothing else. Channels are FIFO and reliable,
one per pair of processes whatever the number of groups; delays come from the seed. A partition
holds messages back until it is healed. A crash loses some of what its victim had sent and nobody
had received. Each group's rows are kept apart, for the oracle to judge each group by itself. Where
the groups are one causality domain there is one trace (``one_trace``), which the oracle judges as a
whole, and all that happens is noted in one sequence besides, for a second judge across groups
(``across_checks``). Who is out of its groups stays out; who has left a group may join it again,
under the next number.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush
from random import Random

from antiphon.core.control import Beat
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber
from antiphon.core.runs import PORT_APPLICATION, Letter, Order, Run
from antiphon.core.views import View
from antiphon.membership.failure_detector import Timing
from antiphon.oracle import judge
from antiphon.ordering.structure import Structure
from antiphon.sim.across_checks import AcrossChecks
from antiphon.sim.held_up import asks_in_vain, held_up
from antiphon.sim.one_trace import BLOCKED, OneTrace
from antiphon.stack import effects as told
from antiphon.stack import inputs as on
from antiphon.stack.process import InGroup, OfProcess, Process
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings
from antiphon.trace.rows import Rows
from antiphon.trace.schema import LEFT, QUIESCENT, Event
from antiphon.trace.verdict import Property, Status, Verdict

_Item = tuple[GroupNumber, on.Input] | OfProcess

TIMING = Timing(heartbeat_us=10_000, timeout_us=100_000, timeout_us_max=400_000)


class Node:
    """One process, its rows by group, and what it has delivered."""

    def __init__(self, world: "SeveralGroups", me: ProcessId) -> None:
        """Begin in no group."""
        self.world, self.me = world, me
        self.machine = Process(me, world.timing, world.now_us)
        self.ids: dict[GroupNumber, ProcessId] = {}
        self.rows: dict[GroupNumber, Rows] = {}
        self.views: dict[GroupNumber, View] = {}
        self.ends: dict[GroupNumber, str] = {}
        self.delivered: dict[GroupNumber, list[tuple[str, int, int]]] = defaultdict(list)
        self.heard: list[str] = []
        """What its application was given, over all groups: p/2 is the second that p hands over."""
        self.expected: tuple[ProcessId, ...] = ()
        self.flushing: dict[int, None] = {}
        self.flushed: dict[int, int] = {}
        """When flushes ended, by number."""
        self.beats = self.said = 0
        self.is_up, self.is_paused = True, False
        self._arrived: list[_Item] = []
        self._letters: Counter[tuple[str, GroupNumber, str]] = Counter()
        self.timers: dict[on.Timer, int] = {}
        self.do(self.machine.start())

    def found(self, group: GroupNumber, view: View | None) -> None:
        """Open a group: in a founding view, or to join it."""
        before = self.ids.get(group)
        me = self.me.numbered(before.incarnation + 1 if before is not None else 1)
        if before is not None:
            self.do(self.machine.close(group))
        world = self.world
        settings = Settings(timing=world.timing, flush=world.flush)
        effects = self.machine.open(
            group, me, view, settings, world.now_us, name=world.names[group],
            causality=world.causality,
            resilience=world.resilience, structure=world.structure,
        )  # fmt: skip
        if before is not None:
            del self.ends[group]
            self.views.pop(group, None)
        self.ids[group] = me
        self.rows[group] = world.open_rows(group, me)
        self.do(effects, group)

    @property
    def is_blocked(self) -> bool:
        """Whether too few members of some group of its are left: that may hold up others."""
        machine = self.machine
        return any(
            machine.endpoint(one).is_blocked for one in machine.groups if one not in self.ends
        )

    def say(self, group: GroupNumber, how: How) -> None:
        """Multicast one message, which has the next number, whatever its group."""
        self.said += 1
        said = str(self.said).encode()
        self.give((group, on.MulticastRequested([said], how, len(said))))

    def give(self, happened: "_Item") -> None:
        """Give one input; do what comes of it."""
        if not self.is_up:
            return
        if self.is_paused:
            self._arrived.append(happened)
        elif isinstance(happened, tuple):
            group, given = happened
            if isinstance(given, on.RunsReceived):
                self._note_receipt(group, given)
            self.do(self.machine.step_in(group, given, self.world.now_us), group)
        else:
            self.do(self.machine.step(happened, self.world.now_us))

    def resume(self) -> None:
        """Go on after a pause: what has arrived meanwhile comes first."""
        self.is_paused = False
        arrived, self._arrived = self._arrived, []
        for happened in arrived:
            self.give(happened)

    def _note_receipt(self, group: GroupNumber, received: on.RunsReceived) -> None:
        """Note what arrives; of another view, or from another than its sender, it is not told."""
        view = self.views.get(group)
        if self.world.trace is None or view is None or received.is_relayed or group in self.ends:
            return
        for run in received.runs:
            if run.view == view.number:
                self.rows[group].run(self.world.now_us, "receive", run, self.depth(group))

    def depth(self, group: GroupNumber) -> int:
        """Return how many runs are held back, of whatever group."""
        return self.machine.endpoint(group).queue_depth

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
                self.beat(effect.to)
            elif isinstance(effect, told.ExpectPeers):
                self.expected = effect.processes
            elif isinstance(effect, told.EndFlush):
                self.end_flush(effect.number)
            elif group is not None:
                self.do_in_group(group, effect)

    def beat(self, others: tuple[ProcessId, ...]) -> None:
        """Be heard."""
        self.beats += len(others)
        for to in others:
            self.world.send(self.me, to, on.PeerHeard(self.me))

    def end_flush(self, number: int) -> None:
        """What was waited for is everywhere."""
        del self.flushing[number]
        self.flushed[number] = self.world.now_us
        self.world.across.end_flush(str(self.me), number)

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
                self.world.across.install(self.me.name, group, view.number, self.ids[group], view)
            case told.LeaveGroup(why):
                self.ends[group] = why
                self.world.close_rows(group, self.ids[group], rows, why)
            case _:
                self.carry(group, effect)

    def take(self, group: GroupNumber, run: Run) -> None:
        """A run, or a letter, is delivered."""
        world = self.world
        sender = str(self.machine.endpoint(group).sender_of(run))
        if type(run) is Letter:
            number = self._number("from", group, sender)
            self.rows[group].take_letter(world.now_us, sender, number)
            world.across.take(self.me.name, run.payloads[0])
        else:
            self.rows[group].run(world.now_us, "deliver", run, self.depth(group))
            self.delivered[group].append((sender, run.view, run.first))
            world.across.deliver(self.me.name, group, run, sender)
        if run.port == PORT_APPLICATION:
            name = sender.partition("~")[0]
            if type(run) is not Letter:
                self.heard += [f"{name}/{payload.decode()}" for payload in run.payloads]
            world.on_delivery(self, group)

    def carry(self, group: GroupNumber, effect: told.Effect) -> None:
        """Send what one group says to others."""
        me = self.ids[group]
        match effect:
            case told.SendControl(to, message):
                self.send(group, to, on.ControlReceived(me, message))
            case told.SendRun(run, alive):
                depth = self.depth(group)
                self.rows[group].run(self.world.now_us, "multicast", run, depth)
                self.world.across.multicast(self.me.name, group, run, str(me))
                members = self.views[group].members
                others = tuple(process for process in members if process != me)
                if alive is not None:
                    self.send(group, others, on.ControlReceived(me, alive))
                self.send(group, others, on.RunsReceived(me, [run]))
            case told.SendLetter(to, letter):
                number = self._number("to", group, str(to))
                self.rows[group].send_letter(self.world.now_us, str(to), number)
                self.world.across.send(self.me.name, letter.payloads[0], to.name)
                self.send(group, (to,), on.LetterReceived(me, letter))
            case told.RelayRuns(to, runs):
                self.send(group, to, on.RunsReceived(me, runs, is_relayed=True))
            case told.RejectPeer(peer, why):
                blamed = f"{me} rejects {peer}, and nobody lies here: {why}"
                raise AssertionError(blamed)
            case _:
                pass

    def _number(self, way: str, group: GroupNumber, other: str) -> int:
        """Return the number of the next letter to, or from, another process."""
        self._letters[way, group, other] += 1
        return self._letters[way, group, other]

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
        structure: Structure | None = None,
        timing: Timing = TIMING,
        delay_us: int = 800,
        distance_us: int = 0,
    ) -> None:
        """Begin with nobody; ``causality`` names the domain of all groups, if they share one.

        Group number n is called gn, in ``structure`` as well.
        """
        self.structure = structure
        self.random = Random(f"{seed}/several groups")
        self.causality, self.resilience, self.flush = causality, resilience, flush
        self.timing, self.delay_us, self.distance_us = timing, delay_us, distance_us
        self.trace = None if causality is None else OneTrace(causality, resilience)
        self.names: dict[GroupNumber, GroupName] = {}
        """What groups are called."""
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
        self._letters = self._flushes = 0
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._channels: dict[tuple[ProcessId, ProcessId], deque[tuple[int, _Item]]] = {}
        self._cut: set[str] = set()
        self._down: set[tuple[str, str]] = set()
        self._held: list[tuple[ProcessId, ProcessId]] = []

    def start(
        self,
        names: Iterable[str],
        groups: Mapping[int, Iterable[str]],
        called: Mapping[int, str] | None = None,
    ) -> None:
        """Begin with processes of these names, and groups of some of them, called g0, g1, ..."""
        ids = {name: ProcessId(name, 0) for name in names}
        for me in ids.values():
            self.nodes[me] = Node(self, me)
        for number, members in groups.items():
            group = GroupNumber(number)
            self.names[group] = GroupName((called or {}).get(number, f"g{number}"))
            founders = tuple(ids[name].numbered(1) for name in members)
            view = View(self.names[group], ViewNumber(1), founders)
            for founder in founders:
                self.nodes[ids[founder.name]].found(group, view)

    def open_rows(self, group: GroupNumber, me: ProcessId) -> Rows:
        """Return what takes the rows of a process in a group."""
        if self.trace is not None:
            return self.trace.open(me, self.names[group], self.now_us)
        rows = Rows(str(me), self.names[group], self.events[group].append)
        rows.start(self.now_us)
        return rows

    def close_rows(self, group: GroupNumber, me: ProcessId, rows: Rows, why: str) -> None:
        """Note that a process is out of a group."""
        if self.trace is not None:
            self.trace.leave(str(me), self.names[group], why)
        else:
            rows.stop(self.now_us, why or LEFT)

    def at(self, time_us: int, action: Callable[[], None]) -> None:
        """Do something at a time."""
        self._count += 1
        heappush(self._heap, (time_us, self._count, action))

    def send(self, source: ProcessId, to: ProcessId, item: _Item) -> None:
        """Send something over the one channel of a pair."""
        self.sent += 1
        channel = self._channels.setdefault((source, to), deque())
        due_us = self.now_us + 50 + int(self.random.expovariate(1.0) * self.delay_us)
        due_us += self.distance_us
        due_us += self.slow.get((source.name, to.name), 0)
        if channel:
            due_us = max(due_us, channel[-1][0])
        channel.append((due_us, item))
        self.at(due_us, partial(self._arrive, source, to))

    def _arrive(self, source: ProcessId, to: ProcessId) -> None:
        channel = self._channels[source, to]
        is_split = (source.name in self._cut) != (to.name in self._cut)
        if is_split or (source.name, to.name) in self._down:
            self._held.append((source, to))
        elif channel:
            _, item = channel.popleft()
            if to in self.nodes:
                self.nodes[to].give(item)

    def cut(self, names: Iterable[str]) -> None:
        """Part these processes from all others, and heal what was cut before."""
        self._cut = set(names)
        self._release()

    def take_down(self, source: str, to: str) -> None:
        """Let nothing pass from one process to one other: it is kept."""
        self._down.add((source, to))

    def take_up(self, *ways: tuple[str, str]) -> None:
        """Let everything pass again on these ways; on all, if none is named."""
        self._down = self._down.difference(ways) if ways else set()
        self._release()

    def _release(self) -> None:
        held, self._held = self._held, []
        for source, to in held:
            self.at(self.now_us, partial(self._arrive, source, to))

    def crash(self, name: str) -> None:
        """Kill a process: some of what it sent still arrives."""
        node = self.node(name)
        node.is_up = False
        self.across.crash(node.me.name)
        for group, rows in node.rows.items():
            if self.trace is not None:
                self.trace.crash(str(node.ids[group]), self.now_us)
            else:
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

    def flush_out(self, name: str, causality: str | None = None) -> int:
        """Have a process wait until what it has sent and delivered is everywhere."""
        self._flushes += 1
        node = self.node(name)
        if node.is_up and node.machine.groups:
            node.flushing[self._flushes] = None
            self.across.begin_flush(str(node.me), self._flushes)
            node.give(on.FlushRequested(self._flushes, causality))
        return self._flushes

    def unended_flush(self) -> str:
        """Say which flush has not ended, unless nobody is to blame (``held_up``)."""
        living = [node for node in self.nodes.values() if node.is_up]
        waiting = [node for node in living if not asks_in_vain(node, living)]
        unended = [f"{number} of {node.me}" for node in waiting for number in node.flushing]
        if unended and not any(node.is_blocked for node in living):
            return f"flush {unended[0]} has not ended"
        return ""

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

    def finish(self) -> list[Event]:
        """End the one trace of a domain; return its rows."""
        assert self.trace is not None, "groups that are no domain have a trace each"
        blocked = {
            str(me)
            for node in self.nodes.values()
            for group, me in node.ids.items()
            if node.is_up and group not in node.ends and node.machine.endpoint(group).is_blocked
        }
        if blocked and self.structure is not None and self.structure.excluded:
            # It enters no epoch, so gives no turn and no mark of one, and others wait for those.
            blocked = {str(me) for node in self.nodes.values() for me in node.ids.values()}
        blocked |= held_up(self.nodes.values())
        return self.trace.finish(self.now_us, blocked)

    def judge(self) -> list[str]:
        """Return what the oracle finds wrong: in any group, or in all as one domain."""
        if self.trace is not None:
            return self._broken(judge(self.finish()))
        found: list[str] = []
        for group, events in self.events.items():
            per: dict[str, int] = defaultdict(int)
            for node in self.nodes.values():
                if node.is_up and group in node.rows and group not in node.ends:
                    # Who is blocked for good may hold back what it will never deliver.
                    is_blocked = node.machine.endpoint(group).is_blocked or (
                        self.causality is not None and node.is_blocked
                    )
                    node.rows[group].stop(self.now_us, BLOCKED if is_blocked else QUIESCENT)
            for event in events:
                event.index = per[event.process]
                per[event.process] += 1
            verdict = judge(events, f"group {group}")
            found += [f"group {group}: {said}" for said in self._broken(verdict)]
        return found

    def _broken(self, verdict: Verdict) -> list[str]:
        """Say what is broken of what the flush promises: that of ISIS is not view-atomic."""
        broken = [item for item in verdict.properties if item.status is Status.VIOLATED]
        is_excused = self.flush != "view-atomic" and any(
            item.property is Property.VIEW_ATOMIC for item in broken
        )
        excused = (Property.VIEW_ATOMIC, Property.TOTAL) if is_excused else ()
        return [item.violations[0].text for item in broken if item.property not in excused]

"""Processes under an adversarial scheduler: channels are FIFO, and nothing else is kind.

Law: ``docs/machine.md`` and nothing else. One channel for each pair of processes, whatever their
groups, with no delays of its own: the scheduler says which channel moves next, by priorities that
it changes as it likes, and holds channels for as long as it likes. Whoever crashes loses the end of
what is in each of its channels.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from random import Random

from tests.adversary.judge import Judge

from antiphon.core.control import Beat
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber
from antiphon.core.runs import PORT_APPLICATION, Order, Run
from antiphon.core.views import View
from antiphon.membership.exclusions import Exclusions
from antiphon.membership.failure_detector import Timing
from antiphon.stack import effects as told
from antiphon.stack import inputs as on
from antiphon.stack.process import InGroup, OfProcess, Process
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings

Item = tuple[GroupNumber, on.Input] | on.PeerHeard
TIMING = Timing(heartbeat_us=10_000, timeout_us=100_000, timeout_us_max=400_000)


class Actor:
    """One incarnation of a process, with its driver."""

    def __init__(self, world: "AdversaryWorld", me: ProcessId, former: Exclusions) -> None:
        """Begin in no group."""
        self.world, self.me = world, me
        self.key = f"{me.name}.{me.boot}"
        self.former = former
        self.machine = Process(me, TIMING, world.now_us, former)
        self.ids: dict[GroupNumber, ProcessId] = {}
        self.views: dict[GroupNumber, View] = {}
        self.ends: dict[GroupNumber, told.LeaveGroup] = {}
        self.expected: set[ProcessId] = set()
        self.is_up = True
        self.rejected: list[str] = []
        self.inputs: deque[Item] = deque()
        self.todo: deque[Callable[[], None]] = deque()
        self.timers: dict[on.Timer, int] = {}
        self.do(self.machine.start(), None)

    def open(self, group: GroupNumber, incarnation: int, view: View | None) -> None:
        """Open a group: in a founding view, or to join it."""
        world = self.world
        if group in self.ids:
            self.do(self.machine.close(group), None)
        self.ends.pop(group, None)
        self.views.pop(group, None)
        me = self.ids[group] = self.me.numbered(incarnation)
        settings = Settings(timing=TIMING, flush=world.flush, token=world.token)
        effects = self.machine.open(
            group, me, view, settings, world.now_us, causality="d", resilience=world.resilience,
            domain=group if world.hands_on else None,
        )  # fmt: skip
        self.do(effects, group)
        self.settle()

    @property
    def going(self) -> list[GroupNumber]:
        """The groups that it is in."""
        return [group for group in self.views if group not in self.ends] if self.is_up else []

    # Inputs.

    def give(self, item: Item | OfProcess) -> None:
        """Give one input; do all that comes of it, and what the application does then."""
        if self.is_up:
            self._give(item)
            self.settle()

    def settle(self) -> None:
        """Let the application do what it wants to by now."""
        while self.todo and self.is_up:
            self.todo.popleft()()

    def _give(self, item: Item | OfProcess) -> None:
        now_us = self.world.now_us
        if not isinstance(item, tuple):
            self.do(self.machine.step(item, now_us), None)
            return
        group, happened = item
        if group not in self.machine.groups:
            return
        if (
            self.world.takes_short_way
            and group not in self.ends
            and isinstance(happened, on.RunsReceived)
            and not happened.is_relayed
            and len(happened.runs) == 1
            and self.machine.endpoint(group).receive(happened.peer, happened.runs[0])
        ):
            self.take(group, happened.runs[0])
            self.do(self.machine.step(on.PeerHeard(happened.peer.bare()), now_us), None)
            return
        self.do(self.machine.step_in(group, happened, now_us), group)

    # Effects.

    def do(self, effects: Sequence[InGroup | told.Effect], group: GroupNumber | None) -> None:
        """Do effects in order."""
        for effect in effects:
            if isinstance(effect, InGroup):
                self.do_in_group(effect.group, effect.what)
            elif self._do_of_process(effect):
                continue
            elif group is not None:
                self.do_in_group(group, effect)
            else:
                self.world.judge.complain(f"{effect} is nobody's")

    def _do_of_process(self, effect: told.Effect) -> bool:
        """Do what is of the process; return whether it is."""
        match effect:
            case told.SetTimer(timer, time_us):
                count = self.timers[timer] = self.timers.get(timer, 0) + 1
                self.world.set_timer(self, timer, time_us, count)
            case told.SendControl(to, Beat()):
                for peer in to:
                    self.world.send(self.me, peer.bare(), on.PeerHeard(self.me))
            case told.ExpectPeers(processes):
                self.expected = {who.bare() for who in processes}
            case told.GiveUpProcess() | told.RestoreProcess():
                pass
            case _:
                return False
        return True

    def do_in_group(self, group: GroupNumber, effect: told.Effect) -> None:
        """Do what one group says."""
        world, me = self.world, self.ids[group]
        match effect:
            case told.DeliverRuns(runs):
                for run in runs:
                    self.take(group, run)
            case told.InstallView(view):
                self.views[group] = view
                world.judge.install(self.key, me, group, view)
            case told.LeaveGroup():
                self._end(group, me, effect)
            case told.HandRequest(caller, number, payload) if number:
                answer = on.RequestAnswered(caller, number, payload)
                self.todo.append(lambda: self._give((group, answer)))
            case told.RejectPeer(peer, why):
                self.rejected.append(f"{peer}: {why}")
                world.reject(self, peer.bare(), why)
            case told.ProbeProcess(process):
                world.after(2_000, lambda: self._probe(group, process))
            case _:
                self._carry(group, effect)

    def _carry(self, group: GroupNumber, effect: told.Effect) -> None:
        """Send what one group says to others."""
        world, me = self.world, self.ids[group]
        match effect:
            case told.SendControl(to, message):
                self.send(group, to, on.ControlReceived(me, message))
            case told.SendRun(run, alive):
                world.judge.multicast(self.key, me, run)
                others = tuple(who for who in self.views[group].members if who != me)
                if alive is not None:
                    self.send(group, others, on.ControlReceived(me, alive))
                self.send(group, others, on.RunsReceived(me, [world.lie(self, run)]))
            case told.SendLetter(to, letter):
                world.judge.write(self.key, f"{to.name}.{to.boot}", letter)
                self.send(group, (to,), on.LetterReceived(me, letter))
            case told.RelayRuns(to, runs):
                self.send(group, to, on.RunsReceived(me, runs, is_relayed=True))
            case _:
                pass

    def _end(self, group: GroupNumber, me: ProcessId, end: told.LeaveGroup) -> None:
        """The group ends here; it is closed at once, or a little later."""
        world = self.world
        self.ends[group] = end
        world.judge.left.add((self.key, group))
        if end.why and not end.is_refused and not end.next_incarnation:
            world.judge.failed.add(self.key)
        world.after(world.random.choice((0, 0, 3_000)), lambda: self._close(group, me))

    def _close(self, group: GroupNumber, me: ProcessId) -> None:
        if self.is_up and self.ids.get(group) == me and group in self.machine.groups:
            self.do(self.machine.close(group), None)
            self.settle()

    def _probe(self, group: GroupNumber, process: ProcessId) -> None:
        """Ask whoever is where a process is, or was, how it stands."""
        other = self.world.actors.get(process.name)
        if other is None or not other.is_up or not self.world.probes or not self.is_up:
            return
        if self.world.is_cut(self.me, other.me) or group not in other.machine.groups:
            return
        if group not in self.machine.groups or group in self.ends:
            return
        latest = self.machine.endpoint(group).latest
        number = latest.number if latest is not None else 0
        has_channel = self.me in other.expected
        endpoint = other.machine.endpoint(group)
        said = endpoint.answer(self.ids[group], number, has_channel=has_channel)
        if has_channel:
            other.give((group, on.ProbeReceived(self.ids[group], number)))
        if said is not None:
            self.give((group, on.ProbeAnswered(other.ids[group], said)))

    def take(self, group: GroupNumber, run: Run) -> None:
        """Something is delivered."""
        if group in self.ends:
            self.world.judge.complain(f"{self.key} delivers {run} in {group}, which it has left")
        sender = self.machine.endpoint(group).sender_of(run)
        self.world.judge.deliver(self.key, run, sender)
        if run.port == PORT_APPLICATION:
            self.world.on_delivery(self, group, run)

    def send(self, group: GroupNumber, to: Sequence[ProcessId], received: on.Input) -> None:
        """Send something to some processes."""
        for process in to:
            self.world.send(self.me, process.bare(), (group, received))


class AdversaryWorld:
    """All processes, their channels, the clock, and what moves next."""

    def __init__(
        self, seed: int | str, *, resilience: int = 1, flush: str = "view-atomic",
        token: str = "follow",
    ) -> None:  # fmt: skip
        """Begin with nobody."""
        self.random = Random(f"{seed}/adversary")
        self.resilience, self.flush, self.token = resilience, flush, token
        self.judge = Judge(resilience, is_view_atomic=flush == "view-atomic")
        self.now_us = 0
        self.actors: dict[str, Actor] = {}
        self.everybody: list[Actor] = []
        self.channels: dict[tuple[ProcessId, ProcessId], deque[Item]] = {}
        self.held: dict[tuple[str, str], int] = {}
        """Until when channels are held, by the names of their ends."""
        self.priority: dict[tuple[ProcessId, ProcessId], float] = defaultdict(self.random.random)
        self.cut: list[set[str]] = []
        self.on_delivery: Callable[[Actor, GroupNumber, Run], None] = lambda *_: None
        self.lie: Callable[[Actor, Run], Run] = lambda _actor, run: run
        self.takes_short_way = self.probes = self.hands_on = False
        self.tags = 0
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    # Processes and groups.

    def start(self, names: str, groups: dict[int, str]) -> None:
        """Begin with processes of these names (letters), and groups of some of them."""
        for name in names:
            self.begin(name)
        for number, members in groups.items():
            self.found(number, members)

    def begin(self, name: str) -> Actor:
        """Begin a process, or its next incarnation."""
        before = self.actors.get(name)
        boot = before.me.boot + 1 if before is not None else 1
        former = before.former if before is not None else Exclusions()
        if before is not None:
            for group in before.machine.groups:
                before.machine.close(group)  # hands on who failed
            before.is_up = False
        actor = self.actors[name] = Actor(self, ProcessId(name, 0, boot), former)
        self.everybody.append(actor)
        return actor

    def found(self, number: int, members: str) -> None:
        """Found a group."""
        group = GroupNumber(number)
        ids = tuple(self.actors[name].me.numbered(1) for name in members)
        for name in members:
            self.actors[name].open(group, 1, View(GroupName(f"g{number}"), ViewNumber(1), ids))

    def join(self, name: str, number: int, contacts: str, incarnation: int = 0) -> None:
        """Let a process join a group, through whoever of these takes it in."""
        actor, group = self.actors[name], GroupNumber(number)
        before = actor.ids.get(group)
        wanted = incarnation or (before.incarnation + 1 if before is not None else 1)
        actor.open(group, wanted, None)
        self._ask(actor, group, actor.ids[group], contacts)

    def _ask(self, actor: Actor, group: GroupNumber, me: ProcessId, contacts: str) -> None:
        if not actor.is_up or actor.ids[group] != me or group in actor.views:
            return
        end = actor.ends.get(group)
        if end is not None:
            if end.next_incarnation and not actor.machine.is_over:
                self.after(
                    4_000, lambda: self._join_again(actor, group, contacts, end.next_incarnation)
                )
            return
        there = [self.actors[one] for one in contacts if group in self.actors[one].going]
        there = [one for one in there if one is not actor and not self.is_cut(actor.me, one.me)]
        if there:
            actor.give((group, on.JoinRequested(self.random.choice(there).ids[group])))
        self.after(20_000, lambda: self._ask(actor, group, me, contacts))

    def _join_again(self, actor: Actor, group: GroupNumber, contacts: str, number: int) -> None:
        is_out = actor.is_up and not actor.machine.is_over and group in actor.ends
        if is_out and actor is self.actors[actor.me.name]:
            self.join(actor.me.name, group, contacts, number)

    def leave(self, name: str, number: int) -> None:
        """Let a process leave one group."""
        self.actors[name].give((GroupNumber(number), on.LeaveRequested()))

    def crash(self, name: str, *, is_known: bool = False, loses: float = 0.5) -> None:
        """Kill a process: some of what it sent still arrives; others may be told of it for sure."""
        actor = self.actors[name]
        actor.is_up = False
        self.judge.failed.add(actor.key)
        for (source, _), channel in self.channels.items():
            if source == actor.me and self.random.random() < loses:
                for _ in range(self.random.randint(0, len(channel))):
                    channel.pop()
        if is_known:
            for other in self.actors.values():
                if actor.me in other.expected:
                    delay_us = self.random.choice((0, 5_000, 30_000))
                    self.after(delay_us, partial(self._lose, other, actor.me))

    def _lose(self, other: Actor, lost: ProcessId) -> None:
        """Nobody listens any more where the process was: all it had sent has come by now."""
        channel = self.channels.get((lost, other.me))
        if channel and other.is_up:
            self.after(1_000, lambda: self._lose(other, lost))
        else:
            other.give(on.PeerLost(lost))

    def reject(self, actor: Actor, peer: ProcessId, why: str) -> None:
        """A process rejects another one."""
        self.judge.complain(f"{actor.key} rejects {peer.name}: {why}")

    # The application.

    def say(
        self, name: str, number: int, order: Order = Order.CAUSAL, *, uniform: bool = False
    ) -> None:
        """Multicast one message."""
        actor = self.actors[name]
        payload = b"t%d" % self._tag(actor)
        asked = on.MulticastRequested([payload], How(order, uniform), len(payload))
        actor.give((GroupNumber(number), asked))

    def write(self, name: str, number: int, to: str) -> None:
        """Send a letter."""
        actor, group = self.actors[name], GroupNumber(number)
        addressee = self.actors[to].ids.get(group)
        if addressee is not None and to != name and group in actor.going:
            payload = b"t%d" % self._tag(actor)
            actor.give((group, on.LetterRequested(addressee, payload)))

    def _tag(self, actor: Actor) -> int:
        self.tags += 1
        self.judge.hand_over(actor.key, self.tags)
        return self.tags

    # Channels and time.

    def send(self, source: ProcessId, to: ProcessId, item: Item) -> None:
        """Send something over the one channel of a pair."""
        self.channels.setdefault((source, to), deque()).append(item)

    def is_cut(self, one: ProcessId, other: ProcessId) -> bool:
        """Whether two processes are parted."""
        return any((one.name in side) != (other.name in side) for side in self.cut)

    def hold(self, source: str, to: str, for_us: int) -> None:
        """Let nothing come over some channels for some time; each letter is a process."""
        for one in source:
            for other in to:
                self.held[one, other] = self.now_us + for_us

    def release(self) -> None:
        """Hold nothing any more."""
        self.held.clear()

    def empty(self, source: str, to: str) -> None:
        """Let all come that is in a channel, and nothing else."""
        key = self.actors[source].me, self.actors[to].me
        while self.channels[key]:
            self._move(*key)

    def after(self, delay_us: int, action: Callable[[], None]) -> None:
        """Do something later."""
        self._count += 1
        heappush(self._events, (self.now_us + delay_us, self._count, action))

    def set_timer(self, actor: Actor, timer: on.Timer, time_us: int, count: int) -> None:
        """Have a timer fire, unless it is set anew before."""

        def fire() -> None:
            if actor.is_up and actor.timers[timer] == count:
                actor.give(on.TimerFired(timer))

        self.after(max(time_us - self.now_us, 1), fire)

    def run(self, for_us: int) -> None:
        """Let time pass."""
        end_us = self.now_us + for_us
        while self.now_us < end_us:
            if self._events and self._events[0][0] <= self.now_us:
                heappop(self._events)[2]()
                continue
            key = self._next_channel()
            if key is not None:
                self.now_us += self.random.randint(1, 60)
                self._move(*key)
                continue
            times = [time for time in self.held.values() if time > self.now_us]
            times += [self._events[0][0]] if self._events else []
            self.now_us = min([end_us, *times])

    def _next_channel(self) -> tuple[ProcessId, ProcessId] | None:
        now_us = self.now_us
        able = [
            key
            for key, channel in self.channels.items()
            if channel
            and self.held.get((key[0].name, key[1].name), 0) <= now_us
            and not self.is_cut(*key)
        ]
        if not able:
            return None
        if self.random.random() < 0.02:
            self.priority[self.random.choice(able)] = self.random.random()
        return max(able, key=self.priority.__getitem__)

    def _move(self, source: ProcessId, to: ProcessId) -> None:
        item = self.channels[source, to].popleft()
        actor = self.actors[to.name]
        if actor.me == to:
            actor.give(item)

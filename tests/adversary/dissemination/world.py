"""Processes of one group with a protocol of its own, under a scheduler that is kind to nobody.

Law: ``docs/machine.md`` and nothing else. There is a reliable FIFO channel for each ordered pair of
processes; datagrams go another way, on which they are lost, repeated and overtaken. The scheduler
says which channel moves next, by priorities that it changes as it likes, and holds channels for as
long as it likes. Whoever crashes may lose the end of what is in each of its channels.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from random import Random

from tests.adversary.dissemination.judge import Judge

from antiphon.core.control import Alive, AnyMessage, Beat
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber
from antiphon.core.runs import PORT_APPLICATION, Letter, Order, Run
from antiphon.core.views import View
from antiphon.membership.effects import SendDatagram
from antiphon.membership.exclusions import Exclusions
from antiphon.membership.failure_detector import Timing
from antiphon.stack import effects as told
from antiphon.stack import inputs as on
from antiphon.stack.dissemination import GroupProtocol
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.process import InGroup, OfProcess, Process
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Limits, Settings
from antiphon.toolkit.calls import Wanted

Item = on.Input
Way = tuple[ProcessId, ProcessId]
TIMING = Timing(heartbeat_us=10_000, timeout_us=100_000, timeout_us_max=400_000)
GROUP = GroupNumber(1)
STARVED_US = 15_000
"""How long the scheduler lets a channel wait that nobody holds."""


class Actor:
    """One incarnation of a process, with its driver."""

    def __init__(
        self, world: "World", me: ProcessId, former: Exclusions, view: View | None
    ) -> None:
        """Begin in the founding view, or outside."""
        self.world, self.me, self.former = world, me, former
        self.key = f"{me.name}.{me.boot}"
        self.machine = Process(me.bare(), TIMING, world.now_us, former)
        self.view: View | None = None
        self.end: told.LeaveGroup | None = None
        self.expected, self.idle = set[ProcessId](), set[ProcessId]()
        self.is_up, self.asleep_until_us = True, 0
        self.timers: dict[on.Timer, int] = {}
        self.flushes: dict[int, tuple[int, int]] = {}
        self.calls: set[int] = set()
        self._todo: deque[Callable[[], None]] = deque()
        self._do(self.machine.start())
        settings = Settings(timing=TIMING, protocol=world.protocol, limits=world.limits)
        self._do(self.machine.open(GROUP, me, view, settings, world.now_us, domain=world.domain))
        self._settle()

    @property
    def is_in(self) -> bool:
        """Whether it is in the group."""
        return self.is_up and self.view is not None and self.end is None

    @property
    def endpoint(self) -> Endpoint:
        """Its part in the group, to look into."""
        return self.machine.endpoint(GROUP)

    def give(self, item: Item | OfProcess) -> None:
        """Give one input, and do all that comes of it."""
        if not self.is_up:
            return
        now_us = self.world.now_us
        if isinstance(
            item, on.PeerHeard | on.PeerLost | on.PeerFilled | on.TimerFired | on.FlushRequested
        ):
            self._do(self.machine.step(item, now_us))
        elif GROUP in self.machine.groups:
            self._do(self.machine.step_in(GROUP, item, now_us))
        self._settle()

    def later(self, action: Callable[[], None]) -> None:
        """The application does something when all that comes of this input is done."""
        self._todo.append(action)

    def _settle(self) -> None:
        while self._todo and self.is_up:
            self._todo.popleft()()

    # Effects.

    def _do(self, effects: Sequence[InGroup | told.Effect]) -> None:
        for effect in effects:
            self._do_one(effect.what if isinstance(effect, InGroup) else effect)

    def _do_one(self, effect: told.Effect) -> None:
        world = self.world
        match effect:
            case told.SetTimer(timer, time_us):
                count = self.timers[timer] = self.timers.get(timer, 0) + 1
                world.set_timer(self, timer, time_us, count)
            case told.ExpectPeers(all_, idle):
                self.expected, self.idle = {w.bare() for w in all_}, {w.bare() for w in idle}
            case told.RejectPeer(peer, why):
                world.reject(self, peer, why)
            case told.ProbeProcess(process):
                world.after(2_000, lambda: self._probe(process))
            case told.InstallView(view):
                is_member = self.me in view.members
                world.judge.install(self.key, view, is_member=is_member)
                self.view = view if is_member else self.view
            case told.LeaveGroup():
                self._leave(effect)
            case _:
                self._tell(effect)

    def _tell(self, effect: told.Effect) -> None:
        """Tell the application what one effect says, if it is for that."""
        match effect:
            case told.DeliverRuns(runs):
                for run in runs:
                    self._take(run)
            case told.HandRequest(caller, number, payload) if number:
                answer = on.RequestAnswered(caller, number, payload)
                self.later(lambda: self.give(answer))
            case told.ConcludeCall(number):
                self.calls.discard(number)
            case told.EndFlush(number):
                self.world.look_at_flush(self, number)
            case _:
                self._carry(effect)

    def _leave(self, end: told.LeaveGroup) -> None:
        self.end = end
        if end.why:
            self.world.judge.failed.add(self.key)
        self.world.after(self.world.random.choice((0, 0, 3_000)), self._close)

    def _control(self, to: Sequence[ProcessId], message: AnyMessage) -> None:
        if isinstance(message, Beat):
            self._send(to, on.PeerHeard(self.me.bare()))
            return
        if isinstance(message, Alive):
            self.world.judge.claim_stable(self.key, message.number, message.stable)
        self._send(to, on.ControlReceived(self.me, message))

    def _carry(self, effect: told.Effect) -> None:
        """Send what one effect says."""
        world, me = self.world, self.me
        others = tuple(who for who in self._members if who != me)
        match effect:
            case told.SendControl(to, message):
                self._control(to, message)
            case told.SendRun(run, alive):
                if alive is not None:
                    self._control(others, alive)
                self._note(run)
                self._send(others if effect.to is None else effect.to, on.RunsReceived(me, [run]))
            case told.SendLetter(to, letter):
                world.judge.write(self.key, f"{to.name}.{to.boot}", letter)
                self._send((to,), on.LetterReceived(me, letter))
            case told.RelayRuns(to, runs):
                world.relayed += len(runs)
                self._send(to, on.RunsReceived(me, runs, is_relayed=True))
            case SendDatagram(data, run):
                self._lob(others, data, run)
            case _:
                pass

    def _lob(self, to: Sequence[ProcessId], data: bytes, run: Run | None) -> None:
        if run is not None:
            self._note(run)
        for who in to:
            received = on.DatagramsReceived([(self.me, data)])
            self.world.lob(self.me.bare(), who.bare(), received)

    @property
    def _members(self) -> tuple[ProcessId, ...]:
        return self.view.members if self.view is not None else ()

    def _note(self, run: Run) -> None:
        is_fifo = run.order is Order.FIFO
        self.world.judge.multicast(self.key, run.view, run.first, run.payloads, is_fifo=is_fifo)

    def _send(self, to: Sequence[ProcessId], received: Item) -> None:
        for who in to:
            assert who.bare() not in self.idle, f"{self.key} sends to {who}, which is idle"
            self.world.send(self.me.bare(), who.bare(), received)

    def _take(self, run: Run) -> None:
        judge = self.world.judge
        if self.end is not None:
            judge.complain(f"{self.key} delivers {run}, and is out")
        sender = self.endpoint.sender_of(run)
        if isinstance(run, Letter):
            judge.read(self.key, run)
        else:
            judge.deliver(
                self.key, run.view, f"{sender.name}.{sender.boot}", run.first, run.payloads
            )
        if run.port == PORT_APPLICATION:
            self.world.on_delivery(self)

    def _close(self) -> None:
        if self.is_up and GROUP in self.machine.groups:
            self._do(self.machine.close(GROUP))

    def _probe(self, process: ProcessId) -> None:
        world = self.world
        other = world.actors.get(process.name)
        if other is None or not other.is_up or not self.is_up or world.is_cut(self.me, other.me):
            return
        if GROUP not in other.machine.groups or GROUP not in self.machine.groups or self.end:
            return
        latest = self.endpoint.latest
        number = latest.number if latest is not None else 0
        has_channel = self.me.bare() in other.expected
        said = other.endpoint.answer(self.me, number, has_channel=has_channel)
        if has_channel:
            other.give(on.ProbeReceived(self.me, number))
        if said is not None:
            self.give(on.ProbeAnswered(other.me, said))


class World:
    """All processes, their channels, the clock, and what moves next."""

    def __init__(
        self, seed: int | str, protocol: GroupProtocol | None, limits: Limits | None = None
    ) -> None:  # fmt: skip
        """Begin with nobody."""
        self.random = Random(f"{seed}/dissemination")
        self.protocol = protocol
        self.limits = limits if limits is not None else Limits()
        self.judge = Judge()
        self.now_us = 0
        self.domain: int | None = None
        self.actors: dict[str, Actor] = {}
        self.everybody: list[Actor] = []
        self.channels: dict[Way, deque[Item]] = {}
        self.waits: dict[Way, int] = {}
        """Since when something waits in a channel that has not moved."""
        self.air: dict[Way, list[Item]] = {}
        self.loss = self.repeat = 0.0
        self.held: dict[tuple[str, str], int] = {}
        self.priority: dict[Way, float] = defaultdict(self.random.random)
        self.cut: list[set[str]] = []
        self.on_delivery: Callable[[Actor], None] = lambda _: None
        self.relayed = self.tags = 0
        self.handed: dict[str, list[bytes]] = defaultdict(list)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    # Processes.

    def found(self, names: str) -> None:
        """Found the group, of processes with these names (letters)."""
        ids = tuple(ProcessId(name, 1, 1) for name in names)
        view = View(GroupName("g"), ViewNumber(1), ids)
        for me in ids:
            self._begin(Actor(self, me, Exclusions(), view))

    def _begin(self, actor: Actor) -> Actor:
        self.actors[actor.me.name] = actor
        self.everybody.append(actor)
        return actor

    def join(self, name: str) -> None:
        """Let a process join, for the first time or as its next incarnation."""
        before = self.actors.get(name)
        number = boot = 1
        former = Exclusions()
        if before is not None:
            if before.is_up and GROUP in before.machine.groups:
                before.machine.close(GROUP)
            before.is_up = False
            number, boot, former = before.me.incarnation + 1, before.me.boot + 1, before.former
            self.judge.failed.add(before.key)
            self.judge.suspects.add(before.key)
        actor = self._begin(Actor(self, ProcessId(name, number, boot), former, None))
        self._ask(actor)

    def _ask(self, actor: Actor) -> None:
        if not actor.is_up or actor.view is not None or self.actors[actor.me.name] is not actor:
            return
        if actor.end is not None:
            return
        there = [one for one in self.actors.values() if one.is_in and one is not actor]
        if there:
            actor.give(on.JoinRequested(self.random.choice(there).me))
        self.after(20_000, lambda: self._ask(actor))

    def crash(self, name: str, *, loses: float = 0.5, is_known: bool = False) -> None:
        """Kill a process: some of what it sent still arrives."""
        actor = self.actors[name]
        actor.is_up = False
        self.judge.failed.add(actor.key)
        self.judge.suspects.add(actor.key)
        self._lose_ends(name, loses)
        if is_known:
            for other in self.actors.values():
                if actor.me.bare() in other.expected:
                    self.after(
                        self.random.choice((0, 5_000, 30_000)), partial(self._lose, other, actor)
                    )

    def _lose_ends(self, name: str, share: float) -> None:
        """Lose the end of what somebody has sent, on some channels, and some of its datagrams."""
        for (source, _), channel in self.channels.items():
            if source.name == name and self.random.random() < share:
                for _ in range(self.random.randint(0, len(channel))):
                    channel.pop()
        for (source, _), flying in self.air.items():
            if source.name == name:
                flying[:] = [one for one in flying if self.random.random() > share]

    def _lose(self, other: Actor, lost: Actor) -> None:
        if self.channels.get((lost.me.bare(), other.me.bare())) and other.is_up:
            self.after(1_000, lambda: self._lose(other, lost))
        else:
            other.give(on.PeerLost(lost.me.bare()))

    def suspect(self, name: str, other: str) -> None:
        """``name`` takes ``other`` for dead for certain, and it is not."""
        one, two = self.actors[name], self.actors[other]
        if one is not two and one.is_in and two.is_up and two.me.bare() in one.expected:
            self.judge.suspects |= {two.key, one.key}
            one.give(on.PeerLost(two.me.bare()))

    def part(self, *sides: set[str]) -> None:
        """Cut the network; it may be long enough for anybody to be excluded."""
        self.cut = list(sides)
        if sides:
            self.judge.suspects |= {one.key for one in self.everybody}

    def sleep(self, name: str, for_us: int) -> None:
        """A process does nothing for some time."""
        actor = self.actors[name]
        actor.asleep_until_us = self.now_us + for_us
        if for_us > TIMING.timeout_us // 2:
            self.judge.suspects |= {one.key for one in self.everybody}

    def reject(self, actor: Actor, peer: ProcessId, why: str) -> None:
        """A process rejects another one."""
        self.judge.complain(f"{actor.key} rejects {peer}: {why}")

    # The application.

    def say(self, name: str, count: int = 1, order: Order = Order.CAUSAL, size: int = 0) -> None:
        """Multicast some messages."""
        payloads = [self.tag() + b"." * size for _ in range(count)]
        actor = self.actors[name]
        self.handed[actor.key] += payloads
        actor.give(on.MulticastRequested(payloads, How(order), sum(map(len, payloads))))

    def write(self, name: str, to: str) -> None:
        """Send a letter."""
        if name != to and self.actors[name].is_in and self.actors[to].view is not None:
            self.actors[name].give(on.LetterRequested(self.actors[to].me, self.tag()))

    def call(self, name: str) -> None:
        """Call all others."""
        self.tags += 1
        actor = self.actors[name]
        actor.calls.add(self.tags)
        wanted = self.random.choice((Wanted.ALL, Wanted.MAJORITY))
        actor.give(on.CallRequested(self.tags, b"call", wanted, None, Order.CAUSAL))

    def flush(self, name: str) -> None:
        """Wait until all is everywhere."""
        actor = self.actors[name]
        self.tags += 1
        assert actor.view is not None
        actor.flushes[self.tags] = actor.view.number, self.judge.knows[actor.key]
        actor.give(on.FlushRequested(self.tags))

    def look_at_flush(self, actor: Actor, number: int) -> None:
        """A flush has ended: all that was known is wherever its view still is."""
        view, known = actor.flushes.pop(number)
        for other in self.actors.values():
            if not (other.is_in and actor.is_in) or other.view is None or other.view.number != view:
                continue
            latest = actor.endpoint.latest
            if latest is not None and other.me in latest.members:  # who is out need not have it
                missing = [
                    one.name
                    for bit, one in enumerate(self.judge.sent)
                    if known
                    & ~self.judge.done[other.key]
                    & self.judge._relevant[other.key]
                    & 1 << bit
                    and not one.to
                ]
                if missing:
                    self.judge.complain(
                        f"flush: {actor.key} thinks that {other.key} has {missing[0]}"
                    )

    def tag(self) -> bytes:
        """Return a payload that nobody else has."""
        self.tags += 1
        return b"t%d" % self.tags

    # Channels and time.

    def send(self, source: ProcessId, to: ProcessId, item: Item) -> None:
        """Send something over the one channel of a pair."""
        self.channels.setdefault((source, to), deque()).append(item)
        self.waits.setdefault((source, to), self.now_us)

    def lob(self, source: ProcessId, to: ProcessId, item: Item) -> None:
        """Send a datagram: it may be lost, or come twice, and overtake others."""
        if self.random.random() >= self.loss:
            copies = 1 + (self.random.random() < self.repeat)
            self.air.setdefault((source, to), []).extend([item] * copies)

    def is_cut(self, one: ProcessId, other: ProcessId) -> bool:
        """Whether two processes are parted."""
        return any((one.name in side) != (other.name in side) for side in self.cut)

    def hold(self, source: str, to: str, for_us: int) -> None:
        """Let nothing come over a channel for some time."""
        self.held[source, to] = self.now_us + for_us

    def after(self, delay_us: int, action: Callable[[], None]) -> None:
        """Do something later."""
        self._count += 1
        heappush(self._events, (self.now_us + delay_us, self._count, action))

    def set_timer(self, actor: Actor, timer: on.Timer, time_us: int, count: int) -> None:
        """Have a timer fire, unless it is set anew before."""

        def fire() -> None:
            if not actor.is_up or actor.timers[timer] != count:
                return
            if actor.asleep_until_us > self.now_us:
                self.after(actor.asleep_until_us - self.now_us + 1, fire)
            else:
                actor.give(on.TimerFired(timer))

        self.after(max(time_us - self.now_us, 1), fire)

    def run(self, for_us: int) -> None:
        """Let time pass."""
        end_us = self.now_us + for_us
        while self.now_us < end_us:
            if self._events and self._events[0][0] <= self.now_us:
                heappop(self._events)[2]()
                continue
            key = self._next()
            if key is not None:
                self.now_us += self.random.randint(1, 40)
                is_starved = self.waits.get(key, self.now_us) < self.now_us - STARVED_US
                self._move(key)
                while is_starved and self.channels.get(key):
                    self._move(key)
                continue
            times = [time for time in self.held.values() if time > self.now_us]
            times += [one.asleep_until_us for one in self.actors.values()]
            times += [self._events[0][0]] if self._events else []
            self.now_us = min([end_us, *(time for time in times if time > self.now_us)])

    def _next(self) -> Way | None:
        now_us, held = self.now_us, self.held
        able = [
            key
            for ways in (self.channels, self.air)
            for key, channel in ways.items()
            if channel
            and held.get((key[0].name, key[1].name), 0) <= now_us
            and not self.is_cut(*key)
            and self.actors[key[1].name].asleep_until_us <= now_us
        ]
        if not able:
            return None
        if self.random.random() < 0.05:
            self.priority[self.random.choice(able)] = self.random.random()
        longest = min(able, key=lambda key: self.waits.get(key, now_us))
        if self.waits.get(longest, now_us) < now_us - STARVED_US:  # nobody is to seem dead
            return longest
        return max(able, key=self.priority.__getitem__)

    def _move(self, key: Way) -> None:
        channel, air = self.channels.get(key), self.air.get(key)
        if air and (not channel or self.random.random() < 0.5):
            item = air.pop(self.random.randrange(len(air)))
        else:
            assert channel, "something is there"
            item = channel.popleft()
            self.waits[key] = self.now_us
            if not channel:
                self.waits.pop(key, None)
        actor = self.actors[key[1].name]
        if actor.me.bare() == key[1]:
            actor.give(item)

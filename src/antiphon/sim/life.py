"""One life of a simulated process: it drives its machines as a node does on the network.

Law: a life hands its machines one input at a time and does what they return, in order. While it
is paused it does nothing, and what arrives waits. Its application multicasts what the scenario
says, answers some of what it delivers, and keeps a replica of everything delivered.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from antiphon.core.control import AnyMessage, StateChunk, StateTaken
from antiphon.core.ids import GroupName, ProcessId
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.membership import effects as membership
from antiphon.membership.effects import (
    BlockGroup,
    DeliverRuns,
    InstallView,
    LeaveGroup,
    RelayRuns,
    ResumeGroup,
    SendControl,
    SendRun,
    SuspectProcess,
)
from antiphon.sim.channels import Channels
from antiphon.sim.replica import Replica
from antiphon.sim.scheduler import Scheduler
from antiphon.stack.member import Member
from antiphon.toolkit import state_transfer
from antiphon.toolkit.state_transfer import (
    ExpectState,
    LoadChunk,
    SaveState,
    SendState,
    StateTransfer,
)
from antiphon.trace.rows import Rows
from antiphon.trace.schema import LEFT, Event

GROUP = GroupName("g")
_THOUGHT_US = 2_000
_LOAD_US = 4_000
_LATER_US = 1_000


@dataclass(slots=True)
class Copied:
    """A run that a relay sends."""

    run: Run


Item = Run | Copied | AnyMessage
Effects = list[membership.Effect]


class Surroundings:
    """What all lives of a world share."""

    def __init__(self, scheduler: Scheduler, channels: Channels, messages: int) -> None:
        """Allow so many messages to be multicast in all."""
        self.scheduler = scheduler
        self.channels = channels
        self.messages_left = messages
        self.answers = 0.0
        self.heartbeat_us = 0
        self.views: dict[int, View] = {}
        """The views installed, by number."""
        self.on_end: Callable[[Life, str], None] = lambda _life, _why: None


class Life:
    """A process from its start to its crash, exclusion, leave, or the end of the world."""

    def __init__(
        self, machine: Member, around: Surroundings, seed: int, *, is_founder: bool
    ) -> None:
        """Begin to live."""
        self.machine = machine
        self._around = around
        self.transfer = StateTransfer(machine.me, has_state=is_founder)
        self.replica = Replica(has_state=is_founder)
        self.events: list[Event] = []
        self.rows = Rows(str(machine.me), GROUP, self._append)
        self.random = Random(f"{seed}/{machine.me}/life")
        self.is_up = True
        self.is_leaving = False
        self.is_paused = False
        self.pending = 0
        """Messages that wait for the group to be in a view."""
        self.view: View | None = None
        self._inbox: deque[tuple[ProcessId, Item]] = deque()
        self.rows.start(self.now_us)
        self.do(machine.take_effects())
        # Not in step with each other: timers that fire together hide races.
        self._later(1 + int(self.random.random() * around.heartbeat_us), self._tick)

    def _append(self, event: Event) -> None:
        event.index = len(self.events)
        self.events.append(event)

    @property
    def now_us(self) -> int:
        """Simulated time."""
        return self._around.scheduler.now_us

    def _later(self, delay_us: int, action: Callable[[], None]) -> None:
        self._around.scheduler.at(self.now_us + delay_us, lambda _: action(), None)

    # What the world does to it.

    def act(self, action: Callable[[], Effects]) -> None:
        """Let it do something; if it is paused, it does so when it goes on."""
        if self.is_up and self.is_paused:
            self._later(_LATER_US, lambda: self.act(action))
        elif self.is_up:
            self.do(action())

    def say(self, count: int) -> None:
        """Multicast ``count`` messages, as soon as the group lets it."""
        count = min(count, self._around.messages_left)
        self._around.messages_left -= count
        self.pending += count
        self._multicast()

    def resume(self) -> None:
        """Go on after a pause: first take what has arrived."""
        self.is_paused = False
        while self._inbox and self.is_up and not self.is_paused:
            self._take(*self._inbox.popleft())

    def arrive(self, source: ProcessId, item: Item) -> None:
        """Something arrives."""
        if self.is_paused:
            self._inbox.append((source, item))
        elif self.is_up:
            self._take(source, item)

    # What it does by itself.

    def _tick(self) -> None:
        if not self.is_up:
            return
        if not self.is_paused:
            self.do(self.machine.tick(self.now_us))
            self._multicast()
        self._later(self._around.heartbeat_us, self._tick)

    def _multicast(self) -> None:
        if self.pending and self.is_up and not self.is_paused and self.machine.may_multicast:
            payloads, self.pending = [b""] * self.pending, 0
            self.do(self.machine.multicast(payloads, Order.CAUSAL, self.now_us))

    def _take(self, source: ProcessId, item: Item) -> None:
        machine, now_us = self.machine, self.now_us
        if isinstance(item, Run):
            delivered = machine.receive(source, item)
            if delivered is None:
                self.do(machine.take_run(source, item, now_us))
            else:
                machine.hear(source, now_us)
                self._deliver(delivered)
        elif isinstance(item, StateChunk | StateTaken):
            machine.hear(source, now_us)
            self._do_transfer(self.transfer.receive(source, item))
        elif isinstance(item, Copied):
            self.do(machine.take_run(source, item.run, now_us, relayed=True))
        else:
            self.do(machine.take_control(source, item, now_us))
        self._multicast()

    # Effects.

    def do(self, effects: Effects) -> None:
        """Do what a machine returned, in order."""
        for effect in effects:
            match effect:
                case SendRun():
                    self._send_run(effect)
                case SendControl(to, message):
                    self._send(to, message)
                case RelayRuns(to, runs):
                    for run in runs:
                        self._send(to, Copied(run))
                case DeliverRuns(runs):
                    self._deliver(runs)
                case InstallView(view):
                    self._enter(view)
                case _:
                    self._note(effect)

    def _send(self, to: tuple[ProcessId, ...], item: Item) -> None:
        for process in to:
            self._around.channels.send(self.machine.me, process, item)

    def _send_run(self, effect: SendRun) -> None:
        self.rows.run(self.now_us, "multicast", effect.run, 0)
        assert self.view is not None, "only members multicast"
        others = tuple(member for member in self.view.members if member != self.machine.me)
        if effect.alive is not None:
            self._send(others, effect.alive)
        self._send(others, effect.run)

    def _deliver(self, runs: list[Run]) -> None:
        assert self.view is not None, "only members deliver"
        for run in runs:
            self.rows.run(self.now_us, "deliver", run, 0)
            self.replica.deliver(run)
            if self.view.members[run.sender] != self.machine.me:
                self._answer()

    def _answer(self) -> None:
        around = self._around
        if around.messages_left and self.random.random() < around.answers:
            self._later(int(self.random.random() * _THOUGHT_US), lambda: self.say(1))

    def _enter(self, view: View) -> None:
        self.view = view
        self.rows.view(self.now_us, view)
        self._around.views.setdefault(view.number, view)
        if self.machine.me in view.members:
            self.replica.enter(view.number)
            self._do_transfer(self.transfer.enter(view))

    def _note(self, effect: membership.Effect) -> None:
        match effect:
            case SuspectProcess(process):
                self.rows.suspect(self.now_us, str(process), "")
            case BlockGroup(reachable):
                self.rows.block(self.now_us, " ".join(map(str, reachable)))
            case ResumeGroup():
                self.rows.resume(self.now_us)
            case LeaveGroup(why):
                self.is_up = False
                self.rows.stop(self.now_us, why or LEFT)
                self._around.on_end(self, why)
            case _:
                pass

    # State transfer.

    def _do_transfer(self, effects: list[state_transfer.Effect]) -> None:
        for effect in effects:
            match effect:
                case SendState(to, message):
                    self._send((to,), message)
                case SaveState(number):
                    self._do_transfer(self.transfer.give(number, self.replica.save()))
                case ExpectState(number):
                    self.replica.expect(number)
                case LoadChunk():
                    delay_us = int(self.random.random() * _LOAD_US)
                    self._later(delay_us, partial(self._load, effect))
                case _:  # the state is lost: the world ends unequal, and hopeless or stuck
                    pass

    def _load(self, chunk: LoadChunk) -> None:
        if self.is_paused:
            self._later(_LATER_US, lambda: self._load(chunk))
        elif self.is_up:
            self.replica.load(chunk.number, chunk.data)
            self._do_transfer(self.transfer.took(chunk.number))
            if self.transfer.has_state and not self.replica.has_state:
                self.replica.finish()
                self.do(self.machine.gain_state(self.now_us))

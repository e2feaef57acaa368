"""One life of a simulated process: it drives its machines as a node does on the network.

Law: a life hands its machines one input at a time and does what they return, in order. While it
is paused it does nothing, and what arrives waits. Its application multicasts what the scenario
says, answers some of what it delivers, and keeps a replica of everything delivered.
"""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import NamedTuple

from antiphon.core.control import AnyMessage, StateChunk, StateTaken
from antiphon.core.ids import GroupName, ProcessId
from antiphon.core.runs import PORT_APPLICATION, PORT_CALLS, PORT_COMMIT, Letter, Order, Run
from antiphon.core.views import View
from antiphon.membership import effects as membership
from antiphon.membership.effects import (
    BlockGroup,
    DeliverRuns,
    InstallView,
    LeaveGroup,
    ProbeProcess,
    RelayRuns,
    RestoreProcess,
    ResumeGroup,
    SendControl,
    SendLetter,
    SendRun,
    SuspectProcess,
)
from antiphon.sim.channels import Channels
from antiphon.sim.replica import Replica
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.transactions import Transactions
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
_PAY_US = 600
"""Lists and confirmations are put off for up to so long, to serve several messages at once."""


class How(NamedTuple):
    """The way in which a message is multicast."""

    order: Order
    uniform: bool = False


WAYS: dict[str, tuple[tuple[How, int], ...]] = {
    "causal": ((How(Order.CAUSAL), 1),),
    "ordered": ((How(Order.FIFO), 2), (How(Order.CAUSAL), 6), (How(Order.TOTAL), 8)),
    "mixed": (
        (How(Order.FIFO), 2),
        (How(Order.CAUSAL), 8),
        (How(Order.TOTAL), 9),
        (How(Order.FIFO, uniform=True), 1),
        (How(Order.CAUSAL, uniform=True), 5),
        (How(Order.TOTAL, uniform=True), 6),
    ),
}
"""How messages are multicast in a world, and how often: by the name of the mixture."""

_LETTERS = 0.15
"""How often an answer is a letter, where there are letters."""

_TRANSACTIONS = 0.15
"""How often an answer begins a transaction, where there are transactions."""


@dataclass(slots=True)
class Words:
    """Messages that wait to be multicast."""

    how: How
    count: int


@dataclass(slots=True)
class Statement:
    """A message about a transaction that waits to be multicast."""

    payload: bytes
    is_uniform: bool


@dataclass(slots=True)
class Note:
    """A letter that waits to be sent."""

    to: str


@dataclass(slots=True)
class Copied:
    """A run that a relay sends."""

    run: Run


Item = Run | Letter | Copied | AnyMessage
Effects = list[membership.Effect]


class Surroundings:
    """What all lives of a world share."""

    def __init__(self, scheduler: Scheduler, channels: Channels, messages: int) -> None:
        """Allow so many messages to be multicast in all."""
        self.scheduler = scheduler
        self.channels = channels
        self.messages_left = messages
        self.answers = 0.0
        self.ways = WAYS["causal"]
        self.has_letters = False
        self.has_transactions = False
        self.heartbeat_us = 0
        self.views: dict[int, View] = {}
        """The views installed, by number."""
        self.on_end: Callable[[Life, LeaveGroup], None] = lambda _life, _effect: None
        self.on_probe: Callable[[Life, ProcessId], None] = lambda _life, _process: None


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
        self.pending: deque[Words | Statement | Note] = deque()
        """What waits for the group to be in a view, or for a letter to be acknowledged."""
        self._is_paying = False
        self._letters: Counter[tuple[str, str]] = (
            Counter()
        )  # sent and taken, by whom they are to or from
        self.view: View | None = None
        self.transactions = Transactions(
            machine.me, self.rows, self.random, self._state, self._act_later
        )
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

    def _act_later(self, delay_us: int, action: Callable[[], None]) -> None:
        """Do something after a while, if it lives then and as soon as it is not paused."""
        self._later(delay_us, partial(self._act, action))

    def _act(self, action: Callable[[], None]) -> None:
        if self.is_paused:
            self._later(_LATER_US, partial(self._act, action))
        elif self.is_up:
            self.transactions.now_us = self.now_us
            action()

    # What the world does to it.

    def act(self, action: Callable[[], Effects]) -> None:
        """Let it do something; if it is paused, it does so when it goes on."""
        if self.is_up and self.is_paused:
            self._later(_LATER_US, lambda: self.act(action))
        elif self.is_up:
            self.do(action())

    def say(self, count: int, how: How | None = None) -> None:
        """Multicast ``count`` messages, as soon as the group lets it."""
        count = min(count, self._around.messages_left)
        self._around.messages_left -= count
        chosen = how if how is not None else self._choose()
        last = self.pending[-1] if self.pending else None
        if isinstance(last, Words) and last.how == chosen:
            last.count += count
        elif count:
            self.pending.append(Words(chosen, count))
        self._go_on()

    def _choose(self) -> How:
        ways = self._around.ways
        if len(ways) == 1:
            return ways[0][0]
        return self.random.choices([how for how, _ in ways], [often for _, often in ways])[0]

    def begin(self) -> None:
        """Begin a transaction, as soon as the group lets it."""
        if self._around.messages_left:
            self._around.messages_left -= 1
            self._act(lambda: self.transactions.begin(self.now_us))

    def _state(self, payload: bytes, is_uniform: bool) -> None:  # noqa: FBT001 - a callback
        self.pending.append(Statement(payload, is_uniform))
        self._act_later(0, self._go_on)

    def write(self, to: str) -> None:
        """Send a letter, as soon as the group lets it."""
        if self._around.messages_left:
            self._around.messages_left -= 1
            self.pending.append(Note(to))
            self._go_on()

    def resume(self) -> None:
        """Go on after a pause: first take what has arrived."""
        self.is_paused = False
        while self._inbox and self.is_up and not self.is_paused:
            self._take(*self._inbox.popleft())
        self._go_on()

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
            if self._around.has_transactions:
                self.transactions.tick(self.now_us)
            self._go_on()
        self._later(self._around.heartbeat_us, self._tick)

    def _go_on(self) -> None:
        """Send what waits and may go out now; see to it that others need not wait."""
        while self.pending and self.is_up and not self.is_paused:
            if not self._send_next(self.pending[0]):
                self.do(self.machine.hurry())
                break
            self.pending.popleft()
        is_due = self.machine.is_due or bool(self.machine.letters.owed)
        if self.is_up and not self._is_paying and is_due:
            self._is_paying = True
            self._later(int(self.random.random() * _PAY_US), self._pay)

    def _send_next(self, item: Words | Statement | Note) -> bool:
        """Send something; return whether it could go out, or never can."""
        machine = self.machine
        if isinstance(item, Note):
            return self._send_letter(item)
        if not machine.may_multicast:
            return False
        if isinstance(item, Words):
            (order, uniform), payloads = item.how, [b""] * item.count
            self.do(machine.multicast(payloads, order, self.now_us, uniform=uniform))
        else:
            uniform, payloads = item.is_uniform, [item.payload]
            self.do(
                machine.multicast(
                    payloads, Order.CAUSAL, self.now_us, uniform=uniform, port=PORT_COMMIT
                )
            )
        return True

    def _send_letter(self, item: Note) -> bool:
        machine = self.machine
        members = self.view.members if self.view is not None else ()
        to = next((member for member in members if member.name == item.to), machine.me)
        if to != machine.me:
            if not machine.may_send(to):
                return False
            port = PORT_CALLS if self.random.random() < 0.5 else PORT_APPLICATION
            self.do(machine.send_letter(to, b"", port))
        return True

    def _pay(self) -> None:
        self._is_paying = False
        if self.is_paused:
            return
        if self.is_up:
            self.do(self.machine.pay(self.now_us))
            self._go_on()

    def _take(self, source: ProcessId, item: Item) -> None:
        machine, now_us = self.machine, self.now_us
        if isinstance(item, Letter):
            self.do(machine.take_letter(source, item, now_us))
        elif isinstance(item, Run):
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
        self._go_on()

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
            sender = self._name_of(run)
            if isinstance(run, Letter):
                self._letters["from", sender] += 1
                self.rows.take_letter(self.now_us, sender, self._letters["from", sender])
            else:
                self.rows.run(self.now_us, "deliver", run, 0)
                self.replica.deliver(run)
            if run.port == PORT_COMMIT:
                speaker = self.view.members[run.sender]
                for payload in run.payloads:
                    self.transactions.deliver(speaker, payload, self.now_us)
            elif sender != str(self.machine.me):
                self._answer(sender)

    def _name_of(self, run: Run) -> str:
        """Return who sent something; a letter may be of a view that has ended."""
        return str(self._around.views[run.view].members[run.sender])

    def _answer(self, sender: str) -> None:
        around = self._around
        if around.messages_left and self.random.random() < around.answers:
            delay_us = int(self.random.random() * _THOUGHT_US)
            if around.has_transactions and self.random.random() < _TRANSACTIONS:
                self._later(delay_us, self.begin)
            elif around.has_letters and self.random.random() < _LETTERS:
                self._later(delay_us, lambda: self.write(sender.split("~", maxsplit=1)[0]))
            else:
                self._later(delay_us, lambda: self.say(1))

    def _enter(self, view: View) -> None:
        self.view = view
        self.rows.view(self.now_us, view)
        self._around.views.setdefault(view.number, view)
        if self._around.has_transactions:
            self.transactions.enter(view, self.now_us)
        if self.machine.me in view.members:
            self.replica.enter(view.number)
            self._do_transfer(self.transfer.enter(view))

    def _note(self, effect: membership.Effect) -> None:
        match effect:
            case SendLetter(to, letter):
                self._letters["to", str(to)] += 1
                self.rows.send_letter(self.now_us, str(to), self._letters["to", str(to)])
                self._send((to,), letter)
            case SuspectProcess(process):
                self.rows.suspect(self.now_us, str(process), "")
            case BlockGroup(reachable):
                self.rows.block(self.now_us, " ".join(map(str, reachable)))
            case ResumeGroup():
                self.rows.resume(self.now_us)
            case LeaveGroup(why):
                self.die(why or LEFT)
                self._around.on_end(self, effect)
            case ProbeProcess(process):
                self._around.on_probe(self, process)
            case RestoreProcess(process):
                self._around.channels.restore(self.machine.me, process)
            case _:
                pass

    def die(self, why: str) -> None:
        """Be over."""
        self.is_up = False
        self.rows.stop(self.now_us, why)

    def give_up(self, process: ProcessId) -> Effects:
        """Give up a member that takes nothing: its channel is of no use any more."""
        if self.view is None or process == self.machine.me or process not in self.view.members:
            return []
        self._around.channels.sever(self.machine.me, process)
        return self.machine.lose(process, self.now_us, is_certain=False)

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

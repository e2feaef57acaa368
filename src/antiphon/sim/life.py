"""One life of a simulated process: it drives its machines as a node does on the network.

Law: a life hands its machines one input at a time and does what they return, in order. While it
is paused it does nothing, and what arrives waits (``pace``). It knows no time but that of its own
clock. Its application multicasts what the scenario says, answers some of what it delivers, and
keeps a replica of everything delivered. An awkward one also multicasts from inside a delivery, at
every view, and when it hears that the group is blocked: its words go out when the step is done.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

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
from antiphon.sim.application import Application, Heard
from antiphon.sim.clock import Clock
from antiphon.sim.pace import Pace
from antiphon.sim.replica import Replica
from antiphon.sim.surroundings import VIEW, Surroundings
from antiphon.sim.transactions import Transactions
from antiphon.stack.member import Member
from antiphon.stack.outgoing import How, WaitingLetter, WaitingRun
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
_PAY_US = 600
"""Lists and confirmations are put off for up to so long, to serve several messages at once."""


_LETTERS = 0.15
"""How often an answer is a letter, where there are letters."""

_TRANSACTIONS = 0.15
"""How often an answer begins a transaction, where there are transactions."""

_AWKWARD = 0.5
"""How often an awkward application says something at an awkward moment."""


@dataclass(slots=True)
class Copied:
    """A run that a relay sends."""

    run: Run


Item = Run | Letter | Copied | AnyMessage
Effects = list[membership.Effect]


class Life:
    """A process from its start to its crash, exclusion, leave, or the end of the world."""

    def __init__(
        self,
        machine: Member,
        around: Surroundings,
        application: Application,
        seed: int,
        clock: Clock,
        *,
        is_founder: bool,
    ) -> None:
        """Begin to live."""
        self.machine = machine
        self.application = application
        self.outgoing = application.outgoing
        """What waits for the group to be in a view, or for a letter to be acknowledged."""
        self.heard: list[Heard] = []
        """What was delivered, as the application sees it."""
        self.entered: set[int] = set()
        """The numbers of the views that it was in."""
        self._around = around
        self._clock = clock
        self.pace = Pace(self._later)
        has_state = is_founder or not around.has_state
        self.transfer = StateTransfer(machine.me, has_state=has_state)
        self.replica = Replica(has_state=has_state)
        self.events: list[Event] = []
        self.rows = Rows(str(machine.me), GROUP, self._append)
        self.random = Random(f"{seed}/{machine.me}/life")
        self.is_up = True
        self.has_crashed = False
        self.is_leaving = False
        self._is_paying = self._is_ticking = self._is_urged = False
        self._depth = 0
        self._letters: Counter[tuple[str, str]] = (
            Counter()
        )  # sent and taken, by whom they are to or from
        self.view: View | None = None
        self.transactions = Transactions(
            machine.me, self.rows, self.random, self._state, self._act_later, around.vote_us
        )
        self.rows.start(self.now_us)
        application.begin_life(self)
        self.do(machine.take_effects())
        # Not in step with each other: timers that fire together hide races.
        first_us = 1 + int(self.random.random() * around.heartbeat_us)
        self._later(clock.lasts_us(first_us), self._tick)

    def _append(self, event: Event) -> None:
        event.index = len(self.events)
        self.events.append(event)

    @property
    def now_us(self) -> int:
        """What its clock shows."""
        return self._clock.read(self._around.scheduler.now_us)

    @property
    def is_paused(self) -> bool:
        """Whether it does nothing now."""
        return self.pace.is_paused

    def _later(self, delay_us: int, action: Callable[[], None]) -> None:
        scheduler = self._around.scheduler
        scheduler.at(scheduler.now_us + delay_us, lambda _: action(), None)

    def _act_later(self, delay_us: int, action: Callable[[], None]) -> None:
        """Do something after a while, if it lives then and as soon as it is not paused."""
        self._later(delay_us, partial(self._act, action))

    def _act(self, action: Callable[[], None]) -> None:
        self.pace.do(partial(self._act_now, action))

    def _act_now(self, action: Callable[[], None]) -> None:
        if self.is_up:
            self.transactions.now_us = self.now_us
            action()

    # What the world does to it.

    def act(self, action: Callable[[], Effects]) -> None:
        """Let it do something; if it is paused, it does so when it goes on."""
        self.pace.do(lambda: self.do(action()) if self.is_up else None)

    def say(self, count: int, how: How | None = None, answering: bytes = b"") -> None:
        """Multicast ``count`` messages, as soon as the group lets it."""
        count = min(count, self._around.messages_left)
        self._around.messages_left -= count
        chosen = how if how is not None else self._choose()
        if count:
            self.outgoing.put(WaitingRun(chosen, [answering] * count, len(answering) * count))
        self._go_on()

    def _choose(self) -> How:
        ways = self._around.ways
        if len(ways) == 1:
            return ways[0][0]
        return self.random.choices([how for how, _ in ways], [often for _, often in ways])[0]

    def begin(self) -> None:
        """Begin a transaction, as soon as the group lets it."""
        if self._around.messages_left and not self.outgoing.is_void:
            self._around.messages_left -= 1
            self._around.mark("transaction")
            self._act(lambda: self.transactions.begin(self.now_us))

    def _state(self, payload: bytes, is_uniform: bool) -> None:  # noqa: FBT001 - a callback
        how = How(Order.CAUSAL, is_uniform, PORT_COMMIT)
        self.outgoing.put(WaitingRun(how, [payload], len(payload)))
        self._act_later(0, self._go_on)

    def write(self, name: str, answering: bytes = b"") -> None:
        """Send a letter to a member, if there is one of that name, as soon as the group lets it."""
        members = self.view.members if self.view is not None else ()
        to = next((member for member in members if member.name == name), self.machine.me)
        if self._around.messages_left and to != self.machine.me:
            self._around.messages_left -= 1
            port = PORT_CALLS if self.random.random() < 0.5 else PORT_APPLICATION
            self.outgoing.put(WaitingLetter(to, answering, port))
            self._go_on()

    def resume(self) -> None:
        """Go on after a pause: first take what has arrived."""
        self.pace.go_on()
        self._go_on()

    def arrive(self, source: ProcessId, item: Item) -> None:
        """Something arrives."""
        if self.is_paused:
            self.pace.do(partial(self._take, source, item))
        else:
            self._take(source, item)

    # What it does by itself.

    def _tick(self) -> None:
        if not self.is_up:
            return
        if not self._is_ticking:  # however long it was paused, the timer fires once
            self._is_ticking = True
            self.pace.do(self._tick_now)
        self._later(self._clock.lasts_us(self._around.heartbeat_us), self._tick)

    def _tick_now(self) -> None:
        self._is_ticking = False
        if self.is_up:
            self.do(self.machine.tick(self.now_us))
            if self._around.has_transactions:
                self.transactions.tick(self.now_us)
            self._go_on()

    def _go_on(self) -> None:
        """Send what waits and may go out now; see to it that others need not wait."""
        if self._depth:
            self._is_urged = True  # what a machine has returned is done first
            return
        if self.is_up and not self.is_paused and not self.outgoing.send(self):
            self.do(self.machine.hurry())
        is_due = self.machine.is_due or bool(self.machine.letters.owed)
        if self.is_up and not self._is_paying and is_due:
            self._is_paying = True
            self._later(int(self.random.random() * _PAY_US), self._pay)

    # What the queue asks.

    @property
    def may_multicast(self) -> bool:
        """Whether a multicast would go out now."""
        return self.machine.may_multicast

    def may_send(self, to: ProcessId, port: int) -> bool:  # noqa: ARG002 - any kind may follow
        """Whether a letter would go out now."""
        return self.machine.may_send(to)

    def has_member(self, process: ProcessId) -> bool:
        """Whether a process is in the current view."""
        return self.view is not None and process in self.view.members

    def multicast(self, payloads: Sequence[bytes], how: How, byte_count: int) -> None:
        """Multicast a run."""
        order, uniform, port = how
        self.do(
            self.machine.multicast(
                payloads, order, self.now_us, byte_count, uniform=uniform, port=port
            )
        )

    def send_letter(self, to: ProcessId, payload: bytes, port: int) -> None:
        """Send a letter."""
        self.do(self.machine.send_letter(to, payload, port))

    def _pay(self) -> None:
        self.pace.do(self._pay_now)

    def _pay_now(self) -> None:
        self._is_paying = False
        if self.is_up:
            self.do(self.machine.pay(self.now_us))
            self._go_on()

    def _take(self, source: ProcessId, item: Item) -> None:
        machine, now_us = self.machine, self.now_us
        if not self.is_up:
            return
        if isinstance(item, Letter):
            self.do(machine.take_letter(source, item, now_us))
        elif isinstance(item, Run):
            delivered = machine.receive(source, item)
            if delivered is None:
                self.do(machine.take_run(source, item, now_us))
            else:
                machine.hear(source, now_us)
                self.do([DeliverRuns(delivered)])
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
        """Do what a machine returned, in order; then send what was said meanwhile."""
        self._depth += 1
        self._do_each(effects)
        self._depth -= 1
        if self._is_urged and not self._depth:
            self._is_urged = False
            self._go_on()

    def _do_each(self, effects: Effects) -> None:
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
        self._around.mark("uniform" if effect.run.uniform else "multicast")
        assert self.view is not None, "only members multicast"
        others = tuple(member for member in self.view.members if member != self.machine.me)
        if effect.alive is not None:
            self._send(others, effect.alive)
        self._send(others, effect.run)

    def _deliver(self, runs: list[Run]) -> None:
        assert self.view is not None, "only members deliver"
        for run in runs:
            sender = self._name_of(run)
            self._hear(sender, run)
            if isinstance(run, Letter):
                self._letters["from", sender] += 1
                self.rows.take_letter(self.now_us, sender, self._letters["from", sender])
            else:
                self.rows.run(self.now_us, "deliver", run, 0)
                if self._around.has_state:
                    self.replica.deliver(run)
            if run.port == PORT_COMMIT:
                speaker = self.view.members[run.sender]
                for payload in run.payloads:
                    self.transactions.deliver(speaker, payload, self.now_us)
            elif sender != str(self.machine.me):
                question = b""
                if not isinstance(run, Letter):
                    question = name_of(sender, run.view, run.last)
                    self.application.question = question
                self._answer(sender, question)

    def _name_of(self, run: Run) -> str:
        """Return who sent something; a letter may be of a view that has ended."""
        return str(self._around.views[run.view].members[run.sender])

    def _hear(self, sender: str, run: Run) -> None:
        """Note what an application sees of a run or a letter."""
        is_fifo = run.order is Order.FIFO
        said = tuple(run.payloads) if run.port != PORT_COMMIT else ()
        view = 0 if isinstance(run, Letter) else run.view
        self.heard.append(Heard(sender, view, run.first, run.last, is_fifo, said))

    def _answer(self, sender: str, question: bytes) -> None:
        around, read = self._around, self.application.read
        if around.messages_left and self.random.random() < around.answers:
            delay_us = int(self.random.random() * _THOUGHT_US)
            if around.is_awkward and self.random.random() < _AWKWARD:
                self._blurt(sender, question)
            elif around.has_transactions and self.random.random() < _TRANSACTIONS:
                read(lambda life: life.begin(), delay_us)
            elif around.has_letters and self.random.random() < _LETTERS:
                name = sender.split("~", maxsplit=1)[0]
                read(lambda life: life.write(name, question), delay_us)
            else:
                read(lambda life: life.say(1, answering=question), delay_us)

    def _blurt(self, to: str = "", question: bytes = b"") -> None:
        """Say something at once: a message, or a letter."""
        around = self._around
        if around.has_letters and to and self.random.random() < _LETTERS:
            self.write(to.split("~", maxsplit=1)[0], question)
        else:
            self.say(1, answering=question)

    def _speak_up(self, view: View, *, is_first: bool) -> None:
        """An awkward application has something to say at a view."""
        if self._around.has_transactions and is_first and view.number > 1:
            self.begin()
        if self.random.random() < _AWKWARD:
            self._blurt(self.random.choice(view.members).name)

    def _enter(self, view: View) -> None:
        is_first = self.view is None
        if is_first:
            self.application.enter()
        self.view = view
        self.entered.add(view.number)
        self._around.mark(VIEW, view.number)
        self.rows.view(self.now_us, view)
        self._around.views.setdefault(view.number, view)
        if self._around.has_transactions:
            self.transactions.enter(view, self.now_us)
        if self.machine.me in view.members:
            if self._around.has_state:
                self.replica.enter(view.number)
                self._do_transfer(self.transfer.enter(view))
            elif is_first:
                self._later(0, lambda: self.act(lambda: self.machine.gain_state(self.now_us)))
            if self._around.is_awkward:
                self._speak_up(view, is_first=is_first)

    def _note(self, effect: membership.Effect) -> None:
        match effect:
            case SendLetter(to, letter):
                self._letters["to", str(to)] += 1
                self.rows.send_letter(self.now_us, str(to), self._letters["to", str(to)])
                self._send((to,), letter)
                self._around.mark("letter")
            case SuspectProcess(process):
                self.rows.suspect(self.now_us, str(process), "")
                self._around.mark("suspect")
            case BlockGroup(reachable):
                self.rows.block(self.now_us, " ".join(map(str, reachable)))
                if self._around.is_awkward:
                    self._blurt()
            case ResumeGroup():
                self.rows.resume(self.now_us)
            case LeaveGroup(why):
                self.die(why or LEFT, is_last=self.is_leaving or not why)
                self._around.on_end(self, effect)
            case _:
                self._look_after(effect)

    def _look_after(self, effect: membership.Effect) -> None:
        if isinstance(effect, ProbeProcess):
            self._around.on_probe(self, effect.process)
        elif isinstance(effect, RestoreProcess):
            self._around.channels.restore(self.machine.me, effect.process)

    def die(self, why: str, *, is_last: bool = False) -> None:
        """Be over; if it is the last life, so is the application."""
        self.is_up = False
        self.rows.stop(self.now_us, why)
        self.application.end_life(is_last=is_last)

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
                    self._act_later(delay_us, partial(self._load, effect))
                case _:  # the state is lost: the world ends unequal, and hopeless or stuck
                    pass

    def _load(self, chunk: LoadChunk) -> None:
        self._around.mark("transfer")
        self.replica.load(chunk.number, chunk.data)
        self._do_transfer(self.transfer.took(chunk.number))
        if self.transfer.has_state and not self.replica.has_state:
            self.replica.finish()
            self.do(self.machine.gain_state(self.now_us))


def name_of(sender: str, view: int, number: int) -> bytes:
    """Return how an answer names the message that it answers."""
    return f"{sender}/{view}/{number}".encode()

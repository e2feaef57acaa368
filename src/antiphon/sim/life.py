"""One life of a simulated process: it drives its machines as a node does on the network.

Law: a life hands its machines one input at a time and does what they return, in order. While it
is paused it does nothing, and what arrives waits (``pace``). It knows no time but that of its own
clock. Its application multicasts what the scenario says, answers some of what it delivers, and
keeps a replica of everything delivered. An awkward one also multicasts from inside a delivery, at
every view, and when it hears that the group is blocked: its words go out when the step is done.
"""

from collections import Counter, deque
from collections.abc import Callable
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
    RelayRuns,
    ResumeGroup,
    SendControl,
    SendLetter,
    SendRun,
    SuspectProcess,
)
from antiphon.sim.clock import Clock
from antiphon.sim.pace import Pace
from antiphon.sim.replica import Replica
from antiphon.sim.surroundings import VIEW, How, Surroundings
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
_PAY_US = 600
"""Lists and confirmations are put off for up to so long, to serve several messages at once."""


_LETTERS = 0.15
"""How often an answer is a letter, where there are letters."""

_TRANSACTIONS = 0.15
"""How often an answer begins a transaction, where there are transactions."""

_AWKWARD = 0.5
"""How often an awkward application says something at an awkward moment."""


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


class Life:
    """A process from its start to its crash, exclusion, leave, or the end of the world."""

    def __init__(
        self,
        machine: Member,
        around: Surroundings,
        seed: int,
        clock: Clock,
        *,
        is_founder: bool,
    ) -> None:
        """Begin to live."""
        self.machine = machine
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
        self.is_leaving = False
        self.pending: deque[Words | Statement | Note] = deque()
        """What waits for the group to be in a view, or for a letter to be acknowledged."""
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
            self._around.mark("transaction")
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
        while self.pending and self.is_up and not self.is_paused:
            item = self.pending.popleft()
            if not self._send_next(item):
                self.pending.appendleft(item)
                self.do(self.machine.hurry())
                break
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
                self._answer(sender)

    def _name_of(self, run: Run) -> str:
        """Return who sent something; a letter may be of a view that has ended."""
        return str(self._around.views[run.view].members[run.sender])

    def _answer(self, sender: str) -> None:
        around = self._around
        if around.messages_left and self.random.random() < around.answers:
            delay_us = int(self.random.random() * _THOUGHT_US)
            if around.is_awkward and self.random.random() < _AWKWARD:
                self._blurt(sender)
            elif around.has_transactions and self.random.random() < _TRANSACTIONS:
                self._later(delay_us, self.begin)
            elif around.has_letters and self.random.random() < _LETTERS:
                self._later(delay_us, lambda: self.write(sender.split("~", maxsplit=1)[0]))
            else:
                self._later(delay_us, lambda: self.say(1))

    def _blurt(self, to: str = "") -> None:
        """Say something at once: a message, or a letter."""
        around = self._around
        if around.has_letters and to and self.random.random() < _LETTERS:
            self.write(to.split("~", maxsplit=1)[0])
        else:
            self.say(1)

    def _speak_up(self, view: View, *, is_first: bool) -> None:
        """An awkward application has something to say at a view."""
        if self._around.has_transactions and is_first and view.number > 1:
            self.begin()
        if self.random.random() < _AWKWARD:
            self._blurt(self.random.choice(view.members).name)

    def _enter(self, view: View) -> None:
        is_first = self.view is None
        self.view = view
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

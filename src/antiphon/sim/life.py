"""One incarnation of a simulated process: it drives its machine as the network driver does.

Law: a driver hands its machine one input at a time and does what that returns, in order. While the
process is paused it does nothing, and what arrives waits (``pace``). It knows no time but that of
its own clock. Its application multicasts what the scenario says, answers some of what it delivers,
and keeps a replica of everything delivered. An awkward one also multicasts from inside a delivery,
at every view, and when it hears that the group is blocked: its words go out when the step is done.
"""

from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from random import Random

from antiphon.core.control import AnyMessage
from antiphon.core.ids import GroupName, ProcessId
from antiphon.core.runs import PORT_APPLICATION, PORT_COMMIT, Letter, Run
from antiphon.core.views import View
from antiphon.sim.application import Application, Heard
from antiphon.sim.calling import Calling
from antiphon.sim.clock import Clock
from antiphon.sim.pace import Pace
from antiphon.sim.replica import Replica
from antiphon.sim.surroundings import VIEW, Surroundings
from antiphon.sim.transactions import Transactions
from antiphon.stack.effects import (
    AdmitSenders,
    AskVote,
    BlockGroup,
    ConcludeCall,
    Decided,
    DeliverRuns,
    Effect,
    ExpectState,
    GiveUpProcess,
    HandRequest,
    IgnoreMessage,
    InstallView,
    LeaveGroup,
    LoadChunk,
    NameTransaction,
    ProbeProcess,
    RejectPeer,
    RelayRuns,
    RestoreProcess,
    ResumeGroup,
    SaveState,
    SendControl,
    SendLetter,
    SendRun,
    SetTimer,
    SuspectProcess,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    ACKNOWLEDGE,
    HEARTBEAT,
    ControlReceived,
    Input,
    LetterReceived,
    LetterRequested,
    MemberStalled,
    MulticastRequested,
    PeerHeard,
    PieceLoaded,
    RunsReceived,
    SendersWaited,
    StateSaved,
    Stopped,
    Timer,
    TimerFired,
)
from antiphon.stack.member import Member
from antiphon.stack.send_queue import How
from antiphon.trace.rows import Rows
from antiphon.trace.schema import LEFT, Event

GROUP = GroupName("g")
_THOUGHT_US = 2_000
_LOAD_US = 4_000
TURN_US = 600
"""A timer whose time has come fires up to so much later: when what has arrived is taken."""

_LETTERS = 0.15
"""How often an answer is a letter, where there are letters."""

_CALLS = 0.2
"""How often an answer is a call, where there are calls."""

_TRANSACTIONS = 0.15
"""How often an answer begins a transaction, where there are transactions."""

_AWKWARD = 0.5
"""How often an awkward application says something at an awkward moment."""

MADE_OUT = "it is made out to take nothing"
"""Why a member is given up wrongly, by a step of the scenario."""

_WRITTEN = ("to", "anybody")
"""The count of all letters sent."""

Item = RunsReceived | LetterReceived | ControlReceived
"""What travels: what it is to whom it arrives at."""


class Life:
    """A process from its start to its crash, exclusion, leave, or the end of the world."""

    def __init__(
        self,
        endpoint: Endpoint,
        around: Surroundings,
        application: Application,
        seed: int,
        clock: Clock,
        *,
        is_founder: bool,
    ) -> None:
        """Begin to live."""
        self.endpoint = endpoint
        self.me = endpoint.me
        self.application = application
        self.heard: list[Heard] = []
        """What was delivered, as the application sees it."""
        self.entered: set[int] = set()
        """The numbers of the views that it was in."""
        self._around = around
        self._clock = clock
        self.pace = Pace(self._later)
        self.replica = Replica(has_state=is_founder or not around.has_state)
        self.events: list[Event] = []
        self.rows = Rows(str(self.me), GROUP, self._append)
        self.random = Random(f"{seed}/{self.me}/life")
        self.is_up = True
        self.has_crashed = False
        self.is_leaving = False
        self._inputs: deque[Input] = deque()
        self._is_working = False
        self._timers: dict[Timer, int] = {}
        self._timer_count = 0
        self._admits = AdmitSenders(messages=False, letters=False)
        self._wanting: deque[Input] = deque()
        """What a patient application has to send, and waits to."""
        self._is_waiting = False
        # Letters sent and taken, by whom they are to or from.
        self._letters: Counter[tuple[str, str]] = Counter()
        self.view: View | None = None
        self.transactions = Transactions(self, self.rows, self.random, endpoint.ports.commit)
        self.rows.start(self.now_us)
        self.calls = Calling(self, str(self.me), self.random, around.calls)
        application.begin_life(self)
        self._do_all(endpoint.start())
        application.start_reading()

    def _append(self, event: Event) -> None:
        event.index = len(self.events)
        self.events.append(event)

    # What others ask.

    @property
    def machine(self) -> Member:
        """Its part in views and orders, to look into."""
        return self.endpoint.member

    @property
    def has_state(self) -> bool:
        """Whether it has got the group's state, where there is one."""
        transfer = self.endpoint.ports.transfer
        return transfer is None or transfer.has_state

    @property
    def admits(self) -> bool:
        """Whether its application may hand over more."""
        return self._admits.messages and self._admits.letters

    @property
    def is_sending(self) -> bool:
        """Whether something waits to be sent, or to be admitted."""
        return bool(self.endpoint.queue.waiting or self._wanting)

    @property
    def now_us(self) -> int:
        """What its clock shows."""
        return self._clock.read(self._around.scheduler.now_us)

    @property
    def is_paused(self) -> bool:
        """Whether it does nothing now."""
        return self.pace.is_paused

    # Time.

    def _later(self, delay_us: int, action: Callable[[], None]) -> None:
        scheduler = self._around.scheduler
        scheduler.at(scheduler.now_us + delay_us, lambda _: action(), None)

    def act_later(self, delay_us: int, action: Callable[[], None]) -> None:
        """Do something after a while, if it lives then and as soon as it is not paused."""
        self._later(delay_us, lambda: self.act(action))

    def act(self, action: Callable[[], None]) -> None:
        """Do something, if it lives, as soon as it is not paused."""
        self.pace.do(lambda: action() if self.is_up else None)

    def _set_timer(self, timer: Timer, time_us: int) -> None:
        self._timer_count += 1
        number = self._timers[timer] = self._timer_count
        delay_us = time_us - self.now_us
        if timer == HEARTBEAT and number == 1:
            # Not in step with each other: timers that fire together hide races.
            delay_us = 1 + int(self.random.random() * delay_us)
        elif timer == ACKNOWLEDGE and delay_us <= 0:
            delay_us = int(self.random.random() * TURN_US)
        delay_us = self._clock.lasts_us(max(0, delay_us))
        self._later(delay_us, partial(self._fire, timer, number))

    def _fire(self, timer: Timer, number: int) -> None:
        if self.is_up and self._timers.get(timer) == number:
            self.pace.do(partial(self._fire_now, timer, number))

    def _fire_now(self, timer: Timer, number: int) -> None:
        if self.is_up and self._timers.get(timer) == number:
            del self._timers[timer]
            self.give(TimerFired(timer))

    # What the world does to it.

    def happen(self, happened: Input) -> None:
        """Let something happen to it; if it is paused, when it goes on."""
        self.pace.do(partial(self.give, happened))

    def arrive(self, source: ProcessId, item: Item) -> None:
        """Something arrives."""
        if self.is_paused:
            self.pace.do(partial(self._take, source, item))
        else:
            self._take(source, item)

    def resume(self) -> None:
        """Go on after a pause: first take what has arrived."""
        self.pace.go_on()

    def say(self, count: int, how: How | None = None, answering: bytes = b"") -> None:
        """Multicast ``count`` messages; if it is paused, when it goes on."""
        if self.is_up and self.is_paused:
            self.pace.do(partial(self.say, count, how, answering))
            return
        count = min(count, self._around.messages_left)
        self._around.messages_left -= count
        chosen = how if how is not None else self._choose()
        if count:
            words = [self.application.word(chosen, answering) for _ in range(count)]
            size = sum(map(len, words))
            self._hand_over(MulticastRequested(words, chosen, size, self._reading))

    @property
    def _reading(self) -> int:
        return self.endpoint.queue.read

    def _choose(self) -> How:
        ways = self._around.ways
        if len(ways) == 1:
            return ways[0][0]
        return self.random.choices([how for how, _ in ways], [often for _, often in ways])[0]

    def begin(self) -> None:
        """Begin a transaction."""
        if self._around.messages_left and not self.endpoint.queue.is_void:
            self._around.messages_left -= 1
            self._around.mark("transaction")
            self.act(self.transactions.begin)

    def call(self) -> None:
        """Call all other members."""
        if self._around.messages_left and not self.endpoint.queue.is_void:
            self._around.messages_left -= 1
            self._around.mark("letter")
            orders = tuple(dict.fromkeys(how.order for how, _ in self._around.ways))
            self.act(partial(self.calls.call, orders))

    def write(self, name: str, answering: bytes = b"") -> None:
        """Send a letter to a member, if there is one of that name; likewise."""
        if self.is_up and self.is_paused:
            self.pace.do(partial(self.write, name, answering))
            return
        members = self.view.members if self.view is not None else ()
        to = next((member for member in members if member.name == name), self.me)
        if self._around.messages_left and to != self.me:
            self._around.messages_left -= 1
            word = self.application.word(None, answering)
            self._hand_over(LetterRequested(to, word, self._reading))

    def _hand_over(self, asked: MulticastRequested | LetterRequested) -> None:
        """Hand something to the machine, or wait until it is admitted."""
        if self.application.is_patient and self.is_up:
            self._wanting.append(asked)
            self._work()
        else:
            self.advance(asked)

    def advance(self, happened: Input) -> None:
        """Take what its application does, be it between two incarnations."""
        if self.is_up and self.is_paused:
            self.pace.do(partial(self.advance, happened))
        elif not self.has_crashed:
            self._inputs.append(happened)
            self._work()

    # Driving the machine.

    def give(self, happened: Input) -> None:
        """Give an input to the machine, after those that wait; do what it returns."""
        if self.is_up:
            self._inputs.append(happened)
            self._work()

    def _work(self) -> None:
        if self._is_working:
            return  # what the machine has returned is done first
        self._is_working = True
        while happened := self._next_input():
            is_admitted = self._is_admitted(happened)
            effects = self.endpoint.step(happened, self.now_us)
            if is_admitted and not any(type(effect) is SendRun for effect in effects):
                self._around.complain(f"{self.me} was admitted, and what it sends has to wait")
            self._do_all(effects)
        self._is_working = False

    def _next_input(self) -> Input | None:
        """Return what is to be given next; what its application is admitted to send comes last."""
        if self._inputs:
            return self._inputs.popleft()
        wanting = self._wanting
        if wanting and self.is_up:
            is_letter = isinstance(wanting[0], LetterRequested)
            # One at a time: each may be the last for which there is room.
            if self._admits.letters if is_letter else self._admits.messages:
                return wanting.popleft()
        if bool(wanting) != self._is_waiting and self.is_up:
            self._is_waiting = bool(wanting)
            return SendersWaited(self._is_waiting)
        return None

    def _is_admitted(self, happened: Input) -> bool:
        """Whether this has to go out at once: admitted, and no letter or queue is before it."""
        return (
            type(happened) is MulticastRequested
            and self._admits.messages
            and not self._letters[_WRITTEN]
            and not self.endpoint.queue.waiting
            and happened.incarnation == self._reading == self.endpoint.queue.incarnation
        )

    def _take(self, source: ProcessId, item: Item) -> None:
        if not self.is_up:
            return
        is_own = isinstance(item, RunsReceived) and not item.is_relayed
        if is_own and self.endpoint.receive(source, item.runs[0]):  # type: ignore[union-attr]
            self._is_working = True
            self._deliver([item.runs[0]])  # type: ignore[union-attr]
            self._is_working = False
            self.give(PeerHeard(source))
        else:
            self.give(item)

    def _do_all(self, effects: list[Effect]) -> None:
        for effect in effects:
            self._do(effect)

    def _do(self, effect: Effect) -> None:
        match effect:
            case SendRun():
                self._send_run(effect)
            case SendControl(to, message):
                self._send_control(to, message)
            case RelayRuns(to, runs):
                for run in runs:
                    self._send(to, RunsReceived(self.me, [run], is_relayed=True))
            case DeliverRuns(runs):
                self._deliver(runs)
            case InstallView(view):
                self._enter(view)
            case SetTimer(timer, time_us):
                self._set_timer(timer, time_us)
            case _:
                self._note(effect)

    def _send(self, to: tuple[ProcessId, ...], item: Item) -> None:
        for process in to:
            self._around.channels.send(self.me, process, item)

    def _send_control(self, to: tuple[ProcessId, ...], message: AnyMessage) -> None:
        self._send(to, ControlReceived(self.me, message))

    def _send_run(self, effect: SendRun) -> None:
        self.rows.run(self.now_us, "multicast", effect.run, 0)
        self._around.mark("uniform" if effect.run.uniform else "multicast")
        if effect.run.port == PORT_APPLICATION:
            self.application.note_gone(effect.run.payloads)
        assert self.view is not None, "only members multicast"
        others = tuple(member for member in self.view.members if member != self.me)
        if effect.alive is not None:
            self._send_control(others, effect.alive)
        self._send(others, RunsReceived(self.me, [effect.run]))

    def _deliver(self, runs: list[Run]) -> None:
        for run in runs:
            sender = str(self.endpoint.sender_of(run))
            self._hear(sender, run)
            self.application.note()
            if isinstance(run, Letter):
                self._letters["from", sender] += 1
                self.rows.take_letter(self.now_us, sender, self._letters["from", sender])
            else:
                self.rows.run(self.now_us, "deliver", run, 0)
                if self._around.has_state:
                    self.replica.deliver(run)
            if run.port != PORT_COMMIT and sender != str(self.me):
                question = b""
                if not isinstance(run, Letter):
                    question = name_of(sender, run.view, run.last)
                    self.application.question = question
                self._answer(sender, question)

    def _hear(self, sender: str, run: Run) -> None:
        """Note what an application sees of a run or a letter."""
        said = tuple(run.payloads) if run.port == PORT_APPLICATION else ()
        is_letter = isinstance(run, Letter)
        view, how = (0, None) if is_letter else (run.view, How(run.order, run.uniform))
        self.heard.append(Heard(sender, view, run.first, run.last, how, said))

    def _answer(self, sender: str, question: bytes) -> None:
        around, read = self._around, self.application.read
        if around.messages_left and self.random.random() < around.answers:
            delay_us = int(self.random.random() * _THOUGHT_US)
            if around.is_awkward and self.random.random() < _AWKWARD:
                self._blurt(sender, question)
            elif around.has_transactions and self.random.random() < _TRANSACTIONS:
                read(lambda life: life.begin(), delay_us)
            elif around.has_calls and self.random.random() < _CALLS:
                read(lambda life: life.call(), delay_us)
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
        if self.me in view.members:
            if self._around.has_state:
                self.replica.enter(view.number)
            if self._around.is_awkward:
                self._speak_up(view, is_first=is_first)

    def _note(self, effect: Effect) -> None:
        match effect:
            case SendLetter(to, letter):
                self._letters["to", str(to)] += 1
                self._letters[_WRITTEN] += 1
                self.rows.send_letter(self.now_us, str(to), self._letters["to", str(to)])
                self._send((to,), LetterReceived(self.me, letter))
                if letter.port == PORT_APPLICATION:
                    self.application.note_gone(letter.payloads)
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

    def _look_after(self, effect: Effect) -> None:
        match effect:
            case AdmitSenders():
                self._admits = effect
            case AskVote() | Decided() | NameTransaction():
                self.transactions.do(effect)
            case HandRequest() | ConcludeCall():
                self.calls.do(effect)
            case ProbeProcess(process):
                self._around.on_probe(self, process)
            case RestoreProcess(process):
                self._around.on_restore(self, process)
            case GiveUpProcess(process, why):
                self._around.mark("condemn")
                self._around.on_give_up(self, process, why)
                self._around.channels.sever(self.me, process)
            case RejectPeer(peer, why) | IgnoreMessage(peer, why):
                self._around.complain(f"{self.me} finds fault with {peer}: {why}")
            case _:
                self._move_state(effect)

    def _move_state(self, effect: Effect) -> None:
        match effect:
            case SaveState(number):
                self.give(StateSaved(number, self.replica.save()))
            case ExpectState(number):
                self.replica.expect(number)
            case LoadChunk():
                delay_us = int(self.random.random() * _LOAD_US)
                self.act_later(delay_us, partial(self._load, effect))
            case _:  # whom to expect, what was unsent; a lost state: the world ends stuck
                pass

    def die(self, why: str, *, is_last: bool = False) -> None:
        """Be over; if it is the last incarnation, so is the application."""
        self.is_up = False
        self.rows.stop(self.now_us, why)
        for asked in self._wanting:  # they belong to what has ended
            self._inputs.append(asked)
        self._wanting.clear()
        self._inputs.append(Stopped(why))
        self.application.end_life(is_last=is_last)
        self._work()

    def crash(self) -> None:
        """Be over at once."""
        self.is_up, self.has_crashed = False, True
        self.rows.crash(self.now_us)
        self.application.end_life(is_last=True)

    def give_up(self, process: ProcessId) -> None:
        """Give up a member as if it took nothing."""
        if self.view is not None and process != self.me and process in self.view.members:
            self.give(MemberStalled(process, MADE_OUT))

    def _load(self, chunk: LoadChunk) -> None:
        self._around.mark("transfer")
        self.replica.load(chunk.number, chunk.data)
        self.give(PieceLoaded(chunk.number))
        if self.has_state and not self.replica.has_state:
            self.replica.finish()


def name_of(sender: str, view: int, number: int) -> bytes:
    """Return how an answer names the message that it answers."""
    return f"{sender}/{view}/{number}".encode()

"""The driver of one incarnation of a simulated process: it drives its machine as on the network.

Law: a driver hands its machine one input at a time and does what that returns, in order. While the
process is paused it does nothing, and what arrives waits (``pace``). It knows no time but that of
its own clock. What happens leaves rows in the trace; its application speaks (``speaker``), and
keeps a replica of everything delivered.
"""

from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from random import Random

from antiphon.core.control import Alive, AnyMessage, Everywhere, Subtree
from antiphon.core.ids import GroupName, ProcessId
from antiphon.core.runs import PORT_APPLICATION, PORT_COMMIT, ExpiredRun, Letter, Run
from antiphon.core.views import LINEAGE_STEP_MAX, View
from antiphon.sim.application import Application
from antiphon.sim.calling import Calling
from antiphon.sim.clock import Clock
from antiphon.sim.pace import Pace
from antiphon.sim.replica import Replica
from antiphon.sim.speaker import Speaker
from antiphon.sim.state_loading import StateLoading
from antiphon.sim.surroundings import VIEW, Surroundings
from antiphon.sim.timers import Timers
from antiphon.sim.transactions import Transactions
from antiphon.stack.effects import (
    AdmitSenders,
    AskVote,
    BlockGroup,
    ConcludeCall,
    Decided,
    DeliverRuns,
    Effect,
    ExpectPeers,
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
    SendDatagram,
    SendLetter,
    SendRun,
    SetTimer,
    SuspectProcess,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    ControlReceived,
    Input,
    LetterReceived,
    MemberStalled,
    MulticastRequested,
    PeerHeard,
    RunsReceived,
    Stopped,
    TakeOverRequested,
    TimerFired,
)
from antiphon.stack.member import Member
from antiphon.trace.rows import Rows
from antiphon.trace.schema import LEFT, Event

GROUP = GroupName("g")

MADE_OUT = "it is made out to take nothing"
"""Why a member is given up wrongly, by a step of the scenario."""

_WRITTEN = ("to", "anybody")
"""The count of all letters sent."""

_FORGOTTEN = 0.5
"""How often who takes over keeps no channel to those it leaves behind: they are away for long."""

_SENDING = (SendRun, SendDatagram)

_RECEIPTS = (Alive, Subtree, Everywhere)

Item = RunsReceived | LetterReceived | ControlReceived
"""What travels: what it is to whom it arrives at."""


class Driver:
    """Drives a process from its start to its crash, exclusion, leave, or the end of the world."""

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
        """Start the machine."""
        self.endpoint = endpoint
        self.me = endpoint.me
        self.application = application
        self.entered: set[int] = set()
        """The numbers of the views that it was in."""
        self.saw_fail: set[ProcessId] = set()
        """Who failed in one of these views."""
        self._around = around
        self.deliveries = around.deliveries
        """Where all processes of its world note what they deliver."""
        self._clock = clock
        self.pace = Pace(self._later)
        self.replica = Replica(has_state=is_founder or not around.has_state)
        self.events: list[Event] = []
        self.rows = Rows(str(self.me), GROUP, self._append)
        self.random = Random(f"{seed}/{self.me}/life")  # the word decides what recorded seeds do
        self.is_up = True
        self.has_crashed = False
        self.is_leaving = False
        self._inputs: deque[Input] = deque()
        self._is_working = False
        self._timers = Timers(
            clock, self.pace, self.random, self._later, lambda timer: self.give(TimerFired(timer))
        )
        # Letters sent and taken, by whom they are to or from.
        self._letters: Counter[tuple[str, str]] = Counter()
        self.view: View | None = None
        self._idle: tuple[ProcessId, ...] = ()
        ports, random = endpoint.ports, self.random
        self.transactions = Transactions(self, self.rows, random, ports.commit)
        self.calls = Calling(self, str(self.me), random, around.calls)
        self.state = StateLoading(self, around, self.replica, random, endpoint)
        self.speaker = Speaker(self, around, application, endpoint.queue, random)
        self.rows.start(self.now_us)
        application.begin_incarnation(self)
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
    def is_sending(self) -> bool:
        """Whether something waits to be sent, or to be admitted."""
        return bool(self.endpoint.queue.waiting or self.speaker.is_waiting)

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

    def advance(self, happened: Input) -> None:
        """Take what its application does, be it between two incarnations."""
        if self.is_up and self.is_paused:
            self.pace.do(partial(self.advance, happened))
        elif not self.has_crashed:
            self._inputs.append(happened)
            self.work()

    # Driving the machine.

    def give(self, happened: Input) -> None:
        """Give an input to the machine, after those that wait; do what it returns."""
        if self.is_up:
            self._inputs.append(happened)
            self.work()

    def work(self) -> None:
        """Give the machine all that waits for it, unless that is going on."""
        if self._is_working:
            return  # what the machine has returned is done first
        self._is_working = True
        # What the application is admitted to send comes last.
        while happened := self._inputs.popleft() if self._inputs else self.speaker.next_input():
            is_admitted = self._is_admitted(happened)
            effects = self.endpoint.step(happened, self.now_us)
            if is_admitted and not any(type(effect) in _SENDING for effect in effects):
                self._around.complain(f"{self.me} was admitted, and what it sends has to wait")
            self._do_all(effects)
            if self.is_up and _may_tell_deliveries(happened):
                self.deliveries.ask(self.machine)
        self._is_working = False

    def _is_admitted(self, happened: Input) -> bool:
        """Whether this has to go out at once: admitted, and no letter or queue is before it."""
        queue = self.endpoint.queue
        return (
            type(happened) is MulticastRequested
            and self.speaker.admits.messages
            and not self._letters[_WRITTEN]
            and not queue.waiting
            and happened.incarnation == queue.read == queue.incarnation
        )

    def _take(self, source: ProcessId, item: Item) -> None:
        if not self.is_up:
            return
        if isinstance(item, RunsReceived) and not item.is_relayed:
            (run,) = item.runs
            if self.endpoint.receive(source, run):  # the short way
                self._is_working = True
                self._deliver([run])
                self._is_working = False
                self.give(PeerHeard(source))
                return
        self.give(item)

    def _do_all(self, effects: list[Effect]) -> None:
        for effect in effects:
            self._do(effect)

    def _do(self, effect: Effect) -> None:
        match effect:
            case SendRun() | SendDatagram():
                self._send_messages(effect)
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
                self._timers.set(timer, time_us - self.now_us)
            case _:
                self._note(effect)

    def _send(self, to: tuple[ProcessId, ...], item: Item) -> None:
        for process in to:
            if process in self._idle:
                self._around.complain(f"{self.me} needs no channel with {process}, and uses it")
            self._around.channels.send(self.me, process, item)

    def _send_control(self, to: tuple[ProcessId, ...], message: AnyMessage) -> None:
        self._send(to, ControlReceived(self.me, message))

    def _send_messages(self, effect: SendRun | SendDatagram) -> None:
        run = effect.run
        if run is not None:
            self.rows.run(self.now_us, "multicast", run, 0)
            self.deliveries.multicast(str(self.me), run.view, run.last)
            self._around.mark("uniform" if run.uniform else "multicast")
            if run.port == PORT_APPLICATION and type(run) is not ExpiredRun:
                self.application.note_gone(run.payloads)
        assert self.view is not None, "only members multicast"
        others = tuple(member for member in self.view.members if member != self.me)
        if isinstance(effect, SendDatagram):
            for other in others:
                self._around.datagrams.send(self.me, other, effect.data)
            return
        if effect.alive is not None:
            self._send_control(others, effect.alive)
        to = others if effect.to is None else effect.to
        self._send(to, RunsReceived(self.me, [effect.run]))

    def _deliver(self, runs: list[Run]) -> None:
        for run in runs:
            sender = str(self.endpoint.sender_of(run))
            self.speaker.hear(sender, run)
            if isinstance(run, Letter):
                self._letters["from", sender] += 1
                self.rows.take_letter(self.now_us, sender, self._letters["from", sender])
            else:
                self.rows.run(self.now_us, "deliver", run, 0)
                self.deliveries.deliver(str(self.me), run.view, sender, run.first, run.last)
                if self._around.has_state:
                    self.replica.deliver(run)
            if run.port != PORT_COMMIT and sender != str(self.me):
                self.speaker.answer(sender, run)

    def _enter(self, view: View) -> None:
        is_first = self.view is None
        if is_first:
            self.application.enter()
        self.view = view
        self.entered.add(view.number)
        self.saw_fail.update(view.failed)
        self._around.mark(VIEW, view.number)
        self.rows.view(self.now_us, view)
        self._around.views.setdefault(view.number, view)
        if self.me in view.members:
            if self._around.has_state:
                self.replica.enter(view.number)
            self.speaker.hear_view(view, is_first=is_first)

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
                self.speaker.hear_block()
            case ResumeGroup():
                self.rows.resume(self.now_us)
            case LeaveGroup(why):
                self.die(why or LEFT, is_last=self.is_leaving or not why)
                self._around.on_end(self, effect)
            case _:
                self._look_after(effect)

    def _look_after(self, effect: Effect) -> None:
        match effect:
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
                self._hand_on(effect)

    def _hand_on(self, effect: Effect) -> None:
        match effect:
            case AdmitSenders():
                self.speaker.admits = effect
            case ExpectPeers(_, idle):
                self._idle = idle
            case AskVote() | Decided() | NameTransaction():
                self.transactions.do(effect)
            case HandRequest() | ConcludeCall():
                self.calls.do(effect)
            case SaveState() | ExpectState() | LoadChunk():
                self.state.do(effect)
            case _:  # what was unsent; a lost state: the world ends stuck
                pass

    def die(self, why: str, *, is_last: bool = False) -> None:
        """Be over; if it is the last incarnation, so is the application."""
        self.is_up = False
        self.rows.stop(self.now_us, why)
        self._inputs.extend(self.speaker.take_waiting())
        self._inputs.append(Stopped(why))
        self.application.end_incarnation(is_last=is_last)
        self.work()

    def crash(self) -> None:
        """Be over at once."""
        self.is_up, self.has_crashed = False, True
        self.rows.crash(self.now_us)
        self.application.end_incarnation(is_last=True)

    def take_over(self) -> None:
        """Go on alone, under a new lineage, if that can be."""
        if not self.machine.membership.takeover.obstacle:
            self._around.mark("takeover")
            known = self.machine.membership.transition.everybody()
            self.give(TakeOverRequested(self.random.randint(1, LINEAGE_STEP_MAX)))
            if self.random.random() < _FORGOTTEN:
                for process in known:
                    self._around.channels.sever(self.me, process)

    def give_up(self, process: ProcessId) -> None:
        """Give up a member as if it took nothing."""
        if self.view is not None and process != self.me and process in self.view.members:
            self.give(MemberStalled(process, MADE_OUT))


def _may_tell_deliveries(happened: Input) -> bool:
    """Whether a process may know of more deliveries of others, or say more of its own, after it."""
    is_told = isinstance(happened, ControlReceived) and isinstance(happened.message, _RECEIPTS)
    return is_told or isinstance(happened, TimerFired)

"""The endpoint: one process in one group, whole, as a machine.

    application    requests                          DeliverRuns  InstallView  HandRequest ...
                      |                                   ^            ^            ^
    tools          Ports: calls, commit, state -----------|------------|------------+
    sending        Sender: queue, flow control, stalls    |            |
    order, views   Member ------------------------------- + -----------+
                      |                                   ^
    network        SendRun, SendControl, ...         RunsReceived, ControlReceived, ...

Law: an endpoint is a function of its inputs. ``step`` takes one input and the time, and returns
what is to be done, in order. There is nothing to poll: what is to happen later is a timer. What is
handed over leaves in program order, as soon as the group lets it; whatever others wait for
(acknowledgements, lists, confirmations) is said when all that has arrived is taken, so that one
message serves many, or a little later if nobody is known to wait. A member that takes nothing for
too long while something waits to be sent is given up.

Faults of other processes never raise here: who sends what no correct process sends is rejected
(``RejectPeer``). Mistakes of the application raise :class:`UsageError`, and change nothing.

One exception to ``step``: ``receive``, the short way of a plain run. It does what ``step`` would,
for less; where it cannot, it does nothing and says so.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from antiphon.core.control import Alive, Beat, ReadingOn, StateChunk, StateTaken
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import PORT_APPLICATION, PORT_ORDER, Order, Run
from antiphon.core.views import View
from antiphon.membership.pulses import Pulses
from antiphon.stack.agenda import Agenda
from antiphon.stack.between import step_between
from antiphon.stack.domain import Domain
from antiphon.stack.effects import (
    DeliverElsewhere,
    DeliverRuns,
    Effect,
    InstallView,
    LeaveGroup,
    RejectPeer,
    RestoreProcess,
    SendControl,
    SendRun,
)
from antiphon.stack.expectations import Expectations
from antiphon.stack.flow_control import FlowControl
from antiphon.stack.inputs import (
    ACKNOWLEDGE,
    HEARTBEAT,
    CallAbandoned,
    CallRequested,
    ControlReceived,
    DatagramsReceived,
    Input,
    JoinRequested,
    LeaveRequested,
    LetterReceived,
    LetterRequested,
    MemberStalled,
    MulticastRequested,
    PeerFilled,
    PeerHeard,
    PeerLost,
    PieceLoaded,
    ProbeAnswered,
    ProbeReceived,
    ReaderAdvanced,
    ReaderLagged,
    RequestAnswered,
    RunsReceived,
    SendersWaited,
    StateSaved,
    Stopped,
    TakeOverRequested,
    TimerFired,
    TransactionRequested,
    VoteCast,
)
from antiphon.stack.member import Member
from antiphon.stack.part_inputs import PartInputs
from antiphon.stack.ports import CommitOptions, Ports
from antiphon.stack.receiver import GROUP
from antiphon.stack.send_queue import SendQueue
from antiphon.stack.sender import Sender
from antiphon.stack.settings import Settings

TICKS_PER_VOTE, VOTE_TICK_US_MIN = 20, 1_000
"""How often a coordinator looks at its watch while it waits for votes; and at most how often."""

VIEWS_MAX = 64
"""Views whose members are remembered, for letters that come late."""

_BEAT = Beat()

_APPLICATION = frozenset({PORT_APPLICATION, PORT_ORDER})
"""Ports that no tool listens on."""


class Endpoint(PartInputs):
    """One process in one group."""

    def __init__(
        self,
        me: ProcessId,
        view: View | None,
        settings: Settings,
        now_us: int,
        *,
        queue: SendQueue | None = None,
        with_state: bool = False,
        commit: CommitOptions | None = None,
        pulses: Pulses | None = None,
        former: Mapping[ProcessId, int] | None = None,
        domain: Domain | None = None,
        group: GroupNumber = GROUP,
    ) -> None:
        """Begin in ``view``, agreed on beforehand by all its members, or outside.

        ``queue`` is that of the incarnation before, if there was one. Endpoints of one process
        share its ``pulses``, and the process beats for them all; one without beats for itself.
        ``former`` is what the incarnation before had to say of who is ``excluded``. Endpoints of
        one causality domain share the ``domain``, which knows this one as ``group``.
        """
        if view is not None and me not in view.members:
            message = f"{me} is no member of group {view.group}: add it to the members"
            raise UsageError(message)
        if commit is not None and settings.protocol is not None:
            settings.check(Order.CAUSAL, uniform=True)
        self.me = me
        self._beats = pulses is None
        self._agenda = Agenda(now_us)
        self.group = group
        """The group, as its domain and its runs name it."""
        self.member = member = Member(
            me, view, settings, now_us, pulses, former, domain=domain, group=group
        )
        self.domain = member.domain
        self._receiver, self._transition = member.receiver, member.membership.transition
        self.queue = queue if queue is not None else SendQueue(settings.limits.queued_bytes)
        if domain is not None:
            self.queue.places.enter(domain.program, group, len(self.queue.waiting))
        timing = self._timing = settings.timing
        self.flow = flow = FlowControl(
            me, settings.limits, lambda: member.ordering.held_bytes, timing.stall_us
        )
        member.receipts.is_behind = lambda: flow.is_behind
        member.receipts.moves = lambda: flow.moves
        self._sender = Sender(member, self.queue, self.flow, self._agenda, timing.stall_us)
        has_state = view is not None if with_state else None
        self.ports = Ports(me, self.queue, has_state=has_state, commit=commit)
        self.is_over = False
        """Whether the process is out of the group, or was stopped."""
        self.is_resting = False
        """Whether nothing has happened since there was nothing to do."""
        vote_us = commit.vote_us_max if commit is not None else 0
        self._vote_tick_us = max(vote_us // TICKS_PER_VOTE, VOTE_TICK_US_MIN)
        self._views: dict[int, View] = {}
        self._attention = member.membership.attention
        self._expectations = Expectations(self._transition, self._attention)

    def start(self) -> list[Effect]:
        """Return what is to be done first; to be called once."""
        agenda = self._agenda
        assert not agenda.is_set(HEARTBEAT), "an endpoint is started once"
        if self._beats:
            agenda.set_timer(HEARTBEAT, agenda.now_us + self._timing.heartbeat_us)
        agenda.work.extend(self.member.take_effects())
        return self._finish()

    # Inputs.

    def look(self, peers: Iterable[ProcessId]) -> bool:
        """Tell whether to look at a heartbeat; if not, and no word of ``peers`` matters, rest."""
        is_idle = self.is_idle
        self.is_resting = is_idle and not any(map(self.cares_for, peers))
        return not is_idle

    def step(self, happened: Input, now_us: int) -> list[Effect]:
        """Take one input; return what is to be done, in order."""
        self.is_resting = False
        self._agenda.now_us = now_us
        kind = type(happened)
        if not self.is_over or kind in self._AFTERWARDS:
            try:
                self._TAKE[kind](self, happened)
            except PeerError as error:
                if kind not in self._FROM_PEERS:
                    raise
                self._agenda.work.append(RejectPeer(_peer_of(happened), str(error)))
        return self._finish()

    def receive(self, peer: ProcessId, run: Run) -> bool:
        """Take a plain run that can be delivered at once: the short way.

        True: deliver it, that is all. False: nothing has been done; give it to ``step``. Whoever
        uses this gives ``PeerHeard`` along with it, once for everything that came together.
        """
        self.is_resting = False
        # What is for a tool has to be seen by it.
        return run.port == PORT_APPLICATION and self._receiver.receive_plain(peer, run)

    def _send(self, asked: MulticastRequested | LetterRequested) -> None:
        """The application multicasts a run, or sends a letter."""
        if isinstance(asked, LetterRequested):
            self._sender.send(asked)
        else:
            self._sender.multicast(asked, is_over=self.is_over)

    def _change(self, changed: Input) -> None:
        """Something about the application, or about its wish to be a member, has changed."""
        work, now_us = self._agenda.work, self._agenda.now_us
        match changed:
            case ReaderLagged(is_behind):
                self._lag(is_behind=is_behind)
            case SendersWaited(is_waiting):
                self.flow.are_senders_waiting = is_waiting
            case ReaderAdvanced():
                work.extend(step_between(self.queue, changed, now_us))
            case LeaveRequested():
                work.extend(self.member.leave(now_us))
            case JoinRequested(contact):
                work.extend(self.member.ask_to_join(contact, now_us))
            case TakeOverRequested(step):
                work.extend(self.member.take_over(step, now_us))
            case _:
                assert isinstance(changed, Stopped), "nothing else is mapped here"
                self._end(changed.why)

    def _take_runs(self, received: RunsReceived) -> None:
        peer, now_us = received.peer, self._agenda.now_us
        for run in received.runs:
            # A request, nearly always: the short way, but for what a tool makes of it.
            is_for_tool = run.port != PORT_APPLICATION and not received.is_relayed
            if is_for_tool and self._receiver.receive_plain(peer, run):
                self.member.membership.hear(peer, now_us)
                self._deliver(DeliverRuns([run]))
                continue
            self._agenda.work.extend(
                self.member.take_run(peer, run, now_us, relayed=received.is_relayed)
            )
            self._do_work()
            if self.is_over:
                return
        if self._receiver.is_confirmation_due:
            self._agenda.work.extend(self.member.confirm_receipts(now_us))

    def _take_letter(self, received: LetterReceived) -> None:
        self._agenda.work.extend(
            self.member.take_letter(received.peer, received.letter, self._agenda.now_us)
        )

    def _take_control(self, received: ControlReceived) -> None:
        peer, message, now_us = received.peer, received.message, self._agenda.now_us
        if isinstance(message, StateChunk | StateTaken):
            self.member.membership.hear(peer, now_us)
            self._agenda.work.extend(self.ports.receive_state(peer, message))
            return
        if isinstance(message, Alive):
            self.flow.hear(peer, message)
        elif isinstance(message, ReadingOn):
            self.member.membership.hear(peer, now_us)
            self.flow.hear_reading(peer, message)
            return
        self._agenda.work.extend(self.member.take_control(peer, message, now_us))

    def _lag(self, *, is_behind: bool) -> None:
        """Tell all who may wait for the application here if it reads on, if slowly."""
        is_news, member = self.flow.lag(self._agenda.now_us, is_behind=is_behind), self.member
        if is_news and member.blocks is None and member.receiver.tree is None:
            word = ReadingOn(member.view_number, self.flow.moves)
            self._agenda.work.append(SendControl(self._others(), word))

    def _note_peer(self, noted: Input) -> None:
        """Something about another process has become known, beside what it sends."""
        work, now_us = self._agenda.work, self._agenda.now_us
        match noted:
            case PeerHeard(peer):
                work.extend(self.member.hear_beat(peer, now_us))
            case PeerFilled(peer, is_full):
                self.flow.fill(peer, is_full=is_full)
            case PeerLost(peer):
                self.flow.fill(peer, is_full=False)
                work.extend(self.member.lose(peer, now_us))
            case MemberStalled(peer, why):
                self._sender.give_up(peer, why)
            case ProbeAnswered(process, said):
                work.extend(self.member.take_control(process, said, now_us))
            case ProbeReceived(view_number=view_number):
                work.extend(self.member.hear_question(view_number, now_us))
            case _:
                message = f"{type(noted).__name__} is nothing about a peer"
                raise AssertionError(message)

    def _take_timer(self, fired: TimerFired) -> None:
        timer, agenda, now_us = fired.timer, self._agenda, self._agenda.now_us
        late_us = agenda.fire(timer)
        if timer == HEARTBEAT:
            if self._beats:
                agenda.set_timer(HEARTBEAT, now_us + self._timing.heartbeat_us)
            effects: list[Effect] = [*self.member.tick(now_us, is_due=self.flow.is_due)]
            agenda.work.extend(effects)
            self._sender.look_for_stalls()
            if self._beats:
                self._beat(effects)
        elif timer == ACKNOWLEDGE:
            agenda.work.extend(self.member.acknowledge(now_us, withhold=self.flow.is_behind))
        else:
            self._take_part_timer(timer, late_us)

    _TAKE: ClassVar[dict[type, Callable[["Endpoint", Any], None]]] = {
        MulticastRequested: _send,
        LetterRequested: _send,
        CallRequested: PartInputs.ask_tools,
        CallAbandoned: PartInputs.ask_tools,
        RequestAnswered: PartInputs.ask_tools,
        TransactionRequested: PartInputs.ask_tools,
        VoteCast: PartInputs.ask_tools,
        StateSaved: PartInputs.move_state,
        PieceLoaded: PartInputs.move_state,
        ReaderLagged: _change,
        SendersWaited: _change,
        ReaderAdvanced: _change,
        LeaveRequested: _change,
        TakeOverRequested: _change,
        JoinRequested: _change,
        Stopped: _change,
        RunsReceived: _take_runs,
        LetterReceived: _take_letter,
        ControlReceived: _take_control,
        DatagramsReceived: PartInputs.take_datagrams,
        PeerHeard: _note_peer,
        PeerFilled: _note_peer,
        PeerLost: _note_peer,
        MemberStalled: _note_peer,
        ProbeAnswered: _note_peer,
        ProbeReceived: _note_peer,
        TimerFired: _take_timer,
    }

    _FROM_PEERS: ClassVar[frozenset[type]] = frozenset(
        {RunsReceived, LetterReceived, ControlReceived, ProbeAnswered}
    )

    _AFTERWARDS: ClassVar[frozenset[type]] = frozenset(
        {MulticastRequested, LetterRequested, ReaderAdvanced}
    )
    """What is taken from the application of a process that is out: its queue goes on."""

    # What follows.

    def _finish(self) -> list[Effect]:
        """Do what is to be done inside, send what may go out now; return the rest."""
        agenda, sender = self._agenda, self._sender
        work = agenda.work
        expectations, attention = self._expectations, self._attention
        if work:
            self._do_work()
        if not self.is_over:
            waiting = self.queue.waiting
            while waiting and sender.send_next():
                self._do_work()
            if waiting:
                work.extend(self.member.request_acknowledgement())
                self._do_work()
        if not self.is_over:
            if (
                self._transition.known is not expectations.known
                or attention.version != expectations.version
            ):
                agenda.done += expectations.news()
            sender.acknowledge_soon()
            self._set_part_timers()
            sender.admit()
        if expectations.idle:
            agenda.done = expectations.waken(agenda.done, agenda.now_us)
        return agenda.take()

    def _do_work(self) -> None:
        work = self._agenda.work
        if work and not self.is_over:
            expectations = self._expectations
            if (
                self._transition.known is not expectations.known
                or self._attention.version != expectations.version
            ):
                self._agenda.done += expectations.news()
        while work:
            effect = work.popleft()
            if type(effect) is DeliverRuns:
                self._deliver(effect)
            else:
                self._do(effect)

    def _beat(self, said: list[Effect]) -> None:
        """Be heard by everybody, unless they are told something else just now."""
        others = self._others()
        is_told = any(_is_alive(effect, others) for effect in said)
        if (idle := self._attention.idle) and not is_told:
            others = tuple(who for who in others if who not in idle)
        if others and not is_told and not self.member.membership.is_over:
            self._agenda.work.append(SendControl(others, _BEAT))

    def _others(self) -> tuple[ProcessId, ...]:
        """Return all whom this process tells how it stands."""
        return tuple(who for who in self._transition.everybody() if who != self.me)

    def _do(self, effect: Effect) -> None:
        match effect:
            case SendRun(alive=Alive() as alive):
                effect.alive = self.flow.say(alive)
            case SendControl(to, Alive() as alive) if to == self._others():
                effect.message = self.flow.say(alive)
            case InstallView(view):
                self._install(view)
                return
            case RestoreProcess(process):
                self._sender.restore(process)
            case LeaveGroup(why):
                self._agenda.done.append(effect)
                group = f"group {self.latest.group}" if self.latest is not None else "the group"
                self._end(f"{self.me} is out of {group}: {why}" if why else "")
                return
            case _:
                pass
        self._agenda.done.append(effect)

    def _deliver(self, delivery: DeliverRuns) -> None:
        """Let the tools see what is for them, in its place among all else."""
        runs, done = delivery.runs, self._agenda.done
        if len(runs) == 1 and runs[0].group == self.group:  # nearly always
            (run,) = runs
            done.append(delivery)
            if run.port not in _APPLICATION:
                done += self.ports.deliver(self.sender_of(run), run, self._agenda.now_us)
        elif all(run.port in _APPLICATION and run.group == self.group for run in runs):
            done.append(delivery)
        else:
            self._deliver_apart(runs)

    def _deliver_apart(self, runs: list[Run]) -> None:
        """Deliver runs of several groups, or for several ports."""
        done = self._agenda.done
        part: list[Run] = []
        for run in runs:
            if run.group != self.group:
                if part:
                    done.append(DeliverRuns(part))
                    part = []
                done.append(DeliverElsewhere(run.group, [run]))
                continue
            part.append(run)
            if run.port not in _APPLICATION:
                done.append(DeliverRuns(part))
                part = []
                done += self.ports.deliver(self.sender_of(run), run, self._agenda.now_us)
        if part:
            done.append(DeliverRuns(part))

    def _install(self, view: View) -> None:
        assert view.number not in self._views, "a view is installed once"
        self._views[view.number] = view
        if len(self._views) > VIEWS_MAX:
            del self._views[next(iter(self._views))]
        self.flow.enter(view)
        agenda = self._agenda
        agenda.done += self._expectations.news()
        agenda.done.append(InstallView(view))
        agenda.done += self.ports.enter(view, agenda.now_us)
        if self.ports.transfer is None and self.me in view.joined:
            agenda.work.extend(self.member.gain_state(agenda.now_us))

    def _end(self, why: str) -> None:
        """The process is out: what waits to be sent, and its calls, end with it."""
        assert not self.is_over, "a process ends once"
        self.is_over = True
        dropped = self.queue.end_incarnation() if self.has_been_member else self.queue.end_tools()
        self._agenda.done += self.ports.end(why or "this process has left", dropped)


def _is_alive(effect: Effect, to: tuple[ProcessId, ...]) -> bool:
    return isinstance(effect, SendControl) and type(effect.message) is Alive and effect.to == to


def _peer_of(happened: Any) -> ProcessId:  # noqa: ANN401 - any input of the network
    peer: ProcessId = happened.process if type(happened) is ProbeAnswered else happened.peer
    return peer

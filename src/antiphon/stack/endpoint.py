"""The endpoint: one process in one group, whole, as a machine.

    application    requests                          DeliverRuns  InstallView  HandRequest ...
                      |                                   ^            ^            ^
    tools          Ports: calls, commit, state -----------|------------|------------+
    send queue     SendQueue, FlowControl, Stalls         |            |
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

One exception to ``step``: ``receive``, the short way of a plain run, which is most of all traffic.
It does what ``step`` would do, for less; where it cannot, it does nothing and says so.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from antiphon.core.control import (
    Alive,
    StateChunk,
    StateTaken,
)
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, PORT_ORDER, Run
from antiphon.core.views import View
from antiphon.stack.effects import (
    AdmitSenders,
    DeliverRuns,
    Effect,
    ExpectPeers,
    GiveUpProcess,
    InstallView,
    LeaveGroup,
    RejectPeer,
    ReturnUnsent,
    SendControl,
    SendLetter,
    SendRun,
    SetTimer,
)
from antiphon.stack.flow_control import FlowControl
from antiphon.stack.inputs import (
    ACKNOWLEDGE,
    CALLS,
    HEARTBEAT,
    VOTES,
    CallAbandoned,
    CallRequested,
    ControlReceived,
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
    ReaderAdvanced,
    ReaderLagged,
    RequestAnswered,
    RunsReceived,
    SendersWaited,
    StateSaved,
    Stopped,
    Timer,
    TimerFired,
    TransactionRequested,
    VoteCast,
)
from antiphon.stack.member import Member
from antiphon.stack.ports import CommitOptions, Ports
from antiphon.stack.send_queue import SendQueue, WaitingLetter, WaitingRun
from antiphon.stack.settings import Settings
from antiphon.stack.stalls import Debt, Stalls

ACKNOWLEDGE_US = 5_000
"""How long an acknowledgement may wait that nobody has asked for, to serve several letters."""

TICKS_PER_VOTE = 20
"""How often a coordinator looks at its watch while it waits for votes."""

VOTE_TICK_US_MIN = 1_000
"""Nobody looks more often, however short the time for votes."""

VIEWS_MAX = 64
"""Views whose members are remembered, for letters that come late."""


class Endpoint:
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
    ) -> None:
        """Begin in ``view``, agreed on beforehand by all its members, or outside.

        ``queue`` is that of the incarnation before, if there was one.
        """
        self.me = me
        self.member = Member(me, view, settings, now_us)
        self.queue = queue if queue is not None else SendQueue(settings.limits.queued_bytes)
        self.flow = FlowControl(me, settings.limits, lambda: self.member.ordering.held_bytes)
        has_state = view is not None if with_state else None
        self.ports = Ports(me, self.queue, has_state=has_state, commit=commit)
        self.is_over = False
        """Whether the process is out of the group, or was stopped."""
        self._timing = settings.timing
        self._vote_tick_us = 0
        if commit is not None:
            self._vote_tick_us = max(commit.vote_us_max // TICKS_PER_VOTE, VOTE_TICK_US_MIN)
        self._stalls = Stalls(settings.timing.stall_us)
        self._now_us = now_us
        self._work: deque[Effect] = deque()
        self._done: list[Effect] = []
        self._timers: dict[Timer, int] = {}
        self._views: dict[int, View] = {}
        self._known: View | None = None
        self._admits = (False, False)

    def start(self) -> list[Effect]:
        """Return what is to be done first; to be called once, before any input is given."""
        self._set_timer(HEARTBEAT, self._now_us + self._timing.heartbeat_us)
        self._work.extend(self.member.take_effects())
        return self._finish()

    # What others ask, to look into.

    @property
    def view(self) -> View | None:
        """The current view."""
        return self.member.view

    @property
    def latest(self) -> View | None:
        """The last view agreed on, as far as this process knows."""
        return self.member.membership.latest

    @property
    def queue_depth(self) -> int:
        """Runs received that wait for something in their causal past, or for their turn."""
        return self.member.ordering.queue_depth

    def sender_of(self, run: Run) -> ProcessId:
        """Return who sent something that is being delivered; a letter may be of a past view."""
        return self._views[run.view].members[run.sender]

    # Inputs.

    def step(self, happened: Input, now_us: int) -> list[Effect]:
        """Take one input; return what is to be done, in order."""
        self._now_us = now_us
        kind = type(happened)
        if self.is_over:
            if kind not in _AFTERWARDS:
                return []
        elif kind in _FROM_PEERS:
            try:
                _TAKE[kind](self, happened)
            except PeerError as error:
                self._work.append(RejectPeer(_peer_of(happened), str(error)))
            return self._finish()
        _TAKE[kind](self, happened)
        return self._finish()

    def receive(self, peer: ProcessId, run: Run) -> bool:
        """Take a plain run that can be delivered at once: the short way.

        True: deliver it, that is all. False: nothing has been done; give it to ``step``. Whoever
        uses this gives ``PeerHeard`` along with it, once for everything that came together.
        """
        # What is for a tool has to be seen by it.
        return run.port == PORT_APPLICATION and self.member.receive_plain(peer, run)

    # The application.

    def _multicast(self, asked: MulticastRequested) -> None:
        item = WaitingRun(asked.how, asked.payloads, asked.byte_count)
        if self._is_void(asked.incarnation):
            self.queue.drop(item)
        elif (
            self.is_over
            or self.queue.waiting
            or self.queue.is_void
            or not self.member.may_multicast
        ):
            self.queue.put(item)
        else:
            self._send_run(item)

    def _send(self, asked: LetterRequested) -> None:
        if asked.to == self.me:
            message = "a letter goes to another member: a process has no need to send itself one"
            raise UsageError(message)
        item = WaitingLetter(asked.to, asked.payload, PORT_APPLICATION)
        if self._is_void(asked.incarnation):
            self.queue.drop(item)
        else:
            self.queue.put(item)

    def _is_void(self, incarnation: int) -> bool:
        """Whether what an application began to send in one incarnation belongs to an ended one."""
        return incarnation not in {0, self.queue.incarnation}

    def _call(self, asked: CallRequested) -> None:
        self.ports.call(asked)
        if asked.number and asked.deadline_us is not None:
            self._set_timer(CALLS, asked.deadline_us)

    def _abandon_call(self, abandoned: CallAbandoned) -> None:
        self.ports.abandon_call(abandoned.number)

    def _answer(self, answered: RequestAnswered) -> None:
        self.ports.answer(answered)

    def _begin(self, asked: TransactionRequested) -> None:
        self._work.extend(self.ports.begin(asked))

    def _vote(self, cast: VoteCast) -> None:
        self._work.extend(self.ports.vote(cast))

    def _give_state(self, saved: StateSaved) -> None:
        if self.ports.transfer is not None:
            effects = self.ports.transfer.give(saved.number, saved.state)
            self._work.extend(self.ports.transferred(effects))

    def _load_next(self, loaded: PieceLoaded) -> None:
        transfer = self.ports.transfer
        if transfer is None:
            return
        had_state = transfer.has_state
        self._work.extend(self.ports.transferred(transfer.took(loaded.number)))
        if transfer.has_state and not had_state:
            self._work.extend(self.member.gain_state(self._now_us))

    def _lag(self, lagged: ReaderLagged) -> None:
        self.flow.lag(is_behind=lagged.is_behind)

    def _let_wait(self, waited: SendersWaited) -> None:
        self.flow.are_senders_waiting = waited.is_waiting

    def _advance(self, advanced: ReaderAdvanced) -> None:
        self.queue.come_to(advanced.incarnation)
        unsent = self.queue.tell()
        if unsent:
            self._work.append(ReturnUnsent(unsent))

    def _leave(self, _: LeaveRequested) -> None:
        self._work.extend(self.member.leave(self._now_us))

    def _join(self, asked: JoinRequested) -> None:
        self._work.extend(self.member.ask_to_join(asked.contact, self._now_us))

    def _stop(self, stopped: Stopped) -> None:
        if not self.is_over:
            self._end(stopped.why)

    # The network.

    def _take_runs(self, received: RunsReceived) -> None:
        for run in received.runs:
            self._work.extend(
                self.member.take_run(received.peer, run, self._now_us, relayed=received.is_relayed)
            )
            self._do_work()
            if self.is_over:
                return
        if self.member.is_confirmation_due:
            self._work.extend(self.member.confirm_receipts(self._now_us))

    def _take_letter(self, received: LetterReceived) -> None:
        self._work.extend(self.member.take_letter(received.peer, received.letter, self._now_us))

    def _take_control(self, received: ControlReceived) -> None:
        peer, message = received.peer, received.message
        if isinstance(message, StateChunk | StateTaken):
            self.member.hear(peer, self._now_us)
            self._work.extend(self.ports.receive_state(peer, message))
            return
        if isinstance(message, Alive):
            self.flow.hear(peer, message)
        self._work.extend(self.member.take_control(peer, message, self._now_us))

    def _hear(self, heard: PeerHeard) -> None:
        self.member.hear(heard.peer, self._now_us)

    def _lose(self, lost: PeerLost) -> None:
        self.flow.fill(lost.peer, is_full=False)
        self._work.extend(self.member.lose(lost.peer, self._now_us))

    def _fill(self, filled: PeerFilled) -> None:
        self.flow.fill(filled.peer, is_full=filled.is_full)

    def _take_answer(self, answered: ProbeAnswered) -> None:
        self._work.extend(self.member.take_control(answered.process, answered.said, self._now_us))

    # Time.

    def _set_timer(self, timer: Timer, time_us: int) -> None:
        """Have a timer fire at ``time_us``, unless it does so earlier anyway."""
        before_us = self._timers.get(timer)
        if before_us is None or time_us < before_us:
            self._timers[timer] = time_us
            self._done.append(SetTimer(timer, time_us))

    def _take_timer(self, fired: TimerFired) -> None:
        timer, now_us = fired.timer, self._now_us
        self._timers.pop(timer, None)
        if timer == HEARTBEAT:
            self._set_timer(HEARTBEAT, now_us + self._timing.heartbeat_us)
            self._work.extend(self.member.tick(now_us))
            self._give_up_stalled()
        elif timer == ACKNOWLEDGE:
            self._work.extend(self.member.pay(now_us, withhold=self.flow.is_behind))
        elif timer == VOTES:
            self._work.extend(self.ports.look_at_votes(now_us))
        elif timer == CALLS:
            self._work.extend(self.ports.end_late_calls(now_us))
            deadline_us = self.ports.calls.deadline_us
            if deadline_us is not None:
                self._set_timer(CALLS, deadline_us)

    def _give_up_stalled(self) -> None:
        if not self.queue.waiting and not self.flow.are_senders_waiting:
            self._stalls.forget()
            return
        for who, why in self._stalls.look(self._now_us, self._debts()):
            self._give_up(MemberStalled(who, why))

    def _give_up(self, stalled: MemberStalled) -> None:
        self._work.append(GiveUpProcess(stalled.peer, stalled.why))
        self._work.extend(self.member.lose(stalled.peer, self._now_us, is_certain=False))

    def _debts(self) -> dict[Debt, int]:
        """Return who holds senders up, and how far each has come."""
        member, view = self.member, self.member.view
        if view is None or not member.is_open:
            return {}
        found: dict[Debt, int] = {}
        awaited = member.letters.waiting_for
        if awaited is not None:
            found[awaited, "letter"] = member.letters.acknowledged_by(awaited)
        if not self.flow.has_room(member.kept_bytes, view.members):
            sent = member.received()[view.rank_of(self.me)]
            for who in view.members:
                count = self.flow.confirmed.get(who, 0)
                if who != self.me and (who in self.flow.full or count < sent):
                    found[who, "messages"] = count
        return found

    # What follows.

    def _finish(self) -> list[Effect]:
        """Do what is to be done inside, send what may go out now; return the rest."""
        self._do_work()
        while self.queue.waiting and not self.is_over and self._send_next():
            self._do_work()
        if not self.is_over:
            if self.queue.waiting:
                self._work.extend(self.member.hurry())
                self._do_work()
            self._acknowledge_soon()
            self._look_at_votes_soon()
            self._admit()
        done, self._done = self._done, []
        return done

    def _do_work(self) -> None:
        work = self._work
        if work and not self.is_over:
            latest = self.member.membership.latest
            if latest is not self._known and latest is not None:
                self._expect(latest)
        while work:
            self._do(work.popleft())

    def _expect(self, latest: View) -> None:
        self._known = latest
        everybody = self.member.membership.transition.everybody()
        self._done.append(ExpectPeers(tuple(everybody)))

    def _do(self, effect: Effect) -> None:
        match effect:
            case DeliverRuns():
                self._deliver(effect)
                return
            case SendRun(alive=Alive() as alive):
                effect.alive = self.flow.say(alive)
            case SendControl(message=Alive() as alive):
                effect.message = self.flow.say(alive)
            case InstallView(view):
                self._install(view)
                return
            case LeaveGroup(why):
                self._done.append(effect)
                self._end(f"{self.me} is out of the group: {why}" if why else "")
                return
            case _:
                pass
        self._done.append(effect)

    def _deliver(self, delivery: DeliverRuns) -> None:
        """Let the tools see what is for them, in its place among all else."""
        runs = delivery.runs
        if all(run.port in _APPLICATION for run in runs):
            self._done.append(delivery)
            return
        part: list[Run] = []
        for run in runs:
            part.append(run)
            if run.port not in _APPLICATION:
                self._done.append(DeliverRuns(part))
                part = []
                self._done += self.ports.deliver(self.sender_of(run), run, self._now_us)
        if part:
            self._done.append(DeliverRuns(part))

    def _install(self, view: View) -> None:
        self._views[view.number] = view
        if len(self._views) > VIEWS_MAX:
            del self._views[next(iter(self._views))]
        self.flow.enter(view)
        latest = self.member.membership.latest
        assert latest is not None, "it is in a view"
        self._expect(latest)
        self._done.append(InstallView(view))
        self._done += self.ports.enter(view, self._now_us)
        if self.ports.transfer is None and self.me in view.joined:
            self._work.extend(self.member.gain_state(self._now_us))

    def _end(self, why: str) -> None:
        """The process is out: what waits to be sent, and its calls, end with it."""
        self.is_over = True
        has_been_member = bool(self._views)
        dropped = self.queue.end_incarnation() if has_been_member else self.queue.end_tools()
        self._done += self.ports.end(why or "this process has left", dropped)

    # Sending what waits.

    def _send_next(self) -> bool:
        """Send the first thing that waits, or drop it; return whether it may go out now."""
        item = self.queue.waiting[0]
        member = self.member
        if isinstance(item, WaitingRun):
            if not member.may_multicast:
                return False
            self.queue.take()
            self._send_run(item)
        elif member.has_member(item.to):
            if not self._may_send(item):
                return False
            self.queue.take()
            letter = member.write_letter(item.to, item.payload, item.port)
            self._done.append(SendLetter(item.to, letter))
        elif member.may_multicast:  # in a view, and one without that process
            self.queue.take()
        else:
            return False
        return True

    def _may_send(self, letter: WaitingLetter) -> bool:
        """Whether a letter may go out now.

        The application's go one by one: who does not read does not acknowledge, and is to hold
        its correspondents up.
        """
        if not self.member.may_send(letter.to):
            return False
        return letter.port != PORT_APPLICATION or self.member.letters.waiting_for is None

    def _send_run(self, item: WaitingRun) -> None:
        order, uniform, port = item.how
        self._work.extend(
            self.member.multicast(
                item.payloads, order, self._now_us, item.byte_count, uniform=uniform, port=port
            )
        )

    # What is to happen later.

    def _acknowledge_soon(self) -> None:
        member = self.member
        if member.owes_nothing:
            return
        letters, withhold = member.letters, self.flow.is_behind
        if member.is_due or letters.is_payable(withhold=withhold):
            self._set_timer(ACKNOWLEDGE, self._now_us)
        elif letters.owed and (not withhold or any(letters.owed.values())):
            self._set_timer(ACKNOWLEDGE, self._now_us + ACKNOWLEDGE_US)

    def _look_at_votes_soon(self) -> None:
        commit = self.ports.commit
        if commit is not None and commit.open_count and VOTES not in self._timers:
            self._set_timer(VOTES, self._now_us + self._vote_tick_us)

    def _admit(self) -> None:
        member, queue = self.member, self.queue
        view = member.view
        may = (
            view is not None
            and member.is_open
            and not queue.is_full
            and self.flow.has_room(member.kept_bytes, view.members)
        )
        admits = may, may and queue.takes_letters
        if admits != self._admits:
            self._admits = admits
            self._done.append(AdmitSenders(*admits))


_APPLICATION = frozenset({PORT_APPLICATION, PORT_ORDER})

_AFTERWARDS = frozenset({MulticastRequested, LetterRequested, ReaderAdvanced, Stopped})
"""Inputs that are taken from the application of a process that is out: the queue goes on."""

_FROM_PEERS = frozenset({RunsReceived, LetterReceived, ControlReceived, ProbeAnswered})

_TAKE: dict[type, Callable[[Endpoint, Any], None]] = {
    MulticastRequested: Endpoint._multicast,
    LetterRequested: Endpoint._send,
    CallRequested: Endpoint._call,
    CallAbandoned: Endpoint._abandon_call,
    RequestAnswered: Endpoint._answer,
    TransactionRequested: Endpoint._begin,
    VoteCast: Endpoint._vote,
    StateSaved: Endpoint._give_state,
    PieceLoaded: Endpoint._load_next,
    ReaderLagged: Endpoint._lag,
    SendersWaited: Endpoint._let_wait,
    ReaderAdvanced: Endpoint._advance,
    LeaveRequested: Endpoint._leave,
    JoinRequested: Endpoint._join,
    Stopped: Endpoint._stop,
    RunsReceived: Endpoint._take_runs,
    LetterReceived: Endpoint._take_letter,
    ControlReceived: Endpoint._take_control,
    PeerHeard: Endpoint._hear,
    PeerLost: Endpoint._lose,
    MemberStalled: Endpoint._give_up,
    PeerFilled: Endpoint._fill,
    ProbeAnswered: Endpoint._take_answer,
    TimerFired: Endpoint._take_timer,
}


def _peer_of(happened: Any) -> ProcessId:  # noqa: ANN401 - any input of the network
    peer: ProcessId = happened.process if type(happened) is ProbeAnswered else happened.peer
    return peer

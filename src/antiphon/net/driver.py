"""The network driver of one incarnation of a process: from its first greeting to its last bye.

Law: the driver only carries. What it hears it gives to the machine (``stack.endpoint``), one input
at a time, and does what the machine returns, in order (docs/machine.md):

- What the application has multicast is given before anything that has arrived since: it does not
  depend on it.
- A run is encoded once, and the same bytes go to every member of the view.
- Runs, relayed runs and control messages share one session per pair (``session``), for the
  machine needs them in order.
- Deliveries, views and requests go to the application's side (``Application``).
- Whatever arrives, read by read, is a sign of life of its sender.

An excluded process can come back only as another incarnation.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from antiphon.core.control import FoundingAnswer, JoinRequest, Out, Situation, Standing
from antiphon.core.errors import AntiphonError, PeerError
from antiphon.core.frames import Control, Frame, Post, Relay, Runs
from antiphon.core.greeting import Greeting
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Letter, Run
from antiphon.core.views import View
from antiphon.net.asking import Answer
from antiphon.net.heartbeat import Lateness
from antiphon.net.identity import Identity
from antiphon.net.mesh import Mesh
from antiphon.net.outlet import Outlet
from antiphon.net.peer import Peer, now_us
from antiphon.net.session import ACK_BYTES
from antiphon.stack.effects import (
    BlockGroup,
    DeliverRuns,
    Effect,
    ExpectPeers,
    GiveUpProcess,
    IgnoreMessage,
    InstallView,
    LeaveGroup,
    ProbeProcess,
    RejectPeer,
    RelayRuns,
    RestoreProcess,
    ResumeGroup,
    SendControl,
    SendLetter,
    SendRun,
    SetTimer,
    SuspectProcess,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    HEARTBEAT,
    ControlReceived,
    Input,
    JoinRequested,
    LeaveRequested,
    LetterReceived,
    PeerFilled,
    PeerHeard,
    PeerLost,
    ProbeAnswered,
    ProbeReceived,
    RunsReceived,
    Stopped,
    Timer,
    TimerFired,
)
from antiphon.stack.member import Member
from antiphon.stack.ports import CommitOptions
from antiphon.stack.send_queue import SendQueue
from antiphon.trace.schema import LEFT

if TYPE_CHECKING:
    from antiphon.net.recorder import Recorder

HEAR_US = 1_000
"""Signs of life closer together than this count as one: a heartbeat is much longer."""

_log = logging.getLogger("antiphon")


class Application(Protocol):
    """The application's side of everything that happens."""

    def flush(self) -> None:
        """Give what the application has multicast."""

    def on_deliver(self, runs: list[Run]) -> None:
        """Hand runs to the application."""

    def on_view(self, view: View) -> None:
        """A view has begun."""

    def on_block(self, reachable: tuple[ProcessId, ...] | None) -> None:
        """The group is blocked here; or, if None, goes on."""

    def on_room(self) -> None:
        """A connection has come or gone, or takes more: whoever waits may look again."""

    def on_answer(self, peer: Peer, answer: Answer) -> bool:
        """While founding: take what was found at a member's address; False to try no further."""

    def on_effect(self, effect: Effect) -> None:
        """Do what is left to the application: admissions, calls, votes, state."""

    def on_vote(self, question: bytes) -> FoundingAnswer | None:
        """Vote on who founds the group, if this process has a vote."""

    def on_operator(self, order: str, number: int, who: str) -> Situation:
        """Do what an operator orders; return how this process stands then."""

    def on_over(self, end: LeaveGroup) -> None:
        """The incarnation has ended: it left (no ``end.why``), was excluded, or not taken in."""


class Driver:
    """One incarnation of a process on the network."""

    def __init__(
        self,
        application: Application,
        identity: Identity,
        queue: SendQueue,
        *,
        commit: CommitOptions | None = None,
        trace: Path | None = None,
        delay_s_max: float = 0.0,
    ) -> None:
        """Prepare; a founder waits for the other founding members, see :meth:`begin`."""
        self._application = application
        self._queue = queue
        self._commit = commit
        self.identity = identity
        self.process, self.start = identity.process, identity.start
        self.domain, self.founding = identity.domain, identity.founding
        self.delay_s_max = delay_s_max
        self._trace = trace
        self.recorder: Recorder | None = None
        self.endpoint: Endpoint | None = None
        """The machine, once it has begun."""
        self.mesh = Mesh(self)
        self.outlet = Outlet(self.mesh, self.domain)
        self._inputs: deque[Input] = deque()
        self._is_working = False
        self._timers: dict[Timer, asyncio.Handle] = {}
        self._fault: str | None = None
        self._lateness = Lateness(str(self.process), identity.settings.timing)
        self._beat_us = 0
        self.is_over = False

    # What others ask.

    @property
    def member(self) -> Member | None:
        """Its part in views and orders, to look into."""
        return self.endpoint.member if self.endpoint is not None else None

    @property
    def is_founding(self) -> bool:
        """Whether the group is still to begin."""
        return self.endpoint is None

    @property
    def view_number(self) -> int:
        """The number of the last view agreed on, as far as this process knows; 0 outside."""
        latest = self.latest
        return latest.number if latest is not None else 0

    @property
    def latest(self) -> View | None:
        """The last view agreed on, as far as this process knows."""
        return self.identity.founding_view if self.endpoint is None else self.endpoint.latest

    @property
    def has_state(self) -> bool:
        """Whether this process has the group's state, where there is one."""
        transfer = self.endpoint.ports.transfer if self.endpoint is not None else None
        return transfer is None or transfer.has_state

    def sender_of(self, run: Run) -> ProcessId:
        """Return who sent something that is being delivered."""
        assert self.endpoint is not None, "it delivers"
        return self.endpoint.sender_of(run)

    def has_accepted(self, process: ProcessId) -> bool:
        """Whether this process has accepted a process for the next view."""
        return self.member is not None and self.member.membership.has_accepted(process)

    def greeting(
        self, other: ProcessId, to: int = 0, received: int = 0, *, is_asking: bool = False
    ) -> Greeting:
        """Return what to say to ``other``; who is out itself knows of no view."""
        return self.identity.greeting(
            other, None if self.is_over else self.latest, to=to, received=received,
            is_founding=self.is_founding, is_asking=is_asking,
        )  # fmt: skip

    def answer(
        self, asker: Greeting, *, has_channel: bool
    ) -> Out | Standing | FoundingAnswer | None:
        """Return what to tell who asks, beside the greeting; nothing to founding members."""
        if asker.question and (vote := self._application.on_vote(asker.question)) is not None:
            return vote
        if self.member is None or asker.founding or asker.process == self.process:
            return None
        return self.member.membership.answer(asker.process, asker.view, has_channel=has_channel)

    # Beginning and ending.

    def open(self) -> None:
        """As a founder: connect to the other founding members."""
        assert self.identity.founding_view is not None, "joiners begin with a contact"
        self.mesh.expect(list(self.identity.founding_view.members))

    def begin(self) -> None:
        """Start the machine: every founding member is there, or this process joins."""
        if self._trace is not None:
            # Imported here: nobody who traces nothing should wait for what tracing needs.
            from antiphon.net.recorder import Recorder  # noqa: PLC0415

            self.recorder = Recorder(self._trace, str(self.process), self.identity.group)
        identity = self.identity
        self.endpoint = Endpoint(
            self.process, identity.founding_view, identity.settings, now_us(), queue=self._queue,
            with_state=identity.with_state, commit=self._commit,
        )  # fmt: skip
        self._do_all(self.endpoint.start())

    def ask_to_join(self, contact: ProcessId) -> None:
        """As a joiner: ask a member to be taken in."""
        self.give(JoinRequested(contact))

    def leave(self) -> None:
        """Ask to leave."""
        self.give(LeaveRequested())

    async def close(self, detail: str) -> None:
        """Stop for good; ``detail`` says how, in the journal."""
        self.is_over = True
        for timer in self._timers.values():
            timer.cancel()
        if self.endpoint is not None:
            self._inputs.append(Stopped(detail))
            self._work(self.endpoint)
        try:
            await self.mesh.close(has_left=detail == LEFT)
        finally:
            recorder, self.recorder = self.recorder, None
            if recorder is not None:
                recorder.close(detail)

    # Driving the machine.

    def give(self, happened: Input) -> None:
        """Give an input to the machine, after those that wait, and do what it returns."""
        if self.endpoint is not None:
            self._inputs.append(happened)
            if not self._is_working:
                self._work(self.endpoint)

    def _work(self, endpoint: Endpoint) -> None:
        while self._inputs:
            self._do_all(endpoint.step(self._inputs.popleft(), now_us()))

    def _do_all(self, effects: list[Effect]) -> None:
        """Do effects in order; what is given meanwhile waits until they are done."""
        self._is_working = True
        try:
            for effect in effects:
                do = self._DO.get(type(effect))
                if do is not None:
                    do(self, effect)
                else:
                    self._application.on_effect(effect)
        finally:
            self._is_working = False
        if self._inputs and self.endpoint is not None:
            self._work(self.endpoint)

    # What the network does.

    def _send_run(self, sent: SendRun) -> None:
        overhead_bytes = self.outlet.send_run(sent.run, sent.alive)
        if self.recorder is not None:
            self.recorder.run("multicast", sent.run, self._queue_depth(), overhead_bytes)

    def _send_letter(self, sent: SendLetter) -> None:
        self.outlet.send_letter(sent.to, sent.letter)
        if self.recorder is not None:
            self.recorder.letter("send", str(sent.to), sent.letter.byte_count)

    def _send_control(self, sent: SendControl) -> None:
        self.outlet.send(sent.to, sent.message)

    def _relay(self, relayed: RelayRuns) -> None:
        self.outlet.relay(relayed.to, relayed.runs)

    def _look_after_peer(self, effect: Effect) -> None:
        match effect:
            case ExpectPeers(processes):
                self.mesh.expect(list(processes))
            case ProbeProcess(process):
                self.mesh.probe(process)
            case RestoreProcess(process):
                self.mesh.restore(process)
            case GiveUpProcess(process, why):
                self.mesh.give_up(process, why)
            case _:
                assert isinstance(effect, RejectPeer), "nothing else is about a peer"
                self._fault = effect.why

    # What the application sees.

    def _deliver(self, delivery: DeliverRuns) -> None:
        self._hand_over(delivery.runs)

    def _hand_over(self, runs: list[Run]) -> None:
        if self.recorder is not None:
            for run in runs:
                if isinstance(run, Letter):
                    self.recorder.letter("take", str(self.sender_of(run)), run.byte_count)
                else:
                    self.recorder.run("deliver", run, self._queue_depth())
        self._application.on_deliver(runs)

    def _queue_depth(self) -> int:
        return self.endpoint.queue_depth if self.endpoint is not None else 0

    def _install(self, installed: InstallView) -> None:
        view = installed.view
        if self.recorder is not None:
            self.recorder.view(view)
        if self.process in view.members:
            self.outlet.rank = view.rank_of(self.process)
            others = (member for member in view.members if member != self.process)
            self.mesh.set_members(tuple(others))
        self._application.on_view(view)

    def _note_blocked(self, noted: BlockGroup | ResumeGroup) -> None:
        reachable = noted.reachable if isinstance(noted, BlockGroup) else None
        if self.recorder is not None:
            self.recorder.block(reachable)
        self._application.on_block(reachable)

    def _note_suspect(self, suspected: SuspectProcess) -> None:
        process = suspected.process
        peer = self.mesh.peers.get(process)
        why = peer.why if peer is not None and peer.why else "nothing was heard of it for too long"
        _log.warning("%s suspects %s: %s", self.process, process, why)
        if self.recorder is not None:
            self.recorder.suspect(str(process), why)

    def _note_ignored(self, ignored: IgnoreMessage) -> None:
        what = "%s ignores a word of %s to a tool of the group: %s"
        _log.warning(what, self.process, ignored.sender, ignored.why)

    def _end(self, end: LeaveGroup) -> None:
        self.is_over = True
        for timer in self._timers.values():
            timer.cancel()
        self._application.on_over(end)

    # Time.

    def _set_timer(self, asked: SetTimer) -> None:
        timer, time_us = asked.timer, asked.time_us
        before = self._timers.get(timer)
        if before is not None:
            before.cancel()
        if timer == HEARTBEAT:
            self._beat_us = time_us
        loop = asyncio.get_running_loop()
        delay_us = time_us - now_us()
        if delay_us <= 0:
            self._timers[timer] = loop.call_soon(self._fire, timer)
        else:
            self._timers[timer] = loop.call_later(delay_us / 1e6, self._fire, timer)

    def _fire(self, timer: Timer) -> None:
        del self._timers[timer]
        if self.is_over:
            return
        if timer == HEARTBEAT:
            fired_us = now_us()
            self._lateness.note(fired_us / 1e6, (fired_us - self._beat_us) / 1e6)
        self._application.flush()
        self.give(TimerFired(timer))
        if timer == HEARTBEAT:
            self.mesh.sweep()
            self._application.on_room()

    _DO: ClassVar[dict[type, Callable[["Driver", Any], None]]] = {
        SendRun: _send_run,
        DeliverRuns: _deliver,
        SendControl: _send_control,
        SetTimer: _set_timer,
        RelayRuns: _relay,
        SendLetter: _send_letter,
        InstallView: _install,
        ExpectPeers: _look_after_peer,
        ProbeProcess: _look_after_peer,
        RestoreProcess: _look_after_peer,
        GiveUpProcess: _look_after_peer,
        RejectPeer: _look_after_peer,
        BlockGroup: _note_blocked,
        ResumeGroup: _note_blocked,
        SuspectProcess: _note_suspect,
        IgnoreMessage: _note_ignored,
        LeaveGroup: _end,
    }
    """What the driver does itself; the rest is for the application's side."""

    # What the mesh calls.

    def on_frame(self, peer: Peer, frame: Frame) -> None:
        """Give what has come to the machine; raise PeerError if no correct process sends that."""
        if self.is_over:
            return
        if self.endpoint is None:
            self._begin_early()
        self._application.flush()  # what was multicast before this arrival does not depend on it
        endpoint = self.endpoint
        if endpoint is None or self.is_over:
            return
        self._take(endpoint, peer.process, frame)
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise PeerError(fault)

    def _take(self, endpoint: Endpoint, peer: ProcessId, frame: Frame) -> None:
        if isinstance(frame, Runs):
            for run in frame.runs:
                self._take_run(endpoint, peer, run, is_relayed=False)
        elif isinstance(frame, Post):
            self.give(LetterReceived(peer, frame.letter))
        elif isinstance(frame, Control):
            if not self._is_doubtful(frame):
                self.give(ControlReceived(peer, frame.message))
        elif isinstance(frame, Relay):
            for run in frame.runs:
                self._take_run(endpoint, peer, run, is_relayed=True)

    def _take_run(self, endpoint: Endpoint, peer: ProcessId, run: Run, *, is_relayed: bool) -> None:
        if self.is_over or self._fault is not None:
            return
        if not is_relayed and endpoint.receive(peer, run):
            if self.recorder is not None:
                self.recorder.run("receive", run, self._queue_depth())
            self._hand_over([run])
            return
        is_current = endpoint.view is not None and run.view == endpoint.view.number
        effects = endpoint.step(RunsReceived(peer, (run,), is_relayed), now_us())
        if self.recorder is not None and is_current:
            self.recorder.run("receive", run, self._queue_depth())
        self._do_all(effects)

    def _is_doubtful(self, frame: Control) -> bool:
        """Whether a joiner claims the address of a member that seems to be there.

        Nobody else can listen where that one does: so look, and let the joiner ask again.
        """
        request = frame.message
        return isinstance(request, JoinRequest) and self.mesh.is_taken(request.process)

    def _begin_early(self) -> None:
        """Somebody has seen all founding members connected: the group has begun."""
        try:
            self.begin()
        except AntiphonError as error:  # the journal cannot be written
            self._end(LeaveGroup(str(error), is_refused=True))

    def on_read(self, peer: Peer) -> None:
        """A peer has been heard."""
        if self.endpoint is None or self.is_over:
            return
        heard_us = now_us()
        if heard_us - peer.heard_us >= HEAR_US:
            peer.heard_us = heard_us
            self.give(PeerHeard(peer.process))
        if peer.session.unsaid_bytes >= ACK_BYTES:
            self.mesh.acknowledge(peer)

    def on_full(self, peer: Peer, *, is_full: bool) -> None:
        """A peer takes no more for now; or takes more again."""
        self.give(PeerFilled(peer.process, is_full))

    def on_room(self) -> None:
        """Pass it on."""
        self._application.on_room()

    def on_answer(self, peer: Peer, answer: Answer) -> bool:
        """Pass it on."""
        return self._application.on_answer(peer, answer)

    def on_dead(self, peer: Peer, why: str) -> None:
        """A peer is dead, or lies: tell the machine."""
        if self.is_over or peer.is_condemned:
            return
        self.mesh.condemn(peer, why, is_certain=True)
        self._application.flush()
        self.give(PeerLost(peer.process))
        self._application.on_room()

    def on_asked(self, process: ProcessId, view_number: int) -> None:
        """A process that shows the secret of its session asks, in a view of this number."""
        if not self.is_over:
            self.give(ProbeReceived(process, view_number))

    def serve_operator(self, order: str, number: int, who: str) -> Situation:
        """Pass it on."""
        return self._application.on_operator(order, number, who)

    def on_said(self, process: ProcessId, said: Out | Standing) -> None:
        """Who was asked says that this process is no member any more, or how it stands."""
        if not self.is_over:
            self.give(ProbeAnswered(process, said))

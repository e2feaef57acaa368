"""A life: one process as a member of its group, from its first handshake to its last bye.

Law: the life only carries. What it hears it hands to the machine (``stack.member``), one thing at
a time, and does what the machine returns, in order:

- A run is encoded once, and the same bytes go to every member of the view.
- Runs, relayed runs and control messages share one session per pair (``session``), for the
  machine needs them in order.
- Deliveries and views go into the group's one stream.
- A heartbeat is a timer; whatever arrives, read by read, is a sign of life of its sender.

An excluded process can come back only as another life.
"""

import logging
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from antiphon.core.control import Alive, Out, Standing, StateChunk, StateTaken
from antiphon.core.errors import AntiphonError
from antiphon.core.frames import Frame
from antiphon.core.handshake import Handshake
from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, Letter, Run
from antiphon.core.views import View
from antiphon.membership.effects import (
    BlockGroup,
    DeliverRuns,
    Effect,
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
from antiphon.net.heartbeat import Heartbeat
from antiphon.net.intake import Intake
from antiphon.net.life_owner import Owner
from antiphon.net.outlet import Outlet
from antiphon.net.paying import Payer
from antiphon.net.recorder import Recorder
from antiphon.net.session.identity import Identity
from antiphon.net.session.mesh import Mesh
from antiphon.net.session.peer import Peer
from antiphon.net.session.probe import Answer
from antiphon.net.session.session import ACK_BYTES
from antiphon.net.state_keeper import State, StateKeeper
from antiphon.net.transport.environment import Environment
from antiphon.stack.member import Member
from antiphon.stack.outgoing import How
from antiphon.trace.schema import LEFT

UNSTABLE_BYTES_MAX = 16 * 1024 * 1024
"""Bytes that have not reached everybody for certain before senders wait."""

HELD_BYTES_MAX = 16 * 1024 * 1024
"""Bytes held in the delay queue before receipts are no longer confirmed."""

HEAR_US = 1_000
"""Signs of life closer together than this count as one: a heartbeat is much longer."""

VIEWS_MAX = 64
"""Views whose members are remembered, for letters that come late."""

CONFIRM_BYTES = 4 * 1024 * 1024
"""Bytes received that are confirmed without waiting for the heartbeat."""

_log = logging.getLogger("antiphon")

_Change = (
    InstallView | BlockGroup | ResumeGroup | SuspectProcess | LeaveGroup
    | ProbeProcess | RestoreProcess
)  # fmt: skip


class Life:
    """One life of a process."""

    def __init__(
        self,
        owner: Owner,
        identity: Identity,
        environment: Environment,
        *,
        state: State | None = None,
        trace: Path | None = None,
        delay_s_max: float = 0.0,
    ) -> None:
        """Prepare; a founder waits for the other founding members, see :meth:`begin`."""
        self._owner = owner
        self.identity = identity
        self.environment, self.now_us = environment, environment.now_us
        self.process, self.start = identity.process, identity.start
        self.domain, self.founding = identity.domain, identity.founding
        self.keeper: StateKeeper | None = None
        """Saves and loads the application's state, if it has one."""
        if state is not None:
            has_state = identity.founding_view is not None
            self.keeper = StateKeeper(self, identity.process, state, has_state=has_state)
        self.delay_s_max = delay_s_max
        self._trace = trace
        self.recorder: Recorder | None = None
        self.member: Member | None = None
        """The machine, once the life has begun."""
        self.mesh = Mesh(self)
        self.outlet = Outlet(self.mesh, self.domain, self.is_behind)
        self._known: View | None = None
        self._views: dict[int, View] = {}
        self._heartbeat = Heartbeat(str(self.process), identity.settings.timing, self._tick)
        self._effects: deque[Effect] = deque()
        self._is_working = False
        self._payer = Payer(self)
        self.intake = Intake(self)
        self.is_over = False

    # What others ask.

    @property
    def is_founding(self) -> bool:
        """Whether the group is still to begin."""
        return self.member is None

    @property
    def view_number(self) -> int:
        """The number of the last view agreed on, as far as this process knows; 0 outside."""
        latest = self.latest
        return latest.number if latest is not None else 0

    @property
    def latest(self) -> View | None:
        """The last view agreed on, as far as this process knows."""
        if self.member is None:
            return self.identity.founding_view
        return self.member.membership.latest

    @property
    def held_runs(self) -> int:
        """Runs received that wait for something in their causal past."""
        return self.member.ordering.queue_depth if self.member is not None else 0

    @property
    def is_open(self) -> bool:
        """Whether the group takes what is sent, at once or when a letter has arrived."""
        return self.member is not None and not self.is_over and self.member.is_open

    @property
    def may_multicast(self) -> bool:
        """Whether a multicast would go out now."""
        return self.member is not None and not self.is_over and self.member.may_multicast

    def hurry(self) -> None:
        """There is something to send: see to it that no letter holds it up for long."""
        if self.member is not None and not self.is_over:
            self.do(self.member.hurry())

    def may_send(self, to: ProcessId, port: int) -> bool:
        """Whether a letter would go out now.

        The application's go one by one: who does not read does not acknowledge, and is to hold
        its correspondents up.
        """
        member = self.member
        if member is None or self.is_over or not member.may_send(to):
            return False
        return port != PORT_APPLICATION or member.letters.waiting_for is None

    def has_member(self, process: ProcessId) -> bool:
        """Whether a process is in the current view."""
        view = self.member.view if self.member is not None else None
        return view is not None and process in view.members

    def has_accepted(self, process: ProcessId) -> bool:
        """Whether this process has accepted a process for the next view."""
        return self.member is not None and self.member.membership.has_accepted(process)

    @property
    def has_room(self) -> bool:
        """Whether little enough is on its way for more to follow."""
        if self.member is None or not self.mesh.is_writable:
            return False
        return self.member.kept_bytes <= UNSTABLE_BYTES_MAX

    def handshake(
        self, other: ProcessId, to: int = 0, received: int = 0, *, is_asking: bool = False
    ) -> Handshake:
        """Return what to say to ``other``; who is out itself knows of no view."""
        return self.identity.handshake(
            other, None if self.is_over else self.latest, to=to, received=received,
            is_founding=self.is_founding, is_asking=is_asking,
        )  # fmt: skip

    def answer(self, asker: Handshake, *, has_channel: bool) -> Out | Standing | None:
        """Return what to tell who asks, beside the handshake; nothing to founding members."""
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
        journal = self.environment.open_journal(self._trace, str(self.process))
        if journal is not None:
            group = self.identity.group
            self.recorder = Recorder(journal, str(self.process), group, self.environment)
        self.member = Member(
            self.process, self.identity.founding_view, self.identity.settings, self.now_us()
        )
        self._heartbeat.begin()
        self.do(self.member.take_effects())

    def ask_to_join(self, contact: ProcessId) -> None:
        """As a joiner: ask a member to be taken in."""
        if self.member is not None and not self.is_over:
            self.do(self.member.ask_to_join(contact, self.now_us()))

    def leave(self) -> None:
        """Ask to leave."""
        if self.member is not None and not self.is_over:
            self.do(self.member.leave(self.now_us()))

    async def close(self, detail: str) -> None:
        """Stop for good; ``detail`` says how, in the journal."""
        self.is_over = True
        self._payer.stop()
        self._heartbeat.stop()
        if self.keeper is not None:
            self.keeper.close()
        try:
            await self.mesh.close(has_left=detail == LEFT)
        finally:
            recorder, self.recorder = self.recorder, None
            if recorder is not None:
                recorder.close(detail)

    # Sending.

    def multicast(self, payloads: Sequence[bytes], how: How, byte_count: int) -> None:
        """Multicast a run; only while :attr:`may_multicast`."""
        assert self.member is not None, "the caller has looked"
        order, uniform, port = how
        now_us = self.now_us()
        self.do(
            self.member.multicast(payloads, order, now_us, byte_count, uniform=uniform, port=port)
        )

    def send_letter(self, to: ProcessId, payload: bytes, port: int) -> None:
        """Send a letter; only while it :meth:`may_send`."""
        assert self.member is not None, "the caller has looked"
        letter = self.member.write_letter(to, payload, port)
        if self._effects:  # what the machine said before comes first
            self._effects.append(SendLetter(to, letter))
        else:
            self._send_letter(to, letter)

    def _send_letter(self, to: ProcessId, letter: Letter) -> None:
        self.outlet.send_letter(to, letter)
        if self.recorder is not None:
            self.recorder.letter("send", str(to), letter.byte_count)

    def pay(self) -> None:
        """Tell the others what they wait for."""
        if self.member is not None and not self.is_over:
            self._owner.flush()  # a list can ride on what the application multicasts
            self.do(self.member.pay(self.now_us(), withhold=self.is_behind()))

    def _send_run(self, run: Run, alive: Alive | None) -> None:
        overhead_bytes = self.outlet.send_run(run, alive)
        if self.recorder is not None:
            self.recorder.run("multicast", run, self.held_runs, overhead_bytes)

    def is_behind(self) -> bool:
        """Whether receipts are to be confirmed later."""
        return self._owner.is_behind() or self.intake.backlog.byte_count > HELD_BYTES_MAX

    # Doing what the machine says.

    def do(self, effects: list[Effect]) -> None:
        """Do effects in order, and those that come of them after them."""
        self._effects.extend(effects)
        if self._is_working:
            return
        self._is_working = True
        try:
            while self._effects:
                self._do_one(self._effects.popleft())
            self._expect_known()
        finally:
            self._is_working = False
        if self.member is not None:
            self._payer.look(self.member)

    def _do_one(self, effect: Effect) -> None:
        match effect:
            case SendRun(run, alive):
                self._send_run(run, alive)
            case DeliverRuns(runs):
                if others := [run for run in runs if run.sender != self.outlet.rank]:
                    self.intake.backlog.release(others, self.held_runs)
                self.deliver(runs)
            case SendControl(to, message):
                self._expect_known()
                self.outlet.send(to, message)
            case RelayRuns(to, runs):
                self._expect_known()
                self.outlet.relay(to, runs)
            case SendLetter(to, letter):
                self._send_letter(to, letter)
            case _:
                self._change(effect)

    def _change(self, effect: _Change) -> None:
        match effect:
            case InstallView(view):
                self._install(view)
            case BlockGroup(reachable):
                self._note_blocked(reachable)
            case ResumeGroup():
                self._note_blocked(None)
            case SuspectProcess(process):
                self._note_suspect(process)
            case ProbeProcess(process):
                self.mesh.probe(process)
            case RestoreProcess(process):
                self.mesh.restore(process)
            case LeaveGroup():
                self._end(effect)

    def _expect_known(self) -> None:
        """Have sessions with whoever is in the views agreed on, before any of them is told."""
        assert self.member is not None, "only a machine has effects"
        latest = self.member.membership.latest
        if latest is not None and latest is not self._known:
            self._known = latest
            self.mesh.expect(list(self.member.membership.transition.everybody()))

    def _install(self, view: View) -> None:
        assert self.member is not None, "only a machine has effects"
        if self.recorder is not None:
            self.recorder.view(view)
        self._views[view.number] = view
        if len(self._views) > VIEWS_MAX:
            del self._views[next(iter(self._views))]
        self.outlet.credit.begin(view.number)
        self.intake.backlog.clear()
        self.mesh.expect(list(self.member.membership.transition.everybody()))
        if self.process in view.members:
            self.outlet.rank = view.rank_of(self.process)
            others = (member for member in view.members if member != self.process)
            self.mesh.set_members(tuple(others))
        self._owner.on_view(view)
        if self.keeper is not None and self.process in view.members:
            self.keeper.enter(view)
        elif self.process in view.joined:
            self.do(self.member.gain_state(self.now_us()))

    def _note_blocked(self, reachable: tuple[ProcessId, ...] | None) -> None:
        if self.recorder is not None:
            self.recorder.block(reachable)
        self._owner.on_block(reachable)

    def _note_suspect(self, process: ProcessId) -> None:
        peer = self.mesh.peers.get(process)
        why = peer.why if peer is not None and peer.why else "nothing was heard of it for too long"
        _log.warning("%s suspects %s: %s", self.process, process, why)
        if self.recorder is not None:
            self.recorder.suspect(str(process), why)

    def _end(self, end: LeaveGroup) -> None:
        self.is_over = True
        self._heartbeat.stop()
        self._owner.on_over(end)

    def deliver(self, runs: list[Run]) -> None:
        """Hand runs to the application."""
        if self.recorder is not None:
            for run in runs:
                if isinstance(run, Letter):
                    self.recorder.letter("take", str(self.sender_of(run)), run.byte_count)
                else:
                    self.recorder.run("deliver", run, self.held_runs)
        self._owner.on_deliver(runs)

    def sender_of(self, run: Run) -> ProcessId:
        """Return who sent something that is being delivered; a letter may be of a past view."""
        return self._views[run.view].members[run.sender]

    # Time.

    def _tick(self) -> None:
        self._beat()
        self.mesh.sweep()
        self._owner.on_tick()

    def _beat(self) -> None:
        assert self.member is not None, "ticks begin with the machine"
        self.intake.unconfirmed_bytes = 0
        self._owner.flush()
        self.do(self.member.tick(self.now_us()))
        self._owner.on_room()

    # What the mesh calls.

    def on_frame(self, peer: Peer, frame: Frame) -> None:
        """Hand what has come to the machine."""
        if self.is_over:
            return
        if self.member is None:
            self._begin_early()
        self._owner.flush()  # what was multicast before this arrival does not depend on it
        if self.member is not None and not self.is_over:
            self.intake.take(self.member, peer, frame)

    def _begin_early(self) -> None:
        """Somebody has seen all founding members connected: the group has begun."""
        try:
            self.begin()
        except AntiphonError as error:  # the journal cannot be written
            self._end(LeaveGroup(str(error), is_refused=True))

    # What the keeper of the state calls.

    def send_state(self, to: ProcessId, message: StateChunk | StateTaken) -> None:
        """Send a message of the transfer."""
        if not self.is_over:
            self.outlet.send((to,), message)

    def expect_state(self, number: int) -> None:
        """Pass it on."""
        self._owner.expect_state(number)

    def on_state(self) -> None:
        """Tell the group, and let the application read."""
        if self.member is not None and not self.is_over:
            self.do(self.member.gain_state(self.now_us()))
            self._owner.on_state()

    def on_stateless(self, error: AntiphonError) -> None:
        """Pass it on."""
        if not self.is_over:
            self._owner.on_stateless(error)

    def on_read(self, peer: Peer) -> None:
        """A peer has been heard."""
        member = self.member
        if member is None or self.is_over:
            return
        heard_us = self.now_us()
        if heard_us - peer.heard_us >= HEAR_US:
            peer.heard_us = heard_us
            member.hear(peer.process, heard_us)
        if peer.session.unsaid_bytes >= ACK_BYTES:
            self.mesh.acknowledge(peer)
        self._payer.look(member)
        if self.intake.unconfirmed_bytes >= CONFIRM_BYTES and member.is_alive_due:
            self._beat()

    def on_room(self) -> None:
        """Pass it on."""
        self._owner.on_room()

    def on_answer(self, peer: Peer, answer: Answer) -> bool:
        """Pass it on."""
        return self._owner.on_answer(peer, answer)

    def on_dead(self, peer: Peer, why: str, *, is_certain: bool = True) -> None:
        """A peer is dead, or lies, or, if that is not certain, takes nothing: tell the machine."""
        if self.is_over or peer.is_condemned:
            return
        peer.is_condemned, peer.is_stalled = True, not is_certain
        peer.why = why
        if peer.link is not None:
            peer.link.drop(why)
        if self.member is not None:
            self._owner.flush()
            self.do(self.member.lose(peer.process, self.now_us(), is_certain=is_certain))
        self._owner.on_room()

    def on_said(self, process: ProcessId, said: Out | Standing) -> None:
        """Who was asked says that this process is no member any more, or how it stands."""
        if self.member is not None and not self.is_over:
            self.do(self.member.take_control(process, said, self.now_us()))

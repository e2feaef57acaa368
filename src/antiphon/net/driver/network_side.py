"""The network's side of one incarnation: what it says to other processes, and what comes of them.

Law: whatever arrives is given to the machine, after what the application has multicast before: that
does not depend on it. A run takes the short way (``Endpoint.receive``) where it can. Whatever
arrives, read by read, is a sign of life of its sender.
"""

import logging
from typing import Protocol

from antiphon.core.control import FoundingAnswer, JoinRequest, Out, Situation, Standing
from antiphon.core.errors import PeerError
from antiphon.core.frames import Control, Frame, Post, Relay, Runs
from antiphon.core.handshake import Handshake
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.net.driver.owners import Application, DriverOwner
from antiphon.net.driver.recorder import Recorder
from antiphon.net.session.identity import Identity
from antiphon.net.session.mesh import Mesh
from antiphon.net.session.peer import Peer
from antiphon.net.session.probe import Answer
from antiphon.net.session.session import ACK_BYTES
from antiphon.net.transport.environment import Environment
from antiphon.stack.effects import (
    Effect,
    ExpectPeers,
    GiveUpProcess,
    ProbeProcess,
    RejectPeer,
    RestoreProcess,
    SuspectProcess,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    ControlReceived,
    Input,
    LetterReceived,
    PeerFilled,
    PeerHeard,
    PeerLost,
    ProbeAnswered,
    ProbeReceived,
    RunsReceived,
)

HEAR_US = 5_000
"""Signs of life closer together than this count as one: a heartbeat is much longer."""

_log = logging.getLogger("antiphon")


class NetworkOwner(Protocol):
    """What the network's side needs of its driver."""

    endpoint: Endpoint | None
    recorder: Recorder | None
    is_over: bool

    @property
    def latest(self) -> View | None:
        """The last view agreed on, as far as this process knows."""

    def begin_early(self) -> None:
        """Start the machine, though this process has not seen all founding members."""

    def give(self, happened: Input) -> None:
        """Give an input to the machine, after those that wait, and do what it returns."""

    def do_all(self, effects: list[Effect]) -> None:
        """Do effects in order."""

    def hand_over(self, runs: list[Run]) -> None:
        """Journal runs, and deliver them to the application."""


class NetworkSide:
    """What the mesh and the listener ask of one incarnation, and tell it."""

    def __init__(
        self,
        owner: NetworkOwner,
        process: DriverOwner,
        application: Application,
        identity: Identity,
        environment: Environment,
        delay_s_max: float,
    ) -> None:
        """Start with no connection."""
        self._owner = owner
        self._process = process
        self._application = application
        self.identity = identity
        self.environment, self._now_us = environment, environment.now_us
        self.process, self.start = identity.process, identity.start
        self.domain, self.founding = identity.domain, identity.founding
        self.delay_s_max = delay_s_max
        self._fault: str | None = None
        self.mesh = Mesh(self)

    # What others ask.

    @property
    def is_over(self) -> bool:
        """Whether the incarnation has ended."""
        return self._owner.is_over

    @property
    def is_founding(self) -> bool:
        """Whether the group is still to begin."""
        return self._owner.endpoint is None

    @property
    def view_number(self) -> int:
        """The number of the last view agreed on, as far as this process knows; 0 outside."""
        latest = self._owner.latest
        return latest.number if latest is not None else 0

    def has_accepted(self, process: ProcessId) -> bool:
        """Whether this process has accepted a process for the next view."""
        endpoint = self._owner.endpoint
        return endpoint is not None and endpoint.member.membership.has_accepted(process)

    def handshake(
        self, other: ProcessId, to: int = 0, received: int = 0, *, is_asking: bool = False
    ) -> Handshake:
        """Return what to say to ``other``; who is out itself knows of no view."""
        return self.identity.handshake(
            other, None if self.is_over else self._owner.latest, to=to, received=received,
            is_founding=self.is_founding, is_asking=is_asking,
        )  # fmt: skip

    def answer(
        self, asker: Handshake, *, has_channel: bool
    ) -> Out | Standing | FoundingAnswer | None:
        """Return what to tell who asks, beside the handshake; nothing to founding members."""
        if asker.question and (vote := self._process.on_vote(asker.question)) is not None:
            return vote
        endpoint = self._owner.endpoint
        if endpoint is None or asker.founding or asker.process == self.process:
            return None
        membership = endpoint.member.membership
        return membership.answer(asker.process, asker.view, has_channel=has_channel)

    # What the machine says of peers.

    def look_after_peer(self, effect: Effect) -> None:
        """Do what the machine says of a connection; what is wrong with a peer is raised later."""
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

    def note_suspect(self, suspected: SuspectProcess) -> None:
        """Log and journal a suspicion."""
        process = suspected.process
        peer = self.mesh.peers.get(process)
        why = peer.why if peer is not None and peer.why else "nothing was heard of it for too long"
        _log.warning("%s suspects %s: %s", self.process, process, why)
        if (recorder := self._owner.recorder) is not None:
            recorder.suspect(str(process), why)

    # What the mesh calls.

    def on_frame(self, peer: Peer, frame: Frame) -> None:
        """Give what has come to the machine; raise PeerError if no correct process sends that."""
        owner = self._owner
        if owner.is_over:
            return
        if owner.endpoint is None:
            owner.begin_early()
        self._application.flush()  # what was multicast before this arrival does not depend on it
        endpoint = owner.endpoint
        if endpoint is None or owner.is_over:
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
            self._owner.give(LetterReceived(peer, frame.letter))
        elif isinstance(frame, Control):
            if not self._is_doubtful(frame):
                self._owner.give(ControlReceived(peer, frame.message))
        elif isinstance(frame, Relay):
            for run in frame.runs:
                self._take_run(endpoint, peer, run, is_relayed=True)

    def _take_run(self, endpoint: Endpoint, peer: ProcessId, run: Run, *, is_relayed: bool) -> None:
        owner = self._owner
        if owner.is_over or self._fault is not None:
            return
        if not is_relayed and endpoint.receive(peer, run):
            if owner.recorder is not None:
                owner.recorder.run("receive", run, endpoint.queue_depth)
            owner.hand_over([run])
            return
        is_current = endpoint.view is not None and run.view == endpoint.view.number
        effects = endpoint.step(RunsReceived(peer, (run,), is_relayed), self._now_us())
        is_refused = any(isinstance(effect, RejectPeer) for effect in effects)
        if owner.recorder is not None and is_current and not is_refused:
            owner.recorder.run("receive", run, endpoint.queue_depth)
        owner.do_all(effects)

    def _is_doubtful(self, frame: Control) -> bool:
        """Whether a joiner claims the address of a member that seems to be there.

        Nobody else can listen where that one does: so look, and let the joiner ask again.
        """
        request = frame.message
        return isinstance(request, JoinRequest) and self.mesh.is_taken(request.process)

    def on_read(self, peer: Peer) -> None:
        """A peer has been heard."""
        if self._owner.endpoint is None or self._owner.is_over:
            return
        heard_us = self._now_us()
        if heard_us - peer.heard_us >= HEAR_US:
            peer.heard_us = heard_us
            self._owner.give(PeerHeard(peer.process))
        if peer.session.unsaid_bytes >= ACK_BYTES:
            self.mesh.acknowledge(peer)

    def on_full(self, peer: Peer, *, is_full: bool) -> None:
        """A peer takes no more for now; or takes more again."""
        self._owner.give(PeerFilled(peer.process, is_full))

    def on_room(self) -> None:
        """Pass it on."""
        self._process.on_room()

    def on_answer(self, peer: Peer, answer: Answer) -> bool:
        """Pass it on."""
        return self._process.on_answer(peer, answer)

    def on_dead(self, peer: Peer, why: str) -> None:
        """A peer is dead, or lies: tell the machine."""
        if self._owner.is_over or peer.is_condemned:
            return
        self.mesh.condemn(peer, why, is_certain=True)
        self._application.flush()
        self._owner.give(PeerLost(peer.process))
        self._process.on_room()

    def on_probed(self, process: ProcessId, view_number: int) -> None:
        """A process that shows the secret of its session asks, in a view of this number."""
        if not self._owner.is_over:
            self._owner.give(ProbeReceived(process, view_number))

    def serve_operator(self, order: str, number: int, who: str) -> Situation:
        """Pass it on."""
        return self._process.on_operator(order, number, who)

    def on_said(self, process: ProcessId, said: Out | Standing) -> None:
        """Who was asked says that this process is no member any more, or how it stands."""
        if not self._owner.is_over:
            self._owner.give(ProbeAnswered(process, said))

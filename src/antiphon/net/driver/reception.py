"""Reception: what other processes say in one group, and how they are answered.

Law: whatever arrives is given to the machine, after what the application has multicast before: that
does not depend on it. A run takes the short way (``Endpoint.receive``) where it can.

Of the founders of a group some begin before others, and may be connected already: what they say
waits here until this process has begun too. The first thing they say is that they have begun, to
those they counted: who hears that begins, even if whoever said it is gone by then. It is a sign of
life, too: who has begun is heard from then on.
"""

from typing import Protocol

from antiphon.core.control import (
    AnyMessage,
    Begun,
    FoundingAnswer,
    JoinRequest,
    KeyTold,
    Out,
    Standing,
)
from antiphon.core.errors import PeerError
from antiphon.core.frames import Control, Post, Relay, Runs
from antiphon.core.handshake import Handshake
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.net.driver.blocks.group_datagrams import GroupDatagrams
from antiphon.net.driver.nobody import Nobody
from antiphon.net.driver.owners import Application, DriverOwner, GroupFrame, ProcessSide
from antiphon.net.journal.recorder import Recorder
from antiphon.net.session.identity import Identity
from antiphon.net.session.peer import Peer
from antiphon.stack.effects import RejectPeer
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    ControlReceived,
    Input,
    LetterReceived,
    PeerHeard,
    RunsReceived,
)

EARLY_BYTES_MAX = 64 * 1024 * 1024
"""Kept of founders that begin earlier: more than flow control lets them send without an answer."""

_EARLY_FRAME_BYTES = 100


class ReceptionOwner(Protocol):
    """What a reception needs of the driver of its group."""

    number: GroupNumber
    identity: Identity
    endpoint: Endpoint | None
    recorder: Recorder | None
    is_over: bool
    datagrams: GroupDatagrams | None

    @property
    def latest(self) -> View | None:
        """The last view agreed on, as far as this process knows."""

    def give(self, happened: Input) -> None:
        """Give an input to the machine, after those that wait, and do what it returns."""

    def hand_over(self, runs: list[Run]) -> None:
        """Journal runs, and deliver them to the application."""


class Reception:
    """Takes what is said to one process in one group."""

    def __init__(
        self,
        owner: ReceptionOwner,
        process: ProcessSide,
        membership_owner: DriverOwner,
        application: Application,
    ) -> None:
        """Nothing has been said."""
        self._owner = owner
        self._process = process
        self._node = membership_owner
        self._application = application
        self._now_us = process.environment.now_us
        self._fault: str | None = None
        self._counted: dict[ProcessId, int] = {}
        self.is_begun = False
        """Whether a founder that counts this very start of this process has begun."""
        self._begun: dict[ProcessId, None] = {}
        self._early: list[tuple[Peer, GroupFrame]] = []
        self._early_bytes = 0

    # How others are answered.

    def handshake(
        self, other: ProcessId, to: int = 0, received: int = 0, *, is_asking: bool = False
    ) -> Handshake:
        """Return what to say to ``other``; who is out itself knows of no view."""
        owner = self._owner
        is_founding = owner.endpoint is None
        known = None if owner.is_over or is_founding else owner.latest
        return owner.identity.handshake(
            other, known, to=to, received=received, is_founding=is_founding, is_asking=is_asking
        )

    def answer(
        self, asker: Handshake, *, has_channel: bool
    ) -> Out | Standing | FoundingAnswer | None:
        """Return what to tell who asks, beside the handshake; nothing to founding members."""
        if asker.question and (vote := self._node.on_vote(asker.question)) is not None:
            return vote
        endpoint = self._owner.endpoint
        if endpoint is None or asker.founding or asker.process == self._owner.identity.process:
            return None
        return endpoint.answer(asker.process, asker.view, has_channel=has_channel)

    def count(self, process: ProcessId, start: int) -> None:
        """Found the group with this start of a process among others."""
        self._counted[process] = start

    @property
    def counted(self) -> dict[ProcessId, int]:
        """Founders that are there, each with its start."""
        return self._counted

    def has_counted(self, asker: Handshake) -> bool:
        """Whether this process founds, or founded, the group with this very asker."""
        return self._counted.get(asker.process.bare()) == asker.start

    def abandon(self, nobody: Nobody) -> None:
        """The application has nothing to do with the group any more."""
        self._application = self._node = nobody

    # What is said.

    def reject(self, rejected: RejectPeer) -> None:
        """What is being taken is nothing that a correct process sends; said when it is taken."""
        self._fault = rejected.why

    def take(self, peer: Peer, frame: GroupFrame) -> None:
        """Give what has come to the machine; raise PeerError if no correct process sends that."""
        self._application.flush()  # what was multicast before this arrival does not depend on it
        owner = self._owner
        endpoint = owner.endpoint
        if owner.is_over:
            return
        if endpoint is None:
            self._keep(peer, frame)
            return
        member = peer.ids.get(frame.process) or peer.member(frame.process)
        if isinstance(frame, Runs):
            self._take_runs(endpoint, member, frame.runs, is_relayed=False)
        elif isinstance(frame, Post):
            self._process.give(owner.number, LetterReceived(member, frame.letter))
        elif isinstance(frame, Relay):
            self._take_runs(endpoint, member, frame.runs, is_relayed=True)
        elif not self._is_passed_over(peer, member, frame.message):
            owner.give(ControlReceived(member, frame.message))
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise PeerError(fault)

    def _keep(self, peer: Peer, frame: GroupFrame) -> None:
        """Keep what a founder says that has begun already, until this process begins too."""
        if isinstance(frame, Control) and isinstance(frame.message, Begun):
            self._hear_begun(peer, frame.message)
            return
        self._early_bytes += _EARLY_FRAME_BYTES
        if isinstance(frame, Runs | Relay):
            self._early_bytes += sum(run.byte_count for run in frame.runs)
        if self._early_bytes > EARLY_BYTES_MAX:
            message = "a founder says more than is kept before the group begins"
            raise PeerError(message)
        self._early.append((peer, frame))

    def _hear_begun(self, peer: Peer, begun: Begun) -> None:
        """A founder has begun: the starts that it has counted are those that count."""
        self._begun[peer.process] = None
        counted = dict(begun.counted)
        if not self.is_begun and counted.pop(self._process.process, 0) == self._process.start:
            self.is_begun = True
            self._counted = {**counted, peer.process: peer.start}
            self._process.on_room()

    def take_early(self) -> None:
        """The group has begun here: take what founders said who began before."""
        for founder in self._begun:
            self._process.give(None, PeerHeard(founder))
        early, self._early, self._early_bytes = self._early, [], 0
        for peer, frame in early:
            if self._process.mesh.peers.get(peer.process) is peer and not peer.is_condemned:
                try:
                    self.take(peer, frame)
                except PeerError as error:
                    self._process.on_dead(peer, str(error))

    def _take_runs(
        self, endpoint: Endpoint, peer: ProcessId, runs: list[Run], *, is_relayed: bool
    ) -> None:
        owner = self._owner
        for run in runs:
            if owner.is_over or self._fault is not None:
                return
            if not is_relayed and endpoint.receive(peer, run):
                if owner.recorder is not None:
                    owner.recorder.run("receive", run, endpoint.queue_depth)
                owner.hand_over([run])
            else:
                self._take_run(endpoint, peer, run, is_relayed=is_relayed)

    def _take_run(self, endpoint: Endpoint, peer: ProcessId, run: Run, *, is_relayed: bool) -> None:
        """Take a run the long way."""
        owner = self._owner
        received = RunsReceived(peer, (run,), is_relayed)
        if owner.recorder is None:
            self._process.give(owner.number, received)
            return
        is_current = endpoint.view is not None and run.view == endpoint.view.number
        effects = self._process.machine.step_in(owner.number, received, self._now_us())
        is_refused = any(isinstance(effect, RejectPeer) for effect in effects)
        if is_current and not is_refused:
            owner.recorder.run("receive", run, endpoint.queue_depth)
        self._process.do_all(owner.number, effects)

    def _is_passed_over(self, peer: Peer, member: ProcessId, message: AnyMessage) -> bool:
        """Whether a founder has begun, as this process has; or a joiner claims a member's address.

        Nobody else can listen where that member does: so look, and let the joiner ask again.
        """
        if isinstance(message, KeyTold):  # for datagrams, which the machine does not seal
            if self._owner.datagrams is not None:
                self._owner.datagrams.hear(member, message)
            return True
        if isinstance(message, JoinRequest):
            return self._process.mesh.is_taken(message.process)
        if isinstance(message, Begun):
            self._process.give(None, PeerHeard(peer.process))
            return True
        return False

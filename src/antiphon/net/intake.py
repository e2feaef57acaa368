"""The intake: what a life receives, handed to its machine in the order of arrival.

Law: a run of the current view by its own sender takes the short way, everything else the long one
(``stack.member``); what comes of it is done before the next thing is taken. What was multicast
here before something arrives does not depend on it, so it leaves first.
"""

from typing import TYPE_CHECKING

from antiphon.core.control import (
    Alive,
    AnyMessage,
    JoinRequest,
    LetterTaken,
    StateChunk,
    StateTaken,
)
from antiphon.core.errors import PeerError
from antiphon.core.frames import Control, Frame, Post, Relay, Runs
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Letter, Run
from antiphon.net.backlog import Backlog
from antiphon.net.session.peer import Peer
from antiphon.stack.member import Member

if TYPE_CHECKING:
    from antiphon.net.life import Life


class Intake:
    """Receives for one life that has begun."""

    def __init__(self, life: "Life") -> None:
        """Take nothing before the life has a machine."""
        self._life = life
        self.backlog = Backlog()
        self.unconfirmed_bytes = 0
        """Bytes received since receipts were last confirmed."""

    def take(self, member: Member, peer: Peer, frame: Frame) -> None:
        """Take a frame; raise PeerError if no correct process would have sent it."""
        if isinstance(frame, Runs):
            for run in frame.runs:
                self._take_run(member, peer, run)
        elif isinstance(frame, Post):
            self._take_letter(member, peer, frame.letter)
        elif isinstance(frame, Control):
            self._take_control(member, peer, frame.message)
        elif isinstance(frame, Relay):
            for run in frame.runs:
                self._take_long_way(member, peer, run, relayed=True)

    def _take_run(self, member: Member, peer: Peer, run: Run) -> None:
        life = self._life
        if life.is_over:
            return
        ready = member.receive(peer.process, run)
        if ready is None:
            self._take_long_way(member, peer, run, relayed=False)
            return
        self.unconfirmed_bytes += run.byte_count
        if life.recorder is not None:
            life.recorder.run("receive", run, life.held_runs)
        if len(ready) != 1 or ready[0] is not run:  # nearly always it is just this run
            self._note_held(run, ready)
        if ready:
            life.deliver(ready)

    def _note_held(self, run: Run, ready: list[Run]) -> None:
        """Keep count of what is held, now that ``run`` has come and what is ``ready`` leaves."""
        life = self._life
        others = [other for other in ready if other is not run]
        if len(others) == len(ready):
            self.backlog.hold(run)
        released = [other for other in others if other.sender != life.outlet.rank]
        if released:
            self.backlog.release(released, life.held_runs)

    def _take_letter(self, member: Member, peer: Peer, letter: Letter) -> None:
        ready = member.receive_letter(peer.process, letter)
        if ready is None:
            self._life.do(member.take_letter(peer.process, letter, self._life.now_us()))
        elif ready:
            self._life.deliver(ready)

    def _take_long_way(self, member: Member, peer: Peer, run: Run, *, relayed: bool) -> None:
        life = self._life
        if life.is_over:
            return
        is_current = member.view is not None and run.view == member.view.number
        effects = member.take_run(peer.process, run, self._life.now_us(), relayed=relayed)
        if life.recorder is not None and is_current:
            life.recorder.run("receive", run, life.held_runs)
        life.do(effects)

    def _take_control(self, member: Member, peer: Peer, message: AnyMessage) -> None:
        life = self._life
        if isinstance(message, JoinRequest) and self._is_doubtful(message.process):
            return
        if isinstance(message, StateChunk | StateTaken):
            if life.keeper is None:
                unexpected = "a piece of a state comes to a group that has none"
                raise PeerError(unexpected)
            life.keeper.receive(peer.process, message)
            return
        if isinstance(message, Alive):
            life.outlet.credit.get(peer.process, life.outlet.rank, message)
        life.do(member.take_control(peer.process, message, self._life.now_us()))
        if isinstance(message, Alive | LetterTaken):
            self._life.on_room()

    def _is_doubtful(self, joiner: ProcessId) -> bool:
        """Whether a joiner claims the address of a member that seems to be there.

        Nobody else can listen where that one does: so look, and let the joiner ask again.
        """
        mesh = self._life.mesh
        for peer in mesh.peers.values():
            is_rival = peer.process.address == joiner.address and peer.process != joiner
            if is_rival and not peer.is_guest and not peer.is_condemned and peer.leaves_at is None:
                mesh.check(peer)
                return True
        return False

"""The mesh: sessions of one incarnation of this process with all others that concern it.

Law: each pair of processes has one session and one connection, whatever groups they share. Of two
that need each other the one with the later id dials; who asks to be taken in dials whom it asks.
Where both dial at once, the one with the later id refuses, and the other accepts and gives its own
dialling up: a handshake says how much has arrived, and that must not change before it is answered.
When the connection is lost the same one dials again (``dialler``). Nothing is lost meanwhile
(``session``), and the views do not change for it. Processes go by ``ProcessId.bare`` here.

With members that no group needs just now (idle: ``membership.attention``) the session sleeps as
soon as each has what it was sent, and goes on when one of the two needs the other: that one dials,
whoever it is, and keeps the connection for as long as it needs it. Nothing of these is forgotten.

Who is in no view of any group any more keeps its connection until it has what it was sent, or for a
short while. Then its session sleeps, if little is left to say: the two go on with it when they need
each other again, in another group; if one needs the other before, it dials. Who is in no view yet
waits in the ``lobby``.

Who the other side is, and not only claims to be, is for ``credentials`` to say.
"""

import asyncio
import logging
import math
from collections.abc import Collection
from typing import Protocol, cast

from antiphon.core.errors import PeerError
from antiphon.core.frames import Ack, Bye, Control, Frame, Hello, encode_ack, encode_bye
from antiphon.core.handshake import Handshake
from antiphon.core.ids import ProcessId
from antiphon.net.session.credentials import Credentials
from antiphon.net.session.dialler import Dialler, DiallerOwner, is_same
from antiphon.net.session.lobby import Lobby
from antiphon.net.session.peer import Peer, PeerLink
from antiphon.net.transport.framing import with_length

LINGER_S = 1.0
"""How long a closing link waits for the other side to close too."""

DEPART_S = 5.0
"""How long the session with a process that is in no view any more is kept."""

ASLEEP_MAX = 1024
"""Sessions that sleep, at most: the one that has slept longest is forgotten first."""

ASLEEP_BYTES_MAX = 16 * 1024
"""What a session that sleeps may keep, to be said if it wakes up: else it is forgotten."""

_log = logging.getLogger("antiphon")


class MeshOwner(DiallerOwner, Protocol):
    """What a mesh needs of the incarnation that it serves."""

    def hello(
        self,
        other: ProcessId,
        to: int = 0,
        received: int = 0,
        *,
        is_asking: bool = False,
        group: str | None = None,
    ) -> Hello:
        """Return what to say to ``other``: about ``group``, or one for which it is needed."""

    def has_accepted(self, process: ProcessId) -> bool:
        """Whether this process has accepted a process for the next view of a group."""

    def needs_word_of(self, peer: Peer, told: Control) -> bool:
        """Whether a guest tells a blocked group of the view that goes on with it."""

    def on_frame(self, peer: Peer, frame: Frame) -> None:
        """A peer sent runs or a control message; raise PeerError if no correct process would."""

    def on_read(self, peer: Peer) -> None:
        """Everything that had arrived from a peer has been passed on."""

    def on_full(self, peer: Peer, *, is_full: bool) -> None:
        """A peer takes no more for now; or takes more again."""

    def on_room(self) -> None:
        """A connection has come or gone, or takes more: whoever waits may look again."""


class Mesh:
    """The peers of one incarnation."""

    def __init__(self, owner: MeshOwner) -> None:
        """Start with nobody."""
        self._owner = owner
        self.on_read = owner.on_read
        self._closing: dict[PeerLink, None] = {}
        self.credentials = Credentials(owner, owner.environment)
        self.lobby = Lobby(self)
        self.peers: dict[ProcessId, Peer] = {}
        self._asleep: dict[ProcessId, Peer] = {}
        self._idle: Collection[ProcessId] = ()
        self._dialler = dialler = Dialler(owner, self.credentials, self.peers, self)
        self.check, self.probe, self.restore = dialler.check, dialler.probe, dialler.restore
        self.slow = dialler.slow

    # Who is there.

    def expect(self, processes: Collection[ProcessId], idle: Collection[ProcessId] = ()) -> None:
        """Have a session with each of these but those that are ``idle``; let others depart."""
        me = self._owner.process
        were_idle, self._idle = self._idle, idle
        for process in processes:
            if process != me and process not in idle:
                peer = self.add(process, is_dialled=process < me)
                peer.is_on_demand = peer.is_on_demand or process in were_idle
        leaves_at = asyncio.get_running_loop().time() + DEPART_S
        for peer in self.peers.values():
            if peer.process in idle:
                self._rest(peer)
            elif peer.process not in processes and not peer.is_guest:
                peer.leaves_at = min(peer.leaves_at or leaves_at, leaves_at)

    def _rest(self, peer: Peer) -> None:
        """A member is not needed just now: its session may sleep when it has what it was sent."""
        peer.leaves_at, peer.is_on_demand = math.inf, True

    def let_in(self, process: ProcessId) -> Peer:
        """Have a session with a process that has dialled: it needs this one, if not the reverse."""
        peer, is_idle = self.peers.get(process), process in self._idle
        if peer is None:
            peer = self.add(process, is_dialled=False) if is_idle else self.add_guest(process)
        if is_idle:
            self._rest(peer)
        peer.is_visiting = is_idle
        return peer

    def add(self, process: ProcessId, *, is_dialled: bool) -> Peer:
        """Have a session with one process."""
        peer = self.peers.get(process)
        if peer is None:
            peer = self._asleep.pop(process, None) or Peer(process)
            peer.is_dialled = is_dialled  # whoever did before
            self.peers[process] = peer
            peer.task = asyncio.ensure_future(self._dialler.tend(peer))
        elif is_dialled and peer.link is None and not peer.is_dialled:
            peer.is_dialled = True  # a guest that is gone, and needed now: do not wait for it
            peer.changed.set()
        if peer.is_guest and peer.link is not None:
            # Not now: what the machine has said is to be done before it hears more.
            asyncio.get_running_loop().call_soon(self.lobby.admit, peer)
        peer.is_guest, peer.leaves_at, peer.is_visiting = False, None, False
        return peer

    def add_guest(self, process: ProcessId) -> Peer:
        """Have a session with a process that is in no view."""
        self.lobby.make_room()
        peer = self.add(process, is_dialled=False)
        peer.is_guest = True
        return peer

    def find(self, process: ProcessId, start: int) -> Peer | None:
        """Return what is known of a process; if its session sleeps, only of this very start."""
        peer, asleep = self.peers.get(process), self._asleep.get(process)
        return asleep if asleep is not None and asleep.start == start else peer

    def is_admitted(self, peer: Peer) -> bool:
        """Whether what a peer says counts."""
        return not peer.is_guest or self._owner.has_accepted(peer.process)

    def needs_word_of(self, peer: Peer, told: Control) -> bool:
        """Whether a guest tells what a process that is blocked may hear from nobody else."""
        return self._owner.needs_word_of(peer, told)

    def dismiss(self, peer: Peer, why: str) -> None:
        """Send a guest away at once."""
        if peer.link is not None:
            peer.link.drop(why)
        self._forget(peer)
        if peer.has_slept:
            self._put_to_sleep(peer)  # the other side's session sleeps, too, or will

    def sweep(self) -> None:
        """Acknowledge what has come since the last heartbeat; forget who has departed."""
        now = asyncio.get_running_loop().time()
        self.lobby.sweep()
        for peer in list(self.peers.values()):
            self.acknowledge(peer)
            if peer.leaves_at is not None:
                is_visiting = peer.is_visiting and peer.link is not None
                has_all = not (peer.session.kept_bytes or peer.is_guest or is_visiting)
                if peer.is_condemned or peer.has_left or has_all or now > peer.leaves_at:
                    self._forget(peer)
                    if not peer.is_guest or peer.has_slept:
                        self._put_to_sleep(peer)

    def _put_to_sleep(self, peer: Peer) -> None:
        """Keep the session of a process that lives, and has what it was sent, or nearly."""
        is_alive = bool(peer.start) and not peer.is_condemned and not peer.has_left
        if is_alive and peer.session.kept_bytes <= ASLEEP_BYTES_MAX:
            peer.leaves_at, peer.task, peer.is_said_full = None, None, False
            peer.has_slept = True
            peer.detach()
            self._asleep[peer.process] = peer
            while len(self._asleep) > ASLEEP_MAX:
                del self._asleep[next(iter(self._asleep))]

    def _forget(self, peer: Peer) -> None:
        del self.peers[peer.process]
        self.lobby.forget(peer)
        self.credentials.remember(peer)
        if peer.task is not None:
            peer.task.cancel()
        if peer.link is not None:
            self._close(peer.link)

    def _close(self, link: PeerLink) -> None:
        link.peer = None
        link.close()
        if not link.lost.done():
            self._closing[link] = None
            loop = asyncio.get_running_loop()
            loop.call_later(LINGER_S, link.abort, "it did not close in time")

    # What links call.

    def on_handshake(self, link: PeerLink, hello: Hello) -> None:
        """A peer that was dialled answers."""
        peer, handshake, owner = link.dialled, hello.handshake, self._owner
        assert peer is not None, "who dials here is received elsewhere"
        if not is_same(peer, handshake):
            owner.on_dead(peer, "somebody else listens where it was")
        elif peer.link is not None or not peer.is_dialling:
            link.drop("the other side has dialled meanwhile")
        elif handshake.to == owner.start:
            self.credentials.believe(peer, link, handshake)
            self.take_up(peer, link, handshake)
        elif link.nonce and not handshake.proof:
            peer.begin_again()  # it knows nothing of the session

    def take_up(self, peer: Peer, link: PeerLink, handshake: Handshake) -> None:
        """Go on with a session, or begin it, over a link whose handshake has been accepted."""
        peer.start, peer.heard_us = handshake.start, self._owner.environment.now_us()
        peer.is_dialling = False  # a handshake that is under way says what is out of date now
        if peer.is_guest:
            peer.leaves_at = None
            self.lobby.receive(peer, link)
        else:
            self.lobby.forget(peer)  # what it said over an earlier link is repeated
            link.owner = self
            link.trust()
        peer.attach(link, handshake.received)
        self.note_room(peer)
        self._owner.on_room()

    def on_foreign_handshake(self, link: PeerLink) -> None:
        """Nothing: the frame is refused for its version."""

    def on_frame(self, peer: Peer, frame: Frame, byte_count: int) -> None:
        """Count a frame and pass it on."""
        kind = type(frame)
        if kind is Ack:
            self._take_ack(peer, cast("Ack", frame))
            return
        if kind is Hello:
            message = "a peer sends a second handshake"
            raise PeerError(message)
        if peer.has_left:
            message = "a peer goes on after it has said bye"
            raise PeerError(message)
        peer.session.take(byte_count)
        if kind is Bye:
            peer.has_left = True
        else:
            self._owner.on_frame(peer, frame)

    def _take_ack(self, peer: Peer, ack: Ack) -> None:
        peer.session.acknowledge(ack.count)
        if peer.is_said_full:
            self.note_room(peer)

    def acknowledge(self, peer: Peer) -> None:
        """Tell a peer what has arrived, if it does not know."""
        if peer.link is not None:
            count = peer.session.acknowledgement()
            if count is not None:
                peer.link.write_frame(encode_ack(count))

    def beat(self, processes: tuple[ProcessId, ...]) -> None:
        """Be heard by these: tell each what has arrived, be it the same as before."""
        for process in processes:
            peer = self.peers.get(process)
            if peer is not None and peer.link is not None:
                peer.session.acknowledgement()
                peer.link.write_frame(encode_ack(peer.session.received))

    def on_full(self, link: PeerLink) -> None:
        """Somebody reads too slowly."""
        if link.peer is not None:
            self.note_room(link.peer)

    def on_room(self, link: PeerLink) -> None:
        """Somebody has caught up."""
        if link.peer is not None:
            self.note_room(link.peer)

    def on_lost(self, link: PeerLink, why: str) -> None:
        """A link is gone: a session waits for the next one, unless its peer is at fault."""
        self._closing.pop(link, None)
        peer = link.peer
        if peer is None or peer.link is not link:
            return
        peer.detach()
        if peer.is_guest:
            peer.leaves_at = asyncio.get_running_loop().time() + DEPART_S
        if link.is_at_fault and not peer.is_guest:
            self._owner.on_dead(peer, why)
        elif not peer.has_left:
            me, other = self._owner.process.name, peer.process.name
            _log.info("%s lost its connection to %s: %s", me, other, why)
        self.note_room(peer)

    def note_room(self, peer: Peer) -> None:
        """Tell if a peer takes no more for now, or takes more again."""
        is_full = peer.is_full
        if is_full != peer.is_said_full:
            peer.is_said_full = is_full
            self._owner.on_full(peer, is_full=is_full)

    def is_taken(self, joiner: ProcessId) -> bool:
        """Whether a member that seems to be there has the address of a joiner; look after it."""
        for peer in self.peers.values():
            is_rival = peer.process.address == joiner.address and peer.process != joiner.bare()
            if is_rival and not peer.is_guest and not peer.is_condemned and peer.leaves_at is None:
                self.check(peer)
                return True
        return False

    def condemn(self, peer: Peer, why: str, *, is_certain: bool) -> None:
        """A peer is dead, or, if that is not certain, takes nothing: end its link."""
        peer.is_condemned, peer.is_stalled = True, not is_certain
        peer.why = why
        if peer.link is not None:
            peer.link.drop(why)

    def give_up(self, process: ProcessId, why: str) -> None:
        """A process takes nothing."""
        peer = self.peers.get(process)
        if peer is not None and not peer.is_condemned:
            self.condemn(peer, why, is_certain=False)

    # The end.

    async def close(self, *, has_left: bool) -> None:
        """Close every link, having sent everything; with a bye only if the others let us go."""
        peers = list(self.peers.values())
        for peer in (*self._asleep.values(), *peers):
            self.credentials.remember(peer)
        self.peers.clear()
        self._asleep.clear()
        bye = with_length(encode_bye())
        for peer in peers:
            if peer.task is not None:
                peer.task.cancel()
            if peer.link is not None:
                self.acknowledge(peer)
                if has_left:
                    peer.send(bye)
                self._close(peer.link)
        tasks = [*self._dialler.tasks, *(peer.task for peer in peers if peer.task is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if lost := [link.lost for link in self._closing]:
            await asyncio.wait(lost)

"""The mesh: sessions of one life of this process with all others that concern it.

Law: of two processes the junior one (later in the view) dials, so each pair has one connection.
When it is lost the junior dials again; the senior only asks (``asking``), to learn whether anybody
is there. Nothing is lost meanwhile (``session``), and the views do not change for it.

A process is dead for certain, and its mesh says so at once, if nobody listens where it did, or
somebody else does. If there is no answer at all, both sides keep trying quietly, and it is for the
failure detector to decide.

Who is in no view any more keeps its session until it has what it was sent, or for a short while.
Who is in no view yet waits in the ``lobby``.

Who the other side is, and not only claims to be, is for ``credentials`` to say.
"""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Protocol, cast

from antiphon.core.control import Out, Standing
from antiphon.core.errors import PeerError
from antiphon.core.frames import Ack, Bye, Frame, Hello, encode_ack, encode_bye, encode_hello
from antiphon.core.greeting import Greeting
from antiphon.core.ids import ProcessId
from antiphon.net.address import parse_address
from antiphon.net.asking import Answer, refuse_itself
from antiphon.net.credentials import Credentials
from antiphon.net.framing import with_length
from antiphon.net.link import Link
from antiphon.net.lobby import Lobby
from antiphon.net.peer import Peer, now_us
from antiphon.net.slow_link import SlowLink

GREETING_S = 5.0
"""How long a connection may take to say who it is."""

ASK_S = 1.0
"""How long a process may take to answer before it is asked again."""

CHECK_S = 0.2
"""Claims about a process that come closer together than this are looked into once."""

LINGER_S = 1.0
"""How long a closing link waits for the other side to close too."""

DEPART_S = 5.0
"""How long the session with a process that is in no view any more is kept."""

_RETRY_S = 0.05
_RETRY_S_MAX = 1.0
_FIRST_CALL_S = 1.0
"""How long a process may take to dial before it is asked whether it is there."""

_log = logging.getLogger("antiphon")


class Owner(Protocol):
    """What a mesh needs of the life that it serves."""

    process: ProcessId
    start: int
    domain: int
    delay_s_max: float

    @property
    def is_founding(self) -> bool:
        """Whether the group is still to begin: nobody is given up then."""

    def greeting(
        self, other: ProcessId, to: int = 0, received: int = 0, *, is_asking: bool = False
    ) -> Greeting:
        """Return what to say to ``other``."""

    def has_accepted(self, process: ProcessId) -> bool:
        """Whether this process has accepted a process for the next view."""

    def on_frame(self, peer: Peer, frame: Frame) -> None:
        """A peer sent runs or a control message; raise PeerError if no correct process would."""

    def on_read(self, peer: Peer) -> None:
        """Everything that had arrived from a peer has been passed on."""

    def on_full(self, peer: Peer, *, is_full: bool) -> None:
        """A peer takes no more for now; or takes more again."""

    def on_room(self) -> None:
        """A connection has come or gone, or takes more: whoever waits may look again."""

    def on_dead(self, peer: Peer, why: str) -> None:
        """A peer is certainly dead, or lies."""

    def on_answer(self, peer: Peer, answer: Answer) -> bool:
        """While founding: take what was found at a member's address; False to try no further."""

    def on_said(self, process: ProcessId, said: Out | Standing) -> None:
        """Who was asked says that this process is no member any more, or how it stands."""


class Mesh:
    """The peers of one life."""

    def __init__(self, owner: Owner) -> None:
        """Start with nobody."""
        self._owner = owner
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._closing: dict[Link, None] = {}
        self._slow_count = 0
        self.credentials = Credentials(owner)
        self.lobby = Lobby(self)
        self.peers: dict[ProcessId, Peer] = {}
        self.members: list[Peer] = []
        """The other members of the current view, to which runs are sent."""

    # Who is there.

    def expect(self, processes: list[ProcessId]) -> None:
        """Have a session with each of these, by seniority; let others depart."""
        me = self._owner.process
        place = processes.index(me) if me in processes else len(processes)
        for index, process in enumerate(processes):
            if process != me:
                self.add(process, is_senior=index < place)
        leaves_at = asyncio.get_running_loop().time() + DEPART_S
        for peer in self.peers.values():
            if peer.process not in processes and peer.leaves_at is None:
                peer.leaves_at = leaves_at

    def add(self, process: ProcessId, *, is_senior: bool) -> Peer:
        """Have a session with one process."""
        peer = self.peers.get(process)
        if peer is None:
            peer = self.peers[process] = Peer(process, is_senior=is_senior)
            peer.task = asyncio.ensure_future(self._tend(peer))
        peer.process = process
        if peer.is_guest and peer.link is not None:
            # Not now: what the machine has said is to be done before it hears more.
            asyncio.get_running_loop().call_soon(self.lobby.admit, peer)
        peer.is_guest, peer.leaves_at = False, None
        return peer

    def add_guest(self, process: ProcessId) -> Peer:
        """Have a session with a process that is in no view."""
        self.lobby.make_room()
        peer = self.add(process, is_senior=False)
        peer.is_guest = True
        return peer

    def is_admitted(self, peer: Peer) -> bool:
        """Whether what a peer says counts."""
        return not peer.is_guest or self._owner.has_accepted(peer.process)

    def dismiss(self, peer: Peer, why: str) -> None:
        """Send a guest away at once."""
        if peer.link is not None:
            peer.link.drop(why)
        self._forget(peer)

    def set_members(self, processes: tuple[ProcessId, ...]) -> None:
        """Send runs to these from now on."""
        self.members = [self.peers[process] for process in processes if process in self.peers]

    def sweep(self) -> None:
        """Acknowledge what has come since the last heartbeat; forget who has departed."""
        now = asyncio.get_running_loop().time()
        self.lobby.sweep()
        for peer in list(self.peers.values()):
            self.acknowledge(peer)
            if peer.leaves_at is not None:
                has_all = not peer.session.kept_bytes and not peer.is_guest
                if has_all or peer.is_condemned or peer.has_left or now > peer.leaves_at:
                    self._forget(peer)

    def _forget(self, peer: Peer) -> None:
        del self.peers[peer.process]
        self.lobby.forget(peer)
        self.credentials.remember(peer)
        if peer.task is not None:
            peer.task.cancel()
        if peer.link is not None:
            self._close(peer.link)

    def _close(self, link: Link) -> None:
        link.peer = None
        link.close()
        if not link.lost.done():
            self._closing[link] = None
            asyncio.get_running_loop().call_later(LINGER_S, link.drop, "it did not close in time")

    # Reaching them.

    async def _tend(self, peer: Peer) -> None:
        """Keep a peer connected, or find out that it is dead; for as long as it concerns us."""
        pause_s = _RETRY_S
        if not peer.is_senior and not self._owner.is_founding:
            await self._until_changed(peer, _FIRST_CALL_S)
        while not (peer.has_left or peer.is_condemned):
            if peer.link is not None:
                pause_s = _RETRY_S
                await self._until_changed(peer, None)
                continue
            try:
                await self._reach(peer)
            except ConnectionRefusedError:
                if not self._owner.is_founding:
                    self._owner.on_dead(peer, "nobody listens where it was")
            except (OSError, PeerError) as error:
                peer.why = str(error) if isinstance(error, PeerError) else ""
                _log.info("%s does not reach %s: %s", self._owner.process, peer.process, error)
            if peer.link is None:
                await self._until_changed(peer, pause_s)
                pause_s = _RETRY_S if self._owner.is_founding else min(2 * pause_s, _RETRY_S_MAX)

    @staticmethod
    async def _until_changed(peer: Peer, timeout_s: float | None) -> None:
        peer.changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await peer.changed.wait()

    async def _reach(self, peer: Peer) -> None:
        if peer.is_senior:
            await self._dial(peer)
        if peer.link is None and not peer.is_condemned:
            await self._probe(peer)

    async def _dial(self, peer: Peer) -> None:
        """Connect and greet; the answer decides (``on_greeting``)."""
        owner = self._owner
        address = parse_address(peer.process.address)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(GREETING_S):
            transport, link = await loop.create_connection(
                lambda: Link(self, self.slow()), address.host, address.port
            )
        link.dialled = peer
        try:
            refuse_itself(transport)
            greeting = self.credentials.to_dial(peer, link)
            link.write_frame(encode_hello(owner.domain, greeting))
            # Not awaited itself: being cancelled would cancel it.
            await asyncio.wait([link.settled], timeout=GREETING_S)
        finally:
            peer.offered = b""
            if link.peer is None:
                link.drop("nobody waits for its greeting any longer")

    async def _probe(self, peer: Peer) -> None:
        """Ask whether a peer is still there."""
        owner, secret = self._owner, peer.secret
        answer, is_its = await self.credentials.ask(peer.process, peer.start, secret, ASK_S)
        if owner.is_founding:
            owner.on_answer(peer, answer)
        elif answer.domain != owner.domain or not _is_same(peer, answer.greeting):
            owner.on_dead(peer, "somebody else listens where it was")
        elif isinstance(answer.said, Out) and (is_its or not secret):
            owner.on_said(peer.process, answer.said)

    def check(self, peer: Peer) -> None:
        """Look after a peer of which somebody claims to be a later start, but not all the time."""
        now = asyncio.get_running_loop().time()
        if now >= peer.checked_at + CHECK_S:
            peer.checked_at = now
            self._begin_task(self._check(peer))

    def probe(self, process: ProcessId) -> None:
        """Ask who is where a process is, or was, how it stands, be it condemned or not."""
        self._begin_task(self._inquire(process))

    async def _inquire(self, process: ProcessId) -> None:
        owner, peer = self._owner, self.peers.get(process)
        start = peer.start if peer is not None else 0
        secret = peer.secret if peer is not None else self.credentials.secret_of(process)
        try:
            answer, is_its = await self.credentials.ask(process, start, secret, ASK_S)
        except (OSError, PeerError) as error:
            _log.info("%s could not ask for %s: %s", owner.process, process, error)
            return
        said = answer.said
        if answer.domain != owner.domain or not isinstance(said, Out | Standing) or not is_its:
            return
        # A later life of it shows the secret too, and knows if the group has gone on without us.
        is_same = peer is not None and _is_same(peer, answer.greeting)
        if is_same or isinstance(said, Out):
            owner.on_said(process, said)

    def restore(self, process: ProcessId) -> None:
        """Take the session with a peer up again that was given up for a stall."""
        peer = self.peers.get(process)
        if peer is not None and peer.is_stalled:
            peer.is_condemned = peer.is_stalled = False
            peer.why = ""
            if peer.task is None or peer.task.done():
                peer.task = asyncio.ensure_future(self._tend(peer))

    def _begin_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    async def _check(self, peer: Peer) -> None:
        try:
            await self._probe(peer)
        except ConnectionRefusedError:
            self._owner.on_dead(peer, "nobody listens where it was")
        except (OSError, PeerError) as error:
            _log.info("%s could not ask for %s: %s", self._owner.process, peer.process, error)

    def slow(self) -> SlowLink | None:
        """Return what holds a link back, if anything is to."""
        if not self._owner.delay_s_max:
            return None
        self._slow_count += 1  # links of equal seeds would delay alike, and nothing be overtaken
        return SlowLink(self._owner.delay_s_max, f"{self._owner.process}/{self._slow_count}")

    # What links call.

    def on_greeting(self, link: Link, hello: Hello) -> None:
        """A peer that was dialled answers."""
        peer, greeting, owner = link.dialled, hello.greeting, self._owner
        assert peer is not None, "who dials here is received elsewhere"
        if owner.is_founding:
            if not owner.on_answer(peer, Answer(hello.domain, greeting, None)):
                message = f"{peer.process} is not where it should be"
                raise PeerError(message)
            if peer.start not in {0, greeting.start}:
                peer.forget_start()
        elif hello.domain != owner.domain or not _is_same(peer, greeting):
            owner.on_dead(peer, "somebody else listens where it was")
            return
        if greeting.to == owner.start:
            self.credentials.believe(peer, link, greeting)
            self.take_up(peer, link, greeting)

    def take_up(self, peer: Peer, link: Link, greeting: Greeting) -> None:
        """Go on with a session, or begin it, over a link whose greeting has been accepted."""
        peer.start, peer.heard_us = greeting.start, now_us()
        if peer.is_guest:
            peer.leaves_at = None
            self.lobby.receive(peer, link)
        else:
            link.owner = self
            link.trust()
        peer.attach(link, greeting.received)
        self.note_room(peer)
        self._owner.on_room()

    def on_foreign_greeting(self, link: Link) -> None:
        """Nothing: the frame is refused for its version."""

    def on_frame(self, peer: Peer, frame: Frame, byte_count: int) -> None:
        """Count a frame and pass it on."""
        if frame.domain != self._owner.domain:
            message = f"a frame names domain {frame.domain:#x}"
            raise PeerError(message)
        kind = type(frame)
        if kind is Ack:
            self._take_ack(peer, cast("Ack", frame))
            return
        if kind is Hello:
            message = "a peer greets twice"
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

    def on_read(self, peer: Peer) -> None:
        """Pass it on."""
        self._owner.on_read(peer)

    def acknowledge(self, peer: Peer) -> None:
        """Tell a peer what has arrived, if it does not know."""
        if peer.link is not None:
            count = peer.session.acknowledgement()
            if count is not None:
                peer.link.write_frame(encode_ack(self._owner.domain, count))

    def on_full(self, link: Link) -> None:
        """Somebody reads too slowly."""
        if link.peer is not None:
            self.note_room(link.peer)

    def on_room(self, link: Link) -> None:
        """Somebody has caught up."""
        if link.peer is not None:
            self.note_room(link.peer)

    def on_lost(self, link: Link, why: str) -> None:
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
            _log.info("%s lost its connection to %s: %s", self._owner.process, peer.process, why)
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
            is_rival = peer.process.address == joiner.address and peer.process != joiner
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
        peers, self.peers, self.members = list(self.peers.values()), {}, []
        for peer in peers:
            self.credentials.remember(peer)
        bye = with_length(encode_bye(self._owner.domain))
        for peer in peers:
            if peer.task is not None:
                peer.task.cancel()
            if peer.link is not None:
                self.acknowledge(peer)
                if has_left:
                    peer.send(bye)
                self._close(peer.link)
        tasks = [*self._tasks, *(peer.task for peer in peers if peer.task is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if lost := [link.lost for link in self._closing]:
            await asyncio.wait(lost)


def _is_same(peer: Peer, greeting: Greeting) -> bool:
    """Tell whether a greeting is of the very process that a session is with."""
    return greeting.process == peer.process and peer.start in {0, greeting.start}

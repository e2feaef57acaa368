"""The dialler: how other processes are reached, and how it is found out that one is dead.

Law: of two processes one dials (``mesh``), and again when the connection is lost; the other only
probes (``probe``), to learn whether anybody is there. A process is dead for certain if nobody
listens where it did, or somebody else does. If there is no answer at all, the dialler keeps trying
quietly, and it is for the failure detector to decide.
"""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Protocol

from antiphon.core.control import Out, Standing
from antiphon.core.errors import PeerError
from antiphon.core.handshake import Handshake
from antiphon.core.ids import ProcessId
from antiphon.net.session.credentials import Credentials
from antiphon.net.session.peer import Peer
from antiphon.net.transport.address import parse_address
from antiphon.net.transport.environment import Environment
from antiphon.net.transport.link import Link, LinkOwner
from antiphon.net.transport.slow_link import SlowLink

HANDSHAKE_S = 5.0
"""How long a connection may take to say who it is."""

ASK_S = 1.0
"""How long a process may take to answer before it is asked again."""

CHECK_S = 0.2
"""Claims about a process that come closer together than this are looked into once."""

_RETRY_S = 0.05
_RETRY_S_MAX = 1.0
_FIRST_CALL_S = 1.0
"""How long a process may take to dial before it is asked whether it is there."""

_SOON_S = 0.05
"""The same of one that need not know that it is needed: both may, and then one of them dials."""

_log = logging.getLogger("antiphon")


class DiallerOwner(Protocol):
    """What a dialler needs of the incarnation that it serves."""

    process: ProcessId
    start: int
    environment: Environment
    delay_s_max: float

    def is_member(self, process: ProcessId) -> bool:
        """Whether a process is in a view, or about to be in one, of a group of this one."""

    def on_dead(self, peer: Peer, why: str) -> None:
        """A peer is certainly dead, or lies."""

    def on_said(self, domain: int, member: ProcessId, said: Out | Standing) -> None:
        """A member of a group says that this process is none any more, or how it stands itself."""


class Dialler:
    """Reaches the peers of one incarnation."""

    def __init__(
        self,
        owner: DiallerOwner,
        credentials: Credentials,
        peers: dict[ProcessId, Peer],
        links: LinkOwner[Peer],
    ) -> None:
        """Reach ``peers``; what happens to the links that are made is told to ``links``."""
        self._owner = owner
        self._credentials = credentials
        self._peers = peers
        self._links = links
        self._slow_count = 0
        self.tasks: dict[asyncio.Task[None], None] = {}
        """What is being looked into beside keeping peers connected."""

    async def tend(self, peer: Peer) -> None:
        """Keep a peer connected, or find out that it is dead; for as long as it concerns us."""
        pause_s = _RETRY_S
        if not peer.is_dialled:
            await self._until_changed(peer, _SOON_S if peer.is_on_demand else _FIRST_CALL_S)
        while not (peer.has_left or peer.is_condemned):
            if peer.link is not None:
                pause_s = _RETRY_S
                await self._until_changed(peer, None)
                continue
            if peer.leaves_at is not None and not peer.session.kept_bytes:
                await self._until_changed(peer, pause_s)  # nobody needs it: its session is to sleep
                continue
            try:
                await self._reach(peer)
            except ConnectionRefusedError:
                self._owner.on_dead(peer, "nobody listens where it was")
            except (OSError, PeerError) as error:
                peer.why = str(error) if isinstance(error, PeerError) else ""
                me, other = self._owner.process.name, peer.process.name
                _log.info("%s does not reach %s: %s", me, other, error)
            if peer.link is None:
                await self._until_changed(peer, pause_s)
                pause_s = min(2 * pause_s, _RETRY_S_MAX)

    @staticmethod
    async def _until_changed(peer: Peer, timeout_s: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await peer.changed.wait()
        peer.changed.clear()

    async def _reach(self, peer: Peer) -> None:
        owner = self._owner
        is_first = peer.process < owner.process and owner.is_member(peer.process)
        if is_first or peer.is_on_demand:
            peer.is_dialled = True  # whoever began: the other side may have forgotten that it did
        if peer.is_dialled:
            await self._dial(peer)
        if peer.link is None and not peer.is_condemned:
            await self._probe(peer)

    async def _dial(self, peer: Peer) -> None:
        """Connect, and send a handshake; the answer decides (``on_handshake``)."""
        owner = self._owner
        address = parse_address(peer.process.address)
        async with asyncio.timeout(HANDSHAKE_S):
            _, link = await owner.environment.transport.connect(
                address, lambda: Link[Peer](self._links, self.slow())
            )
        link.dialled = peer
        if peer.link is not None:
            link.drop("the other side has dialled meanwhile")
            return
        peer.is_dialling = True
        try:
            link.write_frame(self._credentials.to_dial(peer, link))
            # Not awaited itself: being cancelled would cancel it.
            await asyncio.wait([link.settled], timeout=HANDSHAKE_S)
        finally:
            peer.offered, peer.is_dialling = b"", False
            if link.peer is None:
                link.drop("nobody waits for its handshake any longer")

    async def _probe(self, peer: Peer) -> None:
        """Ask whether a peer is still there."""
        owner, secret = self._owner, peer.secret
        answer, is_its = await self._credentials.ask(peer.process, peer.start, secret, ASK_S)
        if not is_same(peer, answer.handshake):
            owner.on_dead(peer, "somebody else listens where it was")
            return
        if peer.start and not answer.handshake.to:
            peer.is_dialled = True  # its session sleeps: it needs us in no group, and will not dial
        if answer.is_of_group and isinstance(answer.said, Out) and (is_its or not secret):
            owner.on_said(answer.domain, answer.handshake.process, answer.said)

    def check(self, peer: Peer) -> None:
        """Look after a peer of which somebody claims to be a later start, but not all the time."""
        now = asyncio.get_running_loop().time()
        if now >= peer.checked_at + CHECK_S:
            peer.checked_at = now
            self._begin_task(self._check(peer))

    def probe(self, member: ProcessId, group: str) -> None:
        """Ask who is where a member is, or was, how it stands, be it condemned or not."""
        self._begin_task(self._inquire(member, group))

    async def _inquire(self, member: ProcessId, group: str) -> None:
        process = member.bare()
        owner, peer = self._owner, self._peers.get(process)
        start = peer.start if peer is not None else 0
        secret = peer.secret if peer is not None else self._credentials.secret_of(process)
        try:
            answer, is_its = await self._credentials.ask(process, start, secret, ASK_S, group)
        except (OSError, PeerError) as error:
            _log.info("%s could not ask for %s: %s", owner.process.name, member, error)
            return
        said = answer.said
        if not answer.is_of_group or not isinstance(said, Out | Standing) or not is_its:
            return
        # A later incarnation shows the secret too, and knows if the group has gone on without us.
        is_it = peer is not None and is_same(peer, answer.handshake)
        if is_it or isinstance(said, Out):
            owner.on_said(answer.domain, member, said)

    def restore(self, process: ProcessId) -> None:
        """Take the session with a peer up again that was given up for a stall."""
        peer = self._peers.get(process)
        if peer is not None and peer.is_stalled:
            peer.is_condemned = peer.is_stalled = False
            peer.why = ""
            if peer.task is None or peer.task.done():
                peer.task = asyncio.ensure_future(self.tend(peer))

    def _begin_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self.tasks[task] = None
        task.add_done_callback(self.tasks.pop)

    async def _check(self, peer: Peer) -> None:
        try:
            await self._probe(peer)
        except ConnectionRefusedError:
            self._owner.on_dead(peer, "nobody listens where it was")
        except (OSError, PeerError) as error:
            me, other = self._owner.process.name, peer.process.name
            _log.info("%s could not ask for %s: %s", me, other, error)

    def slow(self) -> SlowLink | None:
        """Return what holds a link back, if anything is to."""
        if not self._owner.delay_s_max:
            return None
        self._slow_count += 1  # links of equal seeds would delay alike, and nothing be overtaken
        return SlowLink(self._owner.delay_s_max, f"{self._owner.process.name}/{self._slow_count}")


def is_same(peer: Peer, handshake: Handshake) -> bool:
    """Tell whether a handshake is of the very process that a session is with."""
    return handshake.process.bare() == peer.process and peer.may_be(handshake.start)

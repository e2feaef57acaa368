"""The listener: where other processes come in.

Law: whoever connects has to send a handshake, soon and briefly, and gets an answer. What follows
depends on who it is: a member, or who may be one, goes on with its session; a joiner begins one;
whoever only asks, or is out, or belongs elsewhere, has got its answer, and the connection ends.
Nobody who is turned away changes anything for anybody else: claims are looked into, not believed.

A session is begun only with who confirms, asked where it listens, that it has dialled, and taken up
only by who knows its secret (``credentials``). Those who have not got that far are few at a time:
if there are too many, the one that has been there longest goes, of the host that has most.
"""

import asyncio
import errno
import logging
from collections import Counter
from typing import Protocol

from antiphon.core.control import AnyMessage, Elsewhere, FoundingAnswer, Out, Situation, Standing
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.frames import Frame, Hello, encode_control, encode_hello
from antiphon.core.handshake import Handshake
from antiphon.core.ids import ProcessId
from antiphon.net.session import dialler
from antiphon.net.session.identity import Identity
from antiphon.net.session.mesh import Mesh
from antiphon.net.session.peer import Peer, PeerLink
from antiphon.net.session.probe import is_address
from antiphon.net.transport.address import Address
from antiphon.net.transport.environment import Environment
from antiphon.net.transport.interface import Server
from antiphon.net.transport.link import Link

STRANGERS_MAX = 128
"""Connections at a time that have no session, or none yet."""

_SILENT_US = 1_000_000
"""A link on which nothing came for so long, and which the other side misses, is given up."""

GIVEN_OTHERS = "it was given other members, or other addresses: give all the same"

_ANSWERED = "it has its answer"

_log = logging.getLogger("antiphon")


class GroupPart(Protocol):
    """What a listener needs of the process's part in one group."""

    domain: int
    identity: Identity
    turned_away: str | None
    """Why the last one was turned away for being given another group."""

    @property
    def founding(self) -> int:
        """What tells the founding members from others, while this process waits for them."""

    @property
    def view_number(self) -> int:
        """The number of the last view agreed on, as far as this process knows; 0 outside."""

    def has_counted(self, asker: Handshake) -> bool:
        """Whether this process founds, or founded, the group with this very asker."""

    def answer(
        self, asker: Handshake, *, has_channel: bool
    ) -> Out | Standing | FoundingAnswer | None:
        """Return what to tell who asks, beside the handshake."""

    def on_probed(self, member: ProcessId, view_number: int) -> None:
        """A process that shows the secret of its session asks, in a view of this number."""

    def serve_operator(self, order: str, number: int, who: str) -> Situation:
        """Do what an operator orders; return how this process stands then."""


class Host(Protocol):
    """What a listener needs of the incarnation that visitors come to see."""

    process: ProcessId
    start: int
    mesh: Mesh

    @property
    def is_over(self) -> bool:
        """Whether the incarnation has ended."""

    def part(self, group: str) -> GroupPart | None:
        """Return this process's part in a group, if it has any."""

    def hello(self, other: ProcessId, *, group: str) -> Hello:
        """Return what to say to ``other`` about ``group``, be this process in it or not."""

    def elsewhere(self) -> Elsewhere:
        """Return what to tell who asks about a group of which this process knows nothing."""


class Listener:
    """Listens, and receives who comes."""

    def __init__(self, environment: Environment, *, insecure: bool) -> None:
        """Stay closed."""
        self._environment = environment
        self._insecure = insecure
        self._server: Server | None = None
        self._links: dict[PeerLink, None] = {}
        self._confirming: dict[PeerLink, asyncio.Task[None]] = {}
        self.host: Host | None = None
        """Whom the visitors come to see."""

    async def open(self, address: Address, name: str, advice: str = "") -> Address:
        """Listen; return where, for a port of 0 is any that is free.

        ``advice`` is what else ``name`` might do if the address is in use.
        """
        try:
            self._server = await self._environment.transport.listen(address, self._accept)
        except OSError as error:
            is_in_use = error.errno == errno.EADDRINUSE
            what = "is in use" if is_in_use else f"cannot be used ({error})"
            message = f"{address} {what}: give {name} another address{advice if is_in_use else ''}"
            raise UsageError(message) from None
        return self._server.address

    async def close(self) -> None:
        """Listen no longer, and send away who has sent no handshake yet."""
        if self._server is not None:
            await self._server.close()
        confirming = list(self._confirming.values())
        for task in confirming:
            task.cancel()
        await asyncio.gather(*confirming, return_exceptions=True)
        links = list(self._links)
        for link in links:
            link.drop("this process stops")
        if links:
            await asyncio.wait([link.lost for link in links])

    def _accept(self) -> PeerLink:
        self._make_room()
        link = Link[Peer](self, self.host.mesh.slow() if self.host is not None else None)
        self._links[link] = None
        loop = asyncio.get_running_loop()
        timer = loop.call_later(dialler.HANDSHAKE_S, link.drop, "it never sent a handshake")
        link.settled.add_done_callback(lambda _: timer.cancel())
        return link

    def _make_room(self) -> None:
        waiting = [link for link in self._links if not link.is_dropped]
        if len(waiting) < STRANGERS_MAX:
            return
        ((busiest, _),) = Counter(link.remote_host for link in waiting).most_common(1)
        crowd = [link for link in waiting if link.remote_host == busiest]
        silent = (link for link in crowd if link not in self._confirming)
        next(silent, crowd[0]).drop("others want to be heard")

    # What links call.

    def on_handshake(self, link: PeerLink, hello: Hello) -> None:
        """Answer a handshake, and let in who belongs here."""
        host, handshake = self.host, hello.handshake
        if host is None:
            link.drop("this process is between two incarnations")
            return
        if link in self._confirming:
            message = "a peer goes on before it is answered"
            raise PeerError(message)
        if handshake.order:
            self._serve_operator(link, host, handshake)
        else:
            self._receive(link, host, hello)

    def _receive(self, link: PeerLink, host: Host, hello: Hello) -> None:
        handshake = hello.handshake
        part = host.part(handshake.group)
        if part is not None and hello.domain != part.domain:
            self._answer(link, host, handshake)
            part.turned_away = part.identity.difference(handshake)
            link.drop(part.turned_away)
            return
        if part is not None and part.founding and handshake.founding not in {0, part.founding}:
            part.turned_away = GIVEN_OTHERS
        if handshake.is_asking:
            self._answer_asker(link, host, part, handshake)
            return
        problem = self._problem(host, handshake)
        if problem is not None:
            self._refuse(link, host, handshake, problem)
        elif handshake.to:
            self._let_in(link, host, handshake)
        else:
            task = asyncio.ensure_future(self._confirm(link, host, handshake))
            self._confirming[link] = task
            task.add_done_callback(lambda _: self._confirming.pop(link, None))

    async def _confirm(self, link: PeerLink, host: Host, handshake: Handshake) -> None:
        """Let in a process at its first handshake, if it is the one that it says."""
        is_confirmed = await host.mesh.credentials.confirm(handshake)
        if link.is_dropped or host is not self.host or host.is_over:
            link.drop("this process is between two incarnations")
            return
        problem = self._problem(host, handshake)
        if problem is None and not is_confirmed:
            who = handshake.process
            problem = f"{who.name}, asked at {who.address}, does not confirm that it has dialled"
        if problem is not None:
            self._refuse(link, host, handshake, problem)
            return
        try:
            self._let_in(link, host, handshake)
        except PeerError as error:
            link.drop(str(error))

    def _refuse(self, link: PeerLink, host: Host, handshake: Handshake, problem: str) -> None:
        peer = host.mesh.peers.get(handshake.process.bare())
        if peer is None or not peer.is_dialling:  # else the other side hears more over that link
            self._answer(link, host, handshake)
        link.drop(problem)

    def _let_in(self, link: PeerLink, host: Host, handshake: Handshake) -> None:
        who = handshake.process.bare()
        peer = host.mesh.let_in(who)
        if not handshake.to:  # it knows of no session, or has forgotten it
            peer.begin_again()
            peer.secret = handshake.secret
        peer.session.acknowledge(handshake.received)
        peer.is_dialled = False
        self._answer(link, host, handshake, to=handshake.start, received=peer.session.received)
        self._links.pop(link)
        host.mesh.take_up(peer, link, handshake)

    def _problem(self, host: Host, handshake: Handshake) -> str | None:
        """Return why a process cannot have a session here."""
        name, who = handshake.process.name, handshake.process.bare()
        if who == host.process:
            return f"it calls itself {name}, as this process does"
        if not is_address(who.address, insecure=self._insecure):
            return f"{name} says that it is at {who.address!r}, beyond this machine"
        if not handshake.to and not handshake.secret:
            return f"{name} offers no secret"
        peer = host.mesh.find(who, handshake.start)
        if peer is None:
            return self._problem_of_stranger(host, handshake)
        return self._problem_of_peer(host, handshake, peer)

    @staticmethod
    def _problem_of_peer(host: Host, handshake: Handshake, peer: Peer) -> str | None:
        name = handshake.process.name
        if handshake.to not in {0, host.start} or peer.is_condemned:
            return f"{name} and this process have nothing to go on with"
        if handshake.to and not host.mesh.credentials.is_resumed(peer, handshake):
            return f"{name} does not show that the session is its own"
        if peer.is_dialling and peer.process < host.process:
            return f"{name} is being dialled by this process"
        if peer.may_be(handshake.start):
            is_odd = handshake.to and not peer.start
            return f"{name} goes on with what this process does not know of" if is_odd else None
        host.mesh.check(peer)
        return f"another start of {name} is known"

    @staticmethod
    def _problem_of_stranger(host: Host, handshake: Handshake) -> str | None:
        name = handshake.process.name
        if handshake.to:
            return f"{name} goes on with what this process does not know of"
        part = host.part(handshake.group)
        if part is not None and 0 < handshake.view <= part.view_number:
            return f"{name} is no member"
        return None

    def _serve_operator(self, link: PeerLink, host: Host, handshake: Handshake) -> None:
        """Tell an operator on this machine how this process stands, or do what it orders."""
        self._answer(link, host, handshake)
        part = host.part(handshake.group)
        if part is not None and (self._insecure or link.is_from_here):
            who = f"{handshake.process.name} at {link.remote_host}"
            said = part.serve_operator(handshake.order, handshake.view, who)
            link.write_frame(encode_control(part.domain, 0, said))
        link.drop(_ANSWERED)

    def _answer_asker(
        self, link: PeerLink, host: Host, part: GroupPart | None, handshake: Handshake
    ) -> None:
        who = handshake.process.bare()
        peer, known = host.mesh.peers.get(who), host.mesh.find(who, handshake.start)
        is_its = known is not None and known.start == handshake.start
        is_its = is_its or (part is not None and part.has_counted(handshake))
        is_other_start = peer is not None and peer.start not in {0, handshake.start}
        self._answer(link, host, handshake, to=handshake.start if is_its else 0)
        said: AnyMessage | None = host.elsewhere() if handshake.group else None
        if part is not None:
            said = part.answer(handshake, has_channel=peer is not None)
        if said is not None and not is_other_start:
            link.write_frame(encode_control(part.domain if part is not None else 0, 0, said))
        link.drop(_ANSWERED)
        secret = host.mesh.credentials.shown(handshake, peer)
        if part is not None and secret:
            part.on_probed(handshake.process, handshake.view)
        if peer is not None and is_other_start:
            host.mesh.check(peer)
        elif peer is not None and secret and secret == peer.secret:
            self._look_at_link(peer)

    def _look_at_link(self, peer: Peer) -> None:
        """Give a link up on which nothing comes, if who asks has a session, and misses the link."""
        if peer.link is not None and self._environment.now_us() - peer.heard_us > _SILENT_US:
            peer.link.drop("the other side has lost the connection")

    @staticmethod
    def _answer(
        link: PeerLink, host: Host, handshake: Handshake, to: int = 0, received: int = 0
    ) -> None:
        peer = host.mesh.peers.get(handshake.process.bare())
        link.write_frame(host.mesh.credentials.answer(handshake, peer, to=to, received=received))

    def on_foreign_handshake(self, link: PeerLink) -> None:
        """Answer in our version, so that the other side can say what is wrong."""
        if self.host is not None:
            hello = self.host.hello(self.host.process, group="")
            link.write_frame(encode_hello(hello.domain, hello.handshake))

    def on_lost(self, link: PeerLink, why: str) -> None:
        """Forget who was turned away, or has got its answer."""
        self._links.pop(link, None)
        if link in self._confirming:
            self._confirming[link].cancel()
        if why != _ANSWERED:
            _log.info("a connection was refused or ended before its handshake: %s", why)

    def on_frame(self, peer: Peer, frame: Frame, byte_count: int) -> None:
        """Never called: who is let in has another owner."""

    def on_read(self, peer: Peer) -> None:
        """Never called either."""

    def on_full(self, link: PeerLink) -> None:
        """An answer is too short to fill anything."""

    def on_room(self, link: PeerLink) -> None:
        """Likewise."""

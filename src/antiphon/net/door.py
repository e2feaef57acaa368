"""The door: where other processes come in.

Law: whoever connects has to greet, soon and briefly, and gets an answer. What follows depends on
who it is: a member, or who may be one, goes on with its session; a joiner begins one; whoever
only asks, or is out, or belongs elsewhere, has got its answer, and the connection ends. Nobody
who is turned away changes anything for anybody else: claims are looked into, never believed.

A session is begun only with who confirms, asked where it listens, that it has dialled, and taken up
only by who knows its secret (``credentials``). Those who have not got that far are few at a time:
if there are too many, the one that has been there longest goes, of the host that has most.
"""

import asyncio
import errno
import logging
from collections import Counter
from typing import TYPE_CHECKING

from antiphon.core.errors import PeerError, UsageError
from antiphon.core.frames import Frame, Hello, encode_control, encode_hello
from antiphon.core.greeting import Greeting
from antiphon.net import mesh as mesh_module
from antiphon.net.address import Address
from antiphon.net.asking import is_address
from antiphon.net.link import Link
from antiphon.net.peer import Peer, now_us

if TYPE_CHECKING:
    from antiphon.net.driver import Driver

STRANGERS_MAX = 128
"""Connections at a time that have no session, or none yet."""

_SILENT_US = 1_000_000
"""A link on which nothing came for so long, and which the other side misses, is given up."""

GIVEN_OTHERS = "it was given other members, or other addresses: give all the same"

_ANSWERED = "it has its answer"

_log = logging.getLogger("antiphon")


class Door:
    """Listens, and receives who comes."""

    def __init__(self, *, insecure: bool) -> None:
        """Stay closed."""
        self._insecure = insecure
        self._server: asyncio.Server | None = None
        self._links: dict[Link, None] = {}
        self._confirming: dict[Link, asyncio.Task[None]] = {}
        self.life: Driver | None = None
        """Whom the visitors come to see."""
        self.turned_away: str | None = None
        """Why the last one was turned away for being given another group."""

    async def open(self, address: Address, name: str) -> Address:
        """Listen; return where, for a port of 0 is any that is free."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._accept, address.host, address.port)
        except (OSError, UnicodeError) as error:  # the latter from names that cannot be a host's
            in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            what = "is in use" if in_use else f"cannot be used ({error})"
            message = f"{address} {what}: give {name} another address"
            raise UsageError(message) from None
        return Address(address.host, self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Listen no longer, and send away who has not greeted yet."""
        if self._server is not None:
            self._server.close()
        links = list(self._links)
        confirming = list(self._confirming.values())
        for task in confirming:
            task.cancel()
        await asyncio.gather(*confirming, return_exceptions=True)
        for link in links:
            link.drop("this process stops")
        if links:
            await asyncio.wait([link.lost for link in links])

    def _accept(self) -> Link:
        self._make_room()
        link = Link(self, self.life.mesh.slow() if self.life is not None else None)
        self._links[link] = None
        loop = asyncio.get_running_loop()
        timer = loop.call_later(mesh_module.GREETING_S, link.drop, "it never greeted")
        link.settled.add_done_callback(lambda _: timer.cancel())
        return link

    def _make_room(self) -> None:
        waiting = [link for link in self._links if not link.is_dropped]
        if len(waiting) < STRANGERS_MAX:
            return
        ((host, _),) = Counter(link.remote_host for link in waiting).most_common(1)
        crowd = [link for link in waiting if link.remote_host == host]
        silent = (link for link in crowd if link not in self._confirming)
        next(silent, crowd[0]).drop("others want to be heard")

    # What links call.

    def on_greeting(self, link: Link, hello: Hello) -> None:
        """Answer a greeting, and let in who belongs here."""
        life, greeting = self.life, hello.greeting
        if life is None:
            link.drop("this process is between two lives")
            return
        if link in self._confirming:
            message = "a peer goes on before it is answered"
            raise PeerError(message)
        if greeting.order:
            self._serve_operator(link, life, greeting)
        else:
            self._receive(link, life, hello)

    def _receive(self, link: Link, life: "Driver", hello: Hello) -> None:
        greeting = hello.greeting
        peer = life.mesh.peers.get(greeting.process)
        if hello.domain != life.domain:
            self._answer(link, life, greeting)
            link.drop(life.identity.difference(greeting))
            self.turned_away = life.identity.difference(greeting)
            return
        if life.founding and greeting.founding and life.founding != greeting.founding:
            # Also of one who only asks: two that each think themselves senior never dial.
            self.turned_away = GIVEN_OTHERS
        if greeting.is_asking:
            self._answer_asker(link, life, greeting, peer)
            return
        problem = self._problem(life, greeting, peer)
        if problem is not None:
            self._refuse(link, life, greeting, problem)
        elif greeting.to:
            self._let_in(link, life, greeting)
        else:
            task = asyncio.ensure_future(self._confirm(link, life, greeting))
            self._confirming[link] = task
            task.add_done_callback(lambda _: self._confirming.pop(link, None))

    async def _confirm(self, link: Link, life: "Driver", greeting: Greeting) -> None:
        """Let in a process that greets for the first time, if it is the one that it says."""
        is_confirmed = await life.mesh.credentials.confirm(greeting)
        if link.is_dropped or life is not self.life or life.is_over:
            link.drop("this process is between two lives")
            return
        problem = self._problem(life, greeting, life.mesh.peers.get(greeting.process))
        if problem is None and not is_confirmed:
            who = greeting.process
            problem = f"{who.name}, asked at {who.address}, does not confirm that it has dialled"
        if problem is not None:
            self._refuse(link, life, greeting, problem)
            return
        try:
            self._let_in(link, life, greeting)
        except PeerError as error:
            link.drop(str(error))

    def _refuse(self, link: Link, life: "Driver", greeting: Greeting, problem: str) -> None:
        self._answer(link, life, greeting)
        link.drop(problem)

    def _let_in(self, link: Link, life: "Driver", greeting: Greeting) -> None:
        peer = life.mesh.peers.get(greeting.process)
        if peer is None:
            peer = life.mesh.add_guest(greeting.process)
        elif peer.start not in {0, greeting.start}:
            peer.forget_start()  # founding: it has begun again
        peer.session.acknowledge(greeting.received)
        if not greeting.to:
            peer.secret = greeting.secret
        self._answer(link, life, greeting, to=greeting.start, received=peer.session.received)
        self._links.pop(link)
        life.mesh.take_up(peer, link, greeting)

    def _problem(self, life: "Driver", greeting: Greeting, peer: Peer | None) -> str | None:
        """Return why a process cannot have a session here."""
        name = greeting.process.name
        if greeting.process == life.process:
            return f"it calls itself {name}, as this process does"
        if not is_address(greeting.process.address, insecure=self._insecure):
            return f"{name} says that it is at {greeting.process.address!r}, beyond this machine"
        if life.founding and greeting.founding and life.founding != greeting.founding:
            return GIVEN_OTHERS
        if not greeting.to and not greeting.secret:
            return f"{name} offers no secret"
        if peer is None:
            return self._problem_of_stranger(life, greeting)
        return self._problem_of_peer(life, greeting, peer)

    @staticmethod
    def _problem_of_peer(life: "Driver", greeting: Greeting, peer: Peer) -> str | None:
        name = greeting.process.name
        if greeting.to not in {0, life.start} or peer.is_condemned:
            return f"{name} and this process have nothing to go on with"
        if greeting.to and not life.mesh.credentials.is_resumed(peer, greeting):
            return f"{name} does not show that the session is its own"
        if peer.start in {0, greeting.start}:
            # Who does not know this process yet has sent nothing; who does is known here too.
            is_odd = bool(peer.session.received) if not greeting.to else not peer.start
            return f"{name} goes on with what this process does not know of" if is_odd else None
        if life.is_founding and peer.link is None:
            return None
        life.mesh.check(peer)
        return f"another start of {name} is known"

    @staticmethod
    def _problem_of_stranger(life: "Driver", greeting: Greeting) -> str | None:
        name = greeting.process.name
        if life.is_founding:
            return f"{name} is none of the founding members"
        if greeting.to:
            return f"{name} goes on with what this process does not know of"
        if 0 < greeting.view <= life.view_number:
            return f"{name} is no member"
        return None

    def _serve_operator(self, link: Link, life: "Driver", greeting: Greeting) -> None:
        """Tell an operator on this machine how this process stands, or do what it orders."""
        self._answer(link, life, greeting)
        if greeting.group == life.identity.group and (self._insecure or link.is_from_here):
            who = f"{greeting.process.name} at {link.remote_host}"
            said = life.serve_operator(greeting.order, greeting.view, who)
            link.write_frame(encode_control(life.domain, said))
        link.drop(_ANSWERED)

    def _answer_asker(
        self, link: Link, life: "Driver", greeting: Greeting, peer: Peer | None
    ) -> None:
        is_its = peer is not None and peer.start == greeting.start
        is_other_start = peer is not None and peer.start not in {0, greeting.start}
        self._answer(link, life, greeting, to=greeting.start if is_its else 0)
        said = life.answer(greeting, has_channel=peer is not None)
        if said is not None and not is_other_start:
            link.write_frame(encode_control(life.domain, said))
        link.drop(_ANSWERED)
        if life.is_founding:
            return
        if life.mesh.credentials.shown(greeting, peer):
            life.on_asked(greeting.process, greeting.view)
        if peer is None:
            return
        if is_other_start:
            life.mesh.check(peer)
        elif (
            peer.link is not None
            and now_us() - peer.heard_us > _SILENT_US
            and life.mesh.credentials.shown(greeting, peer) == peer.secret
        ):
            peer.link.drop("the other side has lost the connection")

    @staticmethod
    def _answer(
        link: Link, life: "Driver", greeting: Greeting, to: int = 0, received: int = 0
    ) -> None:
        peer = life.mesh.peers.get(greeting.process)
        said = life.mesh.credentials.answer(greeting, peer, to=to, received=received)
        link.write_frame(encode_hello(life.domain, said))

    def on_foreign_greeting(self, link: Link) -> None:
        """Answer in our version, so that the other side can say what is wrong."""
        if self.life is not None:
            nobody = self.life.process
            link.write_frame(encode_hello(self.life.domain, self.life.greeting(nobody)))

    def on_lost(self, link: Link, why: str) -> None:
        """Forget who was turned away, or has got its answer."""
        self._links.pop(link, None)
        if link in self._confirming:
            self._confirming[link].cancel()
        if why != _ANSWERED:
            _log.info("a connection was refused or ended before it greeted: %s", why)

    def on_frame(self, peer: Peer, frame: Frame, byte_count: int) -> None:
        """Never called: who is let in has another owner."""

    def on_read(self, peer: Peer) -> None:
        """Never called either."""

    def on_full(self, link: Link) -> None:
        """An answer is too short to fill anything."""

    def on_room(self, link: Link) -> None:
        """Likewise."""

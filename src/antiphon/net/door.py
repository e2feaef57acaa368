"""The door: where other processes come in.

Law: whoever connects has to greet, soon and briefly, and gets an answer. What follows depends on
who it is: a member, or who may be one, goes on with its session; a joiner begins one; whoever
only asks, or is out, or belongs elsewhere, has got its answer, and the connection ends. Nobody
who is turned away changes anything for anybody else: claims are looked into, never believed.
"""

import asyncio
import errno
import logging
from typing import TYPE_CHECKING

from antiphon.core.errors import UsageError
from antiphon.core.frames import Frame, Hello, encode_control, encode_hello
from antiphon.core.greeting import Greeting
from antiphon.net import mesh as mesh_module
from antiphon.net.address import Address
from antiphon.net.asking import is_address
from antiphon.net.link import Link
from antiphon.net.peer import Peer, now_us

if TYPE_CHECKING:
    from antiphon.net.life import Life

GUESTS_MAX = 64
"""Joiners that may be connected at a time."""

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
        self.life: Life | None = None
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
        for link in links:
            link.drop("this process stops")
        if links:
            await asyncio.wait([link.lost for link in links])

    def _accept(self) -> Link:
        link = Link(self, self.life.mesh.slow() if self.life is not None else None)
        self._links[link] = None
        loop = asyncio.get_running_loop()
        timer = loop.call_later(mesh_module.GREETING_S, link.drop, "it never greeted")
        link.settled.add_done_callback(lambda _: timer.cancel())
        return link

    # What links call.

    def on_greeting(self, link: Link, hello: Hello) -> None:
        """Answer a greeting, and let in who belongs here."""
        life, greeting = self.life, hello.greeting
        if life is None:
            link.drop("this process is between two lives")
            return
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
            self._answer(link, life, greeting, to=peer.start if peer is not None else 0)
            link.drop(problem)
            return
        if peer is None:
            peer = life.mesh.add(greeting.process, is_senior=False)
            peer.is_guest = True
        elif peer.start not in {0, greeting.start}:
            peer.forget_start()  # founding: it has begun again
        peer.session.acknowledge(greeting.received)
        self._answer(link, life, greeting, to=greeting.start, received=peer.session.received)
        self._links.pop(link)
        life.mesh.take_up(peer, link, greeting)

    def _problem(self, life: "Life", greeting: Greeting, peer: Peer | None) -> str | None:
        """Return why a process cannot have a session here."""
        name = greeting.process.name
        if greeting.process == life.process:
            return f"it calls itself {name}, as this process does"
        if not is_address(greeting.process.address, insecure=self._insecure):
            return f"{name} says that it is at {greeting.process.address!r}, beyond this machine"
        if life.founding and greeting.founding and life.founding != greeting.founding:
            return GIVEN_OTHERS
        if peer is None:
            return self._problem_of_stranger(life, greeting)
        return self._problem_of_peer(life, greeting, peer)

    @staticmethod
    def _problem_of_peer(life: "Life", greeting: Greeting, peer: Peer) -> str | None:
        name = greeting.process.name
        if greeting.to not in {0, life.start} or peer.is_condemned:
            return f"{name} and this process have nothing to go on with"
        if peer.start in {0, greeting.start}:
            # Who does not know this process yet has sent nothing; who does is known here too.
            is_odd = bool(peer.session.received) if not greeting.to else not peer.start
            return f"{name} goes on with what this process does not know of" if is_odd else None
        if life.is_founding and peer.link is None:
            return None
        life.mesh.check(peer)
        return f"another start of {name} is known"

    @staticmethod
    def _problem_of_stranger(life: "Life", greeting: Greeting) -> str | None:
        name = greeting.process.name
        if life.is_founding:
            return f"{name} is none of the founding members"
        if greeting.to:
            return f"{name} goes on with what this process does not know of"
        if 0 < greeting.view <= life.view_number:
            return f"{name} is no member"
        if sum(peer.is_guest for peer in life.mesh.peers.values()) >= GUESTS_MAX:
            return "too many processes join at a time"
        return None

    def _answer_asker(
        self, link: Link, life: "Life", greeting: Greeting, peer: Peer | None
    ) -> None:
        self._answer(link, life, greeting, to=peer.start if peer is not None else 0)
        is_other_start = peer is not None and peer.start not in {0, greeting.start}
        said = life.answer(greeting, has_channel=peer is not None)
        if said is not None and not is_other_start:
            link.write_frame(encode_control(life.domain, said))
        link.drop(_ANSWERED)
        if peer is None or life.is_founding:
            return
        if is_other_start:
            life.mesh.check(peer)
        elif peer.link is not None and now_us() - peer.heard_us > _SILENT_US:
            peer.link.drop("the other side has lost the connection")

    @staticmethod
    def _answer(
        link: Link, life: "Life", greeting: Greeting, to: int = 0, received: int = 0
    ) -> None:
        said = life.greeting(greeting.process, to, received)
        link.write_frame(encode_hello(life.domain, said))

    def on_foreign_greeting(self, link: Link) -> None:
        """Answer in our version, so that the other side can say what is wrong."""
        if self.life is not None:
            nobody = self.life.process
            link.write_frame(encode_hello(self.life.domain, self.life.greeting(nobody)))

    def on_lost(self, link: Link, why: str) -> None:
        """Forget who was turned away, or has got its answer."""
        self._links.pop(link, None)
        if why != _ANSWERED:
            _log.info("a connection was refused or ended before it greeted: %s", why)

    def on_frame(self, peer: Peer, frame: Frame, byte_count: int) -> None:
        """Never called: who is let in has another owner."""

    def on_read(self, peer: Peer) -> None:
        """Never called either."""

    def on_full(self) -> None:
        """An answer is too short to fill anything."""

    def on_room(self) -> None:
        """Likewise."""

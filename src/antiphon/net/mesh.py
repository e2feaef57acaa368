"""The mesh: one link to every other member, opened once, lost for good.

Law: of two members the junior one (higher rank) dials, so each pair has exactly one connection.
Both sides greet; a greeting must name the same group, the same members and the rank that belongs
to its name, or the link is refused. The mesh is open when every member has greeted.

A member that ended with a BYE has left in order; one whose link ended otherwise is lost. Without
membership nobody can tell what a lost member missed, so it is not taken back.
"""

import asyncio
import errno
import logging
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from antiphon.core.errors import PeerError, UsageError
from antiphon.core.frames import Bye, Frame, Hello, encode_bye, encode_hello
from antiphon.net.address import Address
from antiphon.net.framing import with_length
from antiphon.net.link import Link
from antiphon.net.slow_link import SlowLink

STALL_S = 30.0
"""How long a member may hold senders up by not reading before it loses its link."""

GREETING_S = 5.0
"""How long an accepted connection may take to say who it is."""

LINGER_S = 1.0
"""How long a closing link waits for the other side to close too."""

_RETRY_S = 0.05

_log = logging.getLogger("antiphon")


class Owner(Protocol):
    """What a mesh needs of its node."""

    def on_frame(self, peer: int, frame: Frame) -> None:
        """A member sent a frame; raise PeerError if no correct process would."""

    def on_lost(self, name: str, why: str) -> None:
        """A member is gone without having said bye."""


def domain_digest(group: str, names: list[str]) -> int:
    """Return what tells this static domain from others: 4 bytes on every frame."""
    return zlib.crc32("\n".join(["antiphon", "vector", group, *names]).encode())


class Mesh:
    """Links from one member to all others."""

    def __init__(
        self,
        owner: Owner,
        group: str,
        rank: int,
        addresses: dict[str, Address],
        delay_s_max: float = 0.0,
    ) -> None:
        """Prepare; ``addresses`` are in order of rank."""
        self._owner = owner
        self._rank = rank
        self._names = list(addresses)
        self._addresses = list(addresses.values())
        self.domain = domain_digest(group, self._names)
        self._hello = encode_hello(Hello(self.domain, rank, self._names[rank], 1))
        self._delay_s_max = delay_s_max
        self._links: dict[int, Link] = {}
        self._accepted: list[Link] = []
        self._refusal: str | None = None
        self._turned_away: str | None = None
        self._hung_up: dict[int, None] = {}
        self._slow_count = 0
        self._said_bye: dict[int, None] = {}
        self._server: asyncio.Server | None = None
        self._changed = asyncio.Event()
        self._is_open = False
        self._is_closing = False
        self.lost: dict[str, str] = {}
        """Members that are gone without having said bye, and why."""
        self.is_writable = True
        """Whether no link is full."""

    # Opening.

    async def open(self, timeout_s: float) -> None:
        """Listen, dial the senior members, and wait until everyone has greeted."""
        await self._listen()
        dials = [asyncio.ensure_future(self._dial(peer)) for peer in range(self._rank)]
        try:
            async with asyncio.timeout(timeout_s):
                await self._until(lambda: bool(self._refusal) or not self._missing())
        except TimeoutError:
            raise UsageError(self._say_missing(timeout_s)) from None
        finally:
            for task in dials:
                task.cancel()
            await asyncio.gather(*dials, return_exceptions=True)
        if self._refusal is not None:
            raise UsageError(self._refusal)
        self._is_open = True

    def _missing(self) -> list[int]:
        # A member that has come, said its say and left by now is not missing.
        here = (self._rank, *self._links, *self._said_bye)
        return [rank for rank in range(len(self._names)) if rank not in here]

    def _say_missing(self, timeout_s: float) -> str:
        said = []
        for rank in self._missing():
            name, address = self._names[rank], self._addresses[rank]
            if rank > self._rank:
                said.append(f"{name} has not connected to {self._addresses[self._rank]}")
            elif rank in self._hung_up:
                said.append(f"{name} at {address} hangs up, as if the group had begun without us")
            else:
                said.append(f"{name} does not answer at {address}")
        advice = "is every member running?"
        if self._turned_away is not None:
            advice = f"somebody was turned away because {self._turned_away}"
        return f"after {timeout_s:g} s {', '.join(said)}: {advice}"

    async def _listen(self) -> None:
        address = self._addresses[self._rank]
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._accept, address.host, address.port)
        except (OSError, UnicodeError) as error:  # the latter from names that cannot be a host's
            in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            what = "is in use" if in_use else f"cannot be used ({error})"
            message = f"{address} {what}: give {self._names[self._rank]} another address"
            raise UsageError(message) from None

    def _accept(self) -> Link:
        link = Link(self, self._slow())
        self._accepted.append(link)
        timer = asyncio.get_running_loop().call_later(GREETING_S, link.drop, "it never greeted")
        link.settled.add_done_callback(lambda _: timer.cancel())
        return link

    async def _dial(self, peer: int) -> None:
        """Keep a link to ``peer`` until the mesh is open: the caller ends this."""
        address = self._addresses[peer]
        loop = asyncio.get_running_loop()
        while True:
            with suppress(OSError):
                _, link = await loop.create_connection(
                    lambda: Link(self, self._slow()), address.host, address.port
                )
                link.expected_peer = peer
                link.write_frame(self._hello)
                await self._stay_linked(peer, link)
            await asyncio.sleep(_RETRY_S)

    async def _stay_linked(self, peer: int, link: Link) -> None:
        """Wait until a dialled link is lost; give it up if nobody waits for its greeting."""
        try:
            # Not awaited themselves: being cancelled would cancel them.
            await asyncio.wait([link.settled])
            if link.peer is None:
                self._hung_up[peer] = None
            await asyncio.wait([link.lost])
        finally:
            if link.peer is None:
                link.drop("nobody waits for its greeting any longer")

    def _slow(self) -> SlowLink | None:
        if not self._delay_s_max:
            return None
        self._slow_count += 1  # links of equal seeds would delay alike, and nothing be overtaken
        return SlowLink(self._delay_s_max, f"{self._rank}/{self._slow_count}")

    # What links call.

    def on_greeting(self, link: Link, hello: Hello) -> None:
        """Accept a peer that belongs here; refuse any other."""
        is_dialled = link.expected_peer is not None
        if not is_dialled and hello.domain != self.domain:
            link.write_frame(self._hello)  # so that it learns why it is refused
        self._check_greeting(link, hello)
        if not is_dialled:
            link.write_frame(self._hello)
        link.trust(hello.process)
        self._links[hello.process] = link
        self._changed.set()

    def _check_greeting(self, link: Link, hello: Hello) -> None:
        expected = link.expected_peer
        if hello.domain != self.domain:
            message = (
                "it is in another group, or was given other names of members: give all the same"
            )
        elif hello.process >= len(self._names) or self._names[hello.process] != hello.name:
            message = f"it calls itself {hello.name!r}, member {hello.process}, which is wrong"
        elif hello.process <= self._rank if expected is None else hello.process != expected:
            message = f"{hello.name} is at the other end of this connection: correct the addresses"
        elif self._is_open or hello.process in self._links:
            message = f"{hello.name} has been connected before, and a static group has no way back"
        else:
            return
        if expected is not None and not self._is_open:
            self._refusal = f"{self._names[expected]} at {self._addresses[expected]}: {message}"
            self._changed.set()
        raise PeerError(message)

    def on_frame(self, link: Link, frame: Frame) -> None:
        """Check who speaks, then pass it on."""
        assert link.peer is not None, "links pass frames on only after the greeting"
        if frame.domain != self.domain or frame.process != link.peer:
            message = f"a frame names domain {frame.domain:#x} and process {frame.process}"
            raise PeerError(message)
        if isinstance(frame, Bye):
            self._said_bye[link.peer] = None
            self._changed.set()
        else:
            self._owner.on_frame(link.peer, frame)

    def on_full(self, link: Link) -> None:
        """A member reads too slowly: senders must wait."""
        if link.peer in self._links:
            self.is_writable = False

    def on_room(self, link: Link) -> None:  # noqa: ARG002 - all links count
        """A member has caught up."""
        self._note_writable()

    def on_lost(self, link: Link, why: str) -> None:
        """A link is gone: tell the node if a member went with it."""
        if link in self._accepted:
            self._accepted.remove(link)
        if link.peer is None:
            _log.info("a connection was refused or ended before it greeted: %s", why)
            if link.is_at_fault and link.expected_peer is None:
                self._turned_away = why
            return
        has_left = link.peer in self._said_bye and not link.is_at_fault
        if self._is_open and not self._is_closing and not has_left:
            name = self._names[link.peer]
            self.lost[name] = why
            _log.warning("%s lost %s: %s", self._names[self._rank], name, why)
            self._owner.on_lost(name, why)
        del self._links[link.peer]
        self._note_writable()
        self._changed.set()

    def _note_writable(self) -> None:
        self.is_writable = all(link.is_writable for link in self._links.values())
        if self.is_writable:
            self._changed.set()

    # What the node calls.

    def broadcast(self, stream_bytes: bytes) -> None:
        """Write framed bytes, the same ones, to every member."""
        for link in self._links.values():
            link.write(stream_bytes)

    def set_reading(self, *, reading: bool) -> None:
        """Stop or resume reading from all members."""
        for link in self._links.values():
            link.set_reading(reading=reading)

    def set_held_up(self, peer: int, *, held_up: bool) -> None:
        """Stop or resume reading from one member."""
        if peer in self._links:
            self._links[peer].set_held_up(held_up=held_up)

    async def wait_writable(self) -> None:
        """Wait until no link is full; cut off those that stay full for too long."""
        try:
            async with asyncio.timeout(STALL_S):
                await self._until(lambda: self.is_writable)
        except TimeoutError:
            for link in list(self._links.values()):
                if not link.is_writable:
                    link.drop(f"it has read nothing for {STALL_S:g} s")
            await self._until(lambda: self.is_writable)

    async def drain(self, timeout_s: float) -> bool:
        """Say bye and wait until everyone has; tell whether all did, and none was lost."""
        self.broadcast(with_length(encode_bye(Bye(self.domain, self._rank))))
        self.set_reading(reading=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._until(lambda: all(peer in self._said_bye for peer in self._links))
        return len(self._said_bye) == len(self._names) - 1

    async def close(self) -> None:
        """Close every link, having sent everything, and stop listening."""
        self._is_closing = True
        if self._server is not None:
            self._server.close()
        links = [*self._links.values(), *self._accepted]
        for link in links:
            link.close()
        if links:
            lost = [link.lost for link in links]
            try:
                await asyncio.wait(lost, timeout=LINGER_S)
            finally:
                for link in links:
                    if not link.lost.done():
                        link.drop("it did not close in time")
            await asyncio.wait(lost)

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

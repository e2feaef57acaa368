"""TCP: the transport of real networks.

Law: connections are those of the event loop, untouched; what is written goes straight to asyncio's
or uvloop's transport.

Now and then, where nobody listens, TCP connects a socket to itself: the system had given it the
very port that it dials. That is nobody listening too, and must not pass for somebody.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from typing import Any

from antiphon.net.transport.address import Address
from antiphon.net.transport.interface import CONNECTED, P

_BACKLOG = 128
"""Connections that wait to be accepted, and those accepted in one turn of the event loop."""

_PAUSE_S = 0.5
"""Nothing is accepted for so long after the system had no file descriptor for a connection."""

_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

_Place = tuple[socket.AddressFamily, tuple[Any, ...]]
"""A family of addresses, and an address of it."""

_log = logging.getLogger("antiphon")


class TcpServer:
    """The sockets that listen for one process.

    They are accepted from here, not by asyncio's own server: that one, closed between accepting a
    connection and making its transport, leaves a socket that nobody closes and a protocol that is
    told neither of a connection nor of its loss (seen on Python 3.11).
    """

    def __init__(
        self, sockets: list[socket.socket], host: str, factory: Callable[[], asyncio.BaseProtocol]
    ) -> None:
        """Accept at sockets that listen at ``host``."""
        self._loop = asyncio.get_running_loop()
        self._sockets = sockets
        self._factory = factory
        self._arriving: set[asyncio.Task[object]] = set()
        self.address = Address(host, sockets[0].getsockname()[1])
        """Where it listens."""
        for listening in sockets:
            self._loop.add_reader(listening.fileno(), self._accept, listening)

    async def close(self) -> None:
        """Accept no more connections; return when each protocol made has its connection."""
        sockets, self._sockets = self._sockets, []
        for listening in sockets:
            self._loop.remove_reader(listening.fileno())
            listening.close()
        await asyncio.gather(*self._arriving, return_exceptions=True)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_BACKLOG):
            try:
                connection, _address = listening.accept()
            except OSError as error:
                if error.errno in _NO_ROOM:
                    self._pause(listening, error)
                return  # nobody waits any longer, or it went away before it was accepted
            connection.settimeout(0)
            arriving = self._loop.create_task(self._connect(connection))
            self._arriving.add(arriving)
            arriving.add_done_callback(self._arriving.discard)

    async def _connect(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._factory, connection)
        except OSError as error:
            connection.close()
            _log.info("a connection was lost as it was accepted: %s", error)

    def _pause(self, listening: socket.socket, error: OSError) -> None:
        _log.warning("no connection can be accepted for the moment: %s", error)
        self._loop.remove_reader(listening.fileno())
        self._loop.call_later(_PAUSE_S, self._resume, listening)

    def _resume(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening.fileno(), self._accept, listening)


def _listen(address: Address, places: list[_Place]) -> list[socket.socket]:
    """Return a socket for each address that a host's name stands for, all of one port."""
    sockets: list[socket.socket] = []
    try:
        for family, place in places:
            # What is accepted inherits the protocol, and asyncio sends at once (TCP_NODELAY) only
            # if it is named: else what follows something waits 40 ms for a delayed receipt.
            listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            sockets.append(listening)
            listening.settimeout(0)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            port = address.port or (sockets[0].getsockname()[1] if sockets[1:] else 0)
            listening.bind((place[0], port, *place[2:]))
            listening.listen(_BACKLOG)
    except OSError:
        for listening in sockets:
            listening.close()
        raise
    return sockets


class TcpTransport:
    """Connections of the running event loop."""

    name = "TCP"
    promises = CONNECTED

    async def listen(self, address: Address, factory: Callable[[], P]) -> TcpServer:
        """Accept connections at ``address``."""
        loop = asyncio.get_running_loop()
        try:
            infos = await loop.getaddrinfo(
                address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
        except UnicodeError as error:  # from names that cannot be a host's
            raise OSError(str(error)) from None
        places = dict.fromkeys((family, place) for family, _, _, _, place in infos)
        return TcpServer(_listen(address, list(places)), address.host, factory)

    async def connect(
        self, address: Address, factory: Callable[[], P]
    ) -> tuple[asyncio.Transport, P]:
        """Connect to who listens at ``address``."""
        loop = asyncio.get_running_loop()
        try:
            transport, protocol = await loop.create_connection(factory, address.host, address.port)
        except UnicodeError as error:
            raise OSError(str(error)) from None
        if transport.get_extra_info("sockname") == transport.get_extra_info("peername"):
            transport.abort()
            message = "nobody listens there"
            raise ConnectionRefusedError(message)
        return transport, protocol

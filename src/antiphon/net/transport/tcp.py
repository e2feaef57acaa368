"""TCP: the transport of real networks.

Law: connections are those of the event loop, untouched; what is written goes straight to asyncio's
or uvloop's transport.

Now and then, where nobody listens, TCP connects a socket to itself: the system had given it the
very port that it dials. That is nobody listening too, and must not pass for somebody.
"""

import asyncio
from collections.abc import Callable

from antiphon.net.transport.address import Address
from antiphon.net.transport.interface import P, Promise


class TcpServer:
    """A listening socket."""

    def __init__(self, server: asyncio.Server, host: str) -> None:
        """Take over a server that listens at ``host``."""
        self._server = server
        self.address = Address(host, server.sockets[0].getsockname()[1])
        """Where it listens."""

    def close(self) -> None:
        """Accept no more connections."""
        self._server.close()


class TcpTransport:
    """Connections of the running event loop."""

    name = "TCP"
    promises = frozenset(Promise)

    async def listen(self, address: Address, factory: Callable[[], P]) -> TcpServer:
        """Accept connections at ``address``."""
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(factory, address.host, address.port)
        except UnicodeError as error:  # from names that cannot be a host's
            raise OSError(str(error)) from None
        return TcpServer(server, address.host)

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

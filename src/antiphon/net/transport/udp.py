"""UDP: the transport for datagrams of real networks, unicast and IP multicast.

Law: a datagram that arrived is handed over in the buffer that it was read into, and nothing that
anybody sends here, or that the system says of it, ends a socket. Sockets are read and written
directly, not through asyncio's transports: those make an object and a call per datagram, read one
of them per turn (uvloop some more), and keep what the system does not take without a bound.

What arrived is drained in batches of ``_DRAIN_MAX``, so that a flood cannot keep the event loop. A
group address of IP multicast is joined by a socket of its own, which others on this machine may
bind as well; what is sent there comes back to this machine, its sender included.
"""

import asyncio
import ipaddress
import socket
import sys
from contextlib import suppress
from typing import Any, cast

from antiphon.net.transport.address import Address
from antiphon.net.transport.interface import (
    DatagramOwner,
    MulticastPlace,
    Place,
    TransportPromise,
)

DATAGRAM_BYTES_MAX = 65_507
"""The largest that IPv4 can carry."""

_DRAIN_MAX = 64
"""Datagrams that are read in one turn of the event loop."""


class UdpSocket:
    """One address, and perhaps a group address besides."""

    def __init__(
        self, sockets: list[socket.socket], host: str, owner: DatagramOwner, buffer_bytes: int
    ) -> None:
        """Read from all of the sockets, write to the first one."""
        self._loop = asyncio.get_running_loop()
        self._sockets, self._owner = sockets, owner
        self._socket = sockets[0]
        self._is_waiting = False
        self._buffer = bytearray(DATAGRAM_BYTES_MAX + 1)
        self._view = memoryview(self._buffer)
        self._places: dict[Address, Place | None] = {}
        self._lookups: set[asyncio.Task[None]] = set()
        self.address = Address(host, self._socket.getsockname()[1])
        """Where it is."""
        for each in sockets:
            _ask_for_buffers(each, buffer_bytes)
            self._loop.add_reader(each.fileno(), self._on_readable, each)

    @property
    def buffer_bytes(self) -> tuple[int, int]:
        """What the system gave: Linux counts its own overhead too, and says twice as much."""
        received = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        return received, self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)

    def place(self, address: Address) -> Place | None:
        """Return where an address is; look names up in the background."""
        if address not in self._places:
            self._places[address] = self._numeric(address)
            if self._places[address] is None:
                lookup = self._loop.create_task(self._look_up(address))
                self._lookups.add(lookup)
                lookup.add_done_callback(self._lookups.discard)
        return self._places[address]

    def _numeric(self, address: Address) -> Place | None:
        with suppress(ValueError):
            ipaddress.ip_address(address.host)
            return (address.host, address.port)
        return None

    async def _look_up(self, address: Address) -> None:
        with suppress(OSError, UnicodeError):
            infos = await self._loop.getaddrinfo(
                address.host, address.port, family=self._socket.family, type=socket.SOCK_DGRAM
            )
            self._places[address] = infos[0][4]
            return
        self._places.pop(address, None)  # looked up again when it is needed again

    def send(self, data: bytes, place: Place) -> bool:
        """Send a datagram, if the system has room for it."""
        try:
            self._socket.sendto(data, cast("tuple[Any, ...]", place))
        except (BlockingIOError, InterruptedError):
            if not self._is_waiting:
                self._is_waiting = True
                self._loop.add_writer(self._socket.fileno(), self._on_writable)
            return False
        return True

    def close(self) -> None:
        """Send and receive no more."""
        sockets, self._sockets = self._sockets, []
        if sockets and self._is_waiting:
            self._loop.remove_writer(self._socket.fileno())
        for each in sockets:
            self._loop.remove_reader(each.fileno())
            each.close()
        for lookup in self._lookups:
            lookup.cancel()

    def _on_readable(self, readable: socket.socket) -> None:
        receive, view, on_datagram = readable.recv_into, self._view, self._owner.on_datagram
        for _ in range(_DRAIN_MAX):
            try:
                count = receive(view)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                continue  # what became of a datagram that was sent: not of interest here
            on_datagram(view[:count])
            if not self._sockets:
                return  # closed by who was told
        self._owner.on_read()

    def _on_writable(self) -> None:
        self._is_waiting = False
        self._loop.remove_writer(self._socket.fileno())
        self._owner.on_room()


def _ask_for_buffers(each: socket.socket, byte_count: int) -> None:
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        with suppress(OSError):  # some systems refuse what is too much, others give less
            each.setsockopt(socket.SOL_SOCKET, option, byte_count)


def _bind(family: socket.AddressFamily, place: tuple[Any, ...], *, shared: bool) -> socket.socket:
    each = socket.socket(family, socket.SOCK_DGRAM)
    try:
        each.settimeout(0)
        if shared:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if hasattr(socket, "SO_REUSEPORT") and not hasattr(socket, "SO_INCOMING_CPU"):
                # BSD's way to share a port; on Linux it would share datagrams out, not copy them.
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        each.bind(place)
    except OSError:
        each.close()
        raise
    return each


def _join(sending: socket.socket, multicast: MulticastPlace) -> socket.socket:
    """Return a socket that has joined a group address; let ``sending`` send to it."""
    try:
        group = ipaddress.ip_address(multicast.address.host)
    except ValueError as error:
        raise OSError(str(error)) from None
    place: tuple[Any, ...] = (str(group), multicast.address.port)
    if group.version == 4:
        own = socket.inet_aton(multicast.interface or "0.0.0.0")  # noqa: S104 - the system's choice
        level, joining, joined = socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group.packed + own
        options: dict[int, int | bytes] = {
            socket.IP_MULTICAST_IF: own,
            socket.IP_MULTICAST_TTL: multicast.hops,
            socket.IP_MULTICAST_LOOP: 1,
        }
    else:
        index = socket.if_nametoindex(multicast.interface) if multicast.interface else 0
        place = (*place, 0, index)
        level, joining = socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP
        joined = group.packed + index.to_bytes(4, sys.byteorder)
        options = {
            socket.IPV6_MULTICAST_IF: index,
            socket.IPV6_MULTICAST_HOPS: multicast.hops,
            socket.IPV6_MULTICAST_LOOP: 1,
        }
    receiving = _bind(sending.family, place, shared=True)
    try:
        receiving.setsockopt(level, joining, joined)
        for option, value in options.items():
            sending.setsockopt(level, option, value)
    except OSError:
        receiving.close()
        raise
    return receiving


class UdpTransport:
    """Datagrams of the running event loop's machine."""

    name = "UDP"
    promises = frozenset({TransportPromise.DATAGRAMS, TransportPromise.FULL_MESH})

    async def open(
        self,
        address: Address,
        owner: DatagramOwner,
        *,
        buffer_bytes: int,
        multicast: MulticastPlace | None = None,
    ) -> UdpSocket:
        """Receive at ``address``, and at a group address."""
        loop = asyncio.get_running_loop()
        try:
            infos = await loop.getaddrinfo(
                address.host or None, address.port, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE
            )
        except UnicodeError as error:  # from names that cannot be a host's
            raise OSError(str(error)) from None
        family, _, _, _, place = infos[0]
        sockets = [_bind(family, place, shared=False)]
        try:
            if multicast is not None:
                sockets.append(_join(sockets[0], multicast))
        except OSError:
            sockets[0].close()
            raise
        return UdpSocket(sockets, address.host, owner, buffer_bytes)

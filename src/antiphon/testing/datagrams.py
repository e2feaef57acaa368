"""Datagrams in memory, on virtual time: lost, repeated and late, if a test says so.

Law: everything that happens follows from the seed and from what is called. A datagram takes as long
as anything on that path (``network``), and is lost if the path is closed, its receiver dead, or
nobody there; besides that, ``faults`` says what becomes of it, by direction or for all. If lines
have a rate (``bytes_per_s``), a socket takes what leaves within ``LINE_US``, and then no more.
"""

import errno
from collections.abc import Callable
from contextvars import Context
from functools import partial

from antiphon.net.transport.address import Address
from antiphon.net.transport.interface import (
    DatagramOwner,
    MulticastPlace,
    Place,
    TransportPromise,
)
from antiphon.testing.datagram_faults import DatagramDice, DatagramFaults
from antiphon.testing.event_loop import CallbackOwner
from antiphon.testing.network import Network

_FIRST_PORT = 30_000
_PORT_MAX = 50_000
_OUTSIDE = Context()

LINE_US = 10_000
"""What a system keeps for a line that is slower than who sends."""


class MemoryDatagramSocket:
    """An address at which a simulated process receives datagrams."""

    buffer_bytes = (1 << 30, 1 << 30)
    """As if there were no end of it."""

    def __init__(
        self,
        datagrams: "MemoryDatagrams",
        owner: CallbackOwner,
        context: Context,
        address: Address,
        reader: DatagramOwner,
    ) -> None:
        """Be found by who sends to ``address``."""
        self.owner, self.context = owner, context
        self.address = address
        """Where it is."""
        self._datagrams, self._reader = datagrams, reader
        self._free_us = 0
        self.is_closed = False

    def place(self, address: Address) -> Place:
        """Return where an address is: every name is known at once."""
        return (address.host, address.port)

    def send(self, data: bytes, place: Place) -> bool:
        """Send a datagram, if the line has room."""
        datagrams, rate = self._datagrams, self._datagrams.bytes_per_s
        wait_us = max(0, self._free_us - datagrams.now_us)
        if wait_us > LINE_US:
            datagrams.call_later(wait_us - LINE_US, self._on_room, self)
            return False
        datagrams.send(self, data, place, wait_us)
        if rate is not None:
            self._free_us = datagrams.now_us + wait_us + len(data) * 1_000_000 // rate
        return True

    def close(self) -> None:
        """Send and receive no more."""
        self.is_closed = True
        self._datagrams.forget(self)

    def _on_room(self) -> None:
        if not self.is_closed:
            self._reader.on_room()

    def arrive(self, data: bytes) -> None:
        """A datagram has come."""
        if not self.is_closed:
            self._reader.on_datagram(memoryview(data))
        if not self.is_closed:
            self._reader.on_read()


class MemoryDatagrams:
    """All that is sent by datagram among the processes of a cluster."""

    def __init__(self, network: Network, seed: str) -> None:
        """Lose nothing but what paths lose."""
        self.faults = DatagramFaults()
        """What becomes of datagrams, where ``between`` says nothing else."""
        self.between: dict[tuple[str, str], DatagramFaults] = {}
        """By names of sender and receiver."""
        self.bytes_per_s: int | None = None
        """What the line of each process carries; None: as much as comes."""
        self.sent_count = self.lost_count = 0
        self._network, self._seed = network, seed
        self._sockets: dict[Place, dict[MemoryDatagramSocket, None]] = {}
        self._dice: dict[tuple[str, str], DatagramDice] = {}

    def transport_of(self, owner: CallbackOwner, context: Context) -> "MemoryDatagramTransport":
        """Return the network for datagrams as one process sees it."""
        return MemoryDatagramTransport(self, owner, context)

    def open(
        self,
        owner: CallbackOwner,
        context: Context,
        address: Address,
        reader: DatagramOwner,
        multicast: MulticastPlace | None,
    ) -> MemoryDatagramSocket:
        """Give a process an address, and let it hear at a group address."""
        if not address.port:
            ports = (Address(address.host, port) for port in range(_FIRST_PORT, _PORT_MAX))
            address = next(it for it in ports if (it.host, it.port) not in self._sockets)
        there = self._sockets.setdefault((address.host, address.port), {})
        if any(not other.owner.is_dead for other in there):
            raise OSError(errno.EADDRINUSE, "Address already in use")
        there.clear()
        opened = MemoryDatagramSocket(self, owner, context, address, reader)
        there[opened] = None
        if multicast is not None:
            group = multicast.address.host, multicast.address.port
            self._sockets.setdefault(group, {})[opened] = None
        return opened

    def forget(self, closed: MemoryDatagramSocket) -> None:
        """A socket is closed."""
        for there in self._sockets.values():
            there.pop(closed, None)

    @property
    def now_us(self) -> int:
        """The time."""
        return self._network.loop.now_us

    def send(self, sender: MemoryDatagramSocket, data: bytes, place: Place, wait_us: int) -> None:
        """Let a datagram set out to all who hear at a place, when the line is free."""
        for target in list(self._sockets.get(place, ())):
            names = sender.owner.name, target.owner.name
            dice = self._dice.get(names)
            if dice is None:
                dice = self._dice[names] = DatagramDice(f"{self._seed}/{names[0]}/{names[1]}")
            fates_us = dice.fates_us(self.between.get(names, self.faults))
            self.sent_count += 1
            if not fates_us or not self._network.is_open(sender.owner, target.owner):
                self.lost_count += 1
                continue
            for fate_us in fates_us:
                way_us = self._network.draw_delay_us(sender.owner, target.owner)
                self.call_later(wait_us + way_us + fate_us, partial(target.arrive, data), target)

    def call_later(
        self, delay_us: int, call: Callable[[], None], concerned: MemoryDatagramSocket
    ) -> None:
        """Let something happen to a socket, in the process that it is of."""
        loop = self._network.loop

        def happen() -> None:
            loop.call_soon(call, context=concerned.context)

        loop.call_at_us(loop.now_us + delay_us, happen, context=_OUTSIDE)


class MemoryDatagramTransport:
    """Datagrams, as one simulated process sends and receives them."""

    name = "the network in memory"
    promises = frozenset({TransportPromise.DATAGRAMS, TransportPromise.FULL_MESH})

    def __init__(self, datagrams: MemoryDatagrams, owner: CallbackOwner, context: Context) -> None:
        """Send and receive for ``owner``; what arrives is told in ``context``."""
        self._datagrams, self._owner, self._context = datagrams, owner, context

    async def open(
        self,
        address: Address,
        owner: DatagramOwner,
        *,
        buffer_bytes: int,
        multicast: MulticastPlace | None = None,
    ) -> MemoryDatagramSocket:
        """Receive at ``address``."""
        del buffer_bytes
        return self._datagrams.open(self._owner, self._context, address, owner, multicast)

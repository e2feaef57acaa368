"""The interface between the network driver and a network, and what each side promises or needs.

Law: a driver knows the network only through these methods. A transport makes connections, each a
pair of an asyncio transport and an asyncio protocol, so that nothing is between a socket and who
reads it; a datagram transport opens sockets for datagrams. What they promise is data
(``promises``); what a protocol needs is data too, and where a promise is missing that a protocol
needs, the two are refused together, before anything is opened. Nothing here takes a promise for
granted: connections of a transport may lose or reorder what is written, or join only some of the
processes, if it says so.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from antiphon.core.errors import UsageError
from antiphon.net.transport.address import Address

P = TypeVar("P", bound=asyncio.BaseProtocol)


class TransportPromise(StrEnum):
    """What a transport may promise; the value completes "the transport ..."."""

    RELIABLE = "loses nothing as long as a connection lasts"
    FIFO = "keeps the order of what is written to a connection"
    STREAM = "takes writes of any length"
    FULL_MESH = "connects every two processes"
    REFUSAL = "tells that nobody listens from getting no answer"
    DATAGRAMS = "carries datagrams, each whole or not at all, and none waits for one that is lost"


CONNECTED = frozenset(TransportPromise) - {TransportPromise.DATAGRAMS}
"""What TCP promises, and every network that stands in for it."""


class Server(Protocol):
    """An address at which connections are accepted."""

    @property
    def address(self) -> Address:
        """Where: with the port that was chosen, if any was welcome."""

    async def close(self) -> None:
        """Accept no more connections; those that were accepted stay.

        A protocol that was made for one has been told of it when this returns.
        """


class Transport(Protocol):
    """A network, as one process sees it."""

    @property
    def name(self) -> str:
        """What it is called where it is refused."""

    @property
    def promises(self) -> frozenset[TransportPromise]:
        """What its connections promise."""

    async def listen(self, address: Address, factory: Callable[[], P]) -> Server:
        """Accept connections at ``address``, each with a protocol of its own.

        A port of 0 stands for any that is free. Raises OSError if the address cannot be had.
        """

    async def connect(
        self, address: Address, factory: Callable[[], P]
    ) -> tuple[asyncio.Transport, P]:
        """Connect to who listens at ``address``.

        Raises ConnectionRefusedError if nobody listens there, any other OSError if there is no
        connection for another reason; whoever gets no answer waits until it gives up itself.
        """


Place = tuple[object, ...]
"""An address as sockets take it."""


class DatagramOwner(Protocol):
    """Who reads a socket for datagrams."""

    def on_datagram(self, data: memoryview) -> None:
        """One has come; what it is in is used again when this returns."""

    def on_read(self) -> None:
        """All that had arrived, or enough for one turn, has been handed over."""

    def on_room(self) -> None:
        """The system takes datagrams again, after it had refused one."""


class DatagramSocket(Protocol):
    """An address at which datagrams are received, and from which they are sent."""

    @property
    def address(self) -> Address:
        """Where: with the port that was chosen, if any was welcome."""

    @property
    def buffer_bytes(self) -> tuple[int, int]:
        """What the system gave for receiving and for sending; it may be less than was asked for."""

    def place(self, address: Address) -> Place | None:
        """Return where an address is; None for a name that is still looked up, or has none."""

    def send(self, data: bytes, place: Place) -> bool:
        """Send a datagram, if there is room; if not, ``on_room`` is called when there is.

        Raises OSError if the system refuses the datagram for another reason.
        """

    def close(self) -> None:
        """Send and receive no more."""


class DatagramTransport(Protocol):
    """A network for datagrams, as one process sees it."""

    @property
    def name(self) -> str:
        """What it is called where it is refused."""

    @property
    def promises(self) -> frozenset[TransportPromise]:
        """What it promises of datagrams."""

    async def open(
        self,
        address: Address,
        owner: DatagramOwner,
        *,
        buffer_bytes: int,
        multicast: "MulticastPlace | None" = None,
    ) -> DatagramSocket:
        """Receive at ``address``, and at a group address of IP multicast, if one is given.

        A port of 0 stands for any that is free. Raises OSError if the address cannot be had.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class MulticastPlace:
    """A group address of IP multicast: what is sent there reaches all who joined it."""

    address: Address
    interface: str = ""
    """Its address (IPv4) or name (IPv6), if it is not for the system to choose."""
    hops: int = 1
    """Routers on the way, and one more: 1 does not leave the local network."""


class Promising(Protocol):
    """Whatever promises something."""

    @property
    def name(self) -> str:
        """What it is called where it is refused."""

    @property
    def promises(self) -> frozenset[TransportPromise]:
        """What it promises."""


SESSION_NEEDS = frozenset(
    {TransportPromise.RELIABLE, TransportPromise.FIFO, TransportPromise.STREAM}
)
"""Of the sessions (``net.session``): frames of any length, counted, each behind the one before."""

VIEW_NEEDS = frozenset({TransportPromise.FULL_MESH, TransportPromise.REFUSAL})
"""Of views and flushes: every two members talk, and a refused connection is proof of a death."""

NEEDS = {
    "sessions": SESSION_NEEDS,
    "views": VIEW_NEEDS,
    "causal, FIFO and total order by vector clocks": frozenset(
        {TransportPromise.RELIABLE, TransportPromise.FIFO}
    ),
}
"""What the protocols of today need of a transport for connections."""

DATAGRAM_NEEDS = {
    "causal blocks": frozenset({TransportPromise.DATAGRAMS, TransportPromise.FULL_MESH}),
}
"""What protocols need of a transport for datagrams."""


def check_needs(
    transport: Promising, needs: dict[str, frozenset[TransportPromise]] = NEEDS
) -> None:
    """Refuse a transport that lacks what a protocol needs."""
    for protocol, needed in needs.items():
        for (
            promise
        ) in TransportPromise:  # in the order written above, so that the sentence is always one
            if promise in needed and promise not in transport.promises:
                message = (
                    f"{protocol} need a transport that {promise.value}, and {transport.name} does "
                    "not promise that: choose another transport"
                )
                raise UsageError(message)

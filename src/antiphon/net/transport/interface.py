"""The interface between the network driver and a network, and what each side promises or needs.

Law: a driver knows the network only through these methods. A transport makes connections, each a
pair of an asyncio transport and an asyncio protocol, so that nothing is between a socket and who
reads it. What its connections promise is data (``promises``); what a protocol needs is data too,
and where a promise is missing that a protocol needs, the two are refused together, before anything
is opened. Nothing here takes a promise for granted: connections of a transport may lose or reorder
what is written, or join only some of the processes, if it says so.
"""

import asyncio
from collections.abc import Callable
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
"""What the protocols of today need of a transport."""


def check_needs(
    transport: Transport, needs: dict[str, frozenset[TransportPromise]] = NEEDS
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

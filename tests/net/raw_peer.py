"""A peer that is no node: it says, byte by byte, what a test tells it to.

Law: it does nothing by itself. As a stranger it only connects; as the rogue member carol, the
most junior, it connects to alice and bob and greets as the real carol would.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.net.harness import DEADLINE_S, TRIO, Nodes, free_addresses

from antiphon.core.frames import Bye, Hello, decode_frame, encode_bye, encode_hello, encode_runs
from antiphon.core.ids import GroupNumber, Rank, ViewNumber
from antiphon.core.runs import Order, Run, Stamp
from antiphon.net.framing import with_length
from antiphon.net.mesh import domain_digest
from antiphon.net.node import Node

DOMAIN = domain_digest("choir", list(TRIO))
CAROL = 2


class RawPeer:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Use ``connect``."""
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, address: str) -> Self:
        """Connect and say nothing."""
        host, port = address.split(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    @classmethod
    async def join(cls, address: str) -> Self:
        """Connect, as soon as somebody listens, and greet as carol."""
        async with asyncio.timeout(DEADLINE_S / 2):
            while True:
                try:
                    peer = await cls.connect(address)
                except ConnectionRefusedError:
                    await asyncio.sleep(0.002)
                else:
                    break
        await peer.send(greeting())
        assert isinstance(decode_frame(await peer.hear_frame()), Hello)
        return peer

    async def say(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def send(self, *frames: bytes) -> None:
        """Send frames."""
        await self.say(b"".join(map(with_length, frames)))

    async def hear_frame(self) -> bytes:
        """Receive one frame."""
        async with asyncio.timeout(DEADLINE_S / 2):
            (length,) = struct.unpack("<I", await self._reader.readexactly(4))
            return await self._reader.readexactly(length)

    async def hear_end(self) -> bytes:
        """Receive until the other side ends the connection, in whichever way."""
        heard = b""
        with suppress(ConnectionError):
            async with asyncio.timeout(DEADLINE_S / 2):
                while data := await self._reader.read(65_536):
                    heard += data
        return heard

    def end_stream(self) -> None:
        """Say that nothing more comes, and go on listening."""
        self._writer.write_eof()

    async def close(self) -> None:
        """Close, whatever the other side has done."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


class RawSenior:
    """A listener that answers whoever greets with prepared frames, in one write."""

    def __init__(self, address: str, *frames: bytes) -> None:
        """Listen when entered."""
        self._address = address
        self._answer = b"".join(map(with_length, frames))
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        """Listen."""
        host, port = self._address.split(":")
        self._server = await asyncio.start_server(self._serve, host, int(port))
        return self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (length,) = struct.unpack("<I", await reader.readexactly(4))
        await reader.readexactly(length)
        writer.write(self._answer)
        await reader.read()
        writer.close()

    async def __aexit__(self, *exc_info: object) -> None:
        """Stop listening."""
        assert self._server is not None
        self._server.close()


def greeting(
    rank: int = CAROL, name: str = "carol", *, domain: int = DOMAIN, incarnation: int = 1
) -> bytes:
    """Return a HELLO frame; carol's unless told otherwise."""
    return encode_hello(Hello(domain, rank, name, incarnation))


def farewell(rank: int = CAROL) -> bytes:
    """Return a BYE frame."""
    return encode_bye(Bye(DOMAIN, rank))


def runs(*several: Run, rank: int = CAROL, domain: int = DOMAIN) -> bytes:
    """Return a RUNS frame."""
    return encode_runs(domain, rank, list(several))


def run(
    first: int = 1,
    *,
    payloads: Sequence[bytes] = (b"la",),
    sender: int = CAROL,
    stamp: Stamp = (),
    group: int = 0,
    view: int = 1,
    order: Order = Order.CAUSAL,
) -> Run:
    """Return a run as carol would multicast it, but for what a test wants to be wrong."""
    return Run(
        GroupNumber(group), ViewNumber(view), Rank(sender), first, order, stamp, list(payloads)
    )


@dataclass(frozen=True)
class Infiltrated:
    """A group of three in which carol is a rogue."""

    nodes: Nodes
    to: dict[str, RawPeer]
    """Carol's connections to alice and bob."""

    @property
    def honest(self) -> list[Node]:
        """Alice and bob."""
        return list(self.nodes.values())


@asynccontextmanager
async def infiltrated(folder: Path | None = None, **options: Any) -> AsyncIterator[Infiltrated]:
    """Start alice and bob, and greet both as carol."""
    addresses = free_addresses()
    trace = folder / "events" if folder is not None else None
    nodes = {name: Node("choir", name, addresses, trace=trace, **options) for name in TRIO[:CAROL]}
    starts = asyncio.gather(*(node.start() for node in nodes.values()))
    peers = {name: await RawPeer.join(addresses[name]) for name in nodes}
    await starts
    try:
        yield Infiltrated(nodes, peers)
    finally:
        for peer in peers.values():
            await peer.close()
        await asyncio.gather(*(node.stop() for node in nodes.values()))

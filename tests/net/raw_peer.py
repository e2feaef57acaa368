"""A peer that is no node: it says, byte by byte, what a test tells it to.

Law: it does nothing by itself. As a stranger it only connects; as the rogue member carol, the
most junior, it connects to alice and bob and greets as the real carol would. Then it only goes on
living, with heartbeats, and listens where carol should, so that nobody takes it for dead; it
confirms there that it has dialled, and hangs up on any other question.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest
from msgspec.structs import replace
from tests.net.harness import DEADLINE_S, TRIO, Nodes, free_addresses, make_choir, stop_all

from antiphon.core.control import Alive, AnyMessage
from antiphon.core.errors import PeerError
from antiphon.core.frames import (
    Frame,
    Hello,
    Runs,
    decode_frame,
    encode_ack,
    encode_bye,
    encode_control,
    encode_hello,
    encode_relay,
    encode_runs,
)
from antiphon.core.handshake import Handshake
from antiphon.core.ids import GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Order, Run, SetsOrder, Stamp
from antiphon.membership.bootstrap import RollCall
from antiphon.net.process import founding_by_list
from antiphon.net.process.node import Node
from antiphon.net.session.credentials import ANSWER, ASK, is_proven, proven
from antiphon.net.session.identity import domain_digest, founding_digest
from antiphon.net.transport.framing import with_length

FLUSH = "view-atomic"
DOMAIN = domain_digest("choir", FLUSH, with_state=False)
CAROL = 2
CAROLS_START = 3_000_000
SECRET = b"a raw peer's own"
"""What every raw peer offers when it greets for the first time."""

ALIVE_S = 0.1

PATIENCE_US = 300_000
"""How long founders wait for a rogue that will not found the group with them."""


class RawPeer:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Use ``connect``."""
        self._reader = reader
        self._writer = writer
        self.is_quiet = False
        """Whether a test wants no heartbeat in between."""

    @classmethod
    async def connect(cls, address: str) -> Self:
        """Connect and say nothing."""
        host, port = address.split(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    @classmethod
    async def reach(cls, address: str) -> Self:
        """Connect as soon as somebody listens."""
        async with asyncio.timeout(DEADLINE_S / 2):
            while True:
                try:
                    return await cls.connect(address)
                except ConnectionRefusedError:
                    await asyncio.sleep(0.002)

    @classmethod
    async def join(cls, addresses: dict[str, str], name: str) -> Self:
        """Connect to a member, as soon as somebody listens, and greet as carol."""
        peer = await cls.reach(addresses[name])
        await peer.send(founders_handshake(addresses))
        answer = decode_frame(await peer.hear_frame())
        assert isinstance(answer, Hello)
        assert answer.handshake.to == CAROLS_START
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

    async def hear(self) -> Frame:
        """Receive one frame, decoded."""
        return decode_frame(await self.hear_frame())

    async def hear_runs(self) -> Runs:
        """Receive frames until one has runs."""
        while not isinstance(frame := await self.hear(), Runs):
            pass
        return frame

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
        """Listen when entered; an answer is meant for whoever greets."""
        self._address = address
        self._frames = frames
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        """Listen."""
        host, port = self._address.split(":")
        self._server = await asyncio.start_server(self._serve, host, int(port))
        return self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (length,) = struct.unpack("<I", await reader.readexactly(4))
        hello = decode_frame(await reader.readexactly(length))
        assert isinstance(hello, Hello)
        writer.write(b"".join(map(with_length, self.answer(hello.handshake))))
        await reader.read()
        writer.close()

    def answer(self, handshake: Handshake) -> Sequence[bytes]:
        """Return the frames to say; the first one, if it is a handshake, addressed to the other."""
        try:
            first = decode_frame(self._frames[0])
        except PeerError:
            return self._frames
        if not isinstance(first, Hello):
            return self._frames
        addressed = replace(first.handshake, to=handshake.start)
        return [encode_hello(first.domain, addressed), *self._frames[1:]]

    async def __aexit__(self, *exc_info: object) -> None:
        """Stop listening."""
        assert self._server is not None
        self._server.close()


class Porter:
    """A listener that confirms that it has dialled, under many names if need be, and no more."""

    def __init__(self, address: str) -> None:
        """Listen when entered."""
        self._address = address
        self.dialled: list[Handshake] = []
        """The first handshakes to confirm."""
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        """Listen."""
        host, port = self._address.split(":")
        self._server = await asyncio.start_server(self._serve, host, int(port))
        return self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            (length,) = struct.unpack("<I", await reader.readexactly(4))
            asked = decode_frame(await reader.readexactly(length))
            assert isinstance(asked, Hello)
            for mine in self.dialled:
                if is_proven(mine.secret, ASK, asked.handshake, mine.process.bare()):
                    answer = replace(mine, secret=b"", nonce=asked.handshake.nonce)
                    answer = proven(mine.secret, ANSWER, answer, asked.handshake.process.bare())
                    writer.write(with_length(encode_hello(asked.domain, answer)))
        writer.close()

    async def __aexit__(self, *exc_info: object) -> None:
        """Stop listening."""
        assert self._server is not None
        self._server.close()

    async def visit(self, address: str, name: str, boot: int = 1) -> RawPeer:
        """Have a session, as a joiner that listens here, with who listens at ``address``."""
        hello = handshake(ProcessId(name, 1, boot, self._address))
        self.dialled.append(said(hello))
        guest = await RawPeer.connect(address)
        await guest.send(hello)
        answer = said(await guest.hear_frame())
        assert answer.to == CAROLS_START, "it is let in"
        return guest


def carol(address: str = "127.0.0.1:7003", *, incarnation: int = 1, boot: int = 0) -> ProcessId:
    """Return who the rogue claims to be."""
    return ProcessId("carol", incarnation, boot, address)


def handshake(
    process: ProcessId | None = None,
    *,
    domain: int = DOMAIN,
    group: str = "choir",
    flush: str = FLUSH,
    start: int = CAROLS_START,
    **fields: Any,
) -> bytes:
    """Return a HELLO frame; of a joiner carol unless told otherwise."""
    who = process if process is not None else carol()
    fields.setdefault("secret", SECRET)
    return encode_hello(domain, Handshake(group, flush, who, start, **fields))


def said(hello: bytes) -> Handshake:
    """Return the handshake in a HELLO frame."""
    frame = decode_frame(hello)
    assert isinstance(frame, Hello)
    return frame.handshake


def founders(addresses: dict[str, str]) -> tuple[ProcessId, ...]:
    """Return the founding members."""
    return tuple(ProcessId(name, address=addresses[name]) for name in addresses)


def founders_handshake(addresses: dict[str, str]) -> bytes:
    """Return how carol greets when the group is founded."""
    digest = founding_digest(founders(addresses))
    return handshake(founders(addresses)[CAROL], view=1, founding=digest)


def farewell() -> bytes:
    """Return a BYE frame."""
    return encode_bye()


def control(message: AnyMessage, incarnation: int = 1) -> bytes:
    """Return a CONTROL frame."""
    return encode_control(DOMAIN, incarnation, message)


def ack(count: int) -> bytes:
    """Return an ACK frame."""
    return encode_ack(count)


def relay(*several: Run) -> bytes:
    """Return a RELAY frame."""
    return encode_relay(DOMAIN, 1, list(several))


def runs(*several: Run, incarnation: int = 1, domain: int = DOMAIN) -> bytes:
    """Return a RUNS frame."""
    return encode_runs(domain, incarnation, list(several))


def run(
    first: int = 1,
    *,
    payloads: Sequence[bytes] = (b"la",),
    sender: int = CAROL,
    stamp: Stamp = (),
    group: int = 0,
    view: int = 1,
    order: Order = Order.CAUSAL,
    sets_order: SetsOrder | None = None,
) -> Run:
    """Return a run as carol would multicast it, but for what a test wants to be wrong."""
    return Run(
        GroupNumber(group), ViewNumber(view), Rank(sender), first, order, stamp, list(payloads),
        sets_order=sets_order,
    )  # fmt: skip


@dataclass(frozen=True)
class Infiltrated:
    """A group of three in which carol is a rogue."""

    nodes: Nodes
    to: dict[str, RawPeer]
    """Carol's connections to alice and bob."""
    addresses: dict[str, str]
    porter: Porter
    """Where carol listens."""

    @property
    def honest(self) -> list[Node]:
        """Alice and bob."""
        return list(self.nodes.values())


@asynccontextmanager
async def infiltrated(folder: Path | None = None, **options: Any) -> AsyncIterator[Infiltrated]:
    """Start alice and bob, and greet both as carol."""
    addresses = free_addresses()
    everybody = make_choir(addresses, folder=folder, **options)
    nodes = {name: everybody[name] for name in TRIO[:CAROL]}
    async with Porter(addresses["carol"]) as porter:
        porter.dialled.append(said(founders_handshake(addresses)))
        with pytest.MonkeyPatch.context() as patience:
            # Carol never says that she founds the group: alice and bob wait for her in vain.
            patience.setattr(founding_by_list, "RollCall", _short_roll_call)
            starts = asyncio.gather(*(node.start() for node in nodes.values()))
            peers = {name: await RawPeer.join(addresses, name) for name in nodes}
            await starts
        living = asyncio.ensure_future(_live(list(peers.values())))
        try:
            yield Infiltrated(nodes, peers, addresses, porter)
        finally:
            living.cancel()
            await asyncio.wait([living])
            for peer in peers.values():
                await peer.close()
            await stop_all(list(nodes.values()))


def _short_roll_call(size: int, _: int, now_us: int) -> RollCall:
    return RollCall(size, PATIENCE_US, now_us)


async def _live(peers: list[RawPeer]) -> None:
    """Say, again and again, that carol is in view 1 and has received nothing."""
    while True:
        for peer in peers:
            with suppress(ConnectionError):
                if not peer.is_quiet:
                    await peer.send(control(Alive(1, (), 0, 1)))
        await asyncio.sleep(ALIVE_S)

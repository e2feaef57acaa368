"""Connections in memory behave as TCP's under asyncio: the same scene runs on both."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from random import Random
from typing import Any, cast

import pytest
from tests.testing.test_event_loop import make_loop

from antiphon.net.transport.address import Address
from antiphon.net.transport.interface import Transport
from antiphon.net.transport.tcp import TcpTransport
from antiphon.testing.event_loop import OWNER, CallbackOwner
from antiphon.testing.network import MemoryTransport, Network

HERE = Address("127.0.0.1", 0)


class Ear(asyncio.Protocol):
    """Notes everything that happens to it."""

    def __init__(self) -> None:
        """Nothing has happened."""
        self.transport: asyncio.Transport = cast("Any", None)
        self.heard = b""
        self.signs: list[str] = []
        self.lost = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Keep what is said."""
        self.heard += data

    def eof_received(self) -> bool:
        """Close as well."""
        self.signs.append("eof")
        return False

    def pause_writing(self) -> None:
        """Note it."""
        self.signs.append("pause")

    def resume_writing(self) -> None:
        """Note it."""
        self.signs.append("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        """Note how."""
        self.signs.append(type(exc).__name__ if exc is not None else "closed")
        self.lost.set_result(None)


class SmallEar(asyncio.BufferedProtocol):
    """Reads seven bytes at a time."""

    def __init__(self) -> None:
        """Nothing has come."""
        self.room, self.heard = bytearray(7), b""

    def get_buffer(self, sizehint: int) -> bytearray:
        """Offer little."""
        return self.room

    def buffer_updated(self, nbytes: int) -> None:
        """Keep what has come."""
        self.heard += self.room[:nbytes]


def in_memory(scene: Callable[[Network, dict[str, MemoryTransport]], Any], seed: int = 1) -> Any:
    """Play a scene for two processes on a network in memory."""
    loop = make_loop()
    network = Network(loop, str(seed))
    transports: dict[str, MemoryTransport] = {}
    for name in ("anna", "ben"):
        context = Context()
        context.run(OWNER.set, CallbackOwner(name))
        owner = context[OWNER]
        assert owner is not None
        transports[name] = network.transport_of(owner, context)
    result = loop.run_until_complete(scene(network, transports))
    assert not loop.failures, loop.failures
    return result


async def until(condition: Callable[[], bool]) -> None:
    """Wait until ``condition`` holds."""
    while not condition():  # noqa: ASYNC110 - what is waited for knows no events
        await asyncio.sleep(0.001)


async def pair(dialler: Transport, listener: Transport) -> tuple[Ear, Ear]:
    """Return both ends of a new connection."""
    accepted: list[Ear] = []

    def accept() -> Ear:
        accepted.append(Ear())
        return accepted[-1]

    server = await listener.listen(HERE, accept)
    _, ear = await dialler.connect(server.address, Ear)
    await until(lambda: bool(accepted))
    await server.close()
    return ear, accepted[0]


async def conversation(dialler: Transport, listener: Transport) -> list[object]:
    """Say much, end half, be refused, abort: what each side sees."""
    told: list[object] = []
    ear, other = await pair(dialler, listener)
    ear.transport.write(b"hello ")
    ear.transport.writelines([b"wor", b"ld"])
    ear.transport.write_eof()
    await asyncio.gather(ear.lost, other.lost)
    told += [other.heard, other.signs, ear.signs, ear.transport.is_closing()]
    ear, other = await pair(dialler, listener)
    ear.transport.set_write_buffer_limits(high=1000)
    other.transport.pause_reading()
    for _ in range(100):
        ear.transport.write(b"x" * 100_000)
    told.append(list(ear.signs))
    other.transport.resume_reading()
    await until(lambda: len(other.heard) == 10_000_000)
    await asyncio.sleep(0.01)
    told += [list(ear.signs), ear.transport.get_write_buffer_size()]
    ear.transport.abort()
    await asyncio.gather(ear.lost, other.lost)
    told += [ear.signs[2:], other.signs]
    server = await listener.listen(HERE, Ear)
    await server.close()
    await asyncio.sleep(0.01)
    with pytest.raises(ConnectionRefusedError):
        await dialler.connect(server.address, Ear)
    ear, other = await pair(dialler, listener)
    other.transport.close()
    await asyncio.gather(ear.lost, other.lost)
    return [*told, ear.signs, other.signs]


@pytest.mark.net
def test_memory_and_tcp_tell_the_same_story() -> None:
    """Every callback that asyncio makes over a socket is made in memory, in the same order."""
    with asyncio.Runner() as runner:
        on_sockets = runner.run(conversation(TcpTransport(), TcpTransport()))
    for seed in range(5):
        told = in_memory(lambda _, both: conversation(both["anna"], both["ben"]), seed)
        assert told == on_sockets


def test_buffered_protocol_gets_every_byte_in_order() -> None:
    """However small its buffer is, and however writes are cut."""

    async def scene(network: Network, both: dict[str, MemoryTransport]) -> tuple[bytes, bytes]:
        network.cut_chance = 0.5
        ears: list[SmallEar] = []

        def accept() -> SmallEar:
            ears.append(SmallEar())
            return ears[-1]

        server = await both["ben"].listen(HERE, accept)
        transport, _ = await both["anna"].connect(server.address, Ear)
        random, said = Random(1), b""
        for _ in range(200):
            piece = random.randbytes(random.randrange(100))
            said += piece
            transport.write(piece)
            await asyncio.sleep(random.random() / 1000)
        await asyncio.sleep(1)
        return said, ears[0].heard

    said, heard = in_memory(scene)
    assert said == heard


def test_faults_are_what_they_say() -> None:
    """Cut: both are told. Stalled: nobody is, and all arrives later. Half open: one knows."""

    async def scene(network: Network, both: dict[str, MemoryTransport]) -> None:
        ear, other = await pair(both["anna"], both["ben"])
        network.cut_connection(network.connections("anna", "ben")[0])
        await asyncio.gather(ear.lost, other.lost)
        assert ear.signs == other.signs == ["ConnectionResetError"]

        ear, other = await pair(both["anna"], both["ben"])
        network.close_path("anna", "ben")
        ear.transport.write(b"later")
        other.transport.write(b"now")
        await asyncio.sleep(1)
        ear.transport.close()
        connecting = asyncio.ensure_future(pair(both["anna"], both["ben"]))
        await asyncio.sleep(100)
        assert (other.heard, ear.heard, other.signs, connecting.done()) == (b"", b"now", [], False)
        network.open_all()
        await asyncio.gather(other.lost, connecting)
        assert other.heard == b"later"

        ear, other = await pair(both["anna"], both["ben"])
        network.half_open(network.connections("ben", "anna")[-1], is_silent=False)
        await asyncio.sleep(100)
        assert (ear.signs, other.signs) == ([], ["ConnectionResetError"])
        ear.transport.write(b"?")
        await asyncio.sleep(1)
        assert ear.signs == ["ConnectionResetError"]

        ear, other = await pair(both["anna"], both["ben"])
        network.half_open(network.connections("ben", "anna")[-1], is_silent=True)
        ear.transport.write(b"?")
        await asyncio.sleep(100)
        assert ear.signs == []

    in_memory(scene)


def test_refusals_end_when_the_fault_does() -> None:
    """Who refuses has no room; the listener is there all the time."""

    async def scene(network: Network, both: dict[str, MemoryTransport]) -> None:
        server = await both["ben"].listen(HERE, Ear)
        network.refuse("ben")
        with pytest.raises(ConnectionRefusedError):
            await both["anna"].connect(server.address, Ear)
        network.open_all()
        await both["anna"].connect(server.address, Ear)
        with pytest.raises(OSError, match="in use"):
            await both["anna"].listen(server.address, Ear)

    in_memory(scene)

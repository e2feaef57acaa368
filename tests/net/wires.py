"""Wires: proxies between processes on loopback, that delay what they carry, or stop carrying it.

Law: each ordered pair of a dialling process and the process that it dials has a wire of its own, a
port that forwards to where the other listens. What goes in comes out, unchanged and in order, in
each direction after that direction's delay; while a direction is down nothing comes out of it, and
nothing is lost: that is what TCP makes of a network that drops packets for a while. A connection
that the other side ends or refuses ends on this side too, after the delay.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from antiphon.net.transport.ports import free_ports

_PIECE_BYTES = 64 * 1024


class Direction:
    """One way of a wire, over all its connections."""

    def __init__(self, delay_s: float) -> None:
        """Be up."""
        self.delay_s = delay_s
        self.up = asyncio.Event()
        self.up.set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry everything from one end to the other, and then its end."""
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        releasing = asyncio.ensure_future(self._release(pieces, writer))
        loop = asyncio.get_running_loop()
        try:
            piece = b"first"
            while piece:
                with suppress(ConnectionError):
                    piece = await reader.read(_PIECE_BYTES)
                    pieces.put_nowait((loop.time() + self.delay_s, piece))
                    continue
                piece = b""
                pieces.put_nowait((loop.time() + self.delay_s, b""))
            await releasing
        finally:
            releasing.cancel()

    async def _release(
        self, pieces: "asyncio.Queue[tuple[float, bytes]]", writer: asyncio.StreamWriter
    ) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, piece = await pieces.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            await self.up.wait()
            if not piece:
                writer.close()
                return
            writer.write(piece)
            with suppress(ConnectionError):
                await writer.drain()


class Wire:
    """From one process that dials to one that listens, and back."""

    def __init__(self, delay_s: float, port: int) -> None:
        """Forward to ``port``."""
        self.there, self.back = Direction(delay_s), Direction(delay_s)
        self._port = port
        self._tasks: set[asyncio.Task[None]] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection, until both sides have ended it."""
        task = asyncio.current_task()
        assert task is not None, "a server makes one for each connection"
        self._tasks.add(task)
        ends = [writer]
        try:
            await asyncio.sleep(
                self.there.delay_s + self.back.delay_s
            )  # a handshake is a round trip
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
            ends.append(far_writer)
            async with asyncio.TaskGroup() as carrying:
                carrying.create_task(self.there.carry(reader, far_writer))
                carrying.create_task(self.back.carry(far_reader, writer))
        except (OSError, asyncio.CancelledError):
            pass  # refused, or the scene is over
        finally:
            for end in ends:
                end.transport.abort()
            self._tasks.discard(task)

    async def close(self) -> None:
        """Carry nothing more."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def cut(self) -> None:
        """Carry nothing in either direction for the time being."""
        self.there.up.clear()
        self.back.up.clear()

    def mend(self) -> None:
        """Carry again, what has waited first."""
        self.there.up.set()
        self.back.up.set()


Wires = dict[tuple[str, str], Wire]


@asynccontextmanager
async def wired(
    addresses: dict[str, str], dialling: Sequence[str], delay_s: float = 0.0
) -> AsyncIterator[tuple[Wires, dict[str, dict[str, int]]]]:
    """Lay a wire from each of ``dialling`` to each other process.

    Yields the wires, and for each process the port to dial instead of each port of the others.
    """
    pairs = [(near, far) for near in dialling for far in addresses if near != far]
    wires: Wires = {}
    ports: dict[str, dict[str, int]] = {near: {} for near in dialling}
    servers: list[asyncio.Server] = []
    for (near, far), port in zip(pairs, free_ports(len(pairs)), strict=True):
        target = int(addresses[far].rpartition(":")[2])
        wire = wires[near, far] = Wire(delay_s, target)
        servers.append(await asyncio.start_server(wire.accept, "127.0.0.1", port))
        ports[near][str(target)] = port
    try:
        yield wires, ports
    finally:
        for server in servers:
            server.close()
        for wire in wires.values():
            await wire.close()
        await asyncio.sleep(0)  # what was aborted is closed in the next turn

"""The baseline: a TCP mesh with length-prefixed messages, batched writes and no ordering at all.

Law: as fast as plain Python on asyncio gets without giving up the message as the unit: the same
buffered protocol and buffer size as Antiphon's, one write per turn or per full batch, back-pressure
by the transports, no journal, no self-delivery, no bounds checks. A lower bar would flatter us.
"""

import asyncio
import struct
from collections.abc import Callable
from typing import cast

_LENGTH = struct.Struct("<I")
_BUFFER_BYTES = 256 * 1024
_BATCH_BYTES = 96 * 1024
_WRITE_BYTES_MAX = 2 * 1024 * 1024

OnMessages = Callable[[int, list[bytes]], None]
OnMessage = Callable[[int, bytes], None]


class _Connection(asyncio.BufferedProtocol):
    """One connection: parses messages, calls back per message or per list of messages."""

    def __init__(self, mesh: "RawMesh", peer: int) -> None:
        self._mesh = mesh
        self.peer = peer
        self._buffer = bytearray(_BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._end = 0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=_WRITE_BYTES_MAX, low=_WRITE_BYTES_MAX // 4)
        if self.peer < 0:
            return
        self.transport.write(_LENGTH.pack(self._mesh.rank))
        self._mesh.add(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - it has its own size
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        data = bytes(self._view[: self._end + nbytes])
        offset, end = 0, len(data)
        if self.peer < 0:  # the first four bytes say who dialled
            (self.peer,) = _LENGTH.unpack_from(data)
            offset = _LENGTH.size
            self._mesh.add(self)
        unpack, peer, on_message = _LENGTH.unpack_from, self.peer, self._mesh.on_message
        messages: list[bytes] = []
        append = messages.append
        while end - offset >= 4:
            (length,) = unpack(data, offset)
            behind = offset + 4 + length
            if behind > end:
                break
            if on_message is not None:
                on_message(peer, data[offset + 4 : behind])
            else:
                append(data[offset + 4 : behind])
            offset = behind
        rest = end - offset
        self._view[:rest] = data[offset:]
        self._end = rest
        if messages:
            self._mesh.on_messages(peer, messages)

    def pause_writing(self) -> None:
        self._mesh.paused[self] = None

    def resume_writing(self) -> None:
        self._mesh.paused.pop(self, None)
        if not self._mesh.paused:
            self._mesh.writable.set()


class RawMesh:
    """Connections between all members."""

    def __init__(
        self,
        rank: int,
        ports: tuple[int, ...],
        on_messages: OnMessages,
        on_message: OnMessage | None,
    ) -> None:
        """Call ``on_message`` per message if it is given, else ``on_messages`` per list."""
        self.rank = rank
        self._ports = ports
        self.on_messages = on_messages
        self.on_message = on_message
        self.paused: dict[_Connection, None] = {}
        self.writable = asyncio.Event()
        self._connections: list[_Connection] = []
        self._complete = asyncio.Event()
        self._parts: list[bytes] = []
        self._size = 0
        self._is_flush_due = False
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen, dial the lower ranks, wait for all."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self, -1), "127.0.0.1", self._ports[self.rank]
        )
        for peer in range(self.rank):
            await self._dial(peer)
        await self._complete.wait()

    async def _dial(self, peer: int) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                await loop.create_connection(
                    lambda: _Connection(self, peer), "127.0.0.1", self._ports[peer]
                )
            except OSError:
                await asyncio.sleep(0.02)
            else:
                return

    def add(self, connection: _Connection) -> None:
        """Count a connection in."""
        self._connections.append(connection)
        if len(self._connections) == len(self._ports) - 1:
            self._complete.set()

    async def send(self, payload: bytes) -> None:
        """Queue one message; written when the turn ends or the batch is full."""
        if not self._is_flush_due:
            self._is_flush_due = True
            asyncio.get_running_loop().call_soon(self._flush_on_turn)
        self._parts += (_LENGTH.pack(len(payload)), payload)
        self._size += len(payload) + 4
        if self._size >= _BATCH_BYTES:
            await self._flush_and_wait()

    async def send_many(self, payloads: list[bytes]) -> None:
        """Write a batch of messages at once."""
        pack, parts = _LENGTH.pack, self._parts
        for payload in payloads:
            parts += (pack(len(payload)), payload)
        await self._flush_and_wait()

    async def _flush_and_wait(self) -> None:
        self.flush()
        await asyncio.sleep(0)
        while self.paused:
            self.writable.clear()
            await self.writable.wait()

    def _flush_on_turn(self) -> None:
        self._is_flush_due = False
        self.flush()

    def flush(self) -> None:
        """Write what is queued, the same bytes, to every member."""
        if self._parts:
            data = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
            for connection in self._connections:
                assert connection.transport is not None
                connection.transport.write(data)

    async def close(self) -> None:
        """Close all connections."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            if connection.transport is not None:
                connection.transport.close()
        await asyncio.sleep(0.05)

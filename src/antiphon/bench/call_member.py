"""One process of a measured series of calls: ``python -m antiphon.bench.call_member SPEC NAME``.

The first process calls all others, again and again, and waits for all their answers each time; the
others answer with what they were asked. Raw: a plain asyncio echo, the same bytes on the same
number of connections, with length prefixes and nothing else; on streams, as most people would
write it, or on protocols, the least that asyncio can do. Says ``ready``, waits for a line,
prints its latencies as one line of JSON, waits for another line.
"""

import asyncio
import struct
import sys
import time
from contextlib import suppress
from typing import cast

import msgspec

from antiphon.bench.spec import CallReport, CallSpec
from antiphon.net.group.group import Group
from antiphon.net.process.joining import join, run

_LENGTH = struct.Struct("<I")


class Echo(asyncio.Protocol):
    """Takes frames; a server sends them back, a client counts them."""

    def __init__(self, *, is_server: bool) -> None:
        """Wait for a connection."""
        self._is_server = is_server
        self._buffer = b""
        self.transport: asyncio.Transport | None = None
        self.answered = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Cut what has come into frames."""
        buffer = self._buffer + data
        while len(buffer) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(buffer)[0]
            if len(buffer) < end:
                break
            frame, buffer = buffer[:end], buffer[end:]
            if self._is_server and self.transport is not None:
                self.transport.write(frame)
            else:
                self.answered.set()
        self._buffer = buffer


async def _say_and_wait(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


async def _measure_streams(spec: CallSpec, me: int) -> list[int]:
    if me:
        await asyncio.start_server(_serve, "127.0.0.1", spec.ports[me])
        await _say_and_wait("ready")
        return []
    await _say_and_wait("ready")
    streams = [await asyncio.open_connection("127.0.0.1", port) for port in spec.ports[1:]]
    payload = bytes(spec.payload_bytes)
    latencies = []
    for _ in range(spec.call_count):
        begin_ns = time.monotonic_ns()
        for _, writer in streams:
            _write(writer, payload)
        await asyncio.gather(*(_read_frame(reader) for reader, _ in streams))
        latencies.append(time.monotonic_ns() - begin_ns)
    return latencies


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError, asyncio.CancelledError):
        while True:
            _write(writer, await _read_frame(reader))


def _write(writer: asyncio.StreamWriter, payload: bytes) -> None:
    writer.write(_LENGTH.pack(len(payload)) + payload)


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return await reader.readexactly(length)


async def _measure_protocols(spec: CallSpec, me: int) -> list[int]:
    loop = asyncio.get_running_loop()
    if me:
        await loop.create_server(lambda: Echo(is_server=True), "127.0.0.1", spec.ports[me])
        await _say_and_wait("ready")
        return []
    await _say_and_wait("ready")
    clients = []
    for port in spec.ports[1:]:
        _, client = await loop.create_connection(lambda: Echo(is_server=False), "127.0.0.1", port)
        clients.append(client)
    frame = _LENGTH.pack(spec.payload_bytes) + bytes(spec.payload_bytes)
    latencies = []
    for _ in range(spec.call_count):
        begin_ns = time.monotonic_ns()
        for client in clients:
            client.answered.clear()
            assert client.transport is not None, "it is connected"
            client.transport.write(frame)
        for client in clients:
            await client.answered.wait()
        latencies.append(time.monotonic_ns() - begin_ns)
    return latencies


async def _measure_antiphon(spec: CallSpec, me: int) -> list[int]:
    names = [f"m{place}" for place in range(len(spec.ports))]
    places = (f"127.0.0.1:{port}" for port in spec.ports)
    members = dict(zip(names, places, strict=True))
    async with join("calls", me=names[me], members=members) as group:
        group.answer_calls(_echo)
        reader = asyncio.ensure_future(_read(group))
        await _say_and_wait("ready")
        latencies: list[int] = []
        if me == 0:
            for _ in range(spec.call_count):
                begin_ns = time.monotonic_ns()
                await group.call(bytes(spec.payload_bytes), timeout_s=10.0)
                latencies.append(time.monotonic_ns() - begin_ns)
        await _say_and_wait(msgspec.json.encode(CallReport(names[me], latencies)).decode())
    await reader
    return latencies


def _echo(_sender: str, payload: bytes) -> bytes:
    return payload


async def _read(group: Group) -> None:
    async for _ in group:
        pass


async def _main() -> None:
    spec = msgspec.json.decode(sys.argv[1], type=CallSpec)
    me = int(sys.argv[2])
    if spec.system != "antiphon":
        measure = _measure_streams if spec.system == "raw" else _measure_protocols
        report = CallReport(f"m{me}", await measure(spec, me))
        await _say_and_wait(msgspec.json.encode(report).decode())
    else:
        await _measure_antiphon(spec, me)


if __name__ == "__main__":
    run(_main())

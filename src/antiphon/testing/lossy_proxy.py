"""A proxy for real sockets that loses, repeats, reorders and delays datagrams, by a seeded dice.

For each process it has a **front** on this machine: an address of its own, which passes on to the
process. Datagrams are given to the dice of their direction (from whom, to whom); connections that
are made to the same address pass unharmed. So a group runs behind it if its members say that they
are found at their fronts (by advertising them), or if whoever sends datagrams is told so::

    proxy = LossyProxy(seed=7, faults=DatagramFaults(loss=0.05))
    ben_is_at = await proxy.front("ben", "127.0.0.1:7002")  # ben is given advertise=str(ben_is_at)
    proxy.between["anna", "ben"] = DatagramFaults(loss=1.0)
    ...
    await proxy.close()

Law: what becomes of the n-th datagram of a direction depends on the seed and the faults; what
arrives is as it was sent. Directions are told by the addresses that datagrams come from: who sends
from one that is no process's here is called ``STRANGER``.

Loopback only. That nobody listens is not told through a proxy: a connection to a dead process is
accepted, and then closed.
"""

import asyncio
import socket
from contextlib import suppress
from typing import Any

from antiphon.core.errors import UsageError
from antiphon.net.transport.address import Address, parse_address
from antiphon.net.transport.ports import free_ports
from antiphon.testing.datagram_faults import DatagramDice, DatagramFaults

STRANGER = "stranger"
"""Whoever sends from an address that has no front."""

_DATAGRAM_BYTES = 65_536
_DRAIN_COUNT = 64
_PIECE_BYTES = 64 * 1024
_BUFFER_BYTES = 4 * 1024 * 1024


class LossyProxy:
    """Fronts of processes on this machine."""

    def __init__(self, seed: int | str, faults: DatagramFaults | None = None) -> None:
        """Have no front yet."""
        self.faults = faults or DatagramFaults()
        """What becomes of datagrams, where ``between`` says nothing else."""
        self.between: dict[tuple[str, str], DatagramFaults] = {}
        """By names of sender and receiver."""
        self.arrived_count = self.lost_count = self.repeated_count = 0
        self._seed = seed
        self._loop = asyncio.get_running_loop()
        self._names: dict[tuple[str, int], str] = {}
        self._dice: dict[tuple[str, str], DatagramDice] = {}
        self._sockets: dict[socket.socket, tuple[str, Address]] = {}
        self._servers: list[asyncio.Server] = []
        self._pumps: set[asyncio.Task[None]] = set()

    async def front(self, name: str, address: Address | str) -> Address:
        """Return the front of a process that is, or will be, at ``address``, as ``host:port``."""
        if isinstance(address, str):
            address = parse_address(address)
        if not isinstance(address, Address):
            message = f"a process is at an address such as 127.0.0.1:7001, not {address!r:.100}"
            raise UsageError(message)
        if not address.is_loopback:
            message = f"{address} is not on this machine: a lossy proxy is for loopback"
            raise UsageError(message)
        host = address.host
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        (number,) = free_ports(1)
        front = socket.socket(family, socket.SOCK_DGRAM)
        try:
            front.settimeout(0)
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                with suppress(OSError):
                    front.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
            front.bind((host, number))
            server = await asyncio.start_server(
                lambda reader, writer: self._connect(address, reader, writer), host, number
            )
        except OSError:
            front.close()
            raise
        self._names[host, address.port] = name
        self._sockets[front] = name, address
        self._servers.append(server)
        self._loop.add_reader(front.fileno(), self._on_readable, front)
        return Address(host, number)

    async def close(self) -> None:
        """Pass nothing on any more."""
        for front in self._sockets:
            self._loop.remove_reader(front.fileno())
            front.close()
        self._sockets.clear()
        for server in self._servers:
            server.close()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def _on_readable(self, front: socket.socket) -> None:
        target, address = self._sockets[front]
        for _ in range(_DRAIN_COUNT):
            try:
                data, source = front.recvfrom(_DATAGRAM_BYTES)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                continue  # what became of one that was passed on: not of interest
            names = self._names.get(source[:2], STRANGER), target
            self._pass_on(front, data, address, names)

    def _pass_on(
        self, front: socket.socket, data: bytes, address: Address, names: tuple[str, str]
    ) -> None:
        dice = self._dice.get(names)
        if dice is None:
            dice = self._dice[names] = DatagramDice(f"{self._seed}/{names[0]}/{names[1]}")
        fates_us = dice.fates_us(self.between.get(names, self.faults))
        self.arrived_count += 1
        self.lost_count += not fates_us
        self.repeated_count += len(fates_us) > 1
        for fate_us in fates_us:
            if fate_us:
                self._loop.call_later(fate_us / 1e6, self._send, front, data, address)
            else:
                self._send(front, data, address)

    def _send(self, front: socket.socket, data: bytes, address: Address) -> None:
        if front in self._sockets:
            with suppress(OSError):  # the system has no room, or nobody is there: lost
                front.sendto(data, (address.host, address.port))

    async def _connect(
        self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task: asyncio.Task[Any] | None = asyncio.current_task()
        assert task is not None, "connections are served by tasks"
        self._pumps.add(task)
        try:
            there, back = await asyncio.open_connection(address.host, address.port)
        except OSError:
            writer.close()
        else:
            try:
                await asyncio.gather(_pump(reader, back), _pump(there, writer))
            finally:
                writer.close()
                back.close()
        finally:
            self._pumps.discard(task)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what is read, and its end; if one side breaks, break the other."""
    try:
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.transport.abort()

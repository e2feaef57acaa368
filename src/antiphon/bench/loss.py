"""Three members of causal blocks on one event loop, on sockets that lose, repeat and reorder.

Law: each multicasts its share as fast as it is admitted, message by message; every message carries
the time at which it was handed over, and is read by everybody. What arrives at a socket is lost
with the chance given, and as often repeated, or up to ten milliseconds late. Everybody keeps a
journal, in which the oracle looks for violations when all is over.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from struct import Struct
from tempfile import TemporaryDirectory
from typing import NamedTuple

from antiphon.core.errors import UsageError
from antiphon.net.group.group import Group
from antiphon.net.process.joining import make_node
from antiphon.net.process.node import Node
from antiphon.net.transport.ports import free_ports
from antiphon.oracle import judge
from antiphon.stack.blocks import Blocks
from antiphon.trace.reader import read_rows
from antiphon.trace.verdict import Status

_NAMES = ("m0", "m1", "m2")
_PAYLOAD_BYTES = 64
_LATE_S = 0.01
_TIME = Struct(">Q")


class Lossy(NamedTuple):
    """What became of a run."""

    per_s: float
    """Messages that each member read, per second."""
    p50_ms: float
    p99_ms: float
    """From when a message was handed over until another member read it."""
    violations: int
    """Properties that the journals show violated."""


def measure_loss(loss: float, count: int, seed: int) -> Lossy:
    """Let three members multicast so many messages together, and judge what they did."""
    with TemporaryDirectory() as folder:
        measured = asyncio.run(_measure(loss, count, seed, Path(folder)))
        judged = judge(read_rows(Path(folder))).properties
        violations = sum(item.status is Status.VIOLATED for item in judged)
        return measured._replace(violations=violations)


async def _measure(loss: float, count: int, seed: int, folder: Path) -> Lossy:
    ports = free_ports(len(_NAMES))
    members = {name: f"127.0.0.1:{port}" for name, port in zip(_NAMES, ports, strict=True)}
    nodes = [
        make_node("bench", name, members=members, protocol=Blocks(), trace=folder)
        for name in _NAMES
    ]
    await asyncio.gather(*(node.start() for node in nodes))
    for node in nodes:
        _make_lossy(node, loss, Random(f"{seed}/{node.name}/{loss}"))
    share = count // len(_NAMES)
    delays_ms: list[float] = []
    begin_s = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for node in nodes:
            tasks.create_task(_read(node.group, share * len(_NAMES), delays_ms))
            tasks.create_task(_send(node.group, share))
    took_s = time.monotonic() - begin_s
    await asyncio.gather(*(node.stop() for node in nodes))
    delays_ms.sort()
    return Lossy(
        share * len(_NAMES) / took_s,
        delays_ms[len(delays_ms) // 2],
        delays_ms[len(delays_ms) * 99 // 100],
        0,
    )


def _make_lossy(node: Node, loss: float, dice: Random) -> None:
    """Have what arrives at a socket lost, repeated or late."""
    port = node.process.datagrams
    if port is None:
        message = "there is no socket for datagrams: the group has another protocol"
        raise UsageError(message)
    take: Callable[[memoryview], None] = port.on_datagram
    loop = asyncio.get_running_loop()

    def on_datagram(data: memoryview) -> None:
        is_lost, is_twice, is_late = (dice.random() < loss for _ in range(3))
        if is_lost:
            return
        if is_late or is_twice:
            loop.call_later(dice.random() * _LATE_S, take, memoryview(bytes(data)))
        if not is_late:
            take(data)

    port.on_datagram = on_datagram  # type: ignore[method-assign]


async def _send(group: Group, count: int) -> None:
    rest = bytes(_PAYLOAD_BYTES - _TIME.size)
    for _ in range(count):
        await group.cbcast(_TIME.pack(time.monotonic_ns()) + rest)
        await asyncio.sleep(0)


async def _read(group: Group, count: int, delays_ms: list[float]) -> None:
    left = count
    async for message in group.messages():
        if message.sender != group.me:
            delays_ms.append((time.monotonic_ns() - _TIME.unpack_from(message.payload)[0]) / 1e6)
        left -= 1
        if not left:
            return

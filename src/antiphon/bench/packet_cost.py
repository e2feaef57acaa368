"""What one datagram costs, part by part and whole; ``python -m antiphon.bench.packet_cost``.

Law: processor time of one process, the best of some repetitions, on data that is the same for all;
each part next to the others, so that what the machine does besides hits all alike. The whole is two
ports in one process on loopback: packed, sealed, sent, received, opened, unpacked, handed over.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from itertools import count

from antiphon.net.datagrams.counts import DatagramCounts
from antiphon.net.datagrams.key_ring import KeyRing
from antiphon.net.datagrams.packets import OVERHEAD_BYTES, PacketCipher, read_header
from antiphon.net.datagrams.packing import Packer, unpack
from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.datagrams.settings import DatagramSettings
from antiphon.net.transport.address import Address
from antiphon.net.transport.environment import SYSTEM

_SECRET = bytes(32)
_REPEATS = 7


def _best_us(work: Callable[[], object], times: int) -> float:
    best = float("inf")
    for _ in range(_REPEATS):
        begin = time.process_time_ns()
        for _ in range(times):
            work()
        best = min(best, time.process_time_ns() - begin)
    return best / times / 1000


def packet_cost_us(packet_bytes: int, item_bytes: int) -> dict[str, float]:
    """Return microseconds per packet that is full of items: each part, and items in it."""
    packer = Packer(packet_bytes - OVERHEAD_BYTES, 1 << 20, count())
    per_packet = (packet_bytes - OVERHEAD_BYTES - 3) // (item_bytes + 2)
    items = [bytes(item_bytes)] * per_packet

    def pack() -> bytes:
        (body,) = packer.add(items) + packer.finish()
        return body

    body = pack()
    sender = PacketCipher(_SECRET, 1, 1, 0)
    times = max(50, 2_000_000 // packet_bytes // 4)
    sealed = [sender.seal(body) for _ in range(times * _REPEATS)]
    ring = KeyRing(1, DatagramCounts())
    ring.learn(1, _SECRET, 1, 2)
    arriving = iter(sealed)

    def take() -> None:
        packet = memoryview(next(arriving))
        header = read_header(packet)
        assert header is not None, "it is long enough"
        assert ring.open(header, packet) is not None, "it is new"

    return {
        "items": per_packet,
        "pack": _best_us(pack, times),
        "seal": _best_us(lambda: sender.seal(body), times),
        "open": _best_us(take, times),
        "unpack": _best_us(lambda: unpack(body), times),
    }


class _Counting:
    """Who reads a port."""

    def __init__(self) -> None:
        self.missing = 0
        self.has_all = asyncio.Event()

    def on_items(self, number: int, sender: int, items: list[bytes]) -> None:
        del number, sender
        self.missing -= len(items)
        if self.missing == 0:
            self.has_all.set()

    def on_read(self) -> None:
        pass

    def on_room(self) -> None:
        pass


async def _whole_us(packet_bytes: int, item_bytes: int, items_per_packet: int) -> float:
    """Return microseconds per packet from one port to another, at both ends together."""
    settings = DatagramSettings(packet_bytes_max=packet_bytes)
    here = Address("127.0.0.1", 0)
    ports = [await DatagramPort.open(here, SYSTEM, settings) for _ in range(2)]
    owners = [_Counting(), _Counting()]
    channels = [port.channel(1, owner) for port, owner in zip(ports, owners, strict=True)]
    for rank, channel in enumerate(channels):
        channel.learn(1, _SECRET, rank, [port.address for port in ports])
        channel.enter(1)
    batch = [bytes(item_bytes)] * (items_per_packet * max(1, 500_000 // packet_bytes))
    best = float("inf")
    for _ in range(_REPEATS * 4):
        owners[1].missing = len(batch)
        owners[1].has_all.clear()
        begin = time.process_time_ns()
        channels[0].send(batch)
        await asyncio.wait_for(owners[1].has_all.wait(), 5.0)
        best = min(best, time.process_time_ns() - begin)
    for port in ports:
        port.close()
    return best / (len(batch) / items_per_packet) / 1000


if __name__ == "__main__":
    for packet_bytes, item_bytes in ((1_400, 64), (1_400, 1_000), (60_000, 64), (60_000, 1_000)):
        costs = packet_cost_us(packet_bytes, item_bytes)
        per_packet = int(costs["items"])
        costs["whole"] = asyncio.run(_whole_us(packet_bytes, item_bytes, per_packet))
        words = ", ".join(f"{part} {us:.2f}" for part, us in costs.items() if part != "items")
        line = f"{packet_bytes:>6} B, {costs['items']:>4.0f} items of {item_bytes} B: {words} us\n"
        sys.stdout.write(line)

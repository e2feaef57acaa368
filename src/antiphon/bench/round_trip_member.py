"""One process of a series of round trips: ``python -m antiphon.bench.round_trip_member SPEC NAME``.

Says ``ready``, waits for a line, prints its report as one line of JSON, waits for another line.
"""

import asyncio
import sys
import time

import msgspec

from antiphon.bench.round_trips import TripReport, TripSpec
from antiphon.core.runs import Order
from antiphon.net.group.group import Group
from antiphon.net.process.joining import join, run
from antiphon.net.stream.events import Letter, Message

_ORDERS = {"causal": Order.CAUSAL, "total": Order.TOTAL}


async def _say_and_wait(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


class _Caller:
    """Counts replies."""

    def __init__(self, expected: int) -> None:
        self._expected, self._count = expected, 0
        self._is_answered = asyncio.Event()

    def take(self) -> None:
        """A reply has come."""
        self._count += 1
        if self._count == self._expected:
            self._is_answered.set()

    async def call(self, group: Group, payload: bytes, order: Order) -> int:
        """Multicast, wait for all replies, and return how long that took."""
        self._count = 0
        self._is_answered.clear()
        begin_ns = time.monotonic_ns()
        await group.multicast(payload, order=order)
        await self._is_answered.wait()
        return time.monotonic_ns() - begin_ns


async def _read(group: Group, caller: str, replies: _Caller) -> None:
    async for event in group:
        if isinstance(event, Letter):
            replies.take()
        elif isinstance(event, Message) and event.sender == caller != group.me:
            await group.send(caller, b"")


async def _main() -> None:
    spec = msgspec.json.decode(sys.argv[1], type=TripSpec)
    me, caller = sys.argv[2], spec.names[-1]
    places = (f"127.0.0.1:{port}" for port in spec.ports)
    members = dict(zip(spec.names, places, strict=True))
    replies = _Caller(len(spec.names) - 1)
    async with join("trips", me=me, members=members, token="fixed") as group:  # noqa: S106
        reader = asyncio.ensure_future(_read(group, caller, replies))
        await _say_and_wait("ready")
        latencies: list[list[int]] = [[] for _ in spec.sizes]
        if me == caller:
            for _ in range(spec.count):
                for size, taken in zip(spec.sizes, latencies, strict=True):
                    taken.append(await replies.call(group, bytes(size), _ORDERS[spec.order]))
        await _say_and_wait(msgspec.json.encode(TripReport(latencies)).decode())
    await reader


if __name__ == "__main__":
    run(_main())

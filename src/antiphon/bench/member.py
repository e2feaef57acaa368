"""One member of a measured run, in a process of its own: ``python -m antiphon.bench.member SPEC``.

Says ``ready`` when connected to all, waits for a line on standard input, sends and receives what
its spec says, and prints its report as one line of JSON.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec

from antiphon.bench.raw_datagrams import DatagramMesh, RawDatagramMesh
from antiphon.bench.raw_mesh import RawMesh
from antiphon.bench.sealed_datagrams import SealedDatagramMesh
from antiphon.bench.spec import MemberReport, Spec
from antiphon.core.runs import Order
from antiphon.net.application.datagrams import Datagrams
from antiphon.net.group.group import Group
from antiphon.net.process.joining import join, run
from antiphon.net.stream.events import Batch
from antiphon.stack.blocks import Blocks

_ORDERS = {
    "antiphon-fifo": Order.FIFO,
    "antiphon-total": Order.TOTAL,
    "antiphon-uniform-total": Order.TOTAL,
}

_MESHES: dict[str, type[RawMesh | DatagramMesh]] = {
    "raw": RawMesh,
    "raw-datagrams": RawDatagramMesh,
    "datagrams": SealedDatagramMesh,
}
"""What is measured beside Antiphon, or below it."""

BATCH_COUNT = 512
"""Messages per call of the batch form, for every system."""

_BATCH_BYTES = 64 * 1024


class Counter:
    """The application: touches every message, its sender and its length."""

    def __init__(self, spec: Spec, name: str) -> None:
        """Count until everything the others send has come."""
        self._expected = spec.expected_from_others(name)
        self._begin_cpu_s = 0.0
        self.per_sender: dict[str | int, int] = {}
        self.count = 0
        self.byte_count = 0
        self.begin_ns = 0
        self.end_ns = 0
        self.done = asyncio.Event()
        if not self._expected:
            self.done.set()

    def batch(self, sender: str | int, payloads: list[bytes]) -> None:
        """Take a list of one sender's messages."""
        for payload in payloads:
            self.byte_count += len(payload)
        self.per_sender[sender] = self.per_sender.get(sender, 0) + len(payloads)
        self._add(len(payloads))

    def message(self, sender: str | int, payload: bytes) -> None:
        """Take one message."""
        self.byte_count += len(payload)
        self.per_sender[sender] = self.per_sender.get(sender, 0) + 1
        self._add(1)

    def _add(self, count: int) -> None:
        self.count += count
        if self.count >= self._expected:
            self.end_ns = time.monotonic_ns()
            self.done.set()

    def begin(self) -> None:
        """Start the clocks."""
        self.begin_ns = time.monotonic_ns()
        self._begin_cpu_s = time.process_time()

    def report(self, name: str) -> MemberReport:
        """Say what was seen."""
        senders, cpu_s = len(self.per_sender), time.process_time() - self._begin_cpu_s
        return MemberReport(
            name, self.count, self.byte_count, senders, self.begin_ns, self.end_ns, cpu_s
        )


async def _say_and_wait(line: str) -> None:
    """Print a line and wait for the go-ahead."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


async def _begin(counter: Counter) -> None:
    await _say_and_wait("ready")
    counter.begin()


async def _finish(counter: Counter, name: str) -> None:
    """Report when everything has come, and stay until everyone has."""
    await counter.done.wait()
    await _say_and_wait(msgspec.json.encode(counter.report(name)).decode())


async def _send(
    spec: Spec,
    send: Callable[[bytes], Awaitable[None]],
    send_many: Callable[[list[bytes]], Awaitable[None]],
) -> None:
    payload = bytes(spec.payload_bytes)
    if spec.form == "message":
        for _ in range(spec.message_count):
            await send(payload)
        return
    size = max(1, min(BATCH_COUNT, _BATCH_BYTES // max(1, spec.payload_bytes)))
    left = spec.message_count
    while left:
        count = min(size, left)
        await send_many([payload] * count)
        left -= count


async def _run_antiphon(spec: Spec, name: str) -> None:
    addresses = [f"127.0.0.1:{port}" for port in spec.ports]
    members = dict(zip(spec.names, addresses, strict=True))
    order = _ORDERS.get(spec.system, Order.CAUSAL)
    uniform = spec.system in {"antiphon-uniform", "antiphon-uniform-total"}
    counter = Counter(spec, name)
    trace = spec.trace or None
    protocol = datagrams = None
    if spec.system == "antiphon-blocks":
        protocol, datagrams = Blocks(), Datagrams(packet_bytes=spec.packet_bytes)
    async with join(
        "bench", me=name, members=members, trace=trace, token=spec.token, protocol=protocol,
        datagrams=datagrams,
    ) as group:  # fmt: skip
        await _begin(counter)
        reader = asyncio.ensure_future(_read(spec, group, counter))
        if name in spec.sender_names:
            is_plain = order is Order.CAUSAL and not uniform
            await _send(
                spec,
                group.cbcast
                if is_plain
                else partial(group.multicast, order=order, uniform=uniform),
                partial(group.multicast_many, order=order, uniform=uniform),
            )
        await _finish(counter, name)
    await reader


async def _read(spec: Spec, group: Group, counter: Counter) -> None:
    me = group.me
    if spec.form == "batch":
        async for batch in group.batches():
            if isinstance(batch, Batch) and batch.sender != me:
                counter.batch(batch.sender, batch.payloads)
        return
    async for message in group.messages():
        if message.sender != me:
            counter.message(message.sender, message.payload)


async def _run_mesh(spec: Spec, name: str) -> None:
    counter = Counter(spec, name)
    on_message = counter.message if spec.form == "message" else None
    make_mesh = _MESHES[spec.system]
    mesh = make_mesh(spec.names.index(name), spec.ports, counter.batch, on_message)
    if isinstance(mesh, DatagramMesh):
        mesh.packet_bytes = spec.packet_bytes
    await mesh.open()
    await _begin(counter)
    if name in spec.sender_names:
        await _send(spec, mesh.send, mesh.send_many)
        mesh.flush()
    await _finish(counter, name)
    await mesh.close()


async def _main() -> None:
    spec = msgspec.json.decode(sys.argv[1], type=Spec)
    run_system = _run_mesh if spec.system in _MESHES else _run_antiphon
    await run_system(spec, sys.argv[2])


if __name__ == "__main__":
    run(_main())

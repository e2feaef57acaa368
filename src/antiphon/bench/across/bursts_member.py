"""One process of the measurement of bursts (``bursts``).

    python -m antiphon.bench.across.bursts_member '{"name": ..., "groups": {...}, ...}'

It enters its groups, says ``ready``, waits for a line, multicasts bursts in its groups in turn,
each burst a run of its own, reads everything, and prints what it saw as one line of JSON. Times are
of the machine's monotonic clock.
"""

import asyncio
import sys
import time
from contextlib import AsyncExitStack

import msgspec

from antiphon.net.application.causal_domain import CausalDomain
from antiphon.net.process.joining import run
from antiphon.net.process.process import Process
from antiphon.net.stream.events import Batch


class BurstSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is to do."""

    name: str
    at: str
    groups: dict[str, dict[str, str]]
    """All groups, and the addresses of their members, by name."""
    resilience: int
    """Of the domain of these groups; 0: each is a domain of its own."""
    bursts: int
    burst: int
    payload_bytes: int


class BurstReport(msgspec.Struct, frozen=True):
    """What it saw of the others."""

    received: int
    begin_ns: int
    end_ns: int
    cpu_s: float


async def live(spec: BurstSpec) -> None:
    """Do it."""
    mine = {name: members for name, members in spec.groups.items() if spec.name in members}
    expected = spec.burst * sum(
        _share(spec, name, other)
        for name, members in mine.items()
        for other in members
        if other != spec.name
    )
    domain = CausalDomain("bench", spec.resilience) if spec.resilience else None
    async with Process(spec.name, at=spec.at) as process, AsyncExitStack() as stack:
        groups = [
            await stack.enter_async_context(
                process.join(
                    name, found=True, seeds=list(members.values()), domain=domain, connect_s=30.0
                )
            )
            for name, members in mine.items()
        ]
        for group, members in zip(groups, mine.values(), strict=True):
            while len(group.members) < len(members):  # noqa: ASYNC110 - no one event
                await asyncio.sleep(0.01)
        await _say_and_wait("ready")
        begin_ns, begin_cpu_s = time.monotonic_ns(), time.process_time()
        reader = asyncio.ensure_future(_read(process, spec.name, expected))
        payloads = [bytes(spec.payload_bytes)] * spec.burst
        for number in range(spec.bursts):
            await groups[number % len(groups)].multicast_many(payloads)
            await asyncio.sleep(0)  # the turn ends, and with it the run
        received, end_ns = await reader
        report = BurstReport(received, begin_ns, end_ns, time.process_time() - begin_cpu_s)
        await _say_and_wait(msgspec.json.encode(report).decode())


def _share(spec: BurstSpec, group: str, process: str) -> int:
    """Return how many of a process's bursts are in one of its groups."""
    its = [name for name, members in spec.groups.items() if process in members]
    return len(range(its.index(group), spec.bursts, len(its)))


async def _read(process: Process, me: str, expected: int) -> tuple[int, int]:
    """Read until all that others multicast has come; touch every message."""
    count = byte_count = 0
    async for batch in process.batches():
        if isinstance(batch, Batch) and batch.sender != me:
            for payload in batch.payloads:
                byte_count += len(payload)
            count += len(batch.payloads)
            if count >= expected:
                break
    return count, time.monotonic_ns()


async def _say_and_wait(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


if __name__ == "__main__":
    run(live(msgspec.json.decode(sys.argv[1], type=BurstSpec)))

"""One process of the measurement of many groups (``groups``).

    python -m antiphon.bench.groups_member '{"name": ..., "addresses": [...], ...}'

It enters its groups, prints a line when all of them are complete, rests, prints what it costs, and
then, for each group, waits for the view without the process that is killed, and prints when the
last of them came. A process that joins does so one group after the other and prints how long each
took. Times are of the machine's monotonic clock.
"""

import asyncio
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from antiphon.net.group.group import Group
from antiphon.net.process.joining import run
from antiphon.net.process.process import Process
from antiphon.net.stream.events import View

PAGE_BYTES = 4096


class GroupsSpec(msgspec.Struct, frozen=True):
    """What a process is to do."""

    name: str
    at: str
    seeds: tuple[str, ...]
    group_count: int
    rest_s: float = 0.0
    """How long its idle cost is measured; 0: it founds its groups alone, or joins them."""
    does_join: bool = False


class Line(msgspec.Struct, frozen=True):
    """What a process prints."""

    name: str
    join_ms: list[float] = []
    cpu: float = 0.0
    """Of one core."""
    memory_mb: float = 0.0
    connections: int = 0
    last_view_s: float = 0.0


async def live(spec: GroupsSpec) -> None:
    """Do it."""
    async with (
        Process(spec.name, at=spec.at, seeds=spec.seeds) as process,
        AsyncExitStack() as stack,
    ):
        groups, join_ms = [], []
        for number in range(spec.group_count):
            began_s = time.perf_counter()
            if spec.rest_s:
                handle = process.join(f"room-{number}", found=True, connect_s=30.0)
            else:
                seeds: list[str] | None = None if spec.does_join else []
                handle = process.join(f"room-{number}", seeds=seeds)
            groups.append(await stack.enter_async_context(handle))
            join_ms.append((time.perf_counter() - began_s) * 1e3)
        if not spec.rest_s:
            _say(Line(spec.name, join_ms))
            await asyncio.to_thread(sys.stdin.readline)
            return
        size = len(spec.seeds)
        while not all(len(one.members) == size for one in groups):  # noqa: ASYNC110 - no one event
            await asyncio.sleep(0.05)
        _say(Line(spec.name, join_ms))
        waiting = [asyncio.ensure_future(_smaller(group, size)) for group in groups]
        await asyncio.sleep(1.0)
        _say(await _idle_cost(spec, process))
        seen_s = await asyncio.gather(*waiting)
        _say(Line(spec.name, last_view_s=max(seen_s)))
        await asyncio.to_thread(sys.stdin.readline)


async def _idle_cost(spec: GroupsSpec, process: Process) -> Line:
    cpu_s, began_s = time.process_time(), time.monotonic()
    await asyncio.sleep(spec.rest_s)
    cpu = (time.process_time() - cpu_s) / (time.monotonic() - began_s)
    return Line(spec.name, cpu=cpu, memory_mb=_memory_mb(), connections=process.connections)


def _memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * PAGE_BYTES / 1e6


async def _smaller(group: Group, size: int) -> float:
    """Return when the view came that has fewer members."""
    async for event in group:
        if isinstance(event, View) and len(event.members) < size:
            break
    return time.monotonic()


def _say(line: Line) -> None:
    sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run(live(msgspec.json.decode(sys.argv[1], type=GroupsSpec)))

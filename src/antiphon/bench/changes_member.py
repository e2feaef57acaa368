"""One member of a group that changes: ``python -m antiphon.bench.changes_member SPEC``.

Prints a line of JSON for every view it reads, with the time, and the longest pause between two
batches around it; and ten times a second how much it has delivered and keeps. Multicasts as fast
as it can if its spec says so. Ends when standard input does.
"""

import asyncio
import sys
import time

import msgspec

from antiphon.net.process.joining import make_node, run
from antiphon.net.process.node import Node
from antiphon.net.stream.events import Batch, View

_PAYLOAD_BYTES = 200
_BATCH = 64
_SAMPLE_S = 0.1


class MemberSpec(msgspec.Struct, frozen=True):
    """What a member is to do."""

    name: str
    members: dict[str, str] = {}
    at: str = ""
    seeds: list[str] = []
    is_loaded: bool = False
    """Whether it multicasts as fast as it can."""
    trace: str = ""
    rejoin: bool = False
    """Whether it comes back by itself when it was excluded."""


class ViewSeen(msgspec.Struct, frozen=True, tag="view"):
    """A view was read."""

    name: str
    time_ns: int
    number: int
    members: list[str]
    pause_ms: float
    """Between the last batch read before the view and the first one after it."""
    primary: bool = True


class Sample(msgspec.Struct, frozen=True, tag="sample"):
    """How a member is doing."""

    name: str
    time_ns: int
    delivered: int
    kept_bytes: int


def _print(line: ViewSeen | Sample) -> None:
    sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
    sys.stdout.flush()


async def _read(node: Node, spec: MemberSpec, counts: dict[str, int]) -> None:
    before_ns = time.monotonic_ns()
    views: list[tuple[View, int]] = []
    async for event in node.group.batches():
        now_ns = time.monotonic_ns()
        if isinstance(event, View):
            views.append((event, now_ns))
            if not spec.is_loaded:
                members = list(event.members)
                _print(ViewSeen(spec.name, now_ns, event.number, members, 0.0, event.primary))
        elif isinstance(event, Batch):
            counts["delivered"] += len(event.payloads)
            for view, seen_ns in views if spec.is_loaded else ():
                pause_ms = (now_ns - before_ns) / 1e6
                _print(ViewSeen(spec.name, seen_ns, view.number, list(view.members), pause_ms))
            views.clear()
            before_ns = now_ns


async def _send(node: Node) -> None:
    batch = [bytes(_PAYLOAD_BYTES)] * _BATCH
    while True:
        await node.group.cbcast_many(batch)


async def _sample(node: Node, spec: MemberSpec, counts: dict[str, int]) -> None:
    while True:
        await asyncio.sleep(_SAMPLE_S)
        member = node.driver.member
        kept = member.kept_bytes if member is not None else 0
        _print(Sample(spec.name, time.monotonic_ns(), counts["delivered"], kept))


async def _main(spec: MemberSpec) -> None:
    node = make_node(
        "bench", spec.name, members=spec.members or None, at=spec.at or None, seeds=spec.seeds,
        trace=spec.trace or None, drain_s=30.0, rejoin=spec.rejoin,
    )  # fmt: skip
    counts = {"delivered": 0}
    async with node.group:
        tasks = [asyncio.ensure_future(_read(node, spec, counts))]
        tasks.append(asyncio.ensure_future(_sample(node, spec, counts)))
        if spec.is_loaded:
            tasks.append(asyncio.ensure_future(_send(node)))
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        for task in tasks[1:]:
            task.cancel()
    tasks[0].cancel()


if __name__ == "__main__":
    run(_main(msgspec.json.decode(sys.argv[1], type=MemberSpec)))

"""What the tests on sockets stand on: a stage, groups on loopback, and readers with deadlines.

Law: nothing is waited for by sleeping, only by asking again until a deadline; and a scene is
played only if asyncio had nothing to complain of: no exception in a callback, none that nobody
took, no task or socket left over.
"""

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from antiphon import Group, Message, Timing
from antiphon.net.process.joining import make_node
from antiphon.net.process.node import Node
from antiphon.net.transport.ports import free_ports
from antiphon.oracle import judge
from antiphon.trace.reader import read_rows
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Verdict

T = TypeVar("T")
LoopFactory = Callable[[], asyncio.AbstractEventLoop]

DEADLINE_S = 20.0
"""Nothing here takes a tenth of it, on a machine that has nothing else to do."""

QUICK = Timing(heartbeat_us=20_000, timeout_us=400_000)
"""For scenes in which somebody has to be suspected for its silence."""

TRIO = ("alice", "bob", "carol")
"""In order of seniority: carol dials bob and alice, bob dials alice."""


def play(loop_factory: LoopFactory, scene: Coroutine[Any, Any, T]) -> T:
    """Run a scene to its end, and fail if asyncio complained or something was left over."""
    complaints: list[dict[str, Any]] = []
    runner = asyncio.Runner(loop_factory=loop_factory)
    try:
        runner.get_loop().set_exception_handler(lambda _, context: complaints.append(context))
        result = runner.run(_bounded(scene))
    finally:
        # Where warnings are errors, uvloop gives up closing a socket that a scene left open in the
        # middle of its warning, and then waits for it for ever.
        with warnings.catch_warnings(record=True) as left_open:
            warnings.simplefilter("always")
            runner.close()
    assert not complaints, complaints
    assert not left_open, [str(warning.message) for warning in left_open]
    return result


async def _bounded(scene: Coroutine[Any, Any, T]) -> T:
    async with asyncio.timeout(DEADLINE_S):
        result = await scene
    gc.collect()  # exceptions that nobody took, and sockets that nobody closed, speak up now
    me = asyncio.current_task()
    await until(lambda: asyncio.all_tasks() == {me}, "all tasks have ended")
    return result


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait until ``condition`` is true; say what was waited for if it never is."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + DEADLINE_S / 2
    while not condition():
        assert loop.time() < deadline, f"waited in vain until {what}"
        await asyncio.sleep(0.002)


def free_addresses(names: Sequence[str] = TRIO) -> dict[str, str]:
    """Return an address on loopback for each name, whose port was free a moment ago."""
    ports = free_ports(len(names))
    return {name: f"127.0.0.1:{port}" for name, port in zip(names, ports, strict=True)}


Nodes = dict[str, Node]


def address_of(node: Node) -> str:
    """Return where a node listens."""
    return str(node.address)


def make_choir(addresses: dict[str, str], *, folder: Path | None = None, **options: Any) -> Nodes:
    """Return a node for each founding member."""
    return {
        name: make_node("choir", name, members=addresses, trace=folder, **options)
        for name in addresses
    }


async def start_all(nodes: Sequence[Node]) -> None:
    """Start nodes that found a group together."""
    await asyncio.gather(*(node.start() for node in nodes))


async def stop_all(nodes: Sequence[Node]) -> None:
    """Let nodes leave together."""
    await asyncio.gather(*(node.stop() for node in nodes))


@asynccontextmanager
async def choir(
    names: Sequence[str] = TRIO, *, folder: Path | None = None, **options: Any
) -> AsyncIterator[Nodes]:
    """Start a node for each name, all in this event loop; let them all leave together."""
    nodes = make_choir(free_addresses(names), folder=folder, **options)
    await start_all(list(nodes.values()))
    try:
        yield nodes
    finally:
        await stop_all(list(nodes.values()))


async def until_view(node: Node, members: Sequence[str]) -> None:
    """Wait until a node is in a primary view of just these members."""
    await until(
        lambda: (view := node.local_group.view) and view.members == tuple(members) and view.primary,
        f"{node.name} is in a view of {', '.join(members)}",
    )


async def read(group: Group, count: int) -> list[Message]:
    """Read so many messages and break off."""
    messages: list[Message] = []
    if count:
        async with asyncio.timeout(DEADLINE_S / 2):
            async for message in group.messages():
                messages.append(message)
                if len(messages) == count:
                    break
    assert len(messages) == count, f"{group.me}: the stream ended after {len(messages)}"
    return messages


async def read_payloads(group: Group, count: int) -> list[bytes]:
    """Read so many messages; return what they say."""
    return [message.payload for message in await read(group, count)]


async def exchange(nodes: Sequence[Node]) -> None:
    """See that each of ``nodes`` still reaches all of them, in both directions."""
    said = {b"from " + node.name.encode() for node in nodes}
    for node in nodes:
        await node.group.cbcast(b"from " + node.name.encode())
    for node in nodes:
        assert set(await read_payloads(node.group, len(nodes))) == said


def rows_of(folder: Path, process: str) -> list[Event]:
    """Return what a process journalled."""
    return [event for event, _, _ in read_rows(folder / "events") if event.process == process]


def verdict_on(folder: Path) -> Verdict:
    """Have a trace judged; fail if anything in it is violated."""
    verdict = judge(read_rows(folder))
    assert not verdict.is_violated, verdict
    return verdict

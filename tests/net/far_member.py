"""A member whose connections go over wires, in a process of its own.

    python far_member.py '{"join": {"me": ..., ...}, "ports": {"7001": 8001, ...}, "pause_s": 0.1}'

It dials the port that ``ports`` gives instead of each that it names, multicasts a number every
``pause_s`` (0: none), and prints every view that it reads as a line of JSON. It does what it reads
on its standard input: ``uniform`` multicasts a uniform message, ``leave`` leaves. It ends when it
has left, when it is excluded, having said so, or when it is killed.
"""

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from antiphon import AntiphonError, Group, Timing, View, join

_create_connection = asyncio.base_events.BaseEventLoop.create_connection


def rewire(ports: dict[str, int]) -> None:
    """Dial other ports from now on."""

    async def create_connection(
        self: Any, make: Any, host: str = "", port: int = 0, **options: Any
    ) -> Any:
        port = ports.get(str(port), port)
        return await _create_connection(self, make, host, port, **options)

    setattr(asyncio.base_events.BaseEventLoop, "create_connection", create_connection)  # noqa: B010


async def live(options: dict[str, Any], pause_s: float, timing: dict[str, int]) -> None:
    """Multicast and read to the end."""
    trace = Path(options.pop("trace")) if "trace" in options else None
    group = join("choir", timing=Timing(**timing), trace=trace, **options)
    async with group:
        tasks = [asyncio.ensure_future(_show(group))]
        if pause_s:
            tasks.append(asyncio.ensure_future(_sing(group, pause_s)))
        tasks.append(asyncio.ensure_future(_obey(group)))
        await asyncio.wait([tasks[0], tasks[-1]], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks[1:]:
            task.cancel()
    await asyncio.wait(tasks)


async def _show(group: Group) -> None:
    try:
        async for event in group:
            if isinstance(event, View):
                said = {"view": event.number, "members": event.members, "primary": event.primary}
                print(json.dumps(said), flush=True)  # noqa: T201
    except AntiphonError as error:
        print(json.dumps({"error": str(error)}), flush=True)  # noqa: T201


async def _obey(group: Group) -> None:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := (await reader.readline()).strip():
        if line == b"leave":
            return
        await group.multicast(b"news", uniform=line == b"uniform")
    await asyncio.Event().wait()  # nobody gives orders any more


async def _sing(group: Group, pause_s: float) -> None:
    number = 0
    with suppress(AntiphonError):
        while True:
            number += 1
            await group.cbcast(b"%d" % number)
            await asyncio.sleep(pause_s)


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    rewire(arguments["ports"])
    asyncio.run(live(arguments["join"], arguments["pause_s"], arguments.get("timing", {})))

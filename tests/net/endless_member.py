"""A member in a process of its own, to be stopped, continued and killed by tests.

    python endless_member.py '{"me": ..., "members": ..., "trace": ..., "count": ...}'

It multicasts its numbers, `count` of them, one every `pause_s`, and reads until it is killed.
"""

import asyncio
import json
import sys
from pathlib import Path

from antiphon import Group, run
from antiphon.net.node import Node


async def live(
    me: str,
    members: dict[str, str],
    trace: str | None = None,
    count: int = 1_000_000,
    pause_s: float = 0.0,
) -> None:
    """Sing, and listen to the end."""
    folder = Path(trace) / "events" if trace is not None else None
    async with Node("choir", me, members, trace=folder).group as group:
        await asyncio.gather(_sing(group, count, pause_s), _listen(group))


async def _sing(group: Group, count: int, pause_s: float) -> None:
    for number in range(1, count + 1):
        await group.cbcast(b"%d" % number)
        await asyncio.sleep(pause_s)


async def _listen(group: Group) -> None:
    async for _ in group:
        pass


if __name__ == "__main__":
    run(live(**json.loads(sys.argv[1])))

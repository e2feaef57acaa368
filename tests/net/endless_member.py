"""A member in a process of its own, to be stopped, continued and killed by tests.

    python endless_member.py '{"join": {"me": ..., ...}, "count": ..., "pause_s": ...}'

It multicasts its numbers, `count` of them, one every `pause_s`, and reads until it is killed, or
excluded: then it prints what it was told, and ends. It leaves when it gets SIGTERM.
"""

import asyncio
import json
import signal
import sys
from contextlib import suppress
from typing import Any

from antiphon import AntiphonError, Group, Timing, join, run


async def live(
    options: dict[str, Any], count: int = 1_000_000, pause_s: float = 0.0, timing: str = ""
) -> None:
    """Sing, and listen to the end."""
    if timing:
        options["timing"] = Timing(**json.loads(timing))
    async with join("choir", **options) as group:
        singing = asyncio.ensure_future(_sing(group, count, pause_s))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, singing.cancel)
        reading = asyncio.ensure_future(_listen(group))
        await asyncio.wait([singing, reading], return_when=asyncio.FIRST_COMPLETED)
        singing.cancel()
    await asyncio.wait([singing, reading])


async def _sing(group: Group, count: int, pause_s: float) -> None:
    with suppress(AntiphonError):
        for number in range(1, count + 1):
            await group.cbcast(b"%d" % number)
            await asyncio.sleep(pause_s)
    await asyncio.Event().wait()


async def _listen(group: Group) -> None:
    try:
        async for _ in group:
            pass
    except AntiphonError as error:
        sys.stdout.write(f"{type(error).__name__}: {error}\n")


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    run(live(arguments.pop("join"), **arguments))

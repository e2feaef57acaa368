"""A member of a group that floods an overlay, in a process of its own.

    python overlay_member.py '{"join": {"me": ..., "members": {...}, ...}, "timing": {...}}'

It does what it reads on its standard input, and answers each line with one line of JSON: ``sing N``
multicasts N messages, one by one; ``look`` says how many messages it has read, who is in its view,
and how many connections it has; ``leave`` leaves. It ends then, when it is excluded, having said
so, or when it is killed.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from antiphon import AntiphonError, Group, Message, Overlay, Timing, join

_read_count = [0]


def say(what: dict[str, Any]) -> None:
    """Answer."""
    print(json.dumps(what), flush=True)  # noqa: T201


async def live(options: dict[str, Any], timing: dict[str, int]) -> None:
    """Do what is asked, to the end."""
    trace = Path(options.pop("trace"))
    group = join("choir", protocol=Overlay(), timing=Timing(**timing), trace=trace, **options)
    async with group:
        say({"entered": str(group.me)})
        reading = asyncio.ensure_future(_read(group))
        asking = asyncio.ensure_future(_obey(group))
        await asyncio.wait([reading, asking], return_when=asyncio.FIRST_COMPLETED)
        asking.cancel()
    await asyncio.wait([reading])


async def _read(group: Group) -> None:
    try:
        async for event in group:
            if isinstance(event, Message):
                _read_count[0] += 1
    except AntiphonError as error:
        say({"error": str(error)})


async def _obey(group: Group) -> None:
    read_line = asyncio.get_running_loop().run_in_executor
    while True:
        asked, _, number = (await read_line(None, sys.stdin.readline)).strip().partition(" ")
        if asked == "sing":
            for place in range(int(number)):
                await group.cbcast(f"{place}".encode())
            say({"sung": int(number)})
        elif asked == "look":
            say({"read": _read_count[0], "members": group.members, "links": _links(group)})
        else:
            return


def _links(group: Group) -> int:
    """Return how many connections with other members there are."""
    peers = group._local.driver.mesh.peers.values()
    return sum(peer.link is not None for peer in peers)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    asyncio.run(live(given["join"], given.get("timing", {})))

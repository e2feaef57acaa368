"""A member whose connections go over wires, in a process of its own.

    python far_member.py '{"join": {"me": ..., ...}, "ports": {"7001": 8001, ...}, "pause_s": 0.1}'

It dials the port that ``ports`` gives instead of each that it names, multicasts a number every
``pause_s``, and prints every view that it reads as a line of JSON. It ends when it is excluded,
having said so, or when it is killed.
"""

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

from antiphon import AntiphonError, Group, View, join

_create_connection = asyncio.base_events.BaseEventLoop.create_connection


def rewire(ports: dict[str, int]) -> None:
    """Dial other ports from now on."""

    async def create_connection(
        self: Any, make: Any, host: str = "", port: int = 0, **options: Any
    ) -> Any:
        port = ports.get(str(port), port)
        return await _create_connection(self, make, host, port, **options)

    setattr(asyncio.base_events.BaseEventLoop, "create_connection", create_connection)  # noqa: B010


async def live(options: dict[str, Any], pause_s: float) -> None:
    """Multicast and read to the end."""
    async with join("choir", **options) as group:
        singing = asyncio.ensure_future(_sing(group, pause_s))
        try:
            async for event in group:
                if isinstance(event, View):
                    said = {"view": event.number, "members": event.members}
                    print(json.dumps(said | {"primary": event.primary}), flush=True)  # noqa: T201
        except AntiphonError as error:
            print(json.dumps({"error": str(error)}), flush=True)  # noqa: T201
        singing.cancel()


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
    asyncio.run(live(arguments["join"], arguments["pause_s"]))

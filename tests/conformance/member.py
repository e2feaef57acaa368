"""One member of the conversation, as a process of its own.

python member.py '{"me": ..., "members": ..., "folder": ..., "delay_s_max": ..., "plant": ...}'
"""

import json
import sys
from pathlib import Path

from tests.conformance.planted import plant
from tests.conformance.singer import sing

from antiphon import run
from antiphon.net.node import Node


async def live(me: str, members: dict[str, str], folder: str, delay_s_max: float) -> None:
    """Join, sing, and stop."""
    trace = Path(folder) / "events"
    async with Node("g", me, members, trace=trace, delay_s_max=delay_s_max).group as group:
        await sing(group)


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    if arguments.pop("plant"):
        plant()
    run(live(**arguments))

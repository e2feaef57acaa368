"""One member of the conversation, as a process of its own.

python member.py '{"me": ..., "members": ..., "folder": ..., "delay_s_max": ..., "plant": ...}'
"""

import json
import sys

from tests.conformance.planted import plant
from tests.conformance.singer import sing

from antiphon import run
from antiphon.net.process.joining import make_node


async def live(me: str, members: dict[str, str], folder: str, delay_s_max: float) -> None:
    """Join, sing, and stop."""
    node = make_node("g", me, members=members, trace=folder, delay_s_max=delay_s_max)
    async with node.group as group:
        await sing(group)


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    if arguments.pop("plant"):
        plant()
    run(live(**arguments))

"""A member on a machine of its own, as far as the network goes: says where it is, then multicasts.

``python multicast_member.py RANK HOST GROUP INTERFACE``: prints its port, reads the places of all
members, sends one item to everybody, and prints what it has heard when that is all, or time is up.
"""

import asyncio
import json
import sys

from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.datagrams.settings import DatagramSettings
from antiphon.net.transport.address import Address, parse_address
from antiphon.net.transport.environment import SYSTEM
from antiphon.net.transport.interface import MulticastPlace

PORT = 27_099
SECRET = bytes(32)


class Listener:
    """Notes who was heard."""

    def __init__(self) -> None:
        """Have heard nobody."""
        self.heard: set[int] = set()

    def on_items(self, _number: int, sender: int, _items: list[bytes]) -> None:
        """Note the sender."""
        self.heard.add(sender)

    def on_read(self) -> None:
        """Nothing more to do."""

    def on_room(self) -> None:
        """Nothing waits."""


def say(what: object) -> None:
    """Print a line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def main(rank: int, host: str, group: str, interface: str) -> None:
    """Be a member."""
    multicast = MulticastPlace(address=Address(group, PORT), interface=interface)
    settings = DatagramSettings(multicast=multicast)
    port = await DatagramPort.open(Address(host, 0), SYSTEM, settings)
    listener = Listener()
    channel = port.channel(1, listener)
    say(str(port.address))
    loop = asyncio.get_running_loop()
    places = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    channel.learn(1, SECRET, rank, [parse_address(place) for place in places])
    channel.enter(1)
    for _ in range(100):  # a membership of a group takes effect in a while
        channel.send([b"here"])
        await asyncio.sleep(0.02)
        if len(listener.heard) == len(places) - 1 and channel.counts.own:
            break
    say({"heard": sorted(listener.heard), "own": channel.counts.own > 0})
    await loop.run_in_executor(None, sys.stdin.readline)
    port.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), *sys.argv[2:]))

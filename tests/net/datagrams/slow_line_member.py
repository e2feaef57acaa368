"""Two members on machines of their own: the first sends, as fast as its line lets it.

``python slow_line_member.py RANK HOST COUNT``: prints its place, reads the places of both; the
first sends so many items of 1,000 bytes and says what its queue had at most; the other says how
many came.
"""

import asyncio
import json
import sys

from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.datagrams.settings import DatagramSettings
from antiphon.net.transport.address import Address, parse_address
from antiphon.net.transport.environment import SYSTEM

SETTINGS = DatagramSettings(buffer_bytes=50_000, queue_bytes=50_000)


class Member:
    """Counts what comes, and wakes who waits."""

    def __init__(self) -> None:
        """Have heard nothing."""
        self.count = 0
        self.wanted = 1 << 30
        self.is_ready = asyncio.Event()

    def on_items(self, _number: int, _sender: int, items: list[bytes]) -> None:
        """Count them."""
        self.count += len(items)
        if self.count == self.wanted:
            self.is_ready.set()

    def on_read(self) -> None:
        """Nothing more to do."""

    def on_room(self) -> None:
        """The line takes more."""
        self.is_ready.set()


def say(what: object) -> None:
    """Print a line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def main(rank: int, host: str, count: int) -> None:
    """Be a member."""
    port = await DatagramPort.open(Address(host, 0), SYSTEM, SETTINGS)
    member = Member()
    channel = port.channel(1, member)
    say(str(port.address))
    loop = asyncio.get_running_loop()
    places = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    channel.learn(1, bytes(32), rank, [parse_address(place) for place in places])
    channel.enter(1)
    if rank:
        member.wanted = count
        await asyncio.wait_for(member.is_ready.wait(), 20)
        say({"came": member.count, "dropped": channel.counts.dropped})
    else:
        most = 0
        for _ in range(count):
            channel.send([bytes(1_000)])
            channel.finish()
            most = max(most, port.queue_bytes)
            if not channel.has_room:
                member.is_ready.clear()
                await member.is_ready.wait()
        say({"most": most, "lost": channel.counts.overflow + port.counts.refused})
    await loop.run_in_executor(None, sys.stdin.readline)
    port.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))

"""What the tests of ports stand on: members on loopback that note what comes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.datagrams.settings import DatagramSettings
from antiphon.net.transport.address import Address
from antiphon.net.transport.environment import SYSTEM

DOMAIN = 0xABCD
SECRET = bytes(range(32))


class Heard:
    """A member: its port and channel, and what it has heard."""

    def __init__(self, port: DatagramPort) -> None:
        """Be in no view."""
        self.port = port
        self.items: list[tuple[int, int, bytes]] = []
        """View, sender, item."""
        self.reads = 0
        self.rooms = 0
        self.has_room = asyncio.Event()
        self.channel = port.channel(DOMAIN, self)

    def on_items(self, number: int, sender: int, items: list[bytes]) -> None:
        """Note them."""
        self.items += [(number, sender, item) for item in items]

    def on_read(self) -> None:
        """Count it."""
        self.reads += 1

    def on_room(self) -> None:
        """Count it, and wake who waits."""
        self.rooms += 1
        self.has_room.set()

    def said_by(self, sender: int) -> list[bytes]:
        """Return what a member has said, in the order of arrival."""
        return [item for _, who, item in self.items if who == sender]


@asynccontextmanager
async def members(
    count: int, settings: DatagramSettings | None = None, *, host: str = "127.0.0.1"
) -> AsyncIterator[list[Heard]]:
    """Open so many members, all in view 1; close them at the end."""
    # A seed is a world: a clock of the system's is fine, keys are given.
    environment = replace(SYSTEM)
    opened = [
        await DatagramPort.open(Address(host, 0), environment, settings) for _ in range(count)
    ]
    try:
        heard = [Heard(port) for port in opened]
        enter(heard, 1)
        yield heard
    finally:
        for port in opened:
            port.close()


def enter(heard: list[Heard], number: int, secret: bytes = SECRET) -> None:
    """Let all enter a view, by rank."""
    places = [member.port.address for member in heard]
    for rank, member in enumerate(heard):
        member.channel.learn(number, secret, rank, places)
        member.channel.enter(number)

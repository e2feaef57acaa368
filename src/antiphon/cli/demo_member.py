"""One of the demo's processes, started with its configuration as the only argument.

Multicasts its share of messages, answers some of what it hears, and stops when it has delivered
everything. Tells its parent how it stands, one line of JSON at a time.
"""

import asyncio
import sys
from pathlib import Path
from random import Random

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.net.group import Group
from antiphon.net.joining import run
from antiphon.net.node import Node

REPORT_S = 0.1


class Config(msgspec.Struct, frozen=True):
    """What a member is told."""

    me: str
    members: dict[str, str]
    message_count: int
    """Messages that each member multicasts."""
    seconds: float
    """About how long that should take."""
    delay_s_max: float
    """Slowness of the links."""
    events: str
    seed: int


class Standing(msgspec.Struct, frozen=True):
    """How a member stands."""

    me: str
    multicast: int = 0
    answers: int = 0
    delivered: int = 0
    held_now: int = 0
    held_in_all: int = 0
    lost: tuple[str, ...] = ()
    error: str = ""


class Singer:
    """The application of one member: calls, and answers to the calls of others."""

    def __init__(self, config: Config, node: Node) -> None:
        """Prepare to sing."""
        self._config = config
        self._node = node
        self._group: Group = node.group
        self._random = Random(f"{config.seed}/{config.me}")
        self._left = config.message_count
        self._answers = 0
        self._delivered = 0

    async def sing(self) -> None:
        """Do everything; return when all messages of all members have been delivered."""
        caller = asyncio.ensure_future(self._call())
        reporter = asyncio.ensure_future(self._report())
        total = self._config.message_count * len(self._config.members)
        async for message in self._group:
            self._delivered += 1
            if message.payload.startswith(b"call"):
                await self._answer(message.sender)
            if self._delivered == total:
                break
        await caller
        reporter.cancel()
        self.tell()

    async def _call(self) -> None:
        """Start a burst now and then, until this member's share has been said."""
        pause_s = self._config.seconds / max(1, self._config.message_count) * 12
        while self._left:
            count = min(1 + self._random.randrange(8), self._left)
            self._left -= count
            await self._group.cbcast_many([b"call %d" % self._left] * count)
            await asyncio.sleep(pause_s * self._random.random())

    async def _answer(self, sender: str) -> None:
        if self._left and sender != self._group.me and self._random.random() < 0.1:
            self._left -= 1
            self._answers += 1
            await self._group.cbcast(b"response to " + sender.encode())

    async def _report(self) -> None:
        while True:
            self.tell()
            await asyncio.sleep(REPORT_S)

    def tell(self) -> None:
        """Say how this member stands."""
        node, config = self._node, self._config
        said = config.message_count - self._left
        _say(
            Standing(
                config.me, said, self._answers, self._delivered,
                node.held_runs, node.held_count, tuple(node.lost),
            )
        )  # fmt: skip


def _say(standing: Standing) -> None:
    sys.stdout.write(msgspec.json.encode(standing).decode() + "\n")
    sys.stdout.flush()


async def _main(config: Config) -> None:
    node = Node(
        "choir",
        config.me,
        config.members,
        trace=Path(config.events),
        delay_s_max=config.delay_s_max,
        connect_s=30.0,
        drain_s=30.0,
    )
    async with node.group:
        await Singer(config, node).sing()


def main() -> None:
    """Be a member of the demo."""
    config = msgspec.json.decode(sys.argv[1], type=Config)
    try:
        run(_main(config))
    except AntiphonError as error:
        _say(Standing(config.me, error=str(error)))
        sys.exit(2)

"""One of the demo's processes, started with its configuration as the only argument.

Multicasts its share of messages, answers some of what it hears, and leaves when everybody who is
still in the view has said that it is done. Tells its parent how it stands, one line of JSON at a
time.
"""

import asyncio
import logging
import sys
import time
from random import Random

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.core.runs import Order
from antiphon.net.group.group import Group
from antiphon.net.process.joining import make_node, run
from antiphon.net.process.node import Node
from antiphon.net.stream.events import Message, View

REPORT_S = 0.1

_DONE = b"done"

_TOTAL = 0.15
_UNIFORM = 0.1
"""How many calls ask for total order, and how many for uniform delivery."""


class DemoMember(msgspec.Struct, frozen=True):
    """What a member is told."""

    me: str
    members: dict[str, str]
    message_count: int
    """Messages that each member multicasts."""
    seconds: float
    """About how long that should take."""
    delay_s_max: float
    """Slowness of the links."""
    run: str
    """The run folder."""
    seed: int


class DemoStanding(msgspec.Struct, frozen=True):
    """How a member stands."""

    me: str
    multicast: int = 0
    answers: int = 0
    delivered: int = 0
    held_now: int = 0
    held_in_all: int = 0
    view: int = 0
    members: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Whom the current view left out as failed."""
    view_ns: int = 0
    """When it began, by the machine's monotonic clock, which all processes share."""
    error: str = ""
    rooms: dict[str, tuple[int, int]] = {}
    """In the scene of two rooms: the view of each, and how many are in it."""
    early: int = 0
    """Answers that were read before what they answer."""


class Singer:
    """The application of one member: calls, and answers to the calls of others."""

    def __init__(self, config: DemoMember, node: Node) -> None:
        """Prepare to sing."""
        self._config = config
        self._node = node
        self._group: Group = node.group
        self._random = Random(f"{config.seed}/{config.me}")
        self._left = config.message_count
        self._answers = 0
        self._delivered = 0
        self._done: dict[str, None] = {}
        self._view = View(0, ())
        self._view_ns = 0

    async def sing(self) -> None:
        """Do everything; return when all that are still there have said all they had to say."""
        caller = asyncio.ensure_future(self._call())
        reporter = asyncio.ensure_future(self._report())
        async for event in self._group:
            if isinstance(event, View):
                self._view, self._view_ns = event, time.monotonic_ns()
                self.tell()
            elif not isinstance(event, Message):
                continue
            elif event.payload == _DONE:
                self._done[event.sender] = None
            else:
                self._delivered += 1
                if event.payload.startswith(b"call"):
                    await self._answer(event.sender)
            if all(member in self._done for member in self._view.members):
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
            payloads = [b"call %d" % self._left] * count
            order = Order.TOTAL if self._random.random() < _TOTAL else Order.CAUSAL
            uniform = self._random.random() < _UNIFORM
            await self._group.multicast_many(payloads, order, uniform=uniform)
            await asyncio.sleep(pause_s * self._random.random())
        await self._group.cbcast(_DONE)

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
        local, config = self._node.local_group, self._config
        said = config.message_count - self._left
        say_standing(
            DemoStanding(
                config.me, said, self._answers, self._delivered,
                local.held_runs, local.held_count, self._view.number, self._view.members,
                self._view.failed, self._view_ns,
            )
        )  # fmt: skip


def say_standing(standing: DemoStanding) -> None:
    """Tell the parent how this process stands."""
    sys.stdout.write(msgspec.json.encode(standing).decode() + "\n")
    sys.stdout.flush()


async def _main(config: DemoMember) -> None:
    node = make_node(
        "choir",
        config.me,
        members=config.members,
        trace=config.run,
        delay_s_max=config.delay_s_max,
        connect_s=30.0,
        drain_s=30.0,
    )
    async with node.group:
        await Singer(config, node).sing()


def main() -> None:
    """Be a member of the demo."""
    logging.getLogger("antiphon").setLevel(logging.ERROR)  # the parent tells who is missing
    config = msgspec.json.decode(sys.argv[1], type=DemoMember)
    try:
        run(_main(config))
    except AntiphonError as error:
        say_standing(DemoStanding(config.me, error=str(error)))
        sys.exit(2)

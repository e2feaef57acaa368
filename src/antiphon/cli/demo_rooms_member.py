"""One process of the demo's second scene: in one room or in two, which are one causality domain.

Multicasts its share of messages, in its rooms by turns, and answers some of what it hears in
another of its rooms, so that causality passes from room to room. It reads all rooms in one stream,
and looks for itself whether an answer ever comes before what it answers. Tells its parent how it
stands, one line of JSON at a time.
"""

import asyncio
import logging
import sys
import time
from contextlib import AsyncExitStack
from random import Random

import msgspec

from antiphon.cli.demo_member import REPORT_S, DemoStanding, say_standing
from antiphon.core.errors import AntiphonError
from antiphon.core.runs import Order
from antiphon.membership.failure_detector import Timing
from antiphon.net.group.group import Group
from antiphon.net.process.joining import run
from antiphon.net.process.local_process import LocalProcess
from antiphon.net.process.process import Process
from antiphon.net.stream.events import Message, View
from antiphon.net.transport.address import parse_address
from antiphon.net.transport.environment import current_environment

_DONE, _CALL, _ANSWER = b"done", b"call", b"answer"
_ANSWERS, _TOTAL = 0.15, 0.1
"""How many calls are answered by each who hears them, and how many ask for total order."""


class RoomsMember(msgspec.Struct, frozen=True):
    """What a process is told."""

    me: str
    at: str
    rooms: dict[str, list[str]]
    """Its rooms, each with the addresses of all who are to be in it."""
    domain: str
    message_count: int
    """Messages that it multicasts, in all its rooms."""
    seconds: float
    """About how long that should take."""
    delay_s_max: float
    """Slowness of the links."""
    run: str
    """The folder in which the domain's run folder is."""
    seed: int


class SlowProcess(Process):
    """A process on slow links: so answers overtake questions, and are held back."""

    def __init__(self, config: RoomsMember) -> None:
        """Describe it; nothing happens before it is entered."""
        super().__init__(config.me, at=config.at, trace=config.run)
        self._local = LocalProcess(
            config.me, parse_address(config.at), None, timing=Timing(),
            environment=current_environment(), delay_s_max=config.delay_s_max,
        )  # fmt: skip

    @property
    def held(self) -> tuple[int, int]:
        """Runs that are held back, of all rooms; messages that ever were."""
        groups = [node.local_group for node in self._nodes.values()]
        return (groups[0].held_runs, groups[0].held_count) if groups else (0, 0)


class Visitor:
    """The application of one process."""

    def __init__(self, config: RoomsMember, process: SlowProcess) -> None:
        """Prepare to talk."""
        self._config, self._process = config, process
        self._rooms: dict[str, Group] = {}
        self._random = Random(f"{config.seed}/{config.me}")
        self._left = config.message_count
        self._crossed = self._delivered = self._early = self._calls = 0
        self._heard: set[bytes] = set()
        self._done: dict[str, set[str]] = {name: set() for name in config.rooms}
        self._views: dict[str, View] = {}
        self._failed: dict[str, None] = {}
        self._failed_ns = 0

    async def talk(self) -> None:
        """Do everything; return when all that are still there have said all they had to say."""
        async with AsyncExitStack() as stack:
            for name, places in self._config.rooms.items():
                room = self._process.join(
                    name, seeds=places, found=True, domain=self._config.domain, connect_s=30.0,
                    drain_s=30.0,
                )  # fmt: skip
                self._rooms[name] = await stack.enter_async_context(room)
            caller = asyncio.ensure_future(self._call())
            reporter = asyncio.ensure_future(self._report())
            async for event in self._process:
                if isinstance(event, View):
                    self._views[event.group] = event
                    if event.failed:  # others leave at the end
                        self._failed |= dict.fromkeys(event.failed)
                        self._failed_ns = time.monotonic_ns()
                    self.tell()
                elif isinstance(event, Message):
                    await self._hear(event)
                if self._is_over():
                    break
            await caller
            reporter.cancel()
            self.tell()

    def _is_over(self) -> bool:
        return len(self._views) == len(self._done) and all(
            member in self._done[name]
            for name, view in self._views.items()
            for member in view.members
        )

    async def _hear(self, message: Message) -> None:
        kind, _, about = message.payload.partition(b" ")
        if kind == _DONE:
            self._done[message.group].add(message.sender)
            return
        self._delivered += 1
        if kind == _CALL:
            self._heard.add(about)
            if message.sender != self._config.me and self._random.random() < _ANSWERS:
                await self._answer(message.group, about)
        elif about.partition(b"/")[0].decode() in self._rooms and about not in self._heard:
            self._early += 1

    async def _answer(self, heard_in: str, about: bytes) -> None:
        """Answer, in another room if there is one."""
        if self._left:
            self._left -= 1
            others = [name for name in self._rooms if name != heard_in] or [heard_in]
            self._crossed += others[0] != heard_in
            await self._rooms[self._random.choice(others)].cbcast(_ANSWER + b" " + about)

    async def _call(self) -> None:
        """Start a burst now and then, until this process's share has been said."""
        pause_s = self._config.seconds / max(1, self._config.message_count) * 8
        while self._left:
            name = self._random.choice(list(self._rooms))
            count = min(1 + self._random.randrange(6), self._left)
            self._left -= count
            payloads = []
            for _ in range(count):
                self._calls += 1
                payloads.append(_CALL + f" {name}/{self._config.me}/{self._calls}".encode())
            order = Order.TOTAL if self._random.random() < _TOTAL else Order.CAUSAL
            await self._rooms[name].multicast_many(payloads, order)
            await asyncio.sleep(pause_s * self._random.random())
        for room in self._rooms.values():
            await room.cbcast(_DONE)

    async def _report(self) -> None:
        while True:
            self.tell()
            await asyncio.sleep(REPORT_S)

    def tell(self) -> None:
        """Say how this process stands."""
        held_now, held_in_all = self._process.held
        say_standing(
            DemoStanding(
                self._config.me,
                self._config.message_count - self._left,
                self._crossed,
                self._delivered,
                held_now,
                held_in_all,
                failed=tuple(sorted(self._failed)),
                view_ns=self._failed_ns,
                rooms={
                    name: (view.number, len(view.members)) for name, view in self._views.items()
                },
                early=self._early,
            )
        )


async def _main(config: RoomsMember) -> None:
    async with SlowProcess(config) as process:
        await Visitor(config, process).talk()


def main() -> None:
    """Be a process of the scene."""
    logging.getLogger("antiphon").setLevel(logging.ERROR)  # the parent tells who is missing
    config = msgspec.json.decode(sys.argv[1], type=RoomsMember)
    try:
        run(_main(config))
    except AntiphonError as error:
        say_standing(DemoStanding(config.me, error=str(error)))
        sys.exit(2)

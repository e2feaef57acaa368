"""Founding a group by a list of places: on the network, what ``membership.bootstrap`` says.

Law: a process that founds answers the questions of others from the moment it listens until it
leaves, and asks its own by short connections (``asking``): nothing is left open, and nothing but
the votes decides. What is awaited is logged, after a second and then seldom.
"""

import asyncio
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from antiphon.core.control import FoundingAnswer, Standing, encode_message
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.frames import encode_hello
from antiphon.core.ids import ProcessId
from antiphon.membership.bootstrap import AskPlace, Founding
from antiphon.net.asking import ask
from antiphon.net.driver import Driver
from antiphon.net.peer import now_us

if TYPE_CHECKING:
    from antiphon.net.node import Node

LOOK_S = 0.05
"""How often founders look at the clock, whatever happens."""

_ASK_S = 5.0
"""How long a place may take to answer; it is not asked again before."""

_TELL_S = 10.0
"""How often it is logged who is awaited."""

_log = logging.getLogger("antiphon")


def draw() -> int:
    """Draw the number of a start, which no other start ever has."""
    # From the operating system, and from no seed: two starts must differ, not repeat.
    return int.from_bytes(os.urandom(8)) >> 2 or 1  # noqa: TID251 - see above


def dice() -> float:
    """Return a number from 0 to below 1, to spread what would happen in step."""
    return draw() % 1024 / 1024


async def until_changed(node: "Node", wait_s: float) -> None:
    """Wait until something has happened, but not for long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(wait_s):
            await node.until_changed()


class Waiting:
    """Logs who is awaited."""

    def __init__(self, me: str, group: str) -> None:
        """Say nothing for a second."""
        self._me = me
        self._group = group
        self._due_us = now_us() + 1_000_000

    def tell(self, who: str) -> None:
        """Log who is awaited, if anybody is and it is time to."""
        if who and now_us() >= self._due_us:
            self._due_us = now_us() + int(_TELL_S * 1e6)
            _log.warning("%s waits to found group %s: %s", self._me, self._group, who)


class FoundingByPlaces:
    """One attempt to found a group with more than half of a list of places."""

    def __init__(self, node: "Node", places: tuple[str, ...], connect_s: float) -> None:
        """Prepare for a node that listens."""
        config = node.config
        self._node = node
        self._connect_s = connect_s
        self._group = config.group
        self._start = draw()
        self._me = ProcessId(config.me, 1, self._start, str(node.address))
        self._machine = Founding(config.group, self._me, places, config.settings.timing, now_us())
        self._waiting = Waiting(config.me, config.group)
        self._refusal = ""
        self._asking: dict[asyncio.Task[None], None] = {}

    async def found(self) -> bool:
        """Found the group, and begin in its first view; False if it runs, or runs without us."""
        node, machine = self._node, self._machine
        life = node.begin_life(self._me, self._start, founding=None)  # it answers, and waits
        node.founding = machine
        try:
            async with asyncio.timeout(self._connect_s):
                await self._agree(life)
        except TimeoutError:
            raise UsageError(self._say_unfounded()) from None
        finally:
            asking, self._asking = list(self._asking), {}
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        view = machine.view
        await node.end_life("the group is founded" if view is not None else "the group is running")
        if view is None or self._me not in view.members:
            return False
        node.begin_life(self._me, self._start, founding=view).begin()
        return True

    async def _agree(self, life: Driver) -> None:
        """Do what the machine says until the group is founded, or found to run."""
        machine = self._machine
        while machine.view is None and not machine.is_running:
            for asked in machine.look(now_us(), dice()):
                task = asyncio.ensure_future(self._ask(life, asked))
                self._asking[task] = None
                task.add_done_callback(lambda done: self._asking.pop(done, None))
            if machine.given_others:
                self._refusal = f"{machine.given_others} was given other seeds: give all the same"
            if self._refusal:
                raise UsageError(self._refusal)
            self._waiting.tell(self._say_missing())
            wait_s = max(machine.is_due_us - now_us(), 1_000) / 1e6
            await until_changed(self._node, min(wait_s, LOOK_S))

    async def _ask(self, life: Driver, asked: AskPlace) -> None:
        place, machine = asked.place, self._machine
        greeting = life.greeting(life.process, is_asking=True)
        greeting = replace(greeting, question=encode_message(asked.question))
        try:
            answer = await ask(place, encode_hello(life.domain, greeting), _ASK_S)
        except (OSError, PeerError):
            machine.miss(place, now_us(), dice())
        else:
            if answer.domain != life.domain:
                self._refusal = f"{place}: {life.identity.difference(answer.greeting)}"
            elif isinstance(answer.said, FoundingAnswer):
                machine.hear(place, answer.said, now_us(), dice())
            elif isinstance(answer.said, Standing):
                machine.meet(place, now_us(), dice())
            else:  # it is on its way in, or founds by a list of members
                machine.miss(place, now_us(), dice())
        self._node.changed.set()

    def _say_missing(self) -> str:
        missing, size = self._machine.missing, len(self._machine.places)
        there = f"{size - len(missing)} of {size} places are there"
        return f"{there}, and nobody answers at {', '.join(missing)}" if missing else ""

    def _say_unfounded(self) -> str:
        said = self._say_missing() or "they could not agree on it in time: try again"
        return (
            f"after {self._connect_s:g} s group {self._group} does not run, and is not founded: "
            f"{said}; more than half of the seeds are needed"
        )

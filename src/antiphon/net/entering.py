"""Entering a group: founding it with others, alone, or joining it.

Law: whoever has entered is in a view. Founding members wait until all of them are connected; if
one of them finds that the group is running without it, it joins, as a new life of its name.
A joiner asks a seed for the number of its life, then a member to be taken in, and asks again until
it is, or is refused for good. What keeps somebody out is said in one sentence.
"""

import asyncio
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from antiphon.core.errors import PeerError, StateError, UsageError
from antiphon.core.frames import encode_hello
from antiphon.core.greeting import Greeting
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.net.asking import Answer, ask
from antiphon.net.door import GIVEN_OTHERS
from antiphon.net.life import Life
from antiphon.net.peer import Peer

if TYPE_CHECKING:
    from antiphon.net.node import Node

_ASK_S = 2.0
"""How long a seed may take to answer."""

_ASK_AGAIN_S = 0.2

STATE_S = 30.0
"""How long a joiner waits for the next piece of the state."""

_COME_BACK_S = 0.5
"""Between two attempts to come back."""

_log = logging.getLogger("antiphon")


def draw() -> int:
    """Draw the number of a start, which no other start ever has."""
    # From the operating system, and from no seed: two starts must differ, not repeat.
    return int.from_bytes(os.urandom(8)) >> 2 or 1  # noqa: TID251 - see above


class Entrance:
    """One attempt to enter."""

    def __init__(self, node: "Node", connect_s: float) -> None:
        """Prepare for a node whose door is open."""
        self._node = node
        self._config = node.config
        self._connect_s = connect_s
        self._refusal: str | None = None
        self._is_running_without_us = False
        self.is_refused = False
        """Whether there is no use in trying again."""

    async def found(self, view: View) -> None:
        """Found the group with the other members of ``view``, or join it if it is running."""
        me = next(member for member in view.members if member.name == self._config.me)
        life = self._node.begin_life(me, draw(), founding=view)
        life.open()
        try:
            async with asyncio.timeout(self._connect_s):
                await self._node.until(lambda: self._is_settled(life))
        except TimeoutError:
            raise UsageError(self._say_missing(life)) from None
        if self._refusal is not None:
            raise UsageError(self._refusal)
        if self._is_running_without_us:
            await self._node.end_life("the group is running: joins it as a new life")
            others = [member.address for member in view.members if member != me]
            await self.join(others)
        elif life.member is None:
            life.begin()

    async def found_alone(self) -> None:
        """Found a group of one."""
        start = draw()
        me = ProcessId(self._config.me, 1, start, str(self._node.address))
        view = View(GroupName(self._config.group), ViewNumber(1), (me,))
        self._node.begin_life(me, start, founding=view).begin()

    def _is_settled(self, life: Life) -> bool:
        if life.is_over:
            self._refusal, _ = self._node.ending
        return self._refusal is not None or self._is_running_without_us or not self._missing(life)

    @staticmethod
    def _missing(life: Life) -> list[Peer]:
        return [
            peer
            for peer in life.mesh.peers.values()
            if peer.link is None
            and not (peer.has_left or peer.is_condemned or peer.leaves_at is not None)
        ]

    def _say_missing(self, life: Life) -> str:
        said = []
        for peer in self._missing(life):
            name, address = peer.process.name, peer.process.address
            if peer.why:
                said.append(f"{name} at {address} is something else: {peer.why}")
            elif peer.is_senior:
                said.append(f"{name} does not answer at {address}")
            else:
                said.append(f"{name} has not connected to {life.process.address}")
        advice = "is every member running?"
        if (turned_away := self._node.turned_away) is not None:
            advice = f"somebody was turned away because {turned_away}"
        return f"after {self._connect_s:g} s {', '.join(said)}: {advice}"

    def on_answer(self, life: Life, peer: Peer, answer: Answer) -> bool:
        """Look at what was found where a founding member should be; False: not that."""
        greeting = answer.greeting
        problem: str | None = None
        if answer.domain != life.domain:
            problem = life.identity.difference(greeting)
        elif greeting.process.name != peer.process.name:
            name = greeting.process.name
            problem = f"{name} is at the other end of this connection: correct the addresses"
        elif greeting.founding not in {0, life.founding}:
            problem = GIVEN_OTHERS
        elif greeting.founding:
            return True  # it waits too, be it for an earlier start of this process
        elif greeting.process != peer.process:
            self._is_running_without_us = self._is_running_without_us or greeting.view > 0
        elif greeting.knows_other or (greeting.view > 1 and not greeting.to):
            self._is_running_without_us = True
        else:
            return True
        if problem is not None:
            self._refusal = f"{peer.process.name} at {peer.process.address}: {problem}"
        self._node.changed.set()
        return False

    # Joining.

    async def join(self, seeds: list[str]) -> None:
        """Join through any of ``seeds``."""
        number = 0
        try:
            async with asyncio.timeout(self._connect_s):
                while number >= 0:
                    answer = await self._find_member(seeds)
                    number = await self._ask_in(answer, max(number, answer.next_life))
        except TimeoutError:
            raise UsageError(self._say_unanswered(seeds)) from None

    def _say_unanswered(self, seeds: list[str]) -> str:
        if self._refusal is not None:
            return f"after {self._connect_s:g} s {self._refusal}"
        said = " or ".join(seeds)
        return (
            f"after {self._connect_s:g} s no member answers at {said}: "
            "give the address of a running member"
        )

    async def _find_member(self, seeds: list[str]) -> Greeting:
        """Ask the seeds, again and again, until one of them answers that it is a member."""
        while True:
            for answer in await asyncio.gather(*map(self._ask, seeds)):
                if answer is not None and answer.view > 0 and not answer.founding:
                    return answer
            await asyncio.sleep(_ASK_AGAIN_S)

    async def _ask(self, seed: str) -> Greeting | None:
        node, config = self._node, self._config
        me = ProcessId(config.me, 0, 0, str(node.address))
        asker = node.identity(me, draw(), None)
        hello = encode_hello(asker.domain, asker.greeting(me, None, is_asking=True))
        try:
            answer = await ask(seed, hello, _ASK_S)
        except OSError:
            return None
        except PeerError as error:
            message = f"{seed} is no member of group {config.group}: {error}"
            raise UsageError(message) from None
        if answer.domain != asker.domain:
            message = f"{seed}: {asker.difference(answer.greeting)}"
            raise UsageError(message)
        return answer.greeting

    async def _ask_in(self, answer: Greeting, number: int) -> int:
        """Ask a member to be taken in; return -1 when it is done, else the number to try with."""
        node = self._node
        start = draw()
        me = ProcessId(self._config.me, number, start, str(node.address))
        life = node.begin_life(me, start, founding=None)
        life.begin()
        contact = answer.process
        peer = life.mesh.add(contact, is_senior=True)
        self._refusal = f"{contact} at {contact.address} has not taken this process in: try again"
        while not life.is_over:
            if node.view is not None and str(me) in node.view.members:
                return -1
            if peer.is_condemned:
                break
            if peer.link is not None and life.view_number == 0:
                life.ask_to_join(contact)
            with suppress(TimeoutError):
                async with asyncio.timeout(_ASK_AGAIN_S):
                    await node.until_changed()
        why, next_life = node.ending
        await node.end_life(why or "its contact was lost")
        if life.is_over and not next_life and why:
            self.is_refused = True
            message = f"{self._config.me} is not taken in: {why}"
            raise UsageError(message)
        return max(number, next_life)


async def come_back(node: "Node", seeds: list[str]) -> None:
    """Join again, as a new life, however long it takes; unless it is refused."""
    while True:
        entrance = Entrance(node, node.config.connect_s)
        try:
            await entrance.join(seeds)
        except UsageError as error:
            if entrance.is_refused:
                raise
            _log.warning("%s cannot come back yet: %s", node.config.me, error)
            await asyncio.sleep(_COME_BACK_S)
        else:
            return


async def wait_for_state(node: "Node") -> None:
    """Wait until a joiner has loaded the state; as long as it takes, if pieces come."""
    while (before := node.awaited_pieces) is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(STATE_S):
                await node.until(lambda: node.awaited_pieces is None)
        if node.awaited_pieces == before:
            message = (
                f"no state has come for {STATE_S:g} s: does the application of the most "
                "senior member read its group?"
            )
            raise StateError(message)
    node.raise_error()

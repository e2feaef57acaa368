"""Entering a group: founding it with others, alone, or joining it.

Law: whoever has entered is in a view. Founding members wait until all of them are connected; if
one of them finds that the group is running without it, it joins, as a new life of its name.
A joiner does what its search says (``membership.entrance``): it asks those it knows, then a member
to be taken in, until it is, or is refused for good. What keeps somebody out is said in a sentence.
"""

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from antiphon.core.control import Out, Standing
from antiphon.core.errors import (
    AntiphonError,
    ExcludedError,
    PeerError,
    StateError,
    UsageError,
)
from antiphon.core.frames import encode_hello
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.membership.entrance import Found, GiveUp, Inquire, Knock, Search
from antiphon.net.driver.driver import Driver
from antiphon.net.session.identity import Identity
from antiphon.net.session.listener import GIVEN_OTHERS
from antiphon.net.session.peer import Peer, PeerLink
from antiphon.net.session.probe import Answer, HungUpError, probe

if TYPE_CHECKING:
    from antiphon.net.process.node import Node

ASK_S = 5.0
"""How long a place may take to answer; it may be asked again before."""

STATE_S = 30.0
"""How long a joiner waits for the next piece of the state."""

_log = logging.getLogger("antiphon")


class Entrance:
    """One attempt to enter."""

    def __init__(self, node: "Node", connect_s: float) -> None:
        """Prepare for a node whose door is open."""
        self._node = node
        self._config = node.config
        self._transport = node.config.environment.transport
        self._now_us = node.config.environment.now_us
        self._draw_start = node.config.environment.draw_start
        self._draw_fraction = node.config.environment.draw_fraction
        self._connect_s = connect_s
        self._refusal: str | None = None
        self._is_running_without_us = False
        self._search: Search | None = None
        self._life: Driver | None = None  # the one that knocks
        self._knocked: PeerLink | None = None
        self._asking: dict[asyncio.Task[None], None] = {}

    async def found(self, view: View) -> None:
        """Found the group with the other members of ``view``, or join it if it is running."""
        me = next(member for member in view.members if member.name == self._config.me)
        life = self._node.begin_life(me, self._draw_start(), founding=view)
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
        elif life.endpoint is None:
            life.begin()

    async def found_alone(self) -> None:
        """Found a group of one."""
        start = self._draw_start()
        me = ProcessId(self._config.me, 1, start, str(self._node.address))
        view = View(GroupName(self._config.group), ViewNumber(1), (me,))
        self._node.begin_life(me, start, founding=view).begin()

    def _is_settled(self, life: Driver) -> bool:
        if life.is_over:
            self._refusal = self._node.ending.why
        return self._refusal is not None or self._is_running_without_us or not self._missing(life)

    @staticmethod
    def _missing(life: Driver) -> list[Peer]:
        return [
            peer
            for peer in life.mesh.peers.values()
            if peer.link is None
            and not (peer.has_left or peer.is_condemned or peer.leaves_at is not None)
        ]

    def _say_missing(self, life: Driver) -> str:
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

    def on_answer(self, life: Driver, peer: Peer, answer: Answer) -> bool:
        """Look at what was found where a founding member should be; False: not that."""
        handshake = answer.handshake
        problem: str | None = None
        if answer.domain != life.domain:
            problem = life.identity.difference(handshake)
        elif handshake.process.name != peer.process.name:
            name = handshake.process.name
            problem = f"{name} is at the other end of this connection: correct the addresses"
        elif handshake.founding not in {0, life.founding}:
            problem = GIVEN_OTHERS
        elif handshake.founding:
            return True  # it waits too, be it for an earlier start of this process
        elif handshake.process != peer.process:
            self._is_running_without_us = self._is_running_without_us or handshake.view > 0
        elif handshake.knows_other or (handshake.view > 1 and not handshake.to):
            self._is_running_without_us = True
        else:
            return True
        if problem is not None:
            self._refusal = f"{peer.process.name} at {peer.process.address}: {problem}"
        self._node.changed.set()
        return False

    # Joining.

    async def join(self, seeds: list[str]) -> None:
        """Join through any of ``seeds``, or whom they know, within the time allowed."""
        try:
            async with asyncio.timeout(self._connect_s):
                await self._enter(seeds, 0)
        except TimeoutError:
            raise UsageError(self._say_unanswered(seeds)) from None

    async def come_back(self, life: Driver) -> ExcludedError | None:
        """Join again, after ``life``, however long it takes; return why that cannot be."""
        try:
            await self._node.end_life(self._node.ending.why)
            await self._until_read()
            await self._come_back(life)
        except AntiphonError as error:
            return ExcludedError(f"{self._config.me} cannot come back: {error}")
        return None

    async def _until_read(self) -> None:
        """Wait until the application has read most of what earlier lives left unread.

        Each life may fill the buffer once more, so who never reads must not come back for ever.
        """
        stream = self._node.group.stream
        if stream.is_full:
            _log.warning("%s comes back when its application reads its group", self._config.me)
            has_room = asyncio.Event()
            stream.call_on_room(has_room.set)
            await has_room.wait()

    async def _come_back(self, life: Driver) -> None:
        config = self._config
        known = [*(life.latest.members if life.latest is not None else ())]
        known += config.founding.members if config.founding is not None else ()
        places = list(dict.fromkeys([*(who.address for who in known), *config.seeds]))
        last_number = life.process.incarnation
        coming = asyncio.ensure_future(self._enter(places, last_number))
        try:
            while True:
                done, _ = await asyncio.wait([coming], timeout=self._connect_s)
                if done:
                    break
                said = self._search.say() if self._search is not None else ""
                why = said or "nobody answers at the places it knows"
                _log.warning("%s cannot come back yet: %s", self._config.me, why)
        finally:
            coming.cancel()
            await asyncio.wait([coming])
        coming.result()

    def _say_unanswered(self, seeds: list[str]) -> str:
        said = self._search.say() if self._search is not None else ""
        if said:
            return f"after {self._connect_s:g} s {said}"
        places = " or ".join(seeds)
        return (
            f"after {self._connect_s:g} s no member answers at {places}: "
            "give the address of a running member"
        )

    async def _enter(self, places: list[str], last_number: int) -> None:
        """Do what the search says until this process is in a view."""
        node = self._node
        here = str(node.address)
        timing = self._config.settings.timing
        search = Search(places, timing, self._now_us(), last_number=last_number, here=here)
        self._search = search
        try:
            while True:
                if self._life is not None and self._life.is_over:
                    await self._end_life(search, self._life)
                if self._is_in():
                    return
                await self._look(search)
                # At least a little: whatever happens meanwhile ends it.
                wait_s = max(search.is_due_us - self._now_us(), 1_000) / 1e6
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await node.until_changed()
        finally:
            asking, self._asking = list(self._asking), {}
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    def _is_in(self) -> bool:
        view, life = self._node.view, self._life
        if view is None or life is None or life.is_over:
            return False
        return str(life.process) in view.members

    async def _end_life(self, search: Search, life: Driver) -> None:
        """The life that knocked is over: learn from it."""
        self._life = None
        end = self._node.ending
        if life.latest is not None:
            here = str(self._node.address)
            others = [who.address for who in life.latest.members if who.address != here]
            search.learn(others, self._now_us())
        await self._node.end_life(end.why)
        search.end(
            end.why, end.next_life, self._now_us(), self._draw_fraction(), is_refused=end.is_refused
        )

    async def _look(self, search: Search) -> None:
        life, contact = self._life, search.contact
        if life is not None and life.view_number:
            return  # taken in: the rest is up to the group
        if life is not None and contact is not None:
            self._look_after(search, life, contact)
        for effect in search.look(self._now_us(), self._draw_fraction()):
            match effect:
                case Inquire(places):
                    for place in places:
                        self._inquire(search, place)
                case Knock(process, number):
                    self._knock(await self._life_of(number), process)
                case GiveUp(why):
                    message = f"{self._config.me} is not taken in: {why}"
                    raise UsageError(message)

    def _look_after(self, search: Search, life: Driver, contact: ProcessId) -> None:
        peer = life.mesh.peers.get(contact)
        if peer is None or peer.is_condemned:
            search.lose(contact, self._now_us(), self._draw_fraction())
        elif peer.link is not None and peer.link is not self._knocked:
            self._knock(life, contact)  # the connection is new: at once

    async def _life_of(self, number: int) -> Driver:
        """Return the life of this number; begin it if it is a new one."""
        if self._life is None or self._life.process.incarnation != number:
            if self._life is not None:
                await self._node.end_life("its number is out of date")
            start = self._draw_start()
            me = ProcessId(self._config.me, number, start, str(self._node.address))
            self._life = self._node.begin_life(me, start, founding=None)
            self._life.begin()
        return self._life

    def _knock(self, life: Driver, contact: ProcessId) -> None:
        peer = life.mesh.peers.get(contact)
        if peer is None:
            peer = life.mesh.add(contact, is_senior=True)
        if peer.link is not None:
            self._knocked = peer.link
            life.ask_to_join(contact)

    def _inquire(self, search: Search, place: str) -> None:
        task = asyncio.ensure_future(self._ask(search, place))
        self._asking[task] = None
        task.add_done_callback(lambda _: self._asking.pop(task, None))

    async def _ask(self, search: Search, place: str) -> None:
        domain, hello, asker = self._question()
        life = self._life
        try:
            answer = await probe(self._transport, place, hello, ASK_S)
        except (OSError, HungUpError):
            search.miss(place, self._now_us(), self._draw_fraction())
        except PeerError as error:
            why = f"{place} is no member of group {self._config.group}: {error}"
            search.refuse(place, why, self._now_us(), self._draw_fraction())
        else:
            handshake, said = answer.handshake, answer.said
            if answer.domain != domain:
                why = f"{place}: {asker.difference(handshake)}"
                search.refuse(place, why, self._now_us(), self._draw_fraction())
            else:
                standing = said if isinstance(said, Standing) else None
                found = Found(handshake.process, standing, handshake.next_life)
                search.hear(place, found, self._now_us(), self._draw_fraction())
                if isinstance(said, Out) and life is not None and life is self._life:
                    # Taken in and excluded again before it heard of either: another life, then.
                    life.on_said(handshake.process, said)
        self._node.changed.set()

    def _question(self) -> tuple[int, bytes, Identity]:
        """Return the question, and what it rests on: of the life that knocks, if there is one."""
        life = self._life
        if life is not None and not life.is_over:
            handshake = life.handshake(life.process, is_asking=True)
            return life.domain, encode_hello(life.domain, handshake), life.identity
        me = ProcessId(self._config.me, 0, 0, str(self._node.address))
        asker = self._node.identity(me, self._draw_start(), None)
        hello = encode_hello(asker.domain, asker.handshake(me, None, is_asking=True))
        return asker.domain, hello, asker


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

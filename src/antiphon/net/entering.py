"""Entering a group: founding it with others, alone, or joining it.

Law: whoever has entered is in a view. Founding members wait until all of them are connected, or,
after a while, more than half of them; if one of them finds that the group is running without it, it
joins, as a new life of its name. Who founds by a list of places does what ``membership.bootstrap``
says. What is awaited is logged, after a second and then seldom.
A joiner does what its search says (``membership.entrance``): it asks those it knows, then a member
to be taken in, until it is, or is refused for good. What keeps somebody out is said in a sentence.
"""

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from antiphon.core.control import Standing
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
from antiphon.membership.bootstrap import RollCall
from antiphon.membership.entrance import Found, GiveUp, Inquire, Knock, Search
from antiphon.net.asking import Answer, HungUpError, ask
from antiphon.net.config import Ways
from antiphon.net.door import GIVEN_OTHERS
from antiphon.net.driver import Driver
from antiphon.net.founding import (
    LOOK_S,
    FoundingByPlaces,
    Waiting,
    dice,
    draw,
    until_changed,
)
from antiphon.net.identity import Identity
from antiphon.net.link import Link
from antiphon.net.peer import Peer, now_us

if TYPE_CHECKING:
    from antiphon.net.node import Node

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
        self._connect_s = connect_s
        self._refusal: str | None = None
        self._is_running_without_us = False
        self._search: Search | None = None
        self._life: Driver | None = None  # the one that knocks
        self._knocked: Link | None = None
        self._asking: dict[asyncio.Task[None], None] = {}

    async def enter(self, ways: Ways) -> None:
        """Enter by the way that was chosen."""
        if ways.founding is not None:
            await self.found(ways.founding)
        elif ways.places:
            if not await FoundingByPlaces(self._node, ways.places, self._connect_s).found():
                await self.join(list(ways.seeds))
        elif ways.seeds:
            await self.join(list(ways.seeds))
        else:
            await self.found_alone()

    async def found(self, view: View) -> None:
        """Found the group with the other members of ``view``, or join it if it is running."""
        me = next(member for member in view.members if member.name == self._config.me)
        life = self._node.begin_life(me, draw(), founding=view)
        life.open()
        patience_us = min(self._config.settings.timing.timeout_us, int(self._connect_s * 5e5))
        waiting = Waiting(self._config.me, self._config.group)
        roll_call = RollCall(len(view.members), patience_us, now_us())
        try:
            async with asyncio.timeout(self._connect_s):
                while not self._is_settled(life, roll_call):
                    waiting.tell(self._say_absent(life))
                    await until_changed(self._node, LOOK_S)
        except TimeoutError:
            raise UsageError(self._say_missing(life)) from None
        if self._refusal is not None:
            raise UsageError(self._refusal)
        if self._is_running_without_us:
            await self._node.end_life("the group is running: joins it as a new life")
            others = [member.address for member in view.members if member != me]
            await self.join(others)
        elif life.endpoint is None:
            if absent := self._say_absent(life):
                _log.warning("%s founds group %s without them: %s", me, view.group, absent)
            life.begin()

    async def found_alone(self) -> None:
        """Found a group of one."""
        start = draw()
        me = ProcessId(self._config.me, 1, start, str(self._node.address))
        view = View(GroupName(self._config.group), ViewNumber(1), (me,))
        self._node.begin_life(me, start, founding=view).begin()

    def _is_settled(self, life: Driver, roll_call: RollCall) -> bool:
        if life.is_over:
            self._refusal = self._node.ending.why
        if self._refusal is not None or self._is_running_without_us or life.endpoint is not None:
            return True
        present = 1 + len(life.mesh.peers) - len(self._missing(life))
        return roll_call.may_begin(present, now_us())

    def _say_absent(self, life: Driver) -> str:
        return ", ".join(
            f"{one.process.name} at {one.process.address}" for one in self._missing(life)
        )

    async def _stop_asking(self) -> None:
        asking, self._asking = list(self._asking), {}
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

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
        founding = config.ways.founding
        known += founding.members if founding is not None else ()
        places = list(dict.fromkeys([*(who.address for who in known), *config.ways.seeds]))
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
        search = Search(places, timing, now_us(), last_number=last_number, here=here)
        self._search = search
        try:
            while True:
                if self._life is not None and self._life.is_over:
                    await self._end_life(search, self._life)
                if self._is_in():
                    return
                await self._look(search)
                # At least a little: whatever happens meanwhile ends it.
                wait_s = max(search.is_due_us - now_us(), 1_000) / 1e6
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await node.until_changed()
        finally:
            await self._stop_asking()

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
            search.learn(others, now_us())
        await self._node.end_life(end.why)
        search.end(end.why, end.next_life, now_us(), dice(), is_refused=end.is_refused)

    async def _look(self, search: Search) -> None:
        life, contact = self._life, search.contact
        if life is not None and life.view_number:
            return  # taken in: the rest is up to the group
        if life is not None and contact is not None:
            self._look_after(search, life, contact)
        for effect in search.look(now_us(), dice()):
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
            search.lose(contact, now_us(), dice())
        elif peer.link is not None and peer.link is not self._knocked:
            self._knock(life, contact)  # the connection is new: at once

    async def _life_of(self, number: int) -> Driver:
        """Return the life of this number; begin it if it is a new one."""
        if self._life is None or self._life.process.incarnation != number:
            if self._life is not None:
                await self._node.end_life("its number is out of date")
            start = draw()
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
        try:
            answer = await ask(place, hello, ASK_S)
        except (OSError, HungUpError):
            search.miss(place, now_us(), dice())
        except PeerError as error:
            why = f"{place} is no member of group {self._config.group}: {error}"
            search.refuse(place, why, now_us(), dice())
        else:
            greeting, said = answer.greeting, answer.said
            if answer.domain != domain:
                why = f"{place}: {asker.difference(greeting)}"
                search.refuse(place, why, now_us(), dice())
            else:
                standing = said if isinstance(said, Standing) else None
                found = Found(greeting.process, standing, greeting.next_life)
                search.hear(place, found, now_us(), dice())
        self._node.changed.set()

    def _question(self) -> tuple[int, bytes, Identity]:
        """Return the question, and what it rests on: of the life that knocks, if there is one."""
        life = self._life
        if life is not None and not life.is_over:
            greeting = life.greeting(life.process, is_asking=True)
            return life.domain, encode_hello(life.domain, greeting), life.identity
        me = ProcessId(self._config.me, 0, 0, str(self._node.address))
        asker = self._node.identity(me, draw(), None)
        hello = encode_hello(asker.domain, asker.greeting(me, None, is_asking=True))
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

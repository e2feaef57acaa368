"""Bootstrap: founding a group with others or alone, joining it, coming back to it.

Law: whoever has entered is in a view. Founding members wait until all of them are connected, or,
after a while, more than half of them; if one of them finds that the group is running without it, it
joins, as a new incarnation of its name. Who founds by a list of places does what the machine says
(``membership.bootstrap``). What is awaited is logged, after a second and then seldom.
A joiner does what its search says (``membership.entrance``): it asks those it knows, then a member
to be taken in, until it is, or is refused for good. What keeps somebody out is said in a sentence.
"""

import asyncio
import logging
from contextlib import suppress

from antiphon.core.control import Out, Standing
from antiphon.core.errors import (
    AntiphonError,
    ExcludedError,
    PeerError,
    UsageError,
)
from antiphon.core.frames import encode_hello
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.membership.bootstrap import RollCall
from antiphon.membership.entrance import Found, GiveUp, Inquire, Knock, Search
from antiphon.net.application.config import Ways
from antiphon.net.driver.driver import Driver
from antiphon.net.process.founding import LOOK_S, FoundingByPlaces, Waiting, until_notified
from antiphon.net.process.owner import BootstrapOwner
from antiphon.net.session.identity import Identity
from antiphon.net.session.listener import GIVEN_OTHERS
from antiphon.net.session.peer import Peer, PeerLink
from antiphon.net.session.probe import Answer, HungUpError, probe

ASK_S = 5.0
"""How long a place may take to answer; it may be asked again before."""

_log = logging.getLogger("antiphon")


class Bootstrap:
    """One attempt to enter a group."""

    def __init__(self, node: BootstrapOwner, connect_s: float) -> None:
        """Prepare for a node that listens."""
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
        self._driver: Driver | None = None  # of the incarnation that asks to join
        self._asked_over: PeerLink | None = None
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
        driver = self._node.begin_incarnation(me, self._draw_start(), founding=view)
        driver.open()
        patience_us = min(self._config.settings.timing.timeout_us, int(self._connect_s * 5e5))
        waiting = Waiting(self._config.me, self._config.group, self._now_us)
        roll_call = RollCall(len(view.members), patience_us, self._now_us())
        try:
            async with asyncio.timeout(self._connect_s):
                while not self._is_settled(driver, roll_call):
                    waiting.tell(self._say_absent(driver))
                    await until_notified(self._node.notifier, LOOK_S)
        except TimeoutError:
            raise UsageError(self._say_missing(driver)) from None
        if self._refusal is not None:
            raise UsageError(self._refusal)
        if self._is_running_without_us:
            await self._node.end_incarnation("the group is running: joins it as a new incarnation")
            others = [member.address for member in view.members if member != me]
            await self.join(others)
        elif driver.endpoint is None:
            if absent := self._say_absent(driver):
                _log.warning("%s founds group %s without them: %s", me, view.group, absent)
            driver.begin()

    async def found_alone(self) -> None:
        """Found a group of one."""
        start = self._draw_start()
        me = ProcessId(self._config.me, 1, start, str(self._node.address))
        view = View(GroupName(self._config.group), ViewNumber(1), (me,))
        self._node.begin_incarnation(me, start, founding=view).begin()

    def _is_settled(self, driver: Driver, roll_call: RollCall) -> bool:
        if driver.is_over:
            self._refusal = self._node.ending.why
        if self._refusal is not None or self._is_running_without_us or driver.endpoint is not None:
            return True
        present = 1 + len(driver.mesh.peers) - len(self._missing(driver))
        return roll_call.may_begin(present, self._now_us())

    def _say_absent(self, driver: Driver) -> str:
        return ", ".join(
            f"{one.process.name} at {one.process.address}" for one in self._missing(driver)
        )

    @staticmethod
    def _missing(driver: Driver) -> list[Peer]:
        return [
            peer
            for peer in driver.mesh.peers.values()
            if peer.link is None
            and not (peer.has_left or peer.is_condemned or peer.leaves_at is not None)
        ]

    def _say_missing(self, driver: Driver) -> str:
        said = []
        for peer in self._missing(driver):
            name, address = peer.process.name, peer.process.address
            if peer.why:
                said.append(f"{name} at {address} is something else: {peer.why}")
            elif peer.is_senior:
                said.append(f"{name} does not answer at {address}")
            else:
                said.append(f"{name} has not connected to {driver.process.address}")
        advice = "is every member running?"
        if (turned_away := self._node.turned_away) is not None:
            advice = f"somebody was turned away because {turned_away}"
        return f"after {self._connect_s:g} s {', '.join(said)}: {advice}"

    def on_answer(self, driver: Driver, peer: Peer, answer: Answer) -> bool:
        """Look at what was found where a founding member should be; False: not that."""
        handshake = answer.handshake
        problem: str | None = None
        if answer.domain != driver.identity.domain:
            problem = driver.identity.difference(handshake)
        elif handshake.process.name != peer.process.name:
            name = handshake.process.name
            problem = f"{name} is at the other end of this connection: correct the addresses"
        elif handshake.founding not in {0, driver.identity.founding}:
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
        self._node.notifier.notify()
        return False

    # Joining.

    async def join(self, seeds: list[str]) -> None:
        """Join through any of ``seeds``, or whom they know, within the time allowed."""
        try:
            async with asyncio.timeout(self._connect_s):
                await self._enter(seeds, 0)
        except TimeoutError:
            raise UsageError(self._say_unanswered(seeds)) from None

    async def come_back(self, driver: Driver) -> ExcludedError | None:
        """Join again, after ``driver``, however long it takes; return why that cannot be."""
        try:
            await self._node.end_incarnation(self._node.ending.why)
            await self._until_read()
            await self._come_back(driver)
        except AntiphonError as error:
            return ExcludedError(f"{self._config.me} cannot come back: {error}")
        return None

    async def _until_read(self) -> None:
        """Wait until the application has read most of what earlier incarnations left unread.

        Each incarnation may fill the buffer once more: who never reads must not come back for ever.
        """
        stream = self._node.local_group.stream
        if stream.is_full:
            _log.warning("%s comes back when its application reads its group", self._config.me)
            has_room = asyncio.Event()
            stream.call_on_room(has_room.set)
            await has_room.wait()

    async def _come_back(self, driver: Driver) -> None:
        config = self._config
        known = [*(driver.latest.members if driver.latest is not None else ())]
        founding = config.ways.founding
        known += founding.members if founding is not None else ()
        places = list(dict.fromkeys([*(who.address for who in known), *config.ways.seeds]))
        last_number = driver.process.incarnation
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
                if self._driver is not None and self._driver.is_over:
                    await self._end_incarnation(search, self._driver)
                if self._is_in():
                    return
                await self._look(search)
                # At least a little: whatever happens meanwhile ends it.
                wait_s = max(search.is_due_us - self._now_us(), 1_000) / 1e6
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await node.notifier.until_notified()
        finally:
            asking, self._asking = list(self._asking), {}
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    def _is_in(self) -> bool:
        view, driver = self._node.local_group.view, self._driver
        if view is None or driver is None or driver.is_over:
            return False
        return str(driver.process) in view.members

    async def _end_incarnation(self, search: Search, driver: Driver) -> None:
        """The incarnation that asked to join is over: learn from it."""
        self._driver = None
        end = self._node.ending
        if driver.latest is not None:
            here = str(self._node.address)
            others = [who.address for who in driver.latest.members if who.address != here]
            search.learn(others, self._now_us())
        await self._node.end_incarnation(end.why)
        search.end(
            end.why, end.next_life, self._now_us(), self._draw_fraction(), is_refused=end.is_refused
        )

    async def _look(self, search: Search) -> None:
        driver, contact = self._driver, search.contact
        if driver is not None and driver.network.view_number:
            return  # taken in: the rest is up to the group
        if driver is not None and contact is not None:
            self._look_after(search, driver, contact)
        for effect in search.look(self._now_us(), self._draw_fraction()):
            match effect:
                case Inquire(places):
                    for place in places:
                        self._inquire(search, place)
                case Knock(process, number):
                    self._ask_to_join(await self._driver_of(number), process)
                case GiveUp(why):
                    message = f"{self._config.me} is not taken in: {why}"
                    raise UsageError(message)

    def _look_after(self, search: Search, driver: Driver, contact: ProcessId) -> None:
        peer = driver.mesh.peers.get(contact)
        if peer is None or peer.is_condemned:
            search.lose(contact, self._now_us(), self._draw_fraction())
        elif peer.link is not None and peer.link is not self._asked_over:
            self._ask_to_join(driver, contact)  # the connection is new: at once

    async def _driver_of(self, number: int) -> Driver:
        """Return the driver of this incarnation; begin it if it is a new one."""
        if self._driver is None or self._driver.process.incarnation != number:
            if self._driver is not None:
                await self._node.end_incarnation("its number is out of date")
            start = self._draw_start()
            me = ProcessId(self._config.me, number, start, str(self._node.address))
            self._driver = self._node.begin_incarnation(me, start, founding=None)
            self._driver.begin()
        return self._driver

    def _ask_to_join(self, driver: Driver, contact: ProcessId) -> None:
        peer = driver.mesh.peers.get(contact)
        if peer is None:
            peer = driver.mesh.add(contact, is_senior=True)
        if peer.link is not None:
            self._asked_over = peer.link
            driver.ask_to_join(contact)

    def _inquire(self, search: Search, place: str) -> None:
        task = asyncio.ensure_future(self._ask(search, place))
        self._asking[task] = None
        task.add_done_callback(lambda _: self._asking.pop(task, None))

    async def _ask(self, search: Search, place: str) -> None:
        domain, hello, asker = self._question()
        driver = self._driver
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
                if isinstance(said, Out) and driver is not None and driver is self._driver:
                    # Taken in and excluded again before it heard of either: once more, then.
                    driver.network.on_said(handshake.process, said)
        self._node.notifier.notify()

    def _question(self) -> tuple[int, bytes, Identity]:
        """Return the question, and what it rests on: the incarnation that asks to join, if any."""
        driver = self._driver
        if driver is not None and not driver.is_over:
            asker = driver.identity
            handshake = driver.network.handshake(driver.process, is_asking=True)
            return asker.domain, encode_hello(asker.domain, handshake), asker
        me = ProcessId(self._config.me, 0, 0, str(self._node.address))
        asker = self._node.identity(me, self._draw_start(), None)
        hello = encode_hello(asker.domain, asker.handshake(me, None, is_asking=True))
        return asker.domain, hello, asker

"""Bootstrap: founding a group with others or alone, joining it, coming back to it.

Law: whoever has entered is in a view. Founding members wait until all of them are connected, or,
after a while, more than half of them; if one of them finds that the group is running without it, it
joins, as a new incarnation of its name. Who founds by a list of places does what the machine says
(``membership.bootstrap``). What is awaited is logged, after a second and then seldom.
A joiner does what its search says (``membership.entrance``): it asks those it knows, then a member
to be taken in, until it is, or is refused for good. What keeps somebody out is said in a sentence,
which the node begins with the names of process and group.
"""

import asyncio
import logging
from contextlib import suppress

from msgspec.structs import replace

from antiphon.core.control import Elsewhere, Out, Standing
from antiphon.core.errors import (
    AntiphonError,
    ExcludedError,
    PeerError,
    UsageError,
)
from antiphon.core.frames import encode_hello
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.membership.entrance import HOW_TO_FOUND, Found, GiveUp, Inquire, Knock, Search
from antiphon.net.application.config import Ways
from antiphon.net.driver.driver import Driver
from antiphon.net.process.founding import FoundingByPlaces, Waiting
from antiphon.net.process.founding_by_list import FoundingByList
from antiphon.net.process.owner import BootstrapOwner
from antiphon.net.session.identity import Identity
from antiphon.net.session.peer import PeerLink
from antiphon.net.session.probe import HungUpError, Said, is_address, probe
from antiphon.stack.inputs import ProbeAnswered

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
        self._draw_fraction = node.config.environment.draw_fraction
        self._connect_s = connect_s
        self._search: Search | None = None
        self._waiting: Waiting | None = None
        self._driver: Driver | None = None  # of the incarnation that asks to join
        self._asked_over: PeerLink | None = None
        self._asking: dict[asyncio.Task[None], None] = {}
        self._hangs_up: dict[str, bool] = {}  # whether somebody is at a place that is silent

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
        founding = FoundingByList(self._node, view, self._connect_s)
        if not await founding.found():
            me = str(self._node.address)
            others = [member.address for member in view.members if member.address != me]
            await self.join(others)

    async def found_alone(self) -> None:
        """Found a group of one."""
        driver = await self._node.begin_incarnation(1)
        view = View(GroupName(self._config.group), ViewNumber(1), (driver.process,))
        driver.begin(view)

    # Joining.

    async def join(self, seeds: list[str]) -> None:
        """Join through any of ``seeds``, or whom they know, within the time allowed."""
        self._waiting = Waiting(self._config, "join")
        try:
            async with asyncio.timeout(self._connect_s):
                await self._enter(seeds, 0)
        except TimeoutError:
            raise UsageError(self._say_unanswered(seeds)) from None
        finally:
            self._waiting = None

    async def come_back(self, driver: Driver) -> ExcludedError | None:
        """Join again, after ``driver``, however long it takes; return why that cannot be."""
        try:
            await self._node.end_incarnation(self._node.ending.why)
            await self._until_read()
            if not await self._succeed(driver):
                await self._come_back(driver)
        except AntiphonError as error:
            me, group = self._config.me, self._config.group
            return ExcludedError(f"{me} cannot come back to group {group}: {error}")
        return None

    async def _succeed(self, driver: Driver) -> bool:
        """Go on with a group of which this process was the only member, and not excluded there.

        It failed in another group of its. Of this one nobody else is a quorum: so nobody else could
        let it in, and what it agrees to is agreed on, be it a view without its former self.
        """
        latest, former = driver.latest, driver.process
        is_its = latest is not None and latest.members == (former,)
        if latest is None or not is_its or not driver.ending.is_elsewhere:
            return False
        following = await self._node.begin_incarnation(former.incarnation + 1)
        me, past = following.process, dict(latest.past) | {former.name: former.incarnation}
        number = ViewNumber(latest.number + 1)
        view = View(
            latest.group, number, (me,), joined=(me,), failed=(former,), past=tuple(past.items())
        )
        following.begin(view)
        return True

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
                _log.warning(
                    "%s cannot come back to group %s yet: %s", config.me, config.group, why
                )
        finally:
            coming.cancel()
            await asyncio.wait([coming])
        coming.result()

    def _say_unanswered(self, seeds: list[str]) -> str:
        said = self._search.say() if self._search is not None else ""
        if said:
            return f"after {self._connect_s:g} s {said}"
        after = f"after {self._connect_s:g} s no member answers"
        if not any(self._hangs_up.get(place) for place in seeds):
            return f"{after} at {' or '.join(seeds)}: give the address of a running member"
        return (
            f"{after}: {self._say_silent(seeds)}: give the address of a process that is in a "
            f"group, or found this one: {HOW_TO_FOUND}"
        )

    def _say_silent(self, places: list[str]) -> str:
        """Tell places where somebody listens, and says nothing, from those where nobody is."""
        said = []
        if hanging_up := [place for place in places if self._hangs_up.get(place)]:
            said = [f"who listens at {' and '.join(hanging_up)} is in no group (it hangs up)"]
        if silent := [place for place in places if place not in hanging_up]:
            said.append(f"nobody answers at {' or '.join(silent)}")
        return ", and ".join(said)

    def _say_awaited(self, search: Search) -> str:
        if self._driver is not None and self._driver.view_number:
            return ""  # taken in: the rest is up to the group
        if (contact := search.contact) is not None:
            return f"{contact} at {contact.address} has not taken it in yet"
        return search.say() or self._say_silent(search.places)

    async def _enter(self, places: list[str], last_number: int) -> None:
        """Do what the search says until this process is in a view."""
        node = self._node
        here = str(node.address)
        timing = self._config.settings.timing
        search = Search(
            self._config.group, places, timing, self._now_us(), last_number=last_number, here=here,
            has_failed=node.has_failed_elsewhere,
        )  # fmt: skip
        self._search = search
        try:
            while True:
                if self._driver is not None and self._driver.is_over:
                    await self._end_incarnation(search, self._driver)
                if self._is_in():
                    return
                await self._look(search)
                due_us = search.is_due_us
                if self._waiting is not None and (awaited := self._say_awaited(search)):
                    self._waiting.tell(awaited)
                    due_us = min(due_us, self._waiting.due_us)
                # At least a little: whatever happens meanwhile ends it.
                wait_s = max(due_us - self._now_us(), 1_000) / 1e6
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
            end.why,
            end.next_incarnation,
            self._now_us(),
            self._draw_fraction(),
            is_refused=end.is_refused,
        )

    async def _look(self, search: Search) -> None:
        driver, contact = self._driver, search.contact
        if driver is not None and driver.view_number:
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
                    raise UsageError(why)

    def _look_after(self, search: Search, driver: Driver, contact: ProcessId) -> None:
        peer = driver.mesh.peers.get(contact.bare())
        if peer is None or peer.is_condemned:
            search.lose(contact, self._now_us(), self._draw_fraction())
        elif peer.link is not None and peer.link is not self._asked_over:
            self._ask_to_join(driver, contact)  # the connection is new: at once

    async def _driver_of(self, number: int) -> Driver:
        """Return the driver of this incarnation; begin it if it is a new one."""
        number = self._node.number_for(number)
        if self._driver is None or self._driver.process.incarnation != number:
            if self._driver is not None:
                await self._node.end_incarnation("its number is out of date")
            self._driver = await self._node.begin_incarnation(number)
            self._driver.begin(None)
        return self._driver

    def _ask_to_join(self, driver: Driver, contact: ProcessId) -> None:
        peer = driver.seek(contact)
        if peer.link is not None:
            self._asked_over = peer.link
            driver.ask_to_join(contact)

    def _inquire(self, search: Search, place: str) -> None:
        task = asyncio.ensure_future(self._ask(search, place))
        self._asking[task] = None
        task.add_done_callback(lambda _: self._asking.pop(task, None))

    async def _ask(self, search: Search, place: str) -> None:
        hello, asker = self._question()
        driver = self._driver
        try:
            answer = await probe(self._transport, place, hello, ASK_S)
        except (OSError, HungUpError) as error:
            self._hangs_up[place] = isinstance(error, HungUpError)
            search.miss(place, self._now_us(), self._draw_fraction())
        except PeerError as error:
            why = f"{place} is no member of group {self._config.group}: {error}"
            search.refuse(place, why, self._now_us(), self._draw_fraction())
        else:
            handshake, said = answer.handshake, self._with_fit_places(answer.said)
            if isinstance(said, Elsewhere):
                who = f"{handshake.process.name} at {place}"
                search.pass_on(place, who, list(said.places), self._now_us(), self._draw_fraction())
            elif not self._is_fit(claimed := handshake.process.address):
                why = f"{place} says that it is at {claimed!r}, where this process does not dial"
                search.refuse(place, why, self._now_us(), self._draw_fraction())
            elif answer.domain != asker.domain:
                why = f"{place}: {asker.difference(handshake)}"
                search.refuse(place, why, self._now_us(), self._draw_fraction())
            else:
                standing = said if isinstance(said, Standing) else None
                found = Found(handshake.process, standing, handshake.next_incarnation)
                search.hear(place, found, self._now_us(), self._draw_fraction())
                if isinstance(said, Out) and driver is not None and driver is self._driver:
                    # Taken in and excluded again before it heard of either: once more, then.
                    driver.give(ProbeAnswered(handshake.process, said))
        self._node.notifier.notify()

    def _is_fit(self, place: str) -> bool:
        return is_address(place, insecure=self._config.insecure)

    def _with_fit_places(self, said: Said | None) -> Said | None:
        """Return an answer without places that are none, or that this process may not dial."""
        if not isinstance(said, Elsewhere | Standing):
            return said
        return replace(said, places=tuple(filter(self._is_fit, said.places)))

    def _question(self) -> tuple[bytes, Identity]:
        """Return the question, and what it rests on: the incarnation that asks to join, if any."""
        driver = self._driver
        if driver is not None and not driver.is_over:
            asker = driver.identity
            handshake = driver.handshake(driver.process, is_asking=True)
        else:
            asker = self._node.identity()
            handshake = asker.handshake(asker.process, None, is_asking=True)
        return encode_hello(asker.domain, handshake), asker

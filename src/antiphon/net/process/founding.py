"""Founding a group by a list of places: on the network, what ``membership.bootstrap`` says.

Law: a process that founds answers the questions of others from the moment it listens until it
leaves, and asks its own by short connections (``session.probe``): nothing is left open, and nothing
but the votes decides. What is awaited is logged, after a second and then seldom.
"""

import asyncio
import logging
from contextlib import suppress

from msgspec.structs import replace

from antiphon.core.control import Elsewhere, FoundingAnswer, Standing, encode_message
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.frames import encode_hello
from antiphon.membership.bootstrap import AskPlace, Founding
from antiphon.net.application.config import Config
from antiphon.net.driver.driver import Driver
from antiphon.net.process.owner import BootstrapOwner
from antiphon.net.session.probe import HungUpError, probe
from antiphon.net.stream.notifier import Notifier

LOOK_S = 0.05
"""How often founders look at the clock, whatever happens."""

_ASK_S = 5.0
"""How long a place may take to answer; it is not asked again before."""

_ANSWER_ON_S = 1.0
"""How long a process that cannot found the group still answers others that want to."""

TELL_S = 10.0
"""How often it is logged who is awaited."""

_log = logging.getLogger("antiphon")


async def until_notified(notifier: Notifier, wait_s: float) -> None:
    """Wait until something has happened, but not for long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(wait_s):
            await notifier.until_notified()


class Waiting:
    """Logs what is awaited on the way into a group."""

    def __init__(self, config: Config, wish: str) -> None:
        """Say nothing for a second; ``wish`` is to ``found`` the group, or to ``join`` it."""
        self._now_us = config.environment.now_us
        self._what = f"{config.me} waits to {wish} group {config.group}"
        self.due_us = self._now_us() + 1_000_000
        """When to say something, if anything is awaited then."""

    def tell(self, who: str) -> None:
        """Log who or what is awaited, if anything is and it is time to."""
        if who and self._now_us() >= self.due_us:
            self.due_us = self._now_us() + int(TELL_S * 1e6)
            _log.warning("%s: %s", self._what, who)


class FoundingByPlaces:
    """One attempt to found a group with more than half of a list of places."""

    def __init__(self, node: BootstrapOwner, places: tuple[str, ...], connect_s: float) -> None:
        """Prepare for a node that listens."""
        config, environment = node.config, node.config.environment
        self._now_us, self._draw_fraction = environment.now_us, environment.draw_fraction
        self._transport = environment.transport
        self._node = node
        self._connect_s = connect_s
        self._group = config.group
        self._places = places
        self._timing = config.settings.timing
        self._waiting = Waiting(config, "found")
        self._refusal = ""
        self._asking: dict[asyncio.Task[None], None] = {}
        self._running: dict[str, str] = {}  # who runs at a place, and does not found the group

    async def found(self) -> bool:
        """Found the group, and begin in its first view; False if it runs, or runs without us."""
        node = self._node
        driver = await node.begin_incarnation(1)  # it answers, and waits
        me = driver.process
        machine = Founding(self._group, me, self._places, self._timing, self._now_us())
        node.founding = self._machine = machine
        try:
            async with asyncio.timeout(self._connect_s):
                await self._agree(driver)
        except TimeoutError:
            raise UsageError(self._say_unfounded()) from None
        finally:
            asking, self._asking = list(self._asking), {}
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        view = machine.view
        if view is None or me not in view.members:
            await node.end_incarnation("the group is running: joins it")
            return False
        if driver.incarnation.machine.is_over:
            await node.end_incarnation("it failed in another group: joins as a new incarnation")
            return False
        driver.begin(view)
        return True

    async def _agree(self, driver: Driver) -> None:
        """Do what the machine says until the group is founded, or found to run."""
        machine = self._machine
        while machine.view is None and not machine.is_running:
            for asked in machine.look(self._now_us(), self._draw_fraction()):
                task = asyncio.ensure_future(self._ask(driver, asked))
                self._asking[task] = None
                task.add_done_callback(lambda done: self._asking.pop(done, None))
            if machine.given_others:
                self._refusal = f"{machine.given_others} was given other seeds: give all the same"
            if self._refusal:
                await asyncio.sleep(_ANSWER_ON_S)  # so that the others hear of it too
                raise UsageError(self._refusal)
            self._waiting.tell(self._say_missing())
            wait_s = max(machine.is_due_us - self._now_us(), 1_000) / 1e6
            await until_notified(self._node.notifier, min(wait_s, LOOK_S))

    async def _ask(self, driver: Driver, asked: AskPlace) -> None:
        place, machine = asked.place, self._machine
        handshake = driver.handshake(driver.process, is_asking=True)
        handshake = replace(handshake, question=encode_message(asked.question))
        hello = encode_hello(driver.domain, handshake)
        try:
            answer = await probe(self._transport, place, hello, _ASK_S)
        except (OSError, PeerError) as error:
            self._running.pop(place, None)
            if isinstance(error, HungUpError):  # it is in no group
                self._running[place] = place
            machine.miss(place, self._now_us(), self._draw_fraction())
        else:
            self._running[place] = f"{place} ({answer.handshake.process.name})"
            if isinstance(answer.said, Elsewhere):  # it has not come to this group yet
                machine.miss(place, self._now_us(), self._draw_fraction())
            elif answer.domain != driver.domain:
                self._refusal = f"{place}: {driver.identity.difference(answer.handshake)}"
            elif isinstance(answer.said, FoundingAnswer):
                driver.meet(answer.said.process)
                machine.hear(place, answer.said, self._now_us(), self._draw_fraction())
            elif isinstance(answer.said, Standing):
                machine.meet(place, self._now_us(), self._draw_fraction())
            else:  # it is on its way in, or founds by a list of members
                machine.miss(place, self._now_us(), self._draw_fraction())
        self._node.notifier.notify()

    def _say_missing(self) -> str:
        missing, size = self._machine.missing, len(self._machine.places)
        if not missing:
            return ""
        said = [f"{size - len(missing)} of {size} places are there"]
        if running := [self._running[place] for place in missing if place in self._running]:
            said.append(
                f"at {' and '.join(running)} a process runs that does not found it, with found=True"
            )
        if silent := [place for place in missing if place not in self._running]:
            said.append(f"nobody answers at {', '.join(silent)}")
        return f"{', '.join(said[:-1])}, and {said[-1]}"

    def _say_unfounded(self) -> str:
        said = self._say_missing() or "they could not agree on it in time: try again"
        return (
            f"after {self._connect_s:g} s it does not run, and is not founded: {said}; more than "
            "half of the seeds are needed"
        )

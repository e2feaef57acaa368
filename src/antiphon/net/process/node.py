"""A node: a process on a real network, incarnation after incarnation.

Law: what a process has once is here: its listener, its current incarnation (``driver``), the way in
(``bootstrap``) and back. What it has once per group is the ``local_group``'s.

A process that was excluded ends its stream with an error; or, with ``rejoin``, comes back as a new
incarnation, and the stream goes on.
"""

import asyncio
import logging
from contextlib import suppress

from antiphon.core.control import FoundingAnswer, FoundingQuestion, Situation, decode_message
from antiphon.core.errors import AntiphonError, ExcludedError, StateError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.views import View as AgreedView
from antiphon.membership.bootstrap import Founding
from antiphon.net.application.config import Config
from antiphon.net.driver.driver import Driver
from antiphon.net.group.group import Group
from antiphon.net.group.local_group import LocalGroup
from antiphon.net.process.bootstrap import Bootstrap
from antiphon.net.process.override import serve, take_over
from antiphon.net.session.identity import Identity
from antiphon.net.session.listener import Listener
from antiphon.net.session.peer import Peer
from antiphon.net.session.probe import Answer
from antiphon.net.stream.events import View
from antiphon.net.stream.notifier import Notifier
from antiphon.stack.effects import LeaveGroup
from antiphon.trace.schema import LEFT

_log = logging.getLogger("antiphon")


class Node:
    """One process: its listener, its current incarnation, and its group."""

    def __init__(self, config: Config) -> None:
        """Describe how to take part; nothing happens before :meth:`start`."""
        self.config = config
        self.address = config.ways.address
        """Where the others find this process."""
        self.founding: Founding | None = None
        """Its vote on who founds the group, where that was to be decided."""
        self.notifier = Notifier()
        """For everybody who waits for something of this process."""
        self.ending = LeaveGroup("")
        """How the current incarnation ended, if it has."""
        self._listener = Listener(config.environment, insecure=config.insecure)
        self._driver: Driver | None = None
        self._bootstrap: Bootstrap | None = None
        self._coming_back: asyncio.Task[None] | None = None
        self.local_group = LocalGroup(config, self)
        """This process's part in its group."""
        self.group = Group(self.local_group)
        """The application's handle on it."""

    # What others ask.

    @property
    def name(self) -> str:
        """The name of this process in its current incarnation."""
        return self.local_group.name

    @property
    def driver(self) -> Driver:
        """The driver of the current incarnation."""
        assert self._driver is not None, "it has been started"
        return self._driver

    @property
    def turned_away(self) -> str | None:
        """Why somebody was turned away for being given another group."""
        return self._listener.turned_away

    @property
    def advice(self) -> str:
        """What an excluded process is to do."""
        return "it comes back by itself" if self.config.rejoin else "join again"

    # Incarnations.

    async def start(self) -> None:
        """Listen, and enter the group."""
        if self.local_group.is_started:
            message = f"{self.name} has been started before: call antiphon.join again"
            raise UsageError(message)
        self.local_group.is_started = True
        config = self.config
        try:
            ways = config.ways
            bound = await self._listener.open(ways.address, config.me)
            self.address = ways.advertised or bound
            self._bootstrap = Bootstrap(self, config.connect_s)
            await self._bootstrap.enter(ways)
            await self.local_group.wait_for_state()
        except BaseException as error:
            with suppress(AntiphonError):
                detail = "never entered the group"
                if isinstance(error, StateError):  # it is a member: the others had better know
                    await self._leave_soon()
                    detail = LEFT if self.driver.is_over and not self.ending.why else detail
                await self._end(detail)
            raise
        self.local_group.is_running = True
        if self.driver.is_over:  # excluded while it was still on its way in
            self.on_over(self.ending)

    def begin_incarnation(
        self, process: ProcessId, start: int, *, founding: AgreedView | None
    ) -> Driver:
        """Begin an incarnation, which whoever connects from now on comes to see."""
        config, local_group = self.config, self.local_group
        self.ending = LeaveGroup("")
        identity = self.identity(process, start, founding)
        former = self._driver
        self._driver = Driver(
            self, local_group, identity, config.environment, local_group.sending.queue,
            commit=local_group.commit_options(start), trace=config.trace,
            delay_s_max=config.delay_s_max,
        )  # fmt: skip
        self._listener.host = self._driver.network
        local_group.begin_incarnation(self._driver)
        if former is not None:
            self._driver.mesh.credentials.inherit(former.mesh.credentials)
        return self._driver

    def identity(self, process: ProcessId, start: int, founding: AgreedView | None) -> Identity:
        """Return who this process is in one incarnation."""
        config = self.config
        return Identity(
            config.group, process, start, config.settings, founding, config.state is not None,
            with_commit=self.local_group.with_commit,
        )  # fmt: skip

    async def end_incarnation(self, detail: str) -> None:
        """End the current incarnation, and stay for another one."""
        self._listener.host = None
        self.local_group.stop_loading()
        if self._driver is not None:
            await self._driver.close(detail)

    async def stop(self) -> None:
        """Send what is pending, leave the group, and close."""
        if not self.local_group.is_running:
            return
        self.local_group.is_running = False
        detail = "stopped without the others' agreement"
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.config.drain_s):
                    await self._leave()
        finally:  # also when whoever waits for the others is cancelled
            if self._driver is not None and self._driver.is_over:
                detail = self.ending.why or LEFT
            await self._end(detail)

    async def _leave_soon(self) -> None:
        self.driver.leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.config.drain_s):
                await self.notifier.until(self._is_out)

    async def _leave(self) -> None:
        await self.notifier.until(lambda: not self.local_group.sending.is_waiting or self._is_out())
        self.driver.leave()
        await self.notifier.until(self._is_out)

    def _is_out(self) -> bool:
        self.local_group.flush()
        return self._driver is None or self._driver.is_over

    async def _end(self, detail: str) -> None:
        if self._coming_back is not None:
            self._coming_back.cancel()
            await asyncio.wait([self._coming_back])
        self.local_group.end_incarnation(AntiphonError(f"{self.name} has stopped ({detail})"))
        try:
            await self.end_incarnation(detail)
        finally:
            await self._listener.close()
            self.local_group.end_stream(None)
            self.notifier.notify()

    async def take_over(self, who: str) -> View:
        """Have this process go on alone, at the order of ``who``."""
        return await take_over(self.local_group, who, self.config.environment)

    # What the driver calls.

    def on_vote(self, question: bytes) -> FoundingAnswer | None:
        """Vote on who founds the group, if this process has a vote."""
        founding = self.founding
        asked = decode_message(question) if founding is not None else None
        if founding is None or not isinstance(asked, FoundingQuestion):
            return None
        self.notifier.notify()
        return founding.answer(asked)

    def on_operator(self, order: str, number: int, who: str) -> Situation:
        """Do what an operator orders, of who is blocked in view ``number``."""
        return serve(self.local_group, order, number, who, self.config.environment)

    def on_room(self) -> None:
        """A connection has come or gone, or time has passed: whoever waits may look again."""
        self.notifier.notify()

    def on_answer(self, peer: Peer, answer: Answer) -> bool:
        """While founding: look at what was found at a member's address."""
        assert self._bootstrap is not None, "who founds has begun to"
        return self._bootstrap.on_answer(self.driver, peer, answer)

    def on_over(self, end: LeaveGroup) -> None:
        """The incarnation has ended."""
        self.ending = end
        self.notifier.notify()
        error = ExcludedError(f"{self.name} is out of the group: {end.why}: {self.advice}")
        self.local_group.end_incarnation(error if end.why else None)
        if not end.why or not self.local_group.is_running or self._coming_back is not None:
            return
        _log.warning("%s is out of group %s: %s", self.name, self.config.group, end.why)
        if self.config.rejoin:
            self._coming_back = asyncio.ensure_future(self._come_back())
        else:
            self.local_group.fail(error)

    async def _come_back(self) -> None:
        """Join again, as a new incarnation, however long it takes; unless the group refuses it."""
        error = await Bootstrap(self, self.config.connect_s).come_back(self.driver)
        self._coming_back = None
        if error is not None:
            self.local_group.fail(error)
        elif self.driver.is_over:  # excluded again since
            self.on_over(self.ending)

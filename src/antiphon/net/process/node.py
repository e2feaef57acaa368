"""A node: what makes one process take part in one group, incarnation after incarnation.

Law: the way into the group (``bootstrap``), back, and out is here, once per group. What the process
has once, whatever its groups, is the ``local_process``'s; what goes to the application and comes of
it, the ``local_group``'s. ``antiphon.join`` makes a process with one node, which ends with it.

A process that was excluded ends its stream with an error; or, with ``rejoin``, comes back as a new
incarnation, and the stream goes on.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from antiphon.core.control import FoundingAnswer, FoundingQuestion, Situation, decode_message
from antiphon.core.errors import AntiphonError, ExcludedError, StateError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.views import View as AgreedView
from antiphon.membership.bootstrap import Founding
from antiphon.net.application.config import Config
from antiphon.net.driver.driver import Driver
from antiphon.net.driver.incarnation import Incarnation
from antiphon.net.group.group import Group
from antiphon.net.group.local_group import LocalGroup
from antiphon.net.group.sending import CollectingTurn
from antiphon.net.process.bootstrap import Bootstrap
from antiphon.net.process.local_process import LocalProcess
from antiphon.net.process.override import serve, take_over
from antiphon.net.session.identity import Identity
from antiphon.net.stream.events import View
from antiphon.net.transport.address import Address
from antiphon.stack.blocks import Blocks
from antiphon.stack.effects import LeaveGroup
from antiphon.trace.schema import LEFT

HOW_TO_JOIN_AGAIN = "leave its handle (the `async with` block), then join again"
"""What an application is to do whose process was excluded."""

_log = logging.getLogger("antiphon")


class Node:
    """One process in one group."""

    def __init__(
        self,
        config: Config,
        process: LocalProcess | None = None,
        claim: "Callable[[Node], None] | None" = None,
    ) -> None:
        """Describe how to take part; nothing happens before :meth:`start`.

        Without a ``process`` that is open it makes one of its own, which has no other group.
        ``claim`` is called when the group is entered, and may refuse that.
        """
        self.config = config
        self._claim = claim
        ways = config.ways
        self.process = process or LocalProcess(
            config.me, ways.address, ways.advertised, timing=config.settings.timing,
            environment=config.environment, insecure=config.insecure,
            delay_s_max=config.delay_s_max, is_alone=True, line=config.datagrams,
        )  # fmt: skip
        """The process that takes part."""
        self.founding: Founding | None = None
        """Its vote on who founds the group, where that was to be decided."""
        self.notifier = self.process.notifier
        """For everybody who waits for something of this process."""
        self.ending = LeaveGroup("")
        """How the current incarnation ended, if it has."""
        self.has_ended = False
        """Whether it is done with the group for good."""
        self._driver: Driver | None = None
        self._coming_back: asyncio.Task[None] | None = None
        self._entering: asyncio.Task[None] | None = None
        self._is_cut_short = False
        turn = None
        if config.domain is not None:
            turn = self.process.turns.setdefault(config.domain.name, CollectingTurn())
        self.local_group = LocalGroup(config, self, turn)
        """This process's part in its group."""
        self.group = Group(self.local_group)
        """The application's handle on it."""

    # What others ask.

    @property
    def name(self) -> str:
        """The name of this process in its current incarnation."""
        return self.local_group.name

    @property
    def address(self) -> Address:
        """Where the others find this process."""
        return self.process.address

    @property
    def driver(self) -> Driver:
        """The driver of the current incarnation."""
        assert self._driver is not None, "it has been started"
        return self._driver

    @property
    def incarnation(self) -> Incarnation:
        """The current incarnation of the process."""
        assert self.process.incarnation is not None, "it has been started"
        return self.process.incarnation

    @property
    def joined_by(self) -> str:
        """What an application calls to have a handle."""
        return "antiphon.join" if self.process.is_alone else "process.join"

    @property
    def advice(self) -> str:
        """What an excluded process is to do."""
        return "it comes back by itself" if self.config.rejoin else HOW_TO_JOIN_AGAIN

    @property
    def _uses_datagrams(self) -> bool:
        return isinstance(self.config.settings.protocol, Blocks)

    # Incarnations.

    async def start(self) -> None:
        """Listen, and enter the group."""
        if self.local_group.is_started:
            me, group = self.name, self.config.group
            message = f"{me} has entered group {group} before: call {self.joined_by} again"
            raise UsageError(message)
        if self._claim is not None:
            self._claim(self)
        self.local_group.is_started = True
        self._entering = asyncio.ensure_future(self._enter())
        try:
            await self._entering
        except BaseException as error:
            with suppress(AntiphonError):
                detail = "never entered the group"
                if isinstance(error, StateError):  # it is a member: the others had better know
                    await self._leave_soon()
                    detail = LEFT if self.driver.is_over and not self.ending.why else detail
                await self._end(detail)
            if self._is_cut_short:
                config = self.config
                message = f"{config.me} has ended, and so does not join group {config.group}"
                raise UsageError(message) from None
            raise
        finally:
            self._entering = None
        self.local_group.is_running = True
        if self.driver.is_over:  # excluded while it was still on its way in
            self.on_over(self.ending)

    async def _enter(self) -> None:
        config = self.config
        try:
            if self.process.is_alone:
                await self.process.open()
            else:
                await self._until_left()
            if self._uses_datagrams:
                await self.process.open_datagrams()
            await Bootstrap(self, config.connect_s).enter(config.ways)
        except UsageError as error:
            message = f"{config.me} cannot join group {config.group}: {error}"
            raise UsageError(message) from None
        await self.local_group.wait_for_state()

    async def _until_left(self) -> None:
        """Wait until the process is out of the group that it was in before."""
        process, config = self.process, self.config
        if not process.is_open:
            message = "enter the process first, with `async with antiphon.Process(...) as process:`"
            raise UsageError(message)

        def is_out() -> bool:
            incarnation = process.incarnation
            part = incarnation.part(config.group) if incarnation is not None else None
            if part is not None and part.is_abandoned and not part.view_number:
                part.close("joins again")
                return True
            return part is None

        try:
            async with asyncio.timeout(config.connect_s):
                await self.notifier.until(is_out)
        except TimeoutError:
            message = "it has not left it yet, where it was before: the others have not let it go"
            raise UsageError(message) from None

    async def begin_incarnation(self, number: int, *, founding: AgreedView | None = None) -> Driver:
        """Take part as the incarnation of this number; ``founding`` is the list of founders."""
        config, local_group = self.config, self.local_group
        incarnation = await self.process.incarnate(is_listed=founding is not None)
        number = self.number_for(number)
        identity = self._identity(number, founding)
        if (rival := incarnation.rival(identity.domain)) is not None:
            message = "it is in it already: use the handle that it has"
            if rival != config.group:
                message = f"groups {config.group} and {rival} cannot be told apart: rename one"
            raise UsageError(message)
        self.ending = LeaveGroup("")
        self._driver = Driver(
            self, local_group, incarnation, identity, local_group.sending.queue,
            commit=local_group.commit_options(incarnation.start), trace=config.trace,
            domain=config.domain,
        )  # fmt: skip
        if config.domain is not None:
            self.process.note_number(config.domain.name, number)
        local_group.begin_incarnation(self._driver)
        return self._driver

    def number_for(self, number: int) -> int:
        """Return under which number, at least the one given, to take part in the group.

        Never under one that it had there before: others may still know the view that it was in.
        """
        incarnation, domain = self.process.incarnation, self.config.domain
        if incarnation is not None:
            number = max(number, incarnation.been.get(self.config.group, 0) + 1)
        if domain is None:
            return number
        return self.process.number_in(domain.name, number, self._has_rows)

    def _has_rows(self, number: int) -> bool:
        """Whether the run folder has rows of this process under a number."""
        folder = self.config.trace
        return folder is not None and (folder / str(self.process.id.numbered(number))).exists()

    def has_failed_elsewhere(self, process: ProcessId) -> bool:
        """Whether another process failed in another group, as earlier incarnations knew."""
        return self.process.exclusions.has_failed_elsewhere(process, self.identity().domain)

    def identity(self) -> Identity:
        """Return who this process is before it has a number in the group."""
        return self._identity(0, None)

    def _identity(self, number: int, founding: AgreedView | None) -> Identity:
        config, process = self.config, self.process
        start = process.incarnation.start if process.incarnation is not None else 0
        domain = config.domain
        return Identity(
            config.group, process.id.numbered(number), start, config.settings, founding,
            config.state is not None, with_commit=self.local_group.with_commit,
            causality_domain=domain.description if domain is not None else "",
            line=process.line.description if self._uses_datagrams else "",
        )  # fmt: skip

    async def end_incarnation(self, detail: str) -> None:
        """End the current incarnation, and stay for another one."""
        self.local_group.stop_loading()
        try:
            if self._driver is not None:
                self._driver.close(detail)
        finally:
            await self.process.release()

    async def stop(self) -> None:
        """Send what is pending, leave the group, and close; or enter it no more."""
        if self._entering is not None:
            self._is_cut_short = True
            self._entering.cancel()
            await self.notifier.until(lambda: self.has_ended)
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
            if self._driver is not None and not self._driver.is_over and not self.process.is_alone:
                self.local_group.stop_loading()
                self.local_group.calling.abandon()
                self._driver.abandon(self.process.release_soon)
            else:
                await self.end_incarnation(detail)
        finally:
            self.has_ended = True
            if self.process.is_alone:
                await self.process.close()
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

    def on_over(self, end: LeaveGroup) -> None:
        """The incarnation has ended."""
        self.ending = end
        self.notifier.notify()
        where = f"{self.name} is out of group {self.config.group}"
        error = ExcludedError(f"{where}: {end.why}: {self.advice}")
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

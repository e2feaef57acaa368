"""A node: a process that takes part in a group on a real network, life after life.

Law: the node only carries between the application and its current life (``life``).

- What the application multicasts is collected until the turn of the event loop ends, a run is
  full, something arrives, or the application reads: then it becomes ONE run. While a view is being
  left, it waits for the next one.
- Buffers are bounded. Senders wait while a member reads too slowly, or too much has not reached
  everybody. When the application does not read, what arrives is no longer confirmed (``credit``),
  except while a sender waits here: two processes that both wait to send must still confirm, or
  they would wait for each other for ever.
- A process that was excluded ends its stream with an error; or, with ``rejoin``, comes back as a
  new life, and the stream goes on.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from antiphon.core.errors import (
    AntiphonError,
    BackPressureError,
    ExcludedError,
    StateError,
    UsageError,
)
from antiphon.core.ids import ProcessId
from antiphon.core.runs import (
    PORT_APPLICATION,
    PORT_CALLS,
    PORT_COMMIT,
    PORT_ORDER,
    Letter,
    Run,
)
from antiphon.core.views import View as AgreedView
from antiphon.membership.effects import LeaveGroup
from antiphon.net.config import Config
from antiphon.net.entering import Entrance, wait_for_state
from antiphon.net.group import Group
from antiphon.net.life import Life
from antiphon.net.service import Service
from antiphon.net.session.identity import Identity
from antiphon.net.session.listener import Listener
from antiphon.net.session.peer import Peer
from antiphon.net.session.probe import Answer
from antiphon.net.stall import Stall
from antiphon.net.stream import Letter as StreamLetter
from antiphon.net.stream import Stream, View, as_blocked, as_event, say_blocked
from antiphon.stack.member import Member
from antiphon.trace.schema import LEFT

_log = logging.getLogger("antiphon")


class Node:
    """One process, its listener, its current life, and its handle on the group."""

    def __init__(self, config: Config) -> None:
        """Describe how to take part; nothing happens before :meth:`start`."""
        self.config = config
        self.group = Group(self, config.group)
        self.group.stream.on_view_read = self._on_view_read
        self.group.stream.check_entered = self._check_entered
        self.sending = sending = self.group.sending
        """What is to be sent, life after life; the rest of this house asks the node."""
        self.flush = self.group.stream.prepare = sending.flush
        self.post, self.post_letter = sending.post, sending.post_letter
        self.queue_pending = sending.queue_pending
        self._outgoing = sending.outgoing
        self.withdraw = self._outgoing.withdraw
        self.address = config.address
        self._listener = Listener(config.environment, insecure=config.insecure)
        self._life: Life | None = None
        self._entrance: Entrance | None = None
        self.view: View | None = None
        """The current view."""
        self.changed = asyncio.Event()
        """Set when something has happened that somebody may wait for."""
        self.ending = LeaveGroup("")
        """How the current life ended, if it has."""
        self._error: AntiphonError | None = None
        self._has_services = False
        self.unsent: list[bytes] = []
        """What tools wanted to multicast when the last life ended, and never went out."""
        self._services: dict[int, Service] = {PORT_CALLS: self.group.calling}
        self._is_flush_due = False
        self._waiting_senders = 0
        self._stall = Stall()
        self._coming_back: asyncio.Task[None] | None = None
        self._is_started = False
        self._is_running = False

    # What others ask.

    @property
    def name(self) -> str:
        """The name of the current life."""
        return str(self._life.process) if self._life is not None else self.config.me

    @property
    def life(self) -> Life:
        """The current life."""
        assert self._life is not None, "it has been started"
        return self._life

    @property
    def held_runs(self) -> int:
        """Runs received that wait for something in their causal past."""
        return self._life.held_runs if self._life is not None else 0

    @property
    def held_count(self) -> int:
        """Messages of this life that had to wait for something in their causal past."""
        return self._life.intake.backlog.message_count if self._life is not None else 0

    @property
    def turned_away(self) -> str | None:
        """Why somebody was turned away for being given another group."""
        return self._listener.turned_away

    @property
    def is_in(self) -> bool:
        """Whether this process is a member of the current view, as far as it knows."""
        view, life = self.view, self._life
        is_living = life is not None and not life.is_over and self._error is None
        return is_living and view is not None and self.name in view.members

    def stability(self) -> dict[str, int]:
        """Return, for each member, how many of its messages are known to be stable."""
        member = self._machine
        if member is None or member.view is None:
            return {}
        return {
            str(process): member.stability.stable(rank)
            for rank, process in enumerate(member.view.members)
        }

    def k_stable(self, k: int) -> int:
        """Return how many own messages have reached at least ``k`` other members."""
        return self._machine.stability.k_stable(k) if self._machine is not None else 0

    @property
    def _machine(self) -> Member | None:
        return self._life.member if self._life is not None else None

    # Life.

    async def start(self) -> None:
        """Listen, and enter the group."""
        if self._is_started:
            message = f"{self.name} has been started before: join again to begin another life"
            raise UsageError(message)
        self._is_started = True
        config = self.config
        try:
            self.address = await self._listener.open(config.address, config.me)
            self._entrance = Entrance(self, config.connect_s)
            if config.founding is not None:
                await self._entrance.found(config.founding)
            elif config.seeds:
                await self._entrance.join(list(config.seeds))
            else:
                await self._entrance.found_alone()
            await wait_for_state(self)
        except BaseException as error:
            with suppress(AntiphonError):
                detail = "never entered the group"
                if isinstance(error, StateError):  # it is a member: the others had better know
                    await self._leave_soon()
                    detail = LEFT if self.life.is_over and not self.ending.why else detail
                await self._end(detail)
            raise
        self._is_running = True
        if self.life.is_over:  # excluded while it was still on its way in
            self.on_over(self.ending)

    @property
    def awaited_pieces(self) -> int | None:
        """How many pieces of the state have come; None if none is waited for."""
        keeper = self._life.keeper if self._life is not None else None
        if keeper is None or keeper.has_state or self.life.is_over or self._error is not None:
            return None
        return keeper.piece_count

    def begin_life(self, process: ProcessId, start: int, *, founding: AgreedView | None) -> Life:
        """Begin a life, which whoever connects from now on comes to see."""
        config = self.config
        self.ending = LeaveGroup("")
        identity = self.identity(process, start, founding)
        former = self._life
        self._life = self._listener.life = self.sending.life = Life(
            self, identity, config.environment,
            state=config.state, trace=config.trace, delay_s_max=config.delay_s_max,
        )  # fmt: skip
        if former is not None:
            self._life.mesh.credentials.inherit(former.mesh.credentials)
        return self._life

    def identity(self, process: ProcessId, start: int, founding: AgreedView | None) -> Identity:
        """Return who this process is in one life."""
        config = self.config
        return Identity(
            config.group, process, start, config.settings, founding, config.state is not None,
            with_commit=PORT_COMMIT in self._services,
        )  # fmt: skip

    async def end_life(self, detail: str) -> None:
        """End the current life, and stay for another one."""
        life, self._listener.life = self._life, None
        if life is not None:
            await life.close(detail)

    async def stop(self) -> None:
        """Send what is pending, leave the group, and close."""
        if not self._is_running:
            return
        self._is_running = False
        detail = "stopped without the others' agreement"
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.config.drain_s):
                    await self._leave()
        finally:  # also when whoever waits for the others is cancelled
            if self._life is not None and self._life.is_over:
                detail = self.ending.why or LEFT
            await self._end(detail)

    async def _leave_soon(self) -> None:
        self.life.leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.config.drain_s):
                await self.until(self._is_out)

    async def _leave(self) -> None:
        await self.until(lambda: not self.sending.is_waiting or self._is_out())
        self.life.leave()
        await self.until(self._is_out)

    def _is_out(self) -> bool:
        self.flush()
        return self._life is None or self._life.is_over

    async def _end(self, detail: str) -> None:
        if self._coming_back is not None:
            self._coming_back.cancel()
            await asyncio.wait([self._coming_back])
        self._end_services(AntiphonError(f"{self.name} has stopped ({detail})"))
        try:
            await self.end_life(detail)
        finally:
            await self._listener.close()
            self._end_stream(None)
            self.changed.set()

    # Sending.

    def expect_flush(self) -> None:
        """Something is pending: send it when this turn of the event loop ends."""
        self.check_sendable()
        self._flush_soon()

    def check_sendable(self) -> None:
        """Refuse to take what would never go out."""
        if self._error is not None:
            raise self._error
        if not self._is_running:
            raise UsageError(self.say_outside())
        if self.group.stream.is_full and not self.group.stream.has_reader:
            message = (
                f"nobody reads group {self.group.name}, and what it delivered fills the "
                "buffer: read it (`async for event in group`) in a task of its own"
            )
            raise BackPressureError(message)

    def say_outside(self) -> str:
        """Say that this process is not in its group yet, now or any more, and what to do."""
        who, group = self.name, self.group.name
        if self._is_running:
            return f"{who} is between two lives in group {group}: do that after the next view"
        if self._is_started:
            return f"{who} is not in group {group} now: do that inside `async with`"
        advice = "write `async with antiphon.join(...) as group:` and do that inside"
        return f"{who} has not entered group {group}: {advice}"

    def _check_entered(self) -> None:
        if not self._is_started:
            raise UsageError(self.say_outside())

    def _flush_soon(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            asyncio.get_running_loop().call_soon(self._flush_on_turn)

    def _flush_on_turn(self) -> None:
        self._is_flush_due = False
        self.flush()

    def serve(self, port: int, service: Service) -> None:
        """Hand what comes on ``port`` to ``service`` from now on."""
        if port in self._services:
            what = type(self._services[port]).__name__
            message = f"group {self.group.name} has a {what} already: use that one"
            raise UsageError(message)
        self._services[port] = service

    def member_named(self, name: str) -> ProcessId:
        """Return the member of the current view with this name."""
        self.check_sendable()
        view = self._machine.view if self._machine is not None else None
        for process in view.members if view is not None else ():
            if str(process) == name:
                return process
        message = (
            f"{name} is no member of the current view of group {self.group.name}: "
            "`group.members` lists those who are"
        )
        raise UsageError(message)

    def must_wait(self, stream: Stream) -> bool:
        """Whether a sender has to wait for a view, a slow member or a slow reader."""
        return stream.is_full or self._is_held_up()

    def must_wait_to_write(self, stream: Stream) -> bool:
        """Whether somebody who sends a letter has to wait."""
        return stream.is_full or self._is_held_up(is_letter=True)

    def _is_held_up(self, *, is_letter: bool = False) -> bool:
        life, outgoing = self._life, self._outgoing
        if outgoing.is_void and (stream := self.group.stream).has_reader:
            return self.sending.is_held_up and stream.reader is not asyncio.current_task()
        if life is None or not (life.has_room and life.is_open) or outgoing.is_full:
            return True
        return is_letter and not outgoing.takes_letters

    async def flush_and_wait(self, stream: Stream, *, is_letter: bool = False) -> None:
        """Send what is pending, or let it wait its turn; wait until there is room for more."""
        self.flush()
        self.queue_pending()
        await asyncio.sleep(0)  # a turn of the loop: to read what has arrived
        if self._must_still_wait(is_letter=is_letter):
            self._waiting_senders += 1
            try:
                await self.until(lambda: not self._must_still_wait(is_letter=is_letter))
            finally:
                self._waiting_senders -= 1
        if stream.is_full and stream.has_reader and stream.reader is not asyncio.current_task():
            await stream.wait_for_room()

    def _must_still_wait(self, *, is_letter: bool) -> bool:
        is_on = self._is_running and self._error is None
        return is_on and self._is_held_up(is_letter=is_letter)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until ``condition`` holds."""
        while not condition():
            await self.until_changed()

    async def until_changed(self) -> None:
        """Wait until something has happened."""
        self.changed.clear()
        await self.changed.wait()

    def raise_error(self) -> None:
        """Raise what has ended this process's part in the group, if anything has."""
        if self._error is not None:
            raise self._error

    # What a life calls.

    def is_behind(self) -> bool:
        """Whether the application reads too slowly to take more."""
        return self.group.stream.is_full and not self._waiting_senders and self._is_running

    def on_deliver(self, runs: list[Run]) -> None:
        """Hand runs to the application, or to the service that they are for."""
        for run in runs:
            if run.port == PORT_APPLICATION and type(run) is Run:
                self.group.stream.append(run)
            elif run.port != PORT_ORDER:
                self._hand_over(run)

    def _hand_over(self, run: Run) -> None:
        """Hand over a letter, or what is for a service."""
        assert self._life is not None, "it delivers"
        sender = self._life.sender_of(run)
        if run.port == PORT_APPLICATION:
            self.group.stream.append_event(StreamLetter(str(sender), run.payloads[0]))
        elif (service := self._services.get(run.port)) is not None:
            take = service.on_letter if type(run) is Letter else service.on_message
            for payload in run.payloads:
                take(sender, payload)

    def on_view(self, view: AgreedView) -> None:
        """A view has begun: say so, and send what has waited for it."""
        self.view = as_event(view)
        self.sending.begin_life()
        self.group.stream.append_event(self.view)
        self._has_services = True
        for service in self._services.values():
            service.on_view(view)
        self.flush()
        self.changed.set()

    def on_block(self, reachable: tuple[ProcessId, ...] | None) -> None:
        """The group is blocked here; or, if None, goes on."""
        member, latest = self.life.member, self.life.latest
        if self.view is None or member is None or member.view is None or latest is None:
            return
        if reachable is None:
            self.view = View(self.view.number, tuple(map(str, member.view.members)))
        else:
            self.view = as_blocked(latest, self.view.number, reachable)
            said = say_blocked(self.view)
            _log.warning("%s is blocked in group %s: %s", self.name, self.config.group, said)
        self.group.stream.append_event(self.view)
        self.flush()
        self.changed.set()

    def on_room(self) -> None:
        """Senders may look again whether they have to wait."""
        if self.sending.is_waiting:
            self._flush_soon()
        self.changed.set()

    def on_tick(self) -> None:
        """Give up who has held senders up for too long."""
        if self.sending.is_waiting or self._waiting_senders:
            self._stall.give_up(self.life)
        else:
            self._stall.forget()

    def on_answer(self, peer: Peer, answer: Answer) -> bool:
        """While founding: look at what was found at a member's address."""
        assert self._entrance is not None, "who founds is entering"
        return self._entrance.on_answer(self.life, peer, answer)

    def _on_view_read(self, number: int) -> None:
        keeper = self._life.keeper if self._life is not None else None
        if keeper is not None:
            keeper.reach(number)

    def expect_state(self, number: int) -> None:
        """Let the application read nothing, and in the end nothing before view ``number``."""
        self.group.stream.hold(number)

    def on_state(self) -> None:
        """The state has been loaded: let the application read."""
        self.group.stream.release()
        self.changed.set()

    def on_stateless(self, error: AntiphonError) -> None:
        """The state cannot be had: this process has no place in the group."""
        self._fail(error)
        self.life.leave()

    def on_over(self, end: LeaveGroup) -> None:
        """The life has ended."""
        self.ending = end
        self.changed.set()
        advice = "it comes back by itself" if self.config.rejoin else "join again"
        error = ExcludedError(f"{self.name} is out of the group: {end.why}: {advice}")
        self._end_services(error if end.why else None)
        if not end.why or not self._is_running or self._coming_back is not None:
            return
        _log.warning("%s is out of group %s: %s", self.name, self.config.group, end.why)
        if self.config.rejoin:
            self._coming_back = asyncio.ensure_future(self._come_back())
        else:
            self._fail(error)

    def _end_services(self, error: AntiphonError | None) -> None:
        """Tell the tools that this life is over, once."""
        if self._has_services:  # it has been a member
            self._has_services = False
            self.unsent = self.sending.end_life()
            for service in self._services.values():
                service.on_end(error)

    def _fail(self, error: AntiphonError) -> None:
        self._error = error
        self._end_stream(error)
        self.changed.set()

    def _end_stream(self, error: AntiphonError | None) -> None:
        self.sending.begin_life()
        self.group.stream.end(error)

    async def _come_back(self) -> None:
        """Join again, as a new life, however long it takes; unless the group refuses it."""
        error = await Entrance(self, self.config.connect_s).come_back(self.life)
        self._coming_back = None
        if error is not None:
            self._fail(error)
        elif self.life.is_over:  # excluded again since
            self.on_over(self.ending)

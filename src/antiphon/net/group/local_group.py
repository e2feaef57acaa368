"""A group as one process has it: what goes to its application, and what comes of it.

Law: it only carries, between the application and the driver of the current incarnation. It lasts as
long as the process takes part in the group, incarnation after incarnation. What happens in the
group comes from the driver (``driver.owners.Application``), in order; what concerns the process as
a whole, such as the end of an incarnation, its process says.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Protocol

from antiphon.core.errors import AntiphonError, ExcludedError, StateError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, ExpiredRun, Letter, Run
from antiphon.core.views import View as AgreedView
from antiphon.net.application.config import Config
from antiphon.net.driver.driver import Driver
from antiphon.net.group.admission import Admission
from antiphon.net.group.application_state import STATE_S, ApplicationState
from antiphon.net.group.awaiting import Awaiting
from antiphon.net.group.calling import Calling
from antiphon.net.group.sending import CollectingTurn, Sending
from antiphon.net.stream.events import Letter as StreamLetter
from antiphon.net.stream.events import View, as_blocked, as_event, say_blocked
from antiphon.net.stream.notifier import Notifier
from antiphon.net.stream.stream import Stream
from antiphon.net.transport.address import Address
from antiphon.stack.effects import (
    AdmitSenders,
    AskVote,
    ConcludeCall,
    Decided,
    Effect,
    ExpectState,
    HandRequest,
    KnowPast,
    LeaveGroup,
    LoadChunk,
    NameTransaction,
    ReturnUnsent,
    SaveState,
    StateLost,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import Input
from antiphon.stack.member import Member
from antiphon.stack.ports import CommitOptions
from antiphon.toolkit.commit import Commit

_log = logging.getLogger("antiphon")


class GroupProcess(Protocol):
    """What a group needs of the process that takes part in it."""

    notifier: Notifier
    ending: LeaveGroup
    """How the current incarnation ended, if it has."""

    @property
    def address(self) -> Address:
        """Where the others find it."""

    @property
    def joined_by(self) -> str:
        """What an application calls to have a handle."""

    @property
    def advice(self) -> str:
        """What an excluded process is to do."""

    async def start(self) -> None:
        """Listen, and enter the group."""

    async def stop(self) -> None:
        """Send what is pending, leave the group, and close."""

    async def take_over(self, who: str) -> View:
        """Have this process go on alone, at the order of ``who``."""


class CommitTool(Protocol):
    """What takes part in transactions for the application (``committing.Committer``)."""

    vote_us: int

    def on_view(self, machine: Commit) -> None:
        """A view has begun, of the incarnation that this machine is of."""

    def on_end(self, error: AntiphonError | None) -> None:
        """The process is out of the group."""

    def do(self, effect: NameTransaction | AskVote | Decided | KnowPast) -> None:
        """Do what the machine says."""


class LocalGroup:
    """One process's part in one group: its stream, its queue, its tools."""

    def __init__(
        self, config: Config, process: GroupProcess, turn: CollectingTurn | None = None
    ) -> None:
        """Nothing happens before the process enters the group.

        The ``turn`` is shared by all groups of its causality domain in this process.
        """
        self.config = config
        self.process = process
        self.group_name = config.group
        self.notifier = process.notifier
        self.is_started = False
        """Whether the process has begun to enter the group."""
        self.is_running = False
        """Whether it has entered the group, and not begun to leave."""
        self.error: AntiphonError | None = None
        """What has ended this process's part in the group, if anything has."""
        self.view: View | None = None
        """The current view."""
        self._members: tuple[str, ...] = ()
        self._driver: Driver | None = None
        self.stream = stream = Stream(clock_s=config.environment.clock_s)
        """Where deliveries and views go."""
        self.sending = sending = Sending(self, stream, config.settings.limits.queued_bytes)
        """What leaves, and what waits to."""
        sending.turn = turn
        stream.name = config.group
        stream.domain = config.domain.name if config.domain is not None else None
        stream.is_awaited = lambda: self._state is not None and self._state.is_awaited
        stream.on_beginning = sending.on_beginning
        stream.on_view_read = self._on_view_read
        stream.check_entered = self._check_entered
        self.flush = stream.prepare = sending.flush
        self.admission = Admission(self, stream, sending, self.notifier)
        """Who may send, and who has to wait."""
        self.calling = Calling(self)
        """What is called, and answered."""
        self.awaiting = Awaiting()
        """Own messages that somebody waits for until they are delivered."""
        self._committer: CommitTool | None = None
        self._state: ApplicationState | None = None

    # What others ask.

    @property
    def joined_by(self) -> str:
        """What an application calls to have a handle."""
        return self.process.joined_by

    @property
    def name(self) -> str:
        """The name of this process in its current incarnation."""
        return str(self._driver.process) if self._driver is not None else self.config.me

    @property
    def driver(self) -> Driver:
        """The driver of the current incarnation."""
        assert self._driver is not None, "it has been started"
        return self._driver

    @property
    def held_runs(self) -> int:
        """Runs received that wait for something in their causal past."""
        member = self.member
        return member.ordering.queue_depth if member is not None else 0

    @property
    def held_count(self) -> int:
        """Messages of this incarnation that had to wait for something in their causal past."""
        member = self.member
        return member.ordering.held_count if member is not None else 0

    @property
    def is_in(self) -> bool:
        """Whether this process is a member of the current view, as far as it knows."""
        view, driver = self.view, self._driver
        is_alive = driver is not None and not driver.is_over and self.error is None
        return is_alive and view is not None and self.name in view.members

    @property
    def is_caught_up(self) -> bool:
        """Whether everything delivered has been read, and a multicast would go out at once."""
        is_free = not (self.sending.is_waiting or self.sending.queue.is_void)
        member = self.member
        is_open = self.is_in and member is not None and member.may_multicast
        return is_open and is_free and self.stream.is_read and not self.admission.must_wait()

    @property
    def member(self) -> Member | None:
        """Views and orders of the current incarnation, to look into."""
        return self._driver.member if self._driver is not None else None

    @property
    def endpoint(self) -> Endpoint | None:
        """The machine of the current incarnation."""
        return self._driver.endpoint if self._driver is not None else None

    def member_named(self, name: str) -> ProcessId:
        """Return the member of the current view with this name."""
        self.admission.check_sendable(is_letter=True)
        view = self.member.view if self.member is not None else None
        for process in view.members if view is not None else ():
            if str(process) == name:
                return process
        message = (
            f"{name} is no member of the current view of group {self.group_name}: "
            "`group.members` lists those who are"
        )
        raise UsageError(message)

    def raise_error(self) -> None:
        """Raise what has ended this process's part in the group, if anything has."""
        if self.error is not None:
            raise self.error

    def _check_entered(self) -> None:
        if not self.is_started:
            raise UsageError(self.admission.say_outside())

    # Incarnations.

    @property
    def with_commit(self) -> bool:
        """Whether this process takes part in transactions."""
        return self._committer is not None

    def commit_options(self, start: int) -> CommitOptions | None:
        """Return what the machine of an incarnation is to know of transactions."""
        if self._committer is None:
            return None
        return CommitOptions(self._committer.vote_us, start)

    def begin_incarnation(self, driver: Driver) -> None:
        """Go on with the driver of a new incarnation."""
        self.stop_loading()
        if self.config.state is not None:
            state = self.config.state
            self._state = ApplicationState(self, state, self.stream, self.notifier)
        self.admission.close()
        self._driver = self.sending.driver = driver

    def end_incarnation(self, error: AntiphonError | None) -> None:
        """Tell the tools that the current incarnation is over."""
        self.admission.close()
        self.flush()  # it belongs to what has ended
        self.sending.end_incarnation()
        if self.awaiting:
            left = ExcludedError(f"{self.name} has left before the message was delivered here")
            self.awaiting.end(error or left)
        if self._committer is not None:
            self._committer.on_end(error)

    def stop_loading(self) -> None:
        """Load no more of the group's state."""
        if self._state is not None:
            self._state.close()

    def fail(self, error: AntiphonError) -> None:
        """End this process's part in the group with an error."""
        self.error = error
        self.end_stream(error)
        self.notifier.notify()

    def end_stream(self, error: AntiphonError | None) -> None:
        """Deliver nothing more."""
        self.sending.end()
        self.stream.end(error)

    @property
    def awaited_pieces(self) -> int | None:
        """How many pieces of the state have come; None if none is waited for."""
        state, driver = self._state, self._driver
        if state is None or driver is None or self.error is not None:
            return None
        return state.piece_count if not (driver.has_state or driver.is_over) else None

    async def wait_for_state(self) -> None:
        """Wait until a joiner has loaded the state; as long as it takes, if pieces come."""
        while (before := self.awaited_pieces) is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(STATE_S):
                    await self.notifier.until(lambda: self.awaited_pieces is None)
            if self.awaited_pieces == before:
                message = (
                    f"{self.name} has not got the state of group {self.group_name}: none has come "
                    f"for {STATE_S:g} s: does the application of the most senior member read it?"
                )
                raise StateError(message)
        self.raise_error()

    # What the tools ask.

    def take_committer(self, committer: CommitTool) -> None:
        """Take part in transactions."""
        if self._committer is not None:
            message = f"group {self.group_name} has a Committer already: use that one"
            raise UsageError(message)
        self._committer = committer

    def give(self, happened: Input) -> None:
        """Give an input to the machine of the current incarnation."""
        if self._driver is not None:
            self._driver.give(happened)

    def on_stateless(self, error: AntiphonError) -> None:
        """The state cannot be had: this process has no place in the group."""
        self.fail(error)
        self.driver.leave()

    # What the driver calls.

    def on_deliver(self, runs: list[Run]) -> None:
        """Hand runs to the application; what is for a tool, the machine has seen to."""
        stream = self.stream
        for run in runs:
            if run.port == PORT_APPLICATION:
                if type(run) is Letter:
                    sender = self.driver.sender_of(run)
                    stream.append_event(StreamLetter(str(sender), run.payloads[0]))
                else:
                    if type(run) is ExpiredRun:
                        stream.append_expired(run, str(self.driver.sender_of(run)))
                    else:
                        stream.append(run)
                    if self.awaiting and self.driver.sender_of(run) == self.driver.process:
                        self.awaiting.look(run, self.name)
        if stream.is_full:
            self.admission.note_full()

    def on_view(self, view: AgreedView) -> None:
        """A view has begun: say so."""
        self.view = as_event(view)
        self._members = self.view.members
        self.sending.begin_incarnation()
        self.stream.append_event(self.view)
        endpoint = self.endpoint
        if self._committer is not None and endpoint is not None:
            commit = endpoint.ports.commit
            assert commit is not None, "the machine was made with it"
            self._committer.on_view(commit)
        if self._state is not None and endpoint is not None:
            self._state.enter(view, has_state=endpoint.has_state)
        self.admission.tell_machine()
        self.flush()
        self.notifier.notify()

    def on_effect(self, effect: Effect) -> None:
        """Do what is left to the application: admissions, calls, votes, state."""
        match effect:
            case AdmitSenders():
                self.admission.admit(effect)
            case HandRequest():
                self.calling.hand_over(effect)
            case ConcludeCall():
                self.calling.conclude(effect)
            case NameTransaction() | AskVote() | Decided() | KnowPast():
                assert self._committer is not None, "the machine was made for it"
                self._committer.do(effect)
            case SaveState() | ExpectState() | LoadChunk() | StateLost():
                assert self._state is not None, "likewise"
                self._state.do(effect)
            case _:
                assert isinstance(effect, ReturnUnsent), "that is all there is"
                self.sending.take_back(effect)

    def on_block(self, reachable: tuple[ProcessId, ...] | None) -> None:
        """The group is blocked here; or, if None, goes on."""
        member, latest = self.driver.member, self.driver.latest
        if self.view is None or member is None or member.view is None or latest is None:
            return
        if reachable is None:  # what the machine knows by now may be a later view
            self.view = View(self.view.number, self._members)
        else:
            self.view = as_blocked(latest, self.view.number, reachable)
            said = say_blocked(self.view)
            how = f"antiphon takeover {self.process.address} --group {self.group_name}"
            _log.warning(
                "%s is blocked in group %s: %s (%s)", self.name, self.group_name, said, how
            )
        self.stream.append_event(self.view)
        self.flush()
        self.notifier.notify()

    def _on_view_read(self, number: int) -> None:
        if self._state is not None:
            self._state.reach(number)

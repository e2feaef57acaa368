"""A node: a process that takes part in a group on a real network, incarnation after incarnation.

Law: the node only carries between the application and the current incarnation (``driver``).

- Buffers are bounded. Senders wait until the machine admits them, and it is told whenever the
  application reads too slowly (``stack.flow_control``).
- A process that was excluded ends its stream with an error; or, with ``rejoin``, comes back as a
  new incarnation, and the stream goes on.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from antiphon.core.control import FoundingAnswer, FoundingQuestion, Situation, decode_message
from antiphon.core.errors import (
    AntiphonError,
    BackPressureError,
    ExcludedError,
    StateError,
    UsageError,
)
from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_APPLICATION, Letter, Run
from antiphon.core.views import View as AgreedView
from antiphon.membership.bootstrap import Founding
from antiphon.net.asking import Answer
from antiphon.net.config import Config
from antiphon.net.door import Door
from antiphon.net.driver import Driver
from antiphon.net.entering import Entrance, wait_for_state
from antiphon.net.group import Group
from antiphon.net.identity import Identity
from antiphon.net.override import serve
from antiphon.net.peer import Peer
from antiphon.net.state_keeper import StateKeeper
from antiphon.net.stream import Letter as StreamLetter
from antiphon.net.stream import Stream, View, as_blocked, as_event, say_blocked
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
from antiphon.stack.inputs import Input, ReaderLagged, SendersWaited
from antiphon.stack.member import Member
from antiphon.stack.ports import CommitOptions
from antiphon.trace.schema import LEFT

if TYPE_CHECKING:
    from antiphon.net.committing import Committer

_log = logging.getLogger("antiphon")


class Node:
    """One process, its door, its current life, and its handle on the group."""

    def __init__(self, config: Config) -> None:
        """Describe how to take part; nothing happens before :meth:`start`."""
        self.config = config
        self.group = Group(self, config.group)
        self.group.stream.on_view_read = self._on_view_read
        self.group.stream.check_entered = self._check_entered
        self.sending = sending = self.group.sending
        """What is to be sent, life after life; the rest of this house asks the node."""
        self.flush = self.group.stream.prepare = sending.flush
        self.address = config.ways.address
        """Where the others find this process."""
        self.founding: Founding | None = None
        """Its vote on who founds the group, where that was to be decided."""
        self._door = Door(insecure=config.insecure)
        self._life: Driver | None = None
        self._entrance: Entrance | None = None
        self.view: View | None = None
        """The current view."""
        self.changed = asyncio.Event()
        """Set when something has happened that somebody may wait for."""
        self.ending = LeaveGroup("")
        """How the current life ended, if it has."""
        self._error: AntiphonError | None = None
        self._committer: Committer | None = None
        self._keeper: StateKeeper | None = None
        self._admits = AdmitSenders(messages=False, letters=False)
        self._is_flush_due = False
        self._is_lagging = False
        self._waiting_senders = 0
        self._coming_back: asyncio.Task[None] | None = None
        self._is_started = False
        self._is_running = False

    # What others ask.

    @property
    def name(self) -> str:
        """The name of the current life."""
        return str(self._life.process) if self._life is not None else self.config.me

    @property
    def life(self) -> Driver:
        """The driver of the current incarnation."""
        assert self._life is not None, "it has been started"
        return self._life

    @property
    def held_runs(self) -> int:
        """Runs received that wait for something in their causal past."""
        member = self._machine
        return member.ordering.queue_depth if member is not None else 0

    @property
    def held_count(self) -> int:
        """Messages of this life that had to wait for something in their causal past."""
        member = self._machine
        return member.ordering.held_count if member is not None else 0

    @property
    def turned_away(self) -> str | None:
        """Why somebody was turned away for being given another group."""
        return self._door.turned_away

    @property
    def is_in(self) -> bool:
        """Whether this process is a member of the current view, as far as it knows."""
        view, life = self.view, self._life
        is_living = life is not None and not life.is_over and self._error is None
        return is_living and view is not None and self.name in view.members

    @property
    def endpoint(self) -> Endpoint | None:
        """The machine of the current incarnation."""
        return self._life.endpoint if self._life is not None else None

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
            ways = config.ways
            bound = await self._door.open(ways.address, config.me)
            self.address = ways.advertised or bound
            self._entrance = Entrance(self, config.connect_s)
            await self._entrance.enter(ways)
            await wait_for_state(self)
        except BaseException as error:
            with suppress(AntiphonError):
                if isinstance(error, StateError):  # it is a member: the others had better know
                    await self._leave_soon()
                await self._end("never entered the group")
            raise
        self._is_running = True
        if self.life.is_over:  # excluded while it was still on its way in
            self.on_over(self.ending)

    @property
    def awaited_pieces(self) -> int | None:
        """How many pieces of the state have come; None if none is waited for."""
        keeper, life = self._keeper, self._life
        if keeper is None or life is None or self._error is not None:
            return None
        return keeper.piece_count if not (life.has_state or life.is_over) else None

    def begin_life(self, process: ProcessId, start: int, *, founding: AgreedView | None) -> Driver:
        """Begin a life, which whoever connects from now on comes to see."""
        config = self.config
        self.ending = LeaveGroup("")
        identity = self.identity(process, start, founding)
        former = self._life
        commit = None
        if self._committer is not None:
            commit = CommitOptions(self._committer.vote_us, start)
        if config.state is not None:
            self._keeper = StateKeeper(self, config.state)
        self._admits = AdmitSenders(messages=False, letters=False)
        self._life = self._door.life = self.sending.driver = Driver(
            self, identity, self.sending.queue, commit=commit, trace=config.trace,
            delay_s_max=config.delay_s_max,
        )  # fmt: skip
        if former is not None:
            self._life.mesh.credentials.inherit(former.mesh.credentials)
        return self._life

    def identity(self, process: ProcessId, start: int, founding: AgreedView | None) -> Identity:
        """Return who this process is in one life."""
        config = self.config
        return Identity(
            config.group, process, start, config.settings, founding, config.state is not None,
            with_commit=self._committer is not None,
        )  # fmt: skip

    async def end_life(self, detail: str) -> None:
        """End the current life, and stay for another one."""
        life, self._door.life = self._life, None
        if self._keeper is not None:
            self._keeper.close()
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
            await self._door.close()
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

    def take_committer(self, committer: "Committer") -> None:
        """Take part in transactions."""
        if self._committer is not None:
            message = f"group {self.group.name} has a Committer already: use that one"
            raise UsageError(message)
        self._committer = committer

    def give(self, happened: Input) -> None:
        """Give an input to the machine of the current incarnation."""
        if self._life is not None:
            self._life.give(happened)

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
        if self.sending.queue.is_void and (stream := self.group.stream).has_reader:
            return self.sending.is_held_up and stream.reader is not asyncio.current_task()
        return not (self._admits.letters if is_letter else self._admits.messages)

    async def flush_and_wait(self, stream: Stream, *, is_letter: bool = False) -> None:
        """Send what is pending, or let it wait its turn; wait until there is room for more."""
        self.flush()
        await asyncio.sleep(0)  # a turn of the loop: to read what has arrived
        if self._must_still_wait(is_letter=is_letter):
            self._count_waiting(1)
            try:
                await self.until(lambda: not self._must_still_wait(is_letter=is_letter))
            finally:
                self._count_waiting(-1)
        if stream.is_full and stream.has_reader and stream.reader is not asyncio.current_task():
            await stream.wait_for_room()

    def _count_waiting(self, change: int) -> None:
        before, self._waiting_senders = self._waiting_senders, self._waiting_senders + change
        if bool(before) != bool(self._waiting_senders):
            self.give(SendersWaited(is_waiting=bool(self._waiting_senders)))

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

    # What a driver calls.

    def on_deliver(self, runs: list[Run]) -> None:
        """Hand runs to the application; what is for a tool, the machine has seen to."""
        stream = self.group.stream
        for run in runs:
            if run.port == PORT_APPLICATION:
                if type(run) is Letter:
                    sender = self.life.sender_of(run)
                    stream.append_event(StreamLetter(str(sender), run.payloads[0]))
                else:
                    stream.append(run)
        if stream.is_full and not self._is_lagging and self._is_running:
            self._is_lagging = True
            stream.call_on_room(self._on_reader_room)
            self.give(ReaderLagged(is_behind=True))

    def _on_reader_room(self) -> None:
        self._is_lagging = False
        self.give(ReaderLagged(is_behind=False))

    def on_view(self, view: AgreedView) -> None:
        """A view has begun: say so."""
        self.view = as_event(view)
        self.sending.begin_incarnation()
        self.group.stream.append_event(self.view)
        endpoint = self.life.endpoint
        if self._committer is not None and endpoint is not None:
            commit = endpoint.ports.commit
            assert commit is not None, "the machine was made with it"
            self._committer.on_view(commit)
        self.flush()
        self.changed.set()

    def on_effect(self, effect: Effect) -> None:
        """Do what is left to the application: admissions, calls, votes, state."""
        match effect:
            case AdmitSenders():
                self._admits = effect
                self.changed.set()
            case HandRequest():
                self.group.calling.hand_over(effect)
            case ConcludeCall():
                self.group.calling.conclude(effect)
            case NameTransaction() | AskVote() | Decided() | KnowPast():
                assert self._committer is not None, "the machine was made for it"
                self._committer.do(effect)
            case SaveState() | ExpectState() | LoadChunk() | StateLost():
                assert self._keeper is not None, "likewise"
                self._keeper.do(effect)
            case _:
                assert isinstance(effect, ReturnUnsent), "that is all there is"
                self.sending.take_back(effect)

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
            how = f"antiphon takeover {self.address} --group {self.config.group}"
            _log.warning(
                "%s is blocked in group %s: %s (%s)", self.name, self.config.group, said, how
            )
        self.group.stream.append_event(self.view)
        self.flush()
        self.changed.set()

    def on_vote(self, question: bytes) -> FoundingAnswer | None:
        """Vote on who founds the group, if this process has a vote."""
        founding = self.founding
        asked = decode_message(question) if founding is not None else None
        if founding is None or not isinstance(asked, FoundingQuestion):
            return None
        self.changed.set()
        return founding.answer(asked)

    def on_operator(self, order: str, number: int, who: str) -> Situation:
        """Do what an operator orders, of who is blocked in view ``number``."""
        return serve(self, order, number, who)

    def on_room(self) -> None:
        """A connection has come or gone, or time has passed: whoever waits may look again."""
        self.changed.set()

    def on_answer(self, peer: Peer, answer: Answer) -> bool:
        """While founding: look at what was found at a member's address."""
        assert self._entrance is not None, "who founds is entering"
        return self._entrance.on_answer(self.life, peer, answer)

    def _on_view_read(self, number: int) -> None:
        if self._keeper is not None:
            self._keeper.reach(number)

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
        """Tell the tools that this incarnation is over."""
        self._admits = AdmitSenders(messages=False, letters=False)
        self.flush()  # it belongs to what has ended
        self.sending.end_incarnation()
        if self._committer is not None:
            self._committer.on_end(error)

    def _fail(self, error: AntiphonError) -> None:
        self._error = error
        self._end_stream(error)
        self.changed.set()

    def _end_stream(self, error: AntiphonError | None) -> None:
        self.sending.begin_incarnation()
        self.group.stream.end(error)

    async def _come_back(self) -> None:
        """Join again, as a new life, however long it takes; unless the group refuses it."""
        error = await Entrance(self, self.config.connect_s).come_back(self.life)
        self._coming_back = None
        if error is not None:
            self._fail(error)
        elif self.life.is_over:  # excluded again since
            self.on_over(self.ending)

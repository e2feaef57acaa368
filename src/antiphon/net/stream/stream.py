"""The stream of a group: messages and views that have not yet been read by the application.

Law: everything delivered is read once, in the order of delivery, messages and views in one
stream (``reading``). A message between two views was multicast, and delivered by everybody, in the
first of them. The stream says when it is full, so that the group can hold senders up; it never
drops anything.

A process that reads all its groups together has a stream of its own (``process_stream``), which
says whose turn it is; what waits to be read waits here.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

from antiphon.core.errors import AntiphonError, UsageError
from antiphon.core.runs import Run
from antiphon.net.stream.events import Beginning, Expired, Letter, Unsent, View
from antiphon.net.stream.reading import Entry, Other, StreamReading
from antiphon.net.stream.request import Request
from antiphon.net.transport.environment import SYSTEM
from antiphon.stack.send_queue import MESSAGE_BYTES, weight

UNREAD_BYTES_MAX = 16 * 1024 * 1024
"""Delivered and unread bytes, overhead included, at which receipts are no longer confirmed."""

READ_SAID_S = 0.25
"""How often it is said at most that something is read of a stream that has been full."""


class Turns(Protocol):
    """The stream of a process, as far as that of one of its groups is concerned."""

    reader: asyncio.Task[object] | None
    """The task that read last, if all groups are read together."""

    @property
    def is_read(self) -> bool:
        """Whether everything of all groups has been handed to a reader."""

    def note(self, stream: "Stream") -> None:
        """Something has been added to a group's stream."""

    def drop(self, stream: "Stream", count: int) -> None:
        """So many of the first things in a group's stream are never read."""

    def end(self, stream: "Stream", error: AntiphonError | None) -> None:
        """A group's stream has ended."""

    def wake(self) -> None:
        """There may be something to read."""

    def read_alone(self, stream: "Stream") -> None:
        """A group is read by itself; refuse that if all are read together."""


class Stream(StreamReading):
    """What waits to be read."""

    def __init__(
        self,
        prepare: Callable[[], None] = lambda: None,
        clock_s: Callable[[], float] = SYSTEM.clock_s,
    ) -> None:
        """Call ``prepare`` before waiting: it may have own messages to deliver."""
        super().__init__(clock_s)
        self._names: tuple[str, ...] = ()
        self._number = 0
        self.prepare = prepare
        self._unread: deque[Entry] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._error: AntiphonError | None = None
        self._on_room: list[Callable[[], None]] = []
        self._read_said_s = 0.0
        self.on_read: Callable[[], None] = lambda: None
        """Called now and then when something is read, while somebody waits for room."""
        self._is_held = False
        self.name = ""
        """The name of the group."""
        self.domain: str | None = None
        """Its causality domain, if it shares one with other groups."""
        self.turns: Turns | None = None
        """The stream of the process, unless each group is read by itself."""
        self.is_awaited: Callable[[], bool] = lambda: False
        """Whether another member waits for the reader to come to a view."""
        self.check_entered: Callable[[], None] = lambda: None
        """Called before a reader waits; raises if the group was not entered."""
        self.on_view_read: Callable[[int], None] = lambda _number: None
        """Called when the reader comes to a view: it has read everything before."""
        self.on_beginning: Callable[[int], Unsent] = lambda _incarnation: Unsent((), ())
        """Called when the reader comes to another incarnation; returns what it is told first."""
        self.on_request: Callable[[Request], Awaitable[None] | None] | None = None
        """Answers requests where the reader comes to them; without it they are read."""
        self._answering: Awaitable[None] | None = None  # what the reader has to see to first
        self.is_answered_now = False
        """Whether what answers requests needs no task: it may be called from anywhere."""
        self.unread_bytes = 0
        self._reader_task: asyncio.Task[object] | None = None

    @property
    def reader(self) -> asyncio.Task[object] | None:
        """The task that read last."""
        turns = self.turns
        return self._reader_task if turns is None or turns.reader is None else turns.reader

    @property
    def is_full(self) -> bool:
        """Whether the application is too far behind."""
        return self.unread_bytes >= UNREAD_BYTES_MAX

    @property
    def has_reader(self) -> bool:
        """Whether the task that read last may read again."""
        reader = self.reader
        return reader is not None and not reader.done()

    @property
    def is_held(self) -> bool:
        """Whether nothing may be read for now."""
        return self._is_held and not self._ended

    @property
    def is_read(self) -> bool:
        """Whether everything has been handed to a reader."""
        is_mine = not self._is_held and not self._has_head() and not self._has_unread()
        return is_mine and (self.turns is None or self.turns.is_read)

    def append(self, run: Run) -> None:
        """Add what has just been delivered."""
        self._unread.append(run)
        self.unread_bytes += weight(run)
        if self.turns is not None:
            self.turns.note(self)
        self._wake()

    def append_event(self, event: Expired | View | Letter | Request | Beginning) -> None:
        """Add a view that has just begun, or whose standing has changed; a letter; a request."""
        self._unread.append(event)
        self.unread_bytes += _event_weight(event)
        if self.turns is not None:
            self.turns.note(self)
        self._wake()

    def append_expired(self, run: Run, sender: str) -> None:
        """Add that messages of ``sender`` have expired, in their place."""
        for number in range(run.first, run.last + 1):
            self.append_event(Expired(sender, number))

    def offer(self, request: Request) -> None:
        """Add a request; or have it answered at once, if the reader waits for just that."""
        waiter = self._waiter
        is_next = waiter is not None and not waiter.done() and not self._unread
        is_now = self.is_answered_now and self._answering is None and not self.is_held
        if is_next and is_now and self.on_request is not None:
            waiting = self.on_request(request)
            if waiting is not None:  # it needs a task after all: that of the reader
                self.is_answered_now = False
                self._answering = waiting
                self._wake()
        else:
            self.append_event(request)

    def hold(self, number: int) -> None:
        """Let nothing be read until :meth:`release`, and never what is before view ``number``."""
        self._is_held = True
        self._drop_head()
        kept: list[Letter | Beginning] = []
        before = len(self._unread)
        while self._unread:
            entry = self._unread[0]
            if isinstance(entry, View) and entry.number >= number:
                break
            self._unread.popleft()
            self._note_read(entry)
            if isinstance(entry, Letter | Beginning):
                kept.append(entry)
            elif isinstance(entry, Request):
                entry.refuse("it has joined only just now, and gets the group's state")
        for event in reversed(kept):  # no state has these
            self._unread.appendleft(event)
            self.unread_bytes += _event_weight(event)
        if self.turns is not None:
            self.turns.drop(self, before - len(self._unread))

    def release(self) -> None:
        """Let the reader go on."""
        self._is_held = False
        self._wake()
        if self.turns is not None:
            self.turns.wake()

    def end(self, error: AntiphonError | None = None) -> None:
        """Nothing more will be delivered; whoever has read everything gets ``error``, if any."""
        if not self._ended:
            self._error = error
            if self.turns is not None:
                self.turns.end(self, error)
        self._ended = True
        self._wake()
        self._call_on_room()

    def call_on_room(self, action: Callable[[], None]) -> None:
        """Call ``action`` once, when half of the stream has been read."""
        if action not in self._on_room:
            self._on_room.append(action)

    async def wait_for_room(self) -> None:
        """Wait until half of the stream has been read, its reader is gone, or it has ended."""
        if self._ended:
            return
        room = asyncio.Event()
        reader = self.reader
        assert reader is not None, "the caller has seen that somebody reads"
        self._on_room.append(room.set)

        def leave(_: object) -> None:
            room.set()

        reader.add_done_callback(leave)
        try:
            await room.wait()
        finally:
            reader.remove_done_callback(leave)

    def _note_read(self, entry: Entry) -> None:
        self.unread_bytes -= weight(entry) if isinstance(entry, Run) else _event_weight(entry)
        if not self._on_room:  # nearly always
            return
        if self.unread_bytes < UNREAD_BYTES_MAX // 2:
            self._call_on_room()
        elif (now_s := self._clock_s()) >= self._read_said_s + READ_SAID_S:
            self._read_said_s = now_s
            self.on_read()

    def _call_on_room(self) -> None:
        actions, self._on_room = self._on_room, []
        for action in actions:
            action()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # StreamReading.

    def _begin(self) -> None:
        if self.turns is not None:
            self.turns.read_alone(self)

    def sender_of(self, run: Run) -> str:
        """Return the name of whoever sent the run that was taken last."""
        return self._names[run.sender]

    async def is_answered(self, entry: Other, *, is_read: bool) -> bool:
        """Whether the reader need not see an entry: a request that has been answered, say."""
        if isinstance(entry, Request) and self.on_request is not None:
            waiting = self.on_request(entry)
            if waiting is not None:
                await waiting
            return True
        if isinstance(entry, Request) and not is_read:
            entry.refuse("nobody answers calls here")
        return not is_read or (isinstance(entry, Unsent) and not entry.payloads)

    def take(self) -> Run | Other:
        """Take the next thing to read."""
        entry = self._unread.popleft()
        self._note_read(entry)
        if isinstance(entry, Beginning):
            return self.on_beginning(entry.incarnation)
        if isinstance(entry, View) and entry.number != self._number:
            self._number, self._names = entry.number, entry.members
            self.on_view_read(entry.number)
        return entry

    async def _wait(self) -> bool:
        """Wait until there is something to read; False at the end of the stream."""
        self._reader_task = asyncio.current_task()
        if self._wants_turn():
            await self._give_turn()
        while self._answering is not None or not self._has_unread():
            if self._answering is not None:
                answering, self._answering = self._answering, None
                await answering
                continue
            self.prepare()
            if self._has_unread():
                break
            if self._ended:
                if self._error is not None:
                    raise self._error
                return False
            await self._sleep()
        return True

    def _has_unread(self) -> bool:
        if self.is_held:
            return False
        return self._head is not None or bool(self._unread)

    async def _sleep(self) -> None:
        self.check_entered()
        if self._waiter is not None:
            message = "two tasks wait for the same group: read it in one, and let that one share"
            raise UsageError(message)
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
            self._begin_turn()


def _event_weight(event: Expired | View | Letter | Request | Beginning) -> int:
    if isinstance(event, View | Beginning):
        return 0
    return MESSAGE_BYTES + (0 if isinstance(event, Expired) else len(event.payload))

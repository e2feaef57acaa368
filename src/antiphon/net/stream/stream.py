"""The stream of a group: messages and views that have not yet been read by the application.

Law: everything delivered is read once, in the order of delivery, messages and views in one
stream, through any form: message by message or batch by batch, also when a reader stops in the
middle of a batch and another goes on. A message between two views was multicast, and delivered by
everybody, in the first of them. The stream says when it is full, so that the group can hold senders
up; it never drops anything.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import count, islice, repeat
from typing import cast

from antiphon.core.errors import AntiphonError, UsageError
from antiphon.core.runs import Run
from antiphon.net.stream.events import (
    Batch,
    Beginning,
    Event,
    Letter,
    Message,
    Unsent,
    View,
)
from antiphon.net.stream.request import Request
from antiphon.net.transport.environment import SYSTEM
from antiphon.stack.send_queue import MESSAGE_BYTES, weight

UNREAD_BYTES_MAX = 16 * 1024 * 1024
"""Delivered and unread bytes, overhead included, at which receipts are no longer confirmed."""

_TURNS_PER_YIELD = 64
"""Batches read without waiting before the event loop gets a turn."""

_TURN_S = 0.01
"""How long a reader goes on, with what its application does in between, before it gets one."""

_CHUNK_MAX = 32
"""Messages read before a reader looks at the clock; less while its application takes its time."""

_CHUNK_S = _TURN_S / _CHUNK_MAX

_Entry = Run | View | Letter | Request | Beginning
_Other = View | Letter | Request | Unsent


class Stream:
    """What waits to be read."""

    def __init__(
        self,
        prepare: Callable[[], None] = lambda: None,
        clock_s: Callable[[], float] = SYSTEM.clock_s,
    ) -> None:
        """Call ``prepare`` before waiting: it may have own messages to deliver."""
        self._clock_s = clock_s
        self._names: tuple[str, ...] = ()
        self._number = 0
        self.prepare = prepare
        self._unread: deque[_Entry] = deque()
        # What is left of the run being read message by message. Kept here and not in the reader,
        # because a reader that breaks off is not told that it has ended.
        self._head: Iterator[Message] | None = None
        self._peeked: Message | None = None  # of the head, before the rest of it
        self._message_reader: _MessageReader | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._turns = 0
        self._turn_ends = 0.0
        self._looked_s = 0.0  # when a reader of messages last looked at the clock
        self._chunk_size = 1
        self._ended = False
        self._error: AntiphonError | None = None
        self._on_room: list[Callable[[], None]] = []
        self._is_held = False
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
        self.reader: asyncio.Task[object] | None = None
        """The task that read last."""

    @property
    def is_full(self) -> bool:
        """Whether the application is too far behind."""
        return self.unread_bytes >= UNREAD_BYTES_MAX

    @property
    def has_reader(self) -> bool:
        """Whether the task that read last may read again."""
        return self.reader is not None and not self.reader.done()

    @property
    def is_read(self) -> bool:
        """Whether everything has been handed to a reader."""
        if self._head is not None and self._peeked is None:
            # Whether a run has been read to its end shows only when more is asked of it.
            self._peeked = next(self._head, None)
            if self._message_reader is not None:
                self._message_reader.chunk = _NOTHING  # what was peeked comes before it
            if self._peeked is None:
                self._head = None
        return not self._is_held and not self._has_unread()

    def append(self, run: Run) -> None:
        """Add what has just been delivered."""
        self._unread.append(run)
        self.unread_bytes += weight(run)
        self._wake()

    def append_event(self, event: View | Letter | Request | Beginning) -> None:
        """Add a view that has just begun, or whose standing has changed; a letter; a request."""
        self._unread.append(event)
        self.unread_bytes += _event_weight(event)
        self._wake()

    def offer(self, request: Request) -> None:
        """Add a request; or have it answered at once, if the reader waits for just that."""
        waiter = self._waiter
        is_next = waiter is not None and not waiter.done() and not self._unread
        is_now = self.is_answered_now and self._answering is None and not self._is_held
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

    def release(self) -> None:
        """Let the reader go on."""
        self._is_held = False
        self._wake()

    def end(self, error: AntiphonError | None = None) -> None:
        """Nothing more will be delivered; whoever has read everything gets ``error``, if any."""
        if not self._ended:
            self._error = error
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

    def _note_read(self, entry: _Entry) -> None:
        self.unread_bytes -= weight(entry) if isinstance(entry, Run) else _event_weight(entry)
        if self._on_room and self.unread_bytes < UNREAD_BYTES_MAX // 2:
            self._call_on_room()

    def _call_on_room(self) -> None:
        actions, self._on_room = self._on_room, []
        for action in actions:
            action()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def batches(self) -> AsyncIterator[Batch | View | Letter | Request | Unsent]:
        """Read batch by batch: what is left of a run that was read in part comes first."""
        self._turn_ends = self._clock_s() + _TURN_S
        while await self._wait():
            head, self._head = self._head, None
            if head is not None:
                rest = [*self._take_peeked(), *head]
                if rest:
                    yield Batch(rest[0].sender, rest[0].number, [item.payload for item in rest])
                continue
            entry = self._take()
            if isinstance(entry, Run):
                payloads = entry.payloads
                if not isinstance(payloads, list):  # cut out of their frame only now (_messages_of)
                    payloads = list(payloads)
                yield Batch(self._names[entry.sender], entry.first, payloads)
            elif not await self._is_answered(entry, is_read=True):
                yield entry

    def events(self) -> AsyncIterator[Event]:
        """Read message by message, and everything else."""
        return self._reader(with_others=True)

    def messages(self) -> AsyncIterator[Message]:
        """Read message by message, and pass over everything else."""
        return cast("AsyncIterator[Message]", self._reader(with_others=False))

    def _reader(self, *, with_others: bool) -> AsyncIterator[Event]:
        self._looked_s = self._clock_s()
        self._turn_ends = self._looked_s + _TURN_S
        self._message_reader = _MessageReader(self._read_on, with_others=with_others)
        return self._message_reader

    def _take_peeked(self) -> list[Message]:
        peeked, self._peeked = self._peeked, None
        return [peeked] if peeked is not None else []

    async def _is_answered(self, entry: _Other, *, is_read: bool) -> bool:
        """Whether the reader need not see an entry: a request that has been answered, say."""
        if isinstance(entry, Request) and self.on_request is not None:
            waiting = self.on_request(entry)
            if waiting is not None:
                await waiting
            return True
        if isinstance(entry, Request) and not is_read:
            entry.refuse("nobody answers calls here")
        return not is_read or (isinstance(entry, Unsent) and not entry.payloads)

    async def _read_on(self, *, with_others: bool) -> tuple[Event, Iterator[Message]]:
        """Wait for the next event; return it, and some of the messages that follow it at once."""
        if self._is_turn_over():
            await self._give_turn()
        while self._head is not None or await self._wait():
            if self._head is None:
                entry = self._take()
                if not isinstance(entry, Run):
                    if not await self._is_answered(entry, is_read=with_others):
                        return entry, _NOTHING
                    continue
                self._head = _messages_of(entry, self._names[entry.sender])
            for message in self._take_peeked() if self._peeked is not None else self._head:
                return message, islice(self._head, self._chunk_size - 1)
            self._head = None
        raise StopAsyncIteration

    def _is_turn_over(self) -> bool:
        """Look at the clock; the less often, the faster the application is."""
        looked_s, self._looked_s = self._looked_s, self._clock_s()
        is_slow = self._looked_s - looked_s > _CHUNK_S
        self._chunk_size = 1 if is_slow else min(2 * self._chunk_size, _CHUNK_MAX)
        return self._looked_s > self._turn_ends

    def _drop_head(self) -> None:
        """Let nobody read the rest of a run, nor who has begun to."""
        if self._head is not None:
            deque(self._head, maxlen=0)
            self._head = self._peeked = None

    def _take(self) -> Run | _Other:
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
        self.reader = asyncio.current_task()
        self._turns += 1
        if self._turns % _TURNS_PER_YIELD == 0 or self._clock_s() > self._turn_ends:
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

    async def _give_turn(self) -> None:
        """Let the event loop read, beat and send: the application may take its time."""
        await asyncio.sleep(0)
        self._turn_ends = self._clock_s() + _TURN_S

    def _has_unread(self) -> bool:
        if self._is_held and not self._ended:
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
            self._turn_ends = self._clock_s() + _TURN_S


class _MessageReader(AsyncIterator[Event]):
    """Reads a stream message by message: what a generator would do, for less."""

    __slots__ = ("_read_on", "_with_others", "chunk")

    def __init__(
        self,
        read_on: Callable[..., Awaitable[tuple[Event, Iterator[Message]]]],
        *,
        with_others: bool,
    ) -> None:
        self._read_on = read_on
        self._with_others = with_others
        self.chunk = _NOTHING

    async def __anext__(self) -> Event:
        for message in self.chunk:
            return message
        event, self.chunk = await self._read_on(with_others=self._with_others)
        return event


_NOTHING: Iterator[Message] = iter(())


def _messages_of(run: Run, sender: str) -> Iterator[Message]:
    """Return the messages of a run, each made when it is read, without a step of Python.

    They are cut out of their frame only now: then those read before have been dropped, most likely,
    and their memory is used again while it is in the processor's cache. The run itself, of which a
    copy is kept until it is stable, stays packed.
    """
    return map(Message, repeat(sender), count(run.first), run.payloads)


def _event_weight(event: View | Letter | Request | Beginning) -> int:
    return 0 if isinstance(event, View | Beginning) else MESSAGE_BYTES + len(event.payload)

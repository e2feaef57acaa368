"""The stream of a group: what has been delivered and not yet been read by the application.

Law: everything delivered is read once, in the order of delivery, through either form: message by
message or batch by batch, also when a reader stops in the middle of a batch and another goes on.
The stream says when it is full, so that its node can stop reading from the network; it never
drops anything.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from antiphon.core.errors import UsageError
from antiphon.core.runs import Run

UNREAD_BYTES_MAX = 16 * 1024 * 1024
"""Delivered and unread bytes, overhead included, at which the node stops reading from peers."""

_MESSAGE_BYTES = 64
"""What a message costs beyond its payload: so that empty messages fill the stream too."""

_TURNS_PER_YIELD = 64
"""Batches read without waiting before the event loop gets a turn."""


class Message(NamedTuple):
    """One delivered message."""

    sender: str
    """Who multicast it."""
    number: int
    """Its number among the sender's messages in this group and view, from 1."""
    payload: bytes
    """What was multicast."""


class Batch(NamedTuple):
    """Consecutive delivered messages of one sender: message ``first``, ``first + 1``, ..."""

    sender: str
    first: int
    payloads: list[bytes]


class Stream:
    """Delivered runs, waiting to be read."""

    def __init__(self, names: list[str], prepare: Callable[[], None]) -> None:
        """Call ``prepare`` before waiting: it may have own messages to deliver."""
        self._names = names
        self._prepare = prepare
        self._runs: deque[Run] = deque()
        # The run being read message by message, and how many of it have been read. Kept here and
        # not in the reader, because a reader that breaks off is not told that it has ended.
        self._head: Run | None = None
        self._head_read = 0
        self._waiter: asyncio.Future[None] | None = None
        self._turns = 0
        self._ended = False
        self._on_room: list[Callable[[], None]] = []
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

    def append(self, run: Run) -> None:
        """Add what has just been delivered."""
        self._runs.append(run)
        self.unread_bytes += weight(run)
        self._wake()

    def end(self) -> None:
        """Nothing more will be delivered."""
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

    def _note_read(self, run: Run) -> None:
        self.unread_bytes -= weight(run)
        if self._on_room and self.unread_bytes < UNREAD_BYTES_MAX // 2:
            self._call_on_room()

    def _call_on_room(self) -> None:
        actions, self._on_room = self._on_room, []
        for action in actions:
            action()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def batches(self) -> AsyncIterator[Batch]:
        """Read batch by batch: what is left of a run that was read in part comes first."""
        names = self._names
        while await self._wait():
            run, read = self._head, self._head_read
            if run is not None:
                self._head = None
                batch = Batch(names[run.sender], run.first + read, run.payloads[read:])
            else:
                run = self._runs.popleft()
                batch = Batch(names[run.sender], run.first, run.payloads)
                self._note_read(run)
            yield batch

    async def messages(self) -> AsyncIterator[Message]:
        """Read message by message."""
        new = tuple.__new__  # what a named tuple does in the end, for half the price
        while await self._wait():
            run = self._head
            if run is None:
                run = self._head = self._runs.popleft()
                self._head_read = 0
                self._note_read(run)
            sender, first, payloads = self._names[run.sender], run.first, run.payloads
            for at in range(self._head_read, len(payloads)):
                self._head_read = at + 1
                yield new(Message, (sender, first + at, payloads[at]))
                if self._head is not run or self._head_read != at + 1:
                    break  # another reader went on while this one was suspended

    async def _wait(self) -> bool:
        """Wait until there is something to read; False at the end of the stream."""
        self.reader = asyncio.current_task()
        self._turns += 1
        if self._turns % _TURNS_PER_YIELD == 0:
            await asyncio.sleep(0)
        while not self._has_unread():
            self._prepare()
            if self._runs:
                break
            if self._ended:
                return False
            await self._sleep()
        return True

    def _has_unread(self) -> bool:
        if self._head is not None and self._head_read == len(self._head.payloads):
            self._head = None
        return self._head is not None or bool(self._runs)

    async def _sleep(self) -> None:
        if self._waiter is not None:
            message = "two tasks wait for the same group: read it in one, and let that one share"
            raise UsageError(message)
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


def weight(run: Run) -> int:
    """Return about how many bytes a run takes in memory."""
    return run.byte_count + _MESSAGE_BYTES * len(run.payloads)

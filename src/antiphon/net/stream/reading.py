"""StreamReading a stream: message by message, or batch by batch, whoever the stream is of.

Law: everything is read once, in order, through any form, also when a reader stops in the middle of
a batch and another goes on. However fast an application reads, the event loop gets its turns.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import count, islice, repeat
from typing import cast

from antiphon.core.runs import Run
from antiphon.net.stream.events import (
    Batch,
    Beginning,
    Event,
    Expired,
    Letter,
    Message,
    Unsent,
    View,
    placed,
)
from antiphon.net.stream.request import Request

_TURNS_PER_YIELD = 64
"""Batches read without waiting before the event loop gets a turn."""

_TURN_S = 0.01
"""How long a reader goes on, with what its application does in between, before it gets one."""

_CHUNK_MAX = 32
"""Messages read before a reader looks at the clock; less while its application takes its time."""

_CHUNK_S = _TURN_S / _CHUNK_MAX

Other = Expired | View | Letter | Request | Unsent
"""What is read beside messages."""

Entry = Run | Expired | View | Letter | Request | Beginning
"""What a stream keeps until it is read."""

_NOTHING: Iterator[Message] = iter(())


class StreamReading(ABC):
    """How the application's reader goes through a stream."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        """Nothing has been read."""
        self._clock_s = clock_s
        # What is left of the run being read message by message. Kept here and not in the reader,
        # because a reader that breaks off is not told that it has ended.
        self._head: Iterator[Message] | None = None
        self._peeked: Message | None = None  # of the head, before the rest of it
        self._message_reader: _MessageReader | None = None
        self._turn_count = 0
        self._turn_ends = 0.0
        self._looked_s = 0.0  # when a reader of messages last looked at the clock
        self._chunk_size = 1
        self.group = ""
        """The group of what was taken last, where the reader is to be told."""

    @abstractmethod
    def _begin(self) -> None:
        """A reader begins; refuse it if there cannot be one."""

    @abstractmethod
    async def _wait(self) -> bool:
        """Wait until there is something to read; False at the end of the stream."""

    @abstractmethod
    def take(self) -> Run | Other:
        """Take the next thing to read."""

    @abstractmethod
    def sender_of(self, run: Run) -> str:
        """Return the name of whoever sent the run that was taken last."""

    @abstractmethod
    async def is_answered(self, entry: Other, *, is_read: bool) -> bool:
        """Whether the reader need not see an entry: a request that has been answered, say."""

    # What an application calls, by way of its handles.

    async def batches(self) -> AsyncIterator[Batch | Expired | View | Letter | Request | Unsent]:
        """Read batch by batch: what is left of a run that was read in part comes first."""
        self._begin()
        self._turn_ends = self._clock_s() + _TURN_S
        while await self._wait():
            head, self._head = self._head, None
            if head is not None:
                rest = [*self._take_peeked(), *head]
                if rest:
                    one, said = rest[0], [item.payload for item in rest]
                    yield _batch(one.sender, one.number, said, one.group)
                continue
            entry = self.take()
            if isinstance(entry, Run):
                payloads = entry.payloads
                if not isinstance(payloads, list):  # cut out of their frame only now (_messages_of)
                    payloads = list(payloads)
                yield _batch(self.sender_of(entry), entry.first, payloads, self.group)
            elif not await self.is_answered(entry, is_read=True):
                yield entry

    def events(self) -> AsyncIterator[Event]:
        """Read message by message, and everything else."""
        return self._reader(with_others=True)

    def messages(self) -> AsyncIterator[Message]:
        """Read message by message, and pass over everything else."""
        return cast("AsyncIterator[Message]", self._reader(with_others=False))

    def _reader(self, *, with_others: bool) -> AsyncIterator[Event]:
        self._begin()
        self._looked_s = self._clock_s()
        self._turn_ends = self._looked_s + _TURN_S
        self._message_reader = _MessageReader(self._read_on, with_others=with_others)
        return self._message_reader

    async def _read_on(self, *, with_others: bool) -> tuple[Event, Iterator[Message]]:
        """Wait for the next event; return it, and some of the messages that follow it at once."""
        if self._is_turn_over():
            await self._give_turn()
        while self._head is not None or await self._wait():
            if self._head is None:
                entry = self.take()
                if not isinstance(entry, Run):
                    if not await self.is_answered(entry, is_read=with_others):
                        return entry, _NOTHING
                    continue
                self._head = _messages_of(entry, self.sender_of(entry), self.group)
            for message in self._take_peeked() if self._peeked is not None else self._head:
                return message, islice(self._head, self._chunk_size - 1)
            self._head = None
        raise StopAsyncIteration

    # The run that is being read.

    def _has_head(self) -> bool:
        """Whether something is left of the run that is being read message by message."""
        if self._head is not None and self._peeked is None:
            # Whether a run has been read to its end shows only when more is asked of it.
            self._peeked = next(self._head, None)
            if self._message_reader is not None:
                self._message_reader.chunk = _NOTHING  # what was peeked comes before it
            if self._peeked is None:
                self._head = None
        return self._head is not None

    def _take_peeked(self) -> list[Message]:
        peeked, self._peeked = self._peeked, None
        return [peeked] if peeked is not None else []

    def _drop_head(self) -> None:
        """Let nobody read the rest of a run, nor who has begun to."""
        if self._head is not None:
            deque(self._head, maxlen=0)
            self._head = self._peeked = None

    # Turns of the event loop.

    def _is_turn_over(self) -> bool:
        """Look at the clock; the less often, the faster the application is."""
        looked_s, self._looked_s = self._looked_s, self._clock_s()
        is_slow = self._looked_s - looked_s > _CHUNK_S
        self._chunk_size = 1 if is_slow else min(2 * self._chunk_size, _CHUNK_MAX)
        return self._looked_s > self._turn_ends

    def _wants_turn(self) -> bool:
        """Whether the event loop has had no turn for long."""
        self._turn_count += 1
        return self._turn_count % _TURNS_PER_YIELD == 0 or self._clock_s() > self._turn_ends

    async def _give_turn(self) -> None:
        """Let the event loop read, beat and send: the application may take its time."""
        await asyncio.sleep(0)
        self._begin_turn()

    def _begin_turn(self) -> None:
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


def _batch(sender: str, first: int, payloads: list[bytes], group: str) -> Batch:
    batch = Batch(sender, first, payloads)
    return placed(batch, group) if group else batch


def _messages_of(run: Run, sender: str, group: str) -> Iterator[Message]:
    """Return the messages of a run, each made when it is read, without a step of Python.

    They are cut out of their frame only now: then those read before have been dropped, most likely,
    and their memory is used again while it is in the processor's cache. The run itself, of which a
    copy is kept until it is stable, stays packed.
    """
    if group:
        return map(Message, repeat(sender), count(run.first), run.payloads, repeat(group))
    return map(Message, repeat(sender), count(run.first), run.payloads)

"""The stream of a process: what its groups deliver, in one order.

Law: entries are read in the order in which the machine delivered them, whatever their groups: so
within a causality domain nobody reads a response before its call. What waits to be read stays in
the streams of its groups (``stream``), which are bounded; here is only whose turn it is. A
process's groups are read together, or each by itself, and not both: who reads a group by itself
has taken its entries out of this order.

A group whose state is being loaded holds up what was delivered later in its domain. If another
member waits meanwhile for this process's own state in a group of that domain, the rest of it is
read on: else two processes that join each other's groups could wait for each other for ever.

An error that ends a group's stream is raised when everything that was delivered has been read. One
that ends all groups of the process is raised once.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

from antiphon.core.errors import AntiphonError, ExcludedError, UsageError
from antiphon.core.runs import Run
from antiphon.net.stream.events import placed
from antiphon.net.stream.reading import Other, StreamReading
from antiphon.net.stream.request import Request
from antiphon.net.stream.stream import Stream


class ProcessStream(StreamReading):
    """Whose turn it is to be read."""

    def __init__(
        self, name: str, prepare: Callable[[], None], clock_s: Callable[[], float]
    ) -> None:
        """Nothing has been delivered; call ``prepare`` before waiting."""
        super().__init__(clock_s)
        self._name = name
        self._prepare = prepare
        self._turns: deque[Stream] = deque()
        self._errors: list[AntiphonError] = []
        self._streams: dict[Stream, None] = {}
        self._current: Stream | None = None
        self._alone: str | None = None
        self._is_ended = False
        self._waiter: asyncio.Future[None] | None = None
        self.reader: asyncio.Task[object] | None = None
        """The task that read last, if all groups are read together."""

    def add(self, stream: Stream) -> None:
        """A group is entered."""
        if self._alone is None:
            self._streams[stream] = None
            stream.turns = self

    # What the groups' streams say.

    @property
    def is_read(self) -> bool:
        """Whether everything of all groups has been handed to a reader."""
        if self.reader is None:
            return True  # each group is read by itself, so far
        return not self._has_head() and all(isinstance(turn, AntiphonError) for turn in self._turns)

    def note(self, stream: Stream) -> None:
        """Something has been added to a group's stream."""
        self._turns.append(stream)
        self.wake()

    def drop(self, stream: Stream, count: int) -> None:
        """So many of the first things in a group's stream are never read."""
        kept: deque[Stream] = deque()
        for turn in self._turns:
            if turn is stream and count:
                count -= 1
            else:
                kept.append(turn)
        self._turns = kept

    def end(self, stream: Stream, error: AntiphonError | None) -> None:
        """A group's stream has ended."""
        self._streams.pop(stream, None)
        if error is not None:
            self._errors.append(error)
        self.wake()

    def wake(self) -> None:
        """There may be something to read."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def read_alone(self, stream: Stream) -> None:
        """A group is read by itself; refuse that if all are read together."""
        if self.reader is not None:
            message = (
                f"{self._name} reads all its groups together (`async for event in process`), so "
                f"group {stream.name} cannot be read by itself: look at `event.group` there"
            )
            raise UsageError(message)
        self._alone = stream.name
        for one in self._streams:
            one.turns = None
        self._streams.clear()
        self._turns.clear()

    def close(self) -> None:
        """The process has ended: nothing more comes."""
        self._is_ended = True
        self.wake()

    # StreamReading.

    def _begin(self) -> None:
        if self._alone is not None:
            message = (
                f"{self._name} reads group {self._alone} by itself, so its groups cannot be read "
                "together any more: read all of them together, or each by itself"
            )
            raise UsageError(message)
        self.reader = asyncio.current_task()

    async def _wait(self) -> bool:
        self.reader = asyncio.current_task()
        if self._wants_turn():
            await self._give_turn()
        while not self._has_next():
            self._prepare()
            if self._has_next():
                break
            if self._errors and not self._turns:
                raise self._take_error()
            if self._is_ended:
                return False
            await self._sleep()
        return True

    def _take_error(self) -> AntiphonError:
        error = self._errors.pop(0)
        if isinstance(error, ExcludedError):  # failure is of a process: once is enough
            self._errors = [one for one in self._errors if not isinstance(one, ExcludedError)]
        return error

    def _has_next(self) -> bool:
        return self._head is not None or next(self._ready(), None) is not None

    def _ready(self) -> Iterator[int]:
        """Yield the places of what may be read, in order."""
        held: dict[str | None, bool] = {}
        for place, turn in enumerate(self._turns):
            if turn.is_held:
                if turn.domain is not None and turn.domain not in held:
                    held[turn.domain] = not self._is_awaited_in(turn.domain)
            elif not held.get(turn.domain):
                yield place

    def _is_awaited_in(self, domain: str) -> bool:
        """Whether somebody waits for the process's state in a group of a domain."""
        return any(stream.is_awaited() for stream in self._streams if stream.domain == domain)

    def take(self) -> Run | Other:
        """Take the next thing to read."""
        place = next(self._ready())
        turn = self._current = self._turns[place]
        del self._turns[place]
        self.group = turn.name
        entry = turn.take()
        if isinstance(entry, Run):
            return entry
        if isinstance(entry, Request):
            entry.group = turn.name
            return entry
        return placed(entry, turn.name)

    def sender_of(self, run: Run) -> str:
        """Return the name of whoever sent the run that was taken last."""
        assert self._current is not None, "it has been taken"
        return self._current.sender_of(run)

    async def is_answered(self, entry: Other, *, is_read: bool) -> bool:
        """Whether the reader need not see an entry: a request that has been answered, say."""
        assert self._current is not None, "it has been taken"
        return await self._current.is_answered(entry, is_read=is_read)

    async def _sleep(self) -> None:
        if self._waiter is not None:
            message = (
                f"two tasks wait for what {self._name} reads: read it in one, and let that share"
            )
            raise UsageError(message)
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
            self._begin_turn()

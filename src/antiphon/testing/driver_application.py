"""The application of a driver's world: it counts what it reads, and answers what it is asked.

Law: its state is how many messages of whom it has read. Members that have read the same messages
have the same state, whatever the order; a joiner is given it.
"""

import asyncio
import json
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator

from antiphon.core.errors import AntiphonError
from antiphon.core.runs import Order
from antiphon.net.group.committing import Committer
from antiphon.net.group.group import Group
from antiphon.net.stream.events import Message

PIECE_BYTES = 40
"""States are given in pieces, so that donors can die between two."""


_WORD_BYTES = 64
_REFUSALS = 6


class ReadCounts:
    """The state: how many messages of each incarnation have been read."""

    def __init__(self) -> None:
        """Nothing has been read."""
        self.counts: Counter[str] = Counter()

    def save(self) -> Iterator[bytes]:
        """Return the state in pieces."""
        said = json.dumps(sorted(self.counts.items())).encode()
        return iter([said[at : at + PIECE_BYTES] for at in range(0, len(said), PIECE_BYTES)])

    async def load(self, pieces: AsyncIterator[bytes]) -> None:
        """Take over the state of another member."""
        self.counts = Counter(dict(json.loads(b"".join([piece async for piece in pieces]))))


class Voter:
    """What a transaction is about at one process: it agrees to most."""

    def __init__(self, name: str) -> None:
        """Nothing is prepared."""
        self._name = name
        self._prepared: dict[str, None] = {}

    async def prepare(self, transaction: str, body: bytes) -> bool:
        """Agree, or not: by no more than names, so that every run is the same."""
        del body
        if zlib.crc32(f"{self._name} {transaction}".encode()) % _REFUSALS == 0:
            return False
        self._prepared[transaction] = None
        return True

    async def commit(self, transaction: str) -> None:
        """It is done."""
        self._prepared.pop(transaction, None)

    async def abort(self, transaction: str) -> None:
        """It is not to be done."""
        self._prepared.pop(transaction, None)

    async def in_doubt(self) -> list[str]:
        """Return what is prepared, and neither committed nor aborted."""
        return list(self._prepared)


class Application:
    """What one start of a process runs."""

    def __init__(self, name: str) -> None:
        """Join nothing yet."""
        self.name = name
        self.tally = ReadCounts()
        self.group: Group | None = None
        self.committer: Committer | None = None
        """Takes part in transactions, if the world has any."""
        self.is_in = False
        """Whether it has entered the group, and its stream has not ended."""
        self.end: AntiphonError | None = None
        """Why it is out, if it did not want to be."""
        self.is_done = False
        """Whether it is out for good, and has given its handle back."""
        self.entered_s = self.done_s = 0.0
        """When it entered, and when it was out, by the clock of the event loop."""
        self.is_reading = asyncio.Event()
        self.is_reading.set()
        self.is_leaving = asyncio.Event()
        self.words: set[bytes] = set()
        """The short messages that it has read."""
        self.open_work: dict[str, int] = {}
        """What it has begun and not ended: sends and calls, and how many of each."""

    async def live(self, group: Group) -> None:
        """Enter, read until the end, leave."""
        self.group = group
        group.answer_calls(lambda _, payload: payload)
        try:
            async with group:
                self.is_in = True
                self.entered_s = asyncio.get_running_loop().time()
                reading = asyncio.ensure_future(self._read(group))
                leaving = asyncio.ensure_future(self.is_leaving.wait())
                await asyncio.wait([reading, leaving], return_when=asyncio.FIRST_COMPLETED)
                leaving.cancel()
                if reading.done():
                    reading.result()
            await reading
        except AntiphonError as error:
            self.end = error
        finally:
            self.is_in, self.is_done = False, True
            self.done_s = asyncio.get_running_loop().time()

    async def _read(self, group: Group) -> None:
        async for event in group:
            if isinstance(event, Message):
                if 0 < len(event.payload) < _WORD_BYTES:
                    self.words.add(event.payload)
                self.tally.counts[event.sender] += 1
            # Last: who comes back is given a state, which contains what it is at.
            await self.is_reading.wait()

    async def multicast(self, payloads: list[bytes], order: str) -> None:
        """Multicast messages, one by one or all at once."""
        group = self.group
        assert group is not None, "it has one"
        kind = Order.FIFO if order == "fifo" else Order.CAUSAL
        kind = Order.TOTAL if "total" in order else kind
        await self._try(
            "multicast", group.multicast_many(payloads, kind, uniform="uniform" in order)
        )

    async def call(self, timeout_s: float) -> None:
        """Call everybody."""
        assert self.group is not None, "it has one"
        await self._try("call", self.group.call(b"?" * 10, "all", timeout_s=timeout_s))

    async def transact(self) -> None:
        """Begin a transaction, and wait for its end."""
        if self.committer is not None:
            await self._try("transaction", self.committer.begin(b"a transaction"))

    async def letter(self, to: str, count: int) -> None:
        """Send letters to another member."""
        for _ in range(count):
            assert self.group is not None, "it has one"
            await self._try("letter", self.group.send(to, b"a letter"))

    async def _try(self, what: str, work: object) -> None:
        """Do something that may be refused: out of the group, too full, not there."""
        self.open_work[what] = self.open_work.get(what, 0) + 1
        try:
            await work  # type: ignore[misc]
        except AntiphonError:
            pass
        finally:
            self.open_work[what] -= 1

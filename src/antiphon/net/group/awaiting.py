"""Own messages that somebody waits for until they are delivered here.

Law: what is waited for is the delivery of that very message, in its place in the order: nothing
that comes after it has been delivered before. If the incarnation ends first, whoever waits is told
so, for nobody here can know any more whether the others delivered it.
"""

import asyncio

from antiphon.core.errors import AntiphonError
from antiphon.core.runs import Run
from antiphon.net.stream.events import Message


class _Awaited(bytes):
    """A payload that is found again by what it is, not by what it says."""

    __slots__ = ()


class Awaiting:
    """Whoever waits, by payload."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._waiting: dict[int, tuple[bytes, asyncio.Future[Message]]] = {}

    def expect(self, payload: bytes) -> "tuple[bytes, asyncio.Future[Message]]":
        """Return what to multicast instead of ``payload``, and when it is delivered, that."""
        awaited = _Awaited(payload)
        delivered: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[id(awaited)] = awaited, delivered
        return awaited, delivered

    def __bool__(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiting)

    def look(self, run: Run, sender: str) -> None:
        """An own run is delivered."""
        for number, payload in enumerate(run.payloads, run.first):
            found = self._waiting.get(id(payload))
            if found is not None and found[0] is payload:
                del self._waiting[id(payload)]
                if not found[1].done():
                    found[1].set_result(Message(sender, number, bytes(payload)))

    def end(self, error: AntiphonError) -> None:
        """The incarnation has ended."""
        waiting, self._waiting = self._waiting, {}
        for _, delivered in waiting.values():
            if not delivered.done():
                delivered.set_exception(error)

"""Who waits until what a process sent or delivered is everywhere (ISIS 7.3).

Law: each waits for the machine to say that its own flush has ended. The end of the incarnation ends
all of them with an error: nobody can know any more.
"""

import asyncio
from collections.abc import Callable

from antiphon.core.errors import ExcludedError
from antiphon.stack.inputs import FlushRequested

_ENDED = "its incarnation has ended, and nobody knows whether all it had sent is everywhere"


class Flushing:
    """Those who wait, by number."""

    def __init__(self, give: Callable[[FlushRequested], None]) -> None:
        """Nobody waits; ``give`` takes what the machine is asked."""
        self._give = give
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._count = 0

    async def flush(self, causality: str | None) -> None:
        """Wait until all that was sent or delivered, in a domain or in all, is everywhere."""
        self._count += 1
        number = self._count
        ended = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._give(FlushRequested(number, causality))
            await ended
        finally:
            self._waiting.pop(number, None)

    def end(self, number: int) -> None:
        """A flush has ended."""
        ended = self._waiting.pop(number, None)
        if ended is not None and not ended.done():
            ended.set_result(None)

    def close(self) -> None:
        """The incarnation has ended."""
        for ended in list(self._waiting.values()):
            if not ended.done():
                ended.set_exception(ExcludedError(_ENDED))

"""A link made slow on purpose, so that causal order has something to do on one machine.

Law: every piece is held for a random time and pieces keep their order. On loopback a question
nearly always arrives before its answer; with uneven links answers overtake questions, as they do
between real machines. Used by the demo and by tests; off unless asked for.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from random import Random


class SlowLink:
    """Holds back what is written to one link."""

    def __init__(self, delay_s_max: float, seed: str) -> None:
        """Hold each piece for up to ``delay_s_max``."""
        self._delay_s_max = delay_s_max
        self._random = Random(seed)
        self._held: deque[tuple[float, bytes]] = deque()
        self._write: Callable[[bytes], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connect(self, write: Callable[[bytes], None]) -> None:
        """Pass pieces on to ``write`` when their time has come."""
        self._write = write

    def disconnect(self) -> None:
        """Forget everything: nobody is there any more."""
        self._write = None
        self._held.clear()
        if self._timer is not None:
            self._timer.cancel()

    def write(self, piece: bytes) -> None:
        """Hold a piece back."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self._random.random() * self._delay_s_max
        if self._held:
            due = max(due, self._held[-1][0])
        self._held.append((due, piece))
        if len(self._held) == 1:
            self._timer = loop.call_at(due, self._release)

    def flush(self) -> None:
        """Pass everything on at once."""
        while self._held and self._write is not None:
            self._write(self._held.popleft()[1])

    def _release(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self._held and self._held[0][0] <= now and self._write is not None:
            self._write(self._held.popleft()[1])
        if self._held:
            self._timer = loop.call_at(self._held[0][0], self._release)

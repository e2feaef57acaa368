"""A notifier: whoever waits for something looks again when something has happened."""

import asyncio
from collections.abc import Callable


class Notifier:
    """Wakes everybody who waits."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._happened = asyncio.Event()

    def notify(self) -> None:
        """Something has happened that somebody may wait for."""
        self._happened.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until ``condition`` holds."""
        while not condition():
            await self.until_notified()

    async def until_notified(self) -> None:
        """Wait until something has happened."""
        self._happened.clear()
        await self._happened.wait()

"""An application's state, as those that join get it."""

from collections.abc import AsyncIterator, Iterable
from typing import Protocol


class State(Protocol):
    """What an application has to offer for its state to reach those that join."""

    def save(self) -> bytes | Iterable[bytes]:
        """Return the state as it is now, whole or in pieces; it must not change afterwards."""

    async def load(self, pieces: AsyncIterator[bytes]) -> None:
        """Replace the state by the one in these pieces; called again if a donor dies midway."""

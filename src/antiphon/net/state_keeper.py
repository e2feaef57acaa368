"""A life's share in state transfer: between the machine, the application's state and its stream.

Law: the state is saved when the application's reader comes to the view, neither earlier nor
later: everything before it has been read, nothing behind it has. It is loaded before the
application reads anything: the stream is held until then, and begins with the view that the
state belongs to.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from typing import Protocol

from antiphon.core.control import StateChunk, StateTaken
from antiphon.core.errors import AntiphonError, StateError
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.toolkit.state_transfer import (
    Effect,
    ExpectState,
    LoadChunk,
    SaveState,
    SendState,
    StateLost,
    StateTransfer,
)

_log = logging.getLogger("antiphon")


class State(Protocol):
    """What an application has to offer for its state to reach those that join."""

    def save(self) -> bytes | Iterable[bytes]:
        """Return the state as it is now, whole or in pieces; it must not change afterwards."""

    async def load(self, pieces: AsyncIterator[bytes]) -> None:
        """Replace the state by the one in these pieces; called again if a donor dies midway."""


class Owner(Protocol):
    """What a keeper needs of its life."""

    def send_state(self, to: ProcessId, message: StateChunk | StateTaken) -> None:
        """Send a message of the transfer."""

    def expect_state(self, number: int) -> None:
        """Let the application read nothing, and in the end nothing before view ``number``."""

    def on_state(self) -> None:
        """The state has been loaded: let the application read."""

    def on_stateless(self, error: AntiphonError) -> None:
        """The state cannot be had."""


class StateKeeper:
    """Saves and loads the state of one life."""

    def __init__(self, owner: Owner, process: ProcessId, state: State, *, has_state: bool) -> None:
        """Begin as a founder, who has the state, or as a joiner."""
        self._owner = owner
        self._state = state
        self._transfer = StateTransfer(process, has_state=has_state)
        self._to_save: dict[int, None] = {}
        self._pieces: asyncio.Queue[LoadChunk] = asyncio.Queue()
        self._loader: asyncio.Task[None] | None = None
        self.piece_count = 0
        """Pieces of the state that have come."""

    @property
    def has_state(self) -> bool:
        """Whether the state is here."""
        return self._transfer.has_state

    def enter(self, view: View) -> None:
        """A view begins."""
        self._do(self._transfer.enter(view))

    def receive(self, peer: ProcessId, message: StateChunk | StateTaken) -> None:
        """Take a message of the transfer."""
        self._do(self._transfer.receive(peer, message))

    def reach(self, number: int) -> None:
        """The application's reader has come to view ``number``."""
        if self._to_save.pop(number, self) is None:
            self._do(self._transfer.give(number, self._state.save()))

    def close(self) -> None:
        """Stop loading."""
        if self._loader is not None:
            self._loader.cancel()

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case SendState(to, message):
                    self._owner.send_state(to, message)
                case SaveState(number):
                    self._to_save[number] = None
                case ExpectState(number):
                    self._expect(number)
                case LoadChunk():
                    self.piece_count += 1
                    self._pieces.put_nowait(effect)
                case StateLost():
                    why = "nobody is left who has the group's state: found the group anew"
                    self._owner.on_stateless(StateError(why))

    def _expect(self, number: int) -> None:
        self._owner.expect_state(number)
        self.close()
        self._pieces = asyncio.Queue()
        self._loader = asyncio.ensure_future(self._load(self._pieces))

    async def _load(self, arrived: asyncio.Queue[LoadChunk]) -> None:
        pieces = self._read(arrived)
        try:
            await self._state.load(pieces)
            async for _ in pieces:  # what the application did not care to read
                pass
        except Exception as error:  # noqa: BLE001 - it is the application's code
            _log.warning("the group's state cannot be loaded", exc_info=error)
            why = f"the group's state cannot be loaded ({type(error).__name__}: {error})"
            self._owner.on_stateless(StateError(f"{why}: do all members save it alike?"))
        else:
            self._owner.on_state()

    async def _read(self, arrived: asyncio.Queue[LoadChunk]) -> AsyncIterator[bytes]:
        is_last = False
        while not is_last:
            chunk = await arrived.get()
            is_last = chunk.is_last
            if chunk.data:
                yield chunk.data
            self._do(self._transfer.took(chunk.number))

"""State transfer for an application: between the machine, the application's state and its stream.

Law: the state is saved when the application's reader comes to the view, neither earlier nor
later: everything before it has been read, nothing behind it has. It is loaded before the
application reads anything: the stream is held until then, and begins with the view that the
state belongs to.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Protocol

from antiphon.core.errors import AntiphonError, StateError
from antiphon.net.application.state import State
from antiphon.net.stream.notifier import Notifier
from antiphon.net.stream.stream import Stream
from antiphon.stack.effects import ExpectState, LoadChunk, SaveState, StateLost
from antiphon.stack.inputs import Input, PieceLoaded, StateSaved

_log = logging.getLogger("antiphon")


class StateOwner(Protocol):
    """What is needed of the member whose application has the state."""

    def give(self, happened: Input) -> None:
        """Give an input to the machine."""

    def on_stateless(self, error: AntiphonError) -> None:
        """The state cannot be had."""


class ApplicationState:
    """Saves and loads the application's state, for one incarnation."""

    def __init__(self, owner: StateOwner, state: State, stream: Stream, notifier: Notifier) -> None:
        """Nothing is to be saved or loaded yet."""
        self._owner = owner
        self._state = state
        self._stream = stream
        self._notifier = notifier
        self._to_save: dict[int, None] = {}
        self._pieces: asyncio.Queue[LoadChunk] = asyncio.Queue()
        self._loader: asyncio.Task[None] | None = None
        self.piece_count = 0
        """Pieces of the state that have come."""

    def do(self, effect: SaveState | ExpectState | LoadChunk | StateLost) -> None:
        """Do what the machine says."""
        match effect:
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

    def reach(self, number: int) -> None:
        """The application's reader has come to view ``number``."""
        if self._to_save.pop(number, self) is None:
            self._owner.give(StateSaved(number, self._state.save()))

    def close(self) -> None:
        """Stop loading."""
        if self._loader is not None:
            self._loader.cancel()

    def _expect(self, number: int) -> None:
        self._stream.hold(number)
        self.close()
        self._pieces = asyncio.Queue()
        self._loader = asyncio.ensure_future(self._load(number, self._pieces))

    async def _load(self, number: int, arrived: asyncio.Queue[LoadChunk]) -> None:
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
            self._owner.give(PieceLoaded(number))  # the last one
            self._stream.release()
            self._notifier.notify()

    async def _read(self, arrived: asyncio.Queue[LoadChunk]) -> AsyncIterator[bytes]:
        while True:
            chunk = await arrived.get()
            if chunk.data:
                yield chunk.data
            if chunk.is_last:
                return
            self._owner.give(PieceLoaded(chunk.number))

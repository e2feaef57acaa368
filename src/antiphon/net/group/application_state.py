"""State transfer for an application: between the machine, the application's state and its stream.

Law: the state is saved when the application's reader comes to the view, neither earlier nor
later: everything before it has been read, nothing behind it has. It is loaded before the
application reads anything: the stream is held until then, and begins with the view that the
state belongs to.

The state is lost when whoever had it is gone. Those who wait for it cannot know that of each other,
unless one is alone: who is in views of which nobody is known to have the state, and is given no
piece of it for ``STATE_S``, waits no longer.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Protocol

from antiphon.core.errors import AntiphonError, StateError
from antiphon.core.views import View
from antiphon.net.application.state import State
from antiphon.net.stream.notifier import Notifier
from antiphon.net.stream.stream import Stream
from antiphon.stack.effects import ExpectState, LoadChunk, SaveState, StateLost
from antiphon.stack.inputs import Input, PieceLoaded, StateSaved
from antiphon.toolkit.state_transfer import donor_of

_log = logging.getLogger("antiphon")

STATE_S = 30.0
"""How long anybody who waits for the group's state waits for the next piece of it."""

_LOST = "nobody is left who has the group's state: found the group anew"


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
        self._has_last = False
        self._patience: asyncio.TimerHandle | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether another member waits for the reader to come to a view."""
        return bool(self._to_save)

    def enter(self, view: View, *, has_state: bool) -> None:
        """A view has begun: wait for the state, or bear for a while that nobody has it."""
        if has_state or donor_of(view) is not None:
            self._calm()
        elif self._patience is None:
            self._wait()

    def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(STATE_S, self._look, self.piece_count)

    def _look(self, before: int) -> None:
        if self.piece_count == before and not self._has_last:
            self._owner.on_stateless(StateError(_LOST))
        else:
            self._wait()

    def _calm(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def do(self, effect: SaveState | ExpectState | LoadChunk | StateLost) -> None:
        """Do what the machine says."""
        match effect:
            case SaveState(number):
                self._to_save[number] = None
            case ExpectState(number):
                self._expect(number)
            case LoadChunk():
                self.piece_count += 1
                self._has_last = effect.is_last
                self._pieces.put_nowait(effect)
            case StateLost():
                self._owner.on_stateless(StateError(_LOST))

    def reach(self, number: int) -> None:
        """The application's reader has come to view ``number``."""
        if self._to_save.pop(number, self) is None:
            self._owner.give(StateSaved(number, self._state.save()))

    def close(self) -> None:
        """Stop loading, and waiting."""
        self._calm()
        self._stop_loading()

    def _stop_loading(self) -> None:
        if self._loader is not None:
            self._loader.cancel()

    def _expect(self, number: int) -> None:
        self._stream.hold(number)
        self._stop_loading()
        self._has_last = False
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

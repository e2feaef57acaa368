"""State transfer: a joiner gets the group's state as of its place in the stream (ISIS 4.2).

Rule. Views say which members lack the state (``View.stateless``). The donor of a view is its most
senior member that does not. At the point of its stream where such a view begins, the donor's
application saves its state; the donor sends it in pieces, never more than a few ahead of what the
joiner has taken. The joiner's application sees nothing until it has loaded all of it, and then
everything from that view on.

Invariant. The state a joiner loads contains exactly the messages of the views before the one it
was saved at, and the joiner's stream begins with that view: nothing is missing, nothing is there
twice. Who gives to whom follows from the views alone, so both sides always agree on it: if the
donor of a later view is another one (the first died, say), the transfer starts again at that
view, and the joiner forgets what it had kept of the views before.

Fault model: donor and joiner may crash at any moment. A view in which nobody is known to have the
state has no donor; whoever turns out to have it asks for one more view. A joiner that is left
alone without it is told that the state is lost; several give up in time (``application_state``).

Cost: the state, in pieces of at most ``CHUNK_BYTES``, and one small message per piece. Traffic
goes on meanwhile: it stops for the flush and no longer.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

from antiphon.core.control import StateChunk, StateTaken
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.views import View

CHUNK_BYTES = 256 * 1024
AHEAD_MAX = 4
"""Pieces sent before the joiner has taken them."""

DONE = 2**62
"""``StateTaken.place`` of a joiner that needs nothing more."""


@final
@dataclass(slots=True)
class SaveState:
    """Save the application's state as of the beginning of view ``number``, then ``give`` it."""

    number: int


@final
@dataclass(slots=True)
class ExpectState:
    """The state will be as of view ``number``: keep events from there on, forget earlier ones."""

    number: int


@final
@dataclass(slots=True)
class LoadChunk:
    """Hand this piece to the application, then tell by ``took``."""

    number: int
    """The view of the transfer: pieces of different ones do not go together."""
    data: bytes
    is_last: bool


@final
@dataclass(slots=True)
class StateLost:
    """Nobody is left who has the group's state."""


@final
@dataclass(slots=True)
class SendState:
    """Send this to one process."""

    to: ProcessId
    message: StateChunk | StateTaken


Effect = SaveState | ExpectState | LoadChunk | StateLost | SendState


def donor_of(view: View) -> ProcessId | None:
    """Return who gives the state in this view."""
    return next((member for member in view.members if member not in view.stateless), None)


class _Transfer:
    """What is given to one joiner."""

    __slots__ = ("chunks", "number", "sent", "taken")

    def __init__(self, number: int) -> None:
        self.number = number
        self.chunks: Iterator[bytes] | None = None
        self.sent = 0
        self.taken = 0


class StateTransfer:
    """One process's part in it: it takes the state first, and gives it later."""

    def __init__(self, me: ProcessId, *, has_state: bool) -> None:
        """Begin as a founder, who has the state, or as a joiner."""
        self._me = me
        self.has_state = has_state
        self._donor: ProcessId | None = None
        self._entered = 0
        self._early: list[tuple[ProcessId, StateChunk]] = []
        self._number = 0
        self._place = 0
        self._arrived: deque[LoadChunk] = deque()
        self._given: dict[ProcessId, _Transfer] = {}

    def enter(self, view: View) -> list[Effect]:
        """A view begins."""
        donor = donor_of(view)
        assert view.number > self._entered, "views are entered in order"
        self._entered = view.number
        if not self.has_state:
            return self._expect(view, donor)
        if donor != self._me:
            self._given.clear()
            return []
        self._given = {who: what for who, what in self._given.items() if who in view.stateless}
        new = [who for who in view.stateless if who not in self._given]
        self._given |= {who: _Transfer(view.number) for who in new}
        return [SaveState(view.number)] if new else []

    def _expect(self, view: View, donor: ProcessId | None) -> list[Effect]:
        if donor is None:
            # Others may have all of it on the way still; who has it asks for one more view.
            is_lost = view.members == (self._me,) and not self._has_all()
            return [StateLost()] if is_lost else []
        if donor == self._donor:
            return []
        self._donor, self._number, self._place = donor, view.number, 0
        self._arrived.clear()
        effects: list[Effect] = [ExpectState(view.number)]
        early, self._early = self._early, []
        for peer, chunk in early:
            effects += self.receive(peer, chunk)
        return effects

    def _has_all(self) -> bool:
        """Whether every piece has arrived, and only has to be taken."""
        return bool(self._arrived) and self._arrived[-1].is_last

    # Giving.

    def give(self, number: int, state: bytes | Iterable[bytes]) -> list[Effect]:
        """The application has saved its state as of view ``number``."""
        effects: list[Effect] = []
        waiting = {who: what for who, what in self._given.items() if what.number == number}
        # Several joiners share what is saved once; one alone need not have it all in memory.
        pieces: Iterable[bytes] = _cut(state)
        if len(waiting) > 1:
            pieces = list(pieces)
        for who, transfer in waiting.items():
            transfer.chunks = iter(pieces)
            effects += self._send_more(who, transfer)
        return effects

    def _send_more(self, who: ProcessId, transfer: _Transfer) -> list[Effect]:
        effects: list[Effect] = []
        while transfer.chunks is not None and transfer.sent - transfer.taken < AHEAD_MAX:
            data = next(transfer.chunks, None)
            transfer.sent += 1
            chunk = StateChunk(transfer.number, transfer.sent, data is None, data or b"")
            effects.append(SendState(who, chunk))
            if data is None:
                transfer.chunks = None
        ahead = transfer.sent - transfer.taken
        assert 0 <= ahead <= AHEAD_MAX, "little is on its way, and only what was sent is taken"
        return effects

    # Taking.

    def receive(self, peer: ProcessId, message: StateChunk | StateTaken) -> list[Effect]:
        """Take a piece of the state, or word that one has been taken."""
        if isinstance(message, StateTaken):
            return self._on_taken(peer, message)
        if self.has_state:
            return [SendState(peer, StateTaken(message.number, DONE))]
        if message.number > self._entered:
            if len(self._early) > 2 * AHEAD_MAX:
                flood = "more of the state comes than was asked for"
                raise PeerError(flood)
            self._early.append((peer, message))  # the donor is in that view already
            return []
        if peer != self._donor or message.number != self._number:
            return []  # of a transfer that has been started again elsewhere
        if message.place != self._place + 1 or len(self._arrived) > AHEAD_MAX:
            expected = f"piece {message.place} of the state comes where {self._place + 1} is due"
            raise PeerError(expected)
        self._place = message.place
        chunk = LoadChunk(message.number, message.data, message.is_last)
        self._arrived.append(chunk)
        return [chunk] if len(self._arrived) == 1 else []

    def took(self, number: int) -> list[Effect]:
        """The application has taken the piece it was handed last; hand it the next one."""
        if self._donor is None or number != self._number or not self._arrived:
            return []  # it was of a transfer that has been started again
        done = self._arrived.popleft()
        place = self._place - len(self._arrived)
        assert place > 0, "pieces are counted from one"
        if done.is_last:
            self.has_state = True
            place = DONE
        effects: list[Effect] = [SendState(self._donor, StateTaken(self._number, place))]
        return effects + list(self._arrived)[:1]

    def _on_taken(self, peer: ProcessId, message: StateTaken) -> list[Effect]:
        transfer = self._given.get(peer)
        if transfer is None or transfer.number != message.number:
            return []
        if message.place == DONE:
            transfer.chunks = None
            return []
        if message.place > transfer.sent:
            lie = f"piece {message.place} of the state is confirmed, and {transfer.sent} were sent"
            raise PeerError(lie)
        transfer.taken = max(transfer.taken, message.place)
        return self._send_more(peer, transfer)


def _cut(state: bytes | Iterable[bytes]) -> Iterator[bytes]:
    """Yield the state in pieces of a bearable size."""
    for part in [state] if isinstance(state, bytes) else state:
        for at in range(0, len(part), CHUNK_BYTES):
            yield part[at : at + CHUNK_BYTES]

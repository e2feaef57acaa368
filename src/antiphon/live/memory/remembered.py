"""The messages of one sender, in one view, that somebody has yet to deliver.

Law: messages that everybody treats alike are remembered as one stretch; a row that covers part of
one cuts it in two. What all have delivered is forgotten (``Shelf.forget``), so what is here is
bounded by how far the slowest process is behind the fastest, not by how long the view lasts.
Cost: a dictionary look-up where rows of different processes are cut alike, else a search.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable

import msgspec

from antiphon.live.memory.number_sets import Numbers, with_span

Place = tuple[int, int, int, int]
"""Where a row is: process, file, line, and place in the record of the process."""


class SentRow(msgspec.Struct, array_like=True):
    """A `multicast` row."""

    place: Place
    time_us: int
    says: int
    """Order and uniformity, as in a pack."""
    past: list[Numbers]
    """What the sender had delivered of each process before."""
    name: str
    """The user's own name of the message."""


class EarlyDelivery(msgspec.Struct, array_like=True):
    """A delivery that is judged when the multicast is known."""

    have: list[Numbers]
    """What the process had delivered of each before."""
    time_us: int


class Stretch(msgspec.Struct, array_like=True):
    """Consecutive messages, as far as all rows about them agree."""

    first: int
    last: int
    sending: SentRow | None = None
    before: Numbers = 0
    """What the sender had multicast before."""
    got: dict[int, Place] = {}
    """By process: the row of the delivery."""
    waiting: dict[int, EarlyDelivery] = {}
    told: int = 0
    """What `deliver` rows say of order and uniformity."""
    names: dict[int, str] = {}
    """By process: the user's own name of the message, as its delivery tells it."""
    seen_ms: int = 0
    """When the first row about it was read."""

    @property
    def count(self) -> int:
        """Return how many messages it has."""
        return self.last - self.first + 1

    @property
    def says(self) -> int:
        """Return what was asked: in the multicast; without one, in deliveries."""
        return self.told if self.sending is None else self.sending.says


class Shelf(msgspec.Struct, array_like=True):
    """What is remembered of one sender."""

    sender: int
    """Its number in the scope."""
    sent: Numbers = 0
    """What it multicast."""
    total: Numbers = 0
    """What it multicast in total order."""
    uniform: Numbers = 0
    """What is uniform of what it multicast."""
    forgotten: Numbers = 0
    stretches: dict[int, Stretch] = {}
    """By the first number."""
    firsts: list[int] = []
    """The first numbers, in order."""

    def cut(self, first: int, last: int, now_ms: int) -> list[Stretch]:
        """Return these messages as stretches that have nothing else, in order."""
        found = self.stretches.get(first)
        if found is not None and found.last == last:
            return [found]
        self._cut_before(first)
        self._cut_before(last + 1)
        at = bisect_right(self.firsts, first - 1)
        inside = [self.stretches[number] for number in self.firsts[at:] if number <= last]
        pieces: list[Stretch] = []
        for piece in inside:
            if first < piece.first:
                pieces.append(self._put(Stretch(first, piece.first - 1, seen_ms=now_ms)))
            pieces.append(piece)
            first = piece.last + 1
        if first <= last:
            pieces.append(self._put(Stretch(first, last, seen_ms=now_ms)))
        return pieces

    def within(self, first: int, last: int) -> list[Stretch]:
        """Return the stretches that have any of these messages."""
        at = max(bisect_right(self.firsts, first) - 1, 0)
        found = (self.stretches[number] for number in self.firsts[at:] if number <= last)
        return [piece for piece in found if piece.last >= first]

    def forget(self, pieces: Iterable[Stretch]) -> None:
        """Forget some."""
        for piece in pieces:
            del self.stretches[piece.first]
            self.forgotten = with_span(self.forgotten, piece.first, piece.last)
        self.firsts = sorted(self.stretches)

    def _put(self, piece: Stretch) -> Stretch:
        self.stretches[piece.first] = piece
        firsts = self.firsts
        if not firsts or piece.first > firsts[-1]:
            firsts.append(piece.first)
        else:
            insort(firsts, piece.first)
        return piece

    def _cut_before(self, number: int) -> None:
        """See to it that no stretch begins before a number and ends after."""
        at = bisect_right(self.firsts, number) - 1
        if at < 0:
            return
        piece = self.stretches[self.firsts[at]]
        if piece.first == number or piece.last < number:
            return
        waiting = piece.waiting
        self._put(
            Stretch(
                number,
                piece.last,
                piece.sending,
                with_span(piece.before, piece.first, number - 1),
                dict(piece.got),
                {process: self._later(piece, each, number) for process, each in waiting.items()},
                piece.told,
                dict(piece.names),
                piece.seen_ms,
            )
        )
        piece.last = number - 1

    def _later(self, piece: Stretch, waiting: EarlyDelivery, number: int) -> EarlyDelivery:
        """Return how a delivery waits for the part of a stretch from a number on."""
        have = waiting.have.copy()
        have[self.sender] = with_span(have[self.sender], piece.first, number - 1)
        return EarlyDelivery(have, waiting.time_us)

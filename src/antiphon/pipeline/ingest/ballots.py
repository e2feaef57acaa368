"""Votes and decisions, turned into numbers where a task reads them.

Law: as in ``reading``: names are left behind. All votes and decisions of a process about the
transactions that one initiator began in a group, in one lineage of its views, are a pile; a file's
piles are numbered, its rows say which they belong to, and the report says who that is. The lines of
a packed matrix:

    pile      number of the pile in the file
    number    the transaction
    what      ``Ballot``
    position  where in the process's order it is
    line      line in the file
"""

from array import array
from enum import IntEnum

import msgspec

from antiphon.core.views import lineage_of
from antiphon.pipeline.ingest.position import row_position
from antiphon.trace.schema import ABORT, COMMIT, NO, YES, Event

BALLOT_LINES = ("pile", "number", "what", "position", "line")


class Ballot(IntEnum):
    """What a row says."""

    NO = 0
    YES = 1
    ABORT = 2
    COMMIT = 3

    @property
    def detail(self) -> str:
        """Return the word in the trace."""
        return _WORDS[self]


_WORDS = {Ballot.NO: NO, Ballot.YES: YES, Ballot.ABORT: ABORT, Ballot.COMMIT: COMMIT}
_BALLOTS = {word: ballot for ballot, word in _WORDS.items()}


class Pile(msgspec.Struct):
    """What one process said about the transactions that another began."""

    number: int
    run: str
    group: str
    lineage: int
    process: str
    initiator: str
    has_decision: bool = False


class Ballots:
    """Takes the votes and decisions of a file."""

    def __init__(self) -> None:
        """Begin with none."""
        self.piles: dict[tuple[str, str, int, str, str], Pile] = {}
        self._pack = [array("q") for _ in BALLOT_LINES]

    def __len__(self) -> int:
        """Return how many have not been packed yet."""
        return len(self._pack[0])

    def add(self, run: str, event: Event, line: int) -> None:
        """Take a row."""
        key = (run, event.group, lineage_of(event.view), event.process, event.sender)
        pile = self.piles.get(key)
        if pile is None:
            pile = self.piles[key] = Pile(len(self.piles), *key)
        pile.has_decision |= event.kind == "decide"
        position = row_position(event.index, line)
        row = (pile.number, event.first, _BALLOTS[event.detail], position, line)
        for column, value in zip(self._pack, row, strict=True):
            column.append(value)

    def packed(self) -> bytes:
        """Return the rows taken so far, and forget them."""
        packed = b"".join(self._pack)
        self._pack = [array("q") for _ in BALLOT_LINES]
        return packed

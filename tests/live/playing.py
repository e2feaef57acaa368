"""Traces played to the live judge: bit by bit, journals in any order, memory put away each time.

Law: what the judge remembers between two batches is what comes out of its bytes, as in Spark; rows
of a process come in its order, those of different processes in any.
"""

from collections.abc import Iterable
from random import Random

import msgspec

from antiphon.live.conclusions.conclusion import conclude
from antiphon.live.judge import RunJudge
from antiphon.live.memory.record import RunMemory
from antiphon.live.memory.scope import Scope
from antiphon.live.packs import decode, encode, packed
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Verdict, Violation

RUN = "run"
Placed = tuple[Event, str, int]


class Play:
    """A run that is followed."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.judge = RunJudge(RunMemory(RUN), {})
        self.raised: list[Violation] = []
        self.now_ms = 0

    def batch(self, *pieces: Iterable[Event], ms: int = 1_000) -> list[Violation]:
        """Read some rows of some processes; return what is raised."""
        self.now_ms += ms
        for piece in pieces:
            rows = list(piece)
            for process in dict.fromkeys(row.process for row in rows):
                of_process = [row for row in rows if row.process == process]
                pack = decode(encode(packed(enumerate(of_process), len(of_process))))
                self.judge.take(f"{process}.ndjson", pack, self.now_ms)
        raised = self.judge.settle(self.now_ms)
        self.raised += raised
        self.judge = restored(self.judge)
        return raised

    def verdict(self, *, is_over: bool = True) -> Verdict:
        """Return the verdict, as if all records ended here, or while they go on."""
        return conclude(self.judge, is_over=is_over)

    @property
    def remembered(self) -> int:
        """Return how many stretches of messages are remembered."""
        return sum(scope.stretch_count for scope in self.judge.scopes.values())


def restored(judge: RunJudge) -> RunJudge:
    """Return a judge that knows what this one has put into bytes."""
    encoder = msgspec.msgpack.Encoder()
    memory = msgspec.msgpack.decode(encoder.encode(judge.memory), type=RunMemory)
    scopes = {
        key: msgspec.msgpack.decode(encoder.encode(scope), type=Scope)
        for key, scope in judge.scopes.items()
    }
    return RunJudge(memory, scopes)


def placed(rows: Iterable[Event]) -> list[Placed]:
    """Return rows with the files and lines that a play gives them."""
    lines: dict[str, int] = {}
    found = []
    for row in rows:
        lines[row.process] = lines.get(row.process, 0) + 1
        found.append((row, f"{row.process}.ndjson", lines[row.process]))
    return found


def played(rows: Iterable[Event], dice: Random, ms: int = 1) -> Play:
    """Follow a whole trace, journals at random."""
    left: dict[str, list[Event]] = {}
    for row in rows:
        left.setdefault(row.process, []).append(row)
    play = Play()
    while any(left.values()):
        pieces = []
        for process in dice.sample(sorted(left), len(left)):
            count = dice.choice([0, 0, 1, 2, 3, 5, 100])
            pieces.append(left[process][:count])
            left[process] = left[process][count:]
        play.batch(*pieces, ms=ms)
    return play

"""A run that grows while it is followed: journals of three processes, written as nodes write them.

Law: rows go through real journals, with wall-clock times, and are flushed as a node does it.
"""

import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
from tests.live.rows import NAMES, begin, deliver, sent, view

from antiphon.trace.journal import Journal
from antiphon.trace.schema import Event


class GrowingRun:
    """A run folder that is written to."""

    def __init__(self, path: Path, *, segment_bytes: int = 1 << 20) -> None:
        """Begin with an empty folder."""
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._segment_bytes = segment_bytes
        self._journals: dict[str, Journal] = {}
        self._round = 0
        self.view = 1

    def write(self, rows: Iterable[Event]) -> None:
        """Write rows to the journals of their processes, and flush them."""
        for row in rows:
            journal = self._journals.get(row.process)
            if journal is None:
                journal = self._journals[row.process] = Journal(
                    self.path / "events", row.process, segment_bytes=self._segment_bytes
                )
            now_us = time.time_ns() // 1000
            journal.append(msgspec.structs.replace(row, time_us=now_us))
        for journal in self._journals.values():
            journal.flush()

    def begin(self) -> None:
        """Let all three found the group."""
        for name in NAMES:
            self.write(begin(name))

    def talk(self, rounds: int = 1) -> None:
        """Let A ask, B answer, and all hear both, in causal order."""
        for _ in range(rounds):
            self.write([*self._exchange(), self._heard("A"), self._heard("B")])

    def break_causal_order(self) -> None:
        """Let C hear an answer before its question: by way of B, which had heard it."""
        self.write([*self._exchange(), self._heard("B"), self._heard("A")])

    def change_view(self) -> None:
        """Let all go on to the next view."""
        self.view += 1
        self._round = 0
        self.write([view(name, self.view) for name in NAMES])

    def _exchange(self) -> list[Event]:
        """Return a question of A's and an answer of B's, as these two record them."""
        self._round += 1
        number, view_number = self._round, self.view
        return [
            *sent("A", number, number=view_number),
            deliver("B", "A", number, number=view_number),
            *sent("B", number, number=view_number),
            deliver("A", "B", number, number=view_number),
        ]

    def _heard(self, sender: str) -> Event:
        return deliver("C", sender, self._round, number=self.view)

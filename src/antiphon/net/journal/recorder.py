"""What one incarnation does in one group, as rows of its journal.

Law: rows are numbered and kept in the order in which things happened, whatever their groups
(``writer``).
"""

from collections import Counter
from typing import Literal, NamedTuple

from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.net.journal.writer import JournalWriter
from antiphon.trace.rows import Rows
from antiphon.trace.schema import Kind


class Recorded(NamedTuple):
    """What rows say of the group whose they are."""

    group: str
    domain: str = ""
    resilience: int = 0


class Recorder:
    """Keeps the rows of one incarnation in one group."""

    def __init__(self, writer: JournalWriter, process: str, group: Recorded) -> None:
        """Write to a journal, which other groups of the domain may share."""
        self._writer, self._process = writer, process
        self._rows = Rows(process, group.group, writer.append, group.domain, group.resilience)
        self._is_shared = bool(group.domain)
        self._has_view = False
        self._now_us = writer.now_us
        self._letters: Counter[tuple[str, str]] = Counter()

    def view(self, view: View) -> None:
        """Note that a view was installed."""
        self._has_view = True
        self._rows.view(self._now_us(), view)

    def run(self, kind: Kind, run: Run, queue_depth: int, overhead_bytes: int = 0) -> None:
        """Note that ``run`` was multicast, received or delivered."""
        self._rows.run(self._now_us(), kind, run, queue_depth, overhead_bytes)

    def letter(self, kind: Literal["send", "take"], peer: str, byte_count: int) -> None:
        """Note that a letter was sent to, or taken from, another process."""
        self._letters[kind, peer] += 1
        number = self._letters[kind, peer]
        note = self._rows.send_letter if kind == "send" else self._rows.take_letter
        note(self._now_us(), peer, number, byte_count)

    def vote(self, initiator: str, number: int, *, is_yes: bool) -> None:
        """Note how this process votes on a transaction."""
        self._rows.vote(self._now_us(), initiator, number, is_yes=is_yes)

    def decide(self, initiator: str, number: int, *, is_commit: bool) -> None:
        """Note the fate of a transaction."""
        self._rows.decide(self._now_us(), initiator, number, is_commit=is_commit)

    def suspect(self, name: str, why: str) -> None:
        """Note that a member is suspected."""
        self._rows.suspect(self._now_us(), name, why)

    def block(self, reachable: tuple[ProcessId, ...] | None) -> None:
        """Note that the group is blocked, with whom can be reached; or, if None, goes on."""
        if reachable is None:
            self._rows.resume(self._now_us())
        else:
            self._rows.block(self._now_us(), " ".join(map(str, reachable)))

    def close(self, detail: str) -> None:
        """The group has ended here; raise what went wrong with its journal, if it had its own."""
        if not self._is_shared:
            self._writer.close(detail)
        elif self._has_view:
            self._writer.note_end(self._process, detail)

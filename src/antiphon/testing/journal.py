"""Journals in memory, of all processes of a cluster: what the oracle judges.

Law: rows are those that a run folder would hold. A process that was killed has a row that says so;
one that still runs has none that says that it stopped, unless the cluster is known to be at rest.
"""

from collections.abc import Collection
from pathlib import Path

from antiphon.trace.journal import Journal
from antiphon.trace.schema import QUIESCENT, Event


class MemoryJournal:
    """The rows of one incarnation; in a file as well, if the application asks for one."""

    def __init__(self, process: str, folder: Path | None) -> None:
        """Start empty."""
        self.process = process
        self.events: list[Event] = []
        self.is_closed = False
        self._file = Journal(folder, process) if folder is not None else None

    def append(self, event: Event) -> None:
        """Number a row and take it."""
        event.index = len(self.events)
        self.events.append(event)
        if self._file is not None:
            self._file.append(event)

    def flush(self) -> None:
        """Nothing is lost here; what is on disk may be."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Nothing more comes."""
        self.is_closed = True
        if self._file is not None:
            self._file.close()


class Journals:
    """Those of all processes."""

    def __init__(self) -> None:
        """Start with none."""
        self._of: dict[str, list[MemoryJournal]] = {}

    def open(self, name: str, folder: Path | None, process: str) -> MemoryJournal:
        """Return a journal for an incarnation ``process`` of ``name``."""
        journal = MemoryJournal(process, folder)
        self._of.setdefault(name, []).append(journal)
        return journal

    def note_kill(self, name: str, time_us: int) -> None:
        """Note that a process was killed."""
        for journal in self._of.get(name, ()):
            if not journal.is_closed:
                journal.append(Event(process=journal.process, time_us=time_us, kind="crash"))
                journal.close()

    def events(
        self, *, at_rest_us: int | None = None, restless: Collection[str] = ()
    ) -> list[Event]:
        """Return all rows; with a stop for who still runs, if the cluster was at rest then.

        Nothing is said of the end of those that are ``restless``.
        """
        rows: list[Event] = []
        for name, journals in self._of.items():
            for journal in journals:
                rows += journal.events
                if at_rest_us is not None and not journal.is_closed and name not in restless:
                    rows.append(
                        Event(
                            process=journal.process, time_us=at_rest_us, kind="stop",
                            index=len(journal.events), detail=QUIESCENT,
                        )
                    )  # fmt: skip
        return rows

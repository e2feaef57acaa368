"""Journals in memory, of all processes of a cluster: what the oracle judges.

Law: rows are those that a run folder would hold. A process that was killed has a row that says so;
one that still runs has none that says that it stopped, unless the cluster is known to be at rest.
Each group, or causality domain that groups share, is a run of its own: where there are several,
each row says of which it is.
"""

from collections.abc import Callable
from pathlib import Path

from antiphon.trace.journal import Journal
from antiphon.trace.schema import LEFT, QUIESCENT, Event


class MemoryJournal:
    """The rows of one incarnation; in a file as well, if the application asks for one."""

    def __init__(self, process: str, group: str, folder: Path | None) -> None:
        """Start empty."""
        self.process = process
        self.group = group
        self.events: list[Event] = []
        self.is_closed = False
        self._file = Journal(folder, process) if folder is not None else None

    def append(self, event: Event) -> None:
        """Number a row and take it."""
        event.index = len(self.events)
        self.events.append(event)
        if self._file is not None:
            self._file.append(event)

    def claim(self, name: str) -> None:
        """Keep rows of another name of the process here."""
        if self._file is not None:
            self._file.claim(name)

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

    def open(self, name: str, folder: Path | None, process: str, group: str) -> MemoryJournal:
        """Return a journal for an incarnation ``process`` of ``name`` in a group."""
        journal = MemoryJournal(process, group, folder)
        self._of.setdefault(name, []).append(journal)
        return journal

    def note_kill(self, name: str, time_us: int) -> None:
        """Note that a process was killed."""
        for journal in self._of.get(name, ()):
            if not journal.is_closed:
                journal.append(Event(process=journal.process, time_us=time_us, kind="crash"))
                journal.close()

    def events(
        self,
        *,
        at_rest_us: int | None = None,
        is_restless: Callable[[str, str], bool] = lambda *_: False,
    ) -> list[Event]:
        """Return all rows; with a stop for who still runs, if the cluster was at rest then.

        Nothing is said of the end of a process in a group in which it ``is_restless``.
        """
        rows: list[Event] = []
        groups = {journal.group for journals in self._of.values() for journal in journals}
        for name, journals in self._of.items():
            for journal in journals:
                of_journal = list(journal.events)
                names = dict.fromkeys(row.process for row in of_journal)
                is_open = at_rest_us is not None and not journal.is_closed
                if is_open and not is_restless(name, journal.group):
                    of_journal += [
                        Event(
                            process=who,
                            recorded_as=journal.process if who != journal.process else "",
                            time_us=at_rest_us or 0, kind="stop", index=index,
                            detail=LEFT if _has_left(of_journal, who) else QUIESCENT,
                        )
                        for index, who in enumerate(names, len(journal.events))
                    ]  # fmt: skip
                if len(groups) > 1:
                    for row in of_journal:
                        row.run = journal.group
                rows += of_journal
        return rows


def _has_left(rows: list[Event], process: str) -> bool:
    """Whether a process has left all the groups that it was in under a name."""
    views = [row for row in rows if row.kind == "view" and row.process == process]
    last = {row.group: row for row in views}
    return bool(last) and not any(process in (row.members or ()) for row in last.values())

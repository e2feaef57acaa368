"""The journals of one incarnation: one for each causality domain, or for a group by itself.

Law: what happens in the groups of a domain is in one journal, in the order in which it happened,
for it is judged together. That journal lasts as long as the incarnation, whichever groups come and
go. A process that has left a group of it and come again has another name there: its rows under that
name are in the same journal. A group that is a domain of its own has a journal of its own, which
ends with it.
"""

from pathlib import Path

from antiphon.core.errors import AntiphonError
from antiphon.net.journal.recorder import Recorded, Recorder
from antiphon.net.journal.writer import JournalWriter
from antiphon.net.transport.environment import Environment


class IncarnationJournals:
    """Opens journals, and keeps those of domains."""

    def __init__(self, environment: Environment) -> None:
        """Open none."""
        self._environment = environment
        self._of_domains: dict[str, JournalWriter] = {}

    def recorder(self, folder: Path | None, process: str, said: Recorded) -> Recorder | None:
        """Return what keeps the rows of a process in a group, if they go anywhere."""
        writer = self._of_domains.get(said.domain) if said.domain else None
        if writer is None:
            writer = self._open(folder, process, said)
        else:
            writer.begin(process)
        return Recorder(writer, process, said) if writer is not None else None

    def _open(self, folder: Path | None, process: str, said: Recorded) -> JournalWriter | None:
        journal = self._environment.open_journal(folder, process, said.domain or said.group)
        if journal is None:
            return None
        writer = JournalWriter(journal, process, self._environment)
        if said.domain:
            self._of_domains[said.domain] = writer
        return writer

    def close(self) -> None:
        """The incarnation has ended; raise what went wrong with a journal, if anything did."""
        writers, self._of_domains = list(self._of_domains.values()), {}
        errors: list[AntiphonError] = []
        for writer in writers:
            try:
                writer.close("never entered a group")
            except AntiphonError as error:
                errors.append(error)
        if errors:
            raise errors[0]

"""The journal of a process while it is written: often enough to survive its death.

Law: at most ``FLUSH_S`` of rows are lost when the process is killed. A journal that cannot be
written (a full disk, say) never stops a group: the error is logged at once and raised when the
process stops, so that nobody takes the trace for whole. A journal is of one process: of its part
in one group, or in all groups of a causality domain, which are judged together. There a process may
have several names, of which each has its own beginning and end in the one record. It ends when the
process does, and says the worst of how the groups ended.
"""

import asyncio
import logging
from collections.abc import Callable

from antiphon.core.errors import AntiphonError
from antiphon.net.transport.environment import Environment, JournalSink
from antiphon.trace.schema import LEFT, Event

FLUSH_S = 0.5

_log = logging.getLogger("antiphon")


class JournalWriter:
    """Writes the rows of one process."""

    def __init__(self, journal: JournalSink, process: str, environment: Environment) -> None:
        """Note the start in a journal that is open."""
        self._journal = journal
        self.process = process
        self._error: AntiphonError | None = None
        # Wall-clock time that never runs backwards within a process.
        self._monotonic_us = environment.now_us
        self._offset_us = environment.wall_us() - environment.now_us()
        self._timer: asyncio.TimerHandle | None = None
        self._details: dict[str, str] = {}
        """By name: how its groups have ended so far."""
        self.is_closed = False
        self.begin(process)
        self._flush()

    def begin(self, name: str) -> None:
        """Note that the process begins under a name, unless it has it already."""
        if name not in self._details:
            if self._details:
                self._journal.claim(name)
            self._details[name] = ""
            self.append(Event(process=name, time_us=self.now_us(), kind="start"))

    def now_us(self) -> int:
        """Return the time that rows say."""
        return self._monotonic_us() + self._offset_us

    def append(self, event: Event) -> None:
        """Take a row, of whatever name of the process."""
        if event.process != self.process:
            event.recorded_as = self.process
        if self._error is None:
            self._try(lambda: self._journal.append(event))

    def note_end(self, name: str, detail: str) -> None:
        """A group has ended for a name; of several ends the first that is not good is said."""
        if self._details[name] in {"", LEFT}:
            self._details[name] = detail

    def close(self, detail: str = "") -> None:
        """Note the stop and close the journal; raise what went wrong with it, if anything did."""
        if self.is_closed:
            return
        self.is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for name, said in self._details.items():
            stop = Event(process=name, time_us=self.now_us(), kind="stop", detail=said or detail)
            self.append(stop)
        if self._error is not None:
            raise self._error
        self._journal.close()

    def _flush(self) -> None:
        if self._error is None:
            self._try(self._journal.flush)
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self._flush)

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except AntiphonError as error:
            self._error = error
            _log.error("the trace of this process ends here: %s", error)

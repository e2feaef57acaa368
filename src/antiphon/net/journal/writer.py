"""The journal of a process while it is written: often enough to survive its death.

Law: at most ``FLUSH_S`` of rows are lost when the process is killed. A journal that cannot be
written (a full disk, say) never stops a group: the error is logged at once and raised when the
process stops, so that nobody takes the trace for whole. A journal is of one process: of its part
in one group, or in all groups of a causality domain, which are judged together. It ends when that
does, and says the worst of how the groups ended.
"""

import asyncio
import logging
from collections.abc import Callable

from antiphon.core.errors import AntiphonError
from antiphon.net.transport.environment import Environment, JournalSink
from antiphon.trace.schema import BESIDE, LEFT, Event

FLUSH_S = 0.5

_log = logging.getLogger("antiphon")


class JournalWriter:
    """Writes the rows of one process."""

    def __init__(
        self, journal: JournalSink, process: str, environment: Environment, beside: str = ""
    ) -> None:
        """Note the start in a journal that is open; ``beside`` another name of the process."""
        self._journal = journal
        self._process = process
        self._error: AntiphonError | None = None
        # Wall-clock time that never runs backwards within a process.
        self._monotonic_us = environment.now_us
        self._offset_us = environment.wall_us() - environment.now_us()
        self._timer: asyncio.TimerHandle | None = None
        self._detail = ""
        self.is_closed = False
        detail = BESIDE + beside if beside else ""
        self.append(Event(process=process, time_us=self.now_us(), kind="start", detail=detail))
        self._flush()

    def now_us(self) -> int:
        """Return the time that rows say."""
        return self._monotonic_us() + self._offset_us

    def append(self, event: Event) -> None:
        """Take a row."""
        if self._error is None:
            self._try(lambda: self._journal.append(event))

    def note_end(self, detail: str) -> None:
        """A group has ended here; of several ends the journal says the first that is not good."""
        if not self._detail or self._detail == LEFT:
            self._detail = detail

    def close(self, detail: str = "") -> None:
        """Note the stop and close the journal; raise what went wrong with it, if anything did."""
        if self.is_closed:
            return
        self.is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        detail = self._detail or detail
        self.append(Event(process=self._process, time_us=self.now_us(), kind="stop", detail=detail))
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

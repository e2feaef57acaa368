"""The journal of one incarnation: rows of what it did, written often enough to survive its death.

Law: at most ``FLUSH_S`` of rows are lost when the process is killed. A journal that cannot be
written (a full disk, say) never stops the group: the error is logged at once and raised when the
process stops, so that nobody takes the trace for whole.
"""

import asyncio
import logging
from collections import Counter
from typing import Literal

from antiphon.core.errors import AntiphonError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.net.transport.environment import Environment, JournalSink
from antiphon.trace.rows import Rows
from antiphon.trace.schema import Event, Kind

FLUSH_S = 0.5

_log = logging.getLogger("antiphon")


class Recorder:
    """Keeps the journal of one incarnation."""

    def __init__(
        self, journal: JournalSink, process: str, group: str, environment: Environment
    ) -> None:
        """Note the start in a journal that is open."""
        self._journal = journal
        self._error: AntiphonError | None = None
        # Wall-clock time that never runs backwards within a process.
        self._monotonic_us = environment.now_us
        self._offset_us = environment.wall_us() - environment.now_us()
        self._rows = Rows(process, group, self._append)
        self._timer: asyncio.TimerHandle | None = None
        self._letters: Counter[tuple[str, str]] = Counter()
        self._rows.start(self._now_us())
        self._flush()

    def _now_us(self) -> int:
        return self._monotonic_us() + self._offset_us

    def view(self, view: View) -> None:
        """Note that a view was installed."""
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

    def _append(self, event: Event) -> None:
        if self._error is None:
            try:
                self._journal.append(event)
            except AntiphonError as error:
                self._fail(error)

    def _flush(self) -> None:
        if self._error is None:
            try:
                self._journal.flush()
            except AntiphonError as error:
                self._fail(error)
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self._flush)

    def _fail(self, error: AntiphonError) -> None:
        self._error = error
        _log.error("the trace of this process ends here: %s", error)

    def close(self, detail: str) -> None:
        """Note the stop and close the journal; raise what went wrong with it, if anything did."""
        if self._timer is not None:
            self._timer.cancel()
        self._rows.stop(self._now_us(), detail)
        if self._error is None:
            self._journal.close()
        else:
            raise self._error

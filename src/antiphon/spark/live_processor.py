"""The live judge inside Spark: what it remembers is Spark's state, what it tells is Spark's rows.

Law: a run is a key, for a process is in one run, and may be in several of its groups. The state of
a run is one value for what is known of it, and one per view that goes on; it is loaded, and what
has changed is stored, once per batch. Between two batches nothing is kept elsewhere: a batch that
is done again, after a crash, tells the same. Rows of a journal are taken in its order. Cost: two
hundred kilobytes of state for 5,000 messages a second, with journals up to half a second apart.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
)

from antiphon.live.judge import RunJudge
from antiphon.live.memory.record import RunMemory
from antiphon.live.memory.scope import Scope
from antiphon.live.packs import decode
from antiphon.live.updates import update_of

UPDATE_COLUMNS = "run string, update binary"

TICK_MS = 2_000
"""Where nothing is written, the judge looks at the clock so often."""

_ENCODER = msgspec.msgpack.Encoder()
_MEMORY = msgspec.msgpack.Decoder(RunMemory)
_SCOPE = msgspec.msgpack.Decoder(Scope)


class LiveProcessor(StatefulProcessor):
    """Judges the packs of each run, batch by batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Take Spark's state."""
        self._handle = handle
        self._memory = handle.getValueState("run", "memory binary")
        self._views = handle.getMapState("views", "view string", "memory binary")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: tuple[str],
        rows: Iterator[Row],
        timerValues: Any,  # noqa: ANN401, N803
    ) -> Iterator[Row]:
        """Take what has been added to the journals of a run."""
        yield self._judged(key[0], rows, timerValues.getCurrentProcessingTimeInMs())

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: tuple[str],
        timerValues: Any,  # noqa: ANN401, N803
        expiredTimerInfo: Any,  # noqa: ANN401, ARG002, N803
    ) -> Iterator[Row]:
        """Look at the clock: somebody may have been silent for too long."""
        now_ms = timerValues.getCurrentProcessingTimeInMs()
        judge, before = self._loaded(key[0])
        if judge.memory.timer_ms <= now_ms:  # else rows came in the same batch, and set the next
            yield self._told(judge, before, now_ms)

    def close(self) -> None:
        """Nothing is kept."""

    def _judged(self, run: str, rows: Iterable[Row], now_ms: int) -> Row:
        judge, before = self._loaded(run)
        for row in sorted(rows, key=_place):
            judge.take(row["file"], decode(bytes(row["pack"])), now_ms)
        return self._told(judge, before, now_ms)

    def _told(self, judge: RunJudge, before: dict[str, bytes], now_ms: int) -> Row:
        """End a batch: settle, store, look at the clock again soon, and tell."""
        memory = judge.memory
        update = update_of(judge, judge.settle(now_ms))
        if memory.timer_ms <= now_ms:
            memory.timer_ms = now_ms + TICK_MS
            self._handle.registerTimer(memory.timer_ms)
        self._store(judge, before)
        return Row(run=memory.name, update=_ENCODER.encode(update))

    def _loaded(self, run: str) -> tuple[RunJudge, dict[str, bytes]]:
        """Return the judge as it was left, and its views as they were stored."""
        stored = self._memory.get()
        memory = RunMemory(run) if stored is None else _MEMORY.decode(bytes(stored[0]))
        views = {key[0]: bytes(value[0]) for key, value in self._views.iterator()}
        scopes = [_SCOPE.decode(data) for data in views.values()]
        return RunJudge(memory, {(each.group, each.view): each for each in scopes}), views

    def _store(self, judge: RunJudge, before: dict[str, bytes]) -> None:
        self._memory.update((_ENCODER.encode(judge.memory),))
        after = {f"{group}/{view}": scope for (group, view), scope in judge.scopes.items()}
        for key, scope in after.items():
            data = _ENCODER.encode(scope)
            if before.get(key) != data:
                self._views.updateValue((key,), (data,))
        for key in before:
            if key not in after:
                self._views.removeKey((key,))


def _place(row: Row) -> tuple[str, int, str, int]:
    """Return where a pack stands: segments of a journal in order, then by bytes."""
    file = Path(row["file"])
    return (str(file.parent), len(file.name), file.name, row["begin"])

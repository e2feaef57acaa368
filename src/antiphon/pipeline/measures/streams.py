"""The messages of one sender in one view, at all processes: delays, holds, stability.

Law: a delivery is of the multicast row that its first message is in; the messages of a row count
with its time. An arrival is the ``receive`` row that covers the delivery's first message. A run is
at a member when the row is that covers its last message. Memory: the rows of one sender in one
view. Distributions of a part are added up before they leave it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from antiphon.pipeline.measures.rows import FOR_SOME, ROLES
from antiphon.pipeline.tables.chunks import chunks, numbers
from antiphon.trace.distribution import EXACT, GRAIN, Distribution

PART_TYPES = {"sums": "binary"}

_MULTICAST, _RECEIVE, _DELIVER = ROLES["multicast"], ROLES["receive"], ROLES["deliver"]

Numbers = np.ndarray[Any, Any]


class StreamSums(msgspec.Struct):
    """What streams tell about one process."""

    delivery_delay: Distribution = msgspec.field(default_factory=Distribution)
    hold_time: Distribution = msgspec.field(default_factory=Distribution)
    stability_lag: Distribution = msgspec.field(default_factory=Distribution)
    early_count: int = 0
    """Deliver rows before, by the clocks, the multicast row."""
    unstable_count: int = 0
    """Messages that some member of the view never had."""


class _Part(msgspec.Struct):
    """What the streams of a part tell, by the digests of processes."""

    processes: dict[int, StreamSums] = {}

    def at(self, process: int) -> StreamSums:
        return self.processes.setdefault(process, StreamSums())


def measure_streams(
    batches: Iterable[pa.RecordBatch], *, members: Mapping[int, tuple[int, ...]]
) -> Iterator[pa.RecordBatch]:
    """Be a kernel: measure every stream of a part, whose rows come together."""
    part = _Part()
    for (stream,), batch in chunks(batches, ("stream",)):
        measure_stream(part, batch, members.get(stream, ()))
    blob = pa.array([msgspec.msgpack.encode(part)], pa.binary())
    yield pa.RecordBatch.from_arrays([blob], names=list(PART_TYPES))


def sums_of(batches: Iterable[pa.RecordBatch]) -> dict[int, StreamSums]:
    """Return what all parts tell together, by the digests of processes."""
    found: dict[int, StreamSums] = {}
    for batch in batches:
        for blob in batch.column("sums"):
            part = msgspec.msgpack.decode(blob.as_buffer(), type=_Part)
            for process, sums in part.processes.items():
                if process in found:
                    _include(found[process], sums)
                else:
                    found[process] = sums
    return found


def _include(whole: StreamSums, part: StreamSums) -> None:
    for name in ("delivery_delay", "hold_time", "stability_lag"):
        getattr(whole, name).include(getattr(part, name))
    whole.early_count += part.early_count
    whole.unstable_count += part.unstable_count


def measure_stream(part: _Part, batch: pa.RecordBatch, members: tuple[int, ...]) -> None:
    """Add what one stream tells."""
    role, process = numbers(batch, "role"), numbers(batch, "process")
    is_sent = (role == _MULTICAST) | (role == FOR_SOME)
    sent = _rows(batch, is_sent)
    owner = int(process[is_sent][0]) if len(sent.first) else None
    there: dict[int, _Rows] = {}
    for each in map(int, np.unique(process)):
        arrived = _rows(batch, (process == each) & (role == _RECEIVE))
        delivered = _rows(batch, (process == each) & (role == _DELIVER))
        there[each] = arrived if len(arrived.first) else delivered
        if each != owner:
            _add_delays(part.at(each), sent, delivered)
            _add_holds(part.at(each), arrived, delivered)
    if owner is not None:
        others = [there.get(each) for each in members if each != owner]
        _add_stability(part.at(owner), _rows(batch, role == _MULTICAST), others)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Message rows, in order of their first message, then of time."""

    first: Numbers
    count: Numbers
    time_us: Numbers

    def covering(self, message: Numbers) -> tuple[Numbers, Numbers]:
        """Return, for each message, whether there is a row that covers it, and the last such."""
        if not len(self.first):
            return np.zeros(len(message), dtype=bool), np.zeros(len(message), dtype=np.int64)
        place = np.searchsorted(self.first, message, side="right") - 1
        at = np.maximum(place, 0)
        return (place >= 0) & (self.first[at] + self.count[at] > message), at

    def earliest(self, place: Numbers) -> Numbers:
        """Return the first of the rows with the same first message: others are repetitions."""
        return np.searchsorted(self.first, self.first[place], side="left")


def _rows(batch: pa.RecordBatch, which: Numbers) -> _Rows:
    first, count, time_us = (numbers(batch, name)[which] for name in ("first", "count", "time_us"))
    order = np.lexsort((time_us, first))
    return _Rows(first[order], count[order], time_us[order])


def _add_delays(sums: StreamSums, sent: _Rows, delivered: _Rows) -> None:
    is_known, at = sent.covering(delivered.first)
    delays_us = delivered.time_us[is_known] - sent.time_us[at[is_known]]
    is_early = delays_us < 0
    sums.early_count += int(is_early.sum())
    weights = delivered.count[is_known]
    add_values(sums.delivery_delay, delays_us[~is_early], weights[~is_early])


def _add_holds(sums: StreamSums, arrived: _Rows, delivered: _Rows) -> None:
    is_known, at = arrived.covering(delivered.first)
    at, until_us = at[is_known], delivered.time_us[is_known]
    # A copy that came again after the delivery is not the one that was delivered.
    at = np.where(arrived.time_us[at] > until_us, arrived.earliest(at), at) if len(at) else at
    holds_us = until_us - arrived.time_us[at]
    weights = delivered.count[is_known]
    add_values(sums.hold_time, holds_us[holds_us >= 0], weights[holds_us >= 0])


def _add_stability(sums: StreamSums, sent: _Rows, others: list[_Rows | None]) -> None:
    is_stable = np.ones(len(sent.first), dtype=bool)
    since_us = sent.time_us.copy()
    for rows in others:
        if rows is None:
            is_stable[:] = False
            break
        is_there, at = rows.covering(sent.first + sent.count - 1)
        is_stable &= is_there
        if len(rows.first):
            came_us = rows.time_us[rows.earliest(at)]
            since_us = np.maximum(since_us, np.where(is_there, came_us, since_us))
    sums.unstable_count += int(sent.count[~is_stable].sum())
    lags_us = since_us - sent.time_us
    add_values(sums.stability_lag, lags_us[is_stable], sent.count[is_stable])


def add_values(distribution: Distribution, values: Numbers, weights: Numbers) -> None:
    """Count many values at once, as ``Distribution.add`` counts one."""
    if not len(values):
        return
    above = np.maximum(values, EXACT) / EXACT
    bucket = np.where(values < EXACT, values, EXACT + (np.log(above) / GRAIN).astype(np.int64))
    which, place = np.unique(bucket, return_inverse=True)
    counted = np.bincount(place, weights=weights)
    part = Distribution(
        dict(zip(which.tolist(), map(int, counted), strict=True)),
        int(weights.sum()), float((values * weights).sum()), float(values.min()),
        float(values.max()),
    )  # fmt: skip
    distribution.include(part)

"""What can be counted and timed in a trace: messages, delays, depths, headers, view changes.

Law: what each measure is, ``antiphon.trace.measures`` tells; the pipeline computes the same for
runs of any size. Counts come from rows alone. Times are compared between processes only where no
message was delivered before it was multicast by the clocks: one that was shows that clocks differ,
and then delays and durations are left out, with the reason. Delays are of messages, not of runs,
and leave out what a process delivers of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from antiphon.report.matching import Origins, arrivals, rows_of
from antiphon.report.record import CODE, Lane, RecordedTrace
from antiphon.trace.distribution import Distribution
from antiphon.trace.view_changes import AbsenceSign, Installation, ViewChange, view_changes

BINS = 240
"""Points of a curve over time."""

_SIGNS = ("crash", "suspect")


@dataclass(slots=True)
class ProcessCounts:
    """What one process did."""

    name: str
    multicast_runs: int = 0
    multicast_messages: int = 0
    delivered_runs: int = 0
    delivered_messages: int = 0
    held_runs: int = 0
    """Runs that were in the delay queue, or waited for their order: delivered after they came."""
    depth_max: int = 0


@dataclass(slots=True)
class Depths:
    """The delay queue over time: the deepest at any process, and the mean over rows."""

    begin_us: int = 0
    step_us: float = 0.0
    deepest: list[int] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Headers:
    """Bytes beyond the payloads, by length of run."""

    message_count: int = 0
    byte_count: int = 0
    payload_bytes: int = 0
    by_length: dict[int, tuple[int, int]] = field(default_factory=dict)
    """For runs of 1, 2 to 3, 4 to 7, ... messages: bytes and messages."""


@dataclass(slots=True)
class Measures:
    """All of them."""

    processes: list[ProcessCounts]
    delays: Distribution
    held: Distribution
    early_count: int
    """Rows that deliver what by the clocks was not multicast yet."""
    has_times: bool
    duration_us: int
    depths: Depths
    headers: Headers
    changes: list[ViewChange]

    @property
    def is_comparable(self) -> bool:
        """Whether times of different processes can be compared."""
        return self.has_times and not self.early_count


def measures_of(record: RecordedTrace, origins: Origins) -> Measures:
    """Return what a trace tells."""
    times = [time_us for lane in record.lanes for time_us in _ends_us(lane)]
    begin_us, end_us = min(times), max(times)
    measures = Measures(
        processes=[], delays=Distribution(), held=Distribution(), early_count=0,
        has_times=record.has_times, duration_us=end_us - begin_us, depths=Depths(begin_us),
        headers=_headers(record), changes=[],
    )  # fmt: skip
    for place, lane in enumerate(record.lanes):
        measures.processes.append(_counts(lane))
        if measures.has_times:
            _time_deliveries(measures, record, origins, place)
    if measures.has_times:
        measures.depths = _depths(record, begin_us, end_us)
    if measures.is_comparable:
        measures.changes = _changes(record, begin_us)
    return measures


def _ends_us(lane: Lane) -> tuple[int, int]:
    return min(lane.time_us), max(lane.time_us)


def _counts(lane: Lane) -> ProcessCounts:
    counts = ProcessCounts(lane.process, depth_max=max(lane.queue_depth))
    for row in rows_of(lane, "multicast"):
        counts.multicast_runs += 1
        counts.multicast_messages += lane.count[row]
    for row in rows_of(lane, "deliver"):
        counts.delivered_runs += 1
        counts.delivered_messages += lane.count[row]
    return counts


def _time_deliveries(
    measures: Measures, record: RecordedTrace, origins: Origins, place: int
) -> None:
    """Add the delays of what a process delivered."""
    lane, counts = record.lanes[place], measures.processes[place]
    for row, arrived in arrivals(lane, origins, place).items():
        held_us = lane.time_us[row] - lane.time_us[arrived]
        if lane.kind[arrived] == CODE["receive"] and held_us >= 0:
            measures.held.add(held_us, lane.count[row])
        counts.held_runs += row - arrived > 1 and held_us > 0
    for row in rows_of(lane, "deliver"):
        at, sent = next(origins.of(lane, row), (place, row))
        if at == place:
            continue
        delay_us = lane.time_us[row] - record.lanes[at].time_us[sent]
        if delay_us < 0:
            measures.early_count += 1
        else:
            measures.delays.add(delay_us, lane.count[row])


def _depths(record: RecordedTrace, begin_us: int, end_us: int) -> Depths:
    step_us = max((end_us - begin_us) / BINS, 1.0)
    deepest, total, rows = [0] * BINS, [0] * BINS, [0] * BINS
    for lane in record.lanes:
        for time_us, depth in zip(lane.time_us, lane.queue_depth, strict=True):
            slot = min(int((time_us - begin_us) / step_us), BINS - 1)
            deepest[slot] = max(deepest[slot], depth)
            total[slot] += depth
            rows[slot] += 1
    mean = [depth / max(count, 1) for depth, count in zip(total, rows, strict=True)]
    return Depths(begin_us, step_us, deepest, mean)


def _headers(record: RecordedTrace) -> Headers:
    headers = Headers()
    for lane in record.lanes:
        for row in rows_of(lane, "multicast"):
            count, byte_count = lane.count[row], lane.overhead_bytes[row]
            if not byte_count:  # the trace does not say
                continue
            shortest = 1 << (count.bit_length() - 1)
            before = headers.by_length.get(shortest, (0, 0))
            headers.by_length[shortest] = (before[0] + byte_count, before[1] + count)
            headers.message_count += count
            headers.byte_count += byte_count
            headers.payload_bytes += lane.byte_count[row]
    return headers


def _changes(record: RecordedTrace, begin_us: int) -> list[ViewChange]:
    """Return how each view came about that follows another."""
    installations = [
        Installation(
            *record.streams[lane.stream[row]][:3], lane.time_us[row], lane.members.get(row, ())
        )
        for lane in record.lanes
        for row in rows_of(lane, "view")
    ]
    return view_changes(installations, _signs(record), begin_us)


def _signs(record: RecordedTrace) -> Iterable[AbsenceSign]:
    """Yield crashes and suspicions: when, and of whom."""
    for lane in record.lanes:
        for row in rows_of(lane, *_SIGNS):
            is_crash = lane.kind[row] == CODE["crash"]
            who = lane.process if is_crash else record.streams[lane.stream[row]].sender
            yield AbsenceSign(lane.run, who, lane.time_us[row])

"""A trace as Perfetto shows it, in the Trace Event Format (JSON) that Chrome made usual.

Law: a run is a process there, and each of its processes a thread, that is, a track. Rows about
messages are slices of a microsecond, for arrows (flows) begin and end in slices: one from each row
that sent something to each row that delivered or took it. Other rows, but those about frames, are
instants.
Times are the trace's own, from 0; a trace without times has its rows ten microseconds apart, in
causal order.
"""

from collections.abc import Iterator
from typing import Any

from antiphon.report.export.ordering import in_causal_order
from antiphon.report.export.shiviz import row_words
from antiphon.report.matching import Origins, Place
from antiphon.report.record import CODE, KINDS, RecordedTrace

_FRAME = CODE["send_frame"]
_SLICES = frozenset(CODE[kind] for kind in ("multicast", "receive", "deliver", "send", "take"))
_ENDS = frozenset((CODE["deliver"], CODE["take"]))
_APART_US = 10

TraceEvent = dict[str, Any]


def perfetto_events(record: RecordedTrace) -> Iterator[TraceEvent]:
    """Yield the events; together they are the value of `traceEvents`."""
    runs = {run: number for number, run in enumerate(dict.fromkeys(_runs(record)), 1)}
    for run, number in runs.items():
        yield _named("process_name", number, 0, run or "trace")
    tracks = [(runs[lane.run], place) for place, lane in enumerate(record.lanes, 1)]
    for (pid, tid), lane in zip(tracks, record.lanes, strict=True):
        yield _named("thread_name", pid, tid, lane.process)
        yield _told("M", "thread_sort_index", pid, tid) | {"args": {"sort_index": tid}}
    yield from _happenings(record, tracks)


def _happenings(record: RecordedTrace, tracks: list[tuple[int, int]]) -> Iterator[TraceEvent]:
    times = _Times(record)
    order, leaving, arriving = _arrows(record)
    for place, row in order:
        lane = record.lanes[place]
        if lane.kind[row] == _FRAME:
            continue
        pid, tid = tracks[place]
        name = row_words(record, lane, row)
        event = _told("X" if lane.kind[row] in _SLICES else "i", name, pid, tid)
        event |= {"cat": KINDS[lane.kind[row]], "ts": times.of((place, row))}
        if lane.kind[row] in _SLICES:
            event |= {"dur": 1, "args": {"bytes": lane.byte_count[row]}}
        else:
            event["s"] = "t"
        event.setdefault("args", {})["line"] = f"{record.files[lane.file[row]]}:{lane.line[row]}"
        yield event
        flow = {"cat": "message", "ts": event["ts"]}
        for number in leaving.get((place, row), ()):
            yield _told("s", "message", pid, tid) | flow | {"id": number}
        for number in arriving.get((place, row), ()):
            yield _told("f", "message", pid, tid) | flow | {"id": number, "bp": "e"}


def _arrows(
    record: RecordedTrace,
) -> tuple[list[Place], dict[Place, list[int]], dict[Place, list[int]]]:
    """Return all rows in causal order, and the numbers of the arrows that leave and reach each."""
    order: list[Place] = []
    leaving: dict[Place, list[int]] = {}
    arriving: dict[Place, list[int]] = {}
    arrow_count = 0
    for where, causes in in_causal_order(record, Origins(record)):
        order.append(where)
        for cause in causes if record.lanes[where[0]].kind[where[1]] in _ENDS else ():
            arrow_count += 1
            leaving.setdefault(cause, []).append(arrow_count)
            arriving.setdefault(where, []).append(arrow_count)
    return order, leaving, arriving


class _Times:
    """When rows happened: as they say, or one after the other."""

    def __init__(self, record: RecordedTrace) -> None:
        self._record = record
        self._start = min(min(lane.time_us) for lane in record.lanes)
        self._given: dict[Place, int] | None = None if record.has_times else {}

    def of(self, where: Place) -> int:
        if self._given is not None:
            return self._given.setdefault(where, _APART_US * len(self._given))
        place, row = where
        return self._record.lanes[place].time_us[row] - self._start


def _runs(record: RecordedTrace) -> list[str]:
    return [lane.run for lane in record.lanes]


def _named(what: str, pid: int, tid: int, name: str) -> TraceEvent:
    return _told("M", what, pid, tid) | {"args": {"name": name}}


def _told(phase: str, name: str, pid: int, tid: int) -> TraceEvent:
    return {"ph": phase, "name": name, "pid": pid, "tid": tid, "ts": 0}

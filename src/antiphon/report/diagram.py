"""The space-time diagram as data: processes, what they did, and what leads from one to another.

Law: events are numbered lane by lane, each lane's in local order. An arrow leads from the row that
multicast a run, or sent a letter, to the row at which it arrived, or else was delivered; a hold
from a row to the earlier one, at the same process, at which the same messages had arrived (or were
multicast, for its own). ``levels`` are Lamport's: an event is later than the one before it at its
process, and than the multicast it is of; so in a trace without cycles all arrows point onward,
whatever clocks said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from antiphon.core.views import say_number
from antiphon.report.matching import Origins, Place, arrivals
from antiphon.report.moments import Moment, Witness, is_cut_off
from antiphon.report.record import CODE, Lane, RecordedTrace
from antiphon.report.selection import EVENTS_MAX, LANES_MAX, chosen_lanes, chosen_rows

TIME_SPAN_MAX = 2**52
"""Microseconds that a script can count exactly."""

_ARRIVING = frozenset(CODE[kind] for kind in ("receive", "deliver", "take"))
_DETAIL_MAX = 160
_DETAILS_MAX = 400_000
"""Characters of detail in all: text of a trace must not make a page of any size."""


@dataclass(slots=True)
class Diagram:
    """Everything that is drawn; parallel lists are columns."""

    lanes: list[str] = field(default_factory=list)
    """What is written at each line."""
    lane_sizes: list[int] = field(default_factory=list)
    """How many events each lane has."""
    streams: list[tuple[str, int, str, str]] = field(default_factory=list)
    """Of each stream: sender, its lane or -1, group, view."""
    files: list[str] = field(default_factory=list)

    kinds: list[int] = field(default_factory=list)
    times_us: list[int] | None = None
    """From the earliest event on; None: the trace does not tell."""
    levels: list[int] = field(default_factory=list)
    stream_of: list[int] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    file_of: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    holds: list[int] = field(default_factory=list)
    """How many events before a delivery its messages had arrived; 0: not known."""

    arrows: list[tuple[int, int]] = field(default_factory=list)
    """From which event to which."""
    details: dict[int, str] = field(default_factory=dict)
    gaps: dict[int, int] = field(default_factory=dict)
    """Rows left out before an event, but for frames."""
    cut_off: list[int] = field(default_factory=list)
    """Last events of records that break off: killed, or lost."""
    chains: list[list[int]] = field(default_factory=list)
    """The events of each violation's explanation; -1: not shown."""
    lates: list[int] = field(default_factory=list)
    """Of each violation: the delivery that came too late; -1: none, or not shown."""
    moments: list[tuple[str, str, int]] = field(default_factory=list)
    """What to look at: what it is, in words, and its event."""
    left_out: int = 0
    """Rows that are not shown, but for frames."""


def diagram_of(
    record: RecordedTrace,
    origins: Origins,
    witnesses: Sequence[Witness],
    moments: Sequence[Moment],
    events_max: int = EVENTS_MAX,
    lanes_max: int = LANES_MAX,
) -> Diagram:
    """Return what is drawn of a run."""
    seen = [place for witness in witnesses for place in (*witness.places, witness.late) if place]
    places = [*seen, *(moment.place for moment in moments)]
    lanes = chosen_lanes(record, places, lanes_max)
    chosen = chosen_rows(record, lanes, places, events_max)
    diagram = Diagram()
    numbers = _add_events(diagram, record, chosen)
    _add_arrows(diagram, record, origins, chosen, numbers)
    diagram.levels = levels_of(diagram.lane_sizes, diagram.arrows)
    diagram.chains = [
        [-1 if place is None else numbers.get(place, -1) for place in witness.places]
        for witness in witnesses
    ]
    diagram.lates = [
        -1 if witness.late is None else numbers.get(witness.late, -1) for witness in witnesses
    ]
    diagram.moments = [
        (moment.what, moment.label, numbers[moment.place])
        for moment in moments
        if moment.place in numbers
    ]
    diagram.cut_off = [
        number
        for place in lanes
        if is_cut_off(lane := record.lanes[place])
        and (number := numbers.get((place, len(lane) - 1))) is not None
    ]
    shown = sum(lane.shown_count(0, len(lane)) for lane in record.lanes)
    diagram.left_out = shown - len(diagram.kinds)
    return diagram


def _add_events(
    diagram: Diagram, record: RecordedTrace, chosen: dict[int, Sequence[int]]
) -> dict[Place, int]:
    """Add the rows as events; return their numbers."""
    numbers: dict[Place, int] = {}
    times: list[int] = []
    runs = {lane.run for lane in record.lanes}
    streams = _Numbered(record, chosen)
    for place, rows in chosen.items():
        lane = record.lanes[place]
        diagram.lanes.append(f"{lane.run}: {lane.process}" if len(runs) > 1 else lane.process)
        diagram.lane_sizes.append(len(rows))
        expected = 0
        for row in rows:
            number = len(diagram.kinds)
            numbers[place, row] = number
            if missing := lane.shown_count(expected, row):
                diagram.gaps[number] = missing
            expected = row + 1
            diagram.kinds.append(lane.kind[row])
            diagram.stream_of.append(streams.number_of(lane.stream[row]))
            diagram.firsts.append(lane.first[row])
            diagram.counts.append(lane.count[row])
            diagram.depths.append(lane.queue_depth[row])
            diagram.file_of.append(lane.file[row])
            diagram.lines.append(lane.line[row])
            times.append(lane.time_us[row])
            if row in lane.details or row in lane.members:
                diagram.details[number] = _detail(lane, row)
    diagram.streams, diagram.files = streams.streams, record.files
    _cut_details(diagram)
    begin = min(times, default=0)
    if record.has_times and max(times, default=0) - begin < TIME_SPAN_MAX:
        diagram.times_us = [time_us - begin for time_us in times]
    return numbers


class _Numbered:
    """The streams that are shown, numbered as they come."""

    def __init__(self, record: RecordedTrace, chosen: dict[int, Sequence[int]]) -> None:
        self.streams: list[tuple[str, int, str, str]] = []
        self._record = record
        self._numbers: dict[int, int] = {}
        shown = {place: number for number, place in enumerate(chosen)}
        self._lanes = {
            name: shown[place] for name, place in record.lane_of().items() if place in shown
        }

    def number_of(self, stream: int) -> int:
        number = self._numbers.get(stream)
        if number is None:
            number = self._numbers[stream] = len(self.streams)
            run, group, view, sender = self._record.streams[stream]
            lane = self._lanes.get((run, sender), -1)
            self.streams.append((sender, lane, group, say_number(view)))
        return number


def _detail(lane: Lane, row: int) -> str:
    """Return what a row says besides its numbers."""
    parts = [lane.details.get(row, "")]
    if row in lane.members:
        parts.insert(0, ", ".join(lane.members[row]))
    text = "; ".join(part for part in parts if part)
    return text if len(text) <= _DETAIL_MAX else f"{text[:_DETAIL_MAX]}..."


def _cut_details(diagram: Diagram) -> None:
    """Keep details up to a bound."""
    room = _DETAILS_MAX
    for number in list(diagram.details):
        room -= len(diagram.details[number])
        if room < 0:
            del diagram.details[number]


def _add_arrows(
    diagram: Diagram,
    record: RecordedTrace,
    origins: Origins,
    chosen: dict[int, Sequence[int]],
    numbers: dict[Place, int],
) -> None:
    """Add what leads from one event to another, and what was held back."""
    room = 3 * len(diagram.kinds)  # a correct trace needs less, a forged one could ask for any
    for place, rows in chosen.items():
        lane = record.lanes[place]
        arrived = arrivals(lane, origins, place)
        for row in rows:
            number = numbers[place, row]
            earlier = numbers.get((place, arrived.get(row, -1)))
            diagram.holds.append(0 if earlier is None else number - earlier)
            if lane.kind[row] not in _ARRIVING or earlier is not None:
                continue
            for origin in origins.of(lane, row):
                source = numbers.get(origin)
                if source is not None and origin[0] != place and room > len(diagram.arrows):
                    diagram.arrows.append((source, number))


def levels_of(lane_sizes: Sequence[int], arrows: Sequence[tuple[int, int]]) -> list[int]:
    """Return Lamport's clock of each event: one more than what comes before it, from 0.

    In a cycle, which only a forged trace has, the first that waits does not wait.
    """
    levels = [-1] * sum(lane_sizes)
    ends = list(_running(lane_sizes))
    position = [end - size for end, size in zip(ends, lane_sizes, strict=True)]
    begins = tuple(position)
    sources: dict[int, list[int]] = {}
    for source, target in arrows:
        sources.setdefault(target, []).append(source)
    waiting: dict[int, list[int]] = {}
    ready = list(reversed(range(len(lane_sizes))))
    while ready or waiting:
        if not ready:
            stuck = next(iter(waiting))
            lanes = waiting.pop(stuck)
            for lane in lanes:
                sources[position[lane]].remove(stuck)
            ready.extend(lanes)
        lane = ready.pop()
        while position[lane] < ends[lane]:
            event = position[lane]
            before = sources.get(event, ())
            missing = next((source for source in before if levels[source] < 0), None)
            if missing is not None:
                waiting.setdefault(missing, []).append(lane)
                break
            after = levels[event - 1] if event > begins[lane] else -1
            levels[event] = 1 + max((levels[source] for source in before), default=-1)
            levels[event] = max(levels[event], after + 1)
            position[lane] += 1
            ready.extend(waiting.pop(event, ()))
    return levels


def _running(sizes: Sequence[int]) -> Iterator[int]:
    total = 0
    for size in sizes:
        total += size
        yield total

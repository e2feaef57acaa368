"""What happened in a run that is worth looking at: violations, crashes, views, suspicions, blocks.

Law: moments name rows, and come in order of what a reader asks first: what was wrong, then what
broke, then how the group changed. An event of an explanation is found by its process and index,
or, where rows are not numbered, by its file's name and line: a verdict may have been reached from
another folder.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from antiphon.core.views import say_number
from antiphon.report.matching import Place, rows_of
from antiphon.report.record import CODE, KINDS, Lane, RecordedTrace
from antiphon.trace.verdict import Link, MessageId, Verdict, Violation

_MARKS = ("crash", "block", "suspect", "resume")
_PER_KIND_MAX = 40


class Moment(NamedTuple):
    """Something to look at."""

    what: str
    """``violation``, ``cut``, ``view``, ``begin``, ``end``, or a kind of row."""
    label: str
    place: Place


@dataclass(frozen=True, slots=True)
class Witness:
    """A violation, with the rows that show it."""

    violation: Violation
    places: tuple[Place | None, ...]
    """The rows of its chain; None: not in this trace."""
    late: Place | None
    """Where the message that had to come first was delivered after all."""


def witnesses_of(record: RecordedTrace, verdict: Verdict) -> list[Witness]:
    """Return every violation that is explained, with its rows."""
    finder = _Finder(record)
    return [
        Witness(
            violation,
            tuple(finder.place_of(violation.run, link) for link in violation.chain),
            finder.delivery_of(violation.run, violation.process, violation.earlier),
        )
        for item in verdict.properties
        for violation in item.violations
    ]


def moments_of(record: RecordedTrace, witnesses: Iterable[Witness]) -> list[Moment]:
    """Return what to look at, the most important first."""
    found = [
        Moment("violation", f"{witness.violation.property}: {witness.violation.text}", place)
        for witness in witnesses
        for place in [next((at for at in reversed(witness.places) if at), None)]
        if place is not None
    ]
    found += _marked(record, "crash")
    found += [
        Moment("cut", f"the record of {lane.process} breaks off", (place, len(lane) - 1))
        for place, lane in enumerate(record.lanes)
        if is_cut_off(lane)
    ][:_PER_KIND_MAX]
    found += _views(record)
    for kind in _MARKS[1:]:
        found += _marked(record, kind)
    return [*found, *_ends(record)]


def _ends(record: RecordedTrace) -> list[Moment]:
    """Return the beginning and the end of the lane that shows the most, if any shows anything."""
    shown = [lane.shown_count(0, len(lane)) for lane in record.lanes]
    place = shown.index(max(shown))
    lane, frame = record.lanes[place], CODE["send_frame"]
    rows = [row for row, kind in enumerate(lane.kind) if kind != frame]
    if not rows:
        return []
    return [
        Moment("begin", "the beginning", (place, rows[0])),
        Moment("end", "the end", (place, rows[-1])),
    ]


def is_cut_off(lane: Lane) -> bool:
    """Whether a record that says how it begins does not say how it ends."""
    return CODE["start"] in lane.kind and KINDS[lane.kind[-1]] not in {"stop", "crash"}


def _marked(record: RecordedTrace, kind: str) -> list[Moment]:
    found: list[Moment] = []
    for place, lane in enumerate(record.lanes):
        for row in rows_of(lane, kind):
            found.append(Moment(kind, said(record, lane, row), (place, row)))
            if len(found) == _PER_KIND_MAX:
                return found
    return found


def _views(record: RecordedTrace) -> list[Moment]:
    """Return, for each view but a first one, the first row that installs it."""
    views: dict[tuple[str, str, int], Moment] = {}
    groups = {stream.group for stream in record.streams}
    firsts: dict[tuple[str, str], int] = {}
    for place, lane in enumerate(record.lanes):
        for row in rows_of(lane, "view"):
            run, group, view, _ = record.streams[lane.stream[row]]
            firsts[run, group] = min(view, firsts.get((run, group), view))
            if (run, group, view) not in views and len(views) <= _PER_KIND_MAX:
                name = say_number(view) + (f" of {group}" if len(groups) > 2 else "")
                changes = lane.details.get(row, "")
                label = f"{name}: {changes}" if changes else name
                views[run, group, view] = Moment("view", label, (place, row))
    return [
        moment for (run, group, view), moment in sorted(views.items()) if view != firsts[run, group]
    ]


def said(record: RecordedTrace, lane: Lane, row: int) -> str:
    """Return what a row that is not about messages says, in a few words."""
    stream, detail = record.streams[lane.stream[row]], lane.details.get(row, "")
    words = {
        "crash": f"{lane.process} crashed",
        "suspect": f"{lane.process} suspects {stream.sender}",
        "block": f"{lane.process} is blocked",
        "resume": f"{lane.process} goes on",
    }[KINDS[lane.kind[row]]]
    return f"{words} ({detail})" if detail else words


class _Finder:
    """Finds the rows that a verdict names."""

    def __init__(self, record: RecordedTrace) -> None:
        self._record = record
        self._lanes = record.lane_of()
        self._files = [PurePath(file).name for file in record.files]

    def place_of(self, run: str, link: Link) -> Place | None:
        """Return where the event of an explanation is."""
        place = self._lanes.get((run, link.process))
        if place is None:
            return None
        lane = self._record.lanes[place]
        row = next(self._rows_of(lane, link), None)
        return None if row is None else (place, row)

    def _rows_of(self, lane: Lane, link: Link) -> Iterator[int]:
        if link.index >= 0:
            row = bisect_left(lane.index, link.index)
            return iter([row] if row < len(lane) and lane.index[row] == link.index else [])
        name = PurePath(link.file).name
        return (
            row
            for row, line in enumerate(lane.line)
            if line == link.line and self._files[lane.file[row]] == name
        )

    def delivery_of(self, run: str, process: str, message: MessageId | None) -> Place | None:
        """Return the row at which a process delivered a message."""
        place = self._lanes.get((run, process))
        if place is None or message is None:
            return None
        lane, streams = self._record.lanes[place], self._record.streams
        wanted = (run, message.group, message.view, message.sender)
        for row in rows_of(lane, "deliver"):
            begin = lane.first[row]
            is_in = begin <= message.number < begin + lane.count[row]
            if is_in and streams[lane.stream[row]] == wanted:
                return place, row
        return None

"""The rows of a trace as columns, one set per process: what measures and diagram are made from.

Law: rows of a process are in local order, as ``index`` says or as the lines came. Nothing is
judged. Memory: about 70 bytes per row, in arrays; text is kept only of rows that are not about
messages, as these are few in any trace that somebody looks at.
"""

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

from antiphon.trace.reader import Row
from antiphon.trace.schema import Event, Kind

KINDS: tuple[str, ...] = get_args(Kind)
"""Kinds of rows; a row holds the place of its kind in here."""

CODE = {kind: code for code, kind in enumerate(KINDS)}
_OF_MESSAGES = frozenset({"multicast", "receive", "deliver", "send_frame", "take"})
_STEP = 20_000
"""Rows between two words about progress."""


class SenderNumbers(NamedTuple):
    """What numbers are counted in: a sender's messages in one view of a group."""

    run: str
    group: str
    view: int
    sender: str


@dataclass(slots=True)
class Lane:
    """The rows of one process, column by column."""

    run: str
    process: str
    index: "array[int]" = field(default_factory=lambda: array("q"))
    time_us: "array[int]" = field(default_factory=lambda: array("q"))
    kind: "array[int]" = field(default_factory=lambda: array("B"))
    stream: "array[int]" = field(default_factory=lambda: array("l"))
    """The place of the row's stream in ``RecordedTrace.streams``."""
    first: "array[int]" = field(default_factory=lambda: array("q"))
    count: "array[int]" = field(default_factory=lambda: array("l"))
    byte_count: "array[int]" = field(default_factory=lambda: array("q"))
    overhead_bytes: "array[int]" = field(default_factory=lambda: array("q"))
    queue_depth: "array[int]" = field(default_factory=lambda: array("q"))
    file: "array[int]" = field(default_factory=lambda: array("l"))
    line: "array[int]" = field(default_factory=lambda: array("q"))
    details: dict[int, str] = field(default_factory=dict)
    """What rows that are not about messages say, by their place."""
    members: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """The members that view rows list, by their place."""

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.kind)

    def shown_count(self, begin: int, end: int) -> int:
        """Return how many of some rows a diagram can show: all but frames."""
        return end - begin - self.kind[begin:end].count(CODE["send_frame"])

    def arrange(self) -> None:
        """Put the rows into local order, should files have come in another."""
        rows = range(len(self))
        if all(self.index[row - 1] <= self.index[row] for row in rows[1:]):
            return
        order = sorted(rows, key=self.index.__getitem__)
        for name in _COLUMNS:
            column = getattr(self, name)
            setattr(self, name, array(column.typecode, [column[row] for row in order]))
        place = {row: new for new, row in enumerate(order)}
        self.details = {place[row]: text for row, text in self.details.items()}
        self.members = {place[row]: names for row, names in self.members.items()}


_COLUMNS = (
    "index", "time_us", "kind", "stream", "first", "count", "byte_count", "overhead_bytes",
    "queue_depth", "file", "line",
)  # fmt: skip


@dataclass(slots=True)
class RecordedTrace:
    """A whole trace."""

    lanes: list[Lane] = field(default_factory=list)
    """Processes in order of seniority, where views tell it; others as they came."""
    streams: list[SenderNumbers] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def row_count(self) -> int:
        """Return how many rows there are in all."""
        return sum(map(len, self.lanes))

    @property
    def has_times(self) -> bool:
        """Whether rows say when they happened: not all at the same time."""
        seen = [lane.time_us[0] for lane in self.lanes]
        return any(time_us != seen[0] for lane in self.lanes for time_us in lane.time_us)

    def lane_of(self) -> dict[tuple[str, str], int]:
        """Return where each (run, process) is among the lanes."""
        return {(lane.run, lane.process): place for place, lane in enumerate(self.lanes)}


class Reading:
    """Takes rows, one by one."""

    def __init__(self, run: str) -> None:
        """Prepare to read; rows that name no run belong to ``run``."""
        self._run = run
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._streams: dict[SenderNumbers, int] = {}
        self._files: dict[str, int] = {}

    def take(self, event: Event, file: str, line: int) -> None:
        """Take a row."""
        run = event.run or self._run
        lane = self._lanes.get((run, event.process))
        if lane is None:
            lane = self._lanes[run, event.process] = Lane(run, event.process)
        own = event.kind in {"multicast", "send"}
        stream = SenderNumbers(run, event.group, event.view, event.process if own else event.sender)
        if event.kind not in _OF_MESSAGES and event.detail:
            lane.details[len(lane)] = event.detail
        if event.members is not None:
            lane.members[len(lane)] = tuple(event.members)
        lane.index.append(event.index)
        lane.time_us.append(event.time_us)
        lane.kind.append(CODE[event.kind])
        lane.stream.append(self._streams.setdefault(stream, len(self._streams)))
        lane.first.append(event.first)
        lane.count.append(event.count)
        lane.byte_count.append(event.bytes)
        lane.overhead_bytes.append(event.overhead_bytes)
        lane.queue_depth.append(event.queue_depth)
        lane.file.append(self._files.setdefault(file, len(self._files)))
        lane.line.append(line)

    def record(self) -> RecordedTrace:
        """Return what was read, in order."""
        for lane in self._lanes.values():
            lane.arrange()
        return RecordedTrace(_by_seniority(self._lanes), list(self._streams), list(self._files))


def read_record(
    rows: Iterable[Row], run: str, on_rows: Callable[[int], None] | None = None
) -> RecordedTrace:
    """Return the rows as columns; ``on_rows`` is told from time to time how many there are."""
    reading = Reading(run)
    for number, (event, file, line) in enumerate(rows, 1):
        reading.take(event, file, line)
        if on_rows is not None and number % _STEP == 0:
            on_rows(number)
    return reading.record()


def _by_seniority(lanes: dict[tuple[str, str], Lane]) -> list[Lane]:
    """Return processes as views list them, an incarnation after the one before (``dave~2``)."""
    names: dict[tuple[str, str], None] = {}
    for lane in lanes.values():
        for members in lane.members.values():
            names.update(dict.fromkeys((lane.run, _base(member)) for member in members))
    for run, process in lanes:
        names.setdefault((run, _base(process)))
    rank = {name: place for place, name in enumerate(names)}
    return sorted(
        lanes.values(),
        key=lambda lane: (lane.run, rank[lane.run, _base(lane.process)], _incarnation(lane)),
    )


def _base(process: str) -> str:
    return process.partition("~")[0]


def _incarnation(lane: Lane) -> tuple[int, str]:
    number = lane.process.partition("~")[2]
    return (int(number) if number.isdecimal() and len(number) < 10 else 0, lane.process)

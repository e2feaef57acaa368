"""Which multicast a delivery is of, and when its messages had arrived.

Law: a row of messages ``first`` to ``first + count - 1`` is linked to the rows that multicast any
of them, in the same run, group and view, by the same sender; rows of letters to the row that sent
the letter. An arrival is the latest row before a delivery, at the same process, that received
the delivery's first message; for a process's own messages, the row that multicast them. Cost: a
binary search per row. Memory: four numbers per multicast row.
"""

from bisect import bisect_right
from collections.abc import Iterator

from antiphon.report.record import CODE, Lane, RecordedTrace

Place = tuple[int, int]
"""A lane, and a row in it."""

_ORIGINS_MAX = 64
"""Multicast rows that one row is linked to, at most: forged traces could ask for any number."""


class Origins:
    """Where messages and letters were sent."""

    def __init__(self, record: RecordedTrace) -> None:
        """Collect every row that sends something."""
        self._record = record
        found: dict[int, list[tuple[int, int, int, int]]] = {}
        self._letters: dict[tuple[str, str, str, int, str], Place] = {}
        for place, lane in enumerate(record.lanes):
            for row in rows_of(lane, "multicast"):
                entry = (lane.first[row], lane.count[row], place, row)
                found.setdefault(lane.stream[row], []).append(entry)
            for row in rows_of(lane, "send"):
                self._letters.setdefault(self._letter(lane, row), (place, row))
        self._sent = {stream: sorted(rows) for stream, rows in found.items()}

    def of(self, lane: Lane, row: int) -> Iterator[Place]:
        """Yield the rows that sent what a row of ``lane`` is about."""
        if lane.kind[row] == CODE["take"]:
            letter = self._letters.get(self._letter(lane, row))
            if letter is not None:
                yield letter
            return
        first, end = lane.first[row], lane.first[row] + lane.count[row]
        sent = self._sent.get(lane.stream[row], [])
        begin = max(bisect_right(sent, (first, 1 << 62)) - 1, 0)
        for number in range(begin, min(begin + _ORIGINS_MAX, len(sent))):
            sent_first, count, place, sent_row = sent[number]
            if sent_first >= end:
                return
            if sent_first + count > first:
                yield place, sent_row

    def _letter(self, lane: Lane, row: int) -> tuple[str, str, str, int, str]:
        """Return what names a letter: its sender, group, number and addressee."""
        run, group, _, sender = self._record.streams[lane.stream[row]]
        to = lane.details.get(row, "") if lane.kind[row] == CODE["send"] else lane.process
        return run, group, sender, lane.first[row], to


def arrivals(lane: Lane, origins: Origins, place: int) -> dict[int, int]:
    """Return, for the deliveries of a lane, the earlier row at which their messages were there."""
    arrived: dict[int, int] = {}
    waiting: dict[tuple[int, int], int] = {}
    receive, deliver = CODE["receive"], CODE["deliver"]
    for row, kind in enumerate(lane.kind):
        if kind == receive:
            waiting[lane.stream[row], lane.first[row]] = row
        elif kind == deliver:
            received = waiting.pop((lane.stream[row], lane.first[row]), None)
            if received is not None:
                arrived[row] = received
                _wait_on(lane, row, received, waiting)
                continue
            own = [sent for at, sent in origins.of(lane, row) if at == place and sent < row]
            if own:
                arrived[row] = own[0]
    return arrived


def rows_of(lane: Lane, *kinds: str) -> Iterator[int]:
    """Yield the places of the rows of some kinds."""
    codes = {CODE[kind] for kind in kinds}
    return (row for row, kind in enumerate(lane.kind) if kind in codes)


def _wait_on(lane: Lane, row: int, received: int, waiting: dict[tuple[int, int], int]) -> None:
    """Let the rest of what was received, if only its beginning is delivered, wait on."""
    rest = lane.first[row] + lane.count[row]
    if rest < lane.first[received] + lane.count[received]:
        waiting.setdefault((lane.stream[row], rest), received)

"""Which rows a diagram holds where a run has more than a page can carry.

Law: a run of up to ``EVENTS_MAX`` rows is shown whole. Of a longer one, each moment gets an equal
share, the most important first: at every process the rows nearest to it in time (or, where rows
have no times, in number), before and after. Frames handed to the transport are never shown.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from antiphon.report.matching import Place
from antiphon.report.record import CODE, Lane, RecordedTrace

EVENTS_MAX = 100_000
LANES_MAX = 200
MOMENTS_MAX = 40
_ROWS_MIN = 10
"""Rows of a process on either side of a moment, at least: fewer show nothing."""


def chosen_lanes(
    record: RecordedTrace, needed: Iterable[Place], lanes_max: int = LANES_MAX
) -> list[int]:
    """Return the lanes to be shown: those that are needed, then those with the most rows."""
    if len(record.lanes) <= lanes_max:
        return list(range(len(record.lanes)))
    wanted = dict.fromkeys(lane for lane, _ in needed)
    by_size = sorted(range(len(record.lanes)), key=lambda place: -len(record.lanes[place]))
    wanted.update(dict.fromkeys(by_size))
    return sorted(list(wanted)[:lanes_max])


def chosen_rows(
    record: RecordedTrace,
    lanes: Sequence[int],
    moments: Sequence[Place],
    events_max: int = EVENTS_MAX,
) -> dict[int, Sequence[int]]:
    """Return the rows to be shown of each of ``lanes``, in local order."""
    if sum(len(record.lanes[place]) for place in lanes) <= events_max:
        return {place: _shown(record.lanes[place]) for place in lanes}
    share = max(events_max // (2 * len(lanes)), 1)
    count = max(min(len(moments), MOMENTS_MAX, share // _ROWS_MIN), 1)
    reach = max(share // count, 1)
    by_time = record.has_times
    kept: dict[int, set[int]] = {place: set() for place in lanes}
    for at, row in moments[:count]:
        for place in lanes:
            lane = record.lanes[place]
            middle = row
            if place != at and by_time:
                middle = bisect_left(lane.time_us, record.lanes[at].time_us[row])
            elif place != at:
                middle = row * len(lane) // len(record.lanes[at])
            begin = max(min(middle - reach, len(lane) - 2 * reach), 0)
            kept[place].update(range(begin, min(begin + 2 * reach, len(lane))))
    frame = CODE["send_frame"]
    return {
        place: array("q", (row for row in sorted(rows) if record.lanes[place].kind[row] != frame))
        for place, rows in kept.items()
    }


def _shown(lane: Lane) -> Sequence[int]:
    frame = CODE["send_frame"]
    if frame not in lane.kind:
        return range(len(lane))
    return array("q", (row for row, kind in enumerate(lane.kind) if kind != frame))

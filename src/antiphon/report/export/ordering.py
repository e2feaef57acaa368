"""All rows of a trace in one order: after the row before at the process, and after what was sent.

Law: among rows that may come next, the earliest by time does, then by process. Where a trace is so
wrong that rows wait for each other, the earliest of them goes on without its cause: everything is
told once, whatever is told. Cost: a heap's, per row.
"""

import heapq
from collections.abc import Iterator

from antiphon.report.matching import Origins, Place
from antiphon.report.record import CODE, RecordedTrace

_ARRIVALS = frozenset(CODE[kind] for kind in ("receive", "deliver", "take"))

Step = tuple[Place, list[Place]]
"""A row, and the rows of other processes that sent what it is about."""


def in_causal_order(record: RecordedTrace, origins: Origins) -> Iterator[Step]:
    """Yield every row, with those that it comes from and that have come before."""
    return iter(_Ordering(record, origins))


class _Ordering:
    def __init__(self, record: RecordedTrace, origins: Origins) -> None:
        self._lanes, self._origins = record.lanes, origins
        self._next = [0] * len(record.lanes)
        self._ready: list[tuple[int, int]] = []
        self._waiting: dict[Place, list[int]] = {}
        self._given_up: set[Place] = set()
        for place in range(len(record.lanes)):
            self._push(place)

    def __iter__(self) -> Iterator[Step]:
        while self._ready or self._let_one_go_on():
            _, place = heapq.heappop(self._ready)
            row = self._next[place]
            sent = self._sent(place, row)
            missing = [each for each in sent if each[1] >= self._next[each[0]]]
            if (place, row) in self._given_up:
                sent = [each for each in sent if each not in missing]
            elif missing:
                self._waiting.setdefault(missing[0], []).append(place)
                continue
            yield from self._take(place, row, sent)

    def _take(self, place: int, row: int, sent: list[Place]) -> Iterator[Step]:
        yield (place, row), sent
        self._next[place] += 1
        self._push(place)
        for other in self._waiting.pop((place, row), ()):
            self._push(other)

    def _sent(self, place: int, row: int) -> list[Place]:
        lane = self._lanes[place]
        if lane.kind[row] not in _ARRIVALS:
            return []
        return [each for each in self._origins.of(lane, row) if each[0] != place]

    def _push(self, place: int) -> None:
        lane, row = self._lanes[place], self._next[place]
        if row < len(lane):
            heapq.heappush(self._ready, (lane.time_us[row], place))

    def _let_one_go_on(self) -> bool:
        """Free the earliest of those that wait for each other; say whether there was one."""
        stuck = [(cause, place) for cause, places in self._waiting.items() for place in places]
        if not stuck:
            return False
        cause, place = min(
            stuck, key=lambda item: (self._lanes[item[1]].time_us[self._next[item[1]]], item[1])
        )
        self._waiting[cause].remove(place)
        self._given_up.add((place, self._next[place]))
        self._push(place)
        return True

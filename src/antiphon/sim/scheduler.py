"""Simulated time: a heap of things to do, and a loop that does them in order.

Law: events happen in order of ``(time_us, sequence number)``. The sequence number makes ties
deterministic: of two events at the same microsecond the one scheduled first happens first.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Action = Callable[[Any], None]


class Scheduler:
    """The only clock of a simulation."""

    __slots__ = ("_heap", "_sequence", "event_count", "now_us")

    def __init__(self) -> None:
        """Start at time zero with nothing to do."""
        self.now_us = 0
        self.event_count = 0
        self._sequence = 0
        self._heap: list[tuple[int, int, Action, Any]] = []

    def at(self, time_us: int, action: Action, argument: Any) -> None:  # noqa: ANN401
        """Call ``action(argument)`` when it is ``time_us``."""
        assert time_us >= self.now_us, "the past is over"
        self._sequence += 1
        heappush(self._heap, (time_us, self._sequence, action, argument))

    def at_each(self, times_us: list[int], actions: list[Action], argument: Any) -> None:  # noqa: ANN401
        """Call each action with ``argument`` at its time: one multicast, many arrivals."""
        heap, sequence = self._heap, self._sequence
        for time_us, action in zip(times_us, actions, strict=True):
            sequence += 1
            heappush(heap, (time_us, sequence, action, argument))
        self._sequence = sequence

    def clear(self) -> None:
        """Forget everything that is still to be done."""
        self._heap.clear()

    def run(self, event_count_max: int | None = None) -> bool:
        """Do what is due until nothing is left, or for so many events; tell if more is left."""
        heap = self._heap
        done = 0
        while heap and done != event_count_max:
            self.now_us, _, action, argument = heappop(heap)
            action(argument)
            done += 1
        self.event_count += done
        return bool(heap)

    def run_until(self, time_us: int) -> None:
        """Do what is due up to and including ``time_us``, which it is then."""
        heap = self._heap
        while heap and heap[0][0] <= time_us:
            self.now_us, _, action, argument = heappop(heap)
            action(argument)
            self.event_count += 1
        self.now_us = max(self.now_us, time_us)

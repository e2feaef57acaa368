"""Worlds in which a process crashes between two of its sends, at a point that is chosen.

Law: ``CrashingWorld(scenario, points)`` is the world of the scenario, except that a process dies
with each send that is named: what it sent before arrives, or of each channel a prefix if the crash
is lossy; nothing that it would have done afterwards happens, not even in the same step. So a
sweep over the sends tries a crash at every step of agreement and flush, one after the other.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from unittest.mock import patch

from antiphon.core.ids import ProcessId
from antiphon.sim.driver import Driver
from antiphon.sim.exploration import examine
from antiphon.sim.scenario import Scenario
from antiphon.sim.world import World


class _DiedError(Exception):
    """The process is dead: what it was about to do does not happen."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where a process crashes: with its ``send``-th send, counted over all its incarnations."""

    name: str
    send: int
    is_seen: bool = True
    """Whether the others can tell at once."""
    is_lossy: bool = False
    """Whether some of what is under way is lost too."""


class CrashingWorld(World):
    """A world with crashes at chosen sends."""

    def __init__(self, scenario: Scenario, points: Iterable[Point] = ()) -> None:
        """Crash at these points."""
        self._points = {(point.name, point.send): point for point in points}
        self.send_counts: dict[str, int] = {}
        super().__init__(scenario)
        self._right_send = self.channels.send
        self.channels.send = self._send  # type: ignore[method-assign]

    def _send(self, source: ProcessId, target: ProcessId, item: object) -> None:
        count = self.send_counts[source.name] = self.send_counts.get(source.name, 0) + 1
        self._right_send(source, target, item)
        point = self._points.get((source.name, count))
        if point is not None:
            self._die(self.drivers[source], point)
            raise _DiedError

    def _die(self, driver: Driver, point: Point) -> None:
        if point.is_lossy:
            self._crash(driver, is_seen=point.is_seen)
            return
        with patch.object(self.channels, "lose_sent"):
            self._crash(driver, is_seen=point.is_seen)

    def run_until(self, time_us: int) -> None:
        """Go on after a death: each event concerns one process only."""
        while True:
            try:
                super().run_until(time_us)
            except _DiedError:
                continue
            return

    def _calm(self) -> None:
        while True:
            try:
                super()._calm()
            except _DiedError:
                continue
            return

    def _has_faults(self) -> bool:
        return bool(self._points) or super()._has_faults()


def complaint(scenario: Scenario, *points: Point) -> str:
    """Live through a scenario with crashes at these points; say what is wrong, or nothing."""
    world = partial(CrashingWorld, points=points)
    with patch("antiphon.sim.exploration.World", world):
        finding = examine(scenario)
    return "" if finding is None else f"{finding.what}: {finding.text}"

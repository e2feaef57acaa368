"""Faults of a world: what breaks when a scenario says so, and when it is whole again.

Law: a fault is done to the cluster alone; what lasts ends by itself, after ``DriverStep.value``.
"""

from collections.abc import Callable
from functools import partial

from antiphon.testing.cluster import Cluster
from antiphon.testing.driver_scenario import DriverStep


class Faults:
    """Breaks connections, paths and processes of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Nothing is broken."""
        self._cluster = cluster
        self.verbs: dict[str, Callable[[DriverStep], None]] = {
            "cut": self._break, "half open": self._break, "half open silently": self._break,
            "stall": self._break, "close path": self._close, "close both paths": self._close,
            "partition": self._partition, "refuse": self._refuse, "pause": self._pause,
            "kill": self._kill, "kill silently": self._kill,
        }  # fmt: skip

    def later(self, delay_us: int, work: Callable[[], None]) -> None:
        """Do something in a while."""
        loop = self._cluster.loop
        loop.call_at_us(loop.now_us + delay_us, work)

    def _break(self, step: DriverStep) -> None:
        one, other = step.who
        network = self._cluster.network
        if step.verb == "cut":
            self._cluster.cut(one, other)
        elif step.verb == "stall":
            for end in network.connections(one, other):
                network.stall(end)
        else:
            self._cluster.half_open(one, other, silently=step.verb.endswith("silently"))

    def _close(self, step: DriverStep) -> None:
        one, other = step.who
        pairs = [(one, other), (other, one)][: 2 if "both" in step.verb else 1]
        for source, target in pairs:
            self._close_path(source, target, step.value)

    def _close_path(self, source: str, target: str, length_us: int) -> None:
        network = self._cluster.network
        network.close_path(source, target)
        self.later(length_us, partial(network.open_path, source, target))

    def _partition(self, step: DriverStep) -> None:
        others = [name for name in self._cluster.names if name not in step.who]
        for one in step.who:
            for other in others:
                self._close_path(one, other, step.value)
                self._close_path(other, one, step.value)

    def _refuse(self, step: DriverStep) -> None:
        (name,) = step.who
        self._cluster.refuse(name)
        self.later(step.value, partial(self._cluster.refuse, name, is_refusing=False))

    def _pause(self, step: DriverStep) -> None:
        (name,) = step.who
        self._cluster.pause(name)
        self.later(step.value, partial(self._cluster.resume, name))

    def _kill(self, step: DriverStep) -> None:
        self._cluster.kill(step.who[0], silently=step.verb == "kill silently")

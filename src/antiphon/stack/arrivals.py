"""The order in which the runs of a view came: for groups that relay them all when they leave it.

Law: what is not stable is listed in the order in which it was received, own runs where they were
multicast. That order is causal, as runs are taken after their past (``overlay``).

Cost: a place for each run, twice as many as are not stable at most, or a few.
"""

from collections.abc import Callable

from antiphon.core.runs import Run

_FEW = 64


class Arrivals:
    """Runs of one view that may not have reached everybody, in order of receipt."""

    __slots__ = ("_limit", "_runs", "_stable")

    def __init__(self, stable: Callable[[int], int]) -> None:
        """Start a view; ``stable`` tells how many messages of a member have reached everybody."""
        self._stable = stable
        self._runs: list[Run] = []
        self._limit = _FEW

    def note(self, run: Run) -> None:
        """A run was received, or multicast."""
        if len(self._runs) >= self._limit:
            self._runs = self.unstable()
            self._limit = max(_FEW, 2 * len(self._runs))
        self._runs.append(run)

    def unstable(self) -> list[Run]:
        """Return what may not have reached everybody, in order."""
        stable = self._stable
        return [run for run in self._runs if run.last > stable(run.sender)]

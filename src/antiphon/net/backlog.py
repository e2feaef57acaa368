"""The backlog: how much a life has received that waits for something in its causal past.

Law: counts only. Runs are counted whole when they are held and when they are released; a view
begins with none.
"""

from antiphon.core.runs import Run
from antiphon.net.stream import weight


class Backlog:
    """What is held in the delay queue, in bytes."""

    __slots__ = ("byte_count", "message_count")

    def __init__(self) -> None:
        """Nothing is held."""
        self.byte_count = 0
        """About what the held runs take in memory."""
        self.message_count = 0
        """Messages that had to wait, so far."""

    def hold(self, run: Run) -> None:
        """A run waits."""
        self.message_count += len(run.payloads)
        self.byte_count += weight(run)

    def release(self, runs: list[Run], left: int) -> None:
        """Runs wait no longer; ``left`` others do."""
        self.byte_count = max(0, self.byte_count - sum(map(weight, runs))) if left else 0

    def clear(self) -> None:
        """A view has ended, and everything that was held with it."""
        self.byte_count = 0

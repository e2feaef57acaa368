"""Nobody: who takes what is delivered in a group that the application is done with.

Law: nothing is delivered to anybody, nothing is answered, and nothing is multicast; the process
takes part in the group until the others have agreed to go on without it. What the application sent
in vain it is told all the same, for its reader may still be on its way to the end of the stream.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from antiphon.core.control import FoundingAnswer, Situation
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.net.driver.owners import Application
from antiphon.stack.effects import Effect, LeaveGroup, ReturnUnsent
from antiphon.trace.schema import LEFT


class Abandoned(Protocol):
    """The driver of a group that the application is done with."""

    process: ProcessId

    def close(self, detail: str) -> None:
        """Stop for good."""


class Nobody:
    """Stands for the application, and for who took part in the group."""

    def __init__(
        self, driver: Abandoned, release: Callable[[], None], application: Application
    ) -> None:
        """Close ``driver`` when it is out of its group; then call ``release``."""
        self._driver = driver
        self._release = release
        self._application = application

    def flush(self) -> None:
        """Nothing is multicast."""

    def on_deliver(self, runs: list[Run]) -> None:
        """Nobody reads them."""

    def on_view(self, view: View) -> None:
        """Nobody is told; the machine knows that it is to leave."""

    def on_block(self, reachable: tuple[ProcessId, ...] | None) -> None:
        """Nobody is told."""

    def on_effect(self, effect: Effect) -> None:
        """Nobody answers calls, votes, saves state or waits; what was sent in vain is told."""
        if isinstance(effect, ReturnUnsent):
            self._application.on_effect(effect)

    def on_vote(self, question: bytes) -> FoundingAnswer | None:  # noqa: ARG002 - no vote at all
        """Have no vote."""
        return None

    def on_operator(self, order: str, number: int, who: str) -> Situation:  # noqa: ARG002 - none
        """Obey nobody."""
        obstacle = "its application has left the group"
        return Situation(str(self._driver.process), 0, (), (), is_blocked=False, obstacle=obstacle)

    def on_over(self, end: LeaveGroup) -> None:
        """The others have let this process go, or gone on without it."""
        asyncio.get_running_loop().call_soon(self._close, end.why or LEFT)

    def _close(self, detail: str) -> None:
        self._driver.close(detail)
        self._release()

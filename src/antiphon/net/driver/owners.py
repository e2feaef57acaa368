"""What a driver carries for: the process that it serves, and the application's side of its group.

Law: what concerns the process as a whole goes to ``DriverOwner``, what concerns one group to
``Application``.
"""

from typing import Protocol

from antiphon.core.control import FoundingAnswer, Situation
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.net.session.peer import Peer
from antiphon.net.session.probe import Answer
from antiphon.stack.effects import Effect, LeaveGroup


class DriverOwner(Protocol):
    """What a driver needs of the process whose incarnation it drives."""

    def on_room(self) -> None:
        """A connection has come or gone, or takes more: whoever waits may look again."""

    def on_answer(self, peer: Peer, answer: Answer) -> bool:
        """While founding: take what was found at a member's address; False to try no further."""

    def on_vote(self, question: bytes) -> FoundingAnswer | None:
        """Vote on who founds the group, if this process has a vote."""

    def on_operator(self, order: str, number: int, who: str) -> Situation:
        """Do what an operator orders; return how this process stands then."""

    def on_over(self, end: LeaveGroup) -> None:
        """The incarnation has ended: it left (no ``end.why``), was excluded, or not taken in."""


class Application(Protocol):
    """The application's side of what happens in one group."""

    def flush(self) -> None:
        """Give what the application has multicast."""

    def on_deliver(self, runs: list[Run]) -> None:
        """Hand runs to the application."""

    def on_view(self, view: View) -> None:
        """A view has begun."""

    def on_block(self, reachable: tuple[ProcessId, ...] | None) -> None:
        """The group is blocked here; or, if None, goes on."""

    def on_effect(self, effect: Effect) -> None:
        """Do what is left to the application: admissions, calls, votes, state."""

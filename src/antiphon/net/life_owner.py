"""What a life needs of its node: the application's side of everything that happens.

Law: a life never looks into its node; it calls these.
"""

from typing import Protocol

from antiphon.core.errors import AntiphonError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.membership.effects import LeaveGroup
from antiphon.net.session.peer import Peer
from antiphon.net.session.probe import Answer


class Owner(Protocol):
    """What a life needs of its node."""

    def flush(self) -> None:
        """Multicast what the application has handed over."""

    def is_behind(self) -> bool:
        """Whether the application reads too slowly to take more."""

    def on_deliver(self, runs: list[Run]) -> None:
        """Hand runs to the application."""

    def on_view(self, view: View) -> None:
        """A view has begun."""

    def on_block(self, reachable: tuple[ProcessId, ...] | None) -> None:
        """The group is blocked here; or, if None, goes on."""

    def on_room(self) -> None:
        """Senders may look again whether they have to wait."""

    def on_tick(self) -> None:
        """A heartbeat is over: look whether somebody holds senders up for too long."""

    def on_answer(self, peer: Peer, answer: Answer) -> bool:
        """While founding: take what was found at a member's address; False to try no further."""

    def expect_state(self, number: int) -> None:
        """Let the application read nothing, and in the end nothing before view ``number``."""

    def on_state(self) -> None:
        """The state has been loaded: let the application read."""

    def on_stateless(self, error: AntiphonError) -> None:
        """The state cannot be had."""

    def on_over(self, end: LeaveGroup) -> None:
        """The life has ended: it left (``end.why`` is empty), was excluded, or not taken in."""

"""Dissemination: how the runs of a group reach its members, where a group has chosen a way.

Rule. By default a run goes from its sender straight to all members of the view, stamped with vector
time (``ordering.vector``), and none of this exists. A group may choose a protocol of its own
instead; that is for groups that are alone in their causality domain. It says to whom own runs
go, takes runs from whoever brings them, and hands on what is new, each run after its causal past:
so runs of these groups carry no stamp. Everything else (counts, copies, letters, views) is done as
for other groups.

Invariant. What ``take`` has handed on is its sender's next, at each time, and all that its sender
had delivered or multicast before was handed on before it.

What such a protocol cannot give is refused. Total order and uniform delivery hold runs back, after
they have come in causal order, until a turn or a mark comes; what follows them would need a stamp
to wait for them. Of the flushes only the view-atomic one compares counts; the others rest on
channels from sender to receiver.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from antiphon.core.control import Alive
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.membership.effects import Effect, Outbox
from antiphon.membership.transition import Transition
from antiphon.ordering.stability import Stability


class Dissemination(Protocol):
    """One process's part in it, in one group."""

    def enter(self, view: View, rank: int) -> None:
        """A view begins, of which this process is number ``rank``."""

    def begin_receipts(self, size: int, rank: int, delivered: Sequence[int]) -> Stability:
        """Return what is to keep account of who has received what in a view of so many members.

        ``delivered`` always tells what has been delivered here, by sender.
        """

    def send(self, run: Run, alive: Alive | None) -> list[Effect]:
        """Return how an own run leaves, without its stamp; it is delivered here after that.

        ``alive`` is for all members, if it is there.
        """

    def take(self, peer: ProcessId, run: Run) -> Run | None:
        """Take a run of the current view from any process; return what is new in it.

        What others need of it has been put into the outbox: it is delivered after that. Raise
        :class:`PeerError` if no correct process sends that; then nothing has changed.
        """


class GroupProtocol(ABC):
    """A protocol that a group may choose; all members must choose the same."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What members compare when they meet: the protocol, and what must be alike."""

    @abstractmethod
    def begin(self, out: Outbox, transition: Transition) -> Dissemination:
        """Begin a process's part in a group, outside any view; say through ``out`` what is to do.

        ``transition`` tells which view is being left, and by whom.
        """


VECTOR = "vector"
"""The description of the default."""

"""Where a process stands between views: the one it is in, and those agreed on since.

Law: views are installed one by one, in order, however many have been agreed on meanwhile. To
leave a view is the business of its participants: all its members but those that failed in a view
agreed on since. A voluntary leaver is a participant until the end, and a participant that fails
on the way is removed by one more view (``View.failed``), never by a private opinion. So any two
processes that know the same views agree on who takes part.

A process that joins knows nothing before its first view; for it ``current`` is None until that
view is installed.
"""

from collections.abc import Container
from typing import Protocol

from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import NUMBER_MAX, View


class Transition:
    """The current view, and the later ones that are agreed on but not installed."""

    __slots__ = ("current", "known", "lingering", "pending")

    def __init__(self, current: View | None) -> None:
        """Start in a view, or in none."""
        self.current = current
        self.pending: list[View] = []
        self.lingering: dict[ProcessId, int] = {}
        """Who left in a view installed here, and has not said that it is through."""
        self.known: dict[ProcessId, None] | None = None
        """What :meth:`everybody` returned last; None if that has changed since."""

    def learn(self, view: View) -> None:
        """A newer view has been agreed on."""
        assert view.follows(self.newest), "views are agreed on one after the other"
        self.pending.append(view)
        for process in view.failed:
            self.lingering.pop(process, None)
        self.known = None

    def enter(self) -> View:
        """The first pending view becomes the current one."""
        before, view = self.current, self.pending.pop(0)
        assert view.follows(before), "views are installed one by one"
        self.current = view
        failed = self.failed_until(NUMBER_MAX)
        self.lingering |= {who: view.number for who in view.left if who not in failed}
        self.known = None
        return view

    def forget(self, leaver: ProcessId) -> bool:
        """A leaver is through; tell whether that is news."""
        self.known = None
        return self.lingering.pop(leaver, None) is not None

    @property
    def number(self) -> int:
        """The number of the current view; 0 before the first."""
        return self.current.number if self.current is not None else 0

    @property
    def newest(self) -> View | None:
        """The last view agreed on."""
        return self.pending[-1] if self.pending else self.current

    def failed_until(self, number: int) -> dict[ProcessId, None]:
        """Return who failed in the views after the current one, up to view ``number``."""
        views = [view for view in self.pending if view.number <= number]
        return {process: None for view in views for process in view.failed}

    def participants(self, number: int | None = None) -> list[ProcessId]:
        """Return who takes part in leaving the current view, by seniority.

        As far as the views up to ``number`` tell, or all that are known.
        """
        newest = self.newest
        if newest is None:
            return []
        failed = self.failed_until(newest.number if number is None else number)
        return [process for process in self._leaving_members() if process not in failed]

    def _leaving_members(self) -> list[ProcessId]:
        """Return the members of the current view; a joiner infers them from its first view."""
        if self.current is not None:
            return list(self.current.members)
        first = self.pending[0]
        stayed = first.members[: len(first.members) - len(first.joined)]
        return [*stayed, *first.left]

    def excluded_ranks(self) -> list[int]:
        """Return the members of the current view that take no part, by their rank in it."""
        if self.current is None or not self.pending:
            return []
        failed = self.failed_until(self.pending[-1].number)
        return [rank for rank, member in enumerate(self.current.members) if member in failed]

    def everybody(self) -> dict[ProcessId, None]:
        """Return who is in any of these views, or leaves one of them, and has not failed."""
        if self.known is None:
            current = self.current.members if self.current is not None else ()
            known = dict.fromkeys((*current, *self.lingering))
            for view in self.pending:
                known |= dict.fromkeys((*view.members, *view.left))
            for view in self.pending:
                for process in view.failed:
                    known.pop(process, None)
            self.known = known
        return self.known


class Copies(Protocol):
    """What a flush needs to know of the runs that were received and are not stable."""

    def say_last_words(self) -> None:
        """The current view is about to be left: multicast what is still to be said in it."""

    def received(self) -> list[int]:
        """Return, for each member of the current view, how many of its messages were received."""

    def unstable(self, rank: int) -> list[Run]:
        """Return the unstable runs of one member in the current view, in order."""

    def unstable_in_order(self) -> list[Run]:
        """Return all unstable runs of the current view, in the order in which they came."""

    def unstable_elsewhere(self, staying: Container[ProcessId]) -> list[Run]:
        """Return the runs kept of other views, earlier or later, by who is not ``staying``."""


class Flush(Protocol):
    """A way to leave a view: decides when the next one may be installed."""

    is_view_atomic: bool
    """Whether who goes on is brought all that any who goes on has received."""
    keeps_copies: bool
    """Whether copies are needed after their view has been left, until all members left it."""

    @property
    def installable(self) -> int:
        """Views up to this one may be installed."""

    def learn(self) -> None:
        """A newer view has been agreed on."""

    def receive(self, peer: ProcessId, message: object) -> None:
        """A flush message came from ``peer``."""

    def take_runs(self, runs: list[Run]) -> None:
        """New runs were received, by whatever way, while a newer view is pending."""

    def take_copies(self, peer: ProcessId, runs: list[Run]) -> None:
        """Another process relayed runs, new or not, while a newer view is pending."""

    def installed(self) -> None:
        """The first pending view has become the current one."""

    def dismiss(self, laggard: ProcessId, number: int) -> None:
        """A process still waits to hear whether it may install view ``number``."""

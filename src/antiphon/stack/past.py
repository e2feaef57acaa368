"""Copies of views that this process has left, but that others may still have to leave.

Law: with the flushes of ISIS a copy is needed until every member of its view is known to have left
the view (000-17 c); then it is dropped, and never before.
"""

from collections.abc import Callable, Container, Iterable, Iterator

from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.ordering.stability import Stability


class Past:
    """Views that were left, with what was not stable in them."""

    __slots__ = ("views",)

    def __init__(self) -> None:
        """No view has been left."""
        self.views: list[tuple[View, Stability]] = []
        """Each with its copies, in order."""

    def __bool__(self) -> bool:
        """Whether anything is kept."""
        return bool(self.views)

    @property
    def kept_bytes(self) -> int:
        """Payload bytes of the copies."""
        return sum(copies.kept_bytes for _, copies in self.views)

    def keep(self, view: View, copies: Stability) -> None:
        """A view has been left."""
        assert not self.views or view.number > self.views[-1][0].number, "views are left in order"
        self.views.append((view, copies))

    def runs(self, staying: Container[ProcessId]) -> Iterator[Run]:
        """Yield the runs of senders that are not ``staying``."""
        for view, past in self.views:
            for rank, copies in past.copies.items():
                if view.members[rank] not in staying:
                    yield from copies

    def drop(self, others: Iterable[ProcessId], view_of: Callable[[ProcessId], int]) -> None:
        """Drop the copies of views that all ``others`` that were in them have left."""
        others = list(others)
        self.views = [
            (view, past)
            for view, past in self.views
            if any(who in view.members and view_of(who) <= view.number for who in others)
        ]

"""A view: the members of a group, agreed on, in order of seniority (ISIS 4.1).

Law: a view is immutable, and its ``members`` order is the same at every member, so a member's
place in it (its rank) can stand for the member in every vector and on the wire.
"""

from dataclasses import dataclass

from antiphon.core.ids import GroupName, ProcessId, Rank, ViewNumber


@dataclass(frozen=True, slots=True)
class View:
    """The membership of ``group`` while ``number`` is its current view."""

    group: GroupName
    number: ViewNumber
    members: tuple[ProcessId, ...]

    def __post_init__(self) -> None:
        """A member listed twice would own two entries of every vector."""
        assert len(set(self.members)) == len(self.members), "a member is listed twice"
        assert self.number >= 1, "views are numbered from 1"

    def rank_of(self, process: ProcessId) -> Rank:
        """Return the place of ``process`` in this view."""
        return Rank(self.members.index(process))

"""A view: the members of a group, agreed on, in order of seniority (ISIS 4.1).

Law: a view is immutable, and its ``members`` order is the same at every member, so a member's
place in it (its rank) can stand for the member in every vector and on the wire.

A view says how it came about, and that decides who takes part in leaving the view before: all of
its members but those that ``failed`` in the new view or in one that was agreed on since. Who
``left`` of its own will takes part until the end (erratum 000-17 f).

Quorum (primary partition): more than half of the members, or exactly half with the most senior
one among them. Two quorums of one view always share a member.

Lineage. Views follow each other by agreement of a quorum of the one before. Where a majority is
lost for good, a survivor can begin a new lineage, alone (docs/decisions/013-lost-majority.md). The
number of a view is its lineage, then its place in the group's history: so whatever is of a later
lineage has the higher number, and every comparison of numbers lets it win.
"""

from collections.abc import Collection
from typing import Annotated

from msgspec import Meta, Struct

from antiphon.core.ids import GroupName, ProcessId, Rank, ViewNumber

NUMBER_MAX = 2**62

COUNT_BITS = 32
"""Bits of a number that count views; those above are the lineage, 0 for the one founded."""

LINEAGE_STEP_MAX = 2**22
"""By how much the lineage grows at most when somebody takes over; drawn, so that two differ."""

LINEAGE_MAX = (NUMBER_MAX // 2 >> COUNT_BITS) - 1


def lineage_of(number: int) -> int:
    """Return the lineage of the view of this number."""
    return number >> COUNT_BITS


def say_number(number: int) -> str:
    """Return the number of a view as people read it, as ``view 7`` or ``view 7 of lineage 3``."""
    lineage, count = lineage_of(number), number & ((1 << COUNT_BITS) - 1)
    return f"view {count} of lineage {lineage}" if lineage else f"view {count}"


class View(Struct, frozen=True, array_like=True):
    """The membership of ``group`` while ``number`` is its current view."""

    group: GroupName
    number: ViewNumber
    members: tuple[ProcessId, ...]
    joined: tuple[ProcessId, ...] = ()
    """Members that were not in the view before; they come last."""
    left: tuple[ProcessId, ...] = ()
    """Members of the view before that asked to leave."""
    failed: tuple[ProcessId, ...] = ()
    """Processes found dead, or taken for dead: of the view before, or leaving it."""
    stateless: tuple[ProcessId, ...] = ()
    """Members that were not known to have the group's state when the view was proposed."""
    past: tuple[tuple[str, Annotated[int, Meta(ge=0, le=2**31)]], ...] = ()
    """For names whose bearers are gone, the number of the last incarnation."""
    doubted: tuple[ProcessId, ...] = ()
    """Who failed, in this view or before, and may live and not know it: the latest ones."""

    def __post_init__(self) -> None:
        """Refuse what is no view; as ValueError, for views also come from the wire."""
        if len(set(self.members)) != len(self.members):
            message = "a member is listed twice"  # it would own two entries of every vector
            raise ValueError(message)
        if not 1 <= self.number <= NUMBER_MAX or not self.members:
            message = "views are numbered from 1 and have members"
            raise ValueError(message)

    def follows(self, before: "View | None") -> bool:
        """Tell whether this is the next view after ``before``, or of a later lineage."""
        if before is None or self.number == before.number + 1:
            return True
        return self.lineage > before.lineage

    @property
    def lineage(self) -> int:
        """The lineage that the view belongs to."""
        return lineage_of(self.number)

    def rank_of(self, process: ProcessId) -> Rank:
        """Return the place of ``process`` in this view."""
        return Rank(self.members.index(process))

    def has_quorum(self, present: Collection[ProcessId]) -> bool:
        """Tell whether ``present``, some of the members, may decide for all."""
        twice, size = 2 * len(present), len(self.members)
        return twice > size or (twice == size and self.members[0] in present)

    def next_incarnation_of(self, process: ProcessId) -> int:
        """Return the number with which a process may ask to be taken in: its own, if it is."""
        if process in self.members:
            return process.incarnation
        return self.last_incarnation_of(process.name) + 1

    def last_incarnation_of(self, name: str) -> int:
        """Return the number of the last known incarnation of ``name``, 0 if it has had none."""
        numbers = [member.incarnation for member in self.members if member.name == name]
        return max(numbers + [number for past, number in self.past if past == name], default=0)

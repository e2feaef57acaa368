"""Exclusions: who failed in the groups of a process, remembered from incarnation to incarnation.

Law: who has failed in a view of a group stays out of that group, whatever becomes of those who
agreed on it. The incarnation that knows of it may end, because it failed in another group, and be
the last one alive in this group that does. So the incarnations of a process hand on what they know:
a later one that is in the group again, alone or taken in by others, tells who asks (``roster``).
Until then it had better not be taken into another group by who is about to hear that it is out, and
then is out of all (``entrance``). The latest exclusions are remembered, of all groups together.
"""

from collections.abc import Mapping

from antiphon.core.ids import ProcessId

EXCLUSIONS_MAX = 1024
"""Former members that are remembered, in all groups."""


class Exclusions:
    """What all incarnations of one process know."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        """Nobody has failed."""
        self._known: dict[tuple[int, ProcessId], int] = {}

    def note(self, domain: int, failed: Mapping[ProcessId, int]) -> None:
        """A part in a group has ended: these failed there before, each in the view given."""
        for process, number in failed.items():
            self._known.pop((domain, process), None)
            self._known[domain, process] = number
        while len(self._known) > EXCLUSIONS_MAX:
            del self._known[next(iter(self._known))]

    def of(self, domain: int) -> dict[ProcessId, int]:
        """Return who failed in a group, and in which view."""
        return {who: number for (of, who), number in self._known.items() if of == domain}

    def has_failed_elsewhere(self, process: ProcessId, domain: int) -> bool:
        """Whether this very process failed in another group than that one."""
        bare = process.bare()
        return any(of != domain and who.bare() == bare for of, who in self._known)

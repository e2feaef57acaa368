"""Which of a process's groups have all members of another one.

Law. Group h encloses group b if all members of b's current view are in h's, too, and h's flush is
view-atomic. Channels are FIFO, whatever the group, so who gets a run of b from its sender has got
before what that had multicast in h; if it crashes, that one brings it to the others (proof:
``membership.failures``). So nothing need be waited for (``domain``, a resilience of 1), nor said
again (``ordering.knowledge``): the latter if b's flush is view-atomic as well, for who relays a run
says it all, but not of views that were left.

Cost: the members of two views, once for each two of them.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from antiphon.core.ids import GroupNumber, ProcessId


class Nested(Protocol):
    """What is asked of a process's part in one of its groups."""

    @property
    def members(self) -> tuple[ProcessId, ...]:
        """The members of the current view, by rank; none outside."""

    @property
    def is_view_atomic(self) -> bool:
        """Whether who goes on is brought all that any who goes on has received."""


class _Among(NamedTuple):
    """Whether some members are among others, and which."""

    these: tuple[ProcessId, ...]
    those: tuple[ProcessId, ...]
    is_so: bool


class Nesting:
    """Which groups enclose which."""

    __slots__ = ("_among", "_parts")

    def __init__(self, parts: Mapping[GroupNumber, Nested]) -> None:
        """Know nothing; ``parts`` always tells the groups that the process is in."""
        self._parts = parts
        self._among: dict[tuple[int, int], _Among] = {}

    def leave(self, group: GroupNumber) -> None:
        """Take part in a group no longer."""
        for pair in [pair for pair in self._among if group in pair]:
            del self._among[pair]

    def encloses(self, other: int, group: int) -> bool:
        """Whether who gets a run of ``group`` has got before what was multicast in ``other``."""
        past = self._parts[GroupNumber(other)]
        to_members, past_members = self._parts[GroupNumber(group)].members, past.members
        known = self._among.get((group, other))
        if known is None or known.these is not to_members or known.those is not past_members:
            those = {who.bare() for who in past_members} if past.is_view_atomic else set()
            is_so = all(who.bare() in those for who in to_members)
            known = self._among[group, other] = _Among(to_members, past_members, is_so)
        return known.is_so

    def tells_for(self, other: int, group: int) -> bool:
        """Whether a run of ``group`` need not say again what one of ``other`` has said before."""
        return self._parts[GroupNumber(group)].is_view_atomic and self.encloses(other, group)

"""Who is held up in one group by a process that is blocked in another of its domain.

Law: a process in the minority of one group may hold up other groups of the domain there (docs,
causality across groups): what depends on the one cannot be delivered. If that process is to give a
turn or a mark, or to leave a view together with others, these wait for it, too. Nothing is asked of
who holds something back in a group with such a member; nor of who asks to be taken into a group
that nobody is in any more.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.views import View


class Living(Protocol):
    """What is asked of a process."""

    me: ProcessId
    ids: dict[GroupNumber, ProcessId]
    views: dict[GroupNumber, View]
    ends: dict[GroupNumber, str]
    is_up: bool

    @property
    def is_blocked(self) -> bool:
        """Whether too few members of some group of its are left."""

    def depth(self, group: GroupNumber) -> int:
        """Return how many runs are held back."""


def held_up(nodes: Iterable[Living]) -> set[str]:
    """Return them, as their groups know them."""
    living = {node.me: node for node in nodes if node.is_up}
    return {
        str(me)
        for node in living.values()
        if any(_is_held_up(node, group, living) for group in node.views if group not in node.ends)
        for me in node.ids.values()
    }


def _is_held_up(node: Living, group: GroupNumber, living: Mapping[ProcessId, Living]) -> bool:
    members = (living.get(who.bare()) for who in node.views[group].members)
    return bool(node.depth(group)) and any(one is not None and one.is_blocked for one in members)


def asks_in_vain(node: Living, living: Iterable[Living]) -> bool:
    """Whether a process asks to be taken into a group that none of the living is in."""
    inside = {group for one in living for group in one.views if group not in one.ends}
    return any(group not in inside | node.ends.keys() for group in node.ids)

"""Which processes the groups of one process know, as which members, and whom any of them needs.

Law: a process is expected as long as any group knows it, and idle if no group that knows it needs a
channel with it just now. What all groups together need is said when that has changed. A group knows
a process mostly by one and the same id, seldom as more than one incarnation.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.stack.effects import ExpectPeers

Members = tuple[ProcessId, ...]

Known = TypeVar("Known")


class Acquaintances:
    """Whom one process knows."""

    __slots__ = ("_bare", "_idle", "_me", "_others", "known_as", "known_in")

    def __init__(self, me: ProcessId, bare: Callable[[ProcessId], ProcessId]) -> None:
        """Know nobody; ``bare`` returns the process that a group knows as a member."""
        self._me = me
        self._bare = bare
        self._idle: dict[GroupNumber, dict[ProcessId, None]] = {}
        self._others: Members | None = ()
        self.known_in: dict[GroupNumber, dict[ProcessId, Members]] = {}
        """By group, the processes that it knows, and as which members."""
        self.known_as: dict[ProcessId, dict[ProcessId, dict[GroupNumber, None]]] = {}
        """By process, as which members groups know it, and which groups do."""

    def members(self, group: GroupNumber, process: ProcessId) -> Members:
        """Return as what a group knows a process."""
        return self.known_in.get(group, {}).get(process, ())

    def all_members(self, group: GroupNumber) -> list[ProcessId]:
        """Return all whom a group knows, as it knows them."""
        return [who for known in self.known_in.get(group, {}).values() for who in known]

    @property
    def others(self) -> Members:
        """All other processes that any group needs, in the order of the groups."""
        if self._others is None:
            known = dict.fromkeys(who for each in self.known_in.values() for who in each)
            idle = self._all_idle()
            self._others = tuple(who for who in known if who != self._me and who not in idle)
        return self._others

    def expect(self, group: GroupNumber, members: Members, idle: Members) -> Iterable[ExpectPeers]:
        """Note whom one group knows; return what all together need, if that has changed."""
        before, were_idle = self.known_in.get(group, {}), self._all_idle()
        known: dict[ProcessId, Members] = {}
        for member in members:
            process = self._bare(member)
            known[process] = (*known.get(process, ()), member)
        _put(self.known_in, group, known)
        _put(self._idle, group, {self._bare(who): None for who in idle})
        self._others = None
        is_new = [self._know(group, *each) for each in known.items()]
        is_gone = [
            self._unknow(group, process, [one for one in each if one not in known.get(process, ())])
            for process, each in before.items()
        ]
        are_idle = self._all_idle()
        if any(is_new) or any(is_gone) or are_idle != were_idle:
            return (ExpectPeers(tuple(sorted({*self.known_as, self._me})), are_idle),)
        return ()

    def _all_idle(self) -> Members:
        """Return those with whom no group needs a channel just now."""
        if not self._idle:
            return ()
        needed = {
            process
            for group, known in self.known_in.items()
            for process in known
            if process not in self._idle.get(group, ())
        }
        return tuple(sorted(self.known_as.keys() - needed - {self._me}))

    def _know(self, group: GroupNumber, process: ProcessId, members: Iterable[ProcessId]) -> bool:
        """A group knows a process as these members; return whether it is new to the process."""
        is_new = process not in self.known_as and process != self._me
        known_as = self.known_as.setdefault(process, {})
        for member in members:
            known_as.setdefault(member, {})[group] = None
        return is_new

    def _unknow(self, group: GroupNumber, process: ProcessId, members: Iterable[ProcessId]) -> bool:
        """A group knows a process no longer as these; return whether no group knows it at all."""
        known_as = self.known_as[process]
        for member in members:
            del known_as[member][group]
            if not known_as[member]:
                del known_as[member]
        if not known_as:
            del self.known_as[process]
        return not known_as and process != self._me


def _put(noted: dict[GroupNumber, Known], group: GroupNumber, value: Known) -> None:
    """Note something of a group, or that there is nothing."""
    if value:
        noted[group] = value
    else:
        noted.pop(group, None)

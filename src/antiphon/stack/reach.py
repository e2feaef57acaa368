"""How far a group has got, as one member knows it: which messages, and which view, everybody has.

Law: nothing is said to be everywhere that some member of the current view, or one that has still to
leave an earlier view, may lack; what is not known is denied. Who failed in the group may not know
of that, and live on in another group for a while: to such a member of another group the view is
named, which it waits for, so that it delivers nothing of which it missed the past. It is asked when
stamps of one group ride on messages of another (``knowledge``).
"""

from collections.abc import Callable, Iterable

from antiphon.core.ids import ProcessId
from antiphon.membership.roster import Roster
from antiphon.membership.transition import Transition
from antiphon.ordering.stability import Stability


class GroupReach:
    """What one member has been told by the others in one view."""

    __slots__ = ("_elsewhere", "_me", "_roster", "_transition", "is_everywhere")

    def __init__(
        self,
        me: ProcessId,
        stability: Stability,
        transition: Transition,
        roster: Roster,
        elsewhere: Callable[[Iterable[ProcessId]], bool],
    ) -> None:
        """Ask these: the first is of one view, the others go on from view to view.

        ``elsewhere`` says whether any of some processes is a member of another group.
        """
        self._elsewhere = elsewhere
        self._me = me
        self.is_everywhere = stability.is_everywhere
        """Whether everybody has received, or delivered, so many messages of a member."""
        self._transition = transition
        self._roster = roster

    def is_installed_everywhere(self) -> bool:
        """Whether all whom it concerns, leavers too, are known to have installed the view."""
        number, view_of = self._transition.number, self._roster.view_of
        if not all(
            view_of(who) >= number for who in self._transition.everybody() if who != self._me
        ):
            return False
        gone = self._roster.gone
        return not gone or not self._elsewhere(gone)

"""How far a group has got, as one member knows it: which messages, and which view, everybody has.

Law: nothing is said to be everywhere that some member of the current view, or one that has still to
leave an earlier view, may lack; what is not known is denied. Who failed in the group may live, not
know of that, and be a member of another group, which nobody here need be in: what it missed may
come before what depends on it, by way of third parties. So while the view doubts anybody's death
(``View.doubted``) it does not go unsaid: who has missed the past of a message waits for that view,
in vain, and delivers nothing that depends on it, until it hears that it is out. It is asked when
stamps of one group ride on messages of another (``knowledge``).
"""

from antiphon.core.ids import ProcessId
from antiphon.membership.roster import Roster
from antiphon.membership.transition import Transition
from antiphon.ordering.stability import Stability


class GroupReach:
    """What one member has been told by the others in one view."""

    __slots__ = ("_me", "_roster", "_transition", "is_everywhere")

    def __init__(
        self,
        me: ProcessId,
        stability: Stability,
        transition: Transition,
        roster: Roster,
    ) -> None:
        """Ask these: the first is of one view, the others go on from view to view."""
        self._me = me
        self.is_everywhere = stability.is_everywhere
        """Whether everybody has received, or delivered, so many messages of a member."""
        self._transition = transition
        self._roster = roster

    def is_installed_everywhere(self) -> bool:
        """Whether all whom it concerns, leavers too, are known to have installed the view."""
        number, view_of = self._transition.number, self._roster.view_of
        return all(
            view_of(who) >= number for who in self._transition.everybody() if who != self._me
        )

    def is_left_by_all(self) -> bool:
        """Whether besides nobody lives who failed and may still be in an earlier view."""
        current = self._transition.current
        assert current is not None, "it is asked by members"
        return not current.doubted and self.is_installed_everywhere()

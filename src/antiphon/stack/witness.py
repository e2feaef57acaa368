"""What a member knows of how far a group has got: which messages, and which view, everybody has.

Law: nothing is said to be everywhere that some member of the current view may lack; what is not
known is denied. It is asked when stamps of one group ride on messages of another (``knowledge``).
"""

from antiphon.membership.roster import Roster
from antiphon.stack.receiver import Receiver


class GroupWitness:
    """Asks what one member of a group has been told by the others."""

    __slots__ = ("_receiver", "_roster")

    def __init__(self, receiver: Receiver, roster: Roster) -> None:
        """Ask these; both go on from view to view."""
        self._receiver = receiver
        self._roster = roster

    def is_everywhere(self, rank: int, count: int, *, delivered: bool) -> bool:
        """Whether everybody has received, or delivered, so many messages of a member."""
        return self._receiver.stability.is_everywhere(rank, count, delivered=delivered)

    def is_installed_everywhere(self) -> bool:
        """Whether all whom it concerns, leavers too, are known to have installed the view."""
        number, me = self._receiver.view_number, self._receiver.me
        return all(
            self._roster.view_of(who) >= number for who in self._receiver.everybody if who != me
        )

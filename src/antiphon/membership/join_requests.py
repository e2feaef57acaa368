"""Requests to join: who is taken in with the next view, and who is told why not.

Law: names are unique in a group, and so are the incarnations of a name, forever. A joiner whose
name is taken by somebody else is refused; one whose incarnation has been used is told the next one.
Where a joiner listens nobody else can: an earlier incarnation of it at the same address is dead.
"""

from antiphon.core.control import Decide, JoinRefused
from antiphon.core.ids import ProcessId
from antiphon.membership.agreement import Agreement
from antiphon.membership.changes import Changes
from antiphon.membership.effects import Outbox
from antiphon.membership.failure_detector import FailureDetector


class JoinRequests:
    """One member's answers to requests to join."""

    __slots__ = ("_agreement", "_changes", "_detector", "_out")

    def __init__(
        self, outbox: Outbox, agreement: Agreement, changes: Changes, detector: FailureDetector
    ) -> None:
        """Hand joiners to ``changes``."""
        self._out = outbox
        self._agreement = agreement
        self._changes = changes
        self._detector = detector

    def take(self, process: ProcessId) -> ProcessId | None:
        """``process`` asks to be taken in; return who is dead if that is so, or None."""
        latest = self._agreement.latest
        if latest is None:
            return None  # not yet a member: the joiner asks again, or somebody else
        if process in latest.members:
            self._out.send(process, Decide(tuple(self._agreement.history)))
            return None
        namesake = next((who for who in latest.members if who.name == process.name), None)
        is_same_place = namesake is not None and namesake.address == process.address
        if namesake is not None and not is_same_place and namesake not in self._detector.suspected:
            why = f"the name {process.name} is taken by a member at {namesake.address}"
            self._out.send(process, JoinRefused(why, 0))
            return None
        last = latest.last_incarnation_of(process.name)
        if process.incarnation <= last:
            why = f"{process.name} has had {last} incarnations already"
            self._out.send(process, JoinRefused(why, last + 1))
            return None
        assert process not in latest.members, "a member is told so, above"
        self._changes.joining[process] = None
        return namesake if is_same_place else None

"""The end of a process's part in a group: it has left, is excluded, was refused, or taken over.

Law: a part ends once. Who is out by a later lineage than its own (``takeover``) tells those that it
knows: the process that took over may not know all of them, nor reach them. A word of an earlier
lineage, or of an earlier view, ends nothing.
"""

from antiphon.core.control import Out
from antiphon.core.views import lineage_of, say_number
from antiphon.membership.agreement import Agreement
from antiphon.membership.effects import LeaveGroup, Outbox
from antiphon.membership.transition import Transition


class Departure:
    """How one process's part in one group ends."""

    __slots__ = ("_agreement", "_out", "_transition", "is_over")

    def __init__(self, outbox: Outbox, transition: Transition, agreement: Agreement) -> None:
        """It has not ended."""
        self._out = outbox
        self._transition = transition
        self._agreement = agreement
        self.is_over = False

    def end(self, why: str, next_incarnation: int = 0, *, is_refused: bool = False) -> None:
        """End; ``why`` is empty if the process has left."""
        assert not is_refused or self._agreement.latest is None, "members are not refused"
        if not self.is_over:
            self.is_over = True
            self._out.put(LeaveGroup(why, next_incarnation, is_refused))

    def end_without(self, number: int) -> None:
        """End: the group is in view ``number``, without this process."""
        latest, said = self._agreement.latest, say_number(number)
        if latest is not None and lineage_of(number) > latest.lineage:
            self._out.send_each(self._transition.everybody(), Out(number))
            self.end(f"a member has taken the group over, without this process, since {said}")
        else:
            self.end(f"the others have gone on without this process since {said}")
        assert self.is_over, "there is no way back for this incarnation"

    def hear_refusal(self, why: str, next_incarnation: int) -> None:
        """A member does not take this process in."""
        if self._agreement.latest is None:
            self.end(why, next_incarnation, is_refused=not next_incarnation)

    def hear_out(self, number: int) -> None:
        """Somebody says that this process is out since view ``number``."""
        latest = self._agreement.latest
        if latest is None or number > latest.number:
            self.end_without(number)

    def hear_question(self, view_number: int) -> None:
        """A process asks, in a view of this number: maybe it has taken the group over."""
        latest = self._agreement.latest
        if latest is not None and lineage_of(view_number) > latest.lineage and not self.is_over:
            self.end_without(view_number)

"""Taking over: the way out of a lost majority, at the order of an operator.

Rule. A process that is blocked, is in a view and has the group's state can be told to go on alone:
it installs, without agreement and without a flush, the first view of a new lineage, in which all
others that it knows of have failed. What it holds is delivered, or discarded, as in any change of
view. Its lineage is above the old one by a number drawn at random, so two that take over from the
same view begin different ones.

Law: whoever hears of a later lineage than its own is out. It tells those that it reaches, ends, and
can come back as a new incarnation, which gets the state of the later lineage. So of all lineages
that ever meet the latest goes on, whatever the majorities, and nobody delivers anything in two of
them without having been out in between. Those that were left behind, and may live, are asked for
as long as the one that left them behind is in the group (``probing``): the question tells them.

Promised within a lineage: everything. Between two of them, nothing but that: what others multicast,
delivered or decided in the old one, and this process did not receive, is lost. If the others are
dead and no view was agreed on without this process, whatever one of them delivered *uniformly* is
here too, for this process has confirmed it (Uniform 4.1).
See docs/decisions/013-lost-majority.md.
"""

from antiphon.core.ids import ProcessId
from antiphon.core.views import LINEAGE_MAX, LINEAGE_STEP_MAX, View
from antiphon.membership.agreement import Agreement
from antiphon.membership.changes import Changes
from antiphon.membership.coordination import Coordination
from antiphon.membership.probing import Probing
from antiphon.membership.transition import Copies, Transition


class Takeover:
    """What it takes at one process."""

    def __init__(
        self,
        me: ProcessId,
        transition: Transition,
        agreement: Agreement,
        changes: Changes,
        coordination: Coordination,
        probing: Probing,
        copies: Copies,
    ) -> None:
        """Nothing is taken over yet."""
        self._me = me
        self._transition = transition
        self._agreement = agreement
        self._changes = changes
        self._coordination = coordination
        self._probing = probing
        self._copies = copies

    @property
    def obstacle(self) -> str:
        """Why this process cannot take the group over; empty if it can."""
        latest, current = self._agreement.latest, self._transition.current
        if latest is None or current is None or self._me not in latest.members:
            return "it is in no view of the group"
        if not self._coordination.is_blocked:
            return "it reaches enough members to go on with them"
        if not self._changes.has_state:
            return "it has not got the group's state"
        if latest.lineage + LINEAGE_STEP_MAX > LINEAGE_MAX:
            return "the group was taken over too often: found it anew"
        return ""

    @property
    def is_telling(self) -> bool:
        """Whether those that this process left behind are still to be told, should they live."""
        return self._probing.has_abandoned

    def begin(self, step: int, now_us: int) -> View:
        """Begin a new lineage, above the old one by ``step``; return its first view."""
        assert not self.obstacle, "the caller has looked"
        assert 1 <= step <= LINEAGE_STEP_MAX, "a lineage grows, but not without end"
        transition, latest = self._transition, self._agreement.latest
        assert latest is not None, "a member"
        known = dict.fromkeys(transition.everybody())
        for pending in transition.pending:
            known |= dict.fromkeys((*pending.members, *pending.left, *pending.failed))
        others = [who for who in known if who != self._me]
        if not transition.pending:
            self._copies.say_last_words()
        transition.pending.clear()  # nobody installs these in the new lineage
        view = self._changes.takeover_view(latest, step, others)
        self._agreement.take_over(view)
        self._coordination.take_over()
        self._changes.learn(view)
        self._changes.joining.clear()  # the others may have taken them in: who has not got in asks
        self._probing.abandon(others, now_us)
        transition.learn(view)
        return view

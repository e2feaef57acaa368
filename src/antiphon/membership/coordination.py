"""Coordination: who leads the members to the next view, and who has lost touch with them.

Rule. The coordinator is the most senior member of the last view agreed on that a process hears and
that does not say it is blocked; everybody can become it. A process is blocked, and says so to all,
if those that it hears, and that have not long said that they do not hear it, are no quorum.

Partial connectivity: whoever hears and is heard by a quorum can coordinate; who is not, blocks, and
the next takes over. Whoever the coordinator cannot go on with is excluded, and of two others that
do not hear each other the junior one, as far as the quorum allows (``changes``). What was agreed on
is told, unasked, to members that are not heard: their questions would not come.

Two may lead at a time, each in its own eyes: that costs ballots, and never makes two views.
"""

from collections.abc import Callable, Sequence

from antiphon.core.control import Decide
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.agreement import Agreement
from antiphon.membership.changes import Changes
from antiphon.membership.effects import BlockGroup, Outbox, ResumeGroup
from antiphon.membership.failure_detector import BLOCKED, DEAF, FailureDetector, Timing
from antiphon.membership.patience import Patience
from antiphon.membership.transition import Transition


class Coordination:
    """One process's part in it."""

    def __init__(
        self,
        outbox: Outbox,
        timing: Timing,
        agreement: Agreement,
        changes: Changes,
        detector: FailureDetector,
        transition: Transition,
        view_of: Callable[[ProcessId], int],
    ) -> None:
        """Lead nobody yet; ``view_of`` tells which view another is known to have installed."""
        self._out = outbox
        self._me = outbox.me
        self._timing = timing
        self._agreement = agreement
        self._changes = changes
        self._detector = detector
        self._transition = transition
        self._view_of = view_of
        self._patience = Patience()
        self._pushed: dict[ProcessId, int] = {}
        self._reached: Sequence[ProcessId] = ()
        self.is_blocked = False

    @property
    def is_idle(self) -> bool:
        """Whether nobody wants to change anything, and nobody is suspected or waited for."""
        latest = self._agreement.latest
        if latest is None or latest.stateless or self._agreement.is_proposing:
            return False
        is_quiet = not self._detector.suspected and not self._transition.lingering
        return is_quiet and self._changes.is_quiet and len(self._agreement.history) < 2

    @property
    def is_settled(self) -> bool:
        """Whether nobody waits for a change, is suspected, or may not have installed the view."""
        latest = self._agreement.latest
        if latest is None or self._agreement.is_proposing or len(self._agreement.history) > 1:
            return False
        is_waiting = self._detector.suspected or self._transition.lingering or self.is_blocked
        return not is_waiting and self._changes.is_settled(latest)

    def is_last(self, number: int) -> bool:
        """Whether no view after this one is known here, nor was a proposal for one accepted."""
        latest, accepted = self._agreement.latest, self._agreement.accepted
        return latest is not None and latest.number == number and accepted is None

    def end(self, now_us: int) -> None:
        """Watch nobody any more: the process is done with the group."""
        self._detector.watch([], now_us)

    def hear_vote(self, now_us: int) -> None:
        """Somebody has answered a ballot; if it is an earlier one, who knows what held it up."""
        if self._agreement.is_proposing:
            self._patience.hear(now_us)

    def learn(self, view: View) -> None:
        """A view has been agreed on."""
        self._patience.rest()
        self._pushed = {who: at for who, at in self._pushed.items() if who in view.members}

    def take_over(self) -> None:
        """Note that this process goes on alone: it is not blocked, whomever it reaches."""
        self._patience.rest()
        self._pushed = {}
        self.is_blocked = False

    def look(self, latest: View, now_us: int) -> None:
        """Look whom this process reaches, and tell the application if they become too few."""
        suspected = self._detector.suspected
        deaf = self._detector.unfit(now_us, DEAF)
        self._reached = latest.members
        if suspected or deaf:
            self._reached = [
                who for who in latest.members if who not in suspected and who not in deaf
            ]
        is_blocked = not latest.has_quorum(self._reached)
        if is_blocked and not self.is_blocked:
            self._patience.rest()
            self._out.put(BlockGroup(tuple(self._reached)))
        elif self.is_blocked and not is_blocked:
            self._detector.bear(now_us)  # others may be about to come to it as well
            self._out.put(ResumeGroup())
        self.is_blocked = is_blocked

    def needs_word_of(self, views: tuple[View, ...], teller: ProcessId) -> bool:
        """Whether this process is blocked, and a new member of the next view can tell it that.

        Who decided the view may be dead, and nobody else be left who knows of it.
        """
        return self.is_blocked and self._agreement.can_learn(views, teller)

    def go_on(self, latest: View, now_us: int) -> list[View]:
        """Ask whoever leads for what is to change, or lead; return what that decides."""
        assert self._me in latest.members, "only members lead or ask"
        suspected = self._detector.suspected
        coordinator = self._coordinator(latest)
        for process, ask in self._changes.news(
            latest, coordinator, list(suspected), self._detector.doubted, is_blocked=self.is_blocked
        ):
            self._out.send(process, ask)
        if suspected and latest.number > 1:
            self._push_views(latest)
        if coordinator == self._me and not self.is_blocked:
            return self._lead(latest, now_us)
        self._agreement.give_up()
        return []

    def _push_views(self, latest: View) -> None:
        for process in self._detector.doubted:
            is_told = max(self._pushed.get(process, 0), self._view_of(process)) >= latest.number
            if process in latest.members and not is_told:
                self._pushed[process] = latest.number
                self._out.send(process, Decide(tuple(self._agreement.history)))

    def _coordinator(self, latest: View) -> ProcessId:
        """Return who leads; if nobody can, this process."""
        suspected = self._detector.suspected
        for member in latest.members:
            if member == self._me:
                if not self.is_blocked:
                    return member
            elif member not in suspected and not self._detector.has(member, BLOCKED):
                return member
        return self._me

    def _lead(self, latest: View, now_us: int) -> list[View]:
        """As coordinator, have decided what is to change; see to it that it gets on.

        Not while fewer than a quorum were heard just now, suspected or not: a proposal of who is
        cut off does harm where others accept it, for they cannot say so.
        """
        if now_us < self._patience.due_us:
            return []
        view = self._changes.next_view(
            latest, list(self._detector.suspected), self._leavers(),
            is_flushing=bool(self._transition.pending),
            unfit=self._detector.unfit(now_us, DEAF, BLOCKED),
        )  # fmt: skip
        if view is None and not self._agreement.is_proposing:
            return []
        is_fresh = self._detector.is_fresh
        fresh = [who for who in self._reached if who == self._me or is_fresh(who, now_us)]
        if not latest.has_quorum(fresh):
            return []
        rank, timing = latest.members.index(self._me), self._timing
        self._patience.ask(now_us, rank, timing.heartbeat_us, timing.timeout_us_max)
        if not self._agreement.is_proposing:
            assert view is not None, "something is to change"
            return self._agreement.propose(view)
        if view is not None:
            self._agreement.revise(view)
        self._agreement.repeat()
        return []

    def _leavers(self) -> list[ProcessId]:
        """Return who left and may still be waited for by somebody."""
        history = self._agreement.history
        left = {process: None for view in history for process in view.left}
        failed = {process for view in history for process in view.failed}
        return [process for process in left if process not in failed]

    # Telling what was decided.

    def announce(self, view: View) -> None:
        """Tell everybody whom it concerns, also those that failed: they may only seem so."""
        to = dict.fromkeys([*self._transition.everybody(), *view.members, *view.failed])
        self._out.send_each(list(to), Decide((view,)))

    def tell_last(self, view: View) -> None:
        """Tell the members of the view in which this process is out: maybe nobody else alive can.

        Its own vote may have decided the view, and who decided it have died since.
        """
        self._out.send_each(view.members, Decide(tuple(self._agreement.history)))

    def forget_history(self) -> None:
        """Drop the views that everybody has installed: nobody can want them any more."""
        if len(self._agreement.history) < 2:
            return
        others = [who for who in self._transition.everybody() if who != self._me]
        views = [self._view_of(who) for who in others]
        self._agreement.forget_before(min([*views, self._transition.number]))

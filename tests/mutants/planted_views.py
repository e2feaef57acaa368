"""Planted bugs of view changes: the default flush, views and members, stability, agreement."""

from typing import Any
from unittest.mock import patch

from tests.mutants.registry import plant

from antiphon.core.control import Accept, Alive, Prepare, Promise, Propose, Report
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.membership.agreement import Agreement
from antiphon.membership.coordination import Coordination
from antiphon.membership.effects import DeliverRuns
from antiphon.membership.membership import Membership
from antiphon.membership.roster import Roster
from antiphon.membership.transition import Transition
from antiphon.membership.view_atomic_flush import ViewAtomicFlush
from antiphon.ordering.stability import Stability
from antiphon.ordering.vector import VectorDomain
from antiphon.stack.early import Early
from antiphon.stack.receiver import GROUP, Receiver, ViewOf

# View-atomic flush (Uniform 3.3).

_RIGHT_REPORT = ViewAtomicFlush._report
_RIGHT_TAKES_FROM = Roster.takes_from
_RIGHT_ATOMIC_RECEIVE = ViewAtomicFlush.receive


@plant(ViewAtomicFlush, "_report", "003-1")
def no_exclusion_of_who_never_sent(self: ViewAtomicFlush) -> None:
    """A negative count cannot say "excluded" of a process of which nothing was received."""
    if self._transition.current is None or not self._transition.pending:
        return
    right = Transition.excluded_ranks

    def with_minus_sign(transition: Transition) -> list[int]:
        received = self._copies.received()
        return [rank for rank in right(transition) if received[rank]]

    with patch.object(Transition, "excluded_ranks", with_minus_sign):
        report = Report(
            self._transition.number,
            tuple(self._copies.received()),
            tuple(self._transition.excluded_ranks()),
        )
    coordinator = self._coordinator()
    if coordinator != self._me:
        self._out.send(coordinator, report)
    else:
        self._reports[self._me] = report
        self._check()


@plant(ViewAtomicFlush, "installed", "003-2")
def no_next_round_with_views_pending(self: ViewAtomicFlush) -> None:
    """Nothing triggers the flush of a view installed while later ones are pending."""
    self._relayed.clear()
    self._reports.clear()


@plant(Roster, "takes_from", "003-3")
def late_words_of_the_excluded_count(self: Roster, peer: ProcessId, view_number: int) -> bool:
    """What arrives from an excluded process is taken as if nothing had happened."""
    return peer not in self.gone or view_number > self.gone[peer]


@plant(ViewAtomicFlush, "receive", "003-5")
def permission_is_not_passed_on(self: ViewAtomicFlush, peer: ProcessId, message: object) -> None:
    """Only the coordinator's own word permits; reports of others permit nothing."""
    if isinstance(message, Report):
        if message.number >= self._transition.number:
            self._reports[peer] = message
            self._check()
        return
    _RIGHT_ATOMIC_RECEIVE(self, peer, message)


def _is_forgotten_or_failed(self: Roster, peer: ProcessId) -> bool:
    return peer in self.left and peer not in self._transition.everybody()


@plant(
    ViewAtomicFlush,
    "_note",
    "D, leavers",
    also=((Roster, "is_forgotten", _is_forgotten_or_failed),),
)
def leaver_goes_uncounted(self: ViewAtomicFlush, number: int, _: tuple[int, ...]) -> None:
    """A permission is one for everybody: a leaver that failed meanwhile is dismissed with it."""
    self._uncounted[number] = ()


@plant(ViewAtomicFlush, "_repeat_permission", "003-5, kin")
def new_coordinator_repeats_nothing(self: ViewAtomicFlush) -> None:
    """What a dead coordinator told only some, the others never learn."""


@plant(ViewAtomicFlush, "_permit_orphans", "joiners of a dead view")
def joiners_wait_for_a_dead_view(self: ViewAtomicFlush) -> None:
    """Joiners need a permission even if all members of the view before are dead."""


@plant(ViewAtomicFlush, "_relay", "000-17, kin")
def unstable_messages_are_not_forwarded(self: ViewAtomicFlush) -> None:
    """What a failed sender told only some, the others never get."""


@plant(ViewAtomicFlush, "take_runs", "003, relay on receipt")
def relayed_messages_are_not_relayed_on(self: ViewAtomicFlush, runs: list[Run]) -> None:
    """A relay that dies half-way is not replaced by those it reached."""
    self._report()


@plant(ViewAtomicFlush, "_check", "kin of 003-1")
def exclusion_is_not_checked(self: ViewAtomicFlush) -> None:
    """Equal counts are enough, although some still listen to the failed."""
    transition = self._transition
    if transition.current is None or not transition.pending or self._coordinator() != self._me:
        return
    reports = [self._reports.get(process) for process in transition.participants()]
    mine = self._reports.get(self._me)
    if mine is None or any(
        report is None or (report.number, report.received) != (mine.number, mine.received)
        for report in reports
    ):
        return
    number = transition.pending[0].number
    if self.installable < number:
        self._permit(number)


@plant(ViewAtomicFlush, "_check", "one flush too early")
def one_report_is_not_waited_for(self: ViewAtomicFlush) -> None:
    """The coordinator permits the view when all but one participant have reported."""
    transition = self._transition
    if transition.current is None or not transition.pending or self._coordinator() != self._me:
        return
    participants = transition.participants()
    mine = self._reports.get(self._me)
    same = [
        process
        for process in participants
        if mine is not None
        and (report := self._reports.get(process)) is not None
        and (report.number, report.received) == (mine.number, mine.received)
    ]
    number = transition.pending[0].number
    if mine is not None and self.installable < number and len(same) >= len(participants) - 1:
        self._permit(number)


@plant(ViewAtomicFlush, "learn", "deliver before forward")
def report_comes_before_a_late_relay_counts(self: ViewAtomicFlush) -> None:
    """The first report is never repeated: what a relay brings later stays unknown."""
    self._permit_orphans()
    self._relay()
    self._repeat_permission()
    if self._me not in self._reports:
        self._report()


@plant(ViewAtomicFlush, "take_runs", "003-4, kin")
def late_receipts_are_not_reported(self: ViewAtomicFlush, runs: list[Run]) -> None:
    """What arrives after the report is relayed, but not reported."""
    failed = self._transition.excluded_ranks()
    self._out.relay(self._transition.participants(), [r for r in runs if r.sender in failed])


# Views and members.


@plant(Membership, "may_multicast", "ISIS 5.3, kin", is_property=True)
def multicasts_go_on_during_the_flush(self: Membership) -> bool:
    """The application may multicast although a newer view is known."""
    current = self.transition.current
    return current is not None and not self.is_over and self._me in current.members


@plant(Transition, "participants", "000-17 f, kin")
def leaver_is_counted_out_too_soon(self: Transition, number: int | None = None) -> list[ProcessId]:
    """Who leaves takes no part in leaving the view."""
    newest = self.newest
    if newest is None:
        return []
    failed = self.failed_until(newest.number if number is None else number)
    left = {process for view in self.pending for process in view.left}
    return [who for who in self._leaving_members() if who not in failed and who not in left]


@plant(Transition, "failed_until", "kin of 000-17 f")
def dead_leaver_is_waited_for(self: Transition, number: int) -> dict[ProcessId, None]:
    """Only members can fail: a leaver that dies on the way is waited for for ever."""
    views = [view for view in self.pending if view.number <= number]
    left = {process for view in self.pending for process in view.left}
    return {who: None for view in views for who in view.failed if who not in left}


_RIGHT_TAKE_EARLY = Receiver.take_early


@plant(Receiver, "take_early", "000-17 d")
def messages_of_the_next_view_are_dropped(self: Receiver, view: View, view_of: ViewOf) -> None:
    """What comes before its view is installed is thrown away."""
    self.early = Early()
    _RIGHT_TAKE_EARLY(self, view, view_of)


_RIGHT_BEGIN = Receiver.begin
_RIGHT_ADVANCE = VectorDomain.advance


@plant(VectorDomain, "advance", "vector time per view")
def clock_is_not_reset(self: VectorDomain, group: Any, view: View, rank: Any) -> list[Run]:
    """The counts of the old view go on counting in the new one."""
    before = self._groups.get(group)
    orphans = _RIGHT_ADVANCE(self, group, view, rank)
    if before is not None:
        mine = self._groups[group]
        for old_rank, member in enumerate(before.view.members):
            if member in view.members and before.delivered[old_rank]:
                mine.delivered[view.rank_of(member)] = before.delivered[old_rank]
    return orphans


@plant(Receiver, "begin", "ISIS 5.5 (3)")
def orphans_are_delivered(self: Receiver, view: View) -> None:
    """What is still held when the view ends is handed to the application all the same."""
    orphans = [run for run, _ in self._ordering.waiting()]
    if orphans:
        effects = self._out.effects
        effects.insert(max(0, len(effects) - 1), DeliverRuns(orphans))
    _RIGHT_BEGIN(self, view)


@plant(Receiver, "take_fresh", "skip the FIFO check")
def copies_are_taken_twice(self: Receiver, _peer: ProcessId, run: Run) -> Run | None:
    """What came from its sender and from a relay is delivered both times."""
    group = self._ordering._groups[GROUP]
    group.received[run.sender] = group.delivered[run.sender] = run.last
    self.stability.keep(run)
    self._out.put(DeliverRuns([run]))
    return run


# Stability.


@plant(Stability, "reach", "000-16, kin")
def most_is_taken_for_all(self: Stability, sent: int) -> None:
    """A message counts as stable when all but one member have received it."""
    self._reached[self.rank] = sent
    counts = sorted(self._reached)
    self._note_stable(self.rank, counts[1] if len(counts) > 1 else counts[0])


@plant(Stability, "keep", "forget unstable messages")
def only_own_messages_are_kept(self: Stability, run: Run) -> None:
    """A process keeps copies of its own messages only."""
    if run.sender == self.rank:
        self.copies[run.sender].append(run)
        self.kept_bytes += run.byte_count


_RIGHT_TAKE_ALIVE = Receiver.take_alive


@plant(Receiver, "take_alive", "000-17 c")
def stability_spans_views(self: Receiver, peer: ProcessId, alive: Alive, view_of: ViewOf) -> None:
    """Counts of one view are taken for those of another."""
    number = self._transition.number
    if 0 < alive.number < number:
        alive = Alive(number, alive.received, alive.stable, alive.agreed)
    _RIGHT_TAKE_ALIVE(self, peer, alive, view_of)


# Agreement.


@plant(View, "has_quorum", "primary partition")
def any_half_is_a_quorum(self: View, present: Any) -> bool:
    """Exactly half of the members may decide, with or without the most senior one."""
    return 2 * len(present) >= len(self.members)


@plant(View, "has_quorum", "primary partition")
def one_member_is_a_quorum(self: View, present: Any) -> bool:
    """Whoever is there decides."""
    return bool(present)


@plant(Agreement, "_on_promise", "Paxos, phase 1")
def accepted_views_are_overruled(self: Agreement, peer: ProcessId, promise: Promise) -> list[View]:
    """A new coordinator proposes its own view, whatever others have accepted."""
    if promise.ballot != self._ballot or self._accepts or self.latest is None:
        return []
    before = self.latest.has_quorum(self._promises)
    self._promises[peer] = promise.accepted_ballot, None
    return [] if before or not self.latest.has_quorum(self._promises) else self._propose()


@plant(Coordination, "forget_history", "kin of 003-2")
def agreed_views_are_forgotten_too_soon(self: Coordination) -> None:
    """All views but the last are dropped, whoever has not heard of them."""
    latest = self._agreement.latest
    if latest is not None:
        self._agreement.forget_before(latest.number)


@plant(Agreement, "_on_propose", "Paxos, phase 2")
def promises_are_not_kept(self: Agreement, peer: ProcessId, proposed: Propose) -> list[View]:
    """A lower ballot than promised is accepted, and what was accepted last is reported."""
    self._accepted_ballot = proposed.ballot
    self._accepted = proposed.view
    return self._reply(peer, Accept(proposed.view.number, proposed.ballot))


@plant(Agreement, "_next_ballot", "Paxos, phase 1")
def every_first_ballot_skips_phase_one(self: Agreement) -> int:
    """Not only the most senior member proposes without asking first."""
    above = max(self._highest, self._promised, self._ballot)
    return 1 if not above else above + 1


_RIGHT_PREPARE = Agreement._on_prepare


@plant(Agreement, "_on_prepare", "Paxos, phase 1")
def what_was_accepted_is_not_told(self: Agreement, peer: ProcessId, asked: Prepare) -> list[View]:
    """A promise keeps silent about the view accepted before."""
    self._accepted, self._accepted_ballot = None, 0
    return _RIGHT_PREPARE(self, peer, asked)

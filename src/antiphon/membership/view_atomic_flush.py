"""Leaving a view by detecting view atomicity (Uniform 3.3, corrected): the default.

Rule. Whoever learns of a newer view takes nothing more from those that failed in it, relays what
it holds of theirs and is not stable, and reports to the coordinator how many messages of each
member it received, and whom it excludes. The coordinator, the most senior participant that stays,
lets everybody install the next view once all participants excluded the same processes and
received the same counts. Reports are repeated when more is received.

Invariant (view-atomic, D3). Any two processes that install view i + 1, even if they crash later,
delivered the same messages in view i. For a participant has received everything a live sender
multicast in the view (sends stopped before the report), and nothing of a failed one arrives after
the report that excludes it; so equal counts stay equal, also for who reports again to a new
coordinator.

Corrections. Exclusion has a bit of its own (003-1). A view installed with others pending starts
the next round at once (003-2). What comes from an excluded process is dropped (003-3;
``roster``). Counts are of received messages (003-8).

Who may install. A permission counts for those whose reports it was given by, and for joiners: it
names the members of the view before that it left out, and a process among those does not install.
They failed in a view agreed on since, which they may not know of yet; one that left of its own
will before that is not told to go, but that it is out. If all members of the view before have
failed in views agreed on since, nobody is left to permit anything: then joiners install by
themselves, having delivered nothing that could differ, and count nobody.

Leaner than printed in two ways, neither of which touches the invariant. Only messages of failed
senders are relayed: a live sender's arrive by themselves, and if it fails later, that is one more
view. And the permission to install is not relayed by all (003-5): it rides on every report of
the view it permits, and a coordinator that did not give it repeats it before the next one.

Cost for n members, u unstable messages of failed senders: n - 1 reports (more while messages
arrive), n - 1 permissions, at most u (n - 1)^2 relayed copies. Two rounds.
"""

from antiphon.core.control import Install, Report
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.membership.effects import Outbox
from antiphon.membership.transition import Copies, Transition

PERMITTED_MAX = 1024
"""Permissions that are remembered, the latest ones: for who is late, or left some views ago."""


class ViewAtomicFlush:
    """One process's part in it."""

    is_view_atomic = True
    keeps_copies = False

    def __init__(self, outbox: Outbox, transition: Transition, copies: Copies) -> None:
        """Begin in the transition's current view."""
        self._out = outbox
        self._me = outbox.me
        self._transition = transition
        self._copies = copies
        self._reports: dict[ProcessId, Report] = {}
        self._relayed: dict[int, None] = {}
        self._uncounted: dict[int, tuple[int, ...]] = {}
        """By view permitted: who of the view before was not counted, by rank in that."""
        self._said = transition.number

    @property
    def installable(self) -> int:
        """The next view, if it was permitted, counting this process; else the current one."""
        number, current = self._transition.number, self._transition.current
        if current is None:  # a joiner has nothing that could be counted
            return max(self._uncounted, default=0)
        uncounted = self._uncounted.get(number + 1)
        is_counted = uncounted is not None and current.rank_of(self._me) not in uncounted
        return number + is_counted

    def learn(self) -> None:
        """A newer view has been agreed on: relay, report."""
        assert self._transition.pending, "a newer view is known"
        self._permit_orphans()
        self._relay()
        self._repeat_permission()
        self._report()

    def take_runs(self, runs: list[Run]) -> None:
        """More was received: who holds a failed sender's message passes it on, once."""
        failed = self._transition.excluded_ranks()
        self._out.relay(
            self._transition.participants(), [run for run in runs if run.sender in failed]
        )
        self._report()

    def take_copies(self, peer: ProcessId, runs: list[Run]) -> None:
        """Nothing: what was new in them has been taken."""

    def receive(self, peer: ProcessId, message: object) -> None:
        """Take a report, or a permission."""
        match message:
            case Install(number, uncounted):
                self._note(number, uncounted)
            case Report(number) if number < self._transition.number:
                self.dismiss(peer, number + 1)
            case Report(number):
                # Who reports on a view has installed it: it was permitted.
                self._note(number, message.uncounted)
                self._reports[peer] = message
                self._check()
            case _:
                unexpected = f"{type(message).__name__} is no message of this flush"
                raise PeerError(unexpected)

    def installed(self) -> None:
        """Begin the next round at once if there is one (003-2)."""
        self._relayed.clear()
        number = self._transition.number
        self._reports = {
            peer: report for peer, report in self._reports.items() if report.number >= number
        }
        if self._transition.pending:
            self.learn()

    def dismiss(self, laggard: ProcessId, number: int) -> None:
        """Tell it who was counted when the view that it waits for was permitted."""
        if number in self._uncounted:
            self._out.send(laggard, Install(number, self._uncounted[number]))

    def _note(self, number: int, uncounted: tuple[int, ...]) -> None:
        """A view was permitted; who was counted once may install, whoever permits it again."""
        before = self._uncounted.get(number)
        self._uncounted[number] = (
            uncounted if before is None else tuple(rank for rank in before if rank in uncounted)
        )
        if len(self._uncounted) > PERMITTED_MAX:
            del self._uncounted[min(self._uncounted)]

    def _permit(self, number: int) -> None:
        """Let everybody whom it concerns install view ``number``."""
        assert number == self._transition.pending[0].number, "views are permitted one by one"
        assert self._coordinator() == self._me, "the coordinator permits"
        uncounted = tuple(self._transition.excluded_ranks())
        self._note(number, uncounted)
        self._said = number
        self._out.send_each(self._transition.everybody(), Install(number, uncounted))

    def _permit_orphans(self) -> None:
        """As a joiner, need no permission if nobody is left of those who could give it.

        One of them may live, cut off: it was not counted, and must not install the view.
        """
        transition = self._transition
        if transition.current is None and not transition.participants():
            first = transition.pending[0]
            size_max = len(first.members) - len(first.joined) + len(first.left) + len(first.failed)
            self._note(first.number, tuple(range(size_max)))

    def _coordinator(self) -> ProcessId:
        """Return the most senior participant that stays; if none does, the most senior one."""
        participants = self._transition.participants()
        newest = self._transition.newest
        assert newest is not None, "somebody takes part in something"
        staying = (process for process in participants if process in newest.members)
        return next(staying, participants[0])

    def _relay(self) -> None:
        participants = self._transition.participants()
        for rank in self._transition.excluded_ranks():
            if rank not in self._relayed:
                self._relayed[rank] = None
                self._out.relay(participants, self._copies.unstable(rank))

    def _repeat_permission(self) -> None:
        """Tell all what an earlier coordinator may have told only some."""
        transition = self._transition
        if self._said < transition.number and self._coordinator() == self._me:
            self._said = transition.number
            uncounted = self._uncounted.get(transition.number, ())
            self._out.send_each(transition.everybody(), Install(transition.number, uncounted))
            for leaver, number in transition.lingering.items():
                if number < transition.number:
                    self.dismiss(leaver, number)

    def _report(self) -> None:
        transition = self._transition
        if transition.current is None or not transition.pending:
            return
        report = Report(
            transition.number, tuple(self._copies.received()), tuple(transition.excluded_ranks()),
            self._uncounted.get(transition.number, ()),
        )  # fmt: skip
        coordinator = self._coordinator()
        if coordinator != self._me:
            self._out.send(coordinator, report)
            return
        self._reports[self._me] = report
        self._check()

    def _check(self) -> None:
        """Permit the next view when all participants have the same messages for good."""
        transition = self._transition
        if transition.current is None or not transition.pending:
            return
        if self._me not in self._reports or self._coordinator() != self._me:
            return
        excluded = transition.excluded_ranks()
        reports = [self._reports.get(process) for process in transition.participants()]
        mine = self._reports[self._me]
        for report in reports:
            if (
                report is None
                or report.number != transition.number
                or report.received != mine.received
                or any(rank not in report.excluded for rank in excluded)
            ):
                return
        number = transition.pending[0].number
        if self.installable < number:
            self._permit(number)

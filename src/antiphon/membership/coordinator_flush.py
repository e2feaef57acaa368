"""Leaving a view through a coordinator: the linear flush (ISIS 5.5, corrected).

Rule. Whoever learns of view k sends the coordinator of k, its most senior member, copies of what
is not known to have reached everybody: its own messages and those of failed senders. Then it
sends Flush(k). The coordinator passes each copy on to everybody; when Flush(k) has come from all
participants that are left in k, it permits the view after the one they are in, and as soon as it
can, every later one up to k.

Invariant. As for the all-to-all flush: processes that survive delivered the same messages. A
coordinator that installs a view and crashes may have delivered more (the counterexample of
Uniform 2.2 is a test).

Corrections (000-18). A copy that was sent to the coordinator once may have died with it, and an
installed view may be unknown to others: copies are kept until every member is known to have left
the view, and sent again to each new coordinator.

Cost for n members: n - 1 Flush messages and n - 1 permissions, and every unstable message through
the coordinator. Two rounds.
"""

from antiphon.core.control import Flush, Install
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.membership.effects import Outbox
from antiphon.membership.transition import Copies, Transition

EARLY_MAX = 65_536
"""Copies kept for a view of which this process has not heard yet."""


class CoordinatorFlush:
    """One process's part in it."""

    is_view_atomic = False
    keeps_copies = True

    def __init__(self, outbox: Outbox, transition: Transition, copies: Copies) -> None:
        """Begin in the transition's current view."""
        self._out = outbox
        self._me = outbox.me
        self._transition = transition
        self._copies = copies
        self._flushed: dict[ProcessId, int] = {}
        self._early: list[tuple[ProcessId, list[Run]]] = []
        self.installable = transition.number

    def _coordinator(self) -> ProcessId:
        newest = self._transition.newest
        assert newest is not None, "a view is pending"
        return newest.members[0]

    def learn(self) -> None:
        """A newer view has been agreed on: copies to the coordinator, then the flush."""
        number = self._transition.pending[-1].number
        coordinator = self._coordinator()
        is_mine = coordinator == self._me
        to = self._transition.everybody() if is_mine else {coordinator: None}
        self._out.relay(to, self._doubtful())
        if coordinator == self._me:
            early, self._early = self._early, []
            for peer, runs in early:
                self.take_copies(peer, runs)
        self._flushed[self._me] = number
        if coordinator == self._me:
            self._check()
        else:
            self._out.send(coordinator, Flush(number))

    def _doubtful(self) -> list[Run]:
        """Return the copies that not everybody may have: own ones, and of failed senders."""
        transition = self._transition
        newest = transition.pending[-1]
        others = [member for member in newest.members if member != self._me]
        doubtful = self._copies.unstable_elsewhere(others)
        if transition.current is not None:
            failed = transition.failed_until(newest.number)
            for rank, member in enumerate(transition.current.members):
                if member == self._me or member in failed:
                    doubtful += self._copies.unstable(rank)
        return doubtful

    def take_runs(self, runs: list[Run]) -> None:
        """Nothing: what is received late is sent in the round of the next view."""

    def take_copies(self, peer: ProcessId, runs: list[Run]) -> None:
        """As coordinator, pass copies on, also those that were no news here.

        They may come before this process has learned that it is the coordinator.
        """
        if not self._transition.pending or self._coordinator() != self._me:
            self._early.append((peer, runs))
            if len(self._early) > EARLY_MAX:
                message = f"{peer} sends ever more copies for a view that is not known here"
                raise PeerError(message)
        else:
            others = [process for process in self._transition.everybody() if process != peer]
            self._out.relay(others, runs)

    def receive(self, peer: ProcessId, message: object) -> None:
        """Take a Flush, or a permission."""
        match message:
            case Install(number):
                self.installable = max(self.installable, number)
            case Flush(number):
                self._flushed[peer] = max(number, self._flushed.get(peer, 0))
                self._check()
            case _:
                unexpected = f"{type(message).__name__} is no message of this flush"
                raise PeerError(unexpected)

    def installed(self) -> None:
        """Look whether the next view may follow."""
        number = self._transition.number
        self._early = [
            (peer, runs) for peer, runs in self._early if any(run.view >= number for run in runs)
        ]
        self._check()

    def dismiss(self, laggard: ProcessId, number: int) -> None:
        """Nothing: it needs the flushes of all, and gives up if they do not come."""

    def _check(self) -> None:
        """As coordinator of the newest view, permit what its round has completed."""
        transition = self._transition
        if not transition.pending or self._coordinator() != self._me:
            return
        newest = transition.pending[-1]
        number = transition.pending[0].number
        participants = transition.participants()
        if self.installable < number and all(
            self._flushed.get(process, 0) >= newest.number for process in participants
        ):
            self.installable = number
            self._out.send_each(transition.everybody(), Install(number))

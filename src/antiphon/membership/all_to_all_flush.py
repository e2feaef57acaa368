"""Leaving a view by telling everybody: the all-to-all flush (ISIS 5.3, 5.5, corrected).

Rule. Whoever learns of view k forwards what it holds unstable of senders that failed, and sends
Flush(k) to everybody. The next view is installed when, for some later view k, Flush(k) has come
from every participant that is left in k: channels are FIFO, so whatever a participant had sent or
forwarded is there.

Invariant. Processes that survive delivered the same messages in the view. Not promised:
agreement with a process that installed the view and crashed then (000-17 a); for that there is
``view_atomic_flush``.

Corrections. What arrives from a failed process is dropped (000-17 b). Copies of a view are kept
after it has been left, until every member is known to have left it (000-17 c; ``stack.past``).
A voluntary leaver takes part in every round until the end (000-17 f). A view is installed by any
later round that completes, not only by its own (000-19).

Only messages of failed senders are forwarded: a live sender's Flush comes behind its messages.

Cost for n members: n (n - 1) Flush messages, and the forwarded copies. One round.
"""

from antiphon.core.control import Flush
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.membership.effects import Outbox
from antiphon.membership.transition import Copies, Transition


class AllToAllFlush:
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
        self.installable = transition.number

    def learn(self) -> None:
        """A newer view has been agreed on: forward, then flush."""
        transition = self._transition
        assert transition.pending, "a newer view is known"
        newest = transition.pending[-1]
        everybody = transition.everybody()
        self._forward(everybody)
        self._flushed[self._me] = newest.number
        self._out.send_each(everybody, Flush(newest.number))
        self._check()

    def _forward(self, everybody: dict[ProcessId, None]) -> None:
        transition = self._transition
        self._out.relay(everybody, self._copies.unstable_elsewhere(transition.pending[-1].members))
        for rank in transition.excluded_ranks():
            self._out.relay(everybody, self._copies.unstable(rank))

    def take_runs(self, runs: list[Run]) -> None:
        """Nothing: what is received late is forwarded in the round of the next view."""

    def take_copies(self, peer: ProcessId, runs: list[Run]) -> None:
        """Nothing, likewise."""

    def receive(self, peer: ProcessId, message: object) -> None:
        """Take a Flush."""
        if not isinstance(message, Flush):
            unexpected = f"{type(message).__name__} is no message of this flush"
            raise PeerError(unexpected)
        self._flushed[peer] = max(message.number, self._flushed.get(peer, 0))
        self._check()

    def installed(self) -> None:
        """Look whether the next view may follow."""
        self._check()

    def dismiss(self, laggard: ProcessId, number: int) -> None:
        """Nothing: it needs the flushes of all, and gives up if they do not come."""

    def _check(self) -> None:
        transition = self._transition
        for view in transition.pending:
            participants = transition.participants(view.number)
            if all(self._flushed.get(process, 0) >= view.number for process in participants):
                self.installable = max(self.installable, transition.pending[0].number)
                return

"""Leaving a view by detecting view atomicity, everything relayed (Uniform 3.3, as printed).

For groups whose runs do not come straight from their senders: there a live sender's runs need not
arrive by themselves, for who was to forward them may have crashed.

Rule. As ``view_atomic_flush``, but whoever learns of a newer view relays ALL that it has of it and
is not stable, of all senders, in the order in which it was received, to all participants.
What is received after that is relayed when it is taken, and then delivered (``stack.overlay``).

Invariant (D3). As there: nobody reports before it has stopped multicasting and taking from those
that failed. Let a participant receive something after its report. It came from a participant, and
the first participant that had it had it before its own report, for it multicast it, or had it from
one that it had not yet excluded. So the reports of the two differ, and no view is permitted before
the second one has reported again.

Every message reaches all participants: each has received it, or a participant that has received it
relays it, on a channel that is reliable until one of the two is out.

Cost for n members, u unstable messages: u n (n - 1) copies; reports as there.
"""

from antiphon.core.runs import Run
from antiphon.membership.view_atomic_flush import ViewAtomicFlush


class RelayingFlush(ViewAtomicFlush):
    """One process's part in it."""

    _has_relayed = False

    def take_runs(self, runs: list[Run]) -> None:
        """More was received, and has been passed on: only report."""
        del runs
        self._report()

    def installed(self) -> None:
        """Begin the next round at once if there is one."""
        self._has_relayed = False
        super().installed()

    def _relay(self) -> None:
        if not self._has_relayed:
            self._has_relayed = True
            self._out.relay(self._transition.participants(), self._copies.unstable_in_order())

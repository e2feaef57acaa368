"""What a world runs: the whole endpoint, or the ordering machine of CBCAST alone.

Law: both are driven in the same words. An endpoint is given what a driver would give it, a run the
short way first, and nothing but runs travels: no time passes, so nothing else is due. The ordering
machine by itself is for what an endpoint never meets, channels that reorder and repeat.
"""

from collections.abc import Sequence
from typing import Protocol

from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.ordering.vector import VectorDomain
from antiphon.stack.effects import (
    AdmitSenders,
    DeliverRuns,
    Effect,
    ExpectPeers,
    InstallView,
    RejectPeer,
    SendRun,
    SetTimer,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import MulticastRequested, RunsReceived
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings

GROUP = GroupNumber(0)

Done = list[SendRun | DeliverRuns]
"""What a process does, in order, of what a world is about."""


class Process(Protocol):
    """One process of a world."""

    @property
    def ordering(self) -> VectorDomain:
        """Its ordering machine, to look into."""

    def multicast(self, payloads: list[bytes], order: Order) -> Done:
        """Multicast a run."""

    def receive(self, peer: ProcessId, run: Run) -> Done:
        """Take a run."""


class WholeProcess:
    """An endpoint."""

    def __init__(self, me: ProcessId, view: View) -> None:
        """Begin in ``view``."""
        self._endpoint = Endpoint(me, view, Settings(), 0)
        assert not _of_runs(self._endpoint.start()), "a process that starts sends nothing"

    @property
    def ordering(self) -> VectorDomain:
        """Its ordering machine, to look into."""
        return self._endpoint.member.ordering

    def multicast(self, payloads: list[bytes], order: Order) -> Done:
        """Multicast a run."""
        asked = MulticastRequested(payloads, How(order), sum(map(len, payloads)))
        return _of_runs(self._endpoint.step(asked, 0))

    def receive(self, peer: ProcessId, run: Run) -> Done:
        """Take a run, as a driver does: the short way if it can go there."""
        if self._endpoint.receive(peer, run):
            return [DeliverRuns([run])]
        return _of_runs(self._endpoint.step(RunsReceived(peer, [run]), 0))


class BareProcess:
    """An ordering machine, and nothing around it."""

    def __init__(self, me: ProcessId, view: View, *, fifo_channels: bool) -> None:
        """Begin in ``view``."""
        self.ordering = VectorDomain(fifo_channels=fifo_channels)
        self.ordering.install(GROUP, view, view.rank_of(me))

    def multicast(self, payloads: list[bytes], order: Order) -> Done:
        """Multicast a run."""
        run = self.ordering.multicast(GROUP, payloads, order)
        return [SendRun(run, None), DeliverRuns([run])]

    def receive(self, peer: ProcessId, run: Run) -> Done:
        """Take a run."""
        del peer
        ready = self.ordering.receive(run)
        return [DeliverRuns(ready)] if ready else []


def _of_runs(effects: Sequence[Effect]) -> Done:
    """Return what is about runs; what is about nothing that can happen here may not be there."""
    done: Done = []
    for effect in effects:
        match effect:
            case SendRun() | DeliverRuns():
                done.append(effect)
            case RejectPeer(peer, why):
                message = f"{peer} is rejected: {why}"
                raise PeerError(message)
            case SetTimer() | ExpectPeers() | InstallView() | AdmitSenders():
                pass
            case _:
                message = f"nothing here asks for {effect}"
                raise AssertionError(message)
    return done

"""A process in a static group, composed: order alone, no membership.

    application        MulticastRequested                        DeliverRun
                              |                                      ^
    ordering           VectorDomain: stamp, hold back, release ------+
                              |                 ^
    transport              SendRun          RunReceived

Law: a process is a function of its inputs. ``step`` takes one input and the time and returns what
is to be done, in order: a multicast is handed to the transport before it is delivered here, so
that nothing this process does because of it can overtake it. There is no clock, socket, random
number or log in here; the asyncio driver and the simulator run this very object.
"""

from dataclasses import dataclass
from typing import final

from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.membership.effects import DeliverRuns
from antiphon.ordering.vector import VectorDomain


@final
@dataclass(slots=True)
class MulticastRequested:
    """The application multicasts ``payloads``, in this order, with no delivery in between."""

    group: GroupNumber
    payloads: list[bytes]
    order: Order = Order.CAUSAL
    byte_count: int | None = None
    """The size of all payloads, if the driver knows it."""


@final
@dataclass(slots=True)
class RunReceived:
    """A run arrived from another member."""

    run: Run


Input = MulticastRequested | RunReceived


@final
@dataclass(slots=True)
class SendRun:
    """Transmit ``run`` to every other member of its group."""

    run: Run


Effect = SendRun | DeliverRuns


class Process:
    """One process of a causality domain, with all its groups of that domain."""

    __slots__ = ("_ordering", "_views", "me")

    def __init__(self, me: ProcessId, *, fifo_channels: bool = True) -> None:
        """Start in no group."""
        self.me = me
        self._ordering = VectorDomain(fifo_channels=fifo_channels)
        self._views: dict[int, View] = {}

    def join_static(self, group: GroupNumber, view: View) -> None:
        """Enter a group whose one view is known to all members beforehand."""
        if self.me not in view.members:
            message = f"{self.me} is no member of group {view.group}: add it to the members"
            raise UsageError(message)
        self._ordering.install(group, view, view.rank_of(self.me))
        self._views[group] = view

    def view(self, group: GroupNumber) -> View:
        """Return the current view of a group."""
        return self._views[group]

    @property
    def ordering(self) -> VectorDomain:
        """The ordering machine, to look into: clocks, what is held and why."""
        return self._ordering

    def step(self, happened: Input, now_us: int) -> list[Effect]:  # noqa: ARG002 - timers come next
        """Take one input; return what is to be done, in order."""
        match happened:
            case RunReceived(run):
                ready = self.receive(run)
                return [DeliverRuns(ready)] if ready else []
            case MulticastRequested(group, payloads, order, byte_count):
                run = self._ordering.multicast(group, payloads, order, byte_count)
                return [SendRun(run), DeliverRuns([run])]

    def receive(self, run: Run) -> list[Run]:
        """Take a run that arrived; return the runs to deliver, in order.

        The same as ``step(RunReceived(run), now_us)``, without wrapping either side: every run
        at every member passes here, and the wrapping would cost as much as the check itself.
        """
        return self._ordering.receive(run)

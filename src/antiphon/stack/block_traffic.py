"""Causal blocks under views: what goes by datagram in one group, and what its flush relays.

Rule. Own runs leave as blocks, by datagram (``ordering.blocks.run_blocks``); what the blocks
deliver is counted and kept as in every group (``receiver``). As soon as a newer view is known they
end: nothing more is said, taken or delivered by datagram. Then everything that was delivered here
and is not known to be everywhere is relayed to all who take part, by channel, in order of delivery
(``membership.relaying_flush``); and so is, when it is taken, what others relay.

Invariant. On each channel a relayed run comes behind all of its past that its receiver may lack:
the relayer had delivered that before, and has forgotten only what everybody has. So it is delivered
as it comes. A relay that comes before the newer view is known here is kept until then: delivered at
once, it would pass by the blocks, whose next own message would not name it as its past.

What is held undelivered when the blocks end is given up, and is nobody's loss. A member that goes
on has delivered what it multicast, so that is relayed; and what a dead one multicast is relayed if
anybody who goes on has delivered it, with its past. The rest was delivered by nobody who goes on,
and whoever of them delivered it later would be the only one: the flush counts what is delivered.

A datagram is no sign of life, and no word of views: these go by channel. What is wrong with one
harms nobody. Who is dead for certain is waited for no longer at once (004-8).
"""

from collections.abc import Sequence

from antiphon.core.control import Alive
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.membership.effects import Effect, Outbox, SendDatagram
from antiphon.membership.transition import Transition
from antiphon.ordering.blocks.run_blocks import RunBlocks
from antiphon.ordering.stability import Stability
from antiphon.stack.early import EARLY_BYTES_MAX, EARLY_RUN_BYTES

_Datagram = tuple[ProcessId, bytes]


class BlockTraffic:
    """One process's part in a group of causal blocks."""

    __slots__ = (
        "_delivered", "_early", "_lifetime_us", "_others", "_out", "_priority", "_relayed_bytes",
        "_relays", "_transition", "group", "now_us",
    )  # fmt: skip

    def __init__(self, out: Outbox, transition: Transition, group: RunBlocks) -> None:
        """Be in no view; what is to be sent goes to ``out``."""
        self._out, self._transition = out, transition
        self.group = group
        """The protocol, to ask and to look into."""
        self.now_us = 0
        """The time, as whoever drives this last said."""
        self._priority = 0
        self._lifetime_us: int | None = None
        self._others: tuple[ProcessId, ...] = ()
        self._delivered: list[int] = []
        self._early: list[_Datagram] = []
        self._relays: list[tuple[ProcessId, Run]] = []
        self._relayed_bytes: dict[ProcessId, int] = {}

    # As in every group with a protocol of its own.

    def enter(self, view: View, rank: int) -> None:
        """A view begins; perhaps it is being left already."""
        self._others = tuple(member for member in view.members if member != self._out.me)
        self._delivered = [0] * len(view.members)
        self._early = self.group.enter(view, view.rank_of(self._out.me), self.now_us)
        self._relays.clear()
        self._relayed_bytes.clear()
        assert view.members[rank] == self._out.me, "it is this process's rank"
        self._look_at_view()

    def begin_receipts(self, size: int, rank: int, delivered: Sequence[int]) -> Stability:
        """As in groups without a protocol of their own: everybody tells all others."""
        return Stability(size, rank, delivered)

    def prepare(self, run: Run, now_us: int, priority: int, expires_us: int | None) -> list[Run]:
        """Say how the next run is to be sent; return it, or what is left if it has expired."""
        self.now_us = now_us
        self._priority, self._lifetime_us = priority, None
        if expires_us is not None and expires_us <= now_us:
            return [run.expired()]
        self._lifetime_us = expires_us - now_us if expires_us is not None else None
        return [run]

    def send(self, run: Run, alive: Alive | None) -> list[Effect]:
        """Return how an own run leaves, without its stamp; it is delivered here after that."""
        self._delivered[run.sender] = run.last
        priority, lifetime_us = self._priority, self._lifetime_us
        self.group.send(run, self.now_us, priority=priority, lifetime_us=lifetime_us)
        if alive is not None:
            self._out.send_each(self._others, alive)
        own, *more = self.group.take_outgoing()
        self._out.put(SendDatagram(own, run))
        self._put(more)
        return self._out.take()

    def take(self, peer: ProcessId, run: Run) -> Run | None:
        """Take a run that ``peer`` relays; return what is new in it, which has been relayed on."""
        if run.sender >= len(self._delivered) or run.stamp or run.foreign or run.is_gated:
            message = f"{peer} relays a run of member {run.sender} that blocks cannot have brought"
            raise PeerError(message)
        delivered = self._delivered[run.sender]
        if run.last <= delivered:
            return None
        if not self._transition.pending:
            self._keep(peer, run)
            return None
        if run.first > delivered + 1:
            message = f"{peer} relays message {run.first} of member {run.sender} without its past"
            raise PeerError(message)
        fresh = run if run.first > delivered else run.after(delivered)
        self._delivered[run.sender] = fresh.last
        others = (who for who in self._transition.participants() if who != peer)
        self._out.relay(others, [fresh])
        return fresh

    def _keep(self, peer: ProcessId, run: Run) -> None:
        """Keep what is relayed for a newer view that is not known here yet."""
        kept = self._relayed_bytes.get(peer, 0) + run.byte_count + EARLY_RUN_BYTES
        if kept > len(self._delivered) * EARLY_BYTES_MAX:
            message = f"{peer} relays ever more for a view that nobody here knows of"
            raise PeerError(message)
        self._relayed_bytes[peer] = kept
        self._relays.append((peer, run))

    def take_relays(self) -> list[tuple[ProcessId, Run]]:
        """A newer view is known: return what was relayed before it was, to be taken now."""
        relays, self._relays, self._relayed_bytes = self._relays, [], {}
        return relays

    # Datagrams.

    def take_datagram(self, peer: ProcessId, data: bytes) -> list[Run]:
        """Take a datagram; return what it makes ready, in order.

        Bytes that no correct member sends raise :class:`PeerError`, and change nothing.
        """
        self._look_at_view()
        ready: list[Run] = []
        for run in self.group.take(peer, data, self.now_us):
            # Who numbers its messages wrongly harms itself alone: they are passed over.
            if run.first == self._delivered[run.sender] + 1:
                self._delivered[run.sender] = run.last
                ready.append(run)
        self._put(self.group.take_outgoing())
        return ready

    def take_early(self) -> list[_Datagram]:
        """Return what came for this view before it had begun, to be taken now."""
        early, self._early = self._early, []
        return early

    def wake(self) -> None:
        """Do what is due by now."""
        self._look_at_view()
        self.group.wake(self.now_us)
        self._put(self.group.take_outgoing())

    def _look_at_view(self) -> None:
        """While the view is being left, nothing goes by datagram."""
        if self._transition.pending:
            self.group.stop()

    def _put(self, datagrams: list[bytes]) -> None:
        for data in datagrams if self._others else ():
            self._out.put(SendDatagram(data))

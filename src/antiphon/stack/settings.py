"""Settings: how a member takes part in its group, and what the group can give.

Law: what a configuration cannot give is refused with an error, never given as something weaker.
"""

from dataclasses import dataclass, field

from antiphon.core.errors import UsageError
from antiphon.core.runs import Order
from antiphon.membership.all_to_all_flush import AllToAllFlush
from antiphon.membership.coordinator_flush import CoordinatorFlush
from antiphon.membership.failure_detector import Timing
from antiphon.membership.membership import FlushMaker
from antiphon.membership.relaying_flush import RelayingFlush
from antiphon.membership.view_atomic_flush import ViewAtomicFlush
from antiphon.ordering.total import POLICIES
from antiphon.stack.dissemination import VECTOR, GroupProtocol

FLUSHES: dict[str, FlushMaker] = {
    "view-atomic": ViewAtomicFlush,
    "coordinator": CoordinatorFlush,
    "all-to-all": AllToAllFlush,
}
"""Ways to leave a view, by name; the first is the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many bytes a process lets gather before somebody has to wait."""

    unstable_bytes: int = 16 * 1024 * 1024
    """Payload bytes that have not reached everybody for certain, before senders wait."""
    held_bytes: int = 16 * 1024 * 1024
    """Bytes that wait for something in their causal past, before receipts are confirmed later."""
    queued_bytes: int = 1024 * 1024
    """Bytes in the send queue, before senders wait."""
    confirmed_bytes: int = 4 * 1024 * 1024
    """Bytes received that are confirmed without waiting for the heartbeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a member takes part; ``flush`` and ``protocol`` must be alike everywhere: compared."""

    flush: str = "view-atomic"
    protocol: GroupProtocol | None = None
    """How runs reach the members; None: straight from their sender, with vector time."""
    timing: Timing = field(default_factory=Timing)
    token: str = "follow"  # noqa: S105 - no secret
    """Where the token of the total order goes while this member holds it: its own affair."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        """Refuse what does not exist."""
        if self.flush not in FLUSHES:
            message = f"there is no flush {self.flush!r}: choose one of {', '.join(FLUSHES)}"
            raise UsageError(message)
        if self.token not in POLICIES:
            message = f"there is no token policy {self.token!r}: choose {' or '.join(POLICIES)}"
            raise UsageError(message)
        if self.protocol is None:
            return
        if not isinstance(self.protocol, GroupProtocol):
            message = f"there is no protocol {self.protocol!r:.100}: leave it out for vector time"
            raise UsageError(message)
        if self.flush != "view-atomic":
            message = (
                f"a group with protocol {self.protocol.description} leaves views by the "
                f"view-atomic flush, and this is {self.flush}: join with flush='view-atomic'"
            )
            raise UsageError(message)

    @property
    def flush_maker(self) -> FlushMaker:
        """What makes the flush: all is relayed where runs do not come from their senders."""
        return FLUSHES[self.flush] if self.protocol is None else RelayingFlush

    @property
    def protocol_name(self) -> str:
        """What members compare of the protocol."""
        return self.protocol.description if self.protocol is not None else VECTOR

    def check(self, order: Order, *, uniform: bool) -> None:
        """Refuse what these settings cannot give."""
        if type(order) is not Order:
            names = ", ".join(f"Order.{order.name}" for order in Order)
            message = f"there is no order {order!r}: choose one of {names}"
            raise UsageError(message)
        if self.protocol is not None and (uniform or order is Order.TOTAL):
            message = (
                f"a group with protocol {self.protocol.description} gives neither total order nor "
                "uniform delivery, nor what needs them: join without protocol"
            )
            raise UsageError(message)
        if uniform and self.flush != "view-atomic":
            message = (
                f"uniform delivery needs the view-atomic flush, and this is {self.flush}: "
                "join with flush='view-atomic'"
            )
            raise UsageError(message)

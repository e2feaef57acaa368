"""What is sent over a physical network, by which protocol, and what is measured (Overlay 5.1)."""

from dataclasses import dataclass, field
from enum import StrEnum

from antiphon.core.errors import UsageError
from antiphon.models.compiling import Int64s

NS_PER_MS = 1_000_000


class Protocol(StrEnum):
    """Who carries a broadcast to everybody."""

    OVERLAY = "overlay"
    """Flooding over an overlay, each of whose links is a route."""
    TIMESTAMP = "timestamp"
    """Vector timestamps, one copy over each link of the sender's tree of routes (IP multicast)."""
    TIMESTAMP_UNICAST = "timestamp, unicast"
    """Vector timestamps, one copy to each node over its route."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Senders that broadcast at a steady rate for a while; defaults are the paper's."""

    senders: int = 10
    messages: int = 100
    """Of each sender; the paper does not say how many."""
    gap_ns: int = NS_PER_MS // 10
    """Ten messages per millisecond and sender."""
    data_bytes: int = 0
    header_bytes: int = 32
    number_bytes: int = 4
    """Of each entry of a timestamp."""
    mtu_bytes: int = 1_500
    """The paper does not say how large fragments are."""
    ns_per_byte: int = 800
    """10 Mbit/s."""

    def check(self, size: int) -> None:
        """Refuse what cannot be sent."""
        fits = 1 <= self.senders <= size and self.messages >= 1 and self.gap_ns >= 1
        if not fits or self.mtu_bytes <= self.header_bytes or self.data_bytes < 0:
            message = f"{self} cannot be sent among {size} nodes"
            raise UsageError(message)

    def fragments(self, protocol: Protocol, size: int) -> list[int]:
        """Return the bytes of each fragment of a message: each has a header of its own."""
        stamp = 0 if protocol is Protocol.OVERLAY else self.number_bytes * size
        left, room = self.data_bytes + stamp, self.mtu_bytes - self.header_bytes
        sizes = []
        while left > room:
            sizes.append(self.mtu_bytes)
            left -= room
        return [*sizes, left + self.header_bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkMeasures:
    """What is measured (Overlay 5.1); times in milliseconds."""

    delay_mean_ms: float
    delay_max_ms: float
    messages: int
    """Fragments, each counted once for every logical arc that it goes over."""
    total_bytes: int
    hops: int
    """Fragments, each counted once for every physical link."""
    held_mean: float
    """Messages in a node's delivery queue, at the mean over nodes and time."""
    held_max: int
    load_mean: float
    """Fragments on a link, waiting, being sent or on their way, at the mean over links and time."""
    load_bytes_mean: float
    """The same in bytes."""
    queue_max: int
    """Fragments that wait to be sent on one link."""
    duration_ms: float
    deliveries: int
    link_bytes: Int64s = field(repr=False, compare=False)
    """By link: how many bytes it carried."""

"""What can be set of datagrams; but for the size of packets, each process may have its own."""

from dataclasses import dataclass

from antiphon.core.errors import UsageError
from antiphon.net.datagrams.packets import OVERHEAD_BYTES
from antiphon.net.datagrams.packing import ITEM_BYTES_MAX
from antiphon.net.transport.interface import MulticastPlace
from antiphon.net.transport.udp import DATAGRAM_BYTES_MAX

PACKET_BYTES_MIN = 128

LOOPBACK_BYTES = 60_000
"""A good packet where there is no wire: one call of the system carries 40 times as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatagramSettings:
    """Sizes, rates and bounds of one port."""

    packet_bytes_max: int = 1_400
    """Of a packet as it is given to the system: what the path carries without fragments of IP, less
    28 bytes (IPv4) or 48 (IPv6), and some for tunnels. On loopback up to 60,000 are better."""
    item_bytes_max: int = 1024 * 1024
    """The largest item: what is larger than a packet leaves in pieces, all of which must arrive."""
    bytes_per_s: int | None = None
    """What the line, and the slowest receiver, can take; None: as fast as the system does."""
    burst_bytes: int = 256 * 1024
    """What may leave at once after a pause; less than the buffers of receivers."""
    queue_bytes: int = 4 * 1024 * 1024
    """What waits for the line before senders should; twice that, and packets are dropped."""
    buffer_bytes: int = 4 * 1024 * 1024
    """What the system is asked to keep for each socket, of what arrived and of what is to leave."""
    multicast: MulticastPlace | None = None
    """Where packets for everybody are sent, once; None: to each receiver by itself."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if not PACKET_BYTES_MIN <= self.packet_bytes_max <= DATAGRAM_BYTES_MAX:
            message = (
                f"a packet has {PACKET_BYTES_MIN} to {DATAGRAM_BYTES_MAX:,} bytes, "
                f"not {self.packet_bytes_max:,}"
            )
            raise UsageError(message)
        if not 1 <= self.item_bytes_max <= ITEM_BYTES_MAX:
            message = f"an item has at most 1 to {ITEM_BYTES_MAX:,} bytes"
            raise UsageError(message)
        least = min(self.burst_bytes, self.queue_bytes, self.buffer_bytes)
        if least < 1 or (self.bytes_per_s is not None and self.bytes_per_s < 1):
            message = "rates, bursts and buffers are at least 1 byte"
            raise UsageError(message)

    @property
    def body_bytes_max(self) -> int:
        """What a packet has room for."""
        return self.packet_bytes_max - OVERHEAD_BYTES

"""Header bytes per message: what the wire carries beyond the payloads, length prefix included."""

from antiphon.core.frames import encode_runs
from antiphon.core.ids import GroupNumber, Rank, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.net.transport.framing import with_length

_MEMBER_COUNT = 4
_VIEW_AGE = 1_000_000
"""Messages that every member has multicast before: long-lived groups have long numbers."""


def header_bytes_per_message(message_count: int, payload_bytes: int = 64) -> float:
    """Return the header bytes per message of a run in a frame of its own, fully stamped."""
    stamp = tuple((rank, _VIEW_AGE) for rank in range(1, _MEMBER_COUNT))
    payloads = [bytes(payload_bytes)] * message_count
    run = Run(GroupNumber(0), ViewNumber(1), Rank(0), _VIEW_AGE, Order.CAUSAL, stamp, payloads)
    frame = with_length(encode_runs(0, 0, [run]))
    return (len(frame) - message_count * payload_bytes) / message_count

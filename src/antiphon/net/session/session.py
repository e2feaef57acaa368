"""A session: frames between two processes, reliable and in order, over successive connections.

Rule. Frames are counted in each direction, from the first one of the session; HELLO and ACK are
not. The sender keeps a frame until the receiver has said that it arrived: now and then in an ACK,
and in the handshake of every new connection, behind which the sender repeats the rest.

Invariant. What a receiver takes, over all connections, is a prefix of what was sent: nothing is
lost, doubled or reordered as long as both processes live, however often connections are cut.

Cost: a reference to each frame, the same for all receivers, until it is acknowledged; one ACK of
about a dozen bytes per ``ACK_BYTES`` received, or per heartbeat. Large frames are not kept as bytes
but as what they were made from, which is kept elsewhere too: encoding again is rare, and memory
that is given back at once is still in the processor's cache when it is needed again.
"""

from collections import deque
from collections.abc import Callable
from struct import Struct

from antiphon.core.errors import PeerError

RIDE_FRAMES = 16
RIDE_BYTES = 16 * 1024
"""Frames or bytes received that are worth an acknowledgement on something that is sent anyway."""

ACK_BYTES = 1024 * 1024
"""Bytes received after which they are acknowledged without waiting for something to ride on."""

Again = Callable[[], bytes]
"""Encodes frames once more."""

_LENGTH = Struct("<I")


class Session:
    """One process's side of it."""

    __slots__ = ("_acknowledged", "_base", "_kept", "_said", "kept_bytes", "received", "sent",
                 "unsaid_bytes")  # fmt: skip

    def __init__(self) -> None:
        """Begin with nothing sent and nothing received."""
        self._kept: deque[tuple[bytes | Again, int, int]] = deque()
        self._base = 0  # frames before the first that is kept
        self._acknowledged = 0
        self._said = 0
        self.kept_bytes = 0
        """Bytes sent and not yet acknowledged."""
        self.sent = 0
        self.received = 0
        self.unsaid_bytes = 0
        """Bytes received since the last acknowledgement."""

    # Sending.

    def keep(self, frames: bytes | Again, byte_count: int, frame_count: int = 1) -> None:
        """Count frames, as they go onto the stream, and keep them until they are acknowledged."""
        self._kept.append((frames, byte_count, frame_count))
        self.kept_bytes += byte_count
        self.sent += frame_count

    def acknowledge(self, count: int) -> None:
        """Drop what has arrived: ``count`` frames in all."""
        if not self._acknowledged <= count <= self.sent:
            message = (
                f"{count} frames are acknowledged, of {self.sent} sent and "
                f"{self._acknowledged} acknowledged before"
            )
            raise PeerError(message)
        self._acknowledged = count
        kept = self._kept
        while kept and self._base + kept[0][2] <= count:
            _, byte_count, frame_count = kept.popleft()
            self._base += frame_count
            self.kept_bytes -= byte_count

    def resume(self, received: int) -> list[bytes]:
        """Return what a new connection has to repeat, to a peer that has ``received`` so many."""
        self.acknowledge(received)
        self._said, self.unsaid_bytes = self.received, 0  # the handshake has told it
        if not self._kept:
            return []
        pieces = [frames if isinstance(frames, bytes) else frames() for frames, _, _ in self._kept]
        return [_after(pieces[0], received - self._base), *pieces[1:]]

    def anew(self) -> "Session":
        """Return a session that begins with what is kept: for who knows nothing of this one."""
        session = Session()
        for frames, byte_count, frame_count in self._kept:
            session.keep(frames, byte_count, frame_count)
        return session

    # Receiving.

    def take(self, byte_count: int) -> None:
        """Count a frame that has arrived."""
        self.received += 1
        self.unsaid_bytes += byte_count

    @property
    def is_worth_a_ride(self) -> bool:
        """Whether so much has come that an acknowledgement should go along with something."""
        return self.received - self._said >= RIDE_FRAMES or self.unsaid_bytes >= RIDE_BYTES

    def acknowledgement(self) -> int | None:
        """Return how many frames to acknowledge; None if that has been said."""
        if self.received == self._said:
            return None
        self._said, self.unsaid_bytes = self.received, 0
        return self.received


def _after(stream_bytes: bytes, frame_count: int) -> bytes:
    """Return what follows the first ``frame_count`` frames."""
    start = 0
    for _ in range(frame_count):
        (length,) = _LENGTH.unpack_from(stream_bytes, start)
        start += _LENGTH.size + length
    return stream_bytes[start:]

"""Frames on a byte stream: a 4-byte length, then the frame.

Law: bytes are received into one buffer that is used again and again (fresh allocations per read
were clearly slower for messages of a kilobyte), and leave it as one ``bytes`` per frame. A length
above the limit is refused before anything is allocated for it. Until a peer is known, the buffer is
no larger than the largest frame that it may send.
"""

import struct
from collections.abc import Iterator

from antiphon.core.errors import PeerError
from antiphon.core.frames import FRAME_BYTES_MAX
from antiphon.core.handshake import QUESTION_BYTES_MAX

_READ_BYTES = 128 * 1024
"""A good read: with less room than this, what is kept moves to the front of the buffer."""

BUFFER_BYTES = 1024 * 1024
"""Several of the largest common frames (``net/group.py``), so that few are moved to the front.

Members get it; everybody else one of the largest frame that it may send."""

HANDSHAKE_BYTES_MAX = QUESTION_BYTES_MAX + 512
"""Until a peer has said who it is, it gets no more room than a handshake needs."""

GUEST_BYTES_MAX = 8 * 1024
"""A frame of a process that is in no view: a request to be taken in is much shorter."""

_LENGTH = struct.Struct("<I")


def with_length(frame: bytes) -> bytes:
    """Return ``frame`` as it goes onto a stream."""
    return _LENGTH.pack(len(frame)) + frame


def join_with_length(parts: list[bytes | bytearray], byte_count: int, behind: bytes = b"") -> bytes:
    """Return a frame in pieces as it goes onto a stream, and what goes behind it.

    Large payloads are copied only once.
    """
    return b"".join([_LENGTH.pack(byte_count), *parts, behind])


class FrameBuffer:
    """Reassembles frames from the pieces in which a stream delivers them."""

    __slots__ = ("_buffer", "_end", "_size", "_start", "_view", "frame_bytes_max")

    def __init__(self) -> None:
        """Start small: whoever connects has to send a handshake first."""
        self._start = self._end = 0
        self._limit(HANDSHAKE_BYTES_MAX)
        self._buffer = bytearray(self._size)
        self._view = memoryview(self._buffer)

    def receive_guest(self) -> None:
        """Accept frames of a guest from now on."""
        self._limit(GUEST_BYTES_MAX)

    def trust(self) -> None:
        """Accept frames of every legal size from now on."""
        self.frame_bytes_max = FRAME_BYTES_MAX
        self._size = BUFFER_BYTES

    def _limit(self, byte_count: int) -> None:
        self.frame_bytes_max = byte_count
        self._size = _LENGTH.size + byte_count

    def room(self) -> memoryview:
        """Return where the next bytes are to be put."""
        return self._view[self._end :]

    def received(self, byte_count: int) -> Iterator[bytes]:
        """Take ``byte_count`` new bytes in; yield the frames that are complete now.

        One by one, because a handshake and larger frames may arrive together: the limit on each is
        the one that holds when its turn comes.
        """
        end = self._end + byte_count
        buffer, view = self._buffer, self._view
        start = self._start
        needed = 0
        while end - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(buffer, start)
            if length > self.frame_bytes_max:
                message = f"a frame of {length} bytes is above the limit of {self.frame_bytes_max}"
                raise PeerError(message)
            behind = start + _LENGTH.size + length
            if behind > end:
                needed = behind - start
                break
            yield bytes(view[start + _LENGTH.size : behind])
            start = behind
        self._keep(start, end, needed)

    def _keep(self, start: int, end: int, needed: int) -> None:
        """Keep the incomplete rest where the whole frame, and a good read, have room behind it."""
        rest = end - start
        size = max(self._size, needed)
        if size != len(self._buffer):  # a larger frame begins, or has ended, or the peer is known
            grown = bytearray(size)
            grown[:rest] = self._view[start:end]
            self._buffer, self._view = grown, memoryview(grown)
            start = 0
        elif not rest:
            start = 0
        elif start and start + max(needed, rest + _READ_BYTES) > size:
            self._view[:rest] = self._view[start:end]  # may overlap: a memoryview moves, not copies
            start = 0
        self._start, self._end = start, start + rest

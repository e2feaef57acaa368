"""Frames on a byte stream: a 4-byte length, then the frame.

Law: bytes are received into buffers that are used again and again (fresh allocations per read
were clearly slower for messages of a kilobyte), and leave them as one ``bytes`` per frame. A length
above the limit is refused before anything is allocated for it. Until a peer is known, the buffer is
no larger than the largest frame that it may send.

A large frame of runs is lent: it leaves as a view of its buffer, for copying it would cost a fifth
of what receiving does. Nothing is written to a buffer of which something was lent before the last
such view is gone. Few buffers are lent at a time; beyond that, frames are copied.
"""

import struct
from collections import deque
from collections.abc import Iterator

from antiphon.core.errors import PeerError
from antiphon.core.frames import FRAME_BYTES_MAX, Kind
from antiphon.core.handshake import QUESTION_BYTES_MAX
from antiphon.core.varint import Octets

_READ_BYTES = 128 * 1024
"""A good read: with less room than this, what is kept moves to the front of the buffer."""

BUFFER_BYTES = 1024 * 1024
"""Several of the largest common frames (``net/group.py``), so that few are moved to the front.

Members get it; everybody else one of the largest frame that it may send."""

LENT_BYTES_MIN = 64 * 1024
"""The smallest frame that is lent: while it is kept, it keeps a whole buffer."""

LENT_BUFFERS_MAX = 16
"""Buffers of one connection that may be lent at a time."""

_SPARE_BUFFERS_MAX = 8
"""Buffers that wait to be used again, by any connection of the program."""

HANDSHAKE_BYTES_MAX = QUESTION_BYTES_MAX + 640
"""Until a peer has said who it is, it gets no more room than a handshake needs."""

GUEST_BYTES_MAX = 8 * 1024
"""A frame of a process that is in no view: a request to be taken in is much shorter."""

_LENGTH = struct.Struct("<I")
_KIND_AT = _LENGTH.size + 1  # behind the length and the version
_RUNS = int(Kind.RUNS)

_spare: list[bytearray] = []


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

    __slots__ = (
        "_buffer", "_end", "_is_lent", "_lent", "_size", "_start", "_view", "frame_bytes_max",
    )  # fmt: skip

    def __init__(self) -> None:
        """Start small: whoever connects has to send a handshake first."""
        self._start = self._end = 0
        self._limit(HANDSHAKE_BYTES_MAX)
        self._buffer = bytearray(self._size)
        self._view = memoryview(self._buffer)
        self._is_lent = False
        self._lent: deque[bytearray] = deque()  # buffers before the current one

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

    def received(self, byte_count: int) -> Iterator[Octets]:
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
            frame = view[start + _LENGTH.size : behind]
            if length >= LENT_BYTES_MIN and buffer[start + _KIND_AT] == _RUNS and self._may_lend():
                self._is_lent = True
                yield frame
            else:
                yield bytes(frame)
            start = behind
        if self._lent:
            self._take_back()
        if start == end and not self._is_lent and len(buffer) == self._size:
            self._start = self._end = 0  # nearly always: all that came was whole frames
        else:
            self._keep(start, end, needed)

    def _may_lend(self) -> bool:
        return len(self._lent) < LENT_BUFFERS_MAX

    def _take_back(self) -> None:
        """Take back the buffer that was lent first, if nobody needs it any more."""
        if _is_free(self._lent[0]):
            buffer = self._lent.popleft()
            if len(buffer) == BUFFER_BYTES and len(_spare) < _SPARE_BUFFERS_MAX:
                _spare.append(buffer)

    def _keep(self, start: int, end: int, needed: int) -> None:
        """Keep the incomplete rest where the whole frame, and a good read, have room behind it."""
        rest = end - start
        size = max(self._size, needed)
        has_room = start + max(needed, rest + _READ_BYTES) <= size
        if size != len(self._buffer):  # a larger frame begins, or has ended, or the peer is known
            self._move(bytearray(size), start, end)
            start = 0
        elif self._is_lent:
            if not has_room:
                self._lent.append(self._buffer)
                is_usual = _spare and size == BUFFER_BYTES
                self._move(_spare.pop() if is_usual else bytearray(size), start, end)
                start = 0
        elif not rest:
            start = 0
        elif start and not has_room:
            self._view[:rest] = self._view[start:end]  # may overlap: a memoryview moves, not copies
            start = 0
        self._start, self._end = start, start + rest

    def _move(self, buffer: bytearray, start: int, end: int) -> None:
        """Go on with another buffer."""
        buffer[: end - start] = self._view[start:end]
        self._buffer, self._view, self._is_lent = buffer, memoryview(buffer), False


def _is_free(buffer: bytearray) -> bool:
    """Whether no view of a buffer is left: only then may its size be changed."""
    try:
        buffer.append(buffer.pop())
    except BufferError:
        return False
    return True

"""Large items out of their pieces.

Rule: the pieces of an item are kept until all are there; then it is whole. An item is abandoned
when it has not grown for ``STALE_US``, or when there is no room: a sender has at most
``PARTIAL_MAX`` items in the making, with at most ``room_bytes`` between them; the one that has
waited longest goes first.
Invariant: whatever is sent, no more than that is kept of one sender.

Recovery is not ours: the protocol above asks for what did not come.
"""

from antiphon.core.errors import PeerError
from antiphon.core.varint import Octets
from antiphon.net.datagrams.packing import Piece

STALE_US = 2_000_000
PARTIAL_MAX = 64


class _Partial:
    """An item in the making."""

    __slots__ = ("byte_count", "pieces", "time_us", "total")

    def __init__(self, total: int) -> None:
        self.total = total
        self.pieces: dict[int, Octets] = {}
        self.byte_count = 0
        self.time_us = 0


class Reassembly:
    """The items in the making of one sender, under one key."""

    __slots__ = ("_item_bytes_max", "_partials", "_room_bytes", "abandoned", "kept_bytes")

    def __init__(self, item_bytes_max: int, room_bytes: int) -> None:
        """Have nothing yet."""
        self._item_bytes_max, self._room_bytes = item_bytes_max, room_bytes
        self._partials: dict[int, _Partial] = {}  # that grew last comes last
        self.kept_bytes = 0
        """What waits for other pieces."""
        self.abandoned = 0
        """How many items came to nothing."""

    def take(self, piece: Piece, now_us: int) -> bytes | None:
        """Take a piece; return the item if it is whole now. Raise PeerError if it cannot be one."""
        partial = self._partials.pop(piece.number, None) or _Partial(piece.total)
        self.kept_bytes -= partial.byte_count
        byte_count = partial.byte_count + len(piece.data)
        if partial.total != piece.total or piece.place in partial.pieces:
            self.abandoned += 1
            message = f"piece {piece.place} of item {piece.number} contradicts others"
            raise PeerError(message)
        if byte_count > self._item_bytes_max:
            self.abandoned += 1
            message = f"item {piece.number} is over {self._item_bytes_max:,} bytes"
            raise PeerError(message)
        partial.pieces[piece.place] = piece.data
        if len(partial.pieces) == partial.total:
            return b"".join(data for _, data in sorted(partial.pieces.items()))
        partial.byte_count, partial.time_us = byte_count, now_us
        self._partials[piece.number] = partial
        self.kept_bytes += byte_count
        self._make_room()
        return None

    def sweep(self, now_us: int) -> None:
        """Give up what has not grown for long."""
        while self._partials:
            number, partial = next(iter(self._partials.items()))
            if partial.time_us + STALE_US > now_us:
                break
            self._abandon(number)

    def _make_room(self) -> None:
        while len(self._partials) > PARTIAL_MAX or self.kept_bytes > self._room_bytes:
            self._abandon(next(iter(self._partials)))

    def _abandon(self, number: int) -> None:
        self.kept_bytes -= self._partials.pop(number).byte_count
        self.abandoned += 1

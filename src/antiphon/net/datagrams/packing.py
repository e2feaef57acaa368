"""Items into packet bodies: several small ones in one, a large one in several.

    body = 1 · count 2 · length 2 * count · items
         | 2 · number 4 · place 2 · total 2 · piece     of an item that is larger than a packet

Law: what is packed is unpacked as it was, item by item, in the order of packing; whatever else a
body may be, :class:`PeerError` is raised and nothing else. A piece belongs to the item of its
number, of which the sender has sent that many pieces, all but the last of one size.

Items are taken from the sender's own buffers when a body is made, in one join; at the receiver they
are slices of the body.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from struct import Struct
from struct import error as struct_error
from typing import NamedTuple

from antiphon.core.errors import PeerError, UsageError
from antiphon.core.varint import Octets

ITEM_BYTES_MAX = 16 * 1024 * 1024
"""The largest item that can be set; it has at most 65,535 pieces in any case."""

ITEMS_MAX = 8_192
"""Items in one packet."""

_WHOLE = 1
_PIECE = 2
_HEAD = Struct(">BH")
_PIECE_HEAD = Struct(">BIHH")
_LENGTH_BYTES = 2
_PIECES_MAX = 0xFFFF
_NUMBERS = 1 << 32
_EMPTY_HEAD = "a packet is cut inside its head"


class Piece(NamedTuple):
    """A part of an item that is larger than a packet."""

    number: int
    """Of the item, among the large ones of its sender."""
    place: int
    """Among its pieces."""
    total: int
    """How many pieces there are."""
    data: Octets


@lru_cache(maxsize=1024)
def _lengths(count: int) -> Struct:
    return Struct(f">{count}H")


class Packer:
    """Collects items until a packet is full."""

    __slots__ = ("_bytes", "_item_bytes_max", "_items", "_numbers", "_room")

    def __init__(self, body_bytes_max: int, item_bytes_max: int, numbers: Iterator[int]) -> None:
        """Make bodies of at most so many bytes; number large items, as no other of this sender."""
        self._room = body_bytes_max - _HEAD.size
        self._item_bytes_max = item_bytes_max
        self._items: list[bytes] = []
        self._bytes = 0
        self._numbers = numbers

    def __len__(self) -> int:
        """Return how many items wait for others."""
        return len(self._items)

    def add(self, items: Sequence[bytes]) -> list[bytes]:
        """Collect items; return the bodies that are full."""
        bodies: list[bytes] = []
        room, mine, used = self._room, self._items, self._bytes
        all_bytes = used + sum(map(len, items)) + _LENGTH_BYTES * len(items)
        if all_bytes <= room and len(mine) + len(items) <= ITEMS_MAX:  # nearly always: no loop
            mine += items
            self._bytes = all_bytes
            return bodies
        for item in items:
            needed = len(item) + _LENGTH_BYTES
            if used + needed > room or len(mine) >= ITEMS_MAX:
                if needed > room:
                    bodies += self._pieces(item)
                    continue
                bodies.append(_joined(mine))
                mine, used = [], 0
            mine.append(item)
            used += needed
        self._items, self._bytes = mine, used
        return bodies

    def finish(self) -> list[bytes]:
        """Return a body with what is left, if anything is."""
        mine, self._items, self._bytes = self._items, [], 0
        return [_joined(mine)] if mine else []

    def _pieces(self, item: bytes) -> Iterator[bytes]:
        size = self._room + _HEAD.size - _PIECE_HEAD.size
        count = -(-len(item) // size)
        if len(item) > self._item_bytes_max or count > _PIECES_MAX:
            most = min(self._item_bytes_max, _PIECES_MAX * size)
            message = f"an item of {len(item):,} bytes is over {most:,}: divide it"
            raise UsageError(message)
        number = next(self._numbers) % _NUMBERS
        view = memoryview(item)
        for index in range(count):
            head = _PIECE_HEAD.pack(_PIECE, number, index, count)
            yield b"".join((head, view[index * size : (index + 1) * size]))  # copied once


def _joined(items: list[bytes]) -> bytes:
    count = len(items)
    lengths = _lengths(count).pack(*map(len, items))
    return b"".join([_HEAD.pack(_WHOLE, count), lengths, *items])


def unpack(body: bytes) -> list[bytes] | Piece:
    """Return the items of a body, or the piece that it is."""
    try:
        kind = body[0]
        if kind == _WHOLE:
            _, count = _HEAD.unpack_from(body)
            lengths = _lengths(count).unpack_from(body, _HEAD.size)
        elif kind == _PIECE:
            _, number, index, count = _PIECE_HEAD.unpack_from(body)
            return _piece(number, index, count, memoryview(body)[_PIECE_HEAD.size :])
        else:
            message = f"a packet is of kind {kind}, which there is not"
            raise PeerError(message)
    except (IndexError, struct_error):
        raise PeerError(_EMPTY_HEAD) from None
    items: list[bytes] = []
    begin = _HEAD.size + _LENGTH_BYTES * count
    for length in lengths:
        end = begin + length
        items.append(body[begin:end])
        begin = end
    if begin != len(body) or not items:
        message = f"a packet of {len(body)} bytes says that its {count} items end at {begin}"
        raise PeerError(message)
    return items


def _piece(number: int, place: int, total: int, data: Octets) -> Piece:
    if place >= total or not data:
        message = f"a packet is piece {place} of {total}, with {len(data)} bytes"
        raise PeerError(message)
    return Piece(number, place, total, data)

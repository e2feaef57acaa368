"""Messages of causal blocks as bytes.

    sender 2 · kind 1 · block 4 · maximum 4 · delivered 4 n · [lifetime 4] · [1 · label] · payload

Law: the header has I + 1 + C (n + 2) = 11 + 4 n bytes, as the paper's has; a lifetime adds four, a
label (which stays when the message expires) its length and one. The byte of the kind holds the kind
(two bits), the priority (three), and whether there is a lifetime, whether there is a label, and
whether the sender is behind (one each). Untrusted bytes raise nothing but :class:`PeerError`; what
is decoded is a message that a correct process of a group of that size might send.
"""

from functools import lru_cache
from struct import Struct

from antiphon.core.errors import PeerError, UsageError
from antiphon.core.varint import Octets
from antiphon.ordering.blocks.messages import PRIORITY_MAX, BlockKind, BlockMessage

BLOCK_MAX = 2**32 - 1
JUMP_MAX = 2**24
"""By how much a message is ahead of whatever was received before: hours of null messages."""
MEMBERS_MAX = 2**16
LIFETIME_US_MAX = 2**32 - 1
PAYLOAD_BYTES_MAX = 1_000_000
"""What is larger than a packet travels in pieces, all of which must arrive."""

_HEAD = Struct(">HBII")
_COUNTER = Struct(">I")
_PRIORITY_SHIFT = 2
_HAS_LIFETIME = 1 << 5
_HAS_LABEL = 1 << 6
_IS_BEHIND = 1 << 7
_KINDS = tuple(BlockKind)  # indexing is faster than BlockKind(value)
LABEL_BYTES_MAX = 32
"""What is left of an expired message, beside its stamp."""


@lru_cache(maxsize=64)
def _vector(size: int) -> Struct:
    return Struct(f">{size}I")


def header_bytes(size: int) -> int:
    """Return how long a header is in a group of so many members."""
    return _HEAD.size + _COUNTER.size * size


def encode_block(message: BlockMessage, before: bytes = b"") -> bytes:
    """Return a message as bytes, behind others that come ``before``."""
    if message.block > BLOCK_MAX or len(message.delivered) > MEMBERS_MAX:
        what = f"block {message.block:,} of {len(message.delivered):,} members"
        text = f"{what} does not fit into a message of causal blocks: begin another view"
        raise UsageError(text)
    if len(message.payload) > PAYLOAD_BYTES_MAX:
        text = f"a message of causal blocks has at most {PAYLOAD_BYTES_MAX:,} bytes: divide it"
        raise UsageError(text)
    label, lifetime_us, delivered = message.label, message.lifetime_us, message.delivered
    flags = message.kind | message.priority << _PRIORITY_SHIFT
    rest: tuple[Octets, ...] = (message.payload,)
    if message.is_behind:
        flags |= _IS_BEHIND
    if label:
        flags |= _HAS_LABEL
        rest = bytes((len(label),)), label, *rest
    if lifetime_us is not None:
        flags |= _HAS_LIFETIME
        rest = _COUNTER.pack(lifetime_us), *rest
    head = _HEAD.pack(message.sender, flags, message.block, message.maximum)
    # In one go: a message is copied once.
    return b"".join((before, head, _vector(len(delivered)).pack(*delivered), *rest))


def decode_block(data: Octets, size: int) -> BlockMessage:
    """Return the message that some bytes are, in a group of so many members."""
    message = read_block(bytes(data), 0, size)
    check_block(message, size)
    return message


def read_block(data: Octets, offset: int, size: int) -> BlockMessage:
    """Do the same from an offset on, for who checks the message itself (``check_block``).

    Its payload is cut out of the data: of a view of bytes it is one too, and not copied.
    """
    begin = offset
    offset += header_bytes(size)
    if len(data) < offset:
        size_here, needed = len(data) - begin, header_bytes(size)
        text = f"a message of {size_here} bytes is shorter than a header of {needed}"
        raise PeerError(text)
    sender, flags, block, maximum = _HEAD.unpack_from(data, begin)
    delivered = _vector(size).unpack_from(data, begin + _HEAD.size)
    lifetime_us = None
    if flags & _HAS_LIFETIME:
        if len(data) < offset + _COUNTER.size:
            text = "a message ends inside its lifetime"
            raise PeerError(text)
        (lifetime_us,) = _COUNTER.unpack_from(data, offset)
        offset += _COUNTER.size
    label = b""
    if flags & _HAS_LABEL:
        label, offset = _decode_label(data, offset)
    return BlockMessage(
        sender, _KINDS[flags & 3], block, maximum, delivered, data[offset:],
        flags >> _PRIORITY_SHIFT & PRIORITY_MAX, lifetime_us, label, flags >= _IS_BEHIND,
    )  # fmt: skip


def _decode_label(data: Octets, offset: int) -> tuple[bytes, int]:
    """Return the label at ``offset``, and the offset behind it."""
    end = offset + 1 + (data[offset] if offset < len(data) else 0)
    label = bytes(data[offset + 1 : end])
    if not label or end > len(data):
        text = "a message has no label where it announces one"
        raise PeerError(text)
    return label, end


def check_block(message: BlockMessage, size: int) -> None:
    """Refuse a message that no correct process of a group of this size sends."""
    if message.sender >= size or len(message.delivered) != size:
        text = f"a message is of member {message.sender}, in a group of {size}"
        raise PeerError(text)
    if message.maximum > message.block or max(message.delivered) >= message.block:
        text = f"a message of block {message.block} names later ones as its past"
        raise PeerError(text)
    if len(message.payload) > PAYLOAD_BYTES_MAX:
        text = f"a message has {len(message.payload):,} bytes, over {PAYLOAD_BYTES_MAX:,}"
        raise PeerError(text)
    if len(message.label) > LABEL_BYTES_MAX:
        text = f"a message has a label of {len(message.label)} bytes, over {LABEL_BYTES_MAX}"
        raise PeerError(text)
    is_bare = not message.payload and message.lifetime_us is None
    is_bare = is_bare and not (message.label and message.is_null and not message.is_behind)
    if message.kind is not BlockKind.DATA and not is_bare:
        text = "a null or void message carries something"
        raise PeerError(text)
    if message.lifetime_us == 0:
        text = "a message that has expired is sent as if it had not"
        raise PeerError(text)

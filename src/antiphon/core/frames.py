"""Frames: what a transport carries from one process to another, and their bytes.

    frame   = version kind domain process body
    body    = greeting                     kind HELLO: who is there (``greeting``)
            | count record*                kind RUNS: of the process that sends the frame
            |                              kind BYE: I am out of the group, and nothing more comes
            | count record*                kind RELAY: runs of other processes, passed on
            | message                      kind CONTROL: about membership (``control``)
            | count                        kind ACK: so many frames have arrived
    record  = flags [group view sender first] count [stamp] lengths payloads
    stamp   = entry-count (rank count)*    ranks ascending
    lengths = one varint if all are equal, else count fixed-width numbers of 1, 2 or 4 bytes

``version``, ``kind`` and ``flags`` are single bytes, ``domain`` is a 4-byte digest of the
domain's configuration, everything else is a varint; ``process`` is the speaker's place in its
view, where it matters. A record with CONTINUES goes on where the record before it in the frame
ended: same group, view and sender, next number.

Law: encode once, send the same bytes to every peer; decode in one pass, payloads are slices.
Everything that arrives is untrusted: a count or length is bounded by what is really there before
anything is allocated for it, and malformed bytes raise :class:`PeerError`, nothing else.

Cost: a RUNS frame 8 bytes and up, a record 7 and up (3 when it continues), two bytes and up per
stamp entry, nothing per message when lengths are equal, else 1, 2 or 4 bytes each.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from antiphon.core.control import AnyMessage, decode_message, encode_message
from antiphon.core.errors import PeerError
from antiphon.core.greeting import Greeting, decode_greeting, encode_greeting
from antiphon.core.ids import GroupNumber, Rank, ViewNumber
from antiphon.core.payloads import PackedPayloads
from antiphon.core.runs import Order, Run, Stamp
from antiphon.core.varint import append_varint, read_varint

VERSION = 1

PAYLOAD_BYTES_MAX = 16 * 1024 * 1024
"""The largest message. Larger things are files: send a reference."""

FRAME_BYTES_MAX = PAYLOAD_BYTES_MAX + 64 * 1024
"""The largest frame: one largest message and the longest header."""

MESSAGES_MAX = 65_536
"""Messages in one frame: a few bytes can announce many empty messages, so they are limited."""

MEMBERS_MAX = 4_096
"""Members in one view, hence entries in one stamp."""

NUMBER_MAX = 1 << 62
"""The highest number of a message: the trace's columns are signed 64-bit."""

_PREFIX = struct.Struct("<BBI")

# flags: bits 0-1 order, then
_CONTINUES = 0x04
_STAMPED = 0x08
_EQUAL_LENGTHS = 0x10
_WIDTH_SHIFT = 5  # bits 5-6: width of the lengths, as an index into _WIDTHS
_WIDTHS = ("B", "H", "I")
_WIDTH_LIMITS = (0x100, 0x1_0000, 0x1_0000_0000)

_FEW = 4
"""So few payloads are cut out at once: they are no more objects than a frame and its table."""


class Kind(IntEnum):
    """What a frame is for."""

    HELLO = 1
    RUNS = 2
    BYE = 3
    RELAY = 4
    CONTROL = 5
    ACK = 6


@dataclass(frozen=True, slots=True)
class Hello:
    """The first frame on a connection: who is there."""

    domain: int
    greeting: Greeting


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of messages."""

    domain: int
    process: int
    runs: list[Run]


@dataclass(frozen=True, slots=True)
class Relay:
    """Runs of other processes, passed on."""

    domain: int
    process: int
    runs: list[Run]


@dataclass(frozen=True, slots=True)
class Control:
    """A message about membership."""

    domain: int
    message: AnyMessage


@dataclass(frozen=True, slots=True)
class Ack:
    """So many frames have arrived in this session."""

    domain: int
    count: int


@dataclass(frozen=True, slots=True)
class Bye:
    """The process is out of the group: everything it had to send is ahead of this frame."""

    domain: int


Frame = Hello | Runs | Relay | Control | Ack | Bye


def encode_hello(domain: int, greeting: Greeting) -> bytes:
    """Return the bytes of a HELLO frame."""
    return bytes(_prefix(Kind.HELLO, domain, 0) + encode_greeting(greeting))


def encode_control(domain: int, message: AnyMessage) -> bytes:
    """Return the bytes of a CONTROL frame."""
    return bytes(_prefix(Kind.CONTROL, domain, 0) + encode_message(message))


def encode_ack(domain: int, count: int) -> bytes:
    """Return the bytes of an ACK frame."""
    out = _prefix(Kind.ACK, domain, 0)
    append_varint(out, count)
    return bytes(out)


def encode_bye(domain: int) -> bytes:
    """Return the bytes of a BYE frame."""
    return bytes(_prefix(Kind.BYE, domain, 0))


def encode_relay(domain: int, process: int, runs: list[Run]) -> bytes:
    """Return the bytes of a RELAY frame; the runs keep their order."""
    return b"".join(runs_parts(domain, process, runs, Kind.RELAY)[0])


def encode_runs(domain: int, process: int, runs: list[Run]) -> bytes:
    """Return the bytes of a RUNS frame; the runs keep their order."""
    return b"".join(runs_parts(domain, process, runs)[0])


def runs_parts(
    domain: int, process: int, runs: list[Run], kind: Kind = Kind.RUNS
) -> tuple[list[bytes | bytearray], int]:
    """Return a frame of runs in pieces, and how many of its bytes are not payload."""
    assert runs, "an empty frame would say nothing"
    head = _prefix(kind, domain, process)
    append_varint(head, len(runs))
    parts: list[bytes | bytearray] = []
    overhead_bytes = 0
    previous: Run | None = None
    for run in runs:
        _append_record_head(head, run, previous)
        overhead_bytes += len(head)
        parts.append(head)
        parts += run.payloads
        head = bytearray()
        previous = run
    return parts, overhead_bytes


def _prefix(kind: Kind, domain: int, process: int) -> bytearray:
    out = bytearray(_PREFIX.pack(VERSION, kind, domain))
    append_varint(out, process)
    return out


def _append_record_head(out: bytearray, run: Run, previous: Run | None) -> None:
    payloads = run.payloads
    lengths = set(map(len, payloads))  # one pass: nearly always a set of one
    continues = (
        previous is not None
        and previous.group == run.group
        and previous.view == run.view
        and previous.sender == run.sender
        and previous.last + 1 == run.first
    )
    width = 0
    flags = int(run.order)
    if continues:
        flags |= _CONTINUES
    if run.stamp:
        flags |= _STAMPED
    if len(lengths) == 1:
        flags |= _EQUAL_LENGTHS
    else:
        longest = max(lengths)
        width = next(i for i, limit in enumerate(_WIDTH_LIMITS) if longest < limit)
        flags |= width << _WIDTH_SHIFT
    out.append(flags)
    if not continues:
        for value in (run.group, run.view, run.sender, run.first):
            append_varint(out, value)
    append_varint(out, len(payloads))
    if run.stamp:
        _append_stamp(out, run.stamp)
    if len(lengths) == 1:
        append_varint(out, lengths.pop())
    else:
        out += struct.pack(f"<{len(payloads)}{_WIDTHS[width]}", *map(len, payloads))


def _append_stamp(out: bytearray, stamp: Stamp) -> None:
    append_varint(out, len(stamp))
    for rank, count in stamp:
        append_varint(out, rank)
        append_varint(out, count)


def has_other_version(data: bytes) -> bool:
    """Tell whether ``data`` may be a greeting in another version of this format."""
    return len(data) > _PREFIX.size and data[0] != VERSION and data[1] == Kind.HELLO


def decode_frame(data: bytes) -> Frame:
    """Return what ``data``, one whole frame, says; raise :class:`PeerError` if it says nothing."""
    if len(data) > FRAME_BYTES_MAX:
        message = f"a frame of {len(data)} bytes is above the limit of {FRAME_BYTES_MAX}"
        raise PeerError(message)
    if len(data) <= _PREFIX.size:
        message = f"a frame of {len(data)} bytes is too short to have a header"
        raise PeerError(message)
    version, kind, domain = _PREFIX.unpack_from(data)
    if version != VERSION:
        message = f"a frame has version {version}, this process speaks version {VERSION}"
        raise PeerError(message)
    process, offset = read_varint(data, _PREFIX.size)
    if kind == Kind.RUNS:
        runs, offset = _decode_runs(data, offset)
        frame: Frame = Runs(domain, process, runs)
    else:
        frame, offset = _decode_other(kind, domain, process, data, offset)
    if offset != len(data):
        message = f"a frame has {len(data) - offset} bytes more than its header announces"
        raise PeerError(message)
    return frame


def _decode_other(
    kind: int, domain: int, process: int, data: bytes, offset: int
) -> tuple[Frame, int]:
    """Return a frame of any kind but RUNS, and the offset behind it."""
    match kind:
        case Kind.CONTROL:
            return Control(domain, decode_message(data[offset:])), len(data)
        case Kind.ACK:
            count, offset = read_varint(data, offset)
            return Ack(domain, count), offset
        case Kind.RELAY:
            runs, offset = _decode_runs(data, offset)
            return Relay(domain, process, runs), offset
        case Kind.HELLO:
            return Hello(domain, decode_greeting(data[offset:])), len(data)
        case Kind.BYE:
            return Bye(domain), offset
        case _:
            message = f"a frame is of unknown kind {kind}"
            raise PeerError(message)


def _decode_runs(data: bytes, offset: int) -> tuple[list[Run], int]:
    record_count, offset = read_varint(data, offset)
    if not 0 < record_count <= MESSAGES_MAX:
        message = f"a frame announces {record_count} records"
        raise PeerError(message)
    runs: list[Run] = []
    allowed = MESSAGES_MAX
    previous: Run | None = None
    for _ in range(record_count):
        previous, offset = _decode_record(data, offset, previous, allowed)
        allowed -= len(previous.payloads)
        runs.append(previous)
    return runs, offset


def _decode_record(data: bytes, offset: int, previous: Run | None, allowed: int) -> tuple[Run, int]:
    flags, offset = read_varint(data, offset)
    order = flags & 0x03
    if flags & ~0x7F or order > Order.TOTAL or (flags & _EQUAL_LENGTHS and flags & 0x60):
        message = f"a record has flags {flags:#x} that this version does not know"
        raise PeerError(message)
    if not flags & _CONTINUES:
        group, offset = read_varint(data, offset)
        view, offset = read_varint(data, offset)
        sender, offset = read_varint(data, offset)
        first, offset = read_varint(data, offset)
    elif previous is None:
        message = "the first record of a frame continues nothing"
        raise PeerError(message)
    else:
        group, view, sender = previous.group, previous.view, previous.sender
        first = previous.last + 1
    count, offset = read_varint(data, offset)
    if not 0 < count <= allowed or not 0 < first <= NUMBER_MAX or sender >= MEMBERS_MAX:
        message = f"a record announces {count} messages from number {first} of sender {sender}"
        raise PeerError(message)
    stamp: Stamp = ()
    if flags & _STAMPED:
        stamp, offset = _decode_stamp(data, offset, sender)
    payloads, byte_count, offset = _decode_payloads(data, offset, flags, count)
    run = Run(
        GroupNumber(group), ViewNumber(view), Rank(sender), first,
        _ORDERS[order], stamp, payloads, byte_count,
    )  # fmt: skip
    return run, offset


_ORDERS = tuple(Order)  # indexing is faster than Order(value)


def _decode_stamp(data: bytes, offset: int, sender: int) -> tuple[Stamp, int]:
    entry_count, offset = read_varint(data, offset)
    if not 0 < entry_count <= min(MEMBERS_MAX, (len(data) - offset) // 2):
        message = f"a stamp announces {entry_count} entries"
        raise PeerError(message)
    entries: list[tuple[int, int]] = []
    lowest = 0
    for _ in range(entry_count):
        rank, offset = read_varint(data, offset)
        count, offset = read_varint(data, offset)
        if rank < lowest or rank >= MEMBERS_MAX or rank == sender or count < 1:
            message = f"a stamp has entry ({rank}, {count}) out of order or out of range"
            raise PeerError(message)
        lowest = rank + 1
        entries.append((rank, count))
    return tuple(entries), offset


def _decode_payloads(
    data: bytes, offset: int, flags: int, count: int
) -> tuple[Sequence[bytes], int, int]:
    """Return the payloads, their size in all, and the offset behind them."""
    if flags & _EQUAL_LENGTHS:
        length, offset = read_varint(data, offset)
        size = count * length
        end = offset + size
        if end > len(data) or length > PAYLOAD_BYTES_MAX:
            message = f"a record announces {count} messages of {length} bytes, which are not there"
            raise PeerError(message)
        packed = PackedPayloads(data, offset, count, length)
        return packed if count > _FEW else packed.unpack(), size, end
    width = (flags >> _WIDTH_SHIFT) & 0x03
    if width >= len(_WIDTHS):
        message = "a record has lengths of an unknown width"
        raise PeerError(message)
    layout = f"<{count}{_WIDTHS[width]}"
    try:
        lengths = struct.unpack_from(layout, data, offset)
    except struct.error:
        message = f"a record announces {count} lengths, which are not there"
        raise PeerError(message) from None
    table = offset
    offset += count * (1 << width)
    size = sum(lengths)
    end = offset + size
    if end > len(data) or max(lengths) > PAYLOAD_BYTES_MAX:
        message = f"a record announces {size} payload bytes, which are not there"
        raise PeerError(message)
    packed = PackedPayloads(data, offset, count, 0, layout, table)
    return packed if count > _FEW else packed.unpack(), size, end

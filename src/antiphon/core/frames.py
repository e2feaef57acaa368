"""Frames: what a transport carries from one process to another, and their bytes.

    frame   = version kind domain process body
    body    = handshake                     kind HELLO: who is there (``handshake``)
            | count record*                kind RUNS: of the process that sends the frame
            |                              kind BYE: I end, and nothing more comes
            | count record*                kind RELAY: runs of other processes, passed on
            | message                      kind CONTROL: about membership (``control``)
            | count                        kind ACK: so many frames have arrived
            | 1 record                     kind LETTER: to this process alone (ISIS 7.2)

``version`` and ``kind`` are single bytes, ``domain`` is a 4-byte digest of the domain's
configuration, and so tells the speaker's group from others; ``process`` is a varint: the number of
the speaker's incarnation in that group. Frames of the session alone (HELLO of no group, ACK, BYE)
have 0 for both. What a record is, is in ``records``.

Law: encode once, send the same bytes to every peer; decode in one pass, payloads are slices.
Everything that arrives is untrusted: malformed bytes raise :class:`PeerError`, nothing else.

Cost: a RUNS frame 8 bytes and up.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import cast

from antiphon.core.control import AnyMessage, decode_message, encode_message
from antiphon.core.errors import PeerError
from antiphon.core.handshake import Handshake, decode_handshake, encode_handshake
from antiphon.core.records import PAYLOAD_BYTES_MAX, append_record_head, decode_runs, decode_runs_of
from antiphon.core.runs import Letter, Run
from antiphon.core.varint import append_varint, read_varint

VERSION = 1

FRAME_BYTES_MAX = PAYLOAD_BYTES_MAX + 64 * 1024
"""The largest frame: one largest message and the longest header."""

_PREFIX = struct.Struct("<BBI")


class Kind(IntEnum):
    """What a frame is for."""

    HELLO = 1
    RUNS = 2
    BYE = 3
    RELAY = 4
    CONTROL = 5
    ACK = 6
    LETTER = 7


_RUNS, _LETTER = int(Kind.RUNS), int(Kind.LETTER)  # looking a member of an enum up is slow


@dataclass(frozen=True, slots=True)
class Hello:
    """The first frame on a connection: who is there."""

    domain: int
    handshake: Handshake


@dataclass(slots=True)
class Runs:
    """Runs of messages."""

    domain: int
    process: int
    runs: list[Run]


@dataclass(slots=True)
class Relay:
    """Runs of other processes, passed on."""

    domain: int
    process: int
    runs: list[Run]


@dataclass(slots=True)
class Post:
    """A message to one member."""

    domain: int
    process: int
    letter: Letter


@dataclass(frozen=True, slots=True)
class Control:
    """A message about membership."""

    domain: int
    process: int
    message: AnyMessage


@dataclass(frozen=True, slots=True)
class Ack:
    """So many frames have arrived in this session."""

    count: int


@dataclass(frozen=True, slots=True)
class Bye:
    """The process ends: everything it had to send is ahead of this frame."""


Frame = Hello | Runs | Relay | Post | Control | Ack | Bye


def encode_hello(domain: int, handshake: Handshake) -> bytes:
    """Return the bytes of a HELLO frame."""
    return bytes(_prefix(Kind.HELLO, domain, 0) + encode_handshake(handshake))


def encode_control(domain: int, process: int, message: AnyMessage) -> bytes:
    """Return the bytes of a CONTROL frame."""
    return bytes(_prefix(Kind.CONTROL, domain, process) + encode_message(message))


def encode_ack(count: int) -> bytes:
    """Return the bytes of an ACK frame."""
    out = _prefix(Kind.ACK, 0, 0)
    append_varint(out, count)
    return bytes(out)


def encode_bye() -> bytes:
    """Return the bytes of a BYE frame."""
    return bytes(_prefix(Kind.BYE, 0, 0))


def encode_relay(domain: int, process: int, runs: list[Run]) -> bytes:
    """Return the bytes of a RELAY frame; the runs keep their order."""
    return b"".join(runs_parts(domain, process, runs, Kind.RELAY)[0])


def encode_letter(domain: int, process: int, letter: Letter) -> bytes:
    """Return the bytes of a LETTER frame."""
    head = bytearray(_PREFIX.pack(VERSION, _LETTER, domain))
    append_record_head(head, letter, None, (process, 1), domain)
    return bytes(head + letter.payloads[0])


def encode_runs(domain: int, process: int, runs: list[Run]) -> bytes:
    """Return the bytes of a RUNS frame; the runs keep their order."""
    return b"".join(runs_parts(domain, process, runs)[0])


def runs_parts(
    domain: int, process: int, runs: list[Run], kind: Kind = Kind.RUNS
) -> tuple[list[bytes | bytearray], int]:
    """Return a frame of runs in pieces, and how many of its bytes are not payload."""
    assert runs, "an empty frame would say nothing"
    head = bytearray(_PREFIX.pack(VERSION, kind, domain))
    append_record_head(head, runs[0], None, (process, len(runs)), domain)
    parts: list[bytes | bytearray] = [head, *runs[0].payloads]
    overhead_bytes = len(head)
    for previous, run in pairwise(runs):
        head = bytearray()
        append_record_head(head, run, previous, frame_group=domain)
        overhead_bytes += len(head)
        parts.append(head)
        parts += run.payloads
    return parts, overhead_bytes


def _prefix(kind: Kind, domain: int, process: int) -> bytearray:
    out = bytearray(_PREFIX.pack(VERSION, kind, domain))
    append_varint(out, process)
    return out


def has_other_version(data: bytes) -> bool:
    """Tell whether ``data`` may be a handshake in another version of this format."""
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
    if kind == _RUNS:
        process, runs, offset = decode_runs_of(data, _PREFIX.size, frame_group=domain)
        frame: Frame = Runs(domain, process, runs)
    elif kind == _LETTER:
        process, runs, offset = decode_runs_of(data, _PREFIX.size, Letter, domain)
        frame = Post(domain, process, _only_letter(runs))
    else:
        process, offset = read_varint(data, _PREFIX.size)
        frame, offset = _decode_other(kind, domain, process, data, offset)
    if offset != len(data):
        message = f"a frame has {len(data) - offset} bytes more than its header announces"
        raise PeerError(message)
    return frame


def _only_letter(records: list[Run]) -> Letter:
    letter = records[0]
    is_plain = letter.sets_order is None and not letter.is_gated
    if len(records) != 1 or len(letter.payloads) != 1 or not is_plain:
        message = "a letter is one plain record of one message"
        raise PeerError(message)
    return cast("Letter", letter)  # that is what was to be made


def _decode_other(
    kind: int, domain: int, process: int, data: bytes, offset: int
) -> tuple[Frame, int]:
    """Return a frame of any kind but the two that bring messages, and the offset behind it."""
    match kind:
        case Kind.CONTROL:
            return Control(domain, process, decode_message(data[offset:])), len(data)
        case Kind.ACK:
            count, offset = read_varint(data, offset)
            return Ack(count), offset
        case Kind.RELAY:
            runs, offset = decode_runs(data, offset, frame_group=domain)
            return Relay(domain, process, runs), offset
        case Kind.HELLO:
            return Hello(domain, decode_handshake(data[offset:])), len(data)
        case Kind.BYE:
            return Bye(), offset
        case _:
            message = f"a frame is of unknown kind {kind}"
            raise PeerError(message)

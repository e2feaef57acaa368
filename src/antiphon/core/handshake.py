"""The handshake: what two processes tell each other before anything else on a connection.

Law: a handshake says who speaks, in which incarnation and since which start of the program, and
where the session of the two stands. It is read from anybody who connects, so everything in it is
bounded, and what no correct process says raises :class:`PeerError`, nothing else.

A process is taken for another one by its ``start``, drawn anew whenever the program (or a new
incarnation in it) starts: founding members have equal ids at every start, and only this tells them
apart. It is no secret, and nothing can be had for it: a session is taken up by who knows its
``secret``.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import ProcessId, check_name

Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Word = Annotated[str, Meta(max_length=64)]

ADDRESS_LENGTH_MAX = 128

DESCRIPTION_LENGTH_MAX = 128
"""Of a causality domain: its name and what its members must have been given alike."""

SECRET_BYTES = 16
"""Of a secret, of a number drawn for one question, and of a proof."""

QUESTION_BYTES_MAX = 4096

Secret = Annotated[bytes, Meta(max_length=SECRET_BYTES)]


class Handshake(Struct, frozen=True, array_like=True):
    """Who is there."""

    group: Word
    flush: Word
    """How views are left; with the group's name, what both sides must have in common."""
    process: ProcessId
    """An incarnation of 0 asks, in a later field of the answer, which number to take."""
    start: Number
    view: Number = 0
    """The last view that the speaker knows to be agreed on; 0: it is outside, or joining."""
    founding: Number = 0
    """A digest of the founding members, while the speaker waits for them."""
    to: Number = 0
    """The start of the other side with which the speaker has, or takes up, a session."""
    received: Number = 0
    """Frames received in that session so far."""
    next_incarnation: Number = 0
    """In an answer: the number that a new incarnation of the other side's name may have."""
    is_asking: bool = False
    """No session is wanted, only an answer."""
    with_state: bool = False
    """Whether members give their state to those that join; all must do alike."""
    with_commit: bool = False
    """Whether members take part in transactions; all must, or none."""
    knows_other: bool = False
    """In an answer: the speaker knows the other side's id, but of another start."""
    secret: Secret = b""
    """Who dials for the first time: what will show that the session is its own."""
    nonce: Secret = b""
    """Drawn for this handshake; in an answer, the one that was heard."""
    proof: Secret = b""
    """That the speaker knows the session's secret; over all of the above."""
    question: Annotated[bytes, Meta(max_length=QUESTION_BYTES_MAX)] = b""
    """What is asked about a group that is still to begin: a FoundingQuestion, encoded."""
    order: Word = ""
    """What an operator, who is no process of the group, asks for: ``status`` or ``takeover``, the
    latter of who is blocked in ``view``."""
    causality_domain: Annotated[str, Meta(max_length=DESCRIPTION_LENGTH_MAX)] = ""
    """That of the group, described, alike at all members; empty: one of its own."""
    protocol: Annotated[str, Meta(max_length=DESCRIPTION_LENGTH_MAX)] = ""
    """How runs reach the members of the group, alike at all; empty: with vector time."""


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Handshake)


def encode_handshake(handshake: Handshake) -> bytes:
    """Return the bytes of a handshake."""
    return _encoder.encode(handshake)


def decode_handshake(data: bytes) -> Handshake:
    """Return what ``data`` says; raise :class:`PeerError` if it says nothing."""
    try:
        handshake = _decoder.decode(data)
        check_name(handshake.process.name, "name")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, UsageError) as error:
        message = f"a handshake cannot be read: {error}"
        raise PeerError(message) from None
    process = handshake.process
    if process.incarnation < 0 or process.boot < 0 or len(process.address) > ADDRESS_LENGTH_MAX:
        message = f"a handshake of {process.name} has numbers below 0, or too long an address"
        raise PeerError(message)
    if any(len(said) not in {0, SECRET_BYTES} for said in _secrets(handshake)):
        message = f"a handshake of {process.name} has a secret, a nonce or a proof cut short"
        raise PeerError(message)
    return handshake


def _secrets(handshake: Handshake) -> tuple[bytes, bytes, bytes]:
    return handshake.secret, handshake.nonce, handshake.proof

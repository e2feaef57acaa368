"""A probe: a short connection that only exchanges handshakes.

Law: an answer tells whether somebody listens there, who it is, since which start, and what it
knows of the asker. Nothing else follows from it, and nothing is left open behind it. Nobody
listening raises ConnectionRefusedError, and only that is proof that nobody is there.
"""

import asyncio
import struct
from contextlib import suppress
from typing import NamedTuple

from antiphon.core.control import Elsewhere, FoundingAnswer, Out, Situation, Standing
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.frames import Control, Hello, decode_frame
from antiphon.core.handshake import Handshake
from antiphon.net.transport.address import parse_address
from antiphon.net.transport.framing import HANDSHAKE_BYTES_MAX, with_length
from antiphon.net.transport.interface import Transport

_LENGTH = struct.Struct("<I")

_STANDING_BYTES_MAX = 8192
"""What follows an answer names some members' addresses."""


class HungUpError(PeerError):
    """Whoever was asked ended the connection without a word: it may be between two incarnations."""


Said = Out | Standing | Situation | FoundingAnswer | Elsewhere
"""What may follow the handshake of who is asked."""


class Answer(NamedTuple):
    """What was heard."""

    domain: int
    handshake: Handshake
    said: Said | None
    """If the asker is no member any more: that; of a member: how it stands itself."""
    is_of_group: bool = False
    """Whether it is about the very group, by name and settings, that was asked about."""


async def probe(transport: Transport, address: str, hello: bytes, timeout_s: float) -> Answer:
    """Greet whoever listens at ``address``; return the answer.

    Raises OSError if there is no connection (TimeoutError included), PeerError if what is said is
    no answer (HungUpError: nothing is said).
    """
    async with asyncio.timeout(timeout_s):
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        stream, protocol = await transport.connect(
            parse_address(address), lambda: asyncio.StreamReaderProtocol(reader, loop=loop)
        )
        writer = asyncio.StreamWriter(stream, protocol, reader, loop)
        try:
            writer.write(with_length(hello))
            return await _answer(reader)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader) -> Answer:
    try:
        hello = decode_frame(await _frame(reader, HANDSHAKE_BYTES_MAX))
    except (asyncio.IncompleteReadError, ConnectionResetError) as error:
        if getattr(error, "partial", b""):
            message = "its answer breaks off"
            raise PeerError(message) from None
        message = "it hangs up without an answer"
        raise HungUpError(message) from None
    if not isinstance(hello, Hello):
        message = "it answers with something that is no handshake"
        raise PeerError(message)
    said: Said | None = None
    with suppress(asyncio.IncompleteReadError, PeerError, ConnectionError):
        more = decode_frame(await _frame(reader, _STANDING_BYTES_MAX))
        if isinstance(more, Control) and isinstance(more.message, Said):
            said = more.message
    return Answer(hello.domain, hello.handshake, said)


async def _frame(reader: asyncio.StreamReader, byte_count_max: int) -> bytes:
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > byte_count_max:
        message = f"a frame of {length} bytes is above the limit of {byte_count_max}"
        raise PeerError(message)
    return await reader.readexactly(length)


def is_address(text: str, *, insecure: bool) -> bool:
    """Tell whether a process may be dialled at ``text``, which somebody else has said."""
    try:
        return parse_address(text).is_loopback or insecure
    except UsageError:
        return False

"""Asking: a short connection that only exchanges greetings.

Law: an answer tells whether somebody listens there, who it is, since which start, and what it
knows of the asker. Nothing else follows from it, and nothing is left open behind it. Nobody
listening raises ConnectionRefusedError, and only that is proof that nobody is there.

Now and then, where nobody listens, TCP connects a socket to itself: the system had given it the
very port that it dials. That is nobody listening too, and must not pass for somebody.
"""

import asyncio
import struct
from contextlib import suppress
from typing import NamedTuple

from antiphon.core.control import FoundingAnswer, Out, Situation, Standing
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.frames import Control, Hello, decode_frame
from antiphon.core.greeting import Greeting
from antiphon.net.address import parse_address
from antiphon.net.framing import GREETING_BYTES_MAX, with_length

_LENGTH = struct.Struct("<I")

_STANDING_BYTES_MAX = 8192
"""What follows an answer names some members' addresses."""


class HungUpError(PeerError):
    """Whoever was asked ended the connection without a word: it may be between two lives."""


class Answer(NamedTuple):
    """What was heard."""

    domain: int
    greeting: Greeting
    said: Out | Standing | Situation | FoundingAnswer | None
    """If the asker is no member any more: that; of a member: how it stands itself."""


async def ask(address: str, hello: bytes, timeout_s: float) -> Answer:
    """Greet whoever listens at ``address``; return the answer.

    Raises OSError if there is no connection (TimeoutError included), PeerError if what is said is
    no answer (HungUpError: nothing is said).
    """
    async with asyncio.timeout(timeout_s):
        place = parse_address(address)
        try:
            reader, writer = await asyncio.open_connection(place.host, place.port)
        except UnicodeError as error:  # from names that cannot be a host's
            raise OSError(str(error)) from None
        try:
            refuse_itself(writer.transport)
            writer.write(with_length(hello))
            return await _answer(reader)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


def refuse_itself(transport: asyncio.BaseTransport) -> None:
    """Raise ConnectionRefusedError if a connection that was dialled has met itself."""
    if transport.get_extra_info("sockname") == transport.get_extra_info("peername"):
        message = "nobody listens there"
        raise ConnectionRefusedError(message)


async def _answer(reader: asyncio.StreamReader) -> Answer:
    try:
        hello = decode_frame(await _frame(reader, GREETING_BYTES_MAX))
    except (asyncio.IncompleteReadError, ConnectionResetError) as error:
        if getattr(error, "partial", b""):
            message = "its answer breaks off"
            raise PeerError(message) from None
        message = "it hangs up without an answer"
        raise HungUpError(message) from None
    if not isinstance(hello, Hello):
        message = "it answers with something that is no greeting"
        raise PeerError(message)
    said: Out | Standing | Situation | FoundingAnswer | None = None
    with suppress(asyncio.IncompleteReadError, PeerError, ConnectionError):
        more = decode_frame(await _frame(reader, _STANDING_BYTES_MAX))
        if isinstance(more, Control) and isinstance(
            more.message, Out | Standing | Situation | FoundingAnswer
        ):
            said = more.message
    return Answer(hello.domain, hello.greeting, said)


async def _frame(reader: asyncio.StreamReader, byte_count_max: int) -> bytes:
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > byte_count_max:
        message = f"a frame of {length} bytes is above the limit of {byte_count_max}"
        raise PeerError(message)
    return await reader.readexactly(length)


def is_address(text: str, *, insecure: bool) -> bool:
    """Tell whether a process may be dialled at ``text``, which somebody else has said."""
    try:
        return insecure or parse_address(text).is_loopback
    except UsageError:
        return False

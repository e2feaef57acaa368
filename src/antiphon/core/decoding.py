"""Reading untrusted structures: whatever does not fit is the peer's fault, and nothing else.

Law: only :class:`PeerError` is raised, with a sentence that names what could not be read.
"""

from typing import TypeVar

import msgspec

from antiphon.core.errors import PeerError

T = TypeVar("T")


def decode_untrusted(decoder: "msgspec.msgpack.Decoder[T]", data: bytes, what: str) -> T:
    """Return what ``data`` says; raise :class:`PeerError` if it is not ``what`` it should be."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"{what} cannot be read: {error}"
        raise PeerError(message) from None

"""What may be multicast: bytes, and buffers, which are copied when they are handed over.

Law: inside, a message is bytes and nothing else, so that nobody can change it later: it is kept
until it has reached everybody. Plain bytes are passed on as they are.
"""

Payload = bytes | bytearray | memoryview
"""What an application may hand over as a message, an answer or the body of a transaction."""


def frozen(payload: Payload) -> bytes:
    """Return a buffer as bytes; bytes, and what is neither (see the caller), as they are."""
    if isinstance(payload, bytearray | memoryview):
        return bytes(payload)
    return payload

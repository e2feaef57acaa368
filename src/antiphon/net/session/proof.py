"""Proofs: how two processes that have a session show each other that it is theirs.

Law: a session has a secret, drawn by who dials first and told once, in its first greeting, to who
listens where the other process does. It is never said again: later greetings carry a code over
all that they say and for whom (HMAC, RFC 2104), which only who knows the secret can make or check.
An answer covers the number that the question has drawn, so no earlier answer fits.
"""

import hmac

from msgspec.structs import replace

from antiphon.core.greeting import SECRET_BYTES, Greeting, encode_greeting
from antiphon.core.ids import ProcessId
from antiphon.net.transport.environment import Environment

DIAL, ASK, ANSWER = b"dial", b"ask", b"answer"
"""What a greeting is for; a proof for one purpose is none for another."""


def draw_secret(environment: Environment) -> bytes:
    """Draw what nobody can guess."""
    return environment.draw(SECRET_BYTES)


def proven(secret: bytes, purpose: bytes, greeting: Greeting, hearer: ProcessId) -> Greeting:
    """Return ``greeting`` with the proof that its speaker knows ``secret``."""
    return replace(greeting, proof=_code(secret, purpose, greeting, hearer))


def is_proven(secret: bytes | None, purpose: bytes, greeting: Greeting, hearer: ProcessId) -> bool:
    """Tell whether the speaker of ``greeting`` knows ``secret``, if there is one."""
    if not secret or not greeting.proof:
        return False
    return hmac.compare_digest(greeting.proof, _code(secret, purpose, greeting, hearer))


def _code(secret: bytes, purpose: bytes, greeting: Greeting, hearer: ProcessId) -> bytes:
    bare = encode_greeting(replace(greeting, proof=b""))
    said = b"\n".join([purpose, repr(hearer).encode(), bare])
    return hmac.digest(secret, said, "sha256")[:SECRET_BYTES]

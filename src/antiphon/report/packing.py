"""Columns of numbers as short text, and data that cannot leave its place in a page.

Law: a column is the differences of its numbers, each in as few bytes as it needs (sevens of bits,
the sign in the lowest), in base 64. JSON in a page has no ``<``, ``>`` or ``&``, and no line
separators that a script could take for its end: whatever names say, they stay data.
"""

from base64 import b64encode
from collections.abc import Iterable

import msgspec

_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_LIMIT = 2**52
"""Numbers beyond are not exact in a script; they are cut off here."""


def packed(column: Iterable[int]) -> str:
    """Return a column as text."""
    coded, before = bytearray(), 0
    for value in column:
        value = max(-_LIMIT, min(value, _LIMIT))  # noqa: PLW2901 - the column's own bound
        step = value - before
        before = value
        rest = step << 1 if step >= 0 else (-step << 1) - 1
        while rest > 0x7F:
            coded.append(rest & 0x7F | 0x80)
            rest >>= 7
        coded.append(rest)
    return b64encode(coded).decode()


def embedded(document: object) -> str:
    """Return a document as JSON that can stand inside a script element."""
    text = msgspec.json.encode(document).decode()
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text

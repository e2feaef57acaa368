"""Variable-length integers: seven bits a byte, least significant first, high bit means "more".

Law: one value, one spelling. Encodings longer than needed and values beyond 64 bits are refused.
Several numbers in a row take one call: for small messages calls are what codecs cost.
"""

from collections.abc import Iterable

from antiphon.core.errors import PeerError

Octets = bytes | memoryview
"""Bytes that were received: a frame of their own, or a view of the buffer that they are in."""

VALUE_MAX = (1 << 64) - 1
_BYTES_MAX = 10
CUT_OFF = "a frame ends inside a number"


def append_varint(out: bytearray, value: int) -> None:
    """Append ``value`` to ``out``."""
    if 0 <= value < 0x80:  # nearly always
        out.append(value)
        return
    assert 0 <= value <= VALUE_MAX, "varints are unsigned 64-bit"
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def append_varints(out: bytearray, values: Iterable[int]) -> None:
    """Append several values to ``out``."""
    for value in values:
        if 0 <= value < 0x80:
            out.append(value)
        elif 0x80 <= value < 0x4000:  # most others
            out.append(value & 0x7F | 0x80)
            out.append(value >> 7)
        elif 0x1000_0000 <= value < 0x8_0000_0000:  # a digest
            out += bytes(
                (
                    value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14 & 0x7F | 0x80,
                    value >> 21 & 0x7F | 0x80, value >> 28,
                )
            )  # fmt: skip
        else:
            append_varint(out, value)


def read_varint(data: Octets, offset: int) -> tuple[int, int]:
    """Return the value at ``offset`` and the offset behind it."""
    try:
        byte = data[offset]
        if byte < 0x80:  # nearly always
            return byte, offset + 1
        value = byte & 0x7F
        byte = data[offset + 1]
        if 0 < byte < 0x80:  # most others
            return value | byte << 7, offset + 2
        for extra in range(1, _BYTES_MAX):
            byte = data[offset + extra]
            value |= (byte & 0x7F) << (7 * extra)
            if byte < 0x80:
                if byte == 0 or value > VALUE_MAX:
                    break
                return value, offset + extra + 1
    except IndexError:
        raise PeerError(CUT_OFF) from None
    message = "a frame has a number that is too long or not in its shortest form"
    raise PeerError(message)


def read_varints(data: Octets, offset: int, count: int) -> tuple[list[int], int]:
    """Return ``count`` values from ``offset`` on, and the offset behind them."""
    values: list[int] = []
    try:
        for _ in range(count):
            value = data[offset]
            if value < 0x80:
                offset += 1
            elif 0 < (high := data[offset + 1]) < 0x80:  # most others
                value = value & 0x7F | high << 7
                offset += 2
            else:
                value, offset = read_varint(data, offset)
            values.append(value)
    except IndexError:
        raise PeerError(CUT_OFF) from None
    return values, offset

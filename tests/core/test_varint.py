"""Varints: one value, one spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import PeerError
from antiphon.core.varint import VALUE_MAX, append_varint, read_varint


def _bytes(value: int) -> bytes:
    out = bytearray()
    append_varint(out, value)
    return bytes(out)


@pytest.mark.parametrize(
    ("value", "spelling"),
    [
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "80 01"),
        (300, "ac 02"),
        (16_383, "ff 7f"),
        (16_384, "80 80 01"),
        (VALUE_MAX, "ff ff ff ff ff ff ff ff ff 01"),
    ],
)
def test_value_has_its_spelling(value: int, spelling: str) -> None:
    """Seven bits a byte, least significant first."""
    assert _bytes(value) == bytes.fromhex(spelling)


@given(st.integers(0, VALUE_MAX), st.binary(max_size=3), st.binary(max_size=3))
def test_value_is_read_back_from_anywhere(value: int, before: bytes, after: bytes) -> None:
    """Reading begins at the offset and ends behind the number, whatever is around it."""
    spelt = _bytes(value)
    assert read_varint(before + spelt + after, len(before)) == (value, len(before) + len(spelt))


@given(st.binary(min_size=1, max_size=12))
def test_whatever_can_be_read_is_spelt_that_way(data: bytes) -> None:
    """Two different byte strings never mean the same number."""
    try:
        value, end = read_varint(data, 0)
    except PeerError:
        return
    assert _bytes(value) == data[:end]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("", "ends inside a number"),
        ("80", "ends inside a number"),
        ("ff ff", "ends inside a number"),
        ("80 00", "not in its shortest form"),
        ("ff ff 00", "not in its shortest form"),
        ("ff ff ff ff ff ff ff ff ff 02", "too long"),
        ("ff ff ff ff ff ff ff ff ff ff 01", "too long"),
        ("80 80 80 80 80 80 80 80 80 80 80", "too long"),
    ],
)
def test_misspelt_number_is_the_peers_fault(data: str, sentence: str) -> None:
    """Cut off, longer than needed, beyond 64 bits: each is refused with its sentence."""
    with pytest.raises(PeerError, match=sentence):
        read_varint(bytes.fromhex(data), 0)


@pytest.mark.parametrize("value", [-1, VALUE_MAX + 1])
def test_value_that_does_not_fit_is_an_error_of_ours(value: int) -> None:
    """Nothing that cannot be read back is written."""
    with pytest.raises(AssertionError, match="unsigned 64-bit"):
        append_varint(bytearray(), value)

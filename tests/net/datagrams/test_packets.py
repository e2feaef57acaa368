"""Sealed packets: opened by who has the key, as they were sealed, and by nobody else."""

import re

import pytest

from antiphon import UsageError
from antiphon.net.datagrams import packets
from antiphon.net.datagrams.packets import (
    HEADER_BYTES,
    OVERHEAD_BYTES,
    BadSealError,
    PacketCipher,
    read_header,
)

GROUP, VIEW = 0xC0FFEE, 7
SECRET = bytes(range(32))


def opened(by: PacketCipher, packet: bytes) -> bytes:
    """Open a packet that is long enough."""
    header = read_header(packet)
    assert header is not None
    return by.open(header, packet)


def test_packet_is_opened_as_it_was_sealed() -> None:
    """Header and body come out as they went in, and cost what the page says."""
    anna, ben = PacketCipher(SECRET, GROUP, VIEW, 0), PacketCipher(SECRET, GROUP, VIEW, 1)
    for counter, body in enumerate((b"", b"one", bytes(60_000)), 1):
        packet = anna.seal(body)
        assert len(packet) == len(body) + OVERHEAD_BYTES == len(body) + 41
        assert read_header(packet) == (1, GROUP, VIEW, 0, counter)
        assert opened(ben, packet) == body


@pytest.mark.parametrize("place", range(OVERHEAD_BYTES + 3))
def test_packet_with_one_bit_changed_is_not_opened(place: int) -> None:
    """Every byte is authenticated: those of the header, of the body and of the tag."""
    anna, ben = PacketCipher(SECRET, GROUP, VIEW, 0), PacketCipher(SECRET, GROUP, VIEW, 1)
    packet = bytearray(anna.seal(b"one"))
    packet[place] ^= 0x10
    with pytest.raises(BadSealError):
        opened(ben, bytes(packet))


def test_packet_of_another_key_group_or_view_is_not_opened() -> None:
    """The same secret used by mistake for another group or view does not open it either."""
    packet = PacketCipher(SECRET, GROUP, VIEW, 0).seal(b"one")
    for other in (
        PacketCipher(SECRET[::-1], GROUP, VIEW, 1),
        PacketCipher(SECRET, GROUP + 1, VIEW, 1),
        PacketCipher(SECRET, GROUP, VIEW + 1, 1),
    ):
        with pytest.raises(BadSealError):
            opened(other, packet)


def test_same_words_are_never_sealed_alike() -> None:
    """By two members, or twice by one: what is sealed shares nothing that could be compared."""
    anna, ben = PacketCipher(SECRET, GROUP, VIEW, 0), PacketCipher(SECRET, GROUP, VIEW, 1)
    sealed = [cipher.seal(bytes(64)) for cipher in (anna, anna, ben, ben)]
    assert len({packet[HEADER_BYTES:] for packet in sealed}) == 4
    assert len({packet[HEADER_BYTES - 12 : HEADER_BYTES] for packet in sealed}) == 4


def test_long_view_takes_another_derived_key_before_the_first_is_worn_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After 2^32 packets the sender seals with another one, and receivers follow, also back."""
    anna, ben = PacketCipher(SECRET, GROUP, VIEW, 0), PacketCipher(SECRET, GROUP, VIEW, 1)
    anna.counter = 2**32 - 2
    before, after = anna.seal(b"before"), anna.seal(b"after")
    assert read_header(after)[-1] == 2**32  # type: ignore[index]
    assert [opened(ben, packet) for packet in (before, after, before)] == [
        b"before", b"after", b"before",
    ]  # fmt: skip
    monkeypatch.setattr(packets, "_ERA_BITS", 40)  # as if there were no such change
    with pytest.raises(BadSealError):
        opened(PacketCipher(SECRET, GROUP, VIEW, 1), after)


def test_packet_too_short_for_a_header_and_a_tag_has_none() -> None:
    """Nothing is read beyond the end."""
    packet = PacketCipher(SECRET, GROUP, VIEW, 0).seal(b"")
    assert read_header(packet) is not None
    assert all(read_header(packet[:length]) is None for length in range(len(packet)))


def test_key_of_another_length_is_refused() -> None:
    """The sentence says how long a key is."""
    with pytest.raises(UsageError, match=re.escape("32 bytes, not 16")):
        PacketCipher(bytes(16), GROUP, VIEW, 0)

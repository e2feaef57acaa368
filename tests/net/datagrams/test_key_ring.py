"""Keys: a packet is opened once, if it is a member's; what is dropped is counted by its reason."""

from itertools import pairwise

import pytest

from antiphon import UsageError
from antiphon.net.datagrams.counts import DatagramCounts
from antiphon.net.datagrams.key_ring import EARLY_MAX, KEPT_US, KEYS_AHEAD_MAX, KEYS_KEPT, KeyRing
from antiphon.net.datagrams.packets import PacketCipher, read_header

GROUP = 99


def secret_of(number: int) -> bytes:
    """Return a key for a view."""
    return number.to_bytes(32)


class Ben:
    """A member, with rank 1 of 3 in every view."""

    def __init__(self, *numbers: int) -> None:
        """Know the keys of these views."""
        self.counts = DatagramCounts()
        self.ring = KeyRing(GROUP, self.counts)
        for number in numbers:
            self.learn(number)

    def learn(self, number: int) -> None:
        """Learn the key of a view."""
        self.ring.learn(number, secret_of(number), 1, 3)

    def open(self, packet: bytes) -> bytes | None:
        """Open what has arrived."""
        header = read_header(packet)
        assert header is not None
        return self.ring.open(header, packet)


def sealed(number: int, body: bytes = b"body", rank: int = 0) -> bytes:
    """Seal something as a member of a view."""
    return PacketCipher(secret_of(number), GROUP, number, rank).seal(body)


def test_packet_is_opened_once() -> None:
    """The second copy is a replay, whoever sends it."""
    ben, packet = Ben(1), sealed(1)
    assert ben.open(packet) == b"body"
    assert ben.open(packet) is None
    assert ben.counts == DatagramCounts(replayed=1)


def test_forged_packet_does_not_use_up_the_counter_that_it_claims() -> None:
    """A forgery of a packet that is still to come does not keep that one out."""
    ben, packet = Ben(1), sealed(1)
    assert ben.open(packet[:-1] + bytes([packet[-1] ^ 1])) is None
    assert ben.open(packet) == b"body"
    assert ben.counts == DatagramCounts(forged=1)


def test_forged_senders_leave_nothing_behind() -> None:
    """A window is kept of those only who have sent something true."""
    ben = Ben(1)
    ben.open(sealed(1, rank=2)[:-1] + b"?")
    assert ben.counts.forged == 1
    ben.ring.enter(1, 0)
    assert ben.ring.current is not None
    assert ben.ring.current.windows == {}


def test_own_packets_and_those_of_no_member_are_counted_apart() -> None:
    """IP multicast gives back what was sent; ranks end with the view."""
    ben = Ben(1)
    assert ben.open(sealed(1, rank=1)) is None
    assert ben.open(sealed(1, rank=3)) is None
    assert ben.counts == DatagramCounts(own=1, not_a_member=1)


def test_keys_of_earlier_views_are_kept_for_a_while() -> None:
    """What was on its way is read; later it is under an unknown key."""
    ben = Ben(1, 2)
    ben.ring.enter(1, 0)
    ben.ring.enter(2, 100)
    anna = PacketCipher(secret_of(1), GROUP, 1, 0)
    assert ben.open(anna.seal(b"late")) == b"late"
    ben.ring.sweep(100 + KEPT_US)
    assert ben.open(anna.seal(b"too late")) is None
    assert ben.counts == DatagramCounts(unknown_key=1)
    assert ben.ring.numbers == [2]


def test_few_earlier_keys_are_kept_however_fast_views_change() -> None:
    """And none of those that were dropped comes back: its nonces and replays would."""
    ben = Ben()
    for number in range(1, 20):
        ben.learn(number)
        ben.ring.enter(number, number)
    assert ben.ring.numbers == list(range(19 - KEYS_KEPT, 20))
    for number in (1, 18, 19):
        with pytest.raises(UsageError, match="a key is learnt once"):
            ben.learn(number)


def test_keys_of_later_views_are_bounded() -> None:
    """A driver that learns and never enters is told so."""
    ben = Ben(1)
    ben.ring.enter(1, 0)
    for number in range(2, 2 + KEYS_AHEAD_MAX):
        ben.learn(number)
    with pytest.raises(UsageError, match="enter one of these first"):
        ben.learn(2 + KEYS_AHEAD_MAX)


def test_views_are_entered_forward_and_with_their_key() -> None:
    """Sealing under an old key again, or under none, is a mistake of the driver."""
    ben = Ben(1, 2)
    ben.ring.enter(2, 0)
    for number, why in ((1, "was before"), (3, "learn it first")):
        with pytest.raises(UsageError, match=why):
            ben.ring.enter(number, 0)


def test_packet_that_is_early_waits_for_its_key() -> None:
    """In the order of arrival, and only those of that key."""
    ben = Ben(1)
    anna = PacketCipher(secret_of(2), GROUP, 2, 0)
    early = [anna.seal(b"a"), sealed(3), anna.seal(b"b")]
    assert [ben.open(packet) for packet in early] == [None, None, None]
    ben.learn(2)
    taken = ben.ring.early(2)
    assert [ben.ring.open(*each) for each in taken] == [b"a", b"b"]
    assert ben.ring.early(2) == []
    ben.learn(3)
    assert len(ben.ring.early(3)) == 1
    assert ben.counts == DatagramCounts(early=3)


def test_early_packets_are_few_and_the_latest_stay() -> None:
    """Noise under a key that never comes fills a bounded buffer."""
    ben = Ben(1)
    packets = [sealed(2, b"%d" % index) for index in range(EARLY_MAX + 3)]
    for packet in packets:
        ben.open(packet)
    kept = [packet for _, packet in ben.ring.early(2)]
    assert kept == packets[3:]
    assert ben.counts == DatagramCounts(early=EARLY_MAX + 3, unknown_key=3)


def test_counters_go_on_within_a_key_and_begin_anew_with_each() -> None:
    """No two packets of one process have the same key and counter."""
    ben = Ben(1, 2)
    sealed_by_ben = []
    for number in (1, 2):
        ben.ring.enter(number, 0)
        assert ben.ring.current is not None
        sealed_by_ben += [ben.ring.current.cipher.seal(b"") for _ in range(3)]
    names = [header[2:] for packet in sealed_by_ben if (header := read_header(packet))]
    assert all(one < other for one, other in pairwise(names))

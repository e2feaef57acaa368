"""Packing: items come out as they went in; bodies that nobody packed raise PeerError only."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon import PeerError, UsageError
from antiphon.net.datagrams.packing import ITEMS_MAX, Packer, Piece, unpack
from antiphon.net.datagrams.reassembly import PARTIAL_MAX, STALE_US, Reassembly

ROOM = 200


def packed(items: list[bytes], room: int = ROOM) -> list[bytes]:
    """Return the bodies of items that are sent together."""
    packer = Packer(room, 100_000, count())
    return packer.add(items) + packer.finish()


@given(st.lists(st.binary(max_size=700), max_size=40))
def test_items_come_out_as_they_went_in(items: list[bytes]) -> None:
    """Small ones in order; large ones whole; and no body is larger than a packet has room for."""
    reassembly, small, large = Reassembly(100_000, 200_000), [], []
    for body in packed(items):
        assert len(body) <= ROOM
        said = unpack(body)
        if isinstance(said, Piece):
            item = reassembly.take(said, 0)
            large += [] if item is None else [item]
        else:
            small += said
    is_small = [len(item) <= ROOM - 5 for item in items]
    assert small == [item for item, yes in zip(items, is_small, strict=True) if yes]
    assert large == [item for item, yes in zip(items, is_small, strict=True) if not yes]
    assert reassembly.kept_bytes == 0


def test_small_items_share_packets() -> None:
    """Twenty of 64 bytes fit into one packet of 1,400 with its seal, and two bytes beside each."""
    assert len(packed([bytes(64)] * 20, 1_400 - 41)) == 1
    assert len(packed([bytes(64)] * 21, 1_400 - 41)) == 2
    assert len(packed([b""] * (ITEMS_MAX + 1), 60_000)) == 2


def test_item_over_the_limit_is_refused_and_nothing_else_is_lost() -> None:
    """The sentence says how large an item may be; what was collected before still leaves."""
    packer = Packer(ROOM, 1_000, count())
    packer.add([b"before"])
    with pytest.raises(UsageError, match="1,001 bytes is over 1,000: divide it"):
        packer.add([bytes(1_001)])
    assert [unpack(body) for body in packer.finish()] == [[b"before"]]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\x00", b"\x03rest", b"\x01", b"\x01\x00", b"\x01\x00\x00", b"\x01\x00\x01\x00",
        b"\x01\x00\x01\x00\x02a", b"\x01\x00\x01\x00\x01ab", b"\x01\xff\xff" + bytes(100),
        b"\x02", b"\x02" + bytes(7), b"\x02" + bytes(8) + b"data",
        b"\x02" + bytes(4) + b"\x00\x02\x00\x02data", b"\x02" + bytes(4) + b"\x00\x00\x00\x02",
    ],
)  # fmt: skip
def test_body_that_nobody_packed_is_the_peers_fault(body: bytes) -> None:
    """Empty, of no kind, cut anywhere, too long, without items, beyond its last piece."""
    with pytest.raises(PeerError):
        unpack(body)


@pytest.mark.fuzz
@given(st.binary(max_size=300), st.sampled_from([b"", b"\x01", b"\x02"]))
def test_noise_raises_nothing_but_peer_error(noise: bytes, kind: bytes) -> None:
    """Whatever a body is, it is unpacked or it is the peer's fault."""
    reassembly = Reassembly(1_000, 2_000)
    try:
        said = unpack(kind + noise)
        if isinstance(said, Piece):
            reassembly.take(said, 0)
    except PeerError:
        pass


@given(st.randoms(use_true_random=False), st.lists(st.integers(201, 900), min_size=1, max_size=8))
def test_pieces_in_any_order_make_their_items(dice: object, sizes: list[int]) -> None:
    """Pieces of several items mixed and shuffled: each item is whole at its last piece."""
    items = [bytes([index]) * size for index, size in enumerate(sizes)]
    bodies = packed(items)
    dice.shuffle(bodies)  # type: ignore[attr-defined]
    reassembly, whole = Reassembly(1_000, 100_000), []
    for body in bodies:
        piece = unpack(body)
        assert isinstance(piece, Piece)
        item = reassembly.take(piece, 0)
        whole += [] if item is None else [item]
    assert sorted(whole) == sorted(items)


def test_item_that_does_not_grow_is_given_up() -> None:
    """By the clock that is given, and counted; what grows stays."""
    reassembly = Reassembly(1_000, 10_000)
    reassembly.take(Piece(1, 0, 3, b"a"), 0)
    reassembly.take(Piece(2, 0, 3, b"b"), 10)
    reassembly.take(Piece(1, 1, 3, b"a"), 20)
    reassembly.sweep(STALE_US + 19)
    assert (reassembly.abandoned, reassembly.kept_bytes) == (1, 2)
    assert reassembly.take(Piece(1, 2, 3, b"c"), STALE_US) == b"aac"


def test_sender_has_bounded_room_for_items_in_the_making() -> None:
    """In items and in bytes; the one that has waited longest goes first."""
    reassembly = Reassembly(1_000, 5_000)
    for number in range(PARTIAL_MAX + 5):
        reassembly.take(Piece(number, 0, 2, b"x"), number)
    assert (reassembly.abandoned, reassembly.kept_bytes) == (5, PARTIAL_MAX)
    for number in range(1_000, 1_020):
        reassembly.take(Piece(number, 0, 2, bytes(900)), 2_000)
    assert reassembly.kept_bytes <= 5_000


def test_pieces_that_contradict_each_other_are_the_peers_fault() -> None:
    """Another number of pieces, a piece twice, more bytes than an item may have."""
    for wrong in (Piece(1, 1, 4, b"x"), Piece(1, 0, 3, b"x"), Piece(1, 1, 3, bytes(1_000))):
        reassembly = Reassembly(1_000, 5_000)
        reassembly.take(Piece(1, 0, 3, b"a"), 0)
        with pytest.raises(PeerError):
            reassembly.take(wrong, 0)
        assert (reassembly.abandoned, reassembly.kept_bytes) == (1, 0)

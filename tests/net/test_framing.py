"""Frames out of a byte stream: the same ones, wherever the stream was cut."""

from random import Random

import pytest
from tests.net.harness import LoopFactory, address_of, choir, free_addresses, play, read_payloads
from tests.net.raw_peer import RawPeer, RawSenior, founders, handshake, run, runs

from antiphon.core.errors import PeerError
from antiphon.core.frames import FRAME_BYTES_MAX
from antiphon.core.varint import Octets
from antiphon.net.process.joining import make_node
from antiphon.net.session.identity import founding_digest
from antiphon.net.transport.framing import (
    BUFFER_BYTES,
    GUEST_BYTES_MAX,
    HANDSHAKE_BYTES_MAX,
    LENT_BUFFERS_MAX,
    LENT_BYTES_MIN,
    FrameBuffer,
    join_with_length,
    with_length,
)


def _receive(buffer: FrameBuffer, data: bytes, piece_bytes: int) -> list[Octets]:
    """Feed ``data`` as a transport does: as much as fits, and no more than a piece at a time."""
    frames: list[Octets] = []
    at = 0
    while at < len(data):
        room = buffer.room()
        assert len(room), "a transport takes a buffer without room for the end of the stream"
        count = min(len(room), piece_bytes, len(data) - at)
        room[:count] = data[at : at + count]
        at += count
        frames += buffer.received(count)
    return frames


def _trusted() -> FrameBuffer:
    buffer = FrameBuffer()
    buffer.trust()
    return buffer


@pytest.mark.parametrize("piece_bytes", [1, 2, 3, 5, 64, 1 << 20])
def test_frames_are_the_same_wherever_the_stream_is_cut(piece_bytes: int) -> None:
    """Empty, small and middling frames come out whole and in order."""
    random = Random(piece_bytes)
    sent = [random.randbytes(random.randrange(40)) for _ in range(200)] + [b"", b"x" * 5000, b""]
    stream = b"".join(map(with_length, sent))
    assert _receive(_trusted(), stream, piece_bytes) == sent


@pytest.mark.parametrize("piece_bytes", [65_521, BUFFER_BYTES, 1 << 30])
@pytest.mark.parametrize("extra", [-5, -4, -3, 0, 1, 100_000])
def test_frames_around_the_size_of_the_buffer_come_out_whole(extra: int, piece_bytes: int) -> None:
    """The buffer grows for a frame that needs it, and serves small ones again afterwards."""
    random = Random(extra)
    large = random.randbytes(BUFFER_BYTES + extra)
    sent = [b"a", large, b"b", b"c" * 1000, large, large, b"d"]
    buffer = _trusted()
    assert _receive(buffer, b"".join(map(with_length, sent)), piece_bytes) == sent
    assert len(buffer.room()) == BUFFER_BYTES


@pytest.mark.parametrize("piece_bytes", [65_521, BUFFER_BYTES])
def test_large_runs_are_lent_and_stay_as_they_are(piece_bytes: int) -> None:
    """Whoever keeps one keeps its bytes, whatever comes behind; what nobody keeps is used again."""
    random = Random(piece_bytes)
    buffer = _trusted()
    kept: list[tuple[Octets, bytes]] = []
    made: dict[int, bytearray] = {}
    for _ in range(400):
        size = random.choice([10, LENT_BYTES_MIN - 1, LENT_BYTES_MIN, 200_000])
        sent = b"\x01\x02" + random.randbytes(size - 2)
        (frame,) = _receive(buffer, with_length(sent), piece_bytes)
        assert type(frame) is (bytes if size < LENT_BYTES_MIN else memoryview)
        made[id(buffer._buffer)] = buffer._buffer
        kept = [*kept[-20:], (frame, sent)]
        assert all(frame == sent for frame, sent in kept)
    assert len(made) < 10
    assert all(len(buffer) == BUFFER_BYTES for buffer in made.values())


def test_frames_are_copied_when_many_buffers_are_lent() -> None:
    """And lent again when they have been given back; only frames of runs are."""
    buffer = _trusted()
    sent = b"\x01\x02" + bytes(LENT_BYTES_MIN)
    other = b"\x01\x05" + bytes(LENT_BYTES_MIN)
    assert [type(frame) for frame in _receive(buffer, with_length(other), 1 << 20)] == [bytes]
    frames = _receive(buffer, with_length(sent) * 400, 1 << 20)
    assert len(buffer._lent) == LENT_BUFFERS_MAX
    assert [type(frame).__name__ for frame in (frames[0], frames[-1])] == ["memoryview", "bytes"]
    assert all(frame == sent for frame in frames)
    frames.clear()
    _receive(buffer, with_length(b"heartbeat") * LENT_BUFFERS_MAX, len(b"heartbeat") + 4)
    assert not buffer._lent
    assert [type(frame).__name__ for frame in _receive(buffer, with_length(sent), 1 << 20)] == [
        "memoryview"
    ]


def test_length_above_the_limit_is_refused_before_anything_is_allocated() -> None:
    """Four bytes are enough to tell, and the buffer stays as it is."""
    guests = FrameBuffer()
    guests.receive_guest()
    limits = (FrameBuffer(), HANDSHAKE_BYTES_MAX), (guests, GUEST_BYTES_MAX)
    for buffer, limit in (*limits, (_trusted(), FRAME_BYTES_MAX)):
        with pytest.raises(PeerError, match=f"a frame of {limit + 1} bytes is above the limit"):
            _receive(buffer, (limit + 1).to_bytes(4, "little"), 4)
        assert len(buffer.room()) <= min(limit + 4, BUFFER_BYTES)


def test_limit_is_the_one_that_holds_when_a_frame_has_its_turn() -> None:
    """A handshake and a large frame in one stream: the handshake is accepted in between."""
    buffer = FrameBuffer()
    data = with_length(b"hello") + with_length(bytes(5000))
    room = len(buffer.room())
    buffer.room()[:] = data[:room]
    frames = buffer.received(room)
    assert next(frames) == b"hello"
    buffer.trust()
    assert list(frames) == []
    assert _receive(buffer, data[room:], 1 << 20) == [bytes(5000)]


@pytest.mark.parametrize("piece_bytes", [1, 7, 1 << 20])
def test_room_grows_only_with_what_is_known_of_a_peer(piece_bytes: int) -> None:
    """Before its handshake, and as a guest, a peer has room for its largest frame and no more."""
    buffer = FrameBuffer()
    for limit, allow in (
        (HANDSHAKE_BYTES_MAX, buffer.receive_guest),
        (GUEST_BYTES_MAX, buffer.trust),
    ):
        sent = [b"x" * limit, b"", b"y" * (limit - 1), b"z", b"x" * limit]
        assert _receive(buffer, b"".join(map(with_length, sent)), piece_bytes) == sent
        assert len(buffer.room()) == limit + 4
        allow()
    assert _receive(buffer, with_length(b"member"), piece_bytes) == [b"member"]
    assert len(buffer.room()) == BUFFER_BYTES


def test_frame_in_parts_is_framed_like_a_whole_one() -> None:
    """Joining parts with a length is the same as putting a length before the whole."""
    parts: list[bytes | bytearray] = [b"ab", bytearray(b"c"), b"", b"def"]
    assert join_with_length(parts, 6) == with_length(b"abcdef")


@pytest.mark.net
def test_member_that_greets_and_speaks_in_one_breath_is_heard(loop_factory: LoopFactory) -> None:
    """A senior that has everybody else sends large frames right behind its handshake."""

    async def scene() -> None:
        addresses = free_addresses(["alice", "bob"])
        speech = [bytes([65 + number]) * 1000 for number in range(20)]
        first_words = runs(run(payloads=speech, sender=0))
        alice, _ = members = founders(addresses)
        hello = handshake(alice, start=1, view=1, founding=founding_digest(members))
        async with (
            RawSenior(addresses["alice"], hello, first_words),
            make_node("choir", "bob", members=addresses, drain_s=0.0).group as group,
        ):
            assert await read_payloads(group, 20) == speech

    play(loop_factory, scene())


@pytest.mark.net
def test_stranger_cannot_greet_wrongly_and_speak_in_one_breath(loop_factory: LoopFactory) -> None:
    """What comes behind a handshake that is refused does not count."""

    async def scene() -> None:
        async with choir() as nodes:
            alice = nodes["alice"]
            stranger = await RawPeer.connect(address_of(alice))
            await stranger.send(handshake(domain=7), runs(run(payloads=[b"la"])))
            await stranger.hear_end()
            await stranger.close()
            await alice.group.cbcast(b"mine")
            assert await read_payloads(alice.group, 1) == [b"mine"]

    play(loop_factory, scene())

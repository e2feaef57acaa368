"""The decoder under fire: random bytes, and valid frames broken in every way.

Law: whatever arrives, ``decode_frame`` returns a frame or raises PeerError, in memory bounded by
what has really arrived. Seeds are in the messages of failures.
"""

import tracemalloc
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.core.random_runs import random_frame

from antiphon.core.errors import PeerError
from antiphon.core.frames import Frame, Runs, decode_frame, encode_runs
from antiphon.core.records import MESSAGES_MAX

pytestmark = pytest.mark.fuzz

CASES = 60 * settings().max_examples


def _flip(data: bytearray, rng: Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _overwrite(data: bytearray, rng: Random) -> None:
    data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))


def _truncate(data: bytearray, rng: Random) -> None:
    del data[rng.randrange(1, len(data)) :]


def _drop(data: bytearray, rng: Random) -> None:
    at = rng.randrange(len(data))
    if len(data) > 1:
        del data[at]


def _inflate(data: bytearray, rng: Random) -> None:
    """Put a huge number where a small one was."""
    at = rng.randrange(len(data))
    data[at : at + 1] = b"\xff" * rng.choice((1, 2, 4, 9)) + b"\x01"


def _splice(data: bytearray, rng: Random) -> None:
    """Go on with the tail of another frame."""
    other = random_frame(rng)
    data[rng.randrange(1, len(data)) :] = other[rng.randrange(len(other)) :] or b"\x00"


_DAMAGES = (_flip, _overwrite, _truncate, _drop, _inflate, _splice)


def _damaged(seed: int) -> bytes:
    rng = Random(seed)
    data = bytearray(random_frame(rng))
    for _ in range(rng.choice((1, 1, 2, 4))):
        while len(data) < 2:
            data += random_frame(rng)
        rng.choice(_DAMAGES)(data, rng)
    return bytes(data)


def _decoded(data: bytes, whence: str) -> Frame | None:
    """Return the frame, or None when the decoder refused; any other error is a failure."""
    try:
        return decode_frame(data)
    except PeerError:
        return None
    except Exception as error:
        message = f"{whence}: {error!r} on {data.hex(' ')}"
        raise AssertionError(message) from error


@example(b"")
@given(st.binary(max_size=64) | st.binary(max_size=64).map(lambda rest: b"\x01\x02" + rest))
def test_random_bytes_are_a_frame_or_refused(data: bytes) -> None:
    """Noise never raises anything but PeerError."""
    _decoded(data, "random bytes")


def test_damaged_frames_are_a_frame_or_refused() -> None:
    """Bits flipped, ends cut off, tails exchanged, numbers inflated: a frame or a PeerError."""
    refused = 0
    for seed in range(CASES):
        refused += _decoded(_damaged(seed), f"seed {seed}") is None
    assert refused > CASES // 3, "the damage was too gentle to mean anything"
    assert refused < CASES, "the damage was too heavy: nothing got past the header"


def test_accepted_runs_are_spelt_again_with_the_same_meaning_and_no_longer() -> None:
    """What the decoder lets through, our encoder can say too, in as many bytes or fewer."""
    accepted = 0
    for seed in range(CASES):
        data = _damaged(seed)
        frame = _decoded(data, f"seed {seed}")
        if not isinstance(frame, Runs):
            continue
        accepted += 1
        spelt = encode_runs(frame.domain, frame.process, frame.runs)
        assert decode_frame(spelt) == frame, f"seed {seed}"
        assert len(spelt) <= len(data), f"seed {seed}"
    assert accepted > CASES // 20


def test_our_own_frames_are_spelt_again_byte_by_byte() -> None:
    """Encoding what was decoded gives back the very bytes, for all that our encoder writes."""
    for seed in range(CASES):
        data = random_frame(Random(seed))
        frame = decode_frame(data)
        if isinstance(frame, Runs):
            assert encode_runs(frame.domain, frame.process, frame.runs) == data, f"seed {seed}"


def test_every_truncation_of_a_frame_is_refused() -> None:
    """A frame has no proper prefix that is a frame, so a cut connection cannot forge one."""
    for seed in range(CASES // 20):
        data = random_frame(Random(seed))
        for length in range(len(data)):
            assert _decoded(data[:length], f"seed {seed} cut to {length}") is None, f"seed {seed}"


HUGE = "ff ff ff ff ff ff ff ff ff 01"
HEAD = "01 02 00 00 00 00 00"


@pytest.mark.parametrize(
    "data",
    [
        f"{HEAD} {HUGE}",
        f"{HEAD} 808004 11 01 01 00 01",
        f"{HEAD} 01 11 01 01 00 01 {HUGE} 01",
        f"{HEAD} 01 11 01 01 00 01 808004 01 61",
        f"{HEAD} 01 11 01 01 00 01 808004 {HUGE} 61",
        f"{HEAD} 01 01 01 01 00 01 808004 01 61",
        f"{HEAD} 01 41 01 01 00 01 808004 01 61",
        f"{HEAD} 01 41 01 01 00 01 02 ffffffff ffffffff 61",
        f"{HEAD} 01 19 01 01 00 01 01 {HUGE} 01 01",
        f"{HEAD} 01 19 01 01 00 01 01 8020 01 01",
        f"{HEAD} 01 9102 01 01 00 01 01 01 00 {HUGE} 01 01",
        f"{HEAD} 01 9102 01 01 00 01 01 01 {HUGE} 01 01 01",
        f"{HEAD} 01 9102 01 01 00 01 01 {HUGE} 01 01 01 01",
        f"{HEAD} 01 9104 01 01 00 01 01 {HUGE} 01 01",
        f"01 07 00 00 00 00 00 {HUGE} 61",
        "01 01 00 00 00 00 00 dd ff ff ff ff a1 67",
        "01 05 00 00 00 00 00 dd ff ff ff ff a1 67",
        f"01 04 00 00 00 00 00 {HUGE} 61",
    ],
)
def test_small_frame_that_announces_much_is_refused_without_allocating(data: str) -> None:
    """A count is compared with what is there before anything is made for it."""
    frame = bytes.fromhex(data)
    assert _peak_bytes(frame, is_refused=True) < 4_096


def test_empty_messages_take_memory_up_to_the_stated_limit_only() -> None:
    """Empty messages need no bytes on the wire: their number per frame bounds what they cost."""
    frame = bytes.fromhex(f"{HEAD} 01 11 01 01 00 01 808004 00")
    assert _peak_bytes(frame, is_refused=False) < 10 * MESSAGES_MAX


def _peak_bytes(frame: bytes, *, is_refused: bool) -> int:
    _decoded(frame, "warm-up")  # fills struct's cache of formats
    tracemalloc.start()
    try:
        decoded = _decoded(frame, "measured")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (decoded is None) == is_refused
    return peak

"""Packed payloads: a sequence of bytes like any other, cut out only when it is read."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.frames import Runs, decode_frame, encode_runs
from antiphon.core.ids import GroupNumber, Rank, ViewNumber
from antiphon.core.payloads import PackedPayloads
from antiphon.core.runs import Order, Run


def _received(payloads: list[bytes]) -> Run:
    run = Run(GroupNumber(0), ViewNumber(1), Rank(0), 1, Order.CAUSAL, (), payloads)
    frame = decode_frame(encode_runs(0, 0, [run]))
    assert isinstance(frame, Runs)
    return frame.runs[0]


@given(st.lists(st.binary(max_size=4), min_size=5, max_size=20), st.integers(-25, 25))
def test_packed_payloads_are_the_payloads(payloads: list[bytes], at: int) -> None:
    """Length, places, slices, order and equality are those of the list."""
    packed = _received(payloads).payloads
    assert isinstance(packed, PackedPayloads)
    assert len(packed) == len(payloads)
    assert list(packed) == packed.unpack() == payloads
    assert packed == payloads
    assert payloads == packed
    assert packed == _received(payloads).payloads
    assert packed[at:] == payloads[at:]
    if -len(payloads) <= at < len(payloads):
        assert packed[at] == payloads[at]


@given(st.integers(5, 200), st.integers(0, 3), st.randoms(use_true_random=False))
def test_many_payloads_of_one_length_are_cut_apart(count: int, length: int, dice: Random) -> None:
    """Blocks of them, and what is left over."""
    payloads = [dice.randbytes(length) for _ in range(count)]
    packed = _received(payloads).payloads
    assert isinstance(packed, PackedPayloads)
    assert packed.unpack() == payloads


def test_packed_payloads_differ_from_others() -> None:
    """From other payloads, and from what are none."""
    packed = _received([b"a"] * 5).payloads
    assert packed != [b"a"] * 4 + [b"b"]
    assert not packed.__eq__("aaaaa")


def test_few_payloads_are_not_packed() -> None:
    """They are a list at once."""
    assert isinstance(_received([b"a", b"bc"]).payloads, list)


@pytest.mark.parametrize("payloads", [[b""] * 9, [b"xy"] * 9, [b"x", *[b"yz"] * 9]])
def test_rest_of_a_received_run_is_a_run(payloads: list[bytes]) -> None:
    """What follows a message can be cut off, however the run came."""
    run = _received(payloads)
    assert list(run.after(3).payloads) == payloads[3:]
    assert run.byte_count == sum(map(len, payloads))

"""Messages of causal blocks as bytes: small, the same again, and nothing but PeerError."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import PeerError, UsageError
from antiphon.ordering.blocks.codec import (
    PAYLOAD_BYTES_MAX,
    decode_block,
    encode_block,
    header_bytes,
)
from antiphon.ordering.blocks.machine import CausalBlocks
from antiphon.ordering.blocks.messages import BlockKind, BlockMessage
from antiphon.ordering.blocks.settings import BlockSettings


@st.composite
def messages(draw: st.DrawFn) -> BlockMessage:
    """Any message that a correct process may send."""
    size = draw(st.integers(1, 9))
    block = draw(st.integers(1, 2**32 - 1))
    kind = draw(st.sampled_from(BlockKind))
    is_data = kind is BlockKind.DATA
    is_null = kind in {BlockKind.NULL, BlockKind.ASK}
    is_behind = draw(st.booleans())
    return BlockMessage(
        draw(st.integers(0, size - 1)),
        kind,
        block,
        draw(st.integers(0, block)),
        tuple(draw(st.lists(st.integers(0, block - 1), min_size=size, max_size=size))),
        draw(st.binary(max_size=40)) if is_data else b"",
        draw(st.integers(0, 7)),
        draw(st.none() | st.integers(1, 2**32 - 1)) if is_data else None,
        draw(st.binary(max_size=32)) if not is_null or is_behind else b"",
        is_behind,
    )


@given(messages())
def test_message_comes_back_as_it_was(message: BlockMessage) -> None:
    """With the header that the paper counts, and four bytes for a lifetime."""
    data = encode_block(message)
    size = len(message.delivered)
    assert decode_block(data, size) == message
    extra = 4 if message.lifetime_us is not None else 0
    extra += 1 + len(message.label) if message.label else 0
    assert len(data) == header_bytes(size) + extra + len(message.payload)
    assert header_bytes(size) == 2 + 1 + 4 * (size + 2)


@pytest.mark.fuzz
@given(st.binary(max_size=80), st.integers(1, 12))
def test_any_bytes_are_a_message_or_a_peers_fault(data: bytes, size: int) -> None:
    """Nothing else is raised, by the decoder or by the machine that takes what it gives."""
    try:
        message = decode_block(data, size)
    except PeerError:
        return
    assert encode_block(message) == data
    machine = CausalBlocks(size, 0, BlockSettings(), lambda _top: 0)
    try:
        machine.receive(message, message.sender, 0)
    except PeerError:
        return
    machine.wake(machine.due_us)


@pytest.mark.fuzz
@given(messages(), st.data())
def test_damaged_message_is_a_message_or_a_peers_fault(
    message: BlockMessage, data: st.DataObject
) -> None:
    """A byte is changed, or the end is cut off."""
    good = encode_block(message)
    place = data.draw(st.integers(0, len(good) - 1))
    value = data.draw(st.integers(0, 255))
    bad = good[:place] + bytes([value]) + good[place + 1 :]
    for each in (bad, good[:place]):
        try:
            decode_block(each, len(message.delivered))
        except PeerError:
            continue


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (BlockMessage(0, BlockKind.DATA, 2**32, 0, (0,)), "begin another view"),
        (BlockMessage(0, BlockKind.DATA, 1, 0, (0,) * 70_000), "70,000 members"),
        (BlockMessage(0, BlockKind.DATA, 1, 0, (0,), bytes(PAYLOAD_BYTES_MAX + 1)), "divide it"),
    ],
)
def test_what_no_field_holds_is_refused(message: BlockMessage, said: str) -> None:
    """By a sentence, before anything is sent."""
    with pytest.raises(UsageError, match=said):
        encode_block(message)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (BlockMessage(3, BlockKind.DATA, 1, 0, (0, 0)), "of member 3"),
        (BlockMessage(1, BlockKind.DATA, 1, 2, (0, 0)), "later ones"),
        (BlockMessage(1, BlockKind.DATA, 1, 0, (0, 1)), "later ones"),
        (BlockMessage(1, BlockKind.NULL, 1, 0, (0, 0), b"x"), "carries something"),
        (BlockMessage(1, BlockKind.DATA, 1, 0, (0, 0), b"", 0, 0), "has expired"),
    ],
)
def test_what_no_correct_process_sends_is_its_fault(message: BlockMessage, said: str) -> None:
    """Though every field is in its range."""
    with pytest.raises(PeerError, match=said):
        decode_block(encode_block(message), 2)


def test_label_that_is_announced_is_there() -> None:
    """Every bit of the kind means something, and is checked."""
    data = bytearray(encode_block(BlockMessage(0, BlockKind.DATA, 1, 0, (0,))))
    for flags in (0x40, 0xC0):
        data[2] = flags
        with pytest.raises(PeerError, match="no label"):
            decode_block(bytes(data), 1)

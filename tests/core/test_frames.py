"""Frames: exact bytes, round trips, and a sentence for everything that can be wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.random_runs import in_group, run_lists

from antiphon.core.control import Install
from antiphon.core.errors import PeerError
from antiphon.core.frames import (
    FRAME_BYTES_MAX,
    Ack,
    Bye,
    Control,
    Hello,
    Post,
    Relay,
    Runs,
    decode_frame,
    encode_ack,
    encode_bye,
    encode_control,
    encode_hello,
    encode_letter,
    encode_relay,
    encode_runs,
    has_other_version,
)
from antiphon.core.handshake import Handshake
from antiphon.core.ids import GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.records import MEMBERS_MAX, MESSAGES_MAX, NUMBER_MAX, PAYLOAD_BYTES_MAX
from antiphon.core.runs import Letter, Order, Run, SetsOrder, Stamp

HEAD = "01 02 04 03 02 01 05"
"""Version 1, kind RUNS, domain 0x01020304, process 5."""

LETTER = "01 07 04 03 02 01 05"


def _run(first: int, *payloads: bytes, stamp: Stamp = (), order: Order = Order.CAUSAL) -> Run:
    return Run(GroupNumber(1), ViewNumber(1), Rank(2), first, order, stamp, list(payloads))


def _encode(*runs: Run) -> bytes:
    return encode_runs(0x01020304, 5, list(runs))


@pytest.mark.parametrize(
    ("runs", "body"),
    [
        ([_run(1, b"")], "01  11 01 01 02 01 01 00"),
        ([_run(1, b"hi")], "01  11 01 01 02 01 01 02 6869"),
        ([_run(1, b"hi", order=Order.FIFO)], "01  10 01 01 02 01 01 02 6869"),
        ([_run(1, b"hi", order=Order.TOTAL)], "01  12 01 01 02 01 01 02 6869"),
        ([_run(300, b"a", b"b")], "01  11 01 01 02 ac02 02 01 61 62"),
        ([_run(1, b"a", b"bc")], "01  01 01 01 02 01 02 01 02 61 6263"),
        (
            [_run(1, b"hi", stamp=((0, 3), (7, 300)))],
            "01  19 01 01 02 01 01 02 00 03 07 ac02 02 6869",
        ),
        (
            [_run(1, b"a"), _run(2, b"b", stamp=((0, 1),))],
            "02  11 01 01 02 01 01 01 61  1d 01 01 00 01 01 62",
        ),
        ([_run(1, b"a"), _run(3, b"b")], "02  11 01 01 02 01 01 01 61  11 01 01 02 03 01 01 62"),
    ],
    ids=[
        "empty-message",
        "one-message",
        "fifo",
        "total",
        "equal-lengths",
        "unequal-lengths",
        "stamped",
        "continuing",
        "not-continuing",
    ],
)
def test_runs_have_their_bytes(runs: list[Run], body: str) -> None:
    """The layout in the module's law, byte by byte, and back."""
    data = bytes.fromhex(HEAD + body)
    assert _encode(*runs) == data
    assert decode_frame(data) == Runs(0x01020304, 5, runs)


@pytest.mark.parametrize(
    ("uniform", "port", "sets_order", "body"),
    [
        (True, 0, None, "01  9101 01 01 02 01 01 02 6869"),
        (False, 2, None, "01  9104 01 01 02 01 01 02 02 6869"),
        (False, 255, None, "01  9104 01 01 02 01 01 ff01 02 6869"),
        (False, 0, SetsOrder(1, ()), "01  9102 01 01 02 01 01 01 00 00 02 6869"),
        (
            False,
            0,
            SetsOrder(7, ((0, 3), (4095, 300)), 0),
            "01  9102 01 01 02 01 01 07 01 02 00 03 ff1f ac02 02 6869",
        ),
        (
            True,
            3,
            SetsOrder(1, ((1, 1),), 4095),
            "01  9107 01 01 02 01 01 03 01 8020 01 01 01 02 6869",
        ),
    ],
    ids=["uniform", "port", "last-port", "empty-list", "list", "everything"],
)
def test_flags_above_the_plain_ones_have_their_bytes(
    uniform: bool, port: int, sets_order: SetsOrder | None, body: str
) -> None:
    """Whatever is not plain takes a second byte of flags, and its fields come before the stamp."""
    run = Run(
        GroupNumber(1), ViewNumber(1), Rank(2), 1, Order.CAUSAL, (), [b"hi"],
        uniform=uniform, port=port, sets_order=sets_order,
    )  # fmt: skip
    data = bytes.fromhex(HEAD + body)
    assert _encode(run) == data
    assert decode_frame(data) == Runs(0x01020304, 5, [run])


def test_letter_has_its_bytes() -> None:
    """A frame of one record, which comes back as a letter."""
    letter = Letter(
        GroupNumber(1), ViewNumber(1), Rank(2), 4, Order.CAUSAL, ((0, 3),), [b"hi"], port=1
    )
    data = bytes.fromhex(LETTER + "01  9904 01 01 02 04 01 01 01 00 03 02 6869")
    assert encode_letter(0x01020304, 5, letter) == data
    frame = decode_frame(data)
    assert frame == Post(0x01020304, 5, letter)
    assert isinstance(frame, Post)
    assert type(frame.letter) is Letter


def test_record_that_continues_keeps_its_own_flags() -> None:
    """Uniform or not, port and list are said for each record, also where the rest is implied."""
    runs = [
        _run(1, b"a"),
        Run(
            GroupNumber(1), ViewNumber(1), Rank(2), 2, Order.TOTAL, (), [b"b"],
            uniform=True, port=1, sets_order=SetsOrder(1, ((2, 2),)),
        ),
        _run(3, b"c"),
    ]  # fmt: skip
    assert decode_frame(_encode(*runs)) == Runs(0x01020304, 5, runs)


@pytest.mark.parametrize("field", ["group", "view", "sender"])
def test_next_number_elsewhere_continues_nothing(field: str) -> None:
    """A record continues only where group, view and sender are all the same."""
    elsewhere = _run(2, b"b")
    setattr(elsewhere, field, 9)
    runs = [_run(1, b"a"), elsewhere]
    assert decode_frame(_encode(*runs)) == Runs(0x01020304, 5, runs)


@pytest.mark.parametrize(
    ("longest", "flags", "lengths"),
    [
        (0xFF, "01", "00 ff"),
        (0x100, "21", "0000 0001"),
        (0xFFFF, "21", "0000 ffff"),
        (0x1_0000, "41", "00000000 00000100"),
    ],
)
def test_lengths_take_the_smallest_width_that_fits(longest: int, flags: str, lengths: str) -> None:
    """Unequal lengths are 1, 2 or 4 bytes wide, by the longest message."""
    run = _run(1, b"", b"x" * longest)
    head = bytes.fromhex(f"{HEAD} 01 {flags} 01 01 02 01 02 {lengths}")
    assert _encode(run) == head + b"x" * longest
    assert decode_frame(_encode(run)) == Runs(0x01020304, 5, [run])


def test_hello_has_its_bytes() -> None:
    """A header and a handshake."""
    handshake = Handshake("g", "f", ProcessId("a", 2, 3, "h:1"), 7, view=1)
    who = "dc0014 a167 a166 94 a161 02 03 a3683a31 07 01 "
    rest = "00 00 00 00 c2 c2 c2 c2 c400 c400 c400 c400 a0 a0 a0"
    data = bytes.fromhex("01 01 04 03 02 01 00" + who + rest)
    assert encode_hello(0x01020304, handshake) == data
    assert decode_frame(data) == Hello(0x01020304, handshake)


def test_bye_has_its_bytes() -> None:
    """A bye is a header and nothing else."""
    assert encode_bye() == bytes.fromhex("01 03 00 00 00 00 00")
    assert decode_frame(encode_bye()) == Bye()


def test_acknowledgement_has_its_bytes() -> None:
    """A header and a count."""
    assert encode_ack(300) == bytes.fromhex("01 06 00 00 00 00 00 ac02")
    assert decode_frame(encode_ack(300)) == Ack(300)


def test_control_message_comes_back_as_it_went() -> None:
    """A header, and the message as ``control`` writes it."""
    data = encode_control(0x01020304, 1, Install(3))
    assert data[:7] == bytes.fromhex("01 05 04 03 02 01 01")
    assert decode_frame(data) == Control(0x01020304, 1, Install(3))


@given(run_lists())
def test_relayed_runs_come_back_as_they_went(runs: list[Run]) -> None:
    """They differ from a process's own by their kind alone."""
    data = encode_relay(1, 2, runs)
    assert decode_frame(data) == Relay(1, 2, in_group(runs, 1))
    assert data[0:1] + b"\x02" + data[2:] == encode_runs(1, 2, runs)


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        ("02 01 04 03 02 01 00 00", True),
        ("01 01 04 03 02 01 00 00", False),
        ("02 02 04 03 02 01 00 00", False),
        ("02 01 04 03 02 01", False),
        ("", False),
    ],
)
def test_handshake_in_another_version_is_recognised(data: str, answer: bool) -> None:
    """By version and kind alone: nothing else is known of other versions."""
    assert has_other_version(bytes.fromhex(data)) is answer


@given(run_lists(), st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def test_runs_come_back_as_they_went(runs: list[Run], domain: int, process: int) -> None:
    """What is encoded is decoded to equal runs, in the same order, with payloads as bytes."""
    frame = decode_frame(encode_runs(domain, process, runs))
    assert frame == Runs(domain, process, in_group(runs, domain))


def test_frame_without_runs_is_an_error_of_ours() -> None:
    """Nobody sends a frame that says nothing."""
    with pytest.raises(AssertionError, match="say nothing"):
        encode_runs(1, 1, [])


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("", "a frame of 0 bytes is too short to have a header"),
        ("01 02 04 03 02 01", "a frame of 6 bytes is too short to have a header"),
        ("02 02 04 03 02 01 05", "a frame has version 2, this process speaks version 1"),
        ("01 00 04 03 02 01 05", "a frame is of unknown kind 0"),
        ("01 08 04 03 02 01 05", "a frame is of unknown kind 8"),
        ("01 03 04 03 02 01 85", "a frame ends inside a number"),
        ("01 03 04 03 02 01 05 00", "a frame has 1 bytes more than its header announces"),
        ("01 01 04 03 02 01 05", "a handshake cannot be read"),
        ("01 01 04 03 02 01 05 90", "a handshake cannot be read"),
        ("01 05 04 03 02 01 05 90", "a control message cannot be read"),
        ("01 06 04 03 02 01 05", "a frame ends inside a number"),
        ("01 06 04 03 02 01 05 01 01", "a frame has 1 bytes more than its header announces"),
        ("01 04 04 03 02 01 05 00", "a frame announces 0 records"),
        (HEAD + "00", "a frame announces 0 records"),
        (HEAD + "81 80 04", "a frame announces 65537 records"),
        (HEAD + "01", "a frame ends inside a number"),
        (HEAD + "02 11 01 01 02 01 01 00", "a frame ends inside a number"),
        (HEAD + "01 13 01 01 02 01 01 00", "a record has flags 0x13 that this version"),
        (HEAD + "01 9120 01 01 02 01 01 00", "a record has flags 0x1011 that this version"),
        (HEAD + "01 9108 01 01 02 01 01 00 00", "a record announces stamps of 0 other groups"),
        (HEAD + "01 9108 01 01 02 01 01 7f 00", "a record announces stamps of 127 other groups"),
        (HEAD + "01 9108 01 01 02 01 01 01 07 00 00 00", "a stamp of group number 7 names view 0"),
        (HEAD + "01 9108 01 01 02 01 01 01 07 01 7f 00", "a stamp announces 127 entries"),
        (
            HEAD + "01 9108 01 01 02 01 01 01 07 01 02 03 01 02 01 00",
            r"a stamp has entry \(2, 1\) out of order or out of range",
        ),
        (HEAD + "01 9304 01 01 02 01 01 00", "a record has flags 0x213 that this version"),
        (HEAD + "01 9104 01 01 02 01 01 00 00", "a record is for port 0"),
        (HEAD + "01 9104 01 01 02 01 01 8002 00", "a record is for port 256"),
        (HEAD + "01 9102 01 01 02 01 01 00 00 00 00", "announces 0 turns from number 0"),
        (HEAD + "01 9102 01 01 02 01 01 01 8120 00 00", "announces 0 turns from number 1"),
        (HEAD + "01 9102 01 01 02 01 01 01 00 02 00 01 00", "announces 2 turns from number 1"),
        (HEAD + "01 9102 01 01 02 01 01 01 00 01 00 00 00", "names message 0 of sender 0"),
        (HEAD + "01 9102 01 01 02 01 01 01 00 01 8020 01 00", "names message 1 of sender 4096"),
        ("01 07 04 03 02 01 05", "a frame ends inside a number"),
        ("01 07 04 03 02 01 05 00", "a frame announces 0 records"),
        (LETTER + "02 11 01 01 02 01 01 00 15 01 00", "a letter is one plain record"),
        (LETTER + "01 12 01 01 02 01 01 00", "a letter is one plain record"),
        (LETTER + "01 9101 01 01 02 01 01 00", "a letter is one plain record"),
        (LETTER + "01 9102 01 01 02 01 01 01 00 00 00", "a letter is one plain record"),
        (HEAD + "01 31 01 01 02 01 01 00", "a record has flags 0x31 that this version"),
        (HEAD + "01 61 01 01 02 01 01 00", "lengths of an unknown width"),
        (HEAD + "01 15 01 00 01 01 01", "the first record of a frame continues nothing"),
        (HEAD + "01 11 01 01 02 01 00 00", "announces 0 messages from number 1 of sender 2"),
        (HEAD + "01 11 01 01 02 00 01 00", "announces 1 messages from number 0 of sender 2"),
        (HEAD + "01 11 01 01 8020 01 01 00", "announces 1 messages from number 1 of sender 4096"),
        (HEAD + "01 11 01 01 02 01 818004 00", "announces 65537 messages from number 1"),
        (HEAD + "01 19 01 01 02 01 01 00 00", "a stamp announces 0 entries"),
        (HEAD + "01 19 01 01 02 01 01 02 00 01 00", "a stamp announces 2 entries"),
        (HEAD + "01 19 01 01 02 01 01 01 00 00 00", r"entry \(0, 0\) out of order or out of range"),
        (HEAD + "01 19 01 01 02 01 01 02 03 01 03 01 00", r"entry \(3, 1\) out of order"),
        (HEAD + "01 19 01 01 02 01 01 02 03 01 01 01 00", r"entry \(1, 1\) out of order"),
        (HEAD + "01 19 01 01 02 01 01 01 02 01 00", r"entry \(2, 1\) out of order"),
        (HEAD + "01 19 01 01 02 01 01 01 8020 01 00", r"entry \(4096, 1\) out of order"),
        (HEAD + "01 11 01 01 02 01 02 02 616263", "2 messages of 2 bytes, which are not there"),
        (HEAD + "01 01 01 01 02 01 03 01 02", "announces 3 lengths, which are not there"),
        (HEAD + "01 01 01 01 02 01 02 01 02 6162", "announces 3 payload bytes, which are not"),
    ],
)
def test_malformed_frame_is_the_peers_fault(data: str, sentence: str) -> None:
    """Each way to be malformed has its sentence, and none gets as far as a frame."""
    with pytest.raises(PeerError, match=sentence):
        decode_frame(bytes.fromhex(data))


def test_frame_at_the_limit_passes() -> None:
    """The limit itself is allowed."""
    short = _encode(_run(1, bytes(PAYLOAD_BYTES_MAX), b""))
    run = _run(1, bytes(PAYLOAD_BYTES_MAX), bytes(FRAME_BYTES_MAX - len(short)))
    assert len(_encode(run)) == FRAME_BYTES_MAX
    assert decode_frame(_encode(run)) == Runs(0x01020304, 5, [run])


def test_frame_above_the_limit_is_refused() -> None:
    """One byte too many, and nothing is looked at."""
    with pytest.raises(PeerError, match="is above the limit of"):
        decode_frame(bytes(FRAME_BYTES_MAX + 1))


@pytest.mark.parametrize("lead", [b"", b"x"], ids=["equal-lengths", "unequal-lengths"])
def test_largest_message_passes_and_a_larger_one_does_not(lead: bytes) -> None:
    """The limit is on the payload; a header of any legal length fits on top of it."""
    payloads = [lead, bytes(PAYLOAD_BYTES_MAX)][not lead :]
    largest = _encode(_run(1, *payloads))
    frame = decode_frame(largest)
    assert isinstance(frame, Runs)
    assert [len(payload) for payload in frame.runs[0].payloads] == [len(p) for p in payloads]
    payloads[-1] += b"y"
    with pytest.raises(PeerError, match="which are not there"):
        decode_frame(_encode(_run(1, *payloads)))


def test_longest_header_and_largest_message_fit_into_one_frame() -> None:
    """A stamp with an entry for everybody, at its largest, leaves room for the largest message."""
    stamp = tuple((rank, 2**64 - 1) for rank in range(MEMBERS_MAX) if rank != 2)
    run = Run(
        GroupNumber(2**64 - 1),
        ViewNumber(2**64 - 1),
        Rank(2),
        NUMBER_MAX,
        Order.CAUSAL,
        stamp,
        [bytes(PAYLOAD_BYTES_MAX)],
    )
    data = encode_runs(2**32 - 1, 2**64 - 1, [run])
    assert len(data) <= FRAME_BYTES_MAX
    assert decode_frame(data) == Runs(2**32 - 1, 2**64 - 1, [run])


def test_number_above_the_limit_is_refused() -> None:
    """A message's number stays within what the trace's columns can hold."""
    assert decode_frame(_encode(_run(NUMBER_MAX, b""))) is not None
    with pytest.raises(PeerError, match=f"from number {NUMBER_MAX + 1}"):
        decode_frame(_encode(_run(NUMBER_MAX + 1, b"")))


def test_as_many_messages_as_allowed_pass_and_one_more_does_not() -> None:
    """The limit on messages is for the whole frame, not for each record."""
    full = _encode(_run(1, *[b""] * (MESSAGES_MAX - 1)), _run(MESSAGES_MAX, b""))
    frame = decode_frame(full)
    assert isinstance(frame, Runs)
    assert sum(run.count for run in frame.runs) == MESSAGES_MAX
    with pytest.raises(PeerError, match="announces 2 messages"):
        decode_frame(_encode(_run(1, *[b""] * (MESSAGES_MAX - 1)), _run(MESSAGES_MAX, b"", b"")))


def test_as_many_records_as_messages_are_allowed() -> None:
    """Every message may have a record of its own."""
    runs = [_run(number, b"") for number in range(1, MESSAGES_MAX + 1)]
    frame = decode_frame(_encode(*runs))
    assert isinstance(frame, Runs)
    assert len(frame.runs) == MESSAGES_MAX
    assert frame.runs[-1] == runs[-1]

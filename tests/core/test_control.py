"""Control messages: what is said arrives as it was said, and nonsense is refused as such."""

from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.membership.hands import A, B, C, X, view_of
from tests.membership.hostile import KINDS, Liar

from antiphon.core.control import (
    Accept,
    AlarmSaid,
    Alive,
    AnyMessage,
    Ask,
    Beat,
    Begun,
    Confirm,
    Decide,
    Elsewhere,
    EpochSaid,
    Everywhere,
    Flush,
    Forgettable,
    ForgettingAsked,
    FoundingAnswer,
    FoundingQuestion,
    GroupsNamed,
    HeardOf,
    HowFar,
    HowFarAsked,
    Install,
    JoinRefused,
    JoinRequest,
    KeyTold,
    LetterAsked,
    LetterTaken,
    Out,
    PastTold,
    Prepare,
    Promise,
    Propose,
    ReadingOn,
    Receipts,
    ReceiptsAsked,
    Reject,
    Report,
    Situation,
    Standing,
    StateChunk,
    StateTaken,
    Subtree,
    Want,
    decode_message,
    encode_message,
)
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId

THREE = view_of(A, B, C)
ONE_OF_EACH: list[AnyMessage] = [
    Prepare(2, 7),
    Promise(2, 7, 0, None),
    Promise(2, 7, 4, THREE),
    Propose(1, view_of(A, X, number=2, joined=(X,), failed=(B,), left=(C,), stateless=(X,))),
    Accept(2, 1),
    Reject(2, 9),
    Decide(()),
    Decide((THREE, view_of(A, B, number=2, failed=(C,)))),
    Want(0),
    JoinRequest(ProcessId("zoe-2", 3, 2**60, "127.0.0.1:7000")),
    JoinRefused("the name is taken", 0),
    Ask((A,), (X,), leaving=True, has_state=False),
    Out(2**62),
    Elsewhere(("127.0.0.1:7000", "p" * 256)),
    Standing(3, is_blocked=True, is_known=False, places=("127.0.0.1:7000", "p" * 256)),
    Situation("a~2", 2**61, ("a~2", "b"), ("b",), is_blocked=True, obstacle="", held=3),
    FoundingQuestion(("a:1", "b:1"), 3, THREE),
    FoundingAnswer(A, ("a:1",), 3, True, 3, 0, None, THREE),
    Flush(1),
    Report(1, (0, 5, 2**40), (4095,)),
    Install(1),
    Alive(1, ((0, 3), (7, 2**62)), 3, 2),
    Beat(),
    Subtree(1, ((0, 3), (7, 2**62))),
    Subtree(1, (), ((4095, 2**62),)),
    Everywhere(1, ((0, 3),), ((1, 0),)),
    ReadingOn(1, 2**62),
    AlarmSaid(is_raised=True),
    AlarmSaid(is_raised=False),
    Confirm(1, 0, 2**62),
    LetterTaken(2**62),
    LetterAsked(),
    ReceiptsAsked(1, ((0, 3), (4095, 2**62))),
    Receipts(1, ((0, 3),)),
    Forgettable(((7, 1, ((-1, 0), (3, 2**62))), (2**32 - 1, 2, ()))),
    ReceiptsAsked(1, ((0, 3),), delivered=True),
    Receipts(1, ((0, 3),), delivered=True),
    ForgettingAsked(((7, 1, ((-1, 0), (3, 2**62))),)),
    HowFarAsked(1, 2**62),
    HowFar(1, 2**62, 0, is_last=True),
    GroupsNamed(((7, "lobby"), (2**62, "x" * 64))),
    EpochSaid(2, 2**62),
    HeardOf(3, ((1, ((0, 3), (4095, 2**62))), (2, ()))),
    PastTold(2, ((7, 1, ((0, 3), (4095, 2**62))), (2**32 - 1, 2, ()))),
    Begun(((A, 2**60), (B, 0))),
    StateChunk(3, 0, is_last=True, data=b"\x00\xff"),
    StateTaken(3, 1),
    KeyTold(2**62, bytes(range(32))),
]


@pytest.mark.parametrize("message", ONE_OF_EACH, ids=lambda message: type(message).__name__)
def test_message_reads_back_as_it_was(message: AnyMessage) -> None:
    """Encoding and decoding loses nothing, and tells the kinds apart."""
    again = decode_message(encode_message(message))
    assert again == message
    assert type(again) is type(message)


def test_every_kind_is_tried() -> None:
    """A kind added to the protocol is added here."""
    assert {type(message) for message in ONE_OF_EACH} == set(KINDS) == set(AnyMessage.__args__)


@pytest.mark.parametrize(
    "said",
    [
        ["Prepare", -1, 1],
        ["Prepare", 2**62 + 1, 1],
        ["Prepare", 1],
        ["Prepare", "1", 1],
        ["Prepare", 1.5, 1],
        ["Want", None],
        ["Nothing", 1],
        [1, 1],
        [],
        {"Want": 1},
        "Want",
        ["Decide", [["g", 0, [["a"]]]]],
        ["Decide", [["g", 1, []]]],
        ["Decide", [["g", 1, [["a"], ["a"]]]]],
        ["Decide", [["g", 2**64 - 1, [["a"]]]]],
        ["JoinRequest", ["a", -1]],
        ["JoinRequest", ["a", 2**64 - 1]],
        ["JoinRequest", ["a", 1, 0, 7]],
        ["JoinRequest", []],
        ["JoinRequest", ["../../etc"]],
        ["JoinRequest", ["alice\n"]],
        ["JoinRequest", [""]],
        ["Decide", [["g", 1, [["a"]], [], [], [], [], [["a", 2**64 - 1]]]]],
        ["Alive", 1, [[4096, 1]], 0, 0],
        ["Alive", 1, [[0]], 0, 0],
        ["Report", 1, [1], [-1]],
        ["Confirm", 1, -1, 0],
        ["Confirm", 1, 0, 2**62 + 1],
        ["Confirm", 1, 0],
        ["LetterTaken", -1],
        ["LetterTaken", None],
        ["StateChunk", 1, 0, True, "text"],
        ["Ask", [], [], 1, True],
    ],
    ids=repr,
)
def test_what_is_no_message_is_the_peers_fault(said: object) -> None:
    """Wrong kinds, types, bounds and views raise PeerError."""
    with pytest.raises(PeerError, match="a control message cannot be read"):
        decode_message(msgspec.msgpack.encode(said))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x93\xabJoinRefused\xa2\xff\xfe\x00",  # text that is no UTF-8
        b"\x92\xa4\xff\xff\xff\xff\x00",
        b"\x91" * 100_000,  # deeper than any parser goes
        b"\x92\xa4Want\xcf",
        encode_message(Want(1)) + b"\x00",
        b"\x92\xa6Decide\xdd\xff\xff\xff\xff",  # a list that cannot be that long
        b"\x95\xaaStateChunk\x01\x00\xc3\xc6\xff\xff\xff\xff",
    ],
    ids=lambda data: repr(data[:20]),
)
def test_broken_bytes_are_the_peers_fault(data: bytes) -> None:
    """Bytes that are no message at all raise PeerError, in no time and no memory."""
    with pytest.raises(PeerError, match="a control message cannot be read"):
        decode_message(data)


@pytest.mark.fuzz
@given(st.binary(max_size=64))
def test_random_bytes_raise_nothing_else(data: bytes) -> None:
    """Whatever comes, it is a message or a PeerError."""
    try:
        message = decode_message(data)
    except PeerError:
        return
    assert decode_message(encode_message(message)) == message


@pytest.mark.fuzz
def test_damaged_messages_raise_nothing_else() -> None:
    """Messages with flipped, lost and added bytes are messages or PeerErrors."""
    damaged = 0
    for seed in range(60 * settings().max_examples):
        random, liar = Random(seed), Liar(seed)
        data = bytearray(encode_message(liar.message(THREE)))
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(data))
            match random.randint(0, 3):
                case 0:
                    data[at] ^= 1 << random.randrange(8)
                case 1:
                    data[at] = random.choice((0, 0x7F, 0x80, 0xC0, 0xCF, 0xFF))
                case 2:
                    del data[at:]
                    data += b"\x00"
                case _:
                    data[at:at] = bytes([random.randrange(256)])
        try:
            decode_message(bytes(data))
        except PeerError:
            damaged += 1
    assert damaged > 0

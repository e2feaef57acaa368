"""Handshakes: they come back as they went, and nothing else is let through."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import PeerError
from antiphon.core.handshake import SECRET_BYTES, Handshake, decode_handshake, encode_handshake
from antiphon.core.ids import ProcessId

NUMBERS = st.integers(0, 2**62)
NAMES = st.text("aZ09_.-", min_size=1, max_size=64).filter(lambda name: name[0] not in ".-")


@given(
    st.tuples(NAMES, NAMES), NUMBERS, st.lists(NUMBERS, min_size=6, max_size=6), st.booleans(),
    st.sampled_from([b"", bytes(range(16))]),
)  # fmt: skip
def test_handshakes_come_back_as_they_went(
    names: tuple[str, str], boot: int, numbers: list[int], asking: bool, secret: bytes
) -> None:
    """Every field, at every size."""
    group, name = names
    process = ProcessId(name, 2, boot, "127.0.0.1:7001")
    start, view, founding, to, received, next_incarnation = numbers
    handshake = Handshake(
        group, "view-atomic", process, start, view, founding, to, received, next_incarnation,
        asking, secret=secret, nonce=secret, proof=secret, causality_domain=group,
    )  # fmt: skip
    assert decode_handshake(encode_handshake(handshake)) == handshake


def test_longest_handshake_fits_what_a_stranger_may_say() -> None:
    """Names, an address, numbers and secrets at their longest."""
    process = ProcessId("n" * 64, 2**31, 2**62, "a" * 128)
    most = 2**62
    drawn = bytes(SECRET_BYTES)
    longest = Handshake(
        "g" * 64, "f" * 64, process, most, most, most, most, most, most,
        secret=drawn, nonce=drawn, proof=drawn, causality_domain="d" * 64,
    )  # fmt: skip
    assert len(encode_handshake(longest)) + 7 <= 640
    assert decode_handshake(encode_handshake(longest)) == longest


_GOOD = ["g", "f", ["carol", 1, 0, "h:1"], 5, 1, 0, 0, 0, 0, False, False]


def _with(place: int, value: object) -> list[object]:
    return [value if at == place else item for at, item in enumerate(_GOOD)]


BAD = {
    "a group that is no text": _with(0, 7),
    "a long group": _with(0, "g" * 65),
    "a long flush": _with(1, "f" * 65),
    "a name with a slash": _with(2, ["../carol", 1, 0, "h:1"]),
    "no name": _with(2, ["", 1, 0, "h:1"]),
    "a negative incarnation": _with(2, ["carol", -1, 0, "h:1"]),
    "a negative boot": _with(2, ["carol", 1, -1, "h:1"]),
    "a long address": _with(2, ["carol", 1, 0, "h" * 300]),
    "a negative start": _with(3, -1),
    "a start beyond limits": _with(3, 2**63),
    "no boolean": _with(9, 1),
    "a short secret": [*_GOOD, False, False, bytes(SECRET_BYTES - 1)],
    "a long secret": [*_GOOD, False, False, bytes(SECRET_BYTES + 1)],
    "a short proof": [*_GOOD, False, False, b"", b"", b"?"],
    "too little": ["g", "f"],
    "something else": "hello",
}


@pytest.mark.parametrize("what", BAD)
def test_what_no_process_says_is_the_peers_fault(what: str) -> None:
    """It raises PeerError, and nothing else."""
    assert decode_handshake(msgspec.msgpack.encode(_GOOD)).start == 5
    with pytest.raises(PeerError, match="a handshake"):
        decode_handshake(msgspec.msgpack.encode(BAD[what]))

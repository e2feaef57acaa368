"""Sessions: whatever connections do, what is received is what was sent, once and in order."""

from random import Random

import pytest

from antiphon.core.errors import PeerError
from antiphon.net.session.session import ACK_BYTES, Session
from antiphon.net.transport.framing import FrameBuffer, with_length


class Wire:
    """One connection between two sessions: it carries a prefix of what is written, then is cut."""

    def __init__(self, random: Random) -> None:
        """Begin empty."""
        self._random = random
        self.data = b""

    def carry(self, receiver: Session, taken: list[bytes]) -> None:
        """Let some of it arrive, to any byte."""
        arrived = self.data[: self._random.randrange(len(self.data) + 1)]
        buffer = FrameBuffer()
        buffer.trust()
        at = 0
        while at < len(arrived):
            room = buffer.room()
            count = min(len(room), len(arrived) - at)
            room[:count] = arrived[at : at + count]
            at += count
            for frame in buffer.received(count):
                receiver.take(len(frame))
                taken.append(bytes(frame))
        self.data = b""


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_or_doubled_however_often_connections_are_cut(seed: int) -> None:
    """Random sends, acknowledgements and cuts: the receiver gets a prefix, and in the end all."""
    random = Random(seed)
    sender, receiver, wire = Session(), Session(), Wire(random)
    sent: list[bytes] = []
    taken: list[bytes] = []
    for _ in range(60):
        for _ in range(random.randrange(4)):
            frames = [random.randbytes(random.randrange(30)) for _ in range(random.randint(1, 3))]
            stream_bytes = b"".join(map(with_length, frames))
            again = stream_bytes if random.random() < 0.5 else lambda data=stream_bytes: data
            sender.keep(again, len(stream_bytes), len(frames))
            sent += frames
            wire.data += stream_bytes
        if random.random() < 0.4:
            wire.carry(receiver, taken)
            assert taken == sent[: len(taken)]
            wire.data = b"".join(sender.resume(receiver.received))
    wire.data = b"".join(sender.resume(receiver.received))
    while len(taken) < len(sent):
        wire.carry(receiver, taken)
        wire.data = b"".join(sender.resume(receiver.received))
    assert taken == sent
    assert (sender.sent, receiver.received, sender.kept_bytes) == (len(sent), len(sent), 0)


def test_frames_are_kept_until_they_are_acknowledged() -> None:
    """What is acknowledged in part of a write is kept whole until the rest is."""
    session = Session()
    session.keep(with_length(b"a"), 5)
    session.keep(with_length(b"b") + with_length(b"c"), 10, 2)
    session.acknowledge(2)
    assert session.kept_bytes == 10
    assert session.resume(2) == [with_length(b"c")]
    session.acknowledge(3)
    assert session.kept_bytes == 0
    assert session.resume(3) == []


@pytest.mark.parametrize("count", [0, 3])
def test_impossible_acknowledgement_is_refused(count: int) -> None:
    """Nobody has received more than was sent, nor less than it has said."""
    session = Session()
    session.keep(b"12345", 5)
    session.keep(b"12345", 5)
    session.acknowledge(1)
    with pytest.raises(PeerError, match="of 2 sent and 1 acknowledged before"):
        session.acknowledge(count)
    with pytest.raises(PeerError, match="of 2 sent"):
        session.resume(count)


def test_receipts_are_said_once() -> None:
    """An acknowledgement is due when something has come, and not again until more has."""
    session = Session()
    assert session.acknowledgement() is None
    session.take(ACK_BYTES)
    assert session.unsaid_bytes >= ACK_BYTES
    assert session.acknowledgement() == 1
    assert session.unsaid_bytes == 0
    assert session.acknowledgement() is None
    session.take(1)
    session.resume(0)  # the handshake of the new connection has said it
    assert session.acknowledgement() is None

"""Whatever arrives: nothing is raised, what no member sealed is not handed over, all is counted.

The oracle knows what was sealed, and nothing of counters, keys or windows: every packet that was
really sent, in every bent and broken form, many times over, and noise.
"""

from collections.abc import Iterator
from random import Random

import pytest
from tests.net.datagrams.stage import DOMAIN, Heard

from antiphon.net.datagrams.counts import DatagramCounts
from antiphon.net.datagrams.packets import PacketCipher
from antiphon.net.datagrams.packing import Packer
from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.transport.address import Address
from antiphon.net.transport.environment import current_environment
from antiphon.testing import Cluster

pytestmark = pytest.mark.fuzz

VIEWS = (3, 4, 5)
SIZE = 4
ME = 2


def secret_of(number: int) -> bytes:
    """Return the key of a view."""
    return bytes([number]) * 32


class Mischief:
    """Packets of all members in some views, and what can be made of them."""

    def __init__(self, seed: int) -> None:
        """Draw everything from this seed."""
        self.dice = Random(seed)
        self.sealed: list[bytes] = []
        self.items: set[tuple[int, int, bytes]] = set()
        for number in VIEWS:
            for rank in range(SIZE):
                cipher = PacketCipher(secret_of(number), DOMAIN, number, rank)
                packer = Packer(400, 10_000, iter(range(1_000)))
                for turn in range(6):
                    words = [b"%d/%d/%d/%d" % (number, rank, turn, word) for word in range(5)]
                    words.append(words[0] + b"/" + bytes(self.dice.randrange(3) * 500))
                    self.items.update((number, rank, word) for word in words)
                    bodies = packer.add(words) + packer.finish()
                    self.sealed += [cipher.seal(body) for body in bodies]

    def packets(self, count: int) -> Iterator[bytes]:
        """Yield packets: good ones, bent ones and noise."""
        bends = (
            self._noise, self._cut, self._lengthened, self._changed, self._header_changed,
            self._grafted, bytes, bytes,
        )  # fmt: skip
        for _ in range(count):
            yield self.dice.choice(bends)(self.dice.choice(self.sealed))

    def _noise(self, _packet: bytes) -> bytes:
        return self.dice.randbytes(self.dice.randrange(200))

    def _cut(self, packet: bytes) -> bytes:
        return packet[: self.dice.randrange(len(packet))]

    def _lengthened(self, packet: bytes) -> bytes:
        return packet + self.dice.randbytes(self.dice.randrange(1, 30))

    def _changed(self, packet: bytes) -> bytes:
        at = self.dice.randrange(len(packet))
        return packet[:at] + bytes([packet[at] ^ self.dice.randrange(1, 256)]) + packet[at + 1 :]

    def _header_changed(self, packet: bytes) -> bytes:
        at = self.dice.randrange(18)
        put = self.dice.choice((bytes(8), b"\xff" * 8, self.dice.randbytes(8)))
        return packet[:at] + put + packet[at + 8 :]

    def _grafted(self, packet: bytes) -> bytes:
        return packet[:25] + self.dice.choice(self.sealed)[25:]


@pytest.mark.parametrize("seed", range(12))
def test_bent_and_broken_packets_are_counted_and_nothing_else(seed: int) -> None:
    """Twenty thousand packets in all, while views change and keys come late."""
    mischief = Mischief(seed)
    with Cluster(seed) as cluster:

        async def open_port() -> Heard:
            return Heard(await DatagramPort.open(Address("127.0.0.1", 0), current_environment()))

        heard = cluster.process("ben").run(open_port())
        channel, port, arrived = heard.channel, heard.port, 0
        places = [Address("127.0.0.1", 1)] * SIZE
        for number in VIEWS:
            for index, packet in enumerate(mischief.packets(600)):
                if index == 100:
                    channel.learn(number, secret_of(number), ME, places)
                    channel.enter(number)
                port.on_datagram(memoryview(packet))
                port.on_read()
                arrived += 1
        assert len(heard.items) == len(set(heard.items)) > 100
        assert set(heard.items) <= mischief.items
        assert {rank for _, rank, _ in heard.items} == set(range(SIZE)) - {ME}
        counts: DatagramCounts = channel.counts
        waiting = len(channel._ring._early)
        total = counts.received + counts.dropped + port.counts.dropped
        assert arrived == total + waiting, (counts, port.counts)
        for name in ("cut", "other_version", "other_group"):
            assert getattr(port.counts, name), name
        for name in ("replayed", "forged", "own", "not_a_member", "early", "fragments"):
            assert getattr(counts, name), name
        port.close()

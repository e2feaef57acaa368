"""Ports on real sockets: what is sent arrives once, sealed, packed, and paced if asked for."""

import asyncio
import socket

import pytest
from tests.net.datagrams.stage import DOMAIN, SECRET, enter, members
from tests.net.harness import LoopFactory, play, until

from antiphon import UsageError
from antiphon.net.datagrams.packets import PacketCipher
from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.datagrams.settings import LOOPBACK_BYTES, DatagramSettings
from antiphon.net.transport.address import Address
from antiphon.net.transport.environment import SYSTEM

pytestmark = pytest.mark.net


def test_items_reach_all_others_once_and_not_their_sender(loop_factory: LoopFactory) -> None:
    """All three send to all; ranks tell who spoke; the order of one turn is kept on loopback."""

    async def scene() -> None:
        async with members(3) as heard:
            said = [[b"%d says %d" % (rank, n) for n in range(50)] for rank in range(3)]
            for rank, member in enumerate(heard):
                member.channel.send(said[rank])
            await until(lambda: all(len(each.items) == 100 for each in heard), "all have heard")
            for rank, member in enumerate(heard):
                for other in range(3):
                    assert member.said_by(other) == ([] if other == rank else said[other])
                assert member.channel.counts.dropped == 0
                assert {number for number, _, _ in member.items} == {1}
                assert member.channel.counts.sent == 2, "one packet to each of two"

    play(loop_factory, scene())


def test_what_is_sent_in_one_turn_shares_packets(loop_factory: LoopFactory) -> None:
    """A hundred calls with an item of 64 bytes: five packets of 1,400, not a hundred."""

    async def scene() -> None:
        async with members(2) as (anna, ben):
            for _ in range(100):
                anna.channel.send([bytes(64)])
            await until(lambda: len(ben.items) == 100, "ben has heard")
            assert anna.channel.counts.sent == 5
            assert ben.channel.counts.received == 5
            assert ben.reads <= 5

    play(loop_factory, scene())


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("packet_bytes", [1_400, LOOPBACK_BYTES])
def test_large_items_arrive_whole(loop_factory: LoopFactory, packet_bytes: int, host: str) -> None:
    """Among small ones, in packets of every size, over IPv4 and IPv6."""

    async def scene() -> None:
        settings = DatagramSettings(packet_bytes_max=packet_bytes)
        async with members(2, settings, host=host) as (anna, ben):
            large = bytes(range(256)) * 800
            anna.channel.send([b"before", large, b"after"])
            await until(lambda: len(ben.items) == 3, "ben has heard")
            assert sorted(ben.said_by(0)) == sorted([b"before", large, b"after"])
            assert ben.channel.counts.fragments == -(-len(large) // (packet_bytes - 41 - 9))
            with pytest.raises(UsageError, match="divide it"):
                anna.channel.send([bytes(settings.item_bytes_max + 1)])

    play(loop_factory, scene())


def test_items_for_some_reach_these_only(loop_factory: LoopFactory) -> None:
    """Ranks choose receivers; what is for different ones in one turn is kept apart."""

    async def scene() -> None:
        async with members(3) as (anna, ben, carol):
            anna.channel.send([b"to ben"], to=[1])
            anna.channel.send([b"to both"])
            anna.channel.send([b"to ben, too"], to=[1])
            anna.channel.send([b"to carol"], to=[2])
            await until(lambda: len(ben.items) == 3 and len(carol.items) == 2, "all came")
            assert set(ben.said_by(0)) == {b"to ben", b"to ben, too", b"to both"}
            assert set(carol.said_by(0)) == {b"to both", b"to carol"}

    play(loop_factory, scene())


def test_views_change_their_keys_while_packets_are_on_their_way(loop_factory: LoopFactory) -> None:
    """Sent before the change: read, with its number; early for a key: read when it is learnt."""

    async def scene() -> None:
        async with members(2) as (anna, ben):
            places = [anna.port.address, ben.port.address]
            anna.channel.send([b"old"])
            anna.channel.learn(2, SECRET[::-1], 0, places)
            anna.channel.enter(2)
            anna.channel.send([b"new"])
            await until(lambda: ben.channel.counts.early == 1, "the new packet is kept")
            assert ben.items == [(1, 0, b"old")]
            ben.channel.learn(2, SECRET[::-1], 1, places)
            assert ben.items == [(1, 0, b"old"), (2, 0, b"new")]
            ben.channel.enter(2)
            ben.channel.send([b"back"])
            await until(lambda: anna.items == [(2, 1, b"back")], "anna has heard")

    play(loop_factory, scene())


def test_pace_is_kept_and_idle_lines_do_not_wait(loop_factory: LoopFactory) -> None:
    """The burst leaves at once, the rest at the rate; nothing is lost, and senders are told."""

    async def scene() -> None:
        settings = DatagramSettings(
            bytes_per_s=2_000_000, burst_bytes=50_000, queue_bytes=100_000, packet_bytes_max=10_000
        )
        async with members(2, settings) as (anna, ben):
            loop = asyncio.get_running_loop()
            began = loop.time()
            anna.channel.send([bytes(1_000)] * 40)
            await asyncio.sleep(0)
            assert anna.port.queue_bytes == 0, "a burst does not wait"
            anna.channel.send([bytes(1_000)] * 200)
            assert not anna.channel.has_room
            await until(lambda: len(ben.items) == 240, "all came")
            assert loop.time() - began >= 0.9 * (240_000 - 60_000) / 2_000_000
            assert anna.channel.has_room
            assert anna.rooms == 1
            assert anna.channel.counts.overflow == 0

    play(loop_factory, scene())


def test_queue_that_is_too_full_drops_and_counts(loop_factory: LoopFactory) -> None:
    """Whoever goes on without asking loses the rest, and nobody's memory grows."""

    async def scene() -> None:
        settings = DatagramSettings(bytes_per_s=1_000, burst_bytes=1, queue_bytes=10_000)
        async with members(2, settings) as (anna, _ben):
            for _ in range(100):
                anna.channel.send([bytes(1_000)])
            anna.channel.finish()
            counts = anna.channel.counts
            assert counts.overflow > 70
            assert counts.sent + counts.overflow == 100
            assert anna.port.queue_bytes < 22_000

    play(loop_factory, scene())


def test_strangers_and_damage_are_counted_and_change_nothing(loop_factory: LoopFactory) -> None:
    """Each kind under its reason; members are heard all the same."""

    async def scene() -> None:
        async with members(2) as (anna, ben):
            at = (ben.port.address.host, ben.port.address.port)
            cipher = PacketCipher(SECRET, DOMAIN, 1, 0)
            packet = cipher.seal(b"\x01\x00\x01\x00\x02hi")
            forged = cipher.seal(b"")[:-1] + b"?"
            unknown = PacketCipher(SECRET, DOMAIN, 2**62, 0).seal(b"")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                for data in (
                    b"", b"x", packet[:40], packet, packet, forged, b"\x02" + packet[1:],
                    packet[:1] + b"other" + packet[6:], cipher.seal(b"nonsense"), unknown,
                    PacketCipher(SECRET, DOMAIN, 0, 0).seal(b""),
                    PacketCipher(SECRET, DOMAIN, 1, 9).seal(b""),
                    PacketCipher(SECRET, DOMAIN, 1, 1).seal(b""), bytes(65_507),
                ):  # fmt: skip
                    stranger.sendto(data, at)
            await until(lambda: ben.port.counts.other_version == 2, "all came")
            counts, of_port = ben.channel.counts, ben.port.counts
            assert ben.items == [(1, 0, b"hi")]
            assert (of_port.cut, of_port.other_version, of_port.other_group) == (3, 2, 1)
            assert (counts.replayed, counts.forged, counts.malformed) == (1, 1, 1)
            assert (counts.early, counts.unknown_key) == (1, 1)
            assert (counts.not_a_member, counts.own) == (1, 1)
            enter([anna, ben], 2, bytes(32))
            anna.channel.send([b"still here"])
            await until(lambda: ben.items[-1] == (2, 0, b"still here"), "anna is heard")

    play(loop_factory, scene())


def test_names_are_looked_up_and_those_that_are_nobodys_are_counted(
    loop_factory: LoopFactory,
) -> None:
    """A host's name works as an address does, as soon as the system has said where it is."""

    async def scene() -> None:
        async with members(1) as (ben,):
            port = await DatagramPort.open(Address("127.0.0.1", 0), SYSTEM)
            channel = port.channel(DOMAIN, ben)
            places = [
                Address("no.such.host.invalid", 1), Address("localhost", ben.port.address.port),
            ]  # fmt: skip
            ben.channel.learn(2, SECRET, 1, places)
            channel.learn(2, SECRET, 2, [*places, port.address])
            channel.enter(2)
            await until(lambda: port.socket.place(places[1]), "the name is known")
            channel.send([b"hello"])
            await until(lambda: ben.channel.counts.not_a_member == 1, "ben was reached")
            assert channel.counts.unreachable == 1
            port.close()

    play(loop_factory, scene())


def test_port_that_is_taken_is_an_oserror_and_leaves_nothing_open(
    loop_factory: LoopFactory,
) -> None:
    """Also where the group address cannot be had."""

    async def scene() -> None:
        async with members(1) as (anna,):
            with pytest.raises(OSError, match="in use"):
                await DatagramPort.open(anna.port.address, SYSTEM)
            with pytest.raises(OSError, match=r"not known|label|resolution"):
                await DatagramPort.open(Address("a" * 70, 1), SYSTEM)

    play(loop_factory, scene())


def test_misuse_is_refused_in_one_sentence(loop_factory: LoopFactory) -> None:
    """Sending outside a view, a group twice, sizes that cannot work."""

    async def scene() -> None:
        async with members(1) as (anna,):
            with pytest.raises(UsageError, match="open here already"):
                anna.port.channel(DOMAIN, anna)
            other = anna.port.channel(DOMAIN + 1, anna)
            with pytest.raises(UsageError, match="enter one first"):
                other.send([b"x"])
            other.close()
            other.close()
            anna.port.channel(DOMAIN + 1, anna)

    play(loop_factory, scene())
    with pytest.raises(UsageError, match="128 to 65,507 bytes, not 100"):
        DatagramSettings(packet_bytes_max=100)
    with pytest.raises(UsageError, match="at least 1 byte"):
        DatagramSettings(bytes_per_s=0)
    with pytest.raises(UsageError, match="an item has"):
        DatagramSettings(item_bytes_max=0)

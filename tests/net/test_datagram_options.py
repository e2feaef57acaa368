"""How a process sends datagrams: what can be said of it, and packets that go by multicast."""

import asyncio
import os
from typing import Any

import pytest
from tests.net.harness import TRIO, LoopFactory, choir, exchange, play, read_payloads, until

from antiphon import Blocks, Datagrams, Process, UsageError, join
from antiphon.net.datagrams.settings import LOOPBACK_BYTES
from antiphon.net.process.node import Node
from antiphon.net.transport.address import Address
from antiphon.net.transport.udp import UdpTransport

pytestmark = pytest.mark.net


def multicast_at(last: int) -> Datagrams:
    """Return a group address that other runs of this test on the machine do not use."""
    port = 20_000 + os.getpid() % 10_000
    return Datagrams(multicast=f"239.255.78.{last}:{port}", hops=0)


async def is_there_multicast(datagrams: Datagrams) -> bool:
    """Whether what is sent to a group address on loopback comes back."""
    loop = asyncio.get_running_loop()
    place = datagrams.settings(Address("127.0.0.1", 0)).multicast
    assert place is not None

    heard = loop.create_future()

    class Owner:
        def on_datagram(self, data: memoryview) -> None:
            if not heard.done():
                heard.set_result(bytes(data))

        def on_read(self) -> None: ...

        def on_room(self) -> None: ...

    try:
        socket = await UdpTransport().open(
            Address("127.0.0.1", 0), Owner(), buffer_bytes=65_536, multicast=place
        )
    except OSError:
        return False
    try:
        where = socket.place(place.address)
        assert where is not None
        socket.send(b"echo", where)
        async with asyncio.timeout(1):
            return bool(await heard == b"echo")
    except (OSError, TimeoutError):
        return False
    finally:
        socket.close()


def counts(node: Node) -> tuple[int, int]:
    """Return how many packets a node has sent, and how many of its own it got back."""
    datagrams = node.driver.datagrams
    assert datagrams is not None
    return datagrams.channel.counts.sent, datagrams.channel.counts.own


def test_packets_for_everybody_are_sent_once(loop_factory: LoopFactory) -> None:
    """By IP multicast a message is one packet, whatever the number of members."""

    async def scene() -> None:
        datagrams = multicast_at(1)
        if not await is_there_multicast(datagrams):
            pytest.skip("no IP multicast on loopback here")
        async with choir(protocol=Blocks(), datagrams=datagrams) as nodes:
            await exchange(list(nodes.values()))
            everybody = list(nodes.values())
            await until(lambda: all(counts(node)[1] for node in everybody), "all hear themselves")
            for sent, own in map(counts, everybody):
                assert 1 <= own <= sent, "all that is sent goes to everybody, and comes back"
        async with choir(protocol=Blocks()) as nodes:
            await exchange(list(nodes.values()))
            assert all(counts(node)[1] == 0 for node in nodes.values())

    play(loop_factory, scene())


def test_who_multicasts_elsewhere_is_refused(loop_factory: LoopFactory) -> None:
    """It would hear nothing of the others: both sides are named."""

    async def scene() -> str:
        here, there = multicast_at(2), multicast_at(3)
        async with (
            Process("alice", at="127.0.0.1:0", datagrams=here) as alice,
            alice.join("choir", seeds=[], protocol=Blocks()),
        ):
            bob = join(
                "choir", me="bob", at="127.0.0.1:0", seeds=[alice.address],
                protocol=Blocks(), datagrams=there, connect_s=2.0,
            )  # fmt: skip
            with pytest.raises(UsageError) as refused:
                await bob.__aenter__()
        return str(refused.value)

    said = play(loop_factory, scene())
    assert "IP multicast at 239.255.78.2:" in said
    assert "IP multicast at 239.255.78.3:" in said
    assert said.endswith("give all the same")


def test_sizes_and_pace_are_each_process_s_own(loop_factory: LoopFactory) -> None:
    """A slow line, a fast one, and small packets, in one group."""
    lines = (Datagrams(bytes_per_s=200_000), Datagrams(packet_bytes=512), None)

    async def scene() -> None:
        async with Process("alice", at="127.0.0.1:0", datagrams=lines[0]) as alice:
            others = [
                Process(name, at="127.0.0.1:0", seeds=[alice.address], datagrams=line)
                for name, line in zip(TRIO[1:], lines[1:], strict=True)
            ]
            async with (
                others[0] as bob,
                others[1] as carol,
                alice.join("choir", seeds=[], protocol=Blocks()) as a,
                bob.join("choir", protocol=Blocks()) as b,
                carol.join("choir", protocol=Blocks()) as c,
            ):
                await until(lambda: len(a.members) == 3, "all are in")
                for group in (a, b, c):
                    await group.cbcast(bytes(5_000))
                for group in (a, b, c):
                    assert await read_payloads(group, 3) == [bytes(5_000)] * 3
                ports = [process._local.datagrams for process in (alice, bob, carol)]
                sizes = [port.settings.packet_bytes_max for port in ports if port is not None]
                assert sizes == [LOOPBACK_BYTES, 512, LOOPBACK_BYTES]

    play(loop_factory, scene())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"packet_bytes": 100}, "a packet has 128 to 65,507 bytes, not 100"),
        ({"packet_bytes": "1400"}, "packet_bytes is a whole number, not '1400'"),
        ({"bytes_per_s": 0}, "rates, bursts and buffers are at least 1 byte"),
        ({"bytes_per_s": 1.5}, "bytes_per_s is a whole number, not 1.5"),
        ({"burst_bytes": None}, "burst_bytes is a whole number, not None"),
        ({"hops": 256}, "hops is a number from 0 to 255, not 256"),
        ({"multicast": "239.1.2.3"}, "address '239.1.2.3' is not of the form host:port"),
        ({"multicast": "127.0.0.1:7000"}, "multicast is a group address of IP multicast"),
        ({"multicast": "choir:7000"}, "multicast is a group address of IP multicast"),
        ({"multicast": 7000}, "multicast is an address, as text"),
        ({"interface": 1}, "interface is an address or the name of an interface"),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_given(given: dict[str, Any], said: str) -> None:
    """One sentence each."""
    with pytest.raises(UsageError) as refused:
        Datagrams(**given)
    assert str(refused.value).startswith(said)


def test_it_is_of_groups_that_use_datagrams() -> None:
    """And is given once, for all groups of a process."""
    with pytest.raises(UsageError, match="datagrams are of causal blocks"):
        join("choir", me="alice", at="127.0.0.1:0", datagrams=Datagrams())
    with pytest.raises(UsageError, match=r"datagrams is an antiphon\.Datagrams, such as"):
        Process("alice", at="127.0.0.1:0", datagrams={"hops": 1})  # type: ignore[arg-type]
    process = Process("alice", at="127.0.0.1:0")
    with pytest.raises(UsageError, match="datagrams is given once, for all groups"):
        process.join("choir", protocol=Blocks(), datagrams=Datagrams())  # type: ignore[arg-type]


def test_interface_is_the_one_that_the_process_listens_at() -> None:
    """Unless another one is named, or it listens at all of them."""
    by = Datagrams(multicast="239.255.78.9:7400")
    named = Datagrams(multicast="239.255.78.9:7400", interface="127.0.0.2")
    places = [
        by.settings(Address(host, 7001)).multicast for host in ("127.0.0.1", "0.0.0.0", "host")
    ]
    assert [place.interface for place in places if place is not None] == ["127.0.0.1", "", ""]
    other = named.settings(Address("127.0.0.1", 7001)).multicast
    assert other is not None
    assert other.interface == "127.0.0.2"

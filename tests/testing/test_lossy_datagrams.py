"""Datagrams in memory and through a lossy proxy: the dice decide, and nothing else."""

import asyncio
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.net.conftest import loop_factory  # noqa: F401 - a fixture
from tests.net.datagrams.stage import DOMAIN, SECRET, Heard, members
from tests.net.harness import LoopFactory, play, until

from antiphon import UsageError
from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.datagrams.settings import DatagramSettings
from antiphon.net.transport.address import Address, parse_address
from antiphon.net.transport.environment import current_environment
from antiphon.net.transport.interface import MulticastPlace
from antiphon.net.transport.ports import free_ports
from antiphon.testing import Cluster, DatagramFaults, LossyProxy
from antiphon.testing.datagram_faults import DatagramDice

COUNT = 2_000


def test_dice_do_what_they_are_told_and_the_same_again() -> None:
    """As many are lost, repeated and late as asked for; a seed gives the same fates."""
    faults = DatagramFaults(
        loss=0.1, duplication=0.2, reordering=0.3, delay_us=(100, 200), late_us=1_000_000
    )
    dice = DatagramDice("7")
    fates = [dice.fates_us(faults) for _ in range(10 * COUNT)]
    copies = Counter(map(len, fates))
    assert abs(copies[0] / len(fates) - 0.1) < 0.01
    assert abs(copies[2] / (copies[1] + copies[2]) - 0.2) < 0.01
    first = [each[0] for each in fates if each]
    assert abs(sum(us > 200 for us in first) / len(first) - 0.3) < 0.01
    assert all(100 <= us <= 1_000_200 for us in first)
    again = DatagramDice("7")
    assert [again.fates_us(faults) for _ in range(10 * COUNT)] == fates
    assert DatagramDice("8").fates_us(DatagramFaults()) == [0]


@pytest.mark.parametrize("wrong", [{"loss": 1.1}, {"delay_us": (2, 1)}, {"late_us": -1}])
def test_faults_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    """A chance beyond 1, a delay that ends before it begins, time that runs backward."""
    with pytest.raises(UsageError):
        DatagramFaults(**wrong)  # type: ignore[arg-type]


def run_cluster(seed: int, faults: DatagramFaults) -> tuple[list[list[bytes]], int]:
    """Let anna send to ben and carol in a cluster; return what they heard, and how many packets."""

    async def listen() -> Heard:
        environment = current_environment()
        return Heard(await DatagramPort.open(Address("127.0.0.1", 0), environment))

    with Cluster(seed) as cluster:
        cluster.datagrams.faults = faults
        cluster.datagrams.between["anna", "carol"] = DatagramFaults(loss=1.0)
        names = ("anna", "ben", "carol")
        heard = [cluster.process(name).run(listen()) for name in names]
        places = [each.port.address for each in heard]
        for rank, each in enumerate(heard):
            each.channel.learn(1, SECRET, rank, places)
            each.channel.enter(1)

        async def send() -> None:
            for number in range(COUNT):
                heard[0].channel.send([b"%d" % number])
                await asyncio.sleep(0.001)

        cluster.process("anna").run(send(), within_s=60)
        cluster.advance(1)
        cluster.raise_failures()
        assert heard[1].channel.counts.replayed == sum(
            len(fates) > 1 for fates in _fates(seed, faults)
        ), "each second copy is refused"
        for each in heard:
            each.port.close()
        return [each.said_by(0) for each in heard[1:]], cluster.datagrams.sent_count


def _fates(seed: int, faults: DatagramFaults) -> list[list[int]]:
    dice = DatagramDice(f"{seed}/anna/ben")
    return [dice.fates_us(faults) for _ in range(COUNT)]


def test_cluster_loses_repeats_and_reorders_by_its_seed() -> None:
    """By direction; what is repeated is heard once; the same seed gives the same run."""
    faults = DatagramFaults(loss=0.1, duplication=0.1, reordering=0.2, late_us=5_000)
    (ben, carol), sent = run_cluster(3, faults)
    assert carol == []
    assert sent == 2 * COUNT
    assert len(ben) == len(set(ben)) == sum(map(bool, _fates(3, faults)))
    assert ben != sorted(ben, key=int), "some were overtaken"
    assert run_cluster(3, faults) == ([ben, carol], sent)


def test_datagrams_do_not_pass_partitions_nor_reach_the_dead() -> None:
    """And one who comes back at the same address does not hear under the old key."""

    async def listen(rank: int, places: list[Address]) -> Heard:
        environment = current_environment()
        heard = Heard(await DatagramPort.open(places[rank], environment))
        heard.channel.learn(1, SECRET, rank, places)
        heard.channel.enter(1)
        return heard

    with Cluster(1) as cluster:
        names = ("anna", "ben")
        places = [parse_address(cluster.process(name).address) for name in names]
        anna, ben = (
            cluster.process(name).run(listen(rank, places)) for rank, name in enumerate(names)
        )

        async def say(word: bytes) -> None:
            anna.channel.send([word])

        acts: list[tuple[Callable[[], None], bytes]] = [
            (cluster.raise_failures, b"before"),
            (lambda: cluster.partition({"anna"}, {"ben"}), b"cut off"),
            (cluster.heal, b"after"),
            (lambda: cluster.kill("ben"), b"dead"),
        ]
        for act, word in acts:
            act()
            cluster.process("anna").run(say(word))
            cluster.advance(0.1)
        assert ben.said_by(0) == [b"before", b"after"]


@pytest.mark.net
def test_proxy_loses_by_direction_and_its_seed(loop_factory: LoopFactory) -> None:  # noqa: F811
    """Exactly what the dice of that direction say arrives; other directions do not matter."""

    async def scene() -> None:
        async with members(2) as heard:
            faults = DatagramFaults(loss=0.2, duplication=0.2, reordering=0.2, late_us=3_000)
            proxy = LossyProxy(5)
            proxy.between["anna", "ben"] = faults
            places = [
                await proxy.front(name, each.port.address)
                for name, each in zip(("anna", "ben"), heard, strict=True)
            ]
            for rank, each in enumerate(heard):
                each.channel.learn(2, SECRET, rank, places)
                each.channel.enter(2)
            anna, ben = heard
            for number in range(300):
                anna.channel.send([b"%d" % number])
                ben.channel.send([b"%d" % number])
                await asyncio.sleep(0)
            dice = DatagramDice("5/anna/ben")
            fates = [dice.fates_us(faults) for _ in range(300)]
            expected = {b"%d" % number for number, copies in enumerate(fates) if copies}
            await until(lambda: len(anna.items) == 300, "anna hears all")
            await until(lambda: set(ben.said_by(0)) == expected, "ben hears what arrives")
            twice = sum(len(copies) > 1 for copies in fates)
            await until(lambda: ben.channel.counts.replayed == twice, "second copies come")
            assert len(ben.items) == len(expected) < 300
            assert (proxy.lost_count, proxy.repeated_count) == (300 - len(expected), twice)
            await proxy.close()

    play(loop_factory, scene())


@pytest.mark.net
def test_proxy_passes_connections_on_unharmed(loop_factory: LoopFactory) -> None:  # noqa: F811
    """Both ways and to the end; to where nobody listens, the connection ends."""

    async def scene() -> None:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.read())
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        proxy = LossyProxy(5, DatagramFaults(loss=1.0))
        front = await proxy.front("ben", Address("127.0.0.1", port))
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            empty = await proxy.front("carol", Address("127.0.0.1", nobody.getsockname()[1]))
            data = bytes(range(256)) * 4_000
            for place, answer in ((front, data), (empty, b"")):
                reader, writer = await asyncio.open_connection(place.host, place.port)
                writer.write(data if answer else b"x")
                if answer:
                    writer.write_eof()
                try:
                    assert await reader.read(-1) == answer
                except ConnectionError:
                    assert not answer
                writer.close()
        await proxy.close()
        server.close()
        with pytest.raises(UsageError, match="for loopback"):
            await proxy.front("dora", Address("192.0.2.1", 7001))
        with pytest.raises(UsageError, match="not of the form host:port"):
            await proxy.front("dora", "nonsense")
        with pytest.raises(UsageError, match=r"127\.0\.0\.1:7001, not None"):
            await proxy.front("dora", None)  # type: ignore[arg-type]

    play(loop_factory, scene())


def test_group_address_reaches_all_who_hear_there() -> None:
    """IP multicast in memory: the sender hears itself, and counts that."""
    settings = DatagramSettings(multicast=MulticastPlace(address=Address("239.1.2.3", 7000)))

    async def listen() -> Heard:
        port = await DatagramPort.open(Address("127.0.0.1", 0), current_environment(), settings)
        return Heard(port)

    with Cluster(1) as cluster:
        heard = [cluster.process(name).run(listen()) for name in ("anna", "ben", "carol")]
        for rank, each in enumerate(heard):
            each.channel.learn(1, SECRET, rank, [each.port.address] * 3)
            each.channel.enter(1)

        async def say() -> None:
            heard[0].channel.send([b"hello"])

        cluster.process("anna").run(say())
        cluster.advance(0.1)
        assert [each.items for each in heard] == [[], [(1, 0, b"hello")], [(1, 0, b"hello")]]
        assert [each.channel.counts.own for each in heard] == [1, 0, 0]
        assert heard[0].channel.counts.sent == 1
        assert heard[0].channel.domain == DOMAIN


def test_line_that_is_full_makes_the_queue_wait_and_loses_nothing() -> None:
    """The system takes no more: packets wait in order, senders are told, and told again."""
    settings = DatagramSettings(queue_bytes=50_000)

    async def listen() -> Heard:
        port = await DatagramPort.open(Address("127.0.0.1", 0), current_environment(), settings)
        return Heard(port)

    with Cluster(1, delay_s=(0.001, 0.001)) as cluster:
        cluster.datagrams.bytes_per_s = 1_000_000
        anna, ben = (cluster.process(name).run(listen()) for name in ("anna", "ben"))
        places = [anna.port.address, ben.port.address]
        for rank, each in enumerate((anna, ben)):
            each.channel.learn(1, SECRET, rank, places)
            each.channel.enter(1)

        async def send() -> int:
            for number in range(200):
                if not anna.channel.has_room:
                    anna.has_room.clear()
                    await anna.has_room.wait()
                anna.channel.send([b"%d" % number + bytes(1_000)])
                anna.channel.finish()
            return anna.port.queue_bytes

        began_s = cluster.time_s
        assert cluster.process("anna").run(send()) > 25_000
        assert anna.rooms >= 2
        cluster.wait_until(lambda: len(ben.items) == 200)
        assert cluster.time_s - began_s > 0.2
        assert ben.said_by(0) == [b"%d" % number + bytes(1_000) for number in range(200)]
        assert (anna.channel.counts.overflow, anna.port.queue_bytes) == (0, 0)


@pytest.mark.net
def test_group_of_the_documentation_runs_behind_the_proxy() -> None:
    """As it is printed, but for the ports: something is lost, and all is read."""
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
    (example,) = (block for block in page.split("```python")[1:] if "LossyProxy(" in block)
    text = example.split("```")[0]
    for port in ("7001", "7002"):
        text = text.replace(port, str(free_ports(1)[0]))
    ended = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "read 100, lost True\n"), ended.stderr

"""Groups of causal blocks on real UDP sockets: loss, repetition, reordering, deaths, forgeries."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.net.harness import (
    QUICK,
    TRIO,
    LoopFactory,
    Nodes,
    choir,
    exchange,
    play,
    read_payloads,
    until,
    until_view,
    verdict_on,
)

from antiphon import Blocks, Expired, Message, Order, UsageError
from antiphon.net.process.joining import make_node
from antiphon.net.transport.address import Address
from antiphon.net.transport.ports import free_ports
from antiphon.ordering.blocks.codec import BLOCK_MAX
from antiphon.ordering.blocks.run_blocks import RESERVED_BLOCKS
from antiphon.testing.datagram_faults import DatagramFaults
from antiphon.testing.lossy_proxy import LossyProxy
from antiphon.trace.verdict import Property, Status

pytestmark = pytest.mark.net

ALL_LOST = DatagramFaults(loss=1.0)


@asynccontextmanager
async def behind_proxy(
    faults: DatagramFaults, folder: Path | None = None, **options: Any
) -> AsyncIterator[tuple[Nodes, LossyProxy]]:
    """Start three processes that find each other at the fronts of a lossy proxy."""
    proxy = LossyProxy(7, faults)
    nodes: Nodes = {}
    seeds: list[str] = []
    try:
        for name, port in zip(TRIO, free_ports(3), strict=True):
            front = await proxy.front(name, Address("127.0.0.1", port))
            nodes[name] = make_node(
                "choir", name, at=f"127.0.0.1:{port}", seeds=seeds, advertise=str(front),
                protocol=Blocks(), trace=folder, **options,
            )  # fmt: skip
            await nodes[name].start()
            seeds = seeds or [str(front)]
        for node in nodes.values():
            await until_view(node, TRIO)
        yield nodes, proxy
        await asyncio.gather(*(node.stop() for node in nodes.values()))
    finally:
        await proxy.close()


@pytest.mark.parametrize("loss", [0.0, 0.05, 0.2])
def test_what_is_lost_repeated_and_late_is_recovered(
    loss: float, loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Everybody has everything, in causal order, as the oracle finds in the journals."""
    faults = DatagramFaults(loss=loss, duplication=loss, reordering=loss, delay_us=(0, 500))

    async def scene() -> None:
        async with behind_proxy(faults, tmp_path) as (nodes, proxy):
            for number in range(40):
                for name, node in nodes.items():
                    await node.group.cbcast(f"{name} {number}".encode())
                await asyncio.sleep(0.001)
            for node in nodes.values():
                assert len(set(await read_payloads(node.group, 120))) == 120
            assert proxy.arrived_count > 50
            assert bool(proxy.lost_count) == bool(loss)

    play(loop_factory, scene())
    verdict = verdict_on(tmp_path)
    held = {item.property for item in verdict.properties if item.status is Status.HOLDS}
    assert held >= {Property.CAUSAL, Property.AGREEMENT, Property.VIEW_ATOMIC, Property.LIVENESS}


def test_message_that_reached_one_survives_its_sender(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Carol dies right after her message has reached Bob: Alice gets it, too."""

    async def scene() -> None:
        async with behind_proxy(DatagramFaults(), tmp_path, timing=QUICK) as (nodes, proxy):
            proxy.between["carol", "alice"] = proxy.between["bob", "alice"] = ALL_LOST
            carol = nodes.pop("carol")
            await carol.group.cbcast(b"last words")
            assert await read_payloads(nodes["bob"].group, 1) == [b"last words"]
            await carol.process.close()
            assert await read_payloads(nodes["alice"].group, 1) == [b"last words"]

    play(loop_factory, scene())
    verdict_on(tmp_path)


def test_whatever_else_arrives_is_counted_and_harms_nobody(loop_factory: LoopFactory) -> None:
    """Noise, packets that are cut or changed, and repeated ones."""

    async def scene() -> None:
        async with choir(protocol=Blocks()) as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            port = alice.process.datagrams
            assert port is not None
            heard: list[bytes] = []
            take = port.on_datagram

            def overhear(data: memoryview) -> None:
                heard.append(bytes(data))
                take(data)

            port.on_datagram = overhear  # type: ignore[method-assign]
            await bob.group.cbcast(b"heard")
            assert await read_payloads(alice.group, 1) == [b"heard"]
            packet = heard[0]
            renumbered = packet[:24] + b"\xc8" + packet[25:]
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                for data in (packet, packet[:20], renumbered, b"noise", bytes(50_000)):
                    stranger.sendto(data, (alice.address.host, alice.address.port))
            driver = alice.driver.datagrams
            assert driver is not None
            counts = driver.channel.counts
            await until(lambda: counts.replayed and counts.forged, "they are counted")
            public = alice.group.datagram_counts
            assert (public.replayed, public.forged) == (counts.replayed, counts.forged)
            assert public.cut == port.counts.cut
            assert public.dropped >= 4
            assert port.counts.cut + port.counts.other_version + port.counts.other_group >= 2
            assert await read_payloads(bob.group, 1) == [b"heard"]
            assert await read_payloads(nodes["carol"].group, 1) == [b"heard"]
            await exchange(list(nodes.values()))

    play(loop_factory, scene())


def test_port_that_another_program_has_is_named(loop_factory: LoopFactory) -> None:
    """Datagrams come to the port of the listener: if that is taken, it says so."""

    async def scene() -> None:
        (port,) = free_ports(1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", port))
            node = make_node("choir", "alice", at=f"127.0.0.1:{port}", protocol=Blocks())
            with pytest.raises(UsageError, match="cannot be had for datagrams"):
                await node.start()

    play(loop_factory, scene())


def test_lifetimes_and_priorities_are_the_applications(loop_factory: LoopFactory) -> None:
    """What came too late is read as expired, in its place; who had it in time reads it."""

    async def scene() -> None:
        async with behind_proxy(DatagramFaults()) as (nodes, proxy):
            proxy.between["alice", "carol"] = proxy.between["bob", "carol"] = ALL_LOST
            await nodes["alice"].group.multicast(b"late", priority=3, lifetime_s=0.1)
            await nodes["alice"].group.cbcast(b"lasting")
            assert await read_payloads(nodes["bob"].group, 2) == [b"late", b"lasting"]
            await asyncio.sleep(0.2)
            proxy.between.clear()
            seen: list[object] = []
            async for event in nodes["carol"].group:
                if isinstance(event, Expired | Message):
                    seen.append(event)
                if len(seen) == 2:
                    break
            assert seen == [Expired("alice", 1), Message("alice", 2, b"lasting")]

    play(loop_factory, scene())


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"lifetime_s": 0}, "more than 0"),
        ({"lifetime_s": -1.0}, "more than 0"),
        ({"lifetime_s": "1"}, "more than 0"),
        ({"priority": 8}, "from 0 to 7"),
        ({"priority": None}, "from 0 to 7"),
        ({"priority": []}, "from 0 to 7"),
        ({"priority": 0.0}, "from 0 to 7"),
        ({"priority": False}, "from 0 to 7"),
        ({"priority": 1, "order": Order.TOTAL}, "neither total order"),
        ({"priority": 1, "uniform": True}, "neither total order"),
        ({"lifetime_s": 1.0, "uniform": True}, "neither total order"),
    ],
)
def test_what_cannot_be_is_refused(
    options: dict[str, Any], what: str, loop_factory: LoopFactory
) -> None:
    """Before anything is sent, with what would do."""

    async def scene() -> None:
        node = make_node("choir", "alice", at="127.0.0.1:0", protocol=Blocks())
        await node.start()
        with pytest.raises(UsageError, match=what):
            await node.group.multicast(b"x", **options)
        with pytest.raises(UsageError, match="limit of causal blocks"):
            await node.group.cbcast(bytes(2_000_000))
        await node.stop()
        vector = make_node("choir", "alice", at="127.0.0.1:0")
        await vector.start()
        with pytest.raises(UsageError, match="causal blocks"):
            await vector.group.multicast(b"x", lifetime_s=1.0)
        await vector.stop()

    play(loop_factory, scene())


def test_where_numbers_run_out_it_is_said_and_nothing_is_lost(loop_factory: LoopFactory) -> None:
    """Who multicasts is refused before it is taken; what was taken comes; a new view has more."""

    async def scene() -> None:
        async with behind_proxy(DatagramFaults()) as (nodes, _):
            alice, bob = nodes["alice"], nodes["bob"].group
            for node in nodes.values():
                member = node.driver.member
                assert member is not None
                assert member.blocks is not None
                machine = member.blocks.group.machine
                assert machine is not None
                machine.matrix.counter = BLOCK_MAX - RESERVED_BLOCKS
            await alice.group.cbcast(b"the last")
            await alice.group.cbcast(b"of its run")
            assert await read_payloads(bob, 2) == [b"the last", b"of its run"]
            for refused in (alice.group.cbcast, bob.call, partial(bob.multicast, priority=1)):
                with pytest.raises(UsageError, match="used up the 4,294,967,295 block numbers"):
                    await refused(b"one more")
            await alice.group.send("bob", b"a letter")
            await nodes.pop("carol").stop()
            await until_view(alice, TRIO[:2])
            await until_view(nodes["bob"], TRIO[:2])
            await alice.group.cbcast(b"in the next")
            assert await read_payloads(bob, 1) == [b"in the next"]

    play(loop_factory, scene())

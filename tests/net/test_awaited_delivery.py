"""``abcast`` awaited for its delivery: what a state machine needs to answer whoever asked."""

import asyncio

import pytest
from tests.net.harness import QUICK, LoopFactory, choir, play, until

from antiphon import ExcludedError, Message
from antiphon.net.process.node import Node

pytestmark = pytest.mark.net


async def read(node: Node, heard: list[Message]) -> None:
    """Read all messages of a member."""
    async for message in node.group.messages():
        heard.append(message)  # noqa: PERF401 - others look meanwhile


async def keep_asking(node: Node) -> None:
    """Multicast again and again."""
    for _ in range(1_000):
        await node.group.abcast(b"?", until_delivered=True)
        await asyncio.sleep(0)


def test_message_is_returned_in_its_place_in_the_order(loop_factory: LoopFactory) -> None:
    """Each as its readers see it, also among equal ones; and all members in one order."""

    async def scene() -> None:
        async with choir() as nodes:
            heard: dict[str, list[Message]] = {name: [] for name in nodes}
            readers = [
                asyncio.ensure_future(read(node, heard[node.name])) for node in nodes.values()
            ]
            waits = [
                node.group.abcast(payload, until_delivered=True)
                for payload in (b"", b"a", b"a", b"equal" * 50)
                for node in nodes.values()
            ]
            await nodes["bob"].group.abcast(b"a")  # nobody waits for this one
            delivered = await asyncio.gather(*waits)
            await until(lambda: all(len(said) == 13 for said in heard.values()), "all have all")
            assert len(set(map(tuple, heard.values()))) == 1
            assert len({(item.sender, item.number) for item in delivered if item}) == 12
            assert set(delivered) < set(heard["alice"])
            for reader in readers:
                reader.cancel()

    play(loop_factory, scene())


def test_who_drops_out_before_is_told(loop_factory: LoopFactory) -> None:
    """Nobody waits for ever for what can no longer be known here."""

    async def scene() -> None:
        async with choir(timing=QUICK) as nodes:
            carol = nodes["carol"]
            for name in ("alice", "bob"):
                network = nodes[name].incarnation
                peer = nodes[name].driver.mesh.peers[carol.driver.process.bare()]
                network.on_dead(peer, "a test says so")
            with pytest.raises(ExcludedError):
                await keep_asking(carol)

    play(loop_factory, scene())

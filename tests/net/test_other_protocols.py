"""Groups with a protocol of their own, on sockets: chosen alike, refused where it does not fit."""

import asyncio
from pathlib import Path

import pytest
from tests.net.harness import (
    QUICK,
    LoopFactory,
    Nodes,
    address_of,
    choir,
    exchange,
    play,
    read_payloads,
    until,
    verdict_on,
)

import antiphon
from antiphon import Committer, Order, Overlay, Process, UsageError
from antiphon.net.process.joining import make_node
from antiphon.net.process.node import Node

pytestmark = pytest.mark.net

SIXTEEN = [f"p{number:02}" for number in range(16)]


async def _crash(node: Node) -> None:
    """End a process without a word to the others."""
    await node.process.close()


async def _sing(nodes: Nodes, said: str, rounds: int) -> None:
    """Let everybody answer what the one before has said."""
    for number in range(rounds):
        for name, node in nodes.items():
            await node.group.cbcast(f"{said} {number} {name}".encode())
            if number % 2:
                await asyncio.sleep(0)


@pytest.mark.parametrize("topology", ["incomplete-hypercube", "ring", "tree"])
def test_sixteen_processes_lose_nothing_when_some_crash(
    topology: str, loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """One dies while all multicast, then two at once; who survives has what survivors said."""

    async def scene() -> None:
        async with choir(
            SIXTEEN, folder=tmp_path, protocol=Overlay(topology), timing=QUICK
        ) as nodes:
            await _sing(nodes, "one", 3)
            await _crash(nodes.pop("p05"))
            await _sing(nodes, "two", 3)
            await asyncio.gather(_crash(nodes.pop("p00")), _crash(nodes.pop("p12")))
            await _sing(nodes, "three", 3)
            left = list(nodes.values())
            await until(
                lambda: all(
                    node.local_group.view and len(node.local_group.view.members) == 13
                    for node in left
                ),
                "all who are left are in a view without the dead",
            )
            for node in left:
                await node.group.cbcast(b"end")
            for node in left:
                ended = 0
                async with asyncio.timeout(10):
                    async for message in node.group.messages():
                        ended += message.payload == b"end"
                        if ended == len(left):
                            break

    play(loop_factory, scene())
    verdict_on(tmp_path)


def test_joiners_letters_and_calls_go_on_as_in_other_groups(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Only the way of multicasts is another one."""

    async def scene() -> None:
        names = SIXTEEN[:5]
        async with choir(names, folder=tmp_path, protocol=Overlay(), timing=QUICK) as nodes:
            await exchange(list(nodes.values()))
            joiner = make_node(
                "choir", "zoe", at="127.0.0.1:0", seeds=[address_of(nodes["p01"])],
                protocol=Overlay("hypercube"), trace=tmp_path, timing=QUICK,
            )  # fmt: skip
            await joiner.start()
            await until(lambda: len(nodes["p00"].group.members) == 6, "zoe is in")
            await exchange([*nodes.values(), joiner])
            await joiner.group.send("p03", b"only you")
            assert await read_payloads(nodes["p03"].group, 0) == []
            await joiner.stop()

    play(loop_factory, scene())
    verdict_on(tmp_path)


def test_what_the_protocol_cannot_give_is_refused(loop_factory: LoopFactory) -> None:
    """At the call, with the reason; the group goes on."""

    async def scene() -> None:
        async with choir(SIXTEEN[:3], protocol=Overlay()) as nodes:
            group = nodes["p00"].group
            with pytest.raises(UsageError, match="neither total order nor uniform delivery"):
                await group.abcast(b"x")
            with pytest.raises(UsageError, match="neither total order nor uniform delivery"):
                await group.abcast(b"x", until_delivered=True)
            with pytest.raises(UsageError, match="neither total order nor uniform delivery"):
                await group.call(b"x", order=Order.TOTAL)
            with pytest.raises(UsageError, match="neither total order nor uniform delivery"):
                await group.multicast(b"x", order=Order.CAUSAL, uniform=True)
            await exchange(list(nodes.values()))
        handle = antiphon.join("g", me="a", at="127.0.0.1:0", protocol=Overlay())
        with pytest.raises(UsageError, match="neither total order nor uniform delivery"):
            Committer(handle)

    play(loop_factory, scene())


def test_protocol_excludes_a_domain_and_other_flushes(loop_factory: LoopFactory) -> None:
    """A group with a protocol of its own is alone in its domain, and leaves views in one way."""

    async def scene() -> None:
        async with Process("alice", at="127.0.0.1:0") as alice:
            with pytest.raises(UsageError, match="give domain or protocol, not both"):
                alice.join("g", domain="d", protocol=Overlay())
            with pytest.raises(UsageError, match="view-atomic"):
                alice.join("g", flush="coordinator", protocol=Overlay())
            async with alice.join("g", seeds=[], protocol=Overlay()) as group:
                await group.cbcast(b"alone")
                async for message in group.messages():
                    assert message.payload == b"alone"
                    break

    play(loop_factory, scene())

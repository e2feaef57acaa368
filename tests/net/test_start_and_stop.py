"""From start to stop: what is left when members leave together, one by one, or in a hurry."""

import asyncio
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.net.harness import (
    TRIO,
    LoopFactory,
    address_of,
    choir,
    exchange,
    free_addresses,
    make_choir,
    play,
    read,
    read_payloads,
    rows_of,
    start_all,
    stop_all,
    until,
    until_view,
    verdict_on,
)
from tests.net.raw_peer import infiltrated

from antiphon import Group, Message, UsageError, View, join
from antiphon.net.process.joining import make_node
from antiphon.net.process.node import Node
from antiphon.net.session import mesh
from antiphon.trace.schema import LEFT
from antiphon.trace.verdict import Property, Status

pytestmark = pytest.mark.net


async def _read_all(group: Group) -> list[Message]:
    return [message async for message in group.messages()]


def _endings(folder: Path, names: Sequence[str] = TRIO) -> list[tuple[str, str]]:
    rows = [rows_of(folder, name)[-1] for name in names]
    return [(row.kind, row.detail) for row in rows]


def test_members_that_leave_together_agree(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """All journals end with a leave, and everything multicast was delivered by everyone."""

    async def scene() -> None:
        async with choir(folder=tmp_path, delay_s_max=0.01) as nodes:
            for number in range(100):
                await nodes[TRIO[number % 3]].group.cbcast(b"%d" % number)
                await asyncio.sleep(0)

    play(loop_factory, scene())
    assert _endings(tmp_path) == [("stop", LEFT)] * 3
    verdict = verdict_on(tmp_path)
    assert verdict.delivery_count == 300
    not_asked = {Property.TOTAL, Property.TOTAL_CAUSAL, Property.UNIFORM, Property.COMMIT}
    for item in verdict.properties:
        assert item.status is (Status.UNKNOWN if item.property in not_asked else Status.HOLDS), item


def test_views_and_messages_come_in_one_stream(loop_factory: LoopFactory) -> None:
    """A view says who came and went, and stands between the messages of the views around it."""

    async def scene() -> None:
        async with choir() as nodes:
            alice, bob, carol = nodes.values()
            await exchange([alice, bob, carol])
            await carol.group.cbcast(b"goodbye")
            await carol.stop()
            await until_view(alice, ["alice", "bob"])
            await bob.group.cbcast(b"gone")
            events = []
            async for event in alice.group:
                events.append(event)
                if isinstance(event, Message):
                    break
            async for event in alice.group:
                events.append(event)
                if isinstance(event, Message):
                    break
            assert events == [
                Message("carol", 2, b"goodbye"),
                View(2, ("alice", "bob"), left=("carol",)),
                Message("bob", 1, b"gone"),
            ]
            assert alice.group.view == events[1]
            assert alice.group.members == ("alice", "bob")

    play(loop_factory, scene())


def test_stream_begins_with_the_first_view(loop_factory: LoopFactory) -> None:
    """Whoever reads events or batches meets it; whoever reads messages does not."""

    async def scene() -> None:
        async with choir() as nodes:
            first = View(1, TRIO)
            async for event in nodes["alice"].group:
                assert event == first
                break
            async for batch in nodes["bob"].group.batches():
                assert batch == first
                break
            await exchange(list(nodes.values()))

    play(loop_factory, scene())


def test_messages_become_stable_when_all_have_them(loop_factory: LoopFactory) -> None:
    """Soon after everybody has received them, every member knows it."""

    async def scene() -> None:
        async with choir() as nodes:
            for node in nodes.values():
                assert node.group.stability() == dict.fromkeys(TRIO, 0)
            await nodes["alice"].group.cbcast_many([b"la"] * 10)
            expected = {"alice": 10, "bob": 0, "carol": 0}
            await until(
                lambda: all(node.group.stability() == expected for node in nodes.values()),
                "all is stable",
            )
            alice = nodes["alice"].group
            assert [alice.k_stable(k) for k in (1, 2, 3)] == [10, 10, 0]
            wrong: list[Any] = [0, -1, 1.0, "1", True, None]
            for k in wrong:
                with pytest.raises(UsageError, match=f"k is a number of other members, .*{k!r}"):
                    alice.k_stable(k)

    play(loop_factory, scene())


def test_one_that_leaves_lets_the_others_go_on(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """It is left out of the next view, as one that left; nobody suspects anybody."""

    async def scene() -> None:
        async with choir(folder=tmp_path) as nodes:
            alice, bob, carol = nodes.values()
            await exchange([alice, bob, carol])
            await alice.stop()
            for node in (bob, carol):
                await until_view(node, ["bob", "carol"])
                assert node.group.view.left == ("alice",)
            await exchange([bob, carol])

    play(loop_factory, scene())
    assert _endings(tmp_path) == [("stop", LEFT)] * 3
    for name in TRIO:
        assert not [row for row in rows_of(tmp_path, name) if row.kind == "suspect"]
    last_views = [[r for r in rows_of(tmp_path, name) if r.kind == "view"][-1] for name in TRIO]
    assert last_views[0].members == ["bob", "carol"]
    verdict_on(tmp_path)


@pytest.mark.parametrize("repetition", range(4))
def test_everything_multicast_before_a_leave_arrives(
    repetition: int, loop_factory: LoopFactory
) -> None:
    """Though the others still send, and buffers are full, a leaving member's last words arrive."""
    last_words = [bytes([number]) * 40_000 for number in range(100)]

    async def scene() -> None:
        async with choir() as nodes:
            alice, bob, carol = nodes.values()
            chatter = [asyncio.ensure_future(_chatter(node)) for node in (bob, carol)]
            readers = [asyncio.ensure_future(_read_all(node.group)) for node in (alice, bob, carol)]
            await until(lambda: bob.local_group.stream.reader, "bob reads")
            await alice.group.cbcast_many(last_words)
            await alice.stop()
            for node in (bob, carol):
                await until_view(node, ["bob", "carol"])
            for task in chatter:
                task.cancel()
            await stop_all([bob, carol])
            for everything in (await asyncio.gather(*readers))[1:]:
                heard = [message.payload for message in everything if message.sender == "alice"]
                assert heard == last_words

    play(loop_factory, scene())


async def _chatter(node: Node) -> None:
    while True:
        await node.group.cbcast_many([bytes(20_000)] * 4)
        await asyncio.sleep(0)


def test_error_inside_the_block_still_leaves_in_order(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """What was multicast before the error is sent, the leave is agreed on, the error comes out."""

    async def scene() -> None:
        async with choir(["alice", "bob"], folder=tmp_path) as nodes:
            with pytest.raises(ZeroDivisionError):
                await _fail_inside(nodes["alice"])
            assert await read_payloads(nodes["bob"].group, 1) == [b"last"]
            await until_view(nodes["bob"], ["bob"])

    play(loop_factory, scene())
    assert _endings(tmp_path, ["alice", "bob"]) == [("stop", LEFT)] * 2


async def _fail_inside(node: Node) -> None:
    try:
        await node.group.cbcast(b"last")
        raise ZeroDivisionError
    finally:
        await node.group.__aexit__()


def test_cancelled_stop_still_closes_everything(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """Who cannot wait for the others is found gone; its journal says that it did not leave."""

    async def scene() -> None:
        async with choir(folder=tmp_path) as nodes:
            alice, bob, carol = nodes.values()
            leaving = asyncio.ensure_future(alice.stop())
            await asyncio.sleep(0)
            leaving.cancel()
            await asyncio.wait([leaving])
            await until_view(bob, ["bob", "carol"])
            await exchange([bob, carol])

    play(loop_factory, scene())
    ending = ("stop", "stopped without the others' agreement")
    assert _endings(tmp_path) == [ending, ("stop", LEFT), ("stop", LEFT)]
    verdict_on(tmp_path)


def test_stop_is_harmless_at_any_time(loop_factory: LoopFactory) -> None:
    """Before the start and after a stop it does nothing."""

    async def scene() -> None:
        node = make_node("solo", "alice", members=free_addresses(["alice"]))
        await node.stop()
        await node.start()
        await node.group.cbcast(b"la")
        await node.stop()
        await node.stop()
        assert [message.payload for message in await _read_all(node.group)] == [b"la"]

    play(loop_factory, scene())


def test_member_that_never_closes_cannot_hold_up_a_stop(
    loop_factory: LoopFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A peer that answers nothing and keeps its side open is waited for briefly, then cut off."""
    monkeypatch.setattr(mesh, "LINGER_S", 0.05)

    async def scene() -> None:
        async with infiltrated(tmp_path, drain_s=0.1) as group:
            await stop_all(group.honest)

    play(loop_factory, scene())
    stopped = "stopped without the others' agreement"
    assert _endings(tmp_path, ["alice", "bob"]) == [("stop", stopped)] * 2


def test_connection_reset_while_stopping_is_no_error(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """A stranger that resets its connection in the very moment of the stop goes unnoticed."""

    async def scene() -> None:
        addresses = free_addresses(["alice"])
        node = make_node("solo", "alice", members=addresses, trace=tmp_path)
        await node.start()
        host, port = address_of(node).split(":")
        stranger = socket.create_connection((host, int(port)))
        await until(lambda: node.process.listener._links, "the stranger is connected")
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stranger.close()
        await node.stop()

    play(loop_factory, scene())
    assert _endings(tmp_path, ["alice"]) == [("stop", LEFT)]


def test_port_is_free_again_after_a_stop(loop_factory: LoopFactory) -> None:
    """The same group can be founded at the same addresses at once, again and again."""

    async def scene() -> None:
        addresses = free_addresses()
        for _ in range(3):
            nodes = list(make_choir(addresses).values())
            await start_all(nodes)
            await exchange(nodes)
            await stop_all(nodes)

    play(loop_factory, scene())


def test_group_of_one_talks_to_itself(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """A member alone joins, multicasts, reads and leaves like any other."""

    async def scene() -> list[Message]:
        async with join("solo", me="alice", at="127.0.0.1:0", trace=tmp_path) as group:
            assert (group.me, group.members, group.name) == ("alice", ("alice",), "solo")
            await group.cbcast(b"la")
            return await read(group, 1)

    assert play(loop_factory, scene()) == [Message("alice", 1, b"la")]
    assert _endings(tmp_path, ["alice"]) == [("stop", LEFT)]
    verdict_on(tmp_path)


def test_view_asked_for_too_early_is_a_usage_error() -> None:
    """Before the group has been entered there is none, and a sentence says what to do."""
    group = join("solo", me="alice", at="127.0.0.1:0")
    with pytest.raises(UsageError, match="has not entered group solo: write `async with"):
        _ = group.view

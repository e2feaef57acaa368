"""From start to stop: what is left when members stop together, one by one, or are killed."""

import asyncio
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.net.harness import (
    TRIO,
    LoopFactory,
    address_of,
    choir,
    exchange,
    free_addresses,
    play,
    read,
    read_payloads,
    rows_of,
    until,
)
from tests.net.processes import running
from tests.net.raw_peer import RawPeer, farewell, infiltrated, run, runs

from antiphon import Group, Message, join
from antiphon.core.frames import Bye, Runs, decode_frame
from antiphon.net import mesh
from antiphon.net.node import Node
from antiphon.sim.oracle import judge
from antiphon.trace.reader import read_rows
from antiphon.trace.verdict import Property, Status

pytestmark = pytest.mark.net

LEFT_EARLY = "left before the others had finished"


async def _read_all(group: Group) -> list[Message]:
    return [message async for message in group]


async def _let_go(node: Node) -> None:
    await until(
        lambda: 0 in node._mesh._said_bye and 0 not in node._mesh._links,
        f"{node.name} has let alice go",
    )


async def _notice_loss(node: Node) -> None:
    await until(lambda: node.group.lost, f"{node.name} has noticed a loss")


def _endings(folder: Path, names: Sequence[str] = TRIO) -> list[tuple[str, str]]:
    rows = [rows_of(folder, name)[-1] for name in names]
    return [(row.kind, row.detail) for row in rows]


def _suspects(folder: Path, name: str) -> list[str]:
    return [row.sender for row in rows_of(folder, name) if row.kind == "suspect"]


def test_members_that_stop_together_agree(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """All journals end in quiescence, and everything multicast was delivered by everyone."""

    async def scene() -> None:
        async with choir(folder=tmp_path, delay_s_max=0.01) as nodes:
            for number in range(100):
                await nodes[TRIO[number % 3]].group.cbcast(b"%d" % number)
                await asyncio.sleep(0)

    play(loop_factory, scene())
    assert _endings(tmp_path) == [("stop", "quiescent")] * 3
    verdict = judge(read_rows(tmp_path))
    assert verdict.delivery_count == 300
    for item in verdict.properties:
        assert (item.status, item.reason) == (Status.HOLDS, ""), item


def test_first_to_stop_hears_the_others_out(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """A stop waits: what the others multicast until they stop as well is delivered here too."""

    async def scene() -> None:
        async with choir(folder=tmp_path) as nodes:
            leaving = asyncio.ensure_future(nodes["alice"].stop())
            await until(lambda: nodes["bob"]._mesh._said_bye, "bob has heard alice's farewell")
            await nodes["bob"].group.cbcast_many([b"la"] * 50)
            assert not leaving.done()
        await leaving
        assert len(await _read_all(nodes["alice"].group)) == 50

    play(loop_factory, scene())
    assert _endings(tmp_path) == [("stop", "quiescent")] * 3
    assert not judge(read_rows(tmp_path)).is_violated


def test_one_that_leaves_early_says_so_and_the_others_go_on(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Its stop row says it left early; nobody suspects anybody, and the others end well."""

    async def scene() -> None:
        async with choir(folder=tmp_path, drain_s=0.05) as nodes:
            await exchange(list(nodes.values()))
            await nodes["alice"].stop()
            await _let_go(nodes["bob"])
            await _let_go(nodes["carol"])
            await exchange([nodes["bob"], nodes["carol"]])
            assert not any(node.group.lost for node in nodes.values())

    play(loop_factory, scene())
    assert _endings(tmp_path) == [("stop", LEFT_EARLY)] + [("stop", "quiescent")] * 2
    assert not any(_suspects(tmp_path, name) for name in TRIO)
    verdict = judge(read_rows(tmp_path))
    assert not verdict.is_violated
    assert "alice" in verdict.of(Property.AGREEMENT).reason


def test_member_that_came_and_left_before_the_last_arrived_is_not_missed(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Alice has everybody and leaves while bob still waits for carol: bob starts, and hears her."""

    async def scene() -> None:
        addresses = free_addresses()
        trace = tmp_path / "events"
        alice, bob = (Node("choir", name, addresses, trace=trace, drain_s=0.0) for name in TRIO[:2])
        starts = [asyncio.ensure_future(node.start()) for node in (alice, bob)]
        peers = [await RawPeer.join(addresses["alice"])]
        await starts[0]
        await alice.group.cbcast(b"I was here")
        leaving = asyncio.ensure_future(alice.stop())
        await _let_go(bob)
        peers.append(await RawPeer.join(addresses["bob"]))
        await starts[1]
        assert await read_payloads(bob.group, 1) == [b"I was here"]
        assert not bob.group.lost
        for peer in peers:
            await peer.close()
        await asyncio.gather(leaving, bob.stop())

    play(loop_factory, scene())
    assert not _suspects(tmp_path, "alice")


@pytest.mark.parametrize("repetition", range(4))
def test_everything_multicast_before_a_stop_arrives(
    repetition: int, loop_factory: LoopFactory
) -> None:
    """Though the others still send, and buffers are full, a leaving member's last words arrive."""
    last_words = [bytes([number]) * 40_000 for number in range(100)]

    async def scene() -> None:
        async with choir(drain_s=0.0) as nodes:
            alice, bob, carol = nodes.values()
            chatter = [asyncio.ensure_future(_chatter(node)) for node in (bob, carol)]
            readers = [asyncio.ensure_future(_read_all(node.group)) for node in (alice, bob, carol)]
            await until(lambda: bob.group.stream.reader, "bob reads")
            await alice.group.cbcast_many(last_words)
            await alice.stop()
            for node in (bob, carol):
                await _let_go(node)
                assert not node.group.lost
            for task in chatter:
                task.cancel()
            await asyncio.gather(bob.stop(), carol.stop())
            for everything in (await asyncio.gather(*readers))[1:]:
                heard = [message.payload for message in everything if message.sender == "alice"]
                assert heard == last_words

    play(loop_factory, scene())


def test_last_words_reach_a_member_that_is_slow_to_read_and_still_sends(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leaving side ends its stream and reads on: a reset would destroy what is on its way."""
    monkeypatch.setattr(mesh, "LINGER_S", 10.0)
    last_words = [bytes([number]) * 20_000 for number in range(100)]

    async def scene() -> None:
        async with infiltrated(drain_s=0.0) as group:
            alice, carol = group.nodes["alice"], group.to["alice"]
            reading = asyncio.ensure_future(_read_all(alice.group))
            await until(lambda: alice.group.stream.reader, "alice reads herself")
            await alice.group.cbcast_many(last_words)
            leaving = asyncio.ensure_future(alice.stop())
            await until(lambda: alice._mesh._is_closing, "alice is leaving")
            for number in range(1, 100):
                await carol.send(runs(run(number, payloads=[bytes(1000)])))
            heard = []
            while isinstance(frame := decode_frame(await carol.hear_frame()), Runs):
                heard += [payload for each in frame.runs for payload in each.payloads]
            assert heard == last_words
            assert isinstance(frame, Bye)
            assert await carol.hear_end() == b""
            await carol.close()
            await leaving
            await reading

    play(loop_factory, scene())


async def _chatter(node: Node) -> None:
    while True:
        await node.group.cbcast_many([bytes(20_000)] * 4)
        await asyncio.sleep(0)


def test_error_inside_the_block_still_stops_in_order(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """What was multicast before the error is sent, the farewell too, and the error comes out."""

    async def scene() -> None:
        async with choir(["alice", "bob"], folder=tmp_path) as nodes:
            with pytest.raises(ZeroDivisionError):
                await _fail_inside(nodes["alice"])
            assert await read_payloads(nodes["bob"].group, 1) == [b"last"]
            assert not nodes["bob"].group.lost

    play(loop_factory, scene())


async def _fail_inside(node: Node) -> None:
    node._drain_s = 0.0
    try:
        await node.group.cbcast(b"last")
        raise ZeroDivisionError
    finally:
        await node.group.__aexit__()


def test_cancelled_stop_still_closes_everything(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """Who cannot wait for the others leaves early: the links close, and the journal says so."""

    async def scene() -> None:
        async with choir(folder=tmp_path) as nodes:
            leaving = asyncio.ensure_future(nodes["alice"].stop())
            await until(lambda: nodes["bob"]._mesh._said_bye, "alice waits for the others")
            leaving.cancel()
            await asyncio.wait([leaving])
            assert leaving.cancelled()
            await _let_go(nodes["bob"])
            await exchange([nodes["bob"], nodes["carol"]])

    play(loop_factory, scene())
    assert _endings(tmp_path, ["alice"]) == [("stop", LEFT_EARLY)]


def test_stop_is_harmless_at_any_time(loop_factory: LoopFactory) -> None:
    """Before the start and after a stop it does nothing."""

    async def scene() -> None:
        node = Node("solo", "alice", free_addresses(["alice"]))
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
    """A peer that said bye and keeps its side open is waited for briefly, then cut off."""
    monkeypatch.setattr(mesh, "LINGER_S", 0.05)

    async def scene() -> None:
        async with infiltrated(tmp_path) as group:
            for peer in group.to.values():
                await peer.send(farewell())
            await asyncio.gather(*(node.stop() for node in group.honest))

    play(loop_factory, scene())
    assert _endings(tmp_path, ["alice", "bob"]) == [("stop", "quiescent")] * 2


def test_connection_reset_while_stopping_is_no_error(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """A stranger that resets its connection in the very moment of the stop goes unnoticed."""

    async def scene() -> None:
        node = Node("solo", "alice", free_addresses(["alice"]), trace=tmp_path / "events")
        await node.start()
        host, port = address_of(node).split(":")
        stranger = socket.create_connection((host, int(port)))
        await until(lambda: node._mesh._accepted, "the stranger is connected")
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stranger.close()
        await node.stop()

    play(loop_factory, scene())
    assert _endings(tmp_path, ["alice"]) == [("stop", "quiescent")]


def test_port_is_free_again_after_a_stop(loop_factory: LoopFactory) -> None:
    """The same group can be started at the same addresses at once, again and again."""

    async def scene() -> None:
        addresses = free_addresses()
        for _ in range(3):
            nodes = [Node("choir", name, addresses) for name in TRIO]
            await asyncio.gather(*(node.start() for node in nodes))
            await exchange(nodes)
            await asyncio.gather(*(node.stop() for node in nodes))

    play(loop_factory, scene())


def test_group_of_one_talks_to_itself(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """A member alone joins, multicasts, reads and stops like any other."""

    async def scene() -> list[Message]:
        members = free_addresses(["alice"])
        async with join("solo", me="alice", members=members, trace=tmp_path) as group:
            assert (group.me, group.members, group.name) == ("alice", ("alice",), "solo")
            await group.cbcast(b"la")
            return await read(group, 1)

    assert play(loop_factory, scene()) == [Message("alice", 1, b"la")]
    assert _endings(tmp_path, ["alice"]) == [("stop", "quiescent")]


MEMBER = "tests/net/endless_member.py"


def test_killed_member_is_noted_and_the_others_go_on(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """After kill -9 of a process that had said its say, the others suspect it and go on."""

    async def scene() -> None:
        addresses = free_addresses()
        nodes = [Node("choir", name, addresses, trace=tmp_path / "events") for name in TRIO[:2]]
        carol = {"me": "carol", "members": addresses, "trace": str(tmp_path), "count": 20}
        with running(MEMBER, carol) as process:
            await asyncio.gather(*(node.start() for node in nodes))
            for node in nodes:
                await read(node.group, 20)
            process.kill()
            for node in nodes:
                await _notice_loss(node)
                assert list(node.group.lost) == ["carol"]
        await exchange(nodes)
        await asyncio.gather(*(node.stop() for node in nodes))

    play(loop_factory, scene())
    assert _suspects(tmp_path, "alice") == _suspects(tmp_path, "bob") == ["carol"]
    assert _endings(tmp_path, TRIO[:2]) == [("stop", LEFT_EARLY)] * 2
    assert not judge(read_rows(tmp_path)).is_violated


def test_process_killed_in_full_song_leaves_a_readable_journal(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """What it had flushed is there, without a stop row, and nothing in the trace contradicts it."""

    async def scene() -> None:
        addresses = free_addresses()
        nodes = [Node("choir", name, addresses, trace=tmp_path / "events") for name in TRIO[:2]]
        carol = {"me": "carol", "members": addresses, "trace": str(tmp_path), "pause_s": 0.002}
        journal = tmp_path / "events" / "carol" / "000001.ndjson"
        with running(MEMBER, carol) as process:
            await asyncio.gather(*(node.start() for node in nodes))
            readers = [asyncio.ensure_future(_read_all(node.group)) for node in nodes]
            await until(lambda: b"multicast" in journal.read_bytes(), "carol has flushed")
            process.kill()
            for node in nodes:
                await _notice_loss(node)
        await asyncio.gather(*(node.stop() for node in nodes))
        await asyncio.gather(*readers)

    play(loop_factory, scene())
    rows = rows_of(tmp_path, "carol")
    assert {row.kind for row in rows} >= {"start", "view", "multicast", "deliver"}
    assert "stop" not in {row.kind for row in rows}
    assert not judge(read_rows(tmp_path)).is_violated

"""Members that die, sleep, come back, or are cut off: the others agree, and lose nothing."""

import asyncio
import json
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.net.harness import (
    DEADLINE_S,
    QUICK,
    TRIO,
    LoopFactory,
    choir,
    exchange,
    free_addresses,
    make_choir,
    play,
    read,
    rows_of,
    start_all,
    stop_all,
    until,
    until_view,
    verdict_on,
)
from tests.net.processes import running

from antiphon import ExcludedError, Group, Message, Timing, UsageError, View
from antiphon.net.process.joining import make_node
from antiphon.net.process.node import Node
from antiphon.stack.settings import Limits
from antiphon.trace.schema import LEFT

pytestmark = pytest.mark.net

MEMBER = "tests/net/endless_member.py"
_TIMING = json.dumps({"heartbeat_us": QUICK.heartbeat_us, "timeout_us": QUICK.timeout_us})


def _carol(addresses: dict[str, str], folder: Path, **options: Any) -> dict[str, Any]:
    """Return the arguments of carol, as a process of her own."""
    join = {"me": "carol", "members": addresses, "trace": str(folder)} | options
    return {"join": join, "timing": _TIMING, "pause_s": 0.005}


def _seniors(addresses: dict[str, str], folder: Path) -> list[Node]:
    nodes = make_choir(addresses, folder=folder, timing=QUICK)
    return [nodes["alice"], nodes["bob"]]


async def _keep_reading(group: Group) -> list[Message | View]:
    """Read to the end, which may be an exclusion."""
    events: list[Message | View] = []
    with suppress(ExcludedError):
        async for event in group:
            assert isinstance(event, Message | View), "nobody sends letters here"
            events.append(event)
    return events


def _views(events: Sequence[Message | View]) -> list[View]:
    return [event for event in events if isinstance(event, View)]


def test_killed_member_is_out_of_the_view_at_once(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """After kill -9 nobody waits for a timeout: that nobody listens any more is proof enough."""

    async def scene() -> float:
        addresses = free_addresses()
        nodes = _seniors(addresses, tmp_path)
        with running(MEMBER, _carol(addresses, tmp_path)) as process:
            await start_all(nodes)
            readers = [asyncio.ensure_future(_keep_reading(node.group)) for node in nodes]
            journal = tmp_path / "events" / "carol" / "000001.ndjson"
            await until(
                lambda: journal.exists() and b"multicast" in journal.read_bytes(),
                "carol has flushed",
            )
            killed_at = time.monotonic()
            process.kill()
            for node in nodes:
                await until_view(node, ["alice", "bob"])
            took_s = time.monotonic() - killed_at
        await stop_all(nodes)
        for events in await asyncio.gather(*readers):
            assert _views(events)[1].failed == ("carol",)
        return took_s

    assert play(loop_factory, scene()) < QUICK.timeout_us / 1e6
    verdict_on(tmp_path)
    assert [rows_of(tmp_path, name)[-1].detail for name in ("alice", "bob")] == [LEFT] * 2
    rows = rows_of(tmp_path, "carol")
    assert {row.kind for row in rows} >= {"start", "view", "multicast", "deliver"}
    assert "stop" not in {row.kind for row in rows}


def test_member_that_slept_too_long_learns_that_it_is_out(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """After SIGSTOP and SIGCONT its stream ends with an ExcludedError; the others went on."""

    async def scene() -> str:
        addresses = free_addresses()
        nodes = _seniors(addresses, tmp_path)
        with running(MEMBER, _carol(addresses, tmp_path)) as process:
            await start_all(nodes)
            readers = [asyncio.ensure_future(_keep_reading(node.group)) for node in nodes]
            await until(lambda: nodes[0].group.stability()["carol"] > 5, "carol has been heard")
            process.send_signal(signal.SIGSTOP)
            for node in nodes:
                await until_view(node, ["alice", "bob"])
            process.send_signal(signal.SIGCONT)
            await until(lambda: process.poll() is not None, "carol has given up")
            said, _ = process.communicate()
        await nodes[0].group.cbcast(b"still here")
        await stop_all(nodes)
        await asyncio.gather(*readers)
        return said

    assert play(loop_factory, scene()).startswith("ExcludedError: carol is out of group choir")
    verdict_on(tmp_path)
    assert "gone on without" in rows_of(tmp_path, "carol")[-1].detail


def test_member_that_slept_too_long_comes_back_as_a_new_incarnation(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """With rejoin=True it is back as carol~2, by itself, and sings on."""

    async def scene() -> None:
        addresses = free_addresses()
        nodes = _seniors(addresses, tmp_path)
        with running(MEMBER, _carol(addresses, tmp_path, rejoin=True)) as process:
            await start_all(nodes)
            readers = [asyncio.ensure_future(_keep_reading(node.group)) for node in nodes]
            await until(lambda: nodes[0].group.stability()["carol"] > 5, "carol has been heard")
            process.send_signal(signal.SIGSTOP)
            await until_view(nodes[0], ["alice", "bob"])
            process.send_signal(signal.SIGCONT)
            for node in nodes:
                await until_view(node, ["alice", "bob", "carol~2"])
            await until(lambda: nodes[1].group.stability()["carol~2"] > 5, "carol~2 sings")
            process.send_signal(signal.SIGTERM)
            await until_view(nodes[0], ["alice", "bob"])
            await until(lambda: process.poll() is not None, "carol~2 has left")
        await stop_all(nodes)
        first, second = await asyncio.gather(*readers)
        assert {event.sender for event in first if isinstance(event, Message)} == {
            "carol", "carol~2",
        }  # fmt: skip
        assert _views(first)[:4] == _views(second)[:4]

    play(loop_factory, scene())
    verdict_on(tmp_path)
    assert rows_of(tmp_path, "carol~2")[-1].detail == LEFT


@pytest.mark.parametrize("way", ["members", "seeds"])
def test_restarted_process_is_a_new_incarnation_at_its_old_address(
    way: str, loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Killed and started again at once, as a founder or through a seed: it joins as carol~2."""

    async def scene() -> None:
        addresses = free_addresses()
        nodes = _seniors(addresses, tmp_path)
        again = _carol(addresses, tmp_path)
        if way == "seeds":
            del again["join"]["members"]
            again["join"] |= {"at": addresses["carol"], "seeds": [addresses["bob"]]}
        with running(MEMBER, _carol(addresses, tmp_path)) as process:
            await start_all(nodes)
            readers = [asyncio.ensure_future(_keep_reading(node.group)) for node in nodes]
            await until(lambda: nodes[0].group.stability()["carol"] > 5, "carol has been heard")
            process.kill()
        with running(MEMBER, again) as process:
            for node in nodes:
                await until_view(node, ["alice", "bob", "carol~2"])
            await until(lambda: nodes[0].group.stability()["carol~2"] > 5, "carol~2 sings")
            process.send_signal(signal.SIGTERM)
            await until_view(nodes[0], ["alice", "bob"])
            await until(lambda: process.poll() is not None, "carol~2 has left")
        await stop_all(nodes)
        await asyncio.gather(*readers)

    play(loop_factory, scene())
    verdict_on(tmp_path)


def test_founder_that_is_the_senior_comes_back_too(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """It dials nobody by itself, but asks: and joins those who go on without it."""

    async def scene() -> None:
        addresses = free_addresses()
        nodes = make_choir(addresses, folder=tmp_path, timing=QUICK)
        await start_all(list(nodes.values()))
        await nodes["alice"].stop()
        again = make_node("choir", "alice", members=addresses, trace=tmp_path, timing=QUICK)
        await again.start()
        assert again.group.me == "alice~2"
        everybody = [nodes["bob"], nodes["carol"], again]
        for node in everybody:
            await until_view(node, ["bob", "carol", "alice~2"])
        await exchange(everybody)
        await stop_all(everybody)

    play(loop_factory, scene())
    verdict_on(tmp_path)


def _cut(one: Node, other: Node) -> None:
    """Cut the connection between two nodes, and whatever is on its way."""
    link = one.driver.mesh.peers[other.driver.process.bare()].link
    if link is not None and link._transport is not None:
        link._transport.abort()


@pytest.mark.parametrize("seed", range(3))
def test_cut_connections_lose_nothing_and_change_no_view(
    seed: int, loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Connections are cut again and again under load; every message arrives once, in order."""
    count = 300
    random = Random(seed)

    async def scene() -> None:
        async with choir(folder=tmp_path) as nodes:

            async def sing(node: Node) -> None:
                for number in range(count):
                    await node.group.cbcast(b"%d" % number + bytes(random.randrange(2000)))
                    await asyncio.sleep(0.001)

            async def cut() -> None:
                while True:
                    one, other = random.sample(TRIO, 2)
                    _cut(nodes[one], nodes[other])
                    await asyncio.sleep(random.random() * 0.05)

            cutting = asyncio.ensure_future(cut())
            reading = [asyncio.ensure_future(read(n.group, 3 * count)) for n in nodes.values()]
            await asyncio.gather(*(sing(node) for node in nodes.values()))
            for heard in await asyncio.gather(*reading):
                for name in TRIO:
                    numbers = [message.number for message in heard if message.sender == name]
                    assert numbers == list(range(1, count + 1))
            cutting.cancel()
            assert {node.group.view.number for node in nodes.values()} == {1}

    play(loop_factory, scene())
    verdict_on(tmp_path)
    assert not [row for name in TRIO for row in rows_of(tmp_path, name) if row.kind == "suspect"]


def test_joiner_enters_a_busy_group_between_two_messages(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """It hears everything from its first view on, as the others do, and nothing from before."""

    async def scene() -> None:
        async with choir(folder=tmp_path) as nodes:
            singing = [asyncio.ensure_future(_sing(node)) for node in nodes.values()]
            readers = [asyncio.ensure_future(_keep_reading(n.group)) for n in nodes.values()]
            await until(lambda: nodes["alice"].group.stability()["bob"] > 10, "they sing")
            dave = make_node("choir", "dave", at="127.0.0.1:0", trace=tmp_path,
                             seeds=[str(nodes["bob"].address)])  # fmt: skip
            await dave.start()
            hearing = asyncio.ensure_future(_keep_reading(dave.group))
            await until(lambda: dave.group.stability()["alice"] > 10, "dave hears them")
            await dave.group.cbcast(b"me too")
            for task in singing:
                task.cancel()
            await stop_all([*nodes.values(), dave])
            first, *_ = heard = await hearing
            assert isinstance(first, View)
            assert (first.number, first.joined) == (2, ("dave",))
            assert {m.sender for m in heard if isinstance(m, Message)} == {*TRIO, "dave"}
            for events in await asyncio.gather(*readers):
                assert first in events

    play(loop_factory, scene())
    verdict_on(tmp_path)


async def _sing(node: Node) -> None:
    while True:
        await node.group.cbcast_many([b"la"] * 5)
        await asyncio.sleep(0.002)


def test_group_grows_from_one_through_any_seed(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """One founds it; others join through whoever is there, several at a time."""

    async def scene() -> None:
        founder = make_node("choir", "m0", at="127.0.0.1:0", trace=tmp_path)
        await founder.start()
        nodes = [founder]
        for wave in ((1,), (2, 3), (4, 5, 6)):
            seeds = [str(nodes[-1].address)]
            fresh = [
                make_node("choir", f"m{n}", at="127.0.0.1:0", seeds=seeds, trace=tmp_path)
                for n in wave
            ]
            await start_all(fresh)
            nodes += fresh
        assert sorted(founder.group.members) == [f"m{n}" for n in range(7)]
        for node in nodes:
            await until_view(node, founder.group.members)
        await exchange(nodes)
        assert founder.group.view.number <= 7
        await stop_all(nodes)

    play(loop_factory, scene())
    verdict_on(tmp_path)


def test_leave_during_a_flush_is_a_leave(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """One member is killed and two leave in the same moment: all of it is agreed on."""

    async def scene() -> None:
        addresses = free_addresses(("alice", "bob", "erin", "fred", "carol"))
        nodes = make_choir(addresses, folder=tmp_path, timing=QUICK)
        del nodes["carol"]
        with running(MEMBER, _carol(addresses, tmp_path)) as process:
            await start_all(list(nodes.values()))
            singing = [asyncio.ensure_future(_sing(node)) for node in nodes.values()]
            readers = [asyncio.ensure_future(_keep_reading(n.group)) for n in nodes.values()]
            await until(lambda: nodes["alice"].group.stability()["carol"] > 5, "carol is there")
            process.kill()
            await asyncio.sleep(0)
            for task in singing:
                task.cancel()
            await stop_all([nodes["alice"], nodes["erin"]])
            for name in ("bob", "fred"):
                await until_view(nodes[name], ["bob", "fred"])
            await stop_all([nodes["bob"], nodes["fred"]])
            await asyncio.gather(*readers)

    play(loop_factory, scene())
    verdict_on(tmp_path)
    names = ("alice", "bob", "erin", "fred")
    assert [rows_of(tmp_path, name)[-1].detail for name in names] == [LEFT] * 4


def test_minority_is_blocked_and_says_so(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """Two of three die together: the third is told, multicasts nothing, and may still stop."""

    async def scene() -> None:
        addresses = free_addresses()
        nodes = make_choir(addresses, folder=tmp_path, timing=QUICK, drain_s=0.2)
        alice = nodes["alice"]
        options = [_carol(addresses, tmp_path, me=name) for name in ("bob", "carol")]
        with running(MEMBER, options[0]) as bob, running(MEMBER, options[1]) as carol:
            await alice.start()
            reading = asyncio.ensure_future(_keep_reading(alice.group))
            bob.kill()
            carol.kill()
            await until(lambda: not alice.group.view.primary, "alice is blocked")
            sending = asyncio.ensure_future(alice.group.cbcast_many([bytes(1000)] * 1000))
            await asyncio.sleep(0.1)
            assert not sending.done()
            await alice.stop()
            with pytest.raises(UsageError, match="is not in group choir now"):
                await sending
        assert _views(await reading)[-1] == View(
            1, ("alice",), primary=False, missing=("bob", "carol")
        )

    play(loop_factory, scene())
    rows = rows_of(tmp_path, "alice")
    assert "block" in {row.kind for row in rows}
    assert rows[-1].detail == "stopped without the others' agreement"
    verdict_on(tmp_path)


def test_member_that_takes_nothing_for_too_long_is_given_up(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A member whose application never reads holds senders up for so long, and no longer."""
    monkeypatch.setattr("antiphon.net.stream.stream.UNREAD_BYTES_MAX", 200_000)

    async def scene() -> None:
        nodes = make_choir(
            free_addresses(), folder=tmp_path, drain_s=1.0, timing=Timing(stall_us=300_000),
            limits=Limits(unstable_bytes=400_000),
        )  # fmt: skip
        alice, bob, carol = nodes.values()
        await start_all([alice, bob, carol])
        readers = [asyncio.ensure_future(_keep_reading(node.group)) for node in (alice, bob)]
        await until(lambda: alice.local_group.stream.reader, "alice reads herself")
        async with asyncio.timeout(DEADLINE_S / 2):
            while alice.group.view.number == 1:
                await alice.group.cbcast(bytes(10_000))
        assert alice.group.view.failed == ("carol",)
        with pytest.raises(ExcludedError, match="carol is out of group choir"):
            async for _ in carol.group:
                pass
        with pytest.raises(ExcludedError):
            await carol.group.cbcast(b"anybody?")
        await stop_all([alice, bob, carol])
        await asyncio.gather(*readers)

    play(loop_factory, scene())
    verdict_on(tmp_path)

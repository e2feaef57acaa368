"""State transfer on real sockets: what a joiner starts with, and what goes wrong."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.net.harness import (
    TRIO,
    LoopFactory,
    address_of,
    choir,
    free_addresses,
    play,
    start_all,
    stop_all,
    until,
    until_view,
    verdict_on,
)

from antiphon import Batch, StateError, UsageError
from antiphon.net.process.joining import make_node
from antiphon.net.process.node import Node

pytestmark = pytest.mark.net


class Tally:
    """An application whose state is what it has read, in any order."""

    def __init__(self, *, ballast: int = 0) -> None:
        """Start empty; saved states are heavier by ``ballast`` bytes."""
        self.read: set[bytes] = set()
        self.ballast = ballast
        self.saves = self.pieces = 0
        self.gate = asyncio.Event()
        self.gate.set()

    def save(self) -> Iterable[bytes]:
        """Return every payload, each a piece."""
        self.saves += 1
        return [bytes(self.ballast), *sorted(self.read)]

    async def load(self, pieces: AsyncIterator[bytes]) -> None:
        """Take over what others have read, as fast as the gate lets through."""
        self.read = set()
        async for piece in pieces:
            self.pieces += 1
            await self.gate.wait()
            if piece.strip(b"\0"):
                self.read.add(piece)


async def follow(node: Node, tally: Tally) -> None:
    """Read a group into a tally."""
    async for event in node.group.batches():
        if isinstance(event, Batch):
            tally.read.update(event.payloads)


async def talk(node: Node, stop: asyncio.Event) -> int:
    """Multicast different messages until told to stop; return how many."""
    count = 0
    while not stop.is_set():
        await node.group.cbcast(f"{node.name} {count}".encode())
        count += 1
        await asyncio.sleep(0.001)
    return count


def joiner(seed: Node, tally: Tally | None, name: str = "dora", **options: Any) -> Node:
    """Return a node that joins through ``seed``."""
    address = free_addresses([name])[name]
    return make_node("choir", name, at=address, seeds=[address_of(seed)], state=tally, **options)


def test_joiner_of_a_talking_group_misses_nothing(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """State and stream together make what the others have read, though all talk all the time."""

    async def scene() -> None:
        tallies = {name: Tally() for name in ("alice", "bob", "dora")}
        alice_state = tallies["alice"]
        async with choir(("alice", "bob"), folder=tmp_path, state=alice_state) as nodes:
            stop = asyncio.Event()
            tasks = [asyncio.ensure_future(follow(nodes["alice"], tallies["alice"]))]
            tasks.append(asyncio.ensure_future(follow(nodes["bob"], tallies["bob"])))
            talkers = [asyncio.ensure_future(talk(node, stop)) for node in nodes.values()]
            await until(lambda: len(tallies["bob"].read) > 50, "there is something to transfer")
            dora = joiner(nodes["alice"], tallies["dora"], trace=tmp_path)
            await dora.start()
            assert len(tallies["dora"].read) > 50
            tasks.append(asyncio.ensure_future(follow(dora, tallies["dora"])))
            talkers.append(asyncio.ensure_future(talk(dora, stop)))
            await asyncio.sleep(0.2)
            stop.set()
            total = sum(await asyncio.gather(*talkers))
            for name, tally in tallies.items():
                await until(lambda tally=tally: len(tally.read) == total, f"{name} has read all")  # type: ignore[misc]
            await dora.stop()
        await asyncio.gather(*tasks)
        assert tallies["alice"].saves == 1

    play(loop_factory, scene())
    verdict_on(tmp_path)


def test_state_is_saved_where_the_reader_is(loop_factory: LoopFactory) -> None:
    """A donor whose application lags behind saves when it comes to the view, not before."""

    async def scene() -> None:
        tallies = {name: Tally() for name in ("alice", "dora")}
        async with choir(("alice", "bob"), state=tallies["alice"]) as nodes:
            for number in range(20):
                await nodes["bob"].group.cbcast(f"early {number}".encode())
            dora = joiner(nodes["alice"], tallies["dora"])
            entering = asyncio.ensure_future(dora.start())
            await until_view(nodes["alice"], ("alice", "bob", "dora"))
            assert not tallies["alice"].saves
            tasks = [asyncio.ensure_future(follow(nodes["alice"], tallies["alice"]))]
            await entering
            assert len(tallies["dora"].read) == 20
            tasks.append(asyncio.ensure_future(follow(dora, tallies["dora"])))
            await nodes["bob"].group.cbcast(b"late")
            await until(lambda: len(tallies["dora"].read) == 21, "dora has all")
            await dora.stop()
        await asyncio.gather(*tasks)

    play(loop_factory, scene())


def test_large_state_does_not_stop_the_others(loop_factory: LoopFactory) -> None:
    """While megabytes wait for a slow joiner, the group talks as if nobody had come."""

    async def scene() -> None:
        tally, slow = Tally(ballast=8_000_000), Tally()
        slow.gate.clear()
        async with choir(("alice", "bob"), state=tally) as nodes:
            tasks = [asyncio.ensure_future(follow(node, tally)) for node in nodes.values()]
            dora = joiner(nodes["alice"], slow)
            entering = asyncio.ensure_future(dora.start())
            await until_view(nodes["bob"], ("alice", "bob", "dora"))
            await until(lambda: slow.pieces == 1, "the joiner has begun to load")
            for number in range(200):
                await nodes["bob"].group.cbcast(f"meanwhile {number}".encode())
            await until(lambda: len(tally.read) == 200, "the others have read it")
            assert slow.pieces == 1
            assert not entering.done()
            slow.gate.set()
            await entering
            tasks.append(asyncio.ensure_future(follow(dora, slow)))
            await until(lambda: len(slow.read) == 200, "the joiner has read it too")
            await dora.stop()
        await asyncio.gather(*tasks)

    play(loop_factory, scene())


def test_donor_that_leaves_midway_is_followed_by_another(loop_factory: LoopFactory) -> None:
    """The joiner loads the state of the next donor, from its beginning."""

    async def scene() -> None:
        tallies = {name: Tally(ballast=4_000_000) for name in ("alice", "bob", "dora")}
        tallies["dora"].gate.clear()
        addresses = free_addresses(("alice", "bob"))
        nodes = {
            name: make_node("choir", name, members=addresses, state=tallies[name])
            for name in addresses
        }
        await asyncio.gather(*(node.start() for node in nodes.values()))
        tasks = [asyncio.ensure_future(follow(nodes[name], tallies[name])) for name in nodes]
        await nodes["bob"].group.cbcast(b"before")
        await until(lambda: b"before" in tallies["alice"].read, "alice has read it")
        dora = joiner(nodes["bob"], tallies["dora"])
        entering = asyncio.ensure_future(dora.start())
        await until(lambda: tallies["dora"].pieces, "the joiner has begun to load")
        await nodes["alice"].stop()
        await until_view(nodes["bob"], ("bob", "dora"))
        tallies["dora"].gate.set()
        await entering
        tasks.append(asyncio.ensure_future(follow(dora, tallies["dora"])))
        await nodes["bob"].group.cbcast(b"after")
        await until(lambda: tallies["dora"].read == {b"before", b"after"}, "dora has all")
        assert (tallies["alice"].saves, tallies["bob"].saves) == (1, 1)
        await asyncio.gather(dora.stop(), nodes["bob"].stop())
        await asyncio.gather(*tasks)

    play(loop_factory, scene())


def test_excluded_member_comes_back_with_the_state_of_the_others(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """What it missed while it was out, it gets with the state; its stream goes on from there."""

    async def scene() -> None:
        addresses = free_addresses(TRIO)
        tallies = {name: Tally() for name in addresses}
        nodes = {
            name: make_node(
                "choir", name, members=addresses, state=tallies[name], rejoin=True, trace=tmp_path
            )
            for name in addresses
        }
        await start_all(list(nodes.values()))
        tasks = [asyncio.ensure_future(follow(nodes[name], tallies[name])) for name in nodes]
        await nodes["bob"].group.cbcast(b"before")
        await until(lambda: all(tally.read for tally in tallies.values()), "all have read it")
        carol = next(
            peer for peer in nodes["alice"].driver.outlet.members if peer.process.name[0] == "c"
        )
        nodes["alice"].incarnation.on_dead(carol, "a test says so")
        await nodes["bob"].group.cbcast(b"meanwhile")
        await until_view(nodes["alice"], ("alice", "bob", "carol~2"))
        await nodes["bob"].group.cbcast(b"after")
        expected = {b"before", b"meanwhile", b"after"}
        await until(lambda: all(tally.read == expected for tally in tallies.values()), "all agree")
        assert tallies["alice"].saves == 1
        await stop_all(list(nodes.values()))
        await asyncio.gather(*tasks)

    play(loop_factory, scene())
    verdict_on(tmp_path)


def test_state_that_cannot_be_loaded_is_an_error_of_the_joiner(loop_factory: LoopFactory) -> None:
    """Entering fails with what went wrong, and the group goes on as before."""

    class Picky(Tally):
        async def load(self, pieces: AsyncIterator[bytes]) -> None:
            async for _ in pieces:
                message = "this is not my format"
                raise ValueError(message)

    async def scene() -> None:
        tally = Tally(ballast=1_000_000)
        async with choir(("alice", "bob"), state=tally) as nodes:
            tasks = [asyncio.ensure_future(follow(node, tally)) for node in nodes.values()]
            dora = joiner(nodes["alice"], Picky())
            with pytest.raises(StateError, match=r"cannot be loaded \(ValueError: this is not my"):
                await dora.start()
            await until_view(nodes["alice"], ("alice", "bob"))
            await nodes["alice"].group.cbcast(b"still here")
            await until(lambda: b"still here" in tally.read, "the group goes on")
        await asyncio.gather(*tasks)

    play(loop_factory, scene())


def test_joiner_without_a_state_is_refused_by_a_group_with_one(loop_factory: LoopFactory) -> None:
    """All members give their state, or none does; the sentence says so."""

    async def scene() -> None:
        async with choir(("alice", "bob"), state=Tally()) as nodes:
            with pytest.raises(UsageError, match="gives its state to those that join"):
                await joiner(nodes["alice"], None).start()

    play(loop_factory, scene())

"""Whoever multicasts without a pause lets its event loop read, whatever it multicasts."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from time import monotonic

import pytest
from tests.net.harness import LoopFactory, choir, play, until

from antiphon import Group, Message, Order
from antiphon.net.group.collecting import CUTS_PER_YIELD

pytestmark = pytest.mark.net

DUET = ("alice", "bob")
COUNT = 4_000


async def _in_two_orders(group: Group, number: int) -> None:
    await group.multicast(b"x" * 50, Order.FIFO if number % 2 else Order.CAUSAL)


async def _in_batches(group: Group, number: int) -> None:
    await group.multicast_many([b"x" * 50] * 2, Order.TOTAL if number % 2 else Order.CAUSAL)


async def _uniform_or_not(group: Group, number: int) -> None:
    await group.multicast(b"x" * 50, uniform=number % 2 == 0)


async def _between_letters(group: Group, number: int) -> None:
    if number % 20:
        await group.cbcast(b"x" * 50)
    else:
        await group.send("bob", b"for you")


@pytest.mark.parametrize("say", [_in_two_orders, _in_batches, _uniform_or_not, _between_letters])
def test_sender_that_cuts_its_runs_lets_others_have_turns(
    say: Callable[[Group, int], Awaitable[None]], loop_factory: LoopFactory
) -> None:
    """Between two turns of another task it multicasts only so often; nobody is suspected."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (node.group for node in nodes.values())
            heard = {"alice": 0, "bob": 0}

            async def read(group: Group) -> None:
                async for event in group:
                    heard[group.me] += isinstance(event, Message)

            said = 0
            turns = [0]
            """How often alice had multicast when another task had its turn."""

            async def watch() -> None:
                while True:
                    turns.append(said)
                    await asyncio.sleep(0)

            readers = [asyncio.ensure_future(read(group)) for group in (alice, bob)]
            watching = asyncio.ensure_future(watch())
            for number in range(COUNT):
                await say(alice, number)
                said = number + 1
            watching.cancel()
            await until(lambda: heard["alice"] == heard["bob"] > COUNT // 2, "bob has it all")
            turns.append(COUNT)
            assert max(after - before for before, after in pairwise(turns)) <= 20 * CUTS_PER_YIELD
            assert alice.view.number == 1
        await asyncio.gather(*readers)

    play(loop_factory, scene())


def test_reader_that_begins_after_the_sender_is_heard_of_in_time(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sender in two orders by turns is not told that nobody reads, before anybody could."""
    monkeypatch.setattr("antiphon.net.stream.stream.UNREAD_BYTES_MAX", 100_000)

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (node.group for node in nodes.values())

            async def read(group: Group) -> None:
                async for _ in group:
                    pass

            readers = [asyncio.ensure_future(read(group)) for group in (alice, bob)]
            for number in range(COUNT):
                await _in_two_orders(alice, number)
        await asyncio.gather(*readers)

    play(loop_factory, scene())


def test_reader_whose_application_computes_lets_others_have_turns(
    loop_factory: LoopFactory,
) -> None:
    """Also within one run of many messages: else it would seem dead while it reads."""

    async def scene() -> int:
        async with choir(DUET) as nodes:
            alice, bob = (node.group for node in nodes.values())
            count = 0
            turns = [0]

            async def watch() -> None:
                while True:
                    turns.append(count)
                    await asyncio.sleep(0)

            watching = asyncio.ensure_future(watch())
            await alice.cbcast_many([b"x"] * 200)
            async for _ in bob.messages():
                count += 1
                end = monotonic() + 0.004
                while monotonic() < end:
                    pass
                if count == 200:
                    break
            watching.cancel()
            return max(after - before for before, after in pairwise(turns))

    assert play(loop_factory, scene()) <= 4

"""Buffers as messages: copied when they are handed over, whatever becomes of them afterwards."""

import asyncio
from array import array
from collections.abc import Callable
from typing import Any

import pytest
from tests.net.harness import LoopFactory, choir, play, read
from tests.net.test_committing import enter, house, leave

from antiphon import Group, Letter, Order, Request, UsageError
from antiphon.core.records import PAYLOAD_BYTES_MAX

pytestmark = pytest.mark.net

DUET = ("alice", "bob")

SENDS: dict[str, Callable[[Group, Any], Any]] = {
    "cbcast": lambda group, payload: group.cbcast(payload),
    "abcast": lambda group, payload: group.abcast(payload),
    "multicast": lambda group, payload: group.multicast(payload, Order.FIFO),
    "cbcast_many": lambda group, payload: group.cbcast_many([b"la", payload]),
    "abcast_many": lambda group, payload: group.abcast_many([b"la", payload]),
    "multicast_many": lambda group, payload: group.multicast_many([b"la", payload]),
}


@pytest.mark.parametrize("view", [False, True], ids=["bytearray", "memoryview"])
@pytest.mark.parametrize("how", SENDS)
def test_buffer_is_delivered_as_it_was_when_handed_over(
    how: str, view: bool, loop_factory: LoopFactory
) -> None:
    """What the sender writes into it next, nobody reads; not even the sender itself."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            buffer = bytearray(b"first")
            await SENDS[how](nodes["alice"].group, memoryview(buffer) if view else buffer)
            buffer[:] = b"later"
            for name in DUET:
                messages = await read(nodes[name].group, 2 if "many" in how else 1)
                assert messages[-1].payload == b"first"
                assert type(messages[-1].payload) is bytes

    play(loop_factory, scene())


def test_strange_views_are_taken_byte_by_byte(loop_factory: LoopFactory) -> None:
    """Every second byte, and numbers of four bytes."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            group = nodes["alice"].group
            numbers = array("I", [1, 2])
            await group.cbcast_many([memoryview(b"abcdef")[::2], memoryview(numbers)])
            said = [message.payload for message in await read(nodes["bob"].group, 2)]
            assert said == [b"ace", numbers.tobytes()]
            with pytest.raises(UsageError, match="above the limit"):
                await group.cbcast(bytearray(PAYLOAD_BYTES_MAX + 1))

    play(loop_factory, scene())


def test_letter_may_be_a_buffer(loop_factory: LoopFactory) -> None:
    """As a multicast may."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            buffer = bytearray(b"first")
            await nodes["alice"].group.send("bob", buffer)
            buffer[:] = b"later"
            events = aiter(nodes["bob"].group)
            letters = [await anext(events) for _ in range(2)]
            assert letters[-1] == Letter("alice", b"first")

    play(loop_factory, scene())


@pytest.mark.parametrize("how", ["now", "later", "read"])
def test_question_and_answer_may_be_buffers(how: str, loop_factory: LoopFactory) -> None:
    """Asked with one, answered with one: by a function, a coroutine, or a reader."""

    def answer(_who: str, what: bytes) -> bytearray:
        assert type(what) is bytes
        return bytearray(what.upper())

    async def answer_later(who: str, what: bytes) -> memoryview:
        await asyncio.sleep(0)
        return memoryview(answer(who, what))

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (nodes[name].group for name in DUET)
            if how != "read":
                bob.answer_calls(answer if how == "now" else answer_later)

            async def serve() -> None:
                async for event in bob:
                    if isinstance(event, Request):
                        event.answer(answer("", event.payload))

            serving = asyncio.ensure_future(serve())
            replies = await alice.call(bytearray(b"how much?"))
            assert replies.answers == {"bob": b"HOW MUCH?"}
            serving.cancel()
            await asyncio.wait([serving])

    play(loop_factory, scene())


def test_body_of_a_transaction_may_be_a_buffer(loop_factory: LoopFactory) -> None:
    """The resources get bytes."""

    async def scene() -> None:
        found = house(DUET)
        await enter(found)
        ending = await found.committers["alice"].begin(memoryview(b"30"))
        assert ending.is_committed
        await leave(found)
        for diary in found.diaries.values():
            assert diary.entries[0] == "prepare 30"

    play(loop_factory, scene())

"""Handlers: what answers calls may be slow, wrong or broken, and harms nobody but its caller."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from tests.net.harness import TRIO, LoopFactory, choir, play, until
from tests.net.test_calling import echo, serve

from antiphon import (
    Answered,
    Group,
    IndefiniteCallError,
    Message,
    Order,
    Refused,
    UsageError,
)

pytestmark = pytest.mark.net

NAMES = TRIO


class Unprintable(Exception):  # noqa: N818 - it is an application's
    """Says nothing, not even that."""

    def __str__(self) -> str:
        """Fail."""
        message = "no words"
        raise RuntimeError(message)


def _look_up_what_was_cancelled(_caller: str, _payload: bytes) -> bytes:
    gone: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    gone.cancel()
    return gone.result()


async def _wait_for_what_was_cancelled(_caller: str, _payload: bytes) -> bytes:
    gone: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    gone.cancel()
    return await gone


def _raise_unprintable(_caller: str, _payload: bytes) -> bytes:
    raise Unprintable


def _forget_to_return(_caller: str, _payload: bytes) -> Any:
    return None


BROKEN: dict[str, tuple[Callable[[str, bytes], bytes | Awaitable[bytes]], str]] = {
    "plain, cancelled": (_look_up_what_was_cancelled, "CancelledError"),
    "coroutine, cancelled": (_wait_for_what_was_cancelled, "CancelledError"),
    "unprintable": (_raise_unprintable, "Unprintable"),
    "no answer": (
        _forget_to_return,
        "its answer is not bytes, but NoneType: encode it first",
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_broken_handler_loses_nothing_of_what_came_with_its_request(
    how: str, loop_factory: LoopFactory
) -> None:
    """One list of the token holder releases a request and messages together: all are read."""
    handler, why = BROKEN[how]

    async def scene() -> None:
        async with choir(NAMES, token="fixed") as nodes:
            bob, carol = nodes["bob"].group, nodes["carol"].group
            read: list[bytes] = []
            readers = serve([nodes["alice"], nodes["carol"]], echo)
            bob.answer_calls(handler)
            readers.append(asyncio.ensure_future(_read(bob, read)))
            await asyncio.sleep(0.05)
            asked = asyncio.ensure_future(carol.call(b"?", timeout_s=5.0, order=Order.TOTAL))
            await asyncio.sleep(0)
            for number in range(3):
                await carol.abcast(b"%d" % number)
            await carol.cbcast(b"end")
            with pytest.raises(IndefiniteCallError) as raised:
                await asked
            assert raised.value.replies["bob"] == Refused(why)
            assert raised.value.replies["alice"] == Answered(b"?")
            await until(lambda: read == [b"0", b"1", b"2", b"end"], "bob has read everything")
        await asyncio.gather(*readers)

    play(loop_factory, scene())


async def _read(group: Group, said: list[bytes]) -> None:
    async for event in group:
        if isinstance(event, Message):
            said.append(event.payload)  # noqa: PERF401 - as it comes


def test_handler_that_turns_out_to_wait_keeps_its_place(loop_factory: LoopFactory) -> None:
    """What follows a request is read when its handler is done, also the first time."""
    seen: list[bytes] = []

    class Slow:
        """A handler that nobody can tell from a plain one."""

        async def __call__(self, _caller: str, payload: bytes) -> bytes:
            """Take some time."""
            await asyncio.sleep(0.1)
            seen.append(payload)
            return payload

    async def scene() -> None:
        async with choir(NAMES[:2]) as nodes:
            alice, bob = (node.group for node in nodes.values())
            bob.answer_calls(Slow())
            reader = asyncio.ensure_future(_read(bob, seen))
            await asyncio.sleep(0.05)
            for number in range(2):
                asked = asyncio.ensure_future(alice.call(b"c%d" % number, timeout_s=5.0))
                await asyncio.sleep(0.02)
                await alice.cbcast(b"m%d" % number)
                await asked
            await until(lambda: len(seen) == 4, "bob has read everything")
        await reader

    play(loop_factory, scene())
    assert seen == [b"c0", b"m0", b"c1", b"m1"]


@pytest.mark.parametrize("timeout_s", [math.nan, "1", True, [1], 0, -1.5])
def test_time_limit_that_is_none_is_refused(timeout_s: Any, loop_factory: LoopFactory) -> None:
    """At once, and nothing is asked."""

    async def scene() -> None:
        async with choir(NAMES[:1]) as nodes:
            with pytest.raises(
                UsageError, match="timeout_s is a number of seconds above 0, or None"
            ):
                await nodes["alice"].group.call(b"?", timeout_s=timeout_s)

    play(loop_factory, scene())


@pytest.mark.parametrize("timeout_s", [math.inf, 1e300, None])
def test_limit_beyond_all_measure_is_none(
    timeout_s: float | None, loop_factory: LoopFactory
) -> None:
    """As people write it who do not want any."""

    async def scene() -> None:
        async with choir(NAMES[:2]) as nodes:
            readers = serve(list(nodes.values()), echo)
            said = await nodes["alice"].group.call(b"?", timeout_s=timeout_s)
            assert said.answers == {"bob": b"?"}
        await asyncio.gather(*readers)

    play(loop_factory, scene())


def test_plain_function_may_return_an_awaitable(loop_factory: LoopFactory) -> None:
    """It is waited for, the first time and the next."""

    async def scene() -> None:
        async with choir(NAMES[:2]) as nodes:
            tasks = serve(list(nodes.values()), partial(echo))
            await asyncio.sleep(0.05)
            for number in range(3):
                said = await nodes["alice"].group.call(b"%d" % number, timeout_s=5.0)
                assert said == {"bob": Answered(b"%d" % number)}
        await asyncio.gather(*tasks)

    play(loop_factory, scene())


def test_plain_handler_answers_in_order_with_messages(loop_factory: LoopFactory) -> None:
    """It sees what its caller had multicast before, and is called at once where nothing waits."""

    async def scene() -> None:
        async with choir(NAMES[:2]) as nodes:
            alice, bob = (node.group for node in nodes.values())
            seen: list[bytes] = []

            def handler(_caller: str, payload: bytes) -> bytes:
                seen.append(payload)
                return b"%d" % len(seen)

            async def read() -> None:
                async for message in bob.messages():
                    seen.append(message.payload)  # noqa: PERF401 - in order with the handler

            bob.answer_calls(handler)
            reader = asyncio.ensure_future(read())
            for number in range(20):
                await alice.cbcast(b"m%d" % number)
                await alice.call(b"c%d" % number, timeout_s=5.0)
            expected = [[b"m%d" % number, b"c%d" % number] for number in range(20)]
            assert seen == [word for pair in expected for word in pair]
        await reader

    play(loop_factory, scene())


def test_interrupted_handler_refuses(loop_factory: LoopFactory) -> None:
    """A reader that gives up in the middle of a request does not leave its caller waiting."""

    async def slow(_caller: str, payload: bytes) -> bytes:
        await asyncio.sleep(10)
        return payload

    async def scene() -> None:
        async with choir(NAMES[:2]) as nodes:
            alice, bob = (node.group for node in nodes.values())
            bob.answer_calls(slow)

            async def read() -> None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.2):
                        async for _ in bob:
                            pass

            reader = asyncio.ensure_future(read())
            with pytest.raises(IndefiniteCallError, match="its reader was interrupted"):
                await alice.call(b"wait", timeout_s=10.0)
            await reader

    play(loop_factory, scene())


@pytest.mark.parametrize("wrong", [None, b"answer", 3])
def test_handler_that_cannot_be_called_is_refused(wrong: Any, loop_factory: LoopFactory) -> None:
    """At once, where it is given."""

    async def scene() -> None:
        async with choir(NAMES[:2]) as nodes:
            with pytest.raises(UsageError, match="a handler is a function"):
                nodes["alice"].group.answer_calls(wrong)

    play(loop_factory, scene())


def test_calls_that_wait_for_nobody_let_others_have_a_turn(loop_factory: LoopFactory) -> None:
    """However many follow each other, the event loop goes on."""

    async def scene() -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async with choir(NAMES[:1]) as nodes:
            counter = asyncio.ensure_future(count())
            for _ in range(1000):
                await nodes["alice"].group.call(b"?", "none")
                await nodes["alice"].group.call(b"?")
            counter.cancel()
        return turns

    assert play(loop_factory, scene()) > 10

"""Group calls on the real network: replies, refusals, members that fail, callers that are out."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from tests.net.harness import (
    QUICK,
    LoopFactory,
    Nodes,
    choir,
    free_addresses,
    make_choir,
    play,
    start_all,
    until,
    until_view,
)

from antiphon import (
    Answered,
    DefiniteCallError,
    Failed,
    Group,
    IndefiniteCallError,
    Order,
    Refused,
    Request,
    TimedOut,
    UsageError,
)
from antiphon.core.runs import PORT_CALLS
from antiphon.net.group.calling import CALL_BYTES_MAX
from antiphon.net.process.node import Node
from antiphon.stack.inputs import MulticastRequested
from antiphon.stack.send_queue import How, WaitingLetter

pytestmark = pytest.mark.net

NAMES = ("alice", "bob", "carol", "dave")


def serve(
    nodes: Sequence[Node], handler: Callable[[str, bytes], Awaitable[bytes]]
) -> list[asyncio.Task[None]]:
    """Have nodes read their streams, and answer calls."""

    async def read(group: Group) -> None:
        async for _ in group:
            pass

    for node in nodes:
        node.group.answer_calls(handler)
    return [asyncio.ensure_future(read(node.group)) for node in nodes]


async def echo(caller: str, payload: bytes) -> bytes:
    """Answer with the question."""
    return payload


def others(nodes: Nodes) -> list[Node]:
    """Return all nodes but the first, who calls."""
    return list(nodes.values())[1:]


@pytest.mark.parametrize(("replies", "count_min"), [("all", 3), ("majority", 2), ("first", 1)])
@pytest.mark.parametrize("order", [Order.CAUSAL, Order.TOTAL])
def test_call_gets_as_many_answers_as_it_wants(
    loop_factory: LoopFactory, replies: str, count_min: int, order: Order
) -> None:
    """Each answer comes with the name of who gave it."""

    async def scene() -> None:
        async with choir(NAMES) as nodes:
            reading = serve(others(nodes), echo)
            said = await nodes["alice"].group.call(b"who?", replies, order=order)
            assert len(said.answers) >= count_min
            assert set(said.answers.values()) == {b"who?"}
            assert said.asked == ("bob", "carol", "dave")
            assert said.is_complete or replies != "all"
        await asyncio.gather(*reading)

    play(loop_factory, scene())


def test_call_that_wants_no_replies_does_not_wait(loop_factory: LoopFactory) -> None:
    """It returns when the request is on its way; everybody handles it, its caller too."""

    async def scene() -> None:
        handled: list[tuple[str, str]] = []

        async def note(caller: str, payload: bytes) -> bytes:
            handled.append((caller, payload.decode()))
            return b""

        async with choir(NAMES[:3]) as nodes:
            reading = serve(list(nodes.values()), note)
            assert len(await nodes["bob"].group.call(b"do", "none")) == 0
            await until(lambda: len(handled) == 3, "all have handled it")
        await asyncio.gather(*reading)
        assert handled == [("bob", "do")] * 3

    play(loop_factory, scene())


def test_request_is_read_from_the_stream_without_a_handler(loop_factory: LoopFactory) -> None:
    """A reader answers or refuses what it reads, once, in order with messages."""

    async def scene() -> list[object]:
        seen: list[object] = []

        async def read(group: Group) -> None:
            async for event in group:
                if isinstance(event, Request):
                    seen.append((event.sender, event.payload, event.is_open))
                    event.answer(b"yes")
                    event.answer(b"ignored")
                    event.refuse("ignored")

        async with choir(NAMES[:2]) as nodes:
            reading = [asyncio.ensure_future(read(node.group)) for node in nodes.values()]
            said = await nodes["alice"].group.call(b"ready?")
            assert said == {"bob": Answered(b"yes")}
        await asyncio.gather(*reading)
        return seen

    assert sorted(play(loop_factory, scene()), key=str) == [
        ("alice", b"ready?", False),
        ("alice", b"ready?", True),
    ]


def test_request_comes_after_what_its_caller_had_multicast(loop_factory: LoopFactory) -> None:
    """Calls are in causal order with messages, so a handler has seen what its caller had."""

    async def scene() -> None:
        seen: list[bytes] = []

        async def read(group: Group) -> None:
            async for message in group.messages():
                seen.append(message.payload)  # noqa: PERF401 - the handler looks at it meanwhile

        async def count(caller: str, payload: bytes) -> bytes:
            return b"%d" % len(seen)

        async with choir(NAMES[:2]) as nodes:
            bob, alice = nodes["bob"].group, nodes["alice"].group
            bob.answer_calls(count)
            reading = asyncio.ensure_future(read(bob))
            await alice.cbcast_many([b"x"] * 10)
            said = await alice.call(b"how many?")
            assert said.answers == {"bob": b"10"}
        await reading

    play(loop_factory, scene())


def test_handler_that_raises_refuses_and_harms_nobody(loop_factory: LoopFactory) -> None:
    """The caller is told the exception; the others' answers are there; the group goes on."""

    async def scene() -> None:
        async def fail(caller: str, payload: bytes) -> bytes:
            raise ZeroDivisionError(payload.decode())

        async def wrong(caller: str, payload: bytes) -> Any:
            return "text"

        async with choir(NAMES) as nodes:
            reading = serve([nodes["bob"]], fail)
            reading += serve([nodes["carol"]], wrong)
            reading += serve([nodes["dave"]], echo)
            with pytest.raises(IndefiniteCallError, match="1 of 3 members answered") as raised:
                await nodes["alice"].group.call(b"by zero")
            replies = raised.value.replies
            assert replies["bob"] == Refused("ZeroDivisionError: by zero")
            assert isinstance(replies["carol"], Refused)
            assert replies["dave"] == Answered(b"by zero")
            first = await nodes["alice"].group.call(b"again", "first")
            assert first.answers == {"dave": b"again"}
        await asyncio.gather(*reading)

    play(loop_factory, scene())


def test_member_that_does_not_answer_times_out(loop_factory: LoopFactory) -> None:
    """The call ends at its time, with what came until then; a later one is not disturbed."""

    async def scene() -> None:
        async with choir(NAMES[:3]) as nodes:
            reading = serve([nodes["bob"]], echo)
            alice = nodes["alice"].group
            with pytest.raises(IndefiniteCallError, match="carol timed out") as raised:
                await alice.call(b"x", timeout_s=0.1)
            assert raised.value.replies == {"bob": Answered(b"x"), "carol": TimedOut()}
            reading += serve([nodes["carol"]], echo)
            assert (await alice.call(b"y")).is_complete
        await asyncio.gather(*reading)

    play(loop_factory, scene())


def test_member_that_leaves_without_answering_has_failed(loop_factory: LoopFactory) -> None:
    """Nobody waits for the time to run out if a view says that there is nobody to wait for."""

    async def scene() -> None:
        async with choir(NAMES[:3]) as nodes:
            reading = serve([nodes["bob"]], echo)
            calling = asyncio.ensure_future(nodes["alice"].group.call(b"x", timeout_s=None))
            await asyncio.sleep(0.05)
            assert not calling.done()
            await nodes["carol"].stop()
            with pytest.raises(IndefiniteCallError, match="carol failed") as raised:
                await calling
            assert raised.value.replies == {"bob": Answered(b"x"), "carol": Failed()}
            await until_view(nodes["alice"], ["alice", "bob"])
            assert (await nodes["alice"].group.call(b"y")).answers == {"bob": b"y"}
        await asyncio.gather(*reading)

    play(loop_factory, scene())


def test_caller_that_leaves_does_not_know(loop_factory: LoopFactory) -> None:
    """Calls end with the incarnation that made them, as indefinite errors."""

    async def scene() -> None:
        async with choir(NAMES[:3]) as nodes:
            alice = nodes["alice"]
            calling = asyncio.ensure_future(alice.group.call(b"x", timeout_s=None))
            await asyncio.sleep(0.05)
            await alice.stop()
            with pytest.raises(IndefiniteCallError, match="this process has left"):
                await calling

    play(loop_factory, scene())


def test_caller_that_is_shut_out_does_not_know_and_can_call_again(
    loop_factory: LoopFactory,
) -> None:
    """The next incarnation of an excluded caller has calls of its own."""

    async def scene() -> None:
        async with choir(NAMES[:3], timing=QUICK, rejoin=True) as nodes:
            carol = nodes["carol"].group
            calling = asyncio.ensure_future(carol.call(b"x", timeout_s=None))
            await asyncio.sleep(0.05)
            network = nodes["alice"].incarnation
            dead = next(
                peer for peer in network.mesh.peers.values() if peer.process.name == "carol"
            )
            network.on_dead(dead, "a test says so")
            with pytest.raises(IndefiniteCallError, match="carol is out of group choir"):
                await calling
            await until_view(nodes["carol"], ("alice", "bob", "carol~2"))
            reading = serve([nodes["alice"], nodes["bob"]], echo)
            assert (await carol.call(b"y")).answers == {"alice": b"y", "bob": b"y"}
        await asyncio.gather(*reading)

    play(loop_factory, scene())


def test_caller_alone_is_told_so(loop_factory: LoopFactory) -> None:
    """Nobody can have done anything: a definite error; all of nobody is no error."""

    async def scene() -> None:
        async with choir(NAMES[:1]) as nodes:
            alice = nodes["alice"].group
            with pytest.raises(DefiniteCallError, match="nobody else is in the group"):
                await alice.call(b"x", "first")
            assert (await alice.call(b"x", "all")).is_complete

    play(loop_factory, scene())


def test_cancelled_call_leaves_nothing_behind(loop_factory: LoopFactory) -> None:
    """Whoever gives up waiting disturbs nobody; the late reply is dropped."""

    async def scene() -> None:
        async with choir(NAMES[:2], timing=QUICK) as nodes:
            alice = nodes["alice"].group
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await alice.call(b"x")
            assert nodes["alice"].driver.endpoint is not None
            assert not nodes["alice"].driver.endpoint.ports.calls._open
            assert not alice._local.calling._waiting
            reading = serve([nodes["bob"]], echo)
            assert (await alice.call(b"y")).answers == {"bob": b"y"}
        await asyncio.gather(*reading)

    play(loop_factory, scene())


def test_nonsense_on_the_port_is_ignored(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """A member that sends what is no call is not answered, and the group goes on."""

    async def scene() -> None:
        async with choir(NAMES[:2]) as nodes:
            reading = serve([nodes["bob"]], echo)
            alice = nodes["alice"]
            alice.driver.give(MulticastRequested([b"\xff"], How(Order.CAUSAL, port=PORT_CALLS), 1))
            bob = alice.local_group.member_named("bob")
            queue = alice.local_group.sending.queue
            queue.put(WaitingLetter(bob, b"\xff", PORT_CALLS))
            assert (await alice.group.call(b"y")).answers == {"bob": b"y"}
        await asyncio.gather(*reading)

    play(loop_factory, scene())
    assert caplog.text.count("ignores a word of alice to a tool of the group") == 3, (
        "alice gets her own multicast too"
    )


def test_unfit_calls_are_refused_at_once(loop_factory: LoopFactory) -> None:
    """A wrong number of replies, and a request that is too large, never leave the process."""

    async def scene() -> None:
        async with choir(NAMES[:1]) as nodes:
            alice = nodes["alice"].group
            with pytest.raises(UsageError, match="ask for none, first, majority, all"):
                await alice.call(b"x", "most")
            with pytest.raises(UsageError, match="ask for less at a time"):
                await alice.call(bytes(CALL_BYTES_MAX + 1))
            with pytest.raises(UsageError, match="a message is bytes"):
                await alice.call("x")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="is not in group choir now"):
            await alice.call(b"x")

    play(loop_factory, scene())


def test_call_is_refused_where_only_messages_are_read(loop_factory: LoopFactory) -> None:
    """Who reads nothing but messages would never answer: the caller hears so at once."""

    async def read(group: Group) -> None:
        async for _ in group.messages():
            pass

    async def scene() -> None:
        async with choir(NAMES) as nodes:
            tasks = [asyncio.ensure_future(read(node.group)) for node in nodes.values()]
            with pytest.raises(IndefiniteCallError) as caught:
                await nodes["alice"].group.call(b"anybody?", timeout_s=10.0)
            said = {name: caught.value.replies[name] for name in NAMES[1:]}
            assert all(reply == Refused("nobody answers calls here") for reply in said.values())
        await asyncio.gather(*tasks)

    play(loop_factory, scene())


def test_call_in_a_blocked_group_ends_in_time(loop_factory: LoopFactory) -> None:
    """What could not be sent is a definite error; what was is indefinite once its process stops."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(NAMES[:3]), timing=QUICK, drain_s=0.5)
        await start_all(list(nodes.values()))
        alice = nodes["alice"].group
        sent = asyncio.ensure_future(alice.call(b"before", timeout_s=None))
        await asyncio.sleep(0.1)
        for name in NAMES[1:3]:
            await nodes[name].process.close()
        await until(lambda: not alice.view.primary, "alice is alone")
        with pytest.raises(DefiniteCallError, match="never went out"):
            await asyncio.wait_for(alice.call(b"now", timeout_s=0.2), 10)
        await nodes["alice"].stop()
        with pytest.raises(IndefiniteCallError):
            await asyncio.wait_for(sent, 10)

    play(loop_factory, scene())

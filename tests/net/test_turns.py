"""Everybody who has something to send gets a turn, and who holds others up for ever is given up."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.net.harness import (
    DEADLINE_S,
    QUICK,
    TRIO,
    LoopFactory,
    choir,
    free_addresses,
    make_choir,
    play,
    start_all,
    until,
    until_view,
)

from antiphon import (
    Committer,
    DefiniteCallError,
    Group,
    Message,
    Request,
    UsageError,
)
from antiphon.core.ids import ProcessId
from antiphon.net.process.node import Node
from antiphon.stack.settings import Limits

pytestmark = pytest.mark.net

DUET = ("alice", "bob")
SECOND_US = 1_000_000
B = ProcessId("b")


class Reader:
    """Reads a group all the time."""

    def __init__(self, group: Group) -> None:
        """Begin."""
        self.messages: list[bytes] = []
        self.requests: list[bytes] = []
        self._group = group
        self.task = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        async for event in self._group:
            if isinstance(event, Message):
                self.messages.append(event.payload)
            elif isinstance(event, Request):
                self.requests.append(event.payload)


def echo(_caller: str, payload: bytes) -> bytes:
    """Answer with the question."""
    return payload


async def _call_until(group: Group, is_over: asyncio.Event) -> None:
    while not is_over.is_set():
        await group.call(b"?", timeout_s=None)


@pytest.mark.parametrize("caller_count", [1, 20])
@pytest.mark.parametrize("what", ["cbcast", "call", "send", "begin"])
def test_member_that_answers_all_the_time_gets_its_own_turn(
    what: str, caller_count: int, loop_factory: LoopFactory
) -> None:
    """However fast it is called by several, whatever it has to send goes out soon."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(TRIO), timing=QUICK)
        committers = [Committer(node.group) for node in nodes.values()]
        await start_all(list(nodes.values()))
        readers = [Reader(node.group) for node in nodes.values()]
        alice, bob, carol = (node.group for node in nodes.values())
        bob.answer_calls(echo)
        carol.answer_calls(echo)
        alice.answer_calls(echo)
        is_over = asyncio.Event()
        callers = [
            asyncio.ensure_future(_call_until(group, is_over))
            for group in (alice, carol)
            for _ in range(caller_count)
        ]
        await asyncio.sleep(0.1)
        async with asyncio.timeout(DEADLINE_S / 2):
            await _do(what, bob, committers[1])
            if what == "cbcast":
                await until(lambda: b"m" in readers[0].messages, "alice has it")
        is_over.set()
        await asyncio.gather(*callers)
        assert bob.view.number == 1, "nobody was given up"
        await _leave(list(nodes.values()), readers)

    play(loop_factory, scene())


@pytest.mark.parametrize("what", ["cbcast", "send"])
def test_one_caller_alone_does_not_starve_whom_it_calls(
    what: str, loop_factory: LoopFactory
) -> None:
    """Of two members one calls without a pause: there is always a reply on its way."""

    async def scene() -> None:
        async with choir(DUET, timing=QUICK) as nodes:
            alice, bob = (node.group for node in nodes.values())
            readers = [Reader(group) for group in (alice, bob)]
            bob.answer_calls(echo)
            is_over = asyncio.Event()
            caller = asyncio.ensure_future(_call_until(alice, is_over))
            await asyncio.sleep(0.1)
            async with asyncio.timeout(DEADLINE_S / 2):
                if what == "send":
                    await bob.send("alice", b"for you")
                await bob.cbcast(b"m")
                await until(lambda: b"m" in readers[0].messages, "alice has it")
            is_over.set()
            await caller
        await asyncio.gather(*(reader.task for reader in readers))

    play(loop_factory, scene())


async def _do(what: str, group: Group, committer: Committer) -> None:
    if what == "cbcast":
        await group.cbcast(b"m")
    elif what == "call":
        await group.call(b"mine", timeout_s=None)
    elif what == "send":
        await group.send("alice", b"for you")
        await group.send("carol", b"for you too")
    else:
        assert (await committer.begin(b"together")).is_committed


async def _leave(nodes: Sequence[Node], readers: Sequence[Reader]) -> None:
    await asyncio.gather(*(node.stop() for node in nodes))
    await asyncio.gather(*(reader.task for reader in readers))


async def _write_in_vain(alice: Group, bob: Group, carol: Group) -> None:
    """Have alice send a letter to bob, who reads nothing, and so acknowledges nothing."""
    await carol.cbcast_many([b"x"] * 10)
    await until(lambda: bob._local.stream.is_full, "bob reads nothing")
    await alice.send("bob", b"hello?")


def test_tool_that_waits_for_a_letter_gives_its_debtor_up(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A decision does not wait for ever for a member that does not read, though no task waits."""
    monkeypatch.setattr("antiphon.net.stream.stream.UNREAD_BYTES_MAX", 100)

    async def scene() -> None:
        timing = replace(QUICK, stall_us=500_000)
        nodes = make_choir(free_addresses(TRIO), timing=timing, drain_s=1.0)
        committers = [Committer(node.group, vote_s=1.0) for node in nodes.values()]
        await start_all(list(nodes.values()))
        alice, bob, carol = nodes.values()
        readers = [Reader(node.group) for node in (alice, carol)]
        await _write_in_vain(alice.group, bob.group, carol.group)
        async with asyncio.timeout(DEADLINE_S / 2):
            await committers[2].begin(b"decide")
        assert carol.group.view.failed == ("bob",)
        await bob.stop()
        await _leave([alice, carol], readers)

    play(loop_factory, scene())


def test_request_that_never_went_out_is_taken_back(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits behind a letter until its time is up: nobody has done it, nor does anybody later."""
    monkeypatch.setattr("antiphon.net.stream.stream.UNREAD_BYTES_MAX", 100)

    async def scene() -> None:
        async with choir(TRIO) as nodes:
            alice, bob, carol = (node.group for node in nodes.values())
            readers = [Reader(group) for group in (alice, carol)]
            await _write_in_vain(alice, bob, carol)
            with pytest.raises(DefiniteCallError, match="never went out"):
                await alice.call(b"late", timeout_s=0.2)
            cancelled = asyncio.ensure_future(alice.call(b"given up", timeout_s=None))
            await asyncio.sleep(0.05)
            cancelled.cancel()
            await asyncio.wait([cancelled])
            readers.append(Reader(bob))
            bob.answer_calls(echo)
            await alice.call(b"in time", "first")
            await until(lambda: readers[1].requests, "carol is asked")
            assert readers[1].requests == [b"in time"]
        await asyncio.gather(*(reader.task for reader in readers))

    play(loop_factory, scene())


def test_multicast_of_another_order_ends_when_its_process_stops(loop_factory: LoopFactory) -> None:
    """What is collected cannot leave a blocked group: the next order's sender is told, soon."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(TRIO), timing=QUICK, drain_s=0.3)
        alice, *others = nodes.values()
        await start_all([alice, *others])
        for node in others:
            await node.end_incarnation("crash")
            await node.process.listener.close()
        await until(lambda: not alice.group.view.primary, "alice is blocked")
        alice.local_group.sending.pending.payloads.append(b"collected before that")
        sending = asyncio.ensure_future(alice.group.abcast(b"and then"))
        await asyncio.sleep(0.1)
        assert not sending.done()
        await alice.stop()
        with pytest.raises(UsageError, match="is not in group choir now"):
            await asyncio.wait_for(sending, DEADLINE_S / 2)

    play(loop_factory, scene())


def test_orders_mix_behind_a_letter_and_keep_their_order(loop_factory: LoopFactory) -> None:
    """Whatever follows a letter that takes its time leaves in program order, when it may."""

    async def scene() -> None:
        async with choir(DUET) as nodes:
            alice, bob = (node.group for node in nodes.values())
            readers = [Reader(group) for group in (alice, bob)]
            await alice.send("bob", b"first")
            said = [b"%d" % number for number in range(9)]
            for number, payload in enumerate(said):
                await (alice.cbcast if number % 2 else alice.abcast)(payload)
                if number % 3 == 0:
                    await alice.send("bob", payload)
            await until(lambda: len(readers[1].messages) == 9, "bob has all")
            assert readers[1].messages == said
        await asyncio.gather(*(reader.task for reader in readers))

    play(loop_factory, scene())


def test_blocked_view_is_nobodys_debt(loop_factory: LoopFactory) -> None:
    """While a view is being left, time spent waiting is not held against members."""

    async def scene() -> None:
        timing = replace(QUICK, stall_us=200_000)
        nodes = make_choir(free_addresses(TRIO), timing=timing, drain_s=0.3)
        alice, bob, carol = nodes.values()
        await start_all([alice, bob, carol])
        readers = [Reader(node.group) for node in (alice, bob)]
        await carol.end_incarnation("crash")
        await carol.process.listener.close()
        sending = asyncio.ensure_future(alice.group.cbcast(b"on"))
        await until_view(alice, DUET)
        await sending
        await until(lambda: readers[1].messages == [b"on"], "bob has it")
        await asyncio.sleep(0.5)
        assert alice.group.members == DUET
        await _leave([alice, bob], readers)

    play(loop_factory, scene())


def test_calls_that_wait_behind_a_letter_hold_their_caller_up(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that want no reply too: what waits to be sent is bounded, whoever sends it."""
    monkeypatch.setattr("antiphon.net.stream.stream.UNREAD_BYTES_MAX", 100)

    async def scene() -> None:
        async with choir(TRIO, limits=Limits(queued_bytes=10_000)) as nodes:
            alice, bob, carol = (node.group for node in nodes.values())
            readers = [Reader(group) for group in (alice, carol)]
            await _write_in_vain(alice, bob, carol)

            async def call() -> None:
                for _ in range(50):
                    await alice.call(bytes(1_000), "none", timeout_s=None)

            calling = asyncio.ensure_future(call())
            await asyncio.sleep(0.2)
            assert not calling.done()
            assert len(nodes["alice"].local_group.sending.queue.waiting) < 15
            readers.append(Reader(bob))
            await calling
            await until(lambda: len(readers[1].requests) == 50, "carol is asked all")
        await asyncio.gather(*(reader.task for reader in readers))

    play(loop_factory, scene())

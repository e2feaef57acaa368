"""All orders on real sockets: total order, uniform delivery, letters, mixed and under failures."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.net.harness import (
    QUICK,
    TRIO,
    LoopFactory,
    Nodes,
    choir,
    play,
    until_view,
    verdict_on,
)
from tests.net.harness import until as until_said
from tests.net.raw_peer import infiltrated

from antiphon import Group, Letter, Message, Order, Request, UsageError, View
from antiphon.core.records import PAYLOAD_BYTES_MAX
from antiphon.net.process.node import Node
from antiphon.net.stream import stream
from antiphon.net.stream.events import Event
from antiphon.stack.settings import Limits
from antiphon.trace.verdict import Property, Status

pytestmark = pytest.mark.net

QUARTET = ("alice", "bob", "carol", "dave")


async def until(condition: Callable[[], bool]) -> None:
    """Wait until everything has been read."""
    await until_said(condition, "everything has been read")


async def kill(node: Node) -> None:
    """End a member without a word to the others, and close its door."""
    await node.process.close()


class Reader:
    """Reads a group in a task of its own."""

    def __init__(self, group: Group) -> None:
        """Start to read."""
        self.messages: list[Message] = []
        self.letters: list[Letter] = []
        self.views: list[View] = []
        self.events: list[Event] = []
        self._group = group
        self.task = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        async for event in self._group:
            self.events.append(event)
            match event:
                case Message():
                    self.messages.append(event)
                case Letter():
                    self.letters.append(event)
                case View():
                    self.views.append(event)
                case _:
                    pass

    @property
    def payloads(self) -> list[bytes]:
        """What was read so far."""
        return [message.payload for message in self.messages]


def _readers(nodes: Nodes) -> dict[str, Reader]:
    return {name: Reader(node.group) for name, node in nodes.items()}


@pytest.mark.parametrize("token", ["follow", "fixed"])
def test_total_order_is_the_same_everywhere(
    token: str, loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Everybody multicasts at once over slow links; everybody reads the same sequence."""

    async def scene() -> None:
        async with choir(QUARTET, folder=tmp_path, token=token, delay_s_max=0.01) as nodes:
            readers = _readers(nodes)
            for number in range(40):
                for name, node in nodes.items():
                    await node.group.abcast(f"{name} {number}".encode())
                await asyncio.sleep(0.002)
            await until(lambda: all(len(reader.messages) == 160 for reader in readers.values()))
            first, *others = (reader.payloads for reader in readers.values())
            assert all(other == first for other in others)

    play(loop_factory, scene())
    verdict = verdict_on(tmp_path)
    for which in (Property.TOTAL, Property.TOTAL_CAUSAL, Property.CAUSAL, Property.SELF_DELIVERY):
        assert verdict.of(which).status is Status.HOLDS, verdict.of(which)


def test_orders_mix_and_stay_causal(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """Each member answers in another order than it was asked in; the verdict is clean."""
    ways = [(order, uniform) for order in Order for uniform in (False, True)]

    async def scene() -> None:
        async with choir(QUARTET, delay_s_max=0.01, folder=tmp_path) as nodes:
            readers = _readers(nodes)
            for number in range(60):
                name = QUARTET[number % 4]
                order, uniform = ways[number % len(ways)]
                await nodes[name].group.multicast(b"%d" % number, order, uniform=uniform)
                if number % 3 == 0:
                    await asyncio.sleep(0.005)
            await until(lambda: all(len(reader.messages) == 60 for reader in readers.values()))

    play(loop_factory, scene())
    for item in verdict_on(tmp_path).properties:
        expected = Status.UNKNOWN if item.property is Property.COMMIT else Status.HOLDS
        assert item.status is expected, item


def test_own_causal_message_waits_for_own_total_one(loop_factory: LoopFactory) -> None:
    """A member that does not hold the token reads its own messages in the order it sent them."""

    async def scene() -> None:
        async with choir(TRIO, delay_s_max=0.02, token="fixed") as nodes:
            readers = _readers(nodes)
            carol = nodes["carol"].group
            await carol.abcast(b"first")
            await carol.cbcast(b"second")
            await carol.multicast(b"third", Order.FIFO)
            await until(lambda: all(len(reader.messages) == 3 for reader in readers.values()))
            for reader in readers.values():
                assert reader.payloads == [b"first", b"second", b"third"]

    play(loop_factory, scene())


@pytest.mark.parametrize("victim", ["alice", "bob"])
def test_death_of_the_token_holder_or_another_leaves_one_order(
    victim: str, loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """What had no turn yet is delivered in one order by all who stay, and nothing twice."""

    async def scene() -> None:
        async with choir(QUARTET, delay_s_max=0.01, token="fixed", folder=tmp_path) as nodes:
            readers = _readers(nodes)
            for number in range(30):
                for name, node in nodes.items():
                    if name != victim or number < 15:
                        await node.group.multicast(
                            f"{name} {number}".encode(), Order.TOTAL, uniform=number % 5 == 0
                        )
                if number == 15:
                    await kill(nodes[victim])
                await asyncio.sleep(0.001)
            staying = [name for name in QUARTET if name != victim]
            for name in staying:
                await until_view(nodes[name], staying)
            await until(
                lambda: all(
                    sum(message.sender != victim for message in readers[name].messages) == 90
                    for name in staying
                )
            )
            first, *others = (readers[name].payloads for name in staying)
            assert all(other == first for other in others)
            readers[victim].task.cancel()

    play(loop_factory, scene())
    verdict = verdict_on(tmp_path)
    for which in (Property.TOTAL, Property.UNIFORM, Property.VIEW_ATOMIC, Property.CAUSAL):
        assert verdict.of(which).status is Status.HOLDS, verdict.of(which)


def _has_letters(reader: Reader, count: int) -> bool:
    return len(reader.letters) == count


def test_letters_are_causal_with_multicasts(loop_factory: LoopFactory) -> None:
    """Carol hears of alice's letter from bob only after she has it, however slow the links."""

    async def scene() -> None:
        async with choir(TRIO, delay_s_max=0.02) as nodes:
            readers = _readers(nodes)
            alice, bob, carol = (nodes[name].group for name in TRIO)
            for number in range(10):
                await alice.cbcast(b"call %d" % number)
                await alice.send("carol", b"letter %d" % number)
                await alice.send("bob", b"go %d" % number)
                await until(partial(_has_letters, readers["bob"], number + 1))
                await bob.cbcast(b"echo %d" % number)
            await until(lambda: len(readers["carol"].messages) == 20)
            seen = [
                event.payload
                for event in readers["carol"].events
                if isinstance(event, Message | Letter)
            ]
            for number in range(10):
                call, letter, echo = (
                    seen.index(b"%s %d" % (what, number)) for what in (b"call", b"letter", b"echo")
                )
                assert call < letter < echo
            del carol

    play(loop_factory, scene())


def test_sender_waits_for_the_acknowledgement_only(loop_factory: LoopFactory) -> None:
    """A letter and a multicast right behind it both arrive, in order, at its addressee."""

    async def scene() -> None:
        async with choir(TRIO, delay_s_max=0.01) as nodes:
            readers = _readers(nodes)
            alice = nodes["alice"].group
            for number in range(5):
                await alice.send("bob", b"letter %d" % number)
                await alice.cbcast(b"multicast %d" % number)
            await until(lambda: len(readers["bob"].messages) == 5)
            events = readers["bob"].events
            seen = [event.payload for event in events if isinstance(event, Message | Letter)]
            assert seen == [
                b"%s %d" % (what, number)
                for number in range(5)
                for what in (b"letter", b"multicast")
            ]

    play(loop_factory, scene())


def test_letter_to_who_dies_does_not_hold_its_sender_up(loop_factory: LoopFactory) -> None:
    """The view without the addressee sets the sender free."""

    async def scene() -> None:
        async with choir(TRIO) as nodes:
            readers = _readers(nodes)
            await kill(nodes["carol"])
            await nodes["alice"].group.send("carol", b"are you there?")
            await nodes["alice"].group.cbcast(b"still here")
            await until_view(nodes["bob"], ["alice", "bob"])
            await until(lambda: readers["bob"].payloads == [b"still here"])
            readers["carol"].task.cancel()

    play(loop_factory, scene())


@pytest.mark.parametrize(
    ("to", "payload", "advice"),
    [
        ("nobody", b"la", "nobody is no member of the current view"),
        ("alice", b"la", "needs no letter to itself"),
        ("bob", "text", "a message is bytes, not str"),
        ("bob", bytes(PAYLOAD_BYTES_MAX + 1), "above the limit"),
    ],
)
def test_letter_that_cannot_be_sent_is_refused(
    to: str, payload: bytes, advice: str, loop_factory: LoopFactory
) -> None:
    """The error says what is wrong, and the group goes on."""

    async def scene() -> None:
        async with choir(TRIO) as nodes:
            readers = _readers(nodes)
            with pytest.raises(UsageError, match=advice):
                await nodes["alice"].group.send(to, payload)
            await nodes["alice"].group.abcast(b"go on")
            await until(lambda: all(reader.payloads == [b"go on"] for reader in readers.values()))

    play(loop_factory, scene())


def test_largest_message_goes_in_any_order(loop_factory: LoopFactory) -> None:
    """A message of the largest size is delivered in total order, uniform; one byte more is not."""

    async def scene() -> None:
        async with choir(TRIO) as nodes:
            readers = _readers(nodes)
            bob = nodes["bob"].group
            with pytest.raises(UsageError, match="above the limit"):
                await bob.multicast(bytes(PAYLOAD_BYTES_MAX + 1), Order.TOTAL, uniform=True)
            await bob.multicast(bytes(PAYLOAD_BYTES_MAX), Order.TOTAL, uniform=True)
            await until(lambda: all(len(reader.messages) == 1 for reader in readers.values()))

    play(loop_factory, scene())


def test_flood_of_uniform_messages_is_confirmed_in_batches(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Thousands in flight at once arrive, and there are far fewer confirmations than messages."""

    async def scene() -> None:
        async with choir(TRIO, folder=tmp_path) as nodes:
            readers = _readers(nodes)
            for number in range(3000):
                for node in nodes.values():
                    await node.group.multicast(b"%d" % number, uniform=True)
            await until(lambda: all(len(reader.messages) == 9000 for reader in readers.values()))

    play(loop_factory, scene())
    assert verdict_on(tmp_path).of(Property.UNIFORM).status is Status.HOLDS


def test_letters_wait_for_a_slow_reader(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who does not read acknowledges no more; when it reads again, all letters come."""
    monkeypatch.setattr(stream, "UNREAD_BYTES_MAX", 64 * 1024)

    async def scene() -> None:
        async with choir(TRIO[:2], limits=Limits(queued_bytes=64 * 1024)) as nodes:
            alice, bob = (node.group for node in nodes.values())

            async def write() -> None:
                for _ in range(40):
                    await alice.send("bob", bytes(8 * 1024))

            writer = asyncio.ensure_future(write())
            await asyncio.sleep(0.5)
            assert not writer.done()
            assert bob._local.stream.unread_bytes < 128 * 1024
            reader = Reader(bob)
            await until(lambda: len(reader.letters) == 40)
            await writer

    play(loop_factory, scene())


def test_member_that_never_acknowledges_a_letter_is_given_up(loop_factory: LoopFactory) -> None:
    """It lives, but holds a sender up: after a while it is out of the view, and others go on."""

    async def scene() -> None:
        timing = replace(QUICK, stall_us=300_000)
        async with infiltrated(timing=timing, drain_s=0.5) as group:
            alice = group.nodes["alice"].group
            await alice.send("carol", b"are you there?")
            await asyncio.wait_for(alice.cbcast(b"go on"), 10)
            await until_view(group.nodes["bob"], ["alice", "bob"])

    play(loop_factory, scene())


def test_letters_survive_that_a_state_is_fetched_again() -> None:
    """What a joiner must not read, because the state contains it, is dropped; letters are not."""
    refused: list[str] = []
    held = stream.Stream(lambda: None)
    held.append_event(View(3, ("a", "b")))
    held.append_event(Request("a", b"?", lambda _payload, why: refused.append(why)))
    held.append_event(Letter("a", b"for you"))
    held.hold(4)
    held.append_event(View(4, ("a", "b")))
    held.release()
    assert list(held._unread) == [Letter("a", b"for you"), View(4, ("a", "b"))]
    assert len(refused) == 1
    assert held.unread_bytes == 64 + len(b"for you")

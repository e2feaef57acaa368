"""Bounded buffers: who does not read slows the others down, loses nothing, and hangs nobody.

The limits are made small where a test has to fill them; what the kernel buffers comes on top, so
a test sends several times as much as all of that together.
"""

import asyncio
import json
import signal
from collections.abc import Callable
from dataclasses import replace
from itertools import repeat
from pathlib import Path

import pytest
from tests.net.harness import (
    QUICK,
    TRIO,
    LoopFactory,
    choir,
    free_addresses,
    make_choir,
    play,
    read,
    rows_of,
    start_all,
    stop_all,
    until,
)
from tests.net.processes import running

from antiphon import BackPressureError, Batch, Blocks, Group, Message, Order, UsageError
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Run
from antiphon.net.process.node import Node
from antiphon.net.stream import stream
from antiphon.net.transport import link
from antiphon.stack.send_queue import RUN_BYTES_MAX
from antiphon.stack.settings import Limits
from antiphon.trace.schema import LEFT

pytestmark = pytest.mark.net

DUET = ("alice", "bob")
NUMBER = GroupNumber(0)
UNREAD = 1024 * 1024
UNSTABLE = 2 * 1024 * 1024
SMALL = Limits(unstable_bytes=UNSTABLE)
WRITE = 256 * 1024
CHUNK = bytes(64 * 1024)
FRAME = RUN_BYTES_MAX + len(CHUNK)
"""No run is larger: a full one, and the message that filled it."""


@pytest.fixture
def _small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "UNREAD_BYTES_MAX", UNREAD)
    monkeypatch.setattr(link, "WRITE_BYTES_MAX", WRITE)
    monkeypatch.setattr(link, "_WRITE_BYTES_LOW", WRITE // 4)


class Watch:
    """The most that was ever buffered, looked at in every turn of the loop."""

    def __init__(self, nodes: list[Node]) -> None:
        """Watch until cancelled."""
        self.unread_bytes = 0
        self.write_bytes = 0
        self.kept_bytes = 0
        self._nodes = nodes
        self._task = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        while True:
            for node in self._nodes:
                self.unread_bytes = max(self.unread_bytes, node.local_group.stream.unread_bytes)
                for peer in node.driver.outlet.members:
                    assert peer.link is not None
                    assert peer.link._transport is not None
                    size = peer.link._transport.get_write_buffer_size()
                    self.write_bytes = max(self.write_bytes, size)
                assert node.driver.member is not None
                self.kept_bytes = max(self.kept_bytes, node.driver.member.kept_bytes)
            await asyncio.sleep(0)

    async def end(self) -> None:
        """Stop looking."""
        self._task.cancel()
        await asyncio.wait([self._task])


async def _standstill(progress: Callable[[], int]) -> None:
    """Wait until ``progress`` has made none for a while: the only way to see that nothing moves."""
    loop = asyncio.get_running_loop()
    seen, since = progress(), loop.time()

    def has_settled() -> bool:
        nonlocal seen, since
        if progress() != seen:
            seen, since = progress(), loop.time()
        return loop.time() - since > 0.2

    await until(has_settled, "nothing moves any more")


async def _listen(group: Group) -> None:
    async for _ in group.messages():
        pass


@pytest.mark.usefixtures("_small_buffers")
def test_member_that_does_not_read_slows_its_sender_and_loses_nothing(
    loop_factory: LoopFactory,
) -> None:
    """Buffers stay within their limits while nobody reads; then everything comes, in order."""
    total = 600  # 37 MiB: several times what all buffers of both sides hold

    async def scene() -> None:
        async with choir(limits=SMALL) as nodes:
            alice, bob, carol = nodes.values()
            sent = 0

            async def send() -> None:
                nonlocal sent
                for number in range(total):
                    await alice.group.cbcast(b"%06d" % number + CHUNK)
                    sent += 1

            listening = [asyncio.ensure_future(_listen(node.group)) for node in (alice, bob)]
            await until(lambda: alice.local_group.stream.reader, "alice reads herself")
            watch = Watch([alice, carol])
            sending = asyncio.ensure_future(send())
            await _standstill(lambda: sent)
            assert not sending.done()
            assert sent < total // 2
            await watch.end()
            assert watch.unread_bytes < UNREAD + UNSTABLE + 3 * FRAME
            assert watch.kept_bytes < UNSTABLE + 3 * FRAME
            assert watch.write_bytes < WRITE + 2 * FRAME
            everything = await read(carol.group, total)
            assert [int(message.payload[:6]) for message in everything] == list(range(total))
            await sending
            for task in listening:
                task.cancel()

    play(loop_factory, scene())


@pytest.mark.usefixtures("_small_buffers")
def test_member_that_does_not_read_blocks_slows_senders(loop_factory: LoopFactory) -> None:
    """By datagram, too: two windows of each beyond what it calls full; then everything comes."""
    window, total = 512 * 1024, 200  # 25 MiB of both

    async def scene() -> None:
        async with choir(limits=SMALL, protocol=Blocks(window_bytes=window)) as nodes:
            alice, bob, carol = nodes.values()
            sent = 0

            async def send(node: Node) -> None:
                nonlocal sent
                for number in range(total):
                    await node.group.cbcast(b"%06d" % number + CHUNK)
                    sent += 1

            listening = [asyncio.ensure_future(_listen(node.group)) for node in (alice, bob)]
            await until(lambda: alice.local_group.stream.reader, "alice reads herself")
            watch = Watch([alice, bob, carol])
            sending = [asyncio.ensure_future(send(node)) for node in (alice, bob)]
            await _standstill(lambda: sent)
            assert not any(task.done() for task in sending)
            assert sent < total
            everything = await read(carol.group, 2 * total)
            for name in ("alice", "bob"):
                numbers = [int(each.payload[:6]) for each in everything if each.sender == name]
                assert numbers == list(range(total))
            await asyncio.gather(*sending)
            await watch.end()
            assert watch.unread_bytes < UNREAD + 2 * (2 * window + 3 * FRAME)
            assert watch.kept_bytes < 2 * (window + 3 * FRAME)
            for task in listening:
                task.cancel()

    play(loop_factory, scene())


@pytest.mark.usefixtures("_small_buffers")
def test_member_that_stops_unread_still_gets_everything(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """A full stream does not keep its member from hearing the others out, nor from leaving."""
    total = 24

    async def scene() -> None:
        async with choir(DUET, folder=tmp_path, limits=SMALL) as nodes:
            alice, bob = nodes.values()
            listening = asyncio.ensure_future(_listen(alice.group))
            await until(lambda: alice.local_group.stream.reader, "alice reads herself")
            await alice.group.cbcast_many([CHUNK] * total)
            await until(lambda: bob.local_group.stream.is_full, "bob has stopped reading")
        await listening
        assert len([message async for message in bob.group.messages()]) == total

    play(loop_factory, scene())
    assert {rows_of(tmp_path, name)[-1].detail for name in DUET} == {LEFT}


@pytest.mark.usefixtures("_small_buffers")
@pytest.mark.parametrize("form", ["one by one", "many"])
def test_sender_without_reader_is_told_to_read(form: str, loop_factory: LoopFactory) -> None:
    """What is refused was not multicast; what was not refused is read; then sending goes on."""

    async def scene() -> None:
        async with choir(DUET, limits=SMALL) as nodes:
            alice, bob = (node.group for node in nodes.values())
            listening = asyncio.ensure_future(_listen(bob))
            sent = 0

            async def send() -> None:
                nonlocal sent
                if form == "many":
                    await alice.cbcast_many(repeat(CHUNK, 100))
                for _ in range(100):
                    await alice.cbcast(CHUNK)
                    sent += 1

            with pytest.raises(BackPressureError, match=r"read it \(`async for event in group`"):
                await send()
            assert alice._local.stream.unread_bytes < UNREAD + 2 * FRAME
            with pytest.raises(BackPressureError):
                await alice.cbcast(b"refused")
            count = alice._local.stream.unread_bytes // (len(CHUNK) + 64)
            assert form == "many" or count == sent
            assert {message.payload for message in await read(alice, count)} == {CHUNK}
            await alice.cbcast(b"again")
            assert await read(alice, 1) == [Message("alice", count + 1, b"again")]
            listening.cancel()

    play(loop_factory, scene())


@pytest.mark.usefixtures("_small_buffers")
@pytest.mark.parametrize("end", ["returns", "is cancelled"])
def test_sender_whose_reader_has_gone_is_told_too(end: str, loop_factory: LoopFactory) -> None:
    """A sender that waits for a reader does not wait for one that has ended."""

    async def scene() -> None:
        async with choir(["alice"], limits=SMALL) as nodes:
            group = nodes["alice"].group
            enough = asyncio.Event()

            async def read_a_little() -> None:
                await read(group, 1)
                await enough.wait()

            async def send() -> None:
                while True:
                    await group.cbcast(CHUNK)

            reading = asyncio.ensure_future(read_a_little())
            sending = asyncio.ensure_future(send())
            await until(lambda: group._local.stream._on_room, "the sender waits for room")
            if end == "returns":
                enough.set()
            else:
                reading.cancel()
            with pytest.raises(BackPressureError, match="nobody reads group choir"):
                await sending

    play(loop_factory, scene())


@pytest.mark.usefixtures("_small_buffers")
def test_sender_that_waits_for_room_is_released_by_a_stop(loop_factory: LoopFactory) -> None:
    """A stop ends the wait with a UsageError, and does not leave the sender hanging."""

    async def scene() -> None:
        async with choir(["alice"], limits=SMALL) as nodes:
            group = nodes["alice"].group

            async def send() -> None:
                while True:
                    await group.cbcast(CHUNK)

            await group.cbcast(b"first")
            group._local.stream._reader_task = (
                asyncio.current_task()
            )  # who has read and does something else
            sending = asyncio.ensure_future(send())
            await until(lambda: group._local.stream._on_room, "the sender waits for room")
        with pytest.raises(UsageError, match="is not in group choir now"):
            await sending

    play(loop_factory, scene())


@pytest.mark.usefixtures("_small_buffers")
@pytest.mark.parametrize("names", [DUET, TRIO], ids=["two", "three"])
def test_members_that_send_inside_their_reader_loops_do_not_wait_for_each_other(
    names: tuple[str, ...], loop_factory: LoopFactory
) -> None:
    """Answering every large message with a large one, all at once, comes to an end."""
    count = 120  # of 128 KiB each, by each: 15 MiB in flight in every direction

    async def scene() -> None:
        async with choir(names, limits=SMALL) as nodes:
            total = count * len(names)

            async def sing(group: Group) -> int:
                left, heard = count, 0
                for _ in range(3):
                    left -= 1
                    await group.cbcast(CHUNK + CHUNK)
                async for message in group.messages():
                    heard += 1
                    for _ in range(min(left, 2) if message.sender != group.me else 0):
                        left -= 1
                        await group.cbcast(CHUNK + CHUNK)
                    if heard == total:
                        break
                return heard

            heard = await asyncio.gather(*(sing(node.group) for node in nodes.values()))
            assert heard == [total] * len(names)

    play(loop_factory, scene())


@pytest.mark.usefixtures("_small_buffers")
def test_reader_that_answers_with_more_than_the_buffer_holds_goes_on(
    loop_factory: LoopFactory,
) -> None:
    """A task that reads and sends is not made to wait for itself."""

    async def scene() -> None:
        async with choir(DUET, limits=SMALL) as nodes:
            alice, bob = (node.group for node in nodes.values())
            listening = asyncio.ensure_future(_listen(bob))
            await alice.cbcast(b"go")
            heard = 0
            async for message in alice.messages():
                heard += 1
                if message.payload == b"go":
                    await alice.cbcast_many([CHUNK] * 64)  # four times the limit
                if heard == 65:
                    break
            listening.cancel()

    play(loop_factory, scene())


@pytest.mark.usefixtures("_small_buffers")
def test_cancelled_sender_leaves_the_group_usable(loop_factory: LoopFactory) -> None:
    """A sender cancelled while a slow member holds it up leaves nothing half done."""

    async def scene() -> None:
        async with choir(DUET, limits=SMALL) as nodes:
            alice, bob = nodes.values()
            listening = asyncio.ensure_future(_listen(alice.group))
            await until(lambda: alice.local_group.stream.reader, "alice reads herself")

            async def send() -> None:
                while True:
                    await alice.group.cbcast(CHUNK)

            senders = [asyncio.ensure_future(send()) for _ in range(3)]
            await until(
                lambda: alice.local_group.admission._waiting_senders == 3,
                "all senders wait for bob",
            )
            for sender in senders:
                sender.cancel()
            await asyncio.wait(senders)
            assert alice.local_group.admission._waiting_senders == 0
            last = asyncio.ensure_future(alice.group.cbcast(b"last"))
            heard = 0
            async for message in bob.group.messages():
                heard += 1
                assert message.number == heard
                if message.payload == b"last":
                    break
            await last
            listening.cancel()

    play(loop_factory, scene())


@pytest.mark.usefixtures("_small_buffers")
def test_order_of_waiting_senders_does_not_leak_into_each_other(loop_factory: LoopFactory) -> None:
    """Two tasks that multicast in different orders through one full link each get their own."""
    orders = [Order.FIFO, Order.CAUSAL] * 20

    async def scene() -> None:
        async with choir(DUET, limits=SMALL) as nodes:
            alice, bob = nodes.values()
            listening = asyncio.ensure_future(_listen(alice.group))
            await until(lambda: alice.local_group.stream.reader, "alice reads herself")
            filler = asyncio.ensure_future(alice.group.cbcast_many([CHUNK] * 400))
            await until(
                lambda: alice.local_group.admission._waiting_senders == 1, "the link is full"
            )
            senders = [
                asyncio.ensure_future(alice.group.multicast(order.name.encode(), order))
                for order in orders
            ]
            await until(
                lambda: alice.local_group.admission._waiting_senders == 1 + len(orders),
                "all wait for bob",
            )
            heard = await _read_runs(bob, 400 + len(orders))
            await asyncio.gather(filler, *senders)
            for run in heard:
                said = {payload for payload in run.payloads if payload != CHUNK}
                assert said <= {run.order.name.encode()}
            assert {run.order for run in heard} == set(orders)
            listening.cancel()

    play(loop_factory, scene())


async def _read_runs(node: Node, count: int) -> list[Run]:
    """Read so many messages as the runs that carried them."""
    runs: list[Run] = []
    while count:
        await until(lambda: node.local_group.stream._unread, "something has arrived")
        first = node.local_group.stream._unread[0]
        async for batch in node.group.batches():
            if isinstance(first, Run) and isinstance(batch, Batch):
                runs.append(first)
                count -= len(batch.payloads)
            break
    return runs


@pytest.mark.usefixtures("_small_buffers")
def test_member_that_sleeps_holds_senders_up_until_it_is_out(loop_factory: LoopFactory) -> None:
    """A stopped process is waited for until it is suspected; the others get everything."""
    total = 400  # 25 MiB
    timing = json.dumps({"heartbeat_us": QUICK.heartbeat_us, "timeout_us": QUICK.timeout_us})

    async def scene() -> None:
        addresses = free_addresses()
        nodes = make_choir(addresses, timing=QUICK, limits=SMALL)
        alice, bob = nodes["alice"], nodes["bob"]
        carol = {"join": {"me": "carol", "members": addresses}, "count": 0, "timing": timing}
        with running("tests/net/endless_member.py", carol) as process:
            await start_all([alice, bob])
            process.send_signal(signal.SIGSTOP)
            listening = asyncio.ensure_future(_listen(alice.group))
            hearing = asyncio.ensure_future(read(bob.group, total))
            await until(lambda: alice.local_group.stream.reader, "alice reads herself")
            for _ in range(total):
                await alice.group.cbcast(CHUNK)
            assert len(await hearing) == total
            assert alice.group.view.failed == ("carol",)
            listening.cancel()
        await stop_all([alice, bob])

    play(loop_factory, scene())


@pytest.mark.usefixtures("_small_buffers")
def test_answers_to_a_late_question_wait_at_their_sender(
    loop_factory: LoopFactory,
) -> None:
    """The delay queue is bounded too: what cannot be delivered is not confirmed."""
    held_max = 512 * 1024

    async def scene() -> None:
        async with choir(limits=replace(SMALL, held_bytes=held_max)) as nodes:
            alice, bob, carol = (nodes[name] for name in TRIO)
            readers = [asyncio.ensure_future(read(each.group, 401)) for each in (alice, bob, carol)]
            late = carol.driver.mesh.peers[alice.driver.process.bare()].link
            assert late is not None
            assert late._transport is not None
            late._transport.pause_reading()  # alice's messages are late at carol
            await alice.group.cbcast(b"question")
            await until(lambda: _delivered(bob)[0] == 1, "bob has heard it")
            answers = asyncio.ensure_future(bob.group.cbcast_many(repeat(CHUNK, 400)))
            await _standstill(lambda: _held_bytes(carol))
            assert not answers.done()
            assert held_max < _held_bytes(carol) < UNSTABLE + 3 * FRAME
            late._transport.resume_reading()
            heard = await asyncio.gather(*readers)
            await answers
            assert [message.payload for message in heard[2]][:2] == [b"question", CHUNK]
            assert _held_bytes(carol) == 0

    play(loop_factory, scene())


def _held_bytes(node: Node) -> int:
    assert node.driver.member is not None
    return node.driver.member.ordering.held_bytes


def _delivered(node: Node) -> list[int]:
    assert node.driver.member is not None
    return node.driver.member.ordering.clock(node.driver.member.group)

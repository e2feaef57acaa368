"""What was sent in an ended incarnation never goes out, and its sender is told (``Unsent``)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import pytest
from tests.net.harness import (
    QUICK,
    TRIO,
    LoopFactory,
    Nodes,
    choir,
    free_addresses,
    make_choir,
    play,
    start_all,
    stop_all,
    until,
    until_view,
)
from tests.net.partition import Partition

from antiphon import (
    Committer,
    DefiniteCallError,
    ExcludedError,
    Group,
    Letter,
    Message,
    Request,
    Unsent,
    UsageError,
)
from antiphon.net.driver.driver import Driver
from antiphon.net.process.node import Node
from antiphon.net.stream.events import Event
from antiphon.stack.send_queue import SendQueue

pytestmark = pytest.mark.net

QUARTET = ("alice", "bob", "carol", "dave")
SURVIVORS = ("alice", "bob")
REUNITED = ("alice", "bob", "carol~2")


class Reader:
    """Reads a group, event by event, as far as it is allowed to."""

    def __init__(self, group: Group) -> None:
        """Begin."""
        self.events: list[Event] = []
        self.error: Exception | None = None
        self.may_read = asyncio.Event()
        self.may_read.set()
        self._group = group
        self.task = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        try:
            async for event in self._group:
                self.events.append(event)
                await self.on_event(event)
                await self.may_read.wait()
        except ExcludedError as error:
            self.error = error

    async def on_event(self, event: Event) -> None:
        """Do nothing about it."""

    @property
    def said(self) -> list[bytes]:
        """What was read so far, multicasts and letters."""
        return [event.payload for event in self.events if isinstance(event, Message | Letter)]

    @property
    def kinds(self) -> list[str]:
        """What kinds of events were read; messages left out."""
        return [type(event).__name__ for event in self.events if not isinstance(event, Message)]

    def unsent(self) -> Unsent:
        """Return what this reader was told, which was told once."""
        (told,) = (event for event in self.events if isinstance(event, Unsent))
        return told


class Persistent(Reader):
    """Sends again what it is told."""

    async def on_event(self, event: Event) -> None:
        """Send it again."""
        if isinstance(event, Unsent):
            for payload in event.payloads:
                await self._group.cbcast(b"again " + payload)


def shut_out_carol(nodes: Nodes) -> None:
    """Have alice take carol, who lives, for dead."""
    network = nodes["alice"].incarnation
    network.on_dead(
        next(peer for peer in network.mesh.peers.values() if peer.process.name == "carol"), "so"
    )


def is_open(node: Node) -> bool:
    """Whether a node is in a view that nobody leaves."""
    return node.driver.member is not None and not node.driver.is_over and node.driver.member.is_open


async def hold_up_carol(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have carol wait until bob, who does not read, acknowledges a letter."""
    monkeypatch.setattr("antiphon.net.stream.stream.UNREAD_BYTES_MAX", 100)
    alice, bob, carol = (node.group for node in nodes.values())
    await alice.cbcast_many([b"x"] * 10)
    await until(lambda: bob._local.stream.is_full, "bob reads nothing")
    await carol.send("bob", b"hello?")
    assert not nodes["carol"].driver.member.may_multicast  # type: ignore[union-attr]


async def _end(nodes: Nodes, readers: Sequence[Reader]) -> None:
    await stop_all(list(nodes.values()))
    await asyncio.gather(*(reader.task for reader in readers))


def test_response_does_not_go_out_where_its_call_was_never_heard(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Carol answers dave while both are cut off: back as carol~2 it reads that nobody got that."""

    async def scene() -> None:
        partition = Partition(monkeypatch)
        nodes = make_choir(free_addresses(QUARTET), timing=QUICK, rejoin=True)
        await start_all(list(nodes.values()))
        alice, bob = (Reader(nodes[name].group) for name in SURVIVORS)
        carol = Persistent(nodes["carol"].group)
        partition.cut(SURVIVORS)
        await nodes["dave"].group.cbcast(b"question")
        await until(lambda: b"question" in carol.said, "carol has read it")
        await nodes["carol"].group.send("alice", b"for alice")  # never acknowledged
        await nodes["carol"].group.cbcast(b"first answer")
        await nodes["carol"].group.send("dave", b"for dave")
        await until(lambda: not nodes["carol"].group.view.primary, "carol is blocked")
        late = asyncio.ensure_future(nodes["carol"].group.cbcast(b"second answer"))
        await until_view(nodes["alice"], SURVIVORS)
        await nodes["dave"].stop()
        partition.heal()
        await until_view(nodes["carol"], REUNITED)
        await late
        await until(lambda: b"again second answer" in alice.said, "it comes from carol~2")
        told = carol.unsent()
        assert told.payloads == (b"first answer", b"for dave", b"second answer")
        assert told.to == ("", "dave", "")
        await until(lambda: carol.kinds[-1] == "View", "carol reads on")
        place = carol.kinds.index("Unsent")
        assert place == len(carol.kinds) - 2, "just before the first view of the new incarnation"
        for reader in (alice, bob):
            assert b"question" not in reader.said
            assert not {b"first answer", b"second answer", b"for dave"} & set(reader.said)
        del nodes["dave"]
        await _end(nodes, [alice, bob, carol])

    play(loop_factory, scene())


def test_nothing_vanishes_that_is_sent_while_no_machine_runs(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one incarnation is closed, the next has not begun: its reader is told."""
    close = Driver.close

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, rejoin=True)
        await start_all(list(nodes.values()))
        readers = [Reader(node.group) for node in nodes.values()]
        group, carol = nodes["carol"].group, readers[2]
        closed: list[Driver] = []

        async def sing() -> None:
            await group.cbcast(b"into the gap")
            await group.abcast(b"in order")
            await group.send("alice", b"to one")

        def close_and_sing(driver: Driver, detail: str) -> None:
            close(driver, detail)
            if driver.process.name == "carol" and not closed:
                closed.append(driver)
                with suppress(StopIteration):
                    sing().send(None)

        with monkeypatch.context() as patched:
            patched.setattr(Driver, "close", close_and_sing)
            shut_out_carol(nodes)
            await until_view(nodes["carol"], REUNITED)
        await until(lambda: carol.kinds[-1] == "View", "carol has come to the new one")
        said = (b"into the gap", b"in order", b"to one")
        assert carol.unsent() == (said, ("", "", "alice"))
        await group.cbcast(b"new")
        await until(lambda: readers[0].said == [b"new"], "nothing else has gone out")
        await _end(nodes, readers)

    play(loop_factory, scene())


def test_answer_of_a_reader_that_lags_behind_is_not_sent_in_the_next_incarnation(
    loop_factory: LoopFactory,
) -> None:
    """What the reader answers before it has come to the new view belongs to the old incarnation."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, rejoin=True)
        committers = [Committer(node.group) for node in nodes.values()]
        await start_all(list(nodes.values()))
        readers = [Reader(nodes[name].group) for name in SURVIVORS]
        carol = Reader(nodes["carol"].group)
        await nodes["alice"].group.cbcast(b"question")
        await until(lambda: carol.said == [b"question"], "carol has read it")
        carol.may_read.clear()
        await nodes["alice"].group.cbcast(b"more")
        await until(lambda: b"more" in carol.said, "carol reads only so far")
        shut_out_carol(nodes)
        await until_view(nodes["carol"], REUNITED)
        group = nodes["carol"].group
        await group.cbcast(b"answer")
        await group.abcast(b"answer in order")
        await group.send("alice", b"answer to one")
        with pytest.raises(DefiniteCallError, match="has ended"):
            await group.call(b"question in return")
        with pytest.raises(UsageError, match="do that after the next view"):
            await committers[2].begin(b"together")
        carol.may_read.set()
        await until(lambda: carol.kinds.count("View") == 2, "carol has come to the new one")
        assert carol.unsent() == (
            (b"answer", b"answer in order", b"answer to one"), ("", "", "alice")
        )  # fmt: skip
        await group.cbcast(b"new")
        assert (await committers[2].begin(b"together")).is_committed
        await until(lambda: all(reader.said[-1] == b"new" for reader in readers), "it goes out")
        assert readers[0].said == [b"question", b"more", b"new"]
        await _end(nodes, [*readers, carol])

    play(loop_factory, scene())


def test_request_of_an_earlier_incarnation_is_not_answered_in_the_next(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of a call says nothing to a caller that counts anew, or to another incarnation."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, rejoin=True)
        await start_all(list(nodes.values()))
        readers = [Reader(node.group) for node in nodes.values()]
        asked = asyncio.ensure_future(nodes["alice"].group.call(b"?", "first", timeout_s=None))
        await until(lambda: "Request" in readers[2].kinds, "carol is asked")
        shut_out_carol(nodes)
        await until_view(nodes["carol"], REUNITED)
        await until(lambda: readers[2].kinds.count("View") == 2, "carol has come to the new one")
        sent: list[object] = []
        (request,) = (event for event in readers[2].events if isinstance(event, Request))
        with monkeypatch.context() as patched:
            patched.setattr(SendQueue, "put", lambda _, item: sent.append(item))
            request.answer(b"old")
        assert not sent
        (request,) = (event for event in readers[1].events if isinstance(event, Request))
        request.answer(b"bob's")
        assert (await asked).answers == {"bob": b"bob's"}
        await _end(nodes, readers)

    play(loop_factory, scene())


def test_program_that_never_reads_sends_in_the_incarnation_that_is(
    loop_factory: LoopFactory,
) -> None:
    """What it sends depends on nothing that was delivered, as far as anybody can tell."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, rejoin=True)
        await start_all(list(nodes.values()))
        readers = [Reader(nodes[name].group) for name in SURVIVORS]
        shut_out_carol(nodes)
        await until(
            lambda: nodes["carol"].local_group.view and not is_open(nodes["carol"]), "it is out"
        )
        await nodes["carol"].group.cbcast(b"still here")
        await until(lambda: readers[0].said == [b"still here"], "alice has it")
        await _end(nodes, readers)

    play(loop_factory, scene())


async def _read_all(events: AsyncIterator[object], got: list[object]) -> None:
    with suppress(ExcludedError):
        while True:
            got.append(await anext(events))


@pytest.mark.parametrize("form", ["events", "batches", "messages"])
def test_stream_that_ends_tells_what_was_sent_in_vain(
    form: str, loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without rejoin it comes last, before the error; reading only messages passes over it."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK)
        await start_all(list(nodes.values()))
        alice = Reader(nodes["alice"].group)
        group = nodes["carol"].group
        forms = {"events": group.__aiter__, "batches": group.batches, "messages": group.messages}
        got: list[object] = []
        reading = asyncio.ensure_future(_read_all(forms[form](), got))
        await hold_up_carol(nodes, monkeypatch)
        await group.cbcast_many([b"one", b"two"])
        await group.send("alice", b"three")
        shut_out_carol(nodes)
        await reading
        told = Unsent((b"one", b"two", b"three"), ("", "", "alice"))
        assert [event for event in got if isinstance(event, Unsent)] == (
            [] if form == "messages" else [told]
        )
        assert form == "messages" or got[-1] == told
        bob = Reader(nodes["bob"].group)
        await until_view(nodes["bob"], SURVIVORS)
        await _end(nodes, [alice, bob])
        assert not {b"one", b"two", b"three"} & {*alice.said, *bob.said}

    play(loop_factory, scene())


def test_nothing_is_told_where_nothing_was_sent_in_vain(loop_factory: LoopFactory) -> None:
    """Neither a leaver nor who comes back with nothing to say reads an empty Unsent."""

    async def scene() -> None:
        async with choir(TRIO, timing=QUICK, rejoin=True) as nodes:
            readers = [Reader(node.group) for node in nodes.values()]
            await nodes["carol"].group.cbcast(b"x")
            await until(lambda: readers[0].said == [b"x"], "alice has it")
            shut_out_carol(nodes)
            await until_view(nodes["carol"], REUNITED)
            await until(lambda: readers[2].kinds.count("View") == 2, "carol reads on")
        await asyncio.gather(*(reader.task for reader in readers))
        assert not any("Unsent" in reader.kinds for reader in readers)

    play(loop_factory, scene())

"""Small promises of calls, letters and commit: each of these fails if one line is taken out.

Law: a scene is built by holding something up (a reader that does not read, a resource that does
not answer), never by being quick; so what is promised is seen in the order of things.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from unittest.mock import Mock

import pytest
from tests.net.harness import (
    QUICK,
    TRIO,
    LoopFactory,
    Nodes,
    address_of,
    choir,
    free_addresses,
    make_choir,
    play,
    start_all,
    stop_all,
    until,
    until_view,
)
from tests.net.test_committing import Diary, enter, house

from antiphon import (
    Committer,
    DefiniteCallError,
    Group,
    IndefiniteCallError,
    InDoubtError,
    Letter,
    Message,
    Request,
)
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.net.process.joining import make_node
from antiphon.net.process.node import Node
from antiphon.stack.effects import Effect

pytestmark = pytest.mark.net

SURVIVORS = ("alice", "bob")
REUNITED = ("alice", "bob", "carol~2")


class Reader:
    """Reads a group all the time, and answers what it is asked, unless it is not to."""

    def __init__(self, group: Group) -> None:
        """Begin."""
        self.said: list[bytes] = []
        self.open: list[Request] = []
        self.must_answer = True
        self._group = group
        self.task = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        async for event in self._group:
            if isinstance(event, Message | Letter | Request):
                self.said.append(event.payload)
            if isinstance(event, Request):
                self.open.append(event)
                if self.must_answer:
                    event.answer(b"done")


def shut_out_carol(nodes: Nodes) -> None:
    """Have alice take carol, who lives, for dead."""
    network = nodes["alice"].incarnation
    network.on_dead(
        next(peer for peer in network.mesh.peers.values() if peer.process.name == "carol"), "so"
    )


async def hold_up_carol(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have carol wait until bob, who does not read, acknowledges a letter."""
    monkeypatch.setattr("antiphon.net.stream.stream.UNREAD_BYTES_MAX", 100)
    alice, bob, carol = (node.group for node in nodes.values())
    await alice.cbcast_many([b"x"] * 10)
    await until(lambda: bob._local.stream.is_full, "bob reads nothing")
    await carol.send("bob", b"hello?")
    assert not nodes["carol"].driver.member.may_multicast  # type: ignore[union-attr]


async def _end(nodes: Sequence[Node], readers: Sequence[Reader]) -> None:
    await stop_all(nodes)
    for reader in readers:
        with suppress(Exception):  # the stream of an excluded process ends with an error
            await reader.task


# Calls.


def test_request_that_waits_when_its_process_is_excluded_was_done_by_nobody(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caller may call again at once; of one that had gone out nobody can say that."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK)
        await start_all(list(nodes.values()))
        readers = [Reader(nodes[name].group) for name in ("alice", "carol")]
        carol = nodes["carol"].group
        sent = asyncio.ensure_future(carol.call(b"sent", timeout_s=None))
        await until(lambda: b"sent" in readers[0].said, "alice is asked")
        await hold_up_carol(nodes, monkeypatch)
        waiting = asyncio.ensure_future(carol.call(b"waiting", timeout_s=None))
        await until(lambda: nodes["carol"].local_group.sending.queue.waiting, "it waits")
        shut_out_carol(nodes)
        with pytest.raises(DefiniteCallError, match="never went out"):
            await waiting
        with pytest.raises(IndefiniteCallError, match="carol is out of group choir"):
            await sent
        readers.append(Reader(nodes["bob"].group))
        await until_view(nodes["bob"], SURVIVORS)
        await _end(list(nodes.values()), readers)
        assert not any(b"waiting" in reader.said for reader in readers)

    play(loop_factory, scene())


EXPECTED: dict[str, type] = {
    "request": DefiniteCallError,
    "transaction": InDoubtError,
    "reply": type(None),  # nobody waits for that to go out
}
"""What whoever said something is told when its incarnation ends."""


@pytest.mark.parametrize("what", EXPECTED)
def test_what_a_tool_wanted_to_say_in_an_earlier_incarnation_is_never_said(
    what: str, loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was shut out comes back; whom it told that nothing was done has not been lied to."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, rejoin=True)
        committers = {name: Committer(node.group, Diary()) for name, node in nodes.items()}
        await start_all(list(nodes.values()))
        readers = [Reader(nodes[name].group) for name in ("alice", "carol")]
        heard = _spy(nodes["alice"])
        carol, reader = nodes["carol"].group, readers[1]
        reader.must_answer = False
        asked = asyncio.ensure_future(nodes["alice"].group.call(b"?", timeout_s=None))
        await until(lambda: reader.open, "carol is asked")
        await hold_up_carol(nodes, monkeypatch)
        said: asyncio.Future[Any] = asyncio.ensure_future(asyncio.sleep(0))
        if what == "request":
            said = asyncio.ensure_future(carol.call(b"old", timeout_s=None))
        elif what == "transaction":
            said = asyncio.ensure_future(committers["carol"].begin(b"old"))
        else:
            reader.open[0].answer(b"old")
        await until(lambda: nodes["carol"].local_group.sending.queue.waiting, "it waits")
        old = nodes["carol"].driver
        shut_out_carol(nodes)
        await until(lambda: old.is_over, "carol is out")
        await asyncio.wait([said])
        assert isinstance(said.exception(), EXPECTED[what])
        readers.append(Reader(nodes["bob"].group))
        reader.must_answer = True
        await until_view(nodes["carol"], REUNITED)
        with pytest.raises(IndefiniteCallError, match="carol failed"):
            await asked
        assert (await carol.call(b"new")).answers == {"alice": b"done", "bob": b"done"}
        assert (await committers["carol"].begin(b"new")).is_committed
        assert (await nodes["alice"].group.call(b"new")).answers["carol~2"] == b"done"
        assert not any(b"old" in word for word in heard)
        await _end(list(nodes.values()), readers)

    play(loop_factory, scene())


def _spy(node: Node) -> list[bytes]:
    """Return a list of all that a node's tools are handed from now on."""
    heard: list[bytes] = []
    assert node.driver.endpoint is not None
    ports = node.driver.endpoint.ports
    deliver = ports.deliver

    def listen(sender: ProcessId, run: Run, now_us: int) -> list[Effect]:
        heard.extend(run.payloads)
        return deliver(sender, run, now_us)

    spied = Mock(wraps=ports)
    spied.deliver = listen
    node.driver.endpoint.ports = spied
    return heard


@pytest.mark.parametrize("what", ["cbcast", "abcast", "call", "send"])
def test_replier_that_has_something_to_send_asks_for_the_acknowledgement(
    what: str, loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However patient the caller is with acknowledgements, what follows a reply goes out."""
    monkeypatch.setattr("antiphon.stack.sender.ACKNOWLEDGE_US", 1_000_000_000)

    async def scene() -> None:
        async with choir(TRIO) as nodes:
            readers = [Reader(node.group) for node in nodes.values()]
            alice, bob, _ = (node.group for node in nodes.values())
            await alice.call(b"?")
            letters = nodes["bob"].driver.member.letters  # type: ignore[union-attr]
            assert letters.waiting_for is not None, "nobody has asked for it yet"
            if what == "send":
                await bob.send("carol", b"next")
            else:
                asyncio.ensure_future(getattr(bob, what)(b"next"))  # noqa: RUF006 - seen below
            await until(lambda: b"next" in readers[2].said, "carol has it")
        await asyncio.gather(*(reader.task for reader in readers))

    play(loop_factory, scene())


# Commit.


class Slow(Diary):
    """A resource that takes its time to commit, and is in doubt meanwhile."""

    def __init__(self) -> None:
        """Begin with nothing prepared."""
        super().__init__()
        self.committing = 0
        self.may_commit = asyncio.Event()

    async def prepare(self, transaction: str, body: bytes) -> bool:
        """Remember it."""
        self.left.append(transaction)
        return await super().prepare(transaction, body)

    async def commit(self, transaction: str) -> None:
        """Wait until it may be done."""
        self.committing += 1
        await self.may_commit.wait()
        await super().commit(transaction)
        if transaction in self.left:
            self.left.remove(transaction)

    async def in_doubt(self) -> list[str]:
        """Return what is prepared and not done yet."""
        return list(self.left)


def test_nothing_new_is_asked_before_what_was_in_doubt_is_done(loop_factory: LoopFactory) -> None:
    """A resource that takes its time to do the old is asked for the new when it has."""

    async def scene() -> None:
        found = house(TRIO[:2])
        await enter(found)
        old = await found.committers["alice"].begin(b"old")
        late = make_node("choir", "carol", at="127.0.0.1:0", seeds=[address_of(found.nodes["bob"])])
        slow = Slow()
        slow.left.append(old.transaction)
        committer = Committer(late.group, slow)
        await late.start()
        await until(lambda: slow.committing, "carol has begun to do the old")
        begun = asyncio.ensure_future(found.committers["alice"].begin(b"new", needs=TRIO))
        await until(lambda: committer._votes or slow.entries, "carol is to vote on the new")
        await asyncio.sleep(0.05)
        slow.may_commit.set()
        assert (await begun).is_committed
        await until(lambda: len(slow.entries) == 3, "carol has done both")
        assert slow.entries == ["commit alice", "prepare new", "commit alice"]
        await stop_all([*found.nodes.values(), late])

    play(loop_factory, scene())


def test_what_an_earlier_incarnation_is_still_doing_is_not_done_again(
    loop_factory: LoopFactory,
) -> None:
    """A resource is asked what it doubts when it has done what it had been told before."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, rejoin=True)
        slow = Slow()
        resources = {"alice": Diary(), "bob": Diary(), "carol": slow}
        committers = {name: Committer(nodes[name].group, resources[name]) for name in nodes}
        await start_all(list(nodes.values()))
        founded = committers["carol"]._recovery
        assert (await committers["alice"].begin(b"x")).is_committed
        await until(lambda: slow.committing, "carol has begun to do it")
        shut_out_carol(nodes)
        await until_view(nodes["carol"], REUNITED)
        await until(lambda: committers["carol"]._recovery is not founded, "carol knows the past")
        await asyncio.sleep(0.05)
        slow.may_commit.set()
        await committers["carol"].settled()
        assert slow.entries == ["prepare x", "commit alice"]
        assert committers["carol"].in_doubt == ()
        await stop_all(list(nodes.values()))

    play(loop_factory, scene())

"""Distributed commit on the real network: resources that refuse, fail, hang, and come back."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from tests.net.harness import (
    QUICK,
    TRIO,
    LoopFactory,
    Nodes,
    free_addresses,
    make_choir,
    play,
    rows_of,
    start_all,
    stop_all,
    until,
    until_view,
    verdict_on,
)

from antiphon import Committer, InDoubtError, Order, UsageError
from antiphon.core.runs import PORT_COMMIT
from antiphon.net.group.committing import BODY_BYTES_MAX
from antiphon.net.process.joining import make_node
from antiphon.stack.inputs import MulticastRequested
from antiphon.stack.send_queue import How, WaitingLetter
from antiphon.trace.verdict import Property, Status

pytestmark = pytest.mark.net


class Diary:
    """A resource that writes down what it is told, and does as it is made to."""

    def __init__(self, left: Iterable[str] = ()) -> None:
        """Begin with transactions that an earlier incarnation has ``left`` prepared."""
        self.left = list(left)
        self.entries: list[str] = []
        self.answer: object = True
        self.gate = asyncio.Event()
        self.gate.set()

    async def prepare(self, transaction: str, body: bytes) -> bool:
        """Answer as told, once the gate is open."""
        await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        self.entries.append(f"prepare {body.decode()}")
        return self.answer  # type: ignore[return-value]

    async def commit(self, transaction: str) -> None:
        """Note it."""
        self.entries.append(f"commit {transaction.partition('/')[0]}")

    async def abort(self, transaction: str) -> None:
        """Note it."""
        self.entries.append(f"abort {transaction.partition('/')[0]}")

    async def in_doubt(self) -> list[str]:
        """Return what was left."""
        return self.left


class House:
    """Nodes with a committer and a diary each."""

    def __init__(self, nodes: Nodes, vote_s: float = 5.0) -> None:
        """Create them before the nodes start."""
        self.nodes = nodes
        self.diaries = {name: Diary() for name in nodes}
        self.committers = {
            name: Committer(node.group, self.diaries[name], vote_s=vote_s)
            for name, node in nodes.items()
        }

    async def settled(self) -> list[list[str]]:
        """Wait until everything has been noted; return the diaries."""
        for committer in self.committers.values():
            await committer.settled()
        return [diary.entries for diary in self.diaries.values()]


def house(names: Sequence[str] = TRIO, folder: Path | None = None, vote_s: float = 5.0) -> House:
    """Return a house that has not been entered."""
    return House(make_choir(free_addresses(names), folder=folder, timing=QUICK), vote_s)


async def enter(found: House) -> None:
    """Start all nodes."""
    await start_all(list(found.nodes.values()))


def shut_out(nodes: Nodes, name: str) -> None:
    """Have a living member taken for dead."""
    network = nodes["alice"].incarnation
    network.on_dead(
        next(peer for peer in network.mesh.peers.values() if peer.process.name == name), "so be it"
    )


async def leave(found: House) -> None:
    """Stop all nodes."""
    await stop_all(list(found.nodes.values()))


def test_all_commit_what_all_prepared(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """Each resource prepares and then commits, and the trace of it holds."""

    async def scene() -> None:
        found = house(folder=tmp_path)
        await enter(found)
        ending = await found.committers["bob"].begin(b"x")
        assert ending.is_committed
        assert ending.transaction.startswith("bob/1/")
        await until(lambda: all(len(d.entries) == 2 for d in found.diaries.values()), "all did")
        assert await found.settled() == [["prepare x", "commit bob"]] * 3
        await leave(found)

    play(loop_factory, scene())
    rows = [row for name in TRIO for row in rows_of(tmp_path, name)]
    said = [(row.kind, row.sender, row.first, row.detail) for row in rows if row.kind == "vote"]
    assert said == [("vote", "bob", 1, "yes")] * 3
    done = [(row.sender, row.first, row.detail) for row in rows if row.kind == "decide"]
    assert done == [("bob", 1, "commit")] * 3
    judged = {item.property: item.status for item in verdict_on(tmp_path).properties}
    assert judged[Property.COMMIT] is judged[Property.UNIFORM] is Status.HOLDS


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (False, "carol refused: its resource cannot do that"),
        (None, "carol refused: its resource cannot do that"),
        (OSError("disk full"), "carol refused: OSError: disk full"),
    ],
)
def test_resource_that_refuses_or_raises_aborts_for_all(
    loop_factory: LoopFactory, answer: object, why: str
) -> None:
    """The others drop what they prepared; the reason reaches who began; the group goes on."""

    async def scene() -> None:
        found = house()
        found.diaries["carol"].answer = answer
        await enter(found)
        ending = await found.committers["alice"].begin(b"x")
        assert (ending.is_committed, ending.why) == (False, why)
        found.diaries["carol"].answer = True
        assert (await found.committers["alice"].begin(b"y")).is_committed
        await until(lambda: found.diaries["bob"].entries[-1] == "commit alice", "bob did")
        _, bob, carol = await found.settled()
        assert bob == ["prepare x", "abort alice", "prepare y", "commit alice"]
        assert "abort alice" not in carol, "nothing was prepared there"
        await leave(found)

    play(loop_factory, scene())


def test_vote_that_never_comes_aborts_in_time(loop_factory: LoopFactory) -> None:
    """A resource that hangs holds nobody up for longer than agreed, and is told afterwards."""

    async def scene() -> None:
        found = house(vote_s=0.2)
        hanging = found.diaries["bob"]
        hanging.gate.clear()
        await enter(found)
        ending = await found.committers["carol"].begin(b"x")
        assert ending.why == "bob did not vote within 0.2 s"
        hanging.gate.set()
        await found.settled()
        assert hanging.entries == ["prepare x", "abort carol"], "in this order"
        await leave(found)

    play(loop_factory, scene())


def test_member_without_a_resource_agrees(loop_factory: LoopFactory) -> None:
    """Whoever has nothing at stake takes part, and votes yes."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(TRIO[:2]))
        committers = [Committer(node.group) for node in nodes.values()]
        await start_all(list(nodes.values()))
        assert (await committers[1].begin(b"x")).is_committed
        await stop_all(list(nodes.values()))

    play(loop_factory, scene())


def test_transaction_that_needs_an_absent_process_is_aborted(loop_factory: LoopFactory) -> None:
    """Nothing is prepared, and the reason says who is missing."""

    async def scene() -> None:
        found = house(TRIO[:2])
        await enter(found)
        ending = await found.committers["alice"].begin(b"x", needs=["bob", "carol"])
        assert ending.why == "carol is needed, and is not in the group"
        assert await found.settled() == [[], []]
        await leave(found)

    play(loop_factory, scene())


def test_transactions_go_on_beside_each_other(loop_factory: LoopFactory) -> None:
    """Hundreds at once, of all members, are all committed, by all."""

    async def scene() -> None:
        found = house()
        await enter(found)
        begun = [one.begin(b"x") for one in found.committers.values() for _ in range(100)]
        assert all(ending.is_committed for ending in await asyncio.gather(*begun))
        await until(lambda: all(len(d.entries) == 600 for d in found.diaries.values()), "all did")
        await leave(found)

    play(loop_factory, scene())


def test_joiner_in_doubt_is_told_by_the_others(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """What an earlier incarnation left prepared ends as in the group; what is no name is logged."""

    async def scene() -> None:
        found = house(TRIO[:2])
        await enter(found)
        good = await found.committers["alice"].begin(b"x")
        found.diaries["bob"].answer = False
        bad = await found.committers["alice"].begin(b"y")
        late = make_node(
            "choir", "carol", at="127.0.0.1:0", seeds=[str(found.nodes["bob"].address)]
        )
        diary = Diary(["nonsense", good.transaction, bad.transaction, "alice/9/1"])
        committer = Committer(late.group, diary)
        await late.start()
        await until(lambda: committer.in_doubt == ("alice/9/1",), "two of three are known")
        assert diary.entries == ["commit alice", "abort alice"]
        found.diaries["bob"].answer = True
        assert (await committer.begin(b"z", needs=TRIO)).is_committed
        assert diary.entries[2:] == ["prepare z", "commit carol"]
        assert "'nonsense' names no transaction" in caplog.text
        await stop_all([*found.nodes.values(), late])

    play(loop_factory, scene())


def test_open_transaction_is_decided_for_whoever_comes_back(loop_factory: LoopFactory) -> None:
    """A process that comes back while its transaction is open is told when it is decided."""

    async def scene() -> None:
        found = house()
        slow = found.diaries["alice"]
        slow.gate.clear()
        await enter(found)
        ending = asyncio.ensure_future(found.committers["alice"].begin(b"x"))
        carol = found.diaries["carol"]
        await until(lambda: carol.entries == ["prepare x"], "carol has prepared")
        await asyncio.sleep(0.05)  # her vote is on its way
        await found.nodes["carol"].stop()
        await until_view(found.nodes["alice"], TRIO[:2])
        name = f"alice/1/{found.nodes['alice'].incarnation.start:x}"
        seeds = [str(found.nodes["alice"].address)]
        again = make_node("choir", "carol", at="127.0.0.1:0", seeds=seeds)
        diary = Diary([name])
        committer = Committer(again.group, diary)
        await again.start()
        await until(lambda: committer.in_doubt == (name,), "carol knows that it is open")
        slow.gate.set()
        assert (await ending).is_committed, "her vote outlives her"
        await until(lambda: diary.entries == ["commit alice"], "she has heard of it")
        assert committer.in_doubt == ()
        await stop_all([*found.nodes.values(), again])

    play(loop_factory, scene())


def test_excluded_process_comes_back_and_learns_the_outcome(loop_factory: LoopFactory) -> None:
    """Who was shut out while its transaction was open finds it decided in its next incarnation."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, rejoin=True)
        found = House(nodes)
        slow = found.diaries["alice"]
        slow.gate.clear()
        await enter(found)
        beginning = asyncio.ensure_future(found.committers["carol"].begin(b"x"))
        carol = found.diaries["carol"]
        await until(lambda: carol.entries == ["prepare x"], "carol has prepared")
        await asyncio.sleep(0.05)  # her vote is on its way
        carol.left = [f"carol/1/{nodes['carol'].incarnation.start:x}"]
        shut_out(nodes, "carol")
        with pytest.raises(InDoubtError, match="carol is out of group choir"):
            await beginning
        slow.gate.set()
        await until_view(nodes["bob"], ("alice", "bob", "carol~2"))
        await until(lambda: carol.entries == ["prepare x", "commit carol"], "carol has learned it")
        carol.left = []
        assert (await found.committers["carol"].begin(b"y", needs=TRIO)).is_committed
        await leave(found)

    play(loop_factory, scene())


def test_who_leaves_before_the_decision_is_in_doubt(loop_factory: LoopFactory) -> None:
    """Whoever began a transaction and is out of the group is told that it cannot know."""

    async def scene() -> None:
        found = house()
        found.diaries["alice"].gate.clear()
        await enter(found)
        beginning = asyncio.ensure_future(found.committers["carol"].begin(b"x"))
        await until(lambda: found.diaries["bob"].entries, "it has begun")
        await found.nodes["carol"].stop()
        with pytest.raises(InDoubtError, match="is not known here \\(this process has left\\)"):
            await beginning
        found.diaries["alice"].gate.set()
        await found.settled()
        await leave(found)

    play(loop_factory, scene())


def test_resource_that_fails_to_commit_is_reported(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """The decision stands; the failure is logged, and the group goes on."""

    async def scene() -> None:
        class Broken(Diary):
            async def commit(self, transaction: str) -> None:
                raise OSError(transaction)

            async def in_doubt(self) -> list[str]:
                raise OSError

        nodes = make_choir(free_addresses(TRIO[:2]))
        first = Committer(nodes["alice"].group, Broken())
        second = Committer(nodes["bob"].group, Diary())
        await start_all(list(nodes.values()))
        assert (await second.begin(b"x")).is_committed
        assert (await first.begin(b"y")).is_committed
        await stop_all(list(nodes.values()))

    play(loop_factory, scene())
    assert caplog.text.count("the resource is unable to commit") == 2
    assert "the resource does not say what is in doubt" in caplog.text


def test_nonsense_on_the_port_is_ignored(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """A member that sends what is no word on a transaction disturbs nothing."""

    async def scene() -> None:
        found = house(TRIO[:2])
        await enter(found)
        node = found.nodes["bob"]
        node.driver.give(MulticastRequested([b"\xff"], How(Order.CAUSAL, port=PORT_COMMIT), 1))
        alice = node.local_group.member_named("alice")
        node.local_group.sending.queue.put(WaitingLetter(alice, b"\xff", PORT_COMMIT))
        assert (await found.committers["bob"].begin(b"x")).is_committed
        await leave(found)

    play(loop_factory, scene())
    assert caplog.text.count("ignores a word of bob to a tool of the group") == 3, (
        "bob gets his own too"
    )


def test_wrong_use_is_refused_at_once(loop_factory: LoopFactory) -> None:
    """Outside of a group, with too large a body, twice on a group, or where it cannot be had."""

    async def scene() -> None:
        found = house(TRIO[:1])
        alice = found.committers["alice"]
        with pytest.raises(UsageError, match="has not entered group choir: write `async with"):
            await alice.begin(b"x")
        with pytest.raises(UsageError, match="group choir has a Committer already: use that one"):
            Committer(found.nodes["alice"].group)
        await enter(found)
        with pytest.raises(UsageError, match="shorten it"):
            await alice.begin(bytes(BODY_BYTES_MAX + 1))
        with pytest.raises(UsageError, match="is bytes, not str: encode it"):
            await alice.begin("x")  # type: ignore[arg-type]
        await leave(found)
        late = make_choir(free_addresses(TRIO[:1]))["alice"]
        await late.start()
        with pytest.raises(UsageError, match="create the committer before"):
            Committer(late.group)
        await late.stop()
        weak = make_choir(free_addresses(TRIO[:1]), flush="coordinator")["alice"]
        with pytest.raises(UsageError, match="uniform"):
            Committer(weak.group)

    play(loop_factory, scene())

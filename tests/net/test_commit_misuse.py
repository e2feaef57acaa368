"""Distributed commit used wrongly: without a committer, without a time, with too much to say."""

import asyncio
import zlib
from typing import Any

import pytest
from tests.net.harness import (
    QUICK,
    TRIO,
    LoopFactory,
    Nodes,
    address_of,
    exchange,
    free_addresses,
    make_choir,
    play,
    start_all,
    stop_all,
    until,
)
from tests.net.test_committing import Diary, enter, house, leave

from antiphon import Committer, UsageError
from antiphon.core.frames import VERSION
from antiphon.net.group.committing import BODY_BYTES_MAX
from antiphon.net.process.joining import make_node
from antiphon.net.process.node import Node
from antiphon.net.session.identity import domain_digest
from antiphon.toolkit.commit import Commit
from antiphon.toolkit.commit_messages import WHY_LENGTH_MAX, Decision, Transaction

pytestmark = pytest.mark.net

ADVICE = "create a Committer at every member before entering, or at none"


# Who has a committer.


async def refused(node: Node) -> str:
    """Start a node that cannot start; return what it says."""
    with pytest.raises(UsageError) as refusal:
        await node.start()
    return str(refusal.value)


@pytest.mark.parametrize("having", ["alice", "bob"])
def test_founders_of_which_one_has_no_committer_are_both_told(
    having: str, loop_factory: LoopFactory
) -> None:
    """Who dials hears it at once, who is dialled when its time is up; nobody waits in vain."""

    async def scene() -> list[str]:
        addresses = free_addresses(TRIO[:2])
        nodes = {
            name: make_node("choir", name, members=addresses, connect_s=seconds)
            for name, seconds in [("alice", 1.0), ("bob", 2.0)]
        }
        Committer(nodes[having].group)
        return await asyncio.gather(*map(refused, nodes.values()))

    alice, bob = play(loop_factory, scene())
    assert alice.endswith(ADVICE)
    assert bob.endswith(ADVICE)
    odd = "takes no part in transactions" if having == "alice" else "takes part in transactions"
    assert odd in alice


@pytest.mark.parametrize("with_commit", [True, False])
def test_joiner_must_have_a_committer_just_if_the_group_has(
    with_commit: bool, loop_factory: LoopFactory
) -> None:
    """One sentence says what to do; nobody else notices anything, and who does it is let in."""

    def joiner(nodes: Nodes, *, has_one: bool) -> Node:
        node = make_node("choir", "dave", at="127.0.0.1:0", seeds=[address_of(nodes["bob"])])
        if has_one:
            Committer(node.group)
        return node

    async def scene() -> str:
        nodes = make_choir(free_addresses())
        committers = [Committer(node.group) for node in nodes.values() if with_commit]
        await start_all(list(nodes.values()))
        said = await refused(joiner(nodes, has_one=not with_commit))
        assert {node.group.view.number for node in nodes.values()} == {1}
        dave = joiner(nodes, has_one=with_commit)
        await dave.start()
        await exchange([*nodes.values(), dave])
        for committer in committers:
            assert (await committer.begin(b"x", ["dave"])).is_committed
        await stop_all([*nodes.values(), dave])
        return said

    said = play(loop_factory, scene())
    assert said.endswith(ADVICE)
    assert ("its group takes part" if with_commit else "its group takes no part") in said


def test_committer_made_while_a_group_is_being_entered_is_refused(
    loop_factory: LoopFactory,
) -> None:
    """By then the others have been told that there is none."""

    async def scene() -> None:
        node = make_choir(free_addresses(TRIO[:2]))["alice"]
        starting = asyncio.ensure_future(node.start())  # and bob does not come
        await until(lambda: node.local_group.is_started, "alice enters")
        assert node.local_group.view is None
        with pytest.raises(UsageError, match="create the committer before"):
            Committer(node.group)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    play(loop_factory, scene())


def test_domain_tells_committers_and_is_what_it_was_without_them() -> None:
    """Groups without transactions go on talking to processes that know of none."""
    said = f"antiphon\n{VERSION}\nvector\nchoir\nview-atomic\n"
    digests = [
        domain_digest("choir", "view-atomic", with_state=state, with_commit=commit)
        for state in (False, True)
        for commit in (False, True)
    ]
    assert digests[0] == zlib.crc32(said.encode())
    assert digests[2] == zlib.crc32(f"{said}state".encode())
    assert len(dict.fromkeys(digests)) == 4


# How long votes are waited for.


NO_TIMES: list[Any] = [
    float("nan"), float("inf"), -float("inf"), 0, 0.0, -1, "x", "1", None, True, [1], 1j,
]  # fmt: skip


@pytest.mark.parametrize("vote_s", NO_TIMES, ids=repr)
def test_time_for_votes_that_is_none_is_refused_and_takes_nothing(
    vote_s: Any, loop_factory: LoopFactory
) -> None:
    """A right committer can be made afterwards, on the same group."""

    async def scene() -> None:
        node = make_choir(free_addresses(TRIO[:1]))["alice"]
        with pytest.raises(UsageError, match="is no time to wait for votes: give seconds, above 0"):
            Committer(node.group, vote_s=vote_s)
        committer = Committer(node.group, vote_s=1)
        await node.start()
        assert (await committer.begin(b"x")).is_committed
        await node.stop()

    play(loop_factory, scene())


@pytest.mark.parametrize("vote_s", [10**400, 1e308, 1e12], ids=["vast", "huge", "long"])
def test_time_for_votes_without_end_is_as_good_as_any(
    vote_s: float, loop_factory: LoopFactory
) -> None:
    """Whoever waits practically for ever is not told that it cannot be computed."""

    async def scene() -> None:
        found = house(TRIO[:2], vote_s=vote_s)
        await enter(found)
        assert (await found.committers["bob"].begin(b"x")).is_committed
        await leave(found)

    play(loop_factory, scene())


def test_short_time_for_votes_keeps_nobody_busy(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A participant looks at its watch so often and no more while a transaction is open."""
    looks: dict[str, int] = {}
    right = Commit.tick

    def counted(self: Commit, now_us: int) -> Any:
        looks[str(self._me)] = looks.get(str(self._me), 0) + 1
        return right(self, now_us)

    monkeypatch.setattr(Commit, "tick", counted)

    async def scene() -> None:
        nodes = make_choir(free_addresses(TRIO[:2]))
        slow = Diary()
        slow.gate.clear()
        Committer(nodes["alice"].group)
        committer = Committer(nodes["bob"].group, slow, vote_s=1e-9)
        await start_all(list(nodes.values()))
        begun = asyncio.ensure_future(committer.begin(b"x"))
        await until(lambda: "bob" in looks, "bob looks at its watch")
        await asyncio.sleep(0.2)
        slow.gate.set()
        assert (await begun).is_committed
        await stop_all(list(nodes.values()))

    play(loop_factory, scene())
    assert 5 < looks["bob"] < 500


# What is begun.


@pytest.mark.parametrize(
    ("body_size", "count"), [(BODY_BYTES_MAX, 100), (0, 400_000)], ids=["long body", "many names"]
)
def test_beginning_above_the_limit_is_refused_and_the_group_unharmed(
    body_size: int, count: int, loop_factory: LoopFactory
) -> None:
    """Nothing is multicast that others would take for nonsense."""

    async def scene() -> None:
        found = house()
        await enter(found)
        names = [f"n{number:06}" + "x" * 50 for number in range(count)]
        with pytest.raises(UsageError, match="can be multicast, so shorten them"):
            await found.committers["carol"].begin(bytes(body_size), names)
        for committer in found.committers.values():
            assert (await committer.begin(b"y", TRIO)).is_committed
        assert {node.group.view.number for node in found.nodes.values()} == {1}
        await leave(found)

    play(loop_factory, scene())


def test_joiner_is_told_more_than_goes_into_a_message(loop_factory: LoopFactory) -> None:
    """Everybody stays, and the joiner knows it all."""

    async def scene() -> None:
        found = house()
        await enter(found)
        why = "\N{MUSICAL SYMBOL G CLEF}" * WHY_LENGTH_MAX
        known = [Decision(Transaction("zoe", number), False, why) for number in range(9000)]
        for committer in found.committers.values():
            assert committer._machine is not None
            committer._machine._decided = {one.transaction: one for one in known}
        seeds = [address_of(found.nodes["bob"])]
        dave = make_node("choir", "dave", at="127.0.0.1:0", seeds=seeds, timing=QUICK)
        diary = Diary([str(known[0].transaction), str(known[-1].transaction)])
        committer = Committer(dave.group, diary)
        await dave.start()
        await until(lambda: diary.entries == ["abort zoe"] * 2, "dave has been told")
        assert (await committer.begin(b"x", [*TRIO, "dave"])).is_committed
        assert dave.group.members == (*TRIO, "dave")
        await stop_all([*found.nodes.values(), dave])

    play(loop_factory, scene())

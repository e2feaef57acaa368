"""Out of a lost majority, on sockets: from the program, by an operator, rightly and wrongly."""

import asyncio
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator
from functools import partial

import pytest
from tests.net.harness import (
    QUICK,
    LoopFactory,
    Nodes,
    address_of,
    exchange,
    free_addresses,
    make_choir,
    play,
    read_payloads,
    start_all,
    stop_all,
    until,
    until_view,
)

from antiphon import ExcludedError, Group, UsageError, View
from antiphon.net.process.joining import make_node
from antiphon.net.process.node import Node
from antiphon.net.process.override import STATUS, TAKE_OVER, consult

pytestmark = pytest.mark.net


class Notes:
    """A state: what was delivered."""

    def __init__(self) -> None:
        """Nothing was delivered."""
        self.said = b""

    def save(self) -> bytes:
        """Return all of it."""
        return self.said

    async def load(self, pieces: AsyncIterator[bytes]) -> None:
        """Replace it."""
        self.said = b"".join([piece async for piece in pieces])


async def kill(nodes: Nodes, *names: str) -> None:
    """End processes without a word."""
    for name in names:
        await nodes[name].process.close()


async def until_blocked(node: Node) -> None:
    """Wait until a node has lost its majority."""
    await until(lambda: not node.group.view.primary, f"{node.name} is blocked")


def cut_off(node: Node) -> None:
    """Have a node take all others, who live and go on, for dead."""
    for peer in list(node.driver.outlet.members):
        node.incarnation.on_dead(peer, "the test says so")


def test_survivor_takes_over_and_others_come_with_its_state(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """What it sent while it was blocked goes out, and who is started anew gets its state."""

    async def scene() -> None:
        addresses, state = free_addresses(), Notes()
        states = {"alice": state, "bob": Notes(), "carol": Notes()}
        nodes = {
            name: make_node("choir", name, members=addresses, timing=QUICK, state=states[name],
                            drain_s=0.05)
            for name in addresses
        }  # fmt: skip
        await start_all(list(nodes.values()))
        alice = nodes["alice"]
        await alice.group.cbcast(b"before")
        assert await read_payloads(alice.group, 1) == [b"before"]
        state.said = b"before"
        await kill(nodes, "bob", "carol")
        await until_blocked(alice)
        view = await alice.group.take_over()
        assert (view.members, view.failed, view.primary) == (("alice",), ("bob", "carol"), True)
        assert view.lineage
        assert alice.group.view == view
        anew = Notes()
        bob = make_node("choir", "bob", members=addresses, timing=QUICK, state=anew, drain_s=0.05)
        reading = asyncio.ensure_future(read_payloads(alice.group, 2))
        await bob.start()
        assert anew.said == b"before"
        assert bob.group.members == ("alice", "bob~2")
        assert bob.group.view.lineage == view.lineage
        await alice.group.cbcast(b"from alice")
        await bob.group.cbcast(b"from bob")
        assert set(await read_payloads(bob.group, 2)) == {b"from alice", b"from bob"}
        assert len(await reading) == 2
        await stop_all([alice, bob, *nodes.values()])

    play(loop_factory, scene())
    assert "alice has taken group choir over, by order of its own program" in caplog.text
    assert "without bob, carol" in caplog.text


def test_who_is_not_blocked_is_not_taken_over(loop_factory: LoopFactory) -> None:
    """From the program or by an operator: it says why not, and goes on."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK)
        await start_all(list(nodes.values()))
        alice = nodes["alice"]
        with pytest.raises(UsageError, match="it reaches enough members to go on"):
            await alice.group.take_over()
        where = address_of(alice)
        status = await consult(where, "choir", STATUS, 0, "op")
        assert (status.process, status.number, status.is_blocked) == ("alice", 1, False)
        assert "reaches enough" in status.obstacle
        refused = await consult(where, "choir", TAKE_OVER, 1, "op")
        assert "reaches enough" in refused.obstacle
        with pytest.raises(UsageError, match="is in group choir, not quire"):
            await consult(where, "quire", STATUS, 0, "op")
        assert "no order 'dance'" in (await consult(where, "choir", "dance", 0, "op")).obstacle
        await exchange(list(nodes.values()))
        await stop_all(list(nodes.values()))

    play(loop_factory, scene())


def test_operator_has_a_survivor_take_over(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """It is shown what the process holds; an order about another view is not obeyed."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, drain_s=0.05)
        await start_all(list(nodes.values()))
        carol = nodes["carol"]
        await kill(nodes, "bob", "alice")
        await until_blocked(carol)
        where = address_of(carol)
        status = await consult(where, "choir", STATUS, 0, "op")
        assert status.obstacle == ""
        assert (status.members, set(status.missing)) == (
            ("alice", "bob", "carol"), {"alice", "bob"},
        )  # fmt: skip
        assert "in another view" in (await consult(where, "choir", TAKE_OVER, 7, "op")).obstacle
        after = await consult(where, "choir", TAKE_OVER, status.number, "op")
        assert (after.obstacle, after.members) == ("", ("carol",))
        await until_view(carol, ["carol"])
        await stop_all(list(nodes.values()))

    play(loop_factory, scene())
    assert (
        "carol has taken group choir over, by order of an operator, op at 127.0.0.1" in caplog.text
    )
    assert "antiphon takeover 127.0.0.1:" in caplog.text


def _has_come(group: Group, over: View) -> bool:
    view = group.view
    return view.primary and view.lineage == over.lineage and len(view.members) == 3


def test_majority_that_lives_after_all_is_out_and_comes_back(loop_factory: LoopFactory) -> None:
    """Who was cut off takes over, wrongly: the others hear of it, and join it."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, rejoin=True, drain_s=0.5)
        await start_all(list(nodes.values()))
        readers = [asyncio.ensure_future(_drain(node.group)) for node in nodes.values()]
        carol = nodes["carol"]
        cut_off(carol)
        await until_blocked(carol)
        view = await carol.group.take_over()
        for name in ("alice", "bob"):
            await until(partial(_has_come, nodes[name].group, view), f"{name} has come over")
        assert set(carol.group.members) == {"carol", "alice~2", "bob~2"}
        await stop_all(list(nodes.values()))
        for reader in readers:
            await reader

    play(loop_factory, scene())


def test_majority_that_has_gone_on_learns_it_from_a_question(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has excluded the one that takes over, and does not look for it any more."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, rejoin=True, drain_s=0.5)
        await start_all(list(nodes.values()))
        readers = [asyncio.ensure_future(_drain(node.group)) for node in nodes.values()]
        carol = nodes["carol"]
        with monkeypatch.context() as patched:  # nor does it hear that it is out
            patched.setattr(carol.driver.mesh, "probe", lambda _process, _group: None)
            cut_off(carol)
            for name in ("alice", "bob"):
                await until_view(nodes[name], ["alice", "bob"])
                mesh = nodes[name].driver.mesh
                if (peer := mesh.peers.get(carol.driver.process.bare())) is not None:
                    mesh._forget(peer)  # as after a few seconds
            await until_blocked(carol)
            view = await carol.group.take_over()
        for name in ("alice", "bob"):
            await until(partial(_has_come, nodes[name].group, view), f"{name} has come over")
        await stop_all(list(nodes.values()))
        for reader in readers:
            await reader

    play(loop_factory, scene())


def test_command_shows_what_is_held_and_has_it_taken_over(loop_factory: LoopFactory) -> None:
    """Status 2 and a sentence where it cannot be; 1 if the operator is not sure."""

    async def run(*words: str, say: bytes = b"") -> tuple[int | None, str]:
        command = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "antiphon", "takeover", *words, stdin=PIPE, stdout=PIPE,
            stderr=STDOUT,
        )  # fmt: skip
        told, _ = await command.communicate(say)
        return command.returncode, told.decode()

    async def scene() -> None:
        nodes = make_choir(free_addresses(["alice", "bob"]), timing=QUICK, drain_s=0.05)
        await start_all(list(nodes.values()))
        bob, where = nodes["bob"], address_of(nodes["bob"])
        status, told = await run(where, "--group", "choir")
        assert status == 2
        assert "bob cannot take over: it reaches enough members" in told
        await kill(nodes, "alice")
        await until_blocked(bob)
        status, told = await run(where, "--group", "choir", say=b"n\n")
        assert status == 1
        assert "out of its reach: alice" in told
        assert bob.driver.view_number == 1
        status, told = await run(where, "--group", "choir", "--yes")
        assert status == 0, told
        assert "bob goes on alone, in view 2 of lineage" in told
        await until_view(bob, ["bob"])
        await stop_all(list(nodes.values()))

    play(loop_factory, scene())


async def _drain(group: Group) -> list[View]:
    return [event async for event in group if isinstance(event, View)]


def test_who_does_not_come_back_is_told_of_the_takeover(loop_factory: LoopFactory) -> None:
    """The error at the end of its stream says what has happened."""

    async def scene() -> str:
        nodes = make_choir(free_addresses(["alice", "bob"]), timing=QUICK, drain_s=0.05)
        await start_all(list(nodes.values()))
        alice, bob = nodes["alice"], nodes["bob"]
        reading = asyncio.ensure_future(_drain(alice.group))
        cut_off(bob)
        await until_blocked(bob)
        await bob.group.take_over()
        with pytest.raises(ExcludedError) as out:
            await reading
        assert not alice.group.view.primary
        await stop_all([alice, bob])
        return str(out.value)

    said = play(loop_factory, scene())
    assert "alice is out of group choir: a member has taken the group over, without this" in said
    assert "join again" in said

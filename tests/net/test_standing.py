"""How a process stands in its group, as ``group.view`` tells a health check, and the log people."""

import asyncio

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

from antiphon import CallError, DefiniteCallError, ExcludedError, Group, UsageError, View
from antiphon.net.process.bootstrap import Bootstrap

pytestmark = pytest.mark.net

BLOCKED = View(1, ("alice",), primary=False, missing=("bob", "carol"))


def shut_out_carol(nodes: Nodes) -> None:
    """Have alice take carol, who lives, for dead."""
    network = nodes["alice"].incarnation
    network.on_dead(
        next(peer for peer in network.mesh.peers.values() if peer.process.name == "carol"), "so"
    )


async def views_of(group: Group) -> list[View]:
    """Read a group to its end; return its views."""
    return [event async for event in group if isinstance(event, View)]


def test_blocked_view_says_whom_it_misses(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """In the handle, in the stream and in the log; nobody is missing when it goes on."""

    async def scene() -> list[View]:
        nodes = make_choir(free_addresses(), timing=QUICK, drain_s=0.05)
        await start_all(list(nodes.values()))
        alice = nodes["alice"].group
        reading = asyncio.ensure_future(views_of(alice))
        for name in ("bob", "carol"):
            await nodes[name].process.close()
        await until(lambda: not alice.view.primary, "alice is blocked")
        assert alice.view == BLOCKED
        nodes["alice"].local_group.on_block(None)
        assert alice.view == View(1, TRIO)
        await stop_all(list(nodes.values()))
        return await reading

    views = play(loop_factory, scene())
    assert BLOCKED in views
    assert "alice is blocked in group choir: of the group's last view it reaches" in caplog.text


def test_who_has_left_is_in_no_primary_view(loop_factory: LoopFactory) -> None:
    """A health check that looks once more is not told that all is well."""

    async def scene() -> None:
        async with choir() as nodes:
            group = nodes["alice"].group
            assert group.view.primary
        assert not group.view.primary
        assert group.view.number >= 1

    play(loop_factory, scene())


def test_who_leaves_without_agreement_is_in_no_primary_view(loop_factory: LoopFactory) -> None:
    """Though nobody has told it that it is out."""

    async def scene() -> None:
        async with choir(TRIO[:1], drain_s=0) as nodes:
            group = nodes["alice"].group
        assert not group.view.primary

    play(loop_factory, scene())


def test_who_was_excluded_is_in_no_primary_view(loop_factory: LoopFactory) -> None:
    """From the moment at which it knows, also if nobody reads its stream."""

    async def scene() -> None:
        async with choir(timing=QUICK) as nodes:
            carol = nodes["carol"].group
            shut_out_carol(nodes)
            await until(lambda: nodes["carol"].local_group.error is not None, "carol knows")
            assert not carol.view.primary
            with pytest.raises(ExcludedError):
                await views_of(carol)
            assert not carol.view.primary

    play(loop_factory, scene())


def test_who_is_between_two_incarnations_is_in_no_primary_view(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is a member again."""
    gate = asyncio.Event()
    entered = Bootstrap._until_read

    async def wait(entrance: Bootstrap) -> None:
        await gate.wait()
        await entered(entrance)

    monkeypatch.setattr(Bootstrap, "_until_read", wait)

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, rejoin=True)
        await start_all(list(nodes.values()))
        carol = nodes["carol"].group
        shut_out_carol(nodes)
        await until(lambda: nodes["carol"]._coming_back is not None, "carol is on her way back")
        assert not carol.view.primary
        gate.set()
        seen: list[View] = []
        while carol.me != "carol~2" or carol.me not in carol.members:
            seen.append(carol.view)
            await asyncio.sleep(0.001)
        assert not any(view.primary for view in seen)
        assert carol.view.primary
        await stop_all(list(nodes.values()))

    play(loop_factory, scene())


def test_lost_majority_is_told_at_both_ends(loop_factory: LoopFactory) -> None:
    """To who is blocked, and to a member that is started anew: nobody is told to try again."""
    addresses = free_addresses()
    alices = addresses["alice"]

    async def scene() -> tuple[str, str]:
        nodes = make_choir(addresses, timing=QUICK, drain_s=0.05)
        await start_all(list(nodes.values()))
        alice = nodes["alice"].group
        for name in ("bob", "carol"):
            await nodes[name].process.close()
        await until(lambda: not alice.view.primary, "alice is blocked")
        with pytest.raises(DefiniteCallError) as blocked:
            await alice.call(b"who is there?", timeout_s=0.05)
        anew = make_choir(addresses, timing=QUICK, connect_s=0.5)["bob"]
        with pytest.raises(UsageError) as refused:
            await anew.start()
        await stop_all(list(nodes.values()))
        return str(blocked.value), str(refused.value).replace(addresses["carol"], "carol's place")

    here, there = play(loop_factory, scene())
    assert here == (
        "the request never went out, for alice is blocked: of the group's last view it reaches "
        "only alice and not bob, carol, and the group goes on only with a majority of that view, "
        "or if an operator, knowing that they are gone for good, has this process take over"
    )
    assert there.startswith(
        "bob cannot join group choir: after 0.5 s the members that answer (alice at 127.0.0.1:"
    )
    assert "and nobody answers at carol's place: the group goes on only with a majority" in there
    assert there.endswith(f"take over: antiphon takeover {alices} --group choir")
    assert "again" not in here + there


def test_who_is_shut_out_is_told_to_join_again_unless_it_does_so_by_itself(
    loop_factory: LoopFactory,
) -> None:
    """What ends a call of such a process says which."""

    async def scene(*, rejoin: bool) -> str:
        async with choir(timing=QUICK, rejoin=rejoin) as nodes:
            calling = asyncio.ensure_future(nodes["carol"].group.call(b"?", timeout_s=None))
            await asyncio.sleep(0.05)
            shut_out_carol(nodes)
            with pytest.raises(CallError) as ended:
                await calling
            if rejoin:
                await until_view(nodes["carol"], ["alice", "bob", "carol~2"])
        return str(ended.value)

    assert "join again" in play(loop_factory, scene(rejoin=False))
    said = play(loop_factory, scene(rejoin=True))
    assert "it comes back by itself" in said
    assert "join again" not in said

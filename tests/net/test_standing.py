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
)

from antiphon import ExcludedError, Group, View
from antiphon.net.entering import Entrance

pytestmark = pytest.mark.net

BLOCKED = View(1, ("alice",), primary=False, missing=("bob", "carol"))


def shut_out_carol(nodes: Nodes) -> None:
    """Have alice take carol, who lives, for dead."""
    life = nodes["alice"].life
    life.on_dead(next(peer for peer in life.mesh.members if peer.process.name == "carol"), "so")


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
            await nodes[name].life.close("killed by the test")
            await nodes[name]._door.close()
        await until(lambda: not alice.view.primary, "alice is blocked")
        assert alice.view == BLOCKED
        nodes["alice"].on_block(None)
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
            await until(lambda: nodes["carol"]._error is not None, "carol knows")
            assert not carol.view.primary
            with pytest.raises(ExcludedError):
                await views_of(carol)
            assert not carol.view.primary

    play(loop_factory, scene())


def test_who_is_between_two_lives_is_in_no_primary_view(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is a member again."""
    gate = asyncio.Event()
    entered = Entrance._until_read

    async def wait(entrance: Entrance) -> None:
        await gate.wait()
        await entered(entrance)

    monkeypatch.setattr(Entrance, "_until_read", wait)

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

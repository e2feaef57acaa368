"""Coming back on real sockets: several at once, again and again, and out of a group of two."""

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest
from tests.net.harness import (
    DEADLINE_S,
    QUICK,
    LoopFactory,
    Nodes,
    choir,
    exchange,
    free_addresses,
    make_choir,
    play,
    start_all,
    stop_all,
    until,
    until_view,
)

from antiphon import AntiphonError, ExcludedError, View
from antiphon.bench.coming_back import come_back_s
from antiphon.core.frames import Frame
from antiphon.net.driver.incarnation import Incarnation
from antiphon.net.process.joining import make_node
from antiphon.net.process.node import Node
from antiphon.net.session.peer import Peer
from antiphon.stack.inputs import MemberStalled
from antiphon.stack.settings import Limits

pytestmark = pytest.mark.net


@pytest.mark.parametrize(("stopped", "turn"), [(2, 3), (3, 1)])
def test_several_that_were_stopped_come_back_together(stopped: int, turn: int) -> None:
    """Of five processes two, or three, sleep for 4 s: all are in one view again soon after."""
    took_s = come_back_s(stopped, turn, patience_s=15.0)
    assert took_s is not None
    assert took_s < 5.0


def _condemn(node: Node, other: Node, *, is_certain: bool = True) -> None:
    """Let one node take another for dead, or for stalled."""
    process = other.driver.process
    if is_certain:
        node.incarnation.on_dead(node.driver.mesh.peers[process.bare()], "a test says so")
    else:
        node.driver.give(MemberStalled(process, "a test says so"))


def _delay_reading(monkeypatch: pytest.MonkeyPatch, name: str, delay_s: float) -> list[float]:
    """Let what is sent to ``name`` reach its machine late, until the returned list is emptied."""
    delays = [delay_s]
    due: dict[Incarnation, float] = {}
    right_frame, right_read = Incarnation.on_frame, Incarnation.on_read

    def later(side: Incarnation, action: object, *what: object) -> None:
        loop = asyncio.get_running_loop()
        due[side] = max(due.get(side, 0.0), loop.time() + (delays[0] if delays else 0.0))
        loop.call_at(due[side], action, side, *what)  # type: ignore[arg-type]

    def on_frame(side: Incarnation, peer: Peer, frame: Frame) -> None:
        if side.process.name != name or not (delays or side in due):
            right_frame(side, peer, frame)
        else:
            later(side, _suppressed(right_frame), peer, frame)

    def on_read(side: Incarnation, peer: Peer) -> None:
        if side.process.name != name or not (delays or side in due):
            right_read(side, peer)
        else:
            later(side, _suppressed(right_read), peer)

    monkeypatch.setattr(Incarnation, "on_frame", on_frame)
    monkeypatch.setattr(Incarnation, "on_read", on_read)
    return delays


def _suppressed(action: object) -> object:
    def careful(*what: object) -> None:
        with suppress(AntiphonError):
            action(*what)  # type: ignore[operator]

    return careful


def test_joiner_that_is_excluded_before_its_first_view_tries_again(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the others send it is slower than they are patient, for a while: it is in in the end."""
    delays = _delay_reading(monkeypatch, "carol", 2.4 * QUICK.timeout_us / 1e6)

    async def scene() -> str:
        async with choir(["alice", "bob"], timing=QUICK) as nodes:
            alice, bob = nodes.values()
            carol = make_node(
                "choir", "carol", at="127.0.0.1:0", seeds=[str(bob.address)], timing=QUICK
            )
            starting = asyncio.ensure_future(carol.start())
            await until(lambda: alice.group.view.failed, "carol is out")
            assert not starting.done()
            delays.clear()
            await starting
            await until_view(alice, ["alice", "bob", carol.name])
            await exchange([alice, bob, carol])
            await carol.stop()
            return carol.name

    assert play(loop_factory, scene()).startswith("carol~")


async def _fill(node: Node) -> None:
    """Multicast until the group no longer lets it."""
    with suppress(AntiphonError):
        while True:
            await node.group.cbcast(bytes(10_000))


async def _read(node: Node, views: list[View]) -> None:
    async for event in node.group:
        views += [event] if isinstance(event, View) else []


@pytest.mark.parametrize("rejoin", [False, True])
def test_junior_of_two_whose_senior_stalls_learns_that_it_is_out(
    rejoin: bool, loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives the senior up and is blocked; the senior goes on without it, and it is told."""
    monkeypatch.setattr("antiphon.net.stream.stream.UNREAD_BYTES_MAX", 200_000)

    async def scene() -> None:
        timing, limits = replace(QUICK, stall_us=300_000), Limits(unstable_bytes=400_000)
        nodes = make_choir(
            free_addresses(["alice", "bob"]), timing=timing, limits=limits, drain_s=1.0
        )
        alice = nodes["alice"]
        bob = make_node(
            "choir", "bob", members=dict(_addresses(nodes)), timing=timing, limits=limits,
            drain_s=1.0, rejoin=rejoin,
        )  # fmt: skip
        await start_all([alice, bob])
        views: list[View] = []
        reading = asyncio.ensure_future(_read(bob, views))
        filling = asyncio.ensure_future(_fill(bob))
        await until(lambda: any(not view.primary for view in views), "bob is blocked")
        filling.cancel()
        if rejoin:
            await until_view(bob, ["alice", "bob~2"])
        else:
            async with asyncio.timeout(DEADLINE_S / 2):
                with pytest.raises(ExcludedError, match="bob is out of group choir"):
                    await reading
        await stop_all([alice, bob])
        await asyncio.gather(reading, filling, return_exceptions=True)

    play(loop_factory, scene())


def test_who_does_not_read_comes_back_when_it_does(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each incarnation may fill the buffer once more: memory would grow without end."""
    monkeypatch.setattr("antiphon.net.stream.stream.UNREAD_BYTES_MAX", 100_000)

    async def scene() -> None:
        async with choir(["alice", "bob", "carol"], timing=QUICK, rejoin=True) as nodes:
            alice, bob, carol = nodes.values()
            reading = [asyncio.ensure_future(_read(node, [])) for node in (alice, bob)]
            for _ in range(30):
                await alice.group.cbcast(bytes(10_000))
            await until(lambda: carol.local_group.stream.is_full, "carol has not read")
            for node in (alice, bob):
                node.incarnation.on_dead(
                    node.driver.mesh.peers[carol.driver.process.bare()], "a test says so"
                )
            await until_view(alice, ["alice", "bob"])
            await asyncio.sleep(5 * QUICK.timeout_us / 1e6)
            assert alice.group.members == ("alice", "bob")
            reading.append(asyncio.ensure_future(_read(carol, [])))
            await until_view(alice, ["alice", "bob", "carol~2"])
        await asyncio.gather(*reading)

    play(loop_factory, scene())


def _addresses(nodes: Nodes) -> list[tuple[str, str]]:
    return [(name, str(node.config.ways.address)) for name, node in nodes.items()]


def test_members_that_gave_each_other_up_for_a_stall_are_together_again(
    loop_factory: LoopFactory,
) -> None:
    """The senior of four is dead, and each of the others has given another up: all are needed."""

    async def scene() -> None:
        nodes = make_choir(
            free_addresses(["alice", "bob", "carol", "dave"]), timing=QUICK, drain_s=0.05,
            rejoin=True,
        )  # fmt: skip
        alice, bob, carol, dave = nodes.values()
        await start_all(list(nodes.values()))
        await exchange(list(nodes.values()))
        for node in (bob, carol, dave):
            _condemn(node, alice)
        for node, other in ((bob, carol), (carol, dave), (dave, bob)):
            _condemn(node, other, is_certain=False)
            assert not node.group.view.primary
        await alice._end("killed")
        trio = [bob, carol, dave]
        await until(lambda: all(_is_among(node, trio) for node in trio), "all are together")
        reading = [asyncio.ensure_future(_read(node, [])) for node in trio]
        await stop_all(trio)
        await asyncio.gather(*reading)

    play(loop_factory, scene())


def _is_among(node: Node, nodes: list[Node]) -> bool:
    view = node.local_group.view
    return view is not None and view.primary and set(view.members) == {one.name for one in nodes}

"""Schedules of groups with a protocol of their own that broke something once."""

import pytest
from tests.adversary.dissemination.world import World

from antiphon import Overlay, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Order, Run
from antiphon.stack import inputs as on
from antiphon.stack.blocks import RUN_BYTES_MAX, Blocks
from antiphon.stack.dissemination import GroupProtocol
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.ports import CommitOptions
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings
from antiphon.toolkit.calls import Wanted


def _world(names: str, protocol: GroupProtocol | None) -> World:
    world = World("schedule", protocol)
    world.found(names)
    world.run(15_000)
    return world


def _view_of(world: World, name: str) -> int:
    view = world.actors[name].endpoint.view
    return view.number if view is not None else 0


def _assert_all_is_well(world: World) -> None:
    world.run(600_000)
    assert world.judge.judge() == []
    there = [one for one in world.actors.values() if one.is_in]
    living = {one.key for one in there}
    for actor in there:
        assert actor.view is not None
        assert world.judge.undelivered(actor.key, actor.view.number, living) == []


@pytest.mark.parametrize("topology", ["incomplete-hypercube", "ring", "tree"])
def test_neighbours_bring_what_many_have_sent_in_a_view_to_come(
    topology: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H enters the view late: each neighbour has forwarded by then what all others sent in it."""
    monkeypatch.setattr("antiphon.stack.early.EARLY_BYTES_MAX", 100_000)
    world = _world("abcdefghi", Overlay(topology))
    world.hold("a", "h", 60_000)  # the permission to enter
    world.actors["i"].give(on.LeaveRequested())
    while any(_view_of(world, name) < 2 for name in "abcdefg"):
        world.run(20)
    for name in "abcdefg" * 3:
        world.say(name, size=20_000)
    world.run(20_000)
    assert _view_of(world, "h") == 1
    _assert_all_is_well(world)


@pytest.mark.parametrize("is_queued", [False, True])
def test_message_that_no_datagram_carries_is_refused_before_it_has_a_number(
    is_queued: bool,
) -> None:
    """Also while something else waits to be sent; what follows it comes to everybody."""
    world = _world("abc", Blocks(run_bytes=RUN_BYTES_MAX))
    if is_queued:
        world.write("a", "b")
    long = on.MulticastRequested([b"x" * 1_000_000], How(Order.CAUSAL), 1_000_000)
    with pytest.raises(UsageError, match="cut it up"):
        world.actors["a"].give(long)
    world.say("a")
    world.say("a", size=999_000)
    for size in (0, 20, 40):  # the lengths of the messages have to go into the block, too
        world.say("a", count=3_000, size=size)
    _assert_all_is_well(world)


@pytest.mark.parametrize("protocol", [Overlay(), Blocks()])
def test_what_a_protocol_cannot_give_is_refused_at_once(protocol: GroupProtocol) -> None:
    """Not where it would leave the queue, when whoever asked for it has gone on."""
    world = _world("abc", protocol)
    world.write("a", "b")
    actor = world.actors["a"]
    for how in (How(Order.TOTAL), How(Order.CAUSAL, uniform=True)):
        with pytest.raises(UsageError, match="gives neither total order nor"):
            actor.give(on.MulticastRequested([b"x"], how, 1))
    with pytest.raises(UsageError, match="gives neither total order nor"):
        actor.give(on.CallRequested(1, b"x", Wanted.ALL, None, Order.TOTAL))
    with pytest.raises(UsageError, match="gives neither total order nor"):
        Endpoint(ProcessId("a"), None, Settings(protocol=protocol), 0, commit=CommitOptions(1))
    _assert_all_is_well(world)


def test_relays_for_a_view_that_never_comes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody correct relays so much before others hear of the view."""
    monkeypatch.setattr("antiphon.stack.block_traffic.EARLY_BYTES_MAX", 10_000)
    world = _world("abc", Blocks())
    rejected: list[str] = []
    monkeypatch.setattr(world, "reject", lambda _actor, _peer, why: rejected.append(why))
    world.say("b", size=90)
    (run,) = world.actors["b"].endpoint.member.receiver.unstable(1)
    more = Run(run.group, run.view, run.sender, 2, run.order, (), run.payloads)
    for _ in range(10_000):
        world.actors["a"].give(on.RunsReceived(world.actors["c"].me, [more], is_relayed=True))
        if rejected:
            break
    assert "relays ever more" in rejected[0]
    assert world.actors["a"].is_in

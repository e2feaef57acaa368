"""What a run leaves unsaid, for an earlier one of its sender's has said it in another group.

Each schedule loses that earlier run, or what it waits for, and has what it named come last of all.
All groups have the same members, so that each run tells for the next one, whatever its group.
"""

import pytest
from tests.sim.domain_schedules import A, B, C, delivered, domain_of, let_settle, slow, stamps_in

from antiphon.core.ids import GroupNumber
from antiphon.sim.several_groups import SeveralGroups
from antiphon.stack import inputs as on

ALL_IN_ALL = {A: "pqrtuvwxy", B: "pqrtuvwxy", C: "pqrtuvwxy"}


def lose(world: SeveralGroups, name: str, to: str) -> None:
    """Lose what is on its way from a process to others."""
    for (source, target), channel in world._channels.items():
        if source.name == name and target.name in to:
            channel.clear()


def crash(world: SeveralGroups, name: str, *, keeps: str = "") -> None:
    """Let a process crash, and all see it; what is on its way to who ``keeps`` it arrives."""
    dead = world.node(name).me
    world.crash(name)
    for node in world.nodes.values():
        if node.is_up:
            node.give(on.PeerLost(dead))
    lose(world, name, "".join(set("pqrtuvwxy") - set(keeps)))


def judge(world: SeveralGroups) -> None:
    """Nothing was delivered before its past, however many have failed."""
    world.run(3_000_000)
    assert world.across.judge(world.resilience) == ""
    assert world.judge() == []


def test_what_was_said_in_a_group_of_the_same_members_is_not_said_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C names what A named by naming the run in A; a group with one member more is told all."""
    world = domain_of({A: "pqs", B: "pqs", C: "pqst"})
    said = stamps_in(world, monkeypatch)
    world.say("q", A)
    world.run(5_000)
    for group in (B, A, C):
        world.say("p", group)
    let_settle(world)
    assert said == [
        ("q@A", ()),
        ("p@B", ((A, 1, ((1, 1),)),)),
        ("p@A", ((B, 1, ((0, 1),)),)),
        ("p@C", ((A, 1, ((0, 1), (1, 1))),)),  # what it said in B has been received meanwhile
    ]


def test_who_takes_a_run_waits_for_what_the_one_before_it_waits_for() -> None:
    """What r says in C is slow to u; p names it in A, and A in B: u waits for it with both."""
    world = domain_of(ALL_IN_ALL)
    slow(world, "r", "u")
    world.say("r", C)
    world.run(4_000)
    world.say("p", A)
    world.say("p", B)
    world.run(5_000)
    assert delivered(world, "u") == []
    let_settle(world)
    assert delivered(world, "u") == ["r1@C", "p1@A", "p1@B"]


def test_what_everybody_has_tells_for_nothing() -> None:
    """All have p's run in A, which waits at u for y's in C: what p says next in B names that."""
    world = domain_of(ALL_IN_ALL)
    world.slow["y", "u"] = 60_000
    world.say("y", C)
    world.run(5_000)
    world.say("p", A)
    world.run(30_000)
    assert world.node("p").machine.endpoint(GroupNumber(A)).member.stability.stable(0) == 1
    world.say("p", B)
    let_settle(world)
    assert delivered(world, "u") == ["y1@C", "p1@A", "p1@B"]


def test_what_a_lost_run_said_is_waited_for_in_its_place() -> None:
    """The run of p in A depends on one that dies with q and p; all deliver its run in B."""
    world = domain_of(ALL_IN_ALL)
    world.slow.update({("q", one): 60_000 for one in "rtuvwxy"})
    world.slow["y", "u"] = 80_000
    world.say("y", C)
    world.say("q", A)
    world.run(5_000)
    world.say("p", A)
    world.say("p", B)
    world.run(3_000)
    assert sorted(delivered(world, "p")) == ["p1@A", "p1@B", "q1@A", "y1@C"]
    assert delivered(world, "u") == []
    crash(world, "q")
    crash(world, "p")
    judge(world)
    assert delivered(world, "u") == ["y1@C", "p1@B"], "its run in A is an orphan"


def relays(world: SeveralGroups, name: str) -> list[int]:
    """Return the groups of what a process relays, and is on its way to u, in order."""
    ways = ((one, channel) for one, channel in world._channels.items() if one[1].name == "u")
    return [
        item[0]
        for (source, _), channel in ways
        for _, item in channel
        if source.name == name and isinstance(item, tuple)
        if isinstance(item[1], on.RunsReceived) and item[1].is_relayed
    ]


def test_who_relays_a_run_says_what_the_one_before_it_said() -> None:
    """Only t gets p's runs in B and A; it relays that in A, and dies before it relays the other."""
    world = domain_of(ALL_IN_ALL)
    world.slow["r", "u"] = 60_000
    world.slow.update({("p", one): 60_000 for one in "qruvwxy"})
    world.say("r", C)
    world.run(5_000)
    world.say("p", B)
    world.say("p", A)
    world.run(3_000)
    assert delivered(world, "t") == ["r1@C", "p1@B", "p1@A"]
    world.slow.update({("t", one): 2_000 for one in "qruvwxy"})
    crash(world, "p")
    while A not in relays(world, "t"):
        world.run(5)
    assert relays(world, "t") == [A]
    crash(world, "t", keeps="qruvwxy")
    judge(world)
    assert delivered(world, "u") == ["r1@C", "p1@A"], "its run in B was lost"

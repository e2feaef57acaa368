"""ISIS 6.7 with excluded groups: the four printed mistakes (000-22), the phantom circle (000-23).

Each schedule is played on the process machine itself, as in ``test_across_groups``.
"""

import pytest
from tests.sim.domain_schedules import A, B, C, D, delivered, domain_of, let_settle, slow, stamps_in

from antiphon.core.control import EpochSaid
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Order
from antiphon.ordering.knowledge import EPOCHS
from antiphon.ordering.structure import Structure
from antiphon.sim.random_domains import examine_domain
from antiphon.sim.several_groups import SeveralGroups
from antiphon.stack.epochs import EPOCH_MAX, FIRST, Epochs

RING = [("g0", "g1"), ("g1", "g2"), ("g2", "g0")]


def _ring(*excluded: int) -> Structure:
    return Structure(RING, excluded=[f"g{one}" for one in excluded])


def _epochs(world: SeveralGroups, name: str) -> Epochs:
    epochs = world.node(name).machine._causal._named["d"].epochs
    assert epochs is not None, "some groups are excluded"
    return epochs


def test_all_that_was_delivered_counts_not_the_last_message_alone() -> None:
    """000-22 (a): A={a,p,s} B={p,r} C={r,s}, A excluded; p has m1 of A, then m0 of B."""
    world = domain_of({A: "aps", B: "pr", C: "rs"}, _ring(A))
    slow(world, "a", "s")
    world.say("a", A)
    world.run(5_000)
    world.say("r", B)
    world.run(3_000)
    world.say("p", B)
    world.run(2_000)
    world.say("r", C)
    let_settle(world)
    assert delivered(world, "s") == ["a1@A", "r1@C"]


def test_what_was_sent_counts_too() -> None:
    """000-22 (b): p sends in A, which is excluded, and in B."""
    world = domain_of({A: "aps", B: "pr", C: "rs"}, _ring(A))
    world.slow["p", "s"] = 40_000
    world.say("p", A)
    world.say("p", B)
    world.run(20_000)
    assert delivered(world, "r") == ["p1@B"]
    world.say("r", C)
    let_settle(world)
    assert delivered(world, "s") == ["p1@A", "r1@C"]


def test_an_epoch_is_entered_when_all_groups_are_flushed() -> None:
    """000-22 (c): A={a,p,u} D={u,v} C={p,v}, A excluded; a is slow to p."""
    overlaps = [("g0", "g3"), ("g3", "g2"), ("g2", "g0")]
    world = domain_of({A: "apu", D: "uv", C: "pv"}, Structure(overlaps, excluded=["g0"]))
    slow(world, "a", "p")
    world.say("a", A)
    world.run(3_000)
    world.say("u", D)
    world.run(5_000)
    world.say("v", C)
    let_settle(world)
    assert delivered(world, "p") == ["a1@A", "v1@C"]


def test_what_is_said_is_not_entered() -> None:
    """000-22 (d): B={a,b,x} C={b,c} D={a,c}, D excluded; a is in the epoch of what it waits for."""
    overlaps = [("g1", "g2"), ("g2", "g3"), ("g3", "g1")]
    world = domain_of({B: "abx", C: "bc", D: "ac"}, Structure(overlaps, excluded=["g3"]))
    slow(world, "b", "a")
    world.say("b", B)
    world.run(3_000)
    world.say("b", C)
    world.say("a", B)
    world.run(1_000)
    world.say("a", D)
    world.run(3_000)
    world.say("c", D)
    let_settle(world)
    told = delivered(world, "a")
    assert told.index("b1@B") < told.index("c1@D")


def test_who_leaves_a_group_and_joins_another_begins_an_epoch() -> None:
    """000-23: A={x,q,s} B={q,p} C={s,y}: what p learnt in B goes round by C, which it joins."""
    structure = Structure([("g0", "g1"), ("g0", "g2"), ("g0", "g3")], excluded=["g3"])
    world = domain_of({A: "xqs", B: "qp", C: "sy", D: "xz"}, structure)
    for name, group in (("x", A), ("q", B), ("s", C)):  # all know how groups are called
        world.say(name, group)
        world.run(5_000)
    world.slow["x", "s"] = 120_000
    world.say("x", A)
    world.run(5_000)
    world.say("q", B)
    world.run(5_000)
    world.leave("p", B)
    world.run(30_000)
    world.join("p", C, "y")
    world.run(30_000)
    world.say("p", C)
    let_settle(world)
    assert delivered(world, "s")[-2:] == ["x2@A", "p1@C"]
    assert _epochs(world, "p").said > FIRST


def test_excluded_groups_end_the_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stamps of groups that one is not in do not ride along; an epoch does, once for each group."""
    world = domain_of({A: "aps", B: "pr", C: "rs"}, _ring(C))
    noted = stamps_in(world, monkeypatch)
    slow(world, "a", "s")
    for name, group in (("a", A), ("p", B), ("r", C), ("r", C), ("r", C)):
        world.say(name, group)
        world.run(5_000)
    let_settle(world)
    named = [(who, [group for group, _, _ in stamps]) for who, stamps in noted]
    assert named[:3] == [("a@A", []), ("p@B", [A]), ("r@C", [B, EPOCHS])]
    assert all(EPOCHS not in groups and A not in groups for _, groups in named[3:])


def test_groups_that_are_not_excluded_begin_no_epochs() -> None:
    """Going between A and B, with C excluded, costs nothing."""
    world = domain_of({A: "aps", B: "pr", C: "rs"}, _ring(C))
    for name, group in (("a", A), ("p", B), ("p", A), ("r", B)):
        world.say(name, group)
        world.run(5_000)
    let_settle(world)
    assert {_epochs(world, name).said for name in "aprs"} == {FIRST}
    world.say("r", C)
    let_settle(world)
    assert {_epochs(world, name).entered for name in "aprs"} == {FIRST + 1}


def test_who_dies_without_a_word_holds_up_nobody() -> None:
    """Total messages of two epochs are left over when their view ends: the same order for all."""
    world = domain_of({A: "apsv", B: "prv", C: "rsv"}, _ring(A))
    world.say("a", A, Order.TOTAL)
    world.crash("a")
    world.say("p", B, Order.TOTAL)
    world.say("p", A, Order.TOTAL)
    world.say("s", C)
    world.say("s", A, Order.TOTAL)
    let_settle(world)
    in_a = {
        name: [one for one in delivered(world, name) if one.endswith("A")] for name in ("p", "s")
    }
    assert in_a["p"] == in_a["s"]
    assert {"p1@A", "s1@A"} <= set(in_a["p"])
    assert len({_epochs(world, name).entered for name in "prsv"}) == 1


def test_what_the_dead_said_is_waited_for_while_somebody_has_more_of_it() -> None:
    """A={s,p,e} B={p,r} C={r,s}, A excluded: s learns that e is out before it hears e from p."""
    world = domain_of({A: "spe", B: "pr", C: "rs"}, _ring(A))
    world.slow["e", "s"] = 10_000_000
    world.say("e", A)
    world.run(3_000)
    world.crash("e")
    world.say("p", B)
    world.run(3_000)
    world.say("r", C)
    world.run(3_000)
    let_settle(world)
    assert delivered(world, "s") == ["e1@A", "r1@C"]


def test_members_of_two_groups_with_the_same_dead_do_not_wait_for_each_other() -> None:
    """Each has to deliver what is left over of one group, in an epoch that the other holds up."""
    assert examine_domain(105, structure="excluded") == ""


def test_turns_of_a_later_epoch_hold_up_no_earlier_one() -> None:
    """A list comes by relay, before its sender's word; its turns are of that word's epoch."""
    assert examine_domain(4363, structure="excluded") == ""


def test_what_is_declared_of_excluded_groups() -> None:
    """They are groups of the structure, by name or pattern; circles without them are as ever."""
    overlaps = [("hall", "room-*"), ("lobby", "room-*")]
    structure = Structure(overlaps, acyclic=True, excluded=["hall"])
    assert structure.is_excluded("hall")
    assert not structure.is_excluded("room-1")
    assert not structure.are_linked("room-1", "hall")
    assert structure != Structure(overlaps)
    rooms = Structure(overlaps, excluded=["room-1"])
    assert rooms.is_excluded("room-1")
    assert not rooms.are_linked("room-1", "room-2")
    assert rooms.are_linked("room-2", "room-3")
    with pytest.raises(UsageError, match="group cellar is excluded and not declared to overlap"):
        Structure(RING, excluded=["cellar"])
    with pytest.raises(UsageError, match=r"write \['g0'\]"):
        Structure(RING, excluded="g0")


def test_an_overlap_that_is_not_declared_is_refused_all_the_same() -> None:
    """Of groups that a process is in; those that it has left do not count."""
    world = domain_of({A: "pq", B: "qr", C: "rs"}, Structure(RING[:2], excluded=["g1"]))
    with pytest.raises(UsageError, match="in group g0 and cannot be in group g2"):
        world.join("p", C, "s")
    world.leave("p", A)
    world.run(200_000)
    world.join("p", C, "s")
    world.run(200_000)
    assert world.node("p").views[GroupNumber(C)].number == 2


def test_an_epoch_that_cannot_be_is_refused() -> None:
    """Who claims it is at fault, and nobody follows."""
    world = domain_of({A: "aps", B: "pr", C: "rs"}, _ring(A))
    epochs = _epochs(world, "p")
    with pytest.raises(PeerError, match="claims to be in epoch"):
        epochs.hear(GroupNumber(A), world.node("a").me, EpochSaid(1, EPOCH_MAX + 1))
    assert epochs.said == FIRST
    world.leave("p", B)
    world.run(200_000)
    epochs.hear(GroupNumber(B), world.node("r").me, EpochSaid(1, 7))
    assert epochs.said == FIRST, "nobody listens there any more"

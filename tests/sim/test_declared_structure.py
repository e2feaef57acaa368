"""ISIS 6.6 with views, joiners and letters: where overlaps are declared, less is stamped.

Each schedule is played on the process machine itself, as in ``test_across_groups``.
"""

import pytest
from tests.sim.domain_schedules import A, B, C, delivered, domain_of, let_settle, slow, stamps_in

from antiphon.core.control import GroupsNamed
from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupNumber
from antiphon.ordering.structure import Structure
from antiphon.sim.several_groups import SeveralGroups
from antiphon.stack.domain import ALL
from antiphon.stack.names import NAMES_MAX, KnownNames

CHAIN = Structure([("g0", "g1"), ("g1", "g2")])
RING = Structure([("g0", "g1"), ("g1", "g2"), ("g2", "g0")])


def test_in_a_chain_only_stamps_of_own_groups_ride_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """A-B-C: q is in B and C, and tells C nothing of A; where nothing is declared, it does."""
    for structure, told in ((CHAIN, {B}), (RING, {A, B})):
        world = domain_of({A: "tps", B: "pq", C: "qr"}, structure)
        noted = stamps_in(world, monkeypatch)
        slow(world, "t", "s")
        world.say("t", A)
        world.run(5_000)
        world.say("p", B)
        world.run(5_000)
        world.say("q", C)
        let_settle(world)
        stamps = dict(noted)
        assert [group for group, _, _ in stamps["p@B"]] == [A]
        assert {group for group, _, _ in stamps["q@C"]} == told


def test_on_a_ring_news_still_go_round() -> None:
    """000-14 with the ring declared: q passes on what it knows of A, which it is not in."""
    world = domain_of({A: "ps", B: "pq", C: "qs"}, RING)
    slow(world, "p", "s")
    world.say("p", A)
    world.node("p").machine._causal._named["d"]._risky.clear()  # as if s could have acknowledged it
    world.say("p", B)
    world.run(5_000)
    assert delivered(world, "q") == ["p1@B"]
    world.say("q", C)
    let_settle(world)
    assert delivered(world, "s") == ["p1@A", "q1@C"]


def test_who_joins_is_told_what_the_others_know() -> None:
    """A={t,p,s} B={p,q}: t's m1 is slow to s; p speaks in B; s joins B; q, not in A, speaks."""
    world = domain_of({A: "tps", B: "pq"}, CHAIN)
    world.slow["t", "s"] = 80_000
    world.say("t", A)
    world.run(5_000)
    world.say("p", B)
    world.run(5_000)
    world.join("s", B, "q")
    world.run(25_000)
    assert world.node("s").views[GroupNumber(B)].number == 2
    world.say("q", B)
    world.run(5_000)
    assert delivered(world, "s") == [], "t's message is on its way"
    let_settle(world)
    assert delivered(world, "s") == ["t1@A", "q1@B"]


def test_who_joins_with_another_is_told_too() -> None:
    """A-B-C: the news goes from B to C and comes back with who joins B together with s."""
    world = domain_of({A: "tps", B: "pq", C: "qr"}, CHAIN)
    world.slow["t", "s"] = 120_000
    world.say("t", A)
    world.run(5_000)
    world.say("p", B)
    world.run(5_000)
    world.say("q", C)
    world.run(5_000)
    for name, number in (("s", 2), ("r", 3)):
        world.join(name, B, "q")
        while any(
            world.node(one).views.get(GroupNumber(B)) is None
            or world.node(one).views[GroupNumber(B)].number < number
            for one in "pq" + name
        ):
            world.run(100)
    assert delivered(world, "s") == []
    world.say("r", B)
    let_settle(world)
    assert delivered(world, "s") == ["t1@A", "r1@B"]


def _joiner_that_is_still_to_be_told(resilience: int) -> SeveralGroups:
    """A={a,b,c} B={a,d}: b joins B, and what d is to tell it is on its way."""
    world = domain_of({A: "abc", B: "ad"}, CHAIN, resilience)
    world.slow["d", "b"] = 80_000
    world.join("b", B, "a")
    world.run(25_000)
    assert world.node("b").views[GroupNumber(B)].number == 2
    return world


def test_what_a_joiner_has_received_may_not_be_ready() -> None:
    """What a says in B has come to b, and waits; then a speaks in A."""
    for resilience in (1, 2, ALL):
        world = _joiner_that_is_still_to_be_told(resilience)
        world.say("a", B)
        world.run(15_000)
        world.say("a", A)
        world.run(15_000)
        assert delivered(world, "c") == ["a1@A"]
        assert delivered(world, "b") == [], "d's word is on its way"
        let_settle(world)
        assert delivered(world, "b") == ["a1@B", "a1@A"]


def test_a_letter_to_a_joiner_comes_before_what_follows_it() -> None:
    """So with a letter of a's to b, which is acknowledged: nothing names it."""
    world = _joiner_that_is_still_to_be_told(1)
    world.write("a", B, "b")
    world.run(15_000)
    world.say("a", A)
    world.run(15_000)
    assert delivered(world, "b") == ["a1@A"], "it waits for a's own word alone, and that is there"
    let_settle(world)


def test_a_joiner_does_not_wait_for_who_has_died() -> None:
    """The same; p dies as soon as s is in: what it knew in the view before, q knows."""
    world = domain_of({A: "tps", B: "pquv"}, CHAIN)
    world.slow["t", "s"] = 80_000
    world.slow["p", "s"] = 5_000_000
    world.say("t", A)
    world.run(5_000)
    world.say("p", B)
    world.run(5_000)
    world.join("s", B, "q")
    world.run(15_000)
    world.crash("p")
    for (source, _), channel in world._channels.items():
        if source.name == "p":
            channel.clear()
    world.say("q", B)
    let_settle(world)
    assert delivered(world, "s")[0] == "t1@A"
    assert "q1@B" in delivered(world, "s")


def test_what_a_letter_tells_one_member_all_can_know() -> None:
    """A={t,p,s} B={p,q,r,s} C={q,r}: t is slow to s; p writes to q; q tells r; r speaks in B."""
    world = domain_of({A: "tps", B: "pqrs", C: "qr"}, CHAIN)
    for name, group in (("t", A), ("p", B)):  # all know how A is called
        world.say(name, group)
        world.run(3_000)
    world.slow["t", "s"] = 80_000
    world.say("t", A)
    world.run(5_000)
    world.write("p", B, "q")
    world.run(5_000)
    world.say("q", C)
    world.run(5_000)
    world.say("r", B)
    let_settle(world)
    assert delivered(world, "s") == ["t1@A", "p1@B", "t2@A", "r1@B"]


def test_an_overlap_that_is_not_declared_is_refused() -> None:
    """By a sentence that names the groups; nothing has changed then."""
    world = domain_of({A: "pq", B: "qr", C: "rs"}, CHAIN)
    with pytest.raises(UsageError, match="p is or has been in group g0 and cannot be in group g2"):
        world.join("p", C, "s")
    world.join("p", B, "q")
    world.run(200_000)
    assert world.node("p").views[GroupNumber(B)].number == 2
    world.leave("p", A)
    world.run(200_000)
    with pytest.raises(UsageError, match="group g0 and cannot be in group g2"):
        world.join("p", C, "s")


def test_all_groups_of_a_domain_have_one_structure() -> None:
    """A group that comes with another declaration is refused."""
    world = domain_of({A: "pq", B: "qr"}, CHAIN)
    world.structure = RING
    with pytest.raises(UsageError, match="domain d has other declared overlaps"):
        world.join("p", B, "q")


def test_conservative_mode_names_no_other_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """6.7: with a resilience of all, everything is everywhere before another group is spoken to."""
    world = SeveralGroups(1, causality="d", resilience=ALL)
    world.start("pqrs", {A: "pqs", B: "qrs", C: "prs"})
    world.run(200_000)  # all know by now that all are in
    noted = stamps_in(world, monkeypatch)
    slow(world, "p", "s")
    for _ in range(3):
        for name, group in (("p", A), ("q", B), ("r", C), ("s", A), ("q", A), ("p", C)):
            world.say(name, group)
            world.run(3_000)
    let_settle(world)
    assert len(noted) == 18
    assert [stamps for _, stamps in noted if stamps] == []


def test_a_name_that_is_not_certain_limits_nothing() -> None:
    """Who is told two names of one group, or none, has its stamps ride along."""
    names = KnownNames(CHAIN)
    names.open("p", GroupNumber(1), "g1")
    assert names.may_ride(0), "its name is not known"
    names.hear(((0, "g0"), (1, "g9")))
    assert not names.may_ride(0)
    assert names.of([0, 1]) == ((0, "g0"), (1, "g1")), "own names are not learnt from others"
    names.hear(((0, "g2"),))
    assert names.may_ride(0), "somebody lies"
    names.hear(tuple((number, "x") for number in range(10, NAMES_MAX + 20)))
    assert names.may_ride(NAMES_MAX + 15)
    assert GroupsNamed(names.of([0])) == GroupsNamed(())

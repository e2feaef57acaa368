"""ISIS 7.3: a flush ends when all that a process sent or delivered is everywhere, and soon."""

import pytest
from tests.sim.domain_schedules import A, B, C, delivered, domain_of, let_settle, slow

from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Order
from antiphon.sim.several_groups import SeveralGroups


def _ends_us(world: SeveralGroups, name: str, number: int, within_us: int) -> int:
    """Return after what time a flush ended."""
    began_us = world.now_us
    while number not in world.node(name).flushed:
        assert world.now_us - began_us < within_us, "the flush does not end"
        world.run(100)
    return world.node(name).flushed[number] - began_us


def test_where_nothing_is_under_way_a_flush_ends_at_once() -> None:
    """In the same step."""
    world = domain_of({A: "pq", B: "pr"})
    world.run(300_000)
    assert world.flush_out("p") in world.node("p").flushed


def test_a_flush_takes_about_a_round_trip() -> None:
    """Not a heartbeat, of which there is one in 10 ms; and all have delivered everything then."""
    world = domain_of({A: "pqr", B: "pqs"})
    world.run(100_500)
    for one in "pqrs":
        for other in "pqrs":
            world.slow[one, other] = 1_000
    world.say("p", A)
    number = world.flush_out("p")
    took_us = _ends_us(world, "p", number, 100_000)
    assert 2_000 <= took_us <= 8_000
    assert all("p1@A" in delivered(world, name) for name in "pqr")
    let_settle(world)


def test_what_was_delivered_is_flushed_too() -> None:
    """Q's message is slow to r: p, which has delivered it, waits for r."""
    world = domain_of({A: "pqr"})
    slow(world, "q", "r")
    world.say("q", A)
    world.run(4_000)
    assert delivered(world, "p") == ["q1@A"]
    number = world.flush_out("p")
    world.run(4_000)
    assert number not in world.node("p").flushed
    _ends_us(world, "p", number, 40_000)
    assert delivered(world, "r") == ["q1@A"]


def test_what_is_received_and_held_back_is_waited_for() -> None:
    """A total message that has no turn yet has been received, and is not where it is to be."""
    world = domain_of({A: "hpq"})
    world.slow["h", "q"] = 80_000
    world.say("p", A, Order.TOTAL)
    world.run(8_000)
    assert delivered(world, "p") == ["p1@A"]
    number = world.flush_out("p")
    world.run(50_000)
    assert number not in world.node("p").flushed
    _ends_us(world, "p", number, 200_000)
    assert delivered(world, "q") == ["p1@A"]


def test_the_past_in_groups_of_others_is_asked_for() -> None:
    """A={x,q,s} B={q,p}: x's m0 is slow to s; q names it in B; p, not in A, waits for s."""
    world = domain_of({A: "xqs", B: "qp", C: "ps"})
    world.slow["x", "s"] = 25_000
    world.say("x", A)
    world.run(4_000)
    world.say("q", B)
    world.run(4_000)
    assert delivered(world, "p") == ["q1@B"]
    number = world.flush_out("p")
    world.run(10_000)
    assert number not in world.node("p").flushed
    _ends_us(world, "p", number, 60_000)
    assert delivered(world, "s") == ["x1@A"]


def test_the_past_of_others_is_told_soon() -> None:
    """The same, where s has it already: two round trips, not the words of several heartbeats."""
    world = domain_of({A: "xqs", B: "qp", C: "ps"})
    world.run(100_500)
    world.say("x", A)
    world.run(3_000)
    world.say("q", B)
    world.run(2_500)
    assert delivered(world, "p") == ["q1@B"]
    number = world.flush_out("p")
    assert number not in world.node("p").flushed
    assert _ends_us(world, "p", number, 60_000) <= 12_000


def test_what_is_queued_is_waited_for() -> None:
    """What waits for the next view of a group has not been sent, but was handed over."""
    world = domain_of({A: "pqr", B: "pq"})
    world.crash("r")
    before = world.node("p").views[GroupNumber(A)].number
    while world.node("p").machine.endpoint(GroupNumber(A)).member.is_open:
        world.run(100)
    world.say("p", A)
    number = world.flush_out("p")
    _ends_us(world, "p", number, 2_000_000)
    assert "p1@A" in delivered(world, "q")
    assert world.node("p").views[GroupNumber(A)].number > before


def test_a_flush_ends_although_somebody_dies() -> None:
    """The view without it is the end of the wait."""
    world = domain_of({A: "pqr"})
    slow(world, "p", "r")
    world.say("p", A)
    number = world.flush_out("p")
    world.crash("r")
    took_us = _ends_us(world, "p", number, 2_000_000)
    assert took_us > 50_000
    assert "p1@A" in delivered(world, "q")


def test_a_flush_ends_although_a_group_is_left() -> None:
    """What was multicast there has been seen to by the flush of its view."""
    world = domain_of({A: "pqr", B: "pq"})
    world.slow["p", "r"] = 8_000
    world.say("p", A)
    number = world.flush_out("p")
    world.leave("p", A)
    _ends_us(world, "p", number, 2_000_000)
    world.run(1_000_000)
    assert "p1@A" in delivered(world, "r")


def test_a_flush_is_of_one_domain_or_of_all() -> None:
    """And of one that the process is in."""
    world = domain_of({A: "pqr"})
    slow(world, "p", "r")
    world.say("p", A)
    with pytest.raises(UsageError, match="no group of domain elsewhere"):
        world.flush_out("p", "elsewhere")
    one, every = world.flush_out("p", "d"), world.flush_out("p")
    world.run(5_000)
    assert not {one, every} & set(world.node("p").flushed)
    world.run(60_000)
    assert {one, every} <= set(world.node("p").flushed)


def test_groups_without_a_common_domain_are_flushed_too() -> None:
    """Each is a domain of its own."""
    world = SeveralGroups(1)
    world.start("pqr", {A: "pq", B: "pr"})
    world.run(1_000)
    world.slow["p", "r"] = 5_000
    world.say("p", B)
    number = world.flush_out("p")
    took_us = _ends_us(world, "p", number, 40_000)
    assert took_us >= 5_000
    assert len(world.node("r").delivered[GroupNumber(B)]) == 1


def test_who_asks_to_join_a_group_that_is_gone_is_not_blamed_for_its_flush() -> None:
    """It waits with what it has to say; where somebody is there to take it in, it may not."""
    world = domain_of({A: "q"}, others="p")
    world.crash("q")
    world.join("p", A, "q")
    world.run(1_000)
    world.say("p", A)
    number = world.flush_out("p")
    world.run(1_000_000)
    assert number in world.node("p").flushing
    assert not world.unended_flush()
    other = domain_of({A: "q"}, others="p")
    other.node("p").flushing[1] = None
    assert other.unended_flush() == "flush 1 of p~0 has not ended"

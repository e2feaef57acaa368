"""Schedules across groups that were found by thought or by random worlds, and broke a promise once.

Ways between processes are held so that what comes first overtakes; the judge knows no timestamp.
"""

from tests.adversary.world import AdversaryWorld

from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Order
from antiphon.stack.domain import ALL
from antiphon.stack.inputs import PeerLost, Stopped

A, B, C, D = (GroupNumber(number) for number in range(4))
TOTAL = Order.TOTAL


def _world(groups: dict[int, str], **options: object) -> AdversaryWorld:
    world = AdversaryWorld("schedule", **options)  # type: ignore[arg-type]
    world.start("".join(sorted(set("".join(groups.values())))), groups)
    world.run(15_000)
    return world


def _judge(world: AdversaryWorld) -> None:
    world.run(1_000_000)
    assert world.judge.judge() == []


def test_a_message_is_not_taken_for_known_while_its_turn_may_not_be() -> None:
    """m1 has come to everybody; p has the list that gives it a turn, and s has not.

    The list waits at p, for y; so it is not in p's past, and only m1 can be named.
    """
    world = _world({A: "hprst", B: "ps"})
    world.hold("h", "s", 80_000)
    world.hold("t", "p", 70_000)
    world.hold("t", "r", 4_000)
    world.say("t", A)  # y, which p and r do not get
    world.run(2_000)
    world.say("r", A, TOTAL)  # m1
    world.run(45_000)
    assert world.judge.sent[1].order is TOTAL
    world.say("p", B)
    _judge(world)


def test_a_letter_of_an_earlier_view_waits_for_other_groups() -> None:
    """In A q's letter comes when p has left its view, and names what p lacks in B."""
    world = _world({A: "cpqx", B: "pqr", C: "cx"})
    world.hold("r", "p", 80_000)
    world.say("r", B)
    world.run(2_000)
    world.hold("q", "p", 60_000)
    world.write("q", A, "p")
    world.run(2_000)
    world.leave("x", A)
    world.run(40_000)
    assert world.actors["p"].views[A].number == 2
    _judge(world)


def test_a_letter_of_an_earlier_view_tells_what_its_sender_knew() -> None:
    """In A q's letter comes when p has left its view; p answers in C, where s is, who is in B."""
    world = _world({A: "cpqx", B: "qrs", C: "ps", D: "cx"})
    world.hold("r", "s", 90_000)
    world.say("r", B)
    world.run(2_000)
    world.hold("q", "p", 50_000)
    world.write("q", A, "p")
    world.run(2_000)
    world.leave("x", A)
    world.run(40_000)
    assert world.actors["p"].views[A].number == 2
    world.run(12_000)
    world.say("p", C)
    _judge(world)


def test_an_entry_is_not_forgotten_while_somebody_has_its_view_to_leave() -> None:
    """In B g, who has left A's view, says what may be forgotten; s still lacks the mark."""
    world = _world({A: "grsx", B: "gq", C: "qs"})
    world.say("r", A, uniform=True)
    ordering = world.actors["s"].machine.endpoint(A).member.ordering
    while not any(ordering.received(A)):
        world.run(20)
    world.hold("gr", "s", 150_000)
    world.run(2_000)
    world.say("g", B)
    world.run(2_000)
    world.leave("x", A)
    world.run(40_000)
    assert world.actors["g"].views[A].number == 2
    assert world.actors["s"].views[A].number == 1
    world.say("q", C)
    _judge(world)


def test_the_token_does_not_move_with_a_message_that_has_no_turn() -> None:
    """While c waits to speak in B, d's eighth message there makes it hand on the token."""
    world = _world({A: "bc", B: "cd"}, resilience=ALL)
    for _ in range(7):
        world.say("d", B, TOTAL)
        world.run(1_000)
    world.hold("b", "c", 100_000)
    world.say("c", A)
    world.run(1_000)
    world.say("c", B, TOTAL)
    world.run(1_000)
    assert world.actors["c"].machine.endpoint(B).member.ordering.is_frozen
    world.say("d", B, TOTAL)
    for source in "db":  # d's message, then b's receipt, before c has said whose turn it is
        world.empty(source, "c")
    world.release()
    _judge(world)
    assert world.judge.undelivered("d.1", B, world.actors["d"].views[B], {"c.1", "d.1"}) == []


def test_a_letter_of_a_later_view_keeps_its_place() -> None:
    """One letter to b is early for A's view 2; the next, in B, waits for that view as well."""
    world = _world({A: "abcx", B: "abc", C: "xa"})
    world.leave("x", A)
    while world.actors["b"].machine.endpoint(A).latest == world.actors["b"].views[A]:
        world.run(20)
    world.hold("a", "b", 40_000)
    world.run(5_000)
    assert world.actors["c"].views[A].number == 2
    assert world.actors["b"].views[A].number == 1
    world.say("c", A)
    world.write("c", A, "b")
    world.run(2_000)
    world.write("c", B, "b")
    _judge(world)


def test_who_leaves_its_only_group_still_tells_the_next_one_what_it_knows() -> None:
    """In A s lacks the mark of m1, which p has delivered; p leaves A, and speaks in B then."""
    world = _world({A: "cprs", B: "qs", C: "rs"})
    world.say("r", A, uniform=True)
    ordering = world.actors["s"].machine.endpoint(A).member.ordering
    while not any(ordering.received(A)):
        world.run(20)
    world.hold("cr", "s", 150_000)
    world.run(2_000)
    world.leave("p", A)
    world.run(5_000)
    assert world.actors["p"].views[A].number == 2
    world.join("p", B, "q")
    world.run(30_000)
    world.say("p", B)
    _judge(world)
    assert len(world.judge.sent) == 2


def test_who_closes_a_group_without_leaving_it_still_names_what_it_delivered() -> None:
    """In A p has delivered r's message, which s lacks; p stops there, and speaks in B."""
    world = _world({A: "prs", B: "ps"})
    world.hold("r", "s", 60_000)
    world.say("r", A)
    world.run(2_000)
    actor = world.actors["p"]
    actor.give((A, Stopped("it is closed")))
    actor.do(actor.machine.close(A), None)
    world.say("p", B)
    _judge(world)


def test_what_a_letter_told_is_forgotten_like_anything_else() -> None:
    """A letter of p tells q, who is not in A, of r's message there; q tells s."""
    world = _world({A: "pr", B: "pq", C: "qs"})
    world.say("r", A)
    ordering = world.actors["p"].machine.endpoint(A).member.ordering
    while not any(ordering.clock(A)):
        world.run(20)
    world.write("p", B, "q")
    world.run(1_000)
    world.say("q", C)
    _judge(world)
    for name, group in (("q", B), ("s", C)):
        knowledge = world.actors[name].machine.endpoint(group).member.ordering.knowledge
        assert knowledge is not None
        assert knowledge.foreign == {}


def test_who_is_excluded_delivers_nothing_any_more() -> None:
    """In B b holds what depends on a message of A that is lost to it; then it is out of both."""
    world = _world({A: "abc", B: "abd"})
    world.hold("c", "b", 60_000)
    world.say("c", A)
    world.run(2_000)
    world.say("a", B)
    world.run(2_000)
    world.actors["c"].give(PeerLost(world.actors["b"].me))
    world.reject = lambda *_: None  # type: ignore[method-assign]
    _judge(world)
    assert world.actors["b"].machine.is_over


def test_who_is_excluded_while_it_delivers_nothing_never_does() -> None:
    """In B b waits for a receipt, to speak in A, and holds a's message there; then it is out."""
    world = _world({A: "abc", B: "bd"}, resilience=2)
    world.hold("d", "b", 60_000)
    world.say("b", B)
    world.run(500)
    world.say("b", A)
    world.say("a", A)
    world.run(500)
    assert world.actors["b"].machine.endpoint(A).member.ordering.is_frozen
    world.actors["c"].give(PeerLost(world.actors["b"].me))
    _judge(world)
    assert world.actors["b"].machine.is_over


def test_what_waits_leaves_in_program_order_when_a_view_sets_it_free() -> None:
    """In A a letter to d waits for its acknowledgement; the view without d frees A, and then B."""
    world = _world({A: "ad", B: "abd"})
    world.crash("d")
    world.write("a", A, "d")
    world.say("a", A)
    world.say("a", B)
    _judge(world)
    assert [message.group for message in world.judge.sent] == [A, A, B]


def test_a_uniform_message_waits_for_what_its_senders_last_message_waits_for() -> None:
    """In A m1 names what d lacks in B; the next one, m2, is uniform and names nothing of B."""
    world = _world({A: "ad", B: "acd"})
    world.hold("c", "d", 40_000)
    world.say("c", B)
    world.run(2_000)
    world.say("a", A)
    world.run(1_000)
    world.say("a", A, uniform=True)
    _judge(world)
    assert world.judge.undelivered("d.1", A, world.actors["d"].views[A], {"a.1"}) == []

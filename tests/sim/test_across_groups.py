"""ISIS 6.1 to 6.5 and 7.2: causality across groups, one test per claim or printed mistake.

Each schedule is played on the process machine itself. Ways between processes are made slow so that
what comes first overtakes; the judge (``sim.across_checks``) knows no timestamp.
"""

import pytest
from tests.mutants.planted_domains import nothing_is_waited_for
from tests.sim.domain_schedules import A, B, C, D, delivered, domain_of, let_settle, slow

from antiphon.core.control import HowFarAsked
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Order
from antiphon.sim.several_groups import Node, SeveralGroups
from antiphon.stack.domain import ALL, Domain
from antiphon.stack.send_queue import How


def test_figure_4_a_causal_cycle_over_two_groups_is_delivered_in_order() -> None:
    """6.1: m1 in A, m2 in B, m3 in B, m4 in A, each an answer to the last; m1 is slow to c."""
    world = domain_of({A: "abc", B: "bcd"})
    slow(world, "a", "c")
    world.say("a", A)
    world.run(5_000)
    world.say("b", B)
    world.run(5_000)
    world.say("d", B)
    world.run(1_000)
    assert "a1@A" not in delivered(world, "c"), "it is on its way"
    world.run(30_000)
    world.say("c", A)
    let_settle(world)
    assert delivered(world, "c") == ["a1@A", "b1@B", "d1@B", "c1@A"]
    assert delivered(world, "a") == ["a1@A", "c1@A"]


def test_000_13_a_stamp_rides_along_although_its_sender_is_in_the_group() -> None:
    """A and B are both {p,q,s}: q's m1 in A is slow to s; p answers in B."""
    world = domain_of({A: "pqs", B: "pqs"})
    slow(world, "q", "s")
    world.say("q", A)
    world.run(5_000)
    world.say("p", B)
    let_settle(world)
    assert delivered(world, "s") == ["q1@A", "p1@B"]


def test_000_14_what_is_known_of_a_group_is_passed_on_by_who_is_not_in_it() -> None:
    """A={p,s} B={p,q} C={q,s}: p's m1 in A is slow to s; the news goes round by q."""
    world = domain_of({A: "ps", B: "pq", C: "qs"})
    world.resilience = 1
    slow(world, "p", "s")
    world.say("p", A)
    world.node("p").machine._causal._named["d"]._risky.clear()  # as if s could have acknowledged it
    world.say("p", B)
    world.run(5_000)
    assert delivered(world, "q") == ["p1@B"]
    world.say("q", C)
    let_settle(world)
    assert delivered(world, "s") == ["p1@A", "q1@C"]


def test_000_12_changed_means_changed_since_the_last_to_the_same_group() -> None:
    """A={p,s,t} B={p,r} C={p,s}: p speaks in A, B and C; t's m0 is slow to s."""
    world = domain_of({A: "pst", B: "pr", C: "ps"})
    slow(world, "t", "s")
    world.say("t", A)
    world.run(5_000)
    for group in (A, B, C):
        world.say("p", group)
        world.run(3_000)
    let_settle(world)
    assert delivered(world, "s") == ["t1@A", "p1@A", "p1@C"]


def test_000_25_a_stamp_of_a_newer_view_waits_for_that_view() -> None:
    """A={a,s} B={a,s}: x joins A; a installs it first, speaks in it, and then in B."""
    world = domain_of({A: "as", B: "as", C: "xa"})
    world.join("x", A, "a")
    for _ in range(40):
        world.run(500)
        if world.node("a").views[GroupNumber(A)].number == 2:
            break
    world.say("a", A)
    world.run(100)
    world.say("a", B)
    let_settle(world)
    assert delivered(world, "s") == ["a1@A", "a1@B"]


def test_000_26_a_view_is_not_left_while_its_messages_wait_for_another_group() -> None:
    """A={c,a,s} B={a,s}, x joins B: c's m0 in A is slow to s, a names it in B."""
    world = domain_of({A: "cas", B: "as", C: "xa"})
    slow(world, "c", "s")
    world.say("c", A)
    world.run(4_000)
    world.join("x", B, "a")
    world.say("a", B)
    world.run(8_000)
    world.say("a", B)
    let_settle(world)
    assert delivered(world, "s")[:2] == ["c1@A", "a1@B"]
    views = {world.node(name).views[GroupNumber(B)].number for name in "asx"}
    assert views == {2}


def _scene_of_6_5(resilience: int) -> SeveralGroups:
    """A={p,q,r,t,u} B={q,r,t,u,v}: p's m1 in A reaches q only; q speaks in B; p and q die."""
    world = domain_of({A: "pqrtu", B: "qrtuv"}, resilience=resilience)
    slow(world, "p", "rtu")
    world.say("p", A)
    world.run(4_000)
    world.say("q", B)
    world.run(3_000)
    for name in "pq":
        world.crash(name)
        for (source, _), channel in world._channels.items():
            if source.name == name:
                channel.clear()
    world.run(2_000_000)
    return world


def test_6_5_what_another_groups_message_depends_on_is_not_lost_with_k_2() -> None:
    """Two crashes: with a resilience of 2 nobody delivers q's message without p's."""
    world = _scene_of_6_5(2)
    assert world.across.judge(2) == ""
    for name in "rtuv":
        assert "q1@B" not in delivered(world, name)


def test_6_5_two_crashes_are_more_than_a_resilience_of_1_bears() -> None:
    """With k = 1 there is a hole after two crashes, and the judge sees it."""
    world = _scene_of_6_5(1)
    assert all("q1@B" in delivered(world, name) for name in "rtuv")
    assert world.across.judge(1) == "", "two failed, and one is borne: that is excused"
    assert "never message 1 of p" in world.across.judge(2)


def test_flushes_of_two_groups_do_not_wait_for_each_other() -> None:
    """A=B: x in A depends on y in B, z in B on w in A; y and w are lost, and all go on."""
    others = "stuvw"
    world = domain_of({A: others + "cdpr", B: others + "cdpr"})
    slow(world, "d", others + "cr")
    slow(world, "c", others + "dp")
    world.say("d", B)
    world.say("c", A)
    world.run(4_000)
    world.say("p", A)
    world.say("r", B)
    world.run(4_000)
    for name in "cdpr":
        world.crash(name)
        for (source, _), channel in world._channels.items():
            if source.name == name:
                channel.clear()
    world.run(3_000_000)
    for name in others:
        node = world.node(name)
        assert [node.views[GroupNumber(group)].members for group in (A, B)] == [
            tuple(world.node(one).ids[GroupNumber(A)] for one in others)
        ] * 2
        assert delivered(world, name) == ["p1@A", "r1@B"] or delivered(world, name) == [
            "r1@B",
            "p1@A",
        ]


def test_turns_of_two_groups_do_not_wait_for_each_other() -> None:
    """H gives turns in A only, k in B only; p: w in A, x in B; q: y in B, u in A; all total."""
    world = domain_of({A: "hpq", B: "kpq"})
    slow(world, "p", "h")
    slow(world, "q", "k")
    for name, first, second in (("p", A, B), ("q", B, A)):
        world.say(name, first, Order.TOTAL)
        world.say(name, second, Order.TOTAL)
    let_settle(world)
    assert len(delivered(world, "p")) == len(delivered(world, "q")) == 4


def test_a_turn_that_has_not_been_said_is_not_taken_for_known() -> None:
    """B gives c's message in A its turn, and answers in B before it has said so; a holds b up."""
    world = domain_of({A: "bc", B: "bc", C: "abc"})
    world.slow["a", "b"] = 60_000

    def answer(node: Node, group: GroupNumber) -> None:
        if node.me.name == "b" and group == A:
            node.say(GroupNumber(B), How(Order.CAUSAL))

    world.on_delivery = answer
    world.say("a", C)
    world.run(5_000)
    world.say("c", A, Order.TOTAL)
    let_settle(world)
    assert delivered(world, "c") == ["a1@C", "c1@A", "b1@B"]


def test_7_2_a_letter_holds_up_all_groups_until_it_is_acknowledged() -> None:
    """000-24: p writes to q in A, then speaks in B; r's answer comes to q after the letter."""
    world = domain_of({A: "pq", B: "pr", C: "qr"})
    slow(world, "p", "q")
    answered: list[str] = []

    def answer(node: Node, group: GroupNumber) -> None:
        if node.me.name == "r" and group == B and not answered:
            answered.append("r")
            world.at(world.now_us, lambda: world.say("r", C))

    world.on_delivery = answer
    world.write("p", A, "q")
    world.say("p", B)
    let_settle(world)
    assert answered == ["r"]


@pytest.mark.parametrize("resilience", [1, 2, ALL])
def test_a_switch_of_groups_takes_about_a_round_trip(resilience: int) -> None:
    """6.5: who speaks in A and then in B waits for receipts, not for a heartbeat."""
    world = domain_of({A: "pqr", B: "pqs"}, resilience=resilience)
    for name, other in (("p", "q"), ("p", "r"), ("q", "p"), ("r", "p"), ("q", "r"), ("r", "q")):
        world.slow[name, other] = 4_000
    world.run(100_000)
    began_us = world.now_us
    world.say("p", A)
    world.say("p", B)
    while "p1@B" not in delivered(world, "p"):
        world.run(100)
    round_trip_us = 2 * (4_000 + 900)
    assert world.now_us - began_us <= 1.5 * round_trip_us
    let_settle(world)


def test_001_10_nobody_speaks_in_a_view_before_who_joins_knows_of_it() -> None:
    """A={a,b} B={b,d} C={d,x}: x joins A, and hears of it late; a speaks in it, b and d pass on."""
    world = domain_of({A: "ab", B: "bd", C: "dx"})
    world.run(100_000)
    slow(world, "a", "x")
    slow(world, "b", "x")
    passed: list[str] = []

    def pass_on(node: Node, group: GroupNumber) -> None:
        to = {("b", A): B, ("d", B): C}.get((node.me.name, int(group)))
        if to is not None and node.me.name not in passed:
            passed.append(node.me.name)
            node.say(GroupNumber(to), How(Order.CAUSAL))

    world.on_delivery = pass_on
    world.join("x", A, "a")
    for _ in range(200):
        world.run(100)
        if world.node("a").views[GroupNumber(A)].number == 2:
            break
    world.say("a", A)
    let_settle(world)
    assert passed == ["b", "d"]
    assert delivered(world, "x") == ["a1@A", "d1@C"]


def test_000_20_two_that_wait_for_each_others_receipts_go_on() -> None:
    """A={p,q} B={p,x} C={q,y}: p speaks in A and B, q in A and C; neither delivers meanwhile."""
    world = domain_of({A: "pq", B: "px", C: "qy"}, resilience=ALL)
    world.run(100_000)
    for name, other in (("p", B), ("q", C)):
        world.say(name, A)
        world.say(name, other)
    let_settle(world)
    assert delivered(world, "x") == ["p1@B"]
    assert delivered(world, "y") == ["q1@C"]


def test_a_switch_to_a_group_of_members_of_the_one_before_waits_for_nothing() -> None:
    """Channels are FIFO, whatever the group: who gets the second message has got the first."""
    world = domain_of({A: "pqrs", B: "pqr"})
    slow(world, "p", "qrs")
    world.run(100_000)
    world.say("p", A)
    world.say("p", B)
    assert delivered(world, "p") == ["p1@A", "p1@B"], "it has left in the same moment"
    let_settle(world)


def test_who_holds_the_second_message_brings_the_first_to_all_if_the_sender_dies() -> None:
    """P speaks in A, in B, and dies; only q got anything, and that is both, in order."""
    world = domain_of({A: "pqrs", B: "pqr", C: "qrs"})
    world.run(100_000)
    slow(world, "p", "rs")
    world.say("p", A)
    world.say("p", B)
    world.run(3_000)
    assert delivered(world, "q") == ["p1@A", "p1@B"]
    world.say("q", C)
    world.crash("p")
    for (source, to), channel in world._channels.items():
        if source.name == "p" and to.name != "q":
            channel.clear()
    world.run(2_000_000)
    assert world.across.judge(1) == ""
    assert delivered(world, "r") == ["p1@A", "p1@B", "q1@C"]
    assert delivered(world, "s") == ["p1@A", "q1@C"]


def _scene_of_a_stranger_in_b() -> SeveralGroups:
    """P speaks in A, in B, and dies; only u, who is not in A, could get what it says in B."""
    world = domain_of({A: "pqrt", B: "pqrtu", C: "uqrt"})
    world.run(100_000)
    slow(world, "p", "qrt")
    world.say("p", A)
    world.say("p", B)
    world.run(3_000)
    world.say("u", C)
    world.crash("p")
    for (source, _), channel in world._channels.items():
        if source.name == "p":
            channel.clear()
    world.run(2_000_000)
    return world


def test_who_is_not_in_the_group_before_is_written_to_when_the_past_is_safe() -> None:
    """Nothing has left for B, so nobody says anything that depends on what is lost."""
    world = _scene_of_a_stranger_in_b()
    assert world.across.judge(1) == ""
    assert delivered(world, "u") == ["u1@C"]


def test_without_the_wait_of_6_5_one_crash_leaves_a_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the wait is good for: p speaks in A, in B, and dies; only B's message gets out."""
    monkeypatch.setattr(Domain, "is_safe_for", nothing_is_waited_for)
    world = _scene_of_a_stranger_in_b()
    assert "never message 1 of p" in world.across.judge(1)


def test_what_is_of_an_older_view_is_followed_by_the_new_one() -> None:
    """A={b,d,f} B={b,c} C={c,e} D={e,d}: d is out, lacks what e names; c tells e of A's view."""
    world = domain_of({A: "bdf", B: "bc", C: "ce", D: "de"})
    world.run(5_000)
    for name in "bf":
        world.slow[name, "d"] = 800_000
        world.take_down("d", name)
    for name, group, wait_us in (("b", A, 3_000), ("b", B, 4_000), ("c", C, 140_000)):
        world.say(name, group)
        world.run(wait_us)
    assert "b1@A" not in delivered(world, "d")
    assert world.node("b").views[GroupNumber(A)].number == 2
    world.say("b", B)
    world.run(90_000)
    world.say("e", D)
    world.run(200_000)
    world.take_up()
    let_settle(world)
    assert delivered(world, "e")[:2] == ["c1@C", "e1@D"]
    assert "e1@D" not in delivered(world, "d")


def test_who_is_out_is_not_told_by_others_who_are_out_that_there_is_no_such_view() -> None:
    """A={a,b,c,d,e} B={a,x} C={x,d}: d and e are out of A; d asks e, who does not know it."""
    world = domain_of({A: "abcde", B: "ax", C: "dx"})
    world.run(5_000)
    for name in "abc":
        for exile in "de":
            world.slow[name, exile] = 800_000
            world.take_down(exile, name)
    world.say("a", A)
    while world.node("a").views[GroupNumber(A)].number == 1:
        world.run(10_000)
    world.say("a", B)
    world.run(5_000)
    world.say("x", C)
    world.run(300_000)
    assert delivered(world, "d") == []
    assert not world.node("d").ends
    world.take_up()
    let_settle(world)
    assert delivered(world, "x") == ["a1@B", "x1@C"]
    assert "x1@C" not in delivered(world, "d")


def test_what_is_on_its_way_is_asked_about_once() -> None:
    """A={p,q,s} B={q,s}: p's message is slow to s, that of q in B waits for it for long."""
    world = domain_of({A: "pqs", B: "qs"})
    world.run(5_000)
    world.slow["p", "s"] = 90_000
    asked: list[str] = []
    send = world.send

    def note(source, to, item):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        happened = item[1] if isinstance(item, tuple) else item
        if isinstance(getattr(happened, "message", None), HowFarAsked):
            asked.append(f"{source.name} asks {to.name}")
        send(source, to, item)

    world.send = note  # type: ignore[method-assign]
    world.say("p", A)
    world.run(3_000)
    world.say("q", B)
    let_settle(world)
    assert delivered(world, "s") == ["p1@A", "q1@B"]
    assert asked == ["s asks p", "s asks q"]

"""Flooding: each erratum of the paper as a schedule, then random ones with crashes and links."""

import pytest
from tests.overlay.schedules import crash_schedule, link_schedule
from tests.overlay.world import ViolationError, World

from antiphon.core.errors import PeerError, UsageError
from antiphon.ordering.overlay.flooding import (
    Broadcast,
    Farewell,
    Flooding,
    HandUp,
    LinkItem,
    PutOnLinks,
    Snapshot,
)
from antiphon.ordering.overlay.topologies import TOPOLOGIES, copies_per_broadcast

PATH = [(1,), (0, 2), (1,)]
RING = [(1, 3), (0, 2), (1, 3), (0, 2)]
CLIQUE = [tuple(other for other in range(4) if other != rank) for rank in range(4)]


def test_message_is_marked_forwarded_and_then_delivered() -> None:
    """In this order, and not back to where it came from."""
    member = Flooding(1, 3, (0, 2))
    message = Broadcast(0, 1, b"x")
    assert member.receive(0, message) == [PutOnLinks((2,), message), HandUp(message)]
    assert member.marked == [1, 0, 0]
    assert member.receive(2, message) == []


def test_origin_delivers_its_own_message() -> None:
    """002-6: in both figures it never does; here it comes last, after all links."""
    member = Flooding(0, 3, (1, 2))
    message = Broadcast(0, 1)
    assert member.broadcast() == [PutOnLinks((1, 2), message), HandUp(message)]


def test_answer_in_the_upcall_does_not_overtake() -> None:
    """002-1: b answers m while it delivers m; c gets m first."""
    world = World(PATH)
    world.answers = {(0, 1): (1,)}
    world.broadcast(0)
    world.arrive(0, 1)
    world.arrive(1, 2)
    world.arrive(1, 2)
    assert list(world.oracle.delivered[2]) == [(0, 1), (1, 1)]


def test_link_that_reorders_is_refused() -> None:
    """002-2: the second message before the first would make the first look old."""
    member = Flooding(1, 2, (0,))
    with pytest.raises(PeerError, match="message 2 of member 0 after message 0: the link is not"):
        member.receive(0, Broadcast(0, 2))


def test_new_link_waits_until_what_its_opener_had_is_here() -> None:
    """002-3: on the path a-b-c, m2 comes over the new link a-c before m1 over b."""
    world = World(PATH)
    world.broadcast(0)
    world.add_link(0, 2)
    world.broadcast(0)
    world.arrive(0, 2)
    world.arrive(0, 2)
    assert not world.oracle.delivered[2]
    assert not world.members[2].is_open(0)
    world.settle()
    assert list(world.oracle.delivered[2]) == [(0, 1), (0, 2)]
    assert world.members[2].is_open(0)
    world.oracle.conclude([0, 1, 2])


def test_messages_of_others_wait_at_a_gate_too() -> None:
    """002-3 with two senders: a forwards nothing of b's m1 over the new link, but depends on it."""
    world = World([(1,), (0, 3), (3,), (1, 2)])
    world.broadcast(1)
    world.arrive(1, 0)
    world.add_link(0, 2)
    world.broadcast(0)
    world.arrive(0, 2)
    world.arrive(0, 2)
    assert not world.oracle.delivered[2]
    world.settle()
    assert list(world.oracle.delivered[2]) == [(1, 1), (0, 1)]


def test_link_lost_with_its_content_may_lose_messages() -> None:
    """002-4: on the ring a-b-c-d, order stays right, but b and c never get m."""
    world = World(RING)
    world.broadcast(0)
    world.arrive(0, 3)
    world.add_link(0, 2)
    world.drop_link(0, 1)
    world.drop_link(2, 3)
    world.settle()
    assert not world.oracle.delivered[1]
    assert not world.oracle.delivered[2]
    with pytest.raises(ViolationError, match="have not delivered the same"):
        world.oracle.conclude([0, 1, 2, 3])


def test_links_that_are_drained_lose_nothing() -> None:
    """002-4 with farewells: what was on its way comes before them."""
    world = World(RING)
    world.broadcast(0)
    world.arrive(0, 3)
    world.add_link(0, 2)
    world.drain_link(0, 1)
    world.drain_link(3, 2)
    world.settle()
    world.oracle.conclude([0, 1, 2, 3])
    assert world.members[0].links == (3, 2)
    assert world.members[1].links == (2,)
    assert world.members[2].links == (1, 0)


def test_drained_link_may_leave_a_gate_shut_for_ever() -> None:
    """Draining needs more than a farewell: the new link waits for what the old one would bring."""
    world = World(PATH)
    world.broadcast(0)
    world.add_link(0, 2)
    world.drain_link(1, 2)
    world.settle()
    assert not world.members[2].is_open(0)
    with pytest.raises(ViolationError):
        world.oracle.conclude([0, 1, 2])


def test_answer_does_not_survive_what_it_answers() -> None:
    """002-5 on a clique of four: a's m reaches b only; b answers; both die."""
    for kept in range(5):
        world = World(CLIQUE)
        world.answers = {(0, 1): (1,)}
        world.dying[0] = 1
        world.broadcast(0)
        world.links[0, 1].append(Broadcast(0, 1))
        world.dying[1] = kept
        world.arrive(0, 1)
        world.crash(1)
        world.settle()
        world.oracle.conclude([2, 3])


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_copies_are_the_sum_of_degrees_less_all_but_one(name: str) -> None:
    """Whatever the order of arrival: n(log2 n - 1) + 1 in a full cube."""
    for size in (2, 4, 8, 32):
        overlay = TOPOLOGIES[name].overlay(size)
        for seed in range(5):
            world = World(overlay, seed)
            world.broadcast(seed % size)
            world.settle()
            assert world.copies == copies_per_broadcast(overlay)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_random_crashes_leave_causal_order_and_the_same_messages(name: str) -> None:
    """Fewer than the connectivity, at any moment, with answers in upcalls."""
    for seed in range(300):
        sizes = (4, 8, 16) if name == "hypercube" else (3, 5, 8, 11, 16)
        crash_schedule(name, sizes[seed % len(sizes)], seed)


def test_random_changes_of_links_leave_causal_order() -> None:
    """Links come, and are drained while those that are open connect everybody without them."""
    for seed in range(300):
        link_schedule(4 + seed % 5, seed)


def test_items_that_no_member_sends_are_refused() -> None:
    """The sender is to blame, and nothing has changed."""
    member = Flooding(1, 3, (0, 2))
    wrong: dict[str, tuple[int, LinkItem]] = {
        "on a link that is not there": (1, Broadcast(0, 1)),
        "a message of member 7, of 3": (0, Broadcast(7, 1)),
        "message 1 of member 1": (0, Broadcast(1, 1)),
        "not the first item of a new link": (0, Snapshot(())),
    }
    for said, (link, item) in wrong.items():
        with pytest.raises(PeerError, match=said):
            member.receive(link, item)
    member.receive(0, Farewell())
    member.add_link(0)
    with pytest.raises(PeerError, match="members that there are not"):
        member.receive(0, Snapshot(((9, 1),)))
    member.receive(0, Snapshot(()))
    with pytest.raises(PeerError, match="not the first item"):
        member.receive(0, Snapshot(()))
    assert member.marked == [0, 0, 0]


def test_links_that_cannot_be_are_refused() -> None:
    """There already, to oneself, to nobody; drained, but not there."""
    member = Flooding(1, 3, (0,))
    for peer, said in ((0, "already"), (1, "can be no link"), (3, "can be no link")):
        with pytest.raises(UsageError, match=said):
            member.add_link(peer)
    with pytest.raises(UsageError, match="no link to member 2"):
        member.drain_link(2)

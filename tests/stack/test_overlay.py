"""ViewFlooding an overlay under views, by hand: who sends what to whom, and what is refused."""

from typing import Any

import pytest

from antiphon import Overlay, UsageError
from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.membership.effects import Outbox, RelayRuns, SendRun
from antiphon.membership.transition import Transition
from antiphon.ordering.overlay.topologies import incomplete_hypercube
from antiphon.stack.arrivals import Arrivals
from antiphon.stack.effects import DeliverRuns, Effect, RejectPeer
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import MulticastRequested, RunsReceived
from antiphon.stack.overlay import ViewFlooding
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings

MEMBERS = tuple(ProcessId(f"p{rank}") for rank in range(8))
VIEW = View(GroupName("g"), ViewNumber(1), MEMBERS)
NEXT = View(GroupName("g"), ViewNumber(2), MEMBERS[:7], failed=(MEMBERS[7],))


def run_of(rank: int, first: int = 1, count: int = 1, view: int = 1, **other: Any) -> Run:
    """Return a run of a member."""
    order = other.pop("order", Order.CAUSAL)
    return Run(
        GroupNumber(0), ViewNumber(view), Rank(rank), first, order, other.pop("stamp", ()),
        [b"x"] * count, **other,
    )  # fmt: skip


class Node:
    """One member's flooding, by hand."""

    def __init__(self, rank: int) -> None:
        """Be in the first view."""
        self.out, self.transition = Outbox(MEMBERS[rank]), Transition(VIEW)
        self.flooding = Overlay().begin(self.out, self.transition)
        assert isinstance(self.flooding, ViewFlooding)
        self.flooding.enter(VIEW, rank)

    def forwarded(self) -> list[tuple[int, ...]]:
        """Return to whom runs were put on channels since the last look, by rank."""
        effects = self.out.take()
        assert all(isinstance(effect, RelayRuns) for effect in effects)
        return [
            tuple(MEMBERS.index(who) for who in effect.to)
            for effect in effects
            if isinstance(effect, RelayRuns)
        ]


def endpoint_of(rank: int) -> Endpoint:
    """Return a member of a group that floods, at the beginning of its life."""
    endpoint = Endpoint(MEMBERS[rank], VIEW, Settings(protocol=Overlay()), 0)
    endpoint.start()
    return endpoint


def multicast(endpoint: Endpoint) -> list[Effect]:
    """Let a member multicast one message."""
    return endpoint.step(MulticastRequested([b"x"], How(Order.CAUSAL), 1), 1)


def test_own_run_goes_to_the_neighbours_without_a_stamp() -> None:
    """However much its sender has delivered before."""
    endpoint = endpoint_of(0)
    endpoint.step(RunsReceived(MEMBERS[1], [run_of(5)], is_relayed=True), 1)
    effects = multicast(endpoint)
    sent, delivered = effects[0], effects[1]
    assert isinstance(sent, SendRun)
    assert isinstance(delivered, DeliverRuns)
    assert sent.to == tuple(MEMBERS[rank] for rank in incomplete_hypercube(8, 0))
    assert not sent.run.stamp


def test_new_run_is_forwarded_before_it_is_delivered_and_an_old_one_is_dropped() -> None:
    """To all neighbours but the one that brought it."""
    endpoint = endpoint_of(0)
    brought = RunsReceived(MEMBERS[1], [run_of(5)], is_relayed=True)
    forwarded, delivered = endpoint.step(brought, 1)[:2]
    assert isinstance(forwarded, RelayRuns)
    assert forwarded.to == (MEMBERS[2], MEMBERS[4])
    assert isinstance(delivered, DeliverRuns)
    again = RunsReceived(MEMBERS[2], [run_of(5)], is_relayed=True)
    assert not endpoint.step(again, 2)


def test_run_taken_while_the_view_is_left_goes_to_all_participants() -> None:
    """Who failed takes no part."""
    node = Node(0)
    node.transition.learn(NEXT)
    assert node.flooding.take(MEMBERS[1], run_of(5)) is not None
    assert node.forwarded() == [(2, 3, 4, 5, 6)]


def test_next_view_has_its_own_neighbours_and_counts() -> None:
    """A view rewires the overlay."""
    node = Node(0)
    node.flooding.take(MEMBERS[1], run_of(5))
    node.forwarded()
    node.transition.learn(NEXT)
    node.transition.enter()
    node.flooding.enter(NEXT, 0)
    assert node.flooding.take(MEMBERS[1], run_of(5, view=2)) is not None
    assert node.forwarded() == [(2, 4)]
    small = View(GroupName("g"), ViewNumber(3), MEMBERS[:3])
    node.flooding.enter(small, 0)
    assert node.flooding.neighbours == (MEMBERS[1], MEMBERS[2])


@pytest.mark.parametrize(
    "run",
    [
        run_of(8),
        run_of(5, first=2),
        run_of(0),
        run_of(5, stamp=((1, 1),)),
        run_of(5, order=Order.TOTAL),
        run_of(5, uniform=True),
    ],
    ids=["forged rank", "gap", "forged own", "stamp", "total", "uniform"],
)
def test_run_that_nobody_correct_sends_is_refused_and_changes_nothing(run: Run) -> None:
    """The process that brings it is at fault, and nobody else is harmed."""
    node = Node(0)
    with pytest.raises(PeerError):
        node.flooding.take(MEMBERS[1], run)
    assert not node.forwarded()
    assert node.flooding.take(MEMBERS[2], run_of(5)) is not None
    effects = endpoint_of(0).step(RunsReceived(MEMBERS[1], [run], is_relayed=True), 1)
    assert [effect.peer for effect in effects if isinstance(effect, RejectPeer)] == [MEMBERS[1]]


def test_run_of_another_member_that_is_no_relay_is_refused() -> None:
    """What is forwarded says so."""
    effects = endpoint_of(0).step(RunsReceived(MEMBERS[1], [run_of(5)]), 1)
    assert any(isinstance(effect, RejectPeer) for effect in effects)


def test_arrivals_keep_the_order_of_receipt_and_drop_what_is_stable() -> None:
    """Twice as many as are not stable, or a few, are kept at most."""
    stable = [0, 0]
    arrivals = Arrivals(lambda rank: stable[rank])
    for number in range(1, 200):
        arrivals.note(run_of(number % 2, number))
        stable[:] = [max(0, number - 10), max(0, number - 3)]
    kept = [(run.sender, run.first) for run in arrivals.unstable()]
    assert kept == [(0, 190), (0, 192), (0, 194), (0, 196), (1, 197), (0, 198), (1, 199)]
    assert len(arrivals._runs) <= 64


@pytest.mark.parametrize("flush", ["coordinator", "all-to-all"])
def test_only_the_view_atomic_flush_is_offered(flush: str) -> None:
    """It compares counts; the others rest on channels from sender to receiver."""
    with pytest.raises(UsageError, match="view-atomic"):
        Settings(flush=flush, protocol=Overlay())


def test_what_flooding_cannot_give_is_refused_where_it_is_asked_for() -> None:
    """Total order, uniform delivery; a word or a class instead of a protocol; no such topology."""
    settings = Settings(protocol=Overlay("ring"))
    settings.check(Order.CAUSAL, uniform=False)
    settings.check(Order.FIFO, uniform=False)
    with pytest.raises(UsageError, match="overlay ring gives neither"):
        settings.check(Order.TOTAL, uniform=False)
    with pytest.raises(UsageError, match="overlay ring gives neither"):
        settings.check(Order.CAUSAL, uniform=True)
    wrong: Any
    for wrong in ("overlay", Overlay, 7):
        with pytest.raises(UsageError, match="there is no protocol"):
            Settings(protocol=wrong)
    for wrong in ("star", "", 3, None):
        with pytest.raises(UsageError, match="there is no topology"):
            Overlay(wrong)


def test_hypercube_is_the_incomplete_one_where_there_is_no_full_one() -> None:
    """Members come and go, so both names mean the same, and members that say either meet."""
    assert Overlay("hypercube").description == Overlay().description

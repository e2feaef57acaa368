"""The CBCAST machine at its door: installing, looking in, FIFO beside causal, duplicates."""

import pytest

from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.ordering.delay_queue import Lack
from antiphon.ordering.vector import VectorDomain
from antiphon.ordering.vector_clock import VectorClock

GROUP = GroupNumber(1)


def _view(size: int) -> View:
    members = tuple(ProcessId(f"p{rank}") for rank in range(size))
    return View(GroupName("chat"), ViewNumber(1), members)


def _machines(size: int, *, fifo_channels: bool = True) -> list[VectorDomain]:
    machines = [VectorDomain(fifo_channels=fifo_channels) for _ in range(size)]
    for rank, machine in enumerate(machines):
        machine.install(GROUP, _view(size), Rank(rank))
    return machines


def _say(machine: VectorDomain, *payloads: bytes, order: Order = Order.CAUSAL) -> Run:
    return machine.multicast(GROUP, list(payloads), order)


def _texts(runs: list[Run]) -> list[bytes]:
    return [payload for run in runs for payload in run.payloads]


def test_group_is_joined_once() -> None:
    """Installing a first view twice is the caller's mistake."""
    (machine,) = _machines(1)
    with pytest.raises(UsageError, match="group chat is joined already"):
        machine.install(GROUP, _view(1), Rank(0))


def test_multicast_to_a_group_never_joined_is_refused() -> None:
    """The caller is told to join first, and nothing is counted as sent."""
    (machine,) = _machines(1)
    with pytest.raises(UsageError, match="in no group with number 9: join it first"):
        machine.multicast(GroupNumber(9), [b"hello"], Order.CAUSAL)
    assert machine.clock(GROUP) == [0]


def test_run_in_an_order_that_cannot_be_given_is_the_peers_fault() -> None:
    """A run that asks for total order is refused and leaves the next, proper one deliverable."""
    p, q = _machines(2)
    run = _say(p, b"hello")
    total = Run(GROUP, run.view, run.sender, run.first, Order.TOTAL, (), run.payloads)
    with pytest.raises(PeerError, match="asks for total order"):
        q.receive(total)
    assert _texts(q.receive(run)) == [b"hello"]


def test_run_without_messages_is_an_error_of_ours() -> None:
    """A run has at least one message."""
    with pytest.raises(AssertionError, match="at least one message"):
        _say(_machines(1)[0])


def test_group_of_one_delivers_to_itself() -> None:
    """Nobody else is needed, and nothing is stamped."""
    (alone,) = _machines(1)
    assert _say(alone, b"a", b"b").stamp == ()
    assert alone.clock(GROUP) == [2]


def test_clock_is_a_copy() -> None:
    """Who looks at the clock cannot turn it."""
    machine, _ = _machines(2)
    machine.clock(GROUP)[0] = 99
    assert machine.clock(GROUP) == [0, 0]


def test_held_run_says_what_it_waits_for() -> None:
    """First its sender's earlier messages, then the entries of its stamp, one after another."""
    p, q, r, s = _machines(4, fifo_channels=False)
    ask, tell = _say(p, b"ask"), _say(q, b"tell")
    r.receive(ask)
    r.receive(tell)
    early, late = _say(r, b"early"), _say(r, b"late")
    assert s.receive(late) == []
    assert s.waiting() == [(late, (GROUP, 2, 1))]
    assert s.receive(early) == []
    assert s.waiting() == [(late, (GROUP, 2, 1)), (early, (GROUP, 0, 1))]
    assert _texts(s.receive(ask)) == [b"ask"]
    assert s.waiting() == [(late, (GROUP, 2, 1)), (early, (GROUP, 1, 1))]
    assert _texts(s.receive(tell)) == [b"tell", b"early", b"late"]
    assert s.waiting() == []
    assert s.queue_depth == 0


def test_fifo_multicast_waits_for_its_sender_only() -> None:
    """It goes ahead of what its sender had delivered, which a causal one would wait for."""
    p, q, r = _machines(3)
    q.receive(_say(p, b"question"))
    assert _texts(r.receive(_say(q, b"hum", order=Order.FIFO))) == [b"hum"]
    assert r.receive(_say(q, b"answer")) == []


def test_fifo_multicast_waits_behind_a_held_causal_one_of_its_sender() -> None:
    """Messages of one sender share their numbers, so none overtakes another."""
    p, q, r = _machines(3)
    question = _say(p, b"question")
    q.receive(question)
    r.receive(_say(q, b"answer"))
    assert r.receive(_say(q, b"hum", order=Order.FIFO)) == []
    assert _texts(r.receive(question)) == [b"question", b"answer", b"hum"]


def test_stamp_survives_a_fifo_multicast() -> None:
    """A FIFO multicast carries no counts and crosses none off: the next causal one has them."""
    p, q, _ = _machines(3)
    q.receive(_say(p, b"question"))
    assert _say(q, b"hum", order=Order.FIFO).stamp == ()
    assert _say(q, b"answer").stamp == ((0, 1),)


def test_causal_multicast_waits_for_a_delivered_fifo_one() -> None:
    """What its sender has delivered counts, in whatever order it was multicast."""
    p, q, r = _machines(3)
    hum = _say(p, b"hum", order=Order.FIFO)
    q.receive(hum)
    assert r.receive(_say(q, b"answer")) == []
    assert _texts(r.receive(hum)) == [b"hum", b"answer"]


def test_duplicate_of_a_delivered_run_is_dropped() -> None:
    """Over channels that may repeat, a second copy says nothing and stays nowhere."""
    p, q = _machines(2, fifo_channels=False)
    run = _say(p, b"a", b"b")
    assert _texts(q.receive(run)) == [b"a", b"b"]
    assert q.receive(run) == []
    assert q.queue_depth == 0


def test_duplicate_of_a_held_run_is_delivered_once() -> None:
    """Both copies are released by the same message, and the second finds nothing to do."""
    p, q = _machines(2, fifo_channels=False)
    first, second = _say(p, b"a"), _say(p, b"b")
    assert q.receive(second) == []
    assert q.receive(second) == []
    assert _texts(q.receive(first)) == [b"a", b"b"]
    assert q.queue_depth == 0


def test_run_delivered_in_part_is_cut() -> None:
    """Only what is new is delivered, with its right numbers."""
    p, q = _machines(2, fifo_channels=False)
    whole = _say(p, b"a", b"b", b"c")
    head = Run(GROUP, whole.view, whole.sender, 1, whole.order, (), [b"a"])
    q.receive(head)
    (rest,) = q.receive(whole)
    assert (rest.first, rest.payloads) == (2, [b"b", b"c"])


def test_held_run_delivered_in_part_meanwhile_is_cut() -> None:
    """A copy that overlaps is cut when its turn comes, not only on arrival."""
    p, q = _machines(2, fifo_channels=False)
    first, whole = _say(p, b"a"), _say(p, b"b", b"c")
    head = Run(GROUP, whole.view, whole.sender, 2, whole.order, (), [b"b"])
    q.receive(head)
    q.receive(whole)
    assert _texts(q.receive(first)) == [b"a", b"b", b"c"]
    assert q.clock(GROUP) == [3, 0]


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Every run whose readiness is looked at from now on."""
    runs: list[Run] = []
    right = VectorClock.lack

    def watched(group: VectorClock, run: Run) -> Lack | None:
        runs.append(run)
        return right(group, run)

    monkeypatch.setattr(VectorClock, "lack", watched)
    return runs


def test_held_runs_cost_nothing_while_others_are_delivered(looked_at: list[Run]) -> None:
    """A delivery that unblocks nothing looks at no held run, however many there are."""
    p, q, r, s = _machines(4)
    q.receive(_say(p, b"never arrives at s"))
    for _ in range(500):
        s.receive(_say(q, b"held"))
    looked_at.clear()
    for _ in range(100):
        assert _texts(s.receive(_say(r, b"free"))) == [b"free"]
    assert len(looked_at) <= 100
    assert s.queue_depth == 500


def test_cascade_looks_at_each_held_run_once(looked_at: list[Run]) -> None:
    """A message that releases a thousand runs costs a thousand looks, not half a million."""
    p, q, s = _machines(3)
    question = _say(p, b"question")
    q.receive(question)
    for _ in range(1_000):
        s.receive(_say(q, b"answer"))
    looked_at.clear()
    assert len(s.receive(question)) == 1_001
    assert 1_000 <= len(looked_at) <= 1_001

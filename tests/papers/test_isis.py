"""ISIS 4.3, 5.1 and 5.4, claim by claim, as corrected by the errata.

Each test cites the section. Where the printed rule is wrong the test has the schedule of the
erratum, and its docstring says what the rule should have been.
"""

import pytest
from tests.properties.event_graph import Message, pasts
from tests.properties.schedules import random_schedule
from tests.properties.worlds import World

from antiphon.core.frames import encode_runs
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.ordering.vector import VectorDomain

GROUP = GroupNumber(1)
SEEDS = range(40)


def _group(size: int, *, fifo_channels: bool = True) -> list[VectorDomain]:
    members = tuple(ProcessId(f"p{rank}") for rank in range(size))
    view = View(GroupName("paper"), ViewNumber(1), members)
    machines = [VectorDomain(fifo_channels=fifo_channels) for _ in members]
    for rank, machine in enumerate(machines):
        machine.install(GROUP, view, Rank(rank))
    return machines


def _send(machine: VectorDomain, *names: str) -> Run:
    return machine.multicast(GROUP, [name.encode() for name in names], Order.CAUSAL)


def _receive(machine: VectorDomain, *runs: Run) -> list[str]:
    """Return the names of what is delivered."""
    ready = [run for received in runs for run in machine.receive(received)]
    return [payload.decode() for run in ready for payload in run.payloads]


def _causal_world(seed: int) -> World:
    """A random world after everything has arrived, all multicasts causal."""
    schedule = random_schedule(seed, fifo_channels=True, mixes_fifo=False)
    world = World(schedule.size)
    for step in schedule.steps:
        world.take(step)
    world.settle()
    return world


def _vector_times(world: World) -> dict[Message, tuple[int, ...]]:
    """Undo the compression: the full VT of every message, from the stamps on the wire."""
    size = len(world.processes)
    known = [[0] * size for _ in range(size)]
    times: dict[Message, tuple[int, ...]] = {}
    for run in world.sent:
        clock = known[run.sender]
        for rank, count in run.stamp:
            clock[rank] = count
        for number in range(run.first, run.last + 1):
            clock[run.sender] = number
            times[run.sender, number] = tuple(clock)
    return times


# 4.3 Vector time


def test_clock_starts_at_zero() -> None:
    """4.3, rule 1: a process that has done nothing has a vector time of zeros."""
    assert [machine.clock(GROUP) for machine in _group(3)] == [[0, 0, 0]] * 3


def test_each_send_adds_one_to_the_own_entry() -> None:
    """4.3, rule 2: every multicast counts, whether alone or in a run, and only for its sender."""
    p, _ = _group(2)
    _send(p, "m1")
    assert p.clock(GROUP) == [1, 0]
    _send(p, "m2", "m3")
    assert p.clock(GROUP) == [3, 0]


def test_message_carries_the_incremented_own_entry() -> None:
    """4.3, rule 3: the first multicast is number 1, and so on without a gap."""
    p, _ = _group(2)
    assert [_send(p, "m1").first, _send(p, "m2", "m3").first, _send(p, "m4").first] == [1, 2, 4]


def test_delivery_merges_with_the_receivers_clock_not_the_senders() -> None:
    """4.3, rule 4 (erratum 000-1): as printed, with the sender's live clock, m2 would be lost.

    The maximum is taken with the receiver's own clock; its entry for the sender becomes the
    number of the message delivered.
    """
    p, q = _group(2)
    m1, m2 = _send(p, "m1"), _send(p, "m2")
    assert _receive(q, m1) == ["m1"]
    assert q.clock(GROUP) == [1, 0]
    m3 = _send(p, "m3")
    assert _receive(q, m2, m3) == ["m2", "m3"]


def test_delivery_forgets_nothing_that_the_message_did_not_know() -> None:
    """4.3, rule 4 (erratum 000-1): the clock does not become that of the message.

    r delivers m1, then n, which knows nothing of m1. Its next multicast must still name m1, or q
    would deliver k before m1.
    """
    p, q, r = _group(3)
    m1, n = _send(p, "m1"), _send(q, "n")
    _receive(r, m1, n)
    assert r.clock(GROUP) == [1, 1, 0]
    k = _send(r, "k")
    assert k.stamp == ((0, 1), (1, 1))
    assert _receive(q, k) == []
    assert _receive(q, m1) == ["m1", "k"]


def test_timestamp_counts_what_precedes_the_message_per_sender() -> None:
    """4.3: VT(m)[k] is how many messages of k precede m (and, for its sender, m itself)."""
    for seed in SEEDS:
        world = _causal_world(seed)
        before = pasts(world.history)
        for message, time in _vector_times(world).items():
            counted = [0] * len(time)
            for sender, _ in [*before[message], message]:
                counted[sender] += 1
            assert tuple(counted) == time, f"seed {seed}, message {message}"


def test_vector_time_represents_causality_precisely() -> None:
    """4.3 (with erratum 000-3): m -> m' if and only if VT(m) < VT(m'), for all pairs."""
    pairs = 0
    for seed in SEEDS[:20]:
        world = _causal_world(seed)
        before = pasts(world.history)
        times = _vector_times(world)
        for message, time in times.items():
            for other, later in times.items():
                is_less = time != later and all(a <= b for a, b in zip(time, later, strict=True))
                assert is_less == (message in before[other]), f"seed {seed}: {message}, {other}"
                pairs += 1
    assert pairs > 10_000


# 5.1 The CBCAST protocol


def test_figure_2_delays_a_message_until_its_cause_is_delivered() -> None:
    """5.1, figure 2: p3 receives m2 before m1, delays it, and delivers m1 and then m2."""
    p1, p2, p3 = _group(3)
    m1 = _send(p1, "m1")
    _receive(p2, m1)
    m2 = _send(p2, "m2")
    assert _receive(p3, m2) == []
    assert p3.waiting() == [(m2, (GROUP, 0, 1))]
    assert _receive(p3, m1) == ["m1", "m2"]


def test_message_waits_to_be_the_next_of_its_sender() -> None:
    """5.1, step 2, first case: VT(m)[i] must be one more than what was delivered of p_i."""
    p, q = _group(2, fifo_channels=False)
    m1, m2, m3 = (_send(p, name) for name in ("m1", "m2", "m3"))
    assert _receive(q, m3) == []
    assert _receive(q, m2) == []
    assert _receive(q, m1) == ["m1", "m2", "m3"]


@pytest.mark.parametrize("delivered", [0, 1, 2, 3])
def test_message_waits_for_as_many_of_each_other_sender_as_it_says(delivered: int) -> None:
    """5.1, step 2, other cases: VT(m)[k] <= VT(p_j)[k] for every other k, equality is enough."""
    p, q, r, s = _group(4)
    questions = [_send(p, f"m{number}") for number in (1, 2, 3)]
    _receive(q, *questions[:2])
    answer = _send(q, "n")
    _receive(s, *questions[:delivered])
    assert _receive(s, answer) == (["n"] if delivered >= 2 else [])
    assert r.clock(GROUP) == [0, 0, 0, 0]


def test_own_message_is_not_delayed() -> None:
    """5.1: a process need not delay its own messages, even while it holds those of others.

    Erratum 000-7 restricts this to causal multicasts, the only ones there are so far; the own
    entry counts own deliveries, which for them is the same as own sends.
    """
    p, q, r = _group(3)
    _receive(q, _send(p, "m1"))
    _receive(r, _send(q, "n"))
    assert r.queue_depth == 1
    _send(r, "k")
    assert r.clock(GROUP) == [0, 0, 1]


def test_delay_queue_is_in_order_of_receipt() -> None:
    """5.1 (erratum 000-4): sorting by vector time is impossible, a cycle of three shows it.

    a -> c, b concurrent to both, received as c, b, a while all wait for x: by receipt c, b, a; by
    vector time a before c. Looking from the head after each delivery gives b, a, c.
    """
    o, p, q, r, s = _group(5)
    x = _send(o, "x")
    _receive(p, x)
    a = _send(p, "a")
    _receive(q, x, a)
    c = _send(q, "c")
    _receive(r, x)
    b = _send(r, "b")
    assert _receive(s, c, b, a) == []
    assert _receive(s, x) == ["x", "b", "a", "c"]


def test_duplicate_does_not_stay_in_the_queue() -> None:
    """5.1 (erratum 000-4): a delivered message that comes again satisfies no rule; drop it."""
    p, q = _group(2, fifo_channels=False)
    m1 = _send(p, "m1")
    assert _receive(q, m1, m1) == ["m1"]
    assert q.queue_depth == 0


def test_clock_is_updated_on_delivery_not_on_receipt() -> None:
    """5.1, step 3 (and erratum 000-3): a held message leaves no mark on clock or stamp."""
    p, q, r, s = _group(4)
    _receive(q, _send(p, "m1"))
    n = _send(q, "n")
    assert _receive(r, n) == []
    assert r.clock(GROUP) == [0, 0, 0, 0]
    k = _send(r, "k")
    assert k.stamp == ()
    assert _receive(s, k) == ["k"]


def test_concurrent_messages_are_delivered_in_any_order() -> None:
    """4.2 and 5.1: CBCAST puts no constraint on them; two processes may see two orders."""
    p, q, r, s = _group(4)
    m, n = _send(p, "m"), _send(q, "n")
    assert _receive(r, m, n) == ["m", "n"]
    assert _receive(s, n, m) == ["n", "m"]


def test_two_messages_of_one_sender_are_delivered_as_sent() -> None:
    """5.1, safety, case 1: m1 -> m2 by the same process, whatever the channel does."""
    p, q = _group(2, fifo_channels=False)
    m1, m2 = _send(p, "m1"), _send(p, "m2")
    assert _receive(q, m2, m1) == ["m1", "m2"]


def test_two_messages_of_different_senders_are_delivered_as_caused() -> None:
    """5.1, safety, case 2: also over a chain whose middle the receiver has not seen."""
    p, q, r, s = _group(4)
    m1 = _send(p, "m1")
    _receive(q, m1)
    m2 = _send(q, "m2")
    _receive(r, m1, m2)
    m3 = _send(r, "m3")
    assert _receive(s, m3, m2) == []
    assert _receive(s, m1) == ["m1", "m2", "m3"]


def test_every_message_is_delivered_once_everything_has_arrived() -> None:
    """5.1, liveness: no message is delayed for ever when channels lose nothing."""
    for seed in SEEDS:
        world = _causal_world(seed)
        sent = sum(run.count for run in world.sent)
        assert [len(order) for order in world.orders] == [sent] * len(world.orders), f"seed {seed}"
        assert not any(process.ordering.queue_depth for process in world.processes), f"seed {seed}"


# 5.4 Compression


def test_stamp_carries_only_what_changed_since_the_last_multicast() -> None:
    """5.4, lemma 1: a field that is the same as last time is left out."""
    p, q, r = _group(3)
    _receive(p, _send(q, "n1"), _send(r, "o1"))
    assert _send(p, "m1").stamp == ((1, 1), (2, 1))
    _receive(p, _send(r, "o2"))
    assert _send(p, "m2").stamp == ((2, 2),)


def test_omitted_field_still_binds() -> None:
    """5.4, lemma 1, proof: an earlier message of the sender carried it and is waited for."""
    p, q, r = _group(3, fifo_channels=False)
    n1 = _send(q, "n1")
    _receive(p, n1)
    m1, m2 = _send(p, "m1"), _send(p, "m2")
    assert m2.stamp == ()
    assert _receive(r, m2, m1) == []
    assert _receive(r, n1) == ["n1", "m1", "m2"]


def test_changed_is_counted_from_the_last_multicast_not_from_the_last_stamp() -> None:
    """5.4: deliveries that come in several portions add up to one stamp."""
    p, q, r = _group(3)
    _send(p, "m1")
    _receive(p, _send(q, "n1"))
    _receive(p, _send(r, "o1"))
    _receive(p, _send(q, "n2"))
    assert _send(p, "m2").stamp == ((1, 2), (2, 1))


def test_series_without_receipts_carries_one_timestamp_at_most() -> None:
    """5.4: in a series of sends with no delivery between, only the first has other fields."""
    p, q, _ = _group(3)
    _receive(p, _send(q, "n1"))
    stamps = [_send(p, f"m{number}").stamp for number in range(5)]
    assert stamps == [((1, 1),), (), (), (), ()]


def test_messages_of_a_run_need_no_timestamp_of_their_own() -> None:
    """5.4: ten messages of a run cost as many header bytes as one."""
    p, q = _group(2)
    _receive(p, _send(q, "n1"))
    run = _send(p, *(f"m{number}" for number in range(10)))
    one = Run(run.group, run.view, run.sender, run.first, run.order, run.stamp, run.payloads[:1])
    header = len(encode_runs(0, 0, [run])) - sum(map(len, run.payloads))
    assert header == len(encode_runs(0, 0, [one])) - len(run.payloads[0])


def test_number_is_always_carried_so_fifo_is_not_needed() -> None:
    """5.4 (erratum 000-12): inferring it from the order of arrival would deliver m2 as m1."""
    p, q = _group(2, fifo_channels=False)
    m1, m2 = _send(p, "m1"), _send(p, "m2")
    assert (m1.first, m2.first) == (1, 2)
    assert _receive(q, m2) == []
    assert _receive(q, m1) == ["m1", "m2"]


def test_compression_may_cost_more_than_it_saves() -> None:
    """5.4 admits it: naming the fields costs bytes, so a stamp of all fields is the longer one.

    With counts below 128, n - 1 named entries take 2 (n - 1) + 1 bytes, n bare counts take n.
    """
    group = _group(8)
    for sender in group[1:]:
        _receive(group[0], _send(sender, "n"))
    run = _send(group[0], "m")
    bare = Run(run.group, run.view, run.sender, run.first, run.order, (), run.payloads)
    stamp_bytes = len(encode_runs(0, 0, [run])) - len(encode_runs(0, 0, [bare]))
    assert stamp_bytes == 2 * 7 + 1
    assert stamp_bytes > len(group)

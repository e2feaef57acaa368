"""Steady groups: deterministic, complete, and judged by an oracle that knows no clocks."""

from dataclasses import replace

import msgspec
import pytest

from antiphon.core.runs import Order
from antiphon.membership.failure_detector import Timing
from antiphon.oracle import judge
from antiphon.sim.delays import DelayOptions
from antiphon.sim.lean_driver import Item, LeanDriver
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.steady_group import Options, SteadyGroup, process_names, simulate, timing_for
from antiphon.sim.workload import WorkloadOptions
from antiphon.stack.inputs import ControlReceived, MulticastRequested
from antiphon.trace import words
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status


def world(seed: int, delay_us_mean: int = 1_000) -> Options:
    """Return a busy little world."""
    return Options(
        seed=seed,
        process_count=3 + seed % 4,
        delays=DelayOptions(delay_us_mean=delay_us_mean),
        workload=WorkloadOptions(message_count=120),
    )


def violated(rows: list[Event]) -> set[Property]:
    """Return what the oracle finds broken."""
    return {item.property for item in judge(rows).properties if item.status is Status.VIOLATED}


def test_events_at_one_time_happen_in_the_order_they_were_scheduled() -> None:
    """The sequence number breaks ties."""
    scheduler = Scheduler()
    seen: list[str] = []
    for name in "abc":
        scheduler.at(5, seen.append, name)
    scheduler.at(1, seen.append, "first")
    scheduler.at_each([5, 2], [seen.append, seen.append], "each")
    assert not scheduler.run()
    assert seen == ["first", "each", "a", "b", "c", "each"]
    assert scheduler.now_us == 5
    assert scheduler.event_count == 6


def test_run_in_slices_is_the_same_run() -> None:
    """Stopping now and then, for a progress bar, changes nothing."""
    traces = []
    for slice_events in (1, 7, 10**9):
        rows: list[Event] = []
        options = world(5)
        names = process_names(options.process_count)
        group = SteadyGroup(options, dict.fromkeys(names, rows.append))
        counts = list(group.run(slice_events))
        assert counts[-1] == 120
        traces.append(msgspec.json.encode(rows))
    assert traces[0] == traces[1] == traces[2]


@pytest.mark.parametrize("seed", range(20))
def test_same_seed_same_trace(seed: int) -> None:
    """A world is a function of its options."""
    options = replace(world(seed), order=list(Order)[seed % 3], uniform=seed % 2 == 1)
    assert msgspec.json.encode(simulate(options)) == msgspec.json.encode(simulate(options))


@pytest.mark.parametrize("uniform", [False, True], ids=["plain", "uniform"])
@pytest.mark.parametrize("order", list(Order), ids=lambda order: order.name.lower())
@pytest.mark.parametrize("seed", range(10))
def test_everything_holds_in_every_order(seed: int, order: Order, uniform: bool) -> None:
    """All that is asked for holds, in every order, and messages were held back."""
    rows = simulate(replace(world(seed, delay_us_mean=3_000), order=order, uniform=uniform))
    verdict = judge(rows)
    asked = [
        item
        for item in verdict.properties
        if item.reason not in words.NOT_ASKED
        and not item.reason.startswith(words.ALL_IN_FIFO_ORDER)
    ]
    assert {item.status for item in asked} == {Status.HOLDS}
    assert (verdict.of(Property.TOTAL) in asked) == (order is Order.TOTAL)
    assert (verdict.of(Property.UNIFORM) in asked) == uniform
    if order is not Order.FIFO or uniform:
        assert max(row.queue_depth for row in rows) > 0


def control_share(delay_us: int, workload: WorkloadOptions) -> tuple[set[str], float]:
    """Return the kinds of control messages of a world, and their part in what is sent."""
    taken: list[str] = []

    class Spying(LeanDriver):
        __slots__ = ()

        def take(self, item: Item) -> None:
            if isinstance(item, ControlReceived):
                taken.append(type(item.message).__name__)
            super().take(item)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("antiphon.sim.steady_group.LeanDriver", Spying)
        delays = DelayOptions(delay_us_mean=delay_us)
        group = SteadyGroup(Options(seed=1, delays=delays, workload=workload))
        for _ in group.run():
            pass
    return set(taken), len(taken) / group.copy_count


def test_nothing_is_switched_off() -> None:
    """Heartbeats go out in the group too, and are a small part of what is sent."""
    slow_talk = WorkloadOptions(message_count=2_000, answers=0.0, interval_us_mean=20_000)
    kinds, share = control_share(1_000, slow_talk)
    assert kinds == {"Alive"}
    assert 0 < share < 0.1


def test_heartbeats_are_rarer_where_copies_take_long() -> None:
    """A short talk over slow channels is not drowned in heartbeats."""
    _, share = control_share(200_000, WorkloadOptions(message_count=300))
    assert share < 0.1


@pytest.mark.parametrize("process_count", [3, 40])
def test_nobody_is_suspected_however_slow_the_channels_are(process_count: int) -> None:
    """Timing allows for the longest way, so a world with delays of seconds has one view."""
    options = Options(
        seed=2,
        process_count=process_count,
        delays=DelayOptions(delay_us_mean=2_000_000),
        workload=WorkloadOptions(message_count=40, interval_us_mean=1_000_000),
    )
    rows = simulate(options)
    assert {row.kind for row in rows} == {
        "start",
        "view",
        "multicast",
        "receive",
        "deliver",
        "stop",
    }
    assert max(row.time_us for row in rows) > 3 * Timing().timeout_us
    assert sum(row.count for row in rows if row.kind == "deliver") == 40 * process_count


def test_usual_timing_would_suspect_somebody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver does not swallow a suspicion: with impatient machines the world is refused."""
    slow = DelayOptions(delay_us_mean=2_000_000)
    options = Options(seed=2, delays=slow, workload=WorkloadOptions(message_count=200))
    assert timing_for(options).timeout_us > Timing().timeout_us
    monkeypatch.setattr("antiphon.sim.steady_group.timing_for", lambda _: Timing())
    with pytest.raises(AssertionError, match="SuspectProcess"):
        simulate(options)


def test_senders_wait_for_room() -> None:
    """Flow control holds here too: what is not admitted waits, and goes out in order later."""
    waited = 0

    class Spying(LeanDriver):
        __slots__ = ()

        def multicast(self, asked: MulticastRequested) -> None:
            nonlocal waited
            super().multicast(asked)
            waited += bool(self._wanting)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("antiphon.sim.steady_group.LeanDriver", Spying)
        workload = WorkloadOptions(message_count=60, payload_bytes=3 * 1024 * 1024)
        rows = simulate(Options(seed=1, process_count=3, workload=workload))
    assert waited > 5
    assert violated(rows) == set()
    assert sum(row.count for row in rows if row.kind == "deliver") == 60 * 3


def test_world_that_loses_a_message_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that loses what it holds does not keep the simulation going, and is caught."""
    monkeypatch.setattr("antiphon.ordering.delay_queue.DelayQueue.hold_again", lambda *_: None)
    found = [violated(simulate(world(seed, delay_us_mean=3_000))) for seed in range(3)]
    assert all(Property.AGREEMENT in properties for properties in found)


def test_world_does_not_end_while_something_is_under_way() -> None:
    """However often one looks whether all is quiet, what is late is waited for."""
    for seed in range(20):
        group = SteadyGroup(world(seed))
        group._quiet_us = 20_000
        for _ in group.run():
            pass
        assert group._owed == 0


def test_fifo_channels_keep_their_order() -> None:
    """Without reordering, what one process receives from another comes in order of number."""
    last: dict[tuple[str, str], int] = {}
    for row in simulate(world(3, delay_us_mean=5_000)):
        if row.kind == "receive":
            assert row.first == last.get((row.process, row.sender), 0) + 1
            last[row.process, row.sender] = row.first + row.count - 1
    assert last


def test_processes_react_to_what_they_deliver() -> None:
    """Answers come on top of what processes say by themselves, so the talk is over sooner."""
    ends_us = [
        max(row.time_us for row in simulate(Options(seed=1, workload=workload)))
        for workload in (
            WorkloadOptions(message_count=400, answers=0.0),
            WorkloadOptions(message_count=400, answers=1.0),
        )
    ]
    assert ends_us[1] < ends_us[0] * 0.7


def test_single_process_talks_to_itself() -> None:
    """A group of one delivers its own messages, and nothing else happens."""
    rows = simulate(Options(seed=1, process_count=1, workload=WorkloadOptions(message_count=5)))
    assert sum(row.count for row in rows if row.kind == "deliver") == 5
    assert not [row for row in rows if row.kind == "receive"]


def test_delivering_on_receipt_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that forgets to hold back is found out by the oracle: the bug is planted here."""
    monkeypatch.setattr("antiphon.ordering.vector_clock.VectorClock.lack", lambda *_: None)
    found = [violated(simulate(world(seed, delay_us_mean=3_000))) for seed in range(5)]
    assert all(Property.CAUSAL in properties for properties in found)


def test_fifo_order_carries_no_stamps() -> None:
    """In FIFO order nothing but the sender's own order is kept, and nothing else is sent along."""
    causal, fifo = (
        sum(
            row.overhead_bytes
            for row in simulate(Options(seed=4, order=order))
            if row.kind == "multicast"
        )
        for order in (Order.CAUSAL, Order.FIFO)
    )
    assert fifo < causal

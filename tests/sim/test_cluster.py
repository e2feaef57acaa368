"""The simulator: deterministic, complete, and judged by an oracle that knows no clocks."""

import msgspec
import pytest

from antiphon.core.runs import Order
from antiphon.oracle import judge
from antiphon.sim.cluster import Cluster, Options, process_names, simulate
from antiphon.sim.network import NetworkOptions
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.workload import WorkloadOptions
from antiphon.trace import words
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status


def world(seed: int, **network: float) -> Options:
    """Return a busy little world."""
    return Options(
        seed=seed,
        process_count=3 + seed % 4,
        network=NetworkOptions(**network),  # type: ignore[arg-type]
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
        cluster = Cluster(options, dict.fromkeys(process_names(options.process_count), rows.append))
        counts = list(cluster.run(slice_events))
        assert counts[-1] == 120
        traces.append(msgspec.json.encode(rows))
    assert traces[0] == traces[1] == traces[2]


@pytest.mark.parametrize("seed", range(20))
def test_same_seed_same_trace(seed: int) -> None:
    """A world is a function of its options."""
    options = world(seed, loss=0.01, duplicate=0.1, reorder=seed % 2)
    assert msgspec.json.encode(simulate(options)) == msgspec.json.encode(simulate(options))


@pytest.mark.parametrize("seed", range(60))
def test_everything_holds_on_reliable_fifo_channels(seed: int) -> None:
    """On the network that CBCAST asks for, all properties hold and messages were held back."""
    rows = simulate(world(seed, delay_us_mean=3_000))
    asked = [item for item in judge(rows).properties if item.reason not in words.NOT_ASKED]
    assert {item.status for item in asked} == {Status.HOLDS}
    assert max(row.queue_depth for row in rows) > 0


@pytest.mark.parametrize("seed", range(60))
def test_everything_holds_in_spite_of_duplicates_and_reordering(seed: int) -> None:
    """Copies that come twice or overtake each other within a channel change nothing."""
    assert (
        violated(simulate(world(seed, duplicate=0.3, reorder=True, delay_us_mean=3_000))) == set()
    )


@pytest.mark.parametrize("seed", range(30))
def test_loss_costs_agreement_but_never_order(seed: int) -> None:
    """What depends on a lost message is held back for ever, not delivered without it."""
    found = violated(simulate(world(seed, loss=0.05)))
    assert found <= {Property.AGREEMENT, Property.LIVENESS}


def test_loss_is_noticed() -> None:
    """A network that loses copies does break agreement: the check can fail."""
    assert any(
        Property.AGREEMENT in violated(simulate(world(seed, loss=0.05))) for seed in range(5)
    )


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
    monkeypatch.setattr("antiphon.ordering.vector.Clock.lack", lambda *_: None)
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

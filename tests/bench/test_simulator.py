"""The comparison with SimPy: the same world on both sides, or the ratio says nothing."""

import pytest

from antiphon.core.runs import Order
from antiphon.oracle import judge
from antiphon.sim.steady_group import Options, SteadyGroup, process_names
from antiphon.sim.workload import WorkloadOptions
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Status

pytest.importorskip("simpy")

from antiphon.bench.simpy_group import SimpyGroup
from antiphon.bench.simulator import measure_kernel, measure_simulation


@pytest.mark.parametrize("order", list(Order), ids=lambda order: order.name.lower())
def test_world_on_simpy_keeps_every_promise(order: Order) -> None:
    """SimPy's side delivers everything too, everywhere, in the order that was asked for."""
    options = Options(seed=5, order=order, workload=WorkloadOptions(message_count=300))
    rows: list[Event] = []
    group = SimpyGroup(options, dict.fromkeys(process_names(5), rows.append))
    group.run()
    for index, row in enumerate(rows):
        row.index = index
    assert Status.VIOLATED not in {item.status for item in judge(rows).properties}
    asked = [row for row in rows if row.kind == "deliver" and not row.detail]
    assert sum(row.count for row in asked) == 300 * 5


def test_both_sides_do_the_same_work() -> None:
    """Events differ by chance alone: ties go the other way, so the talk takes another course."""
    options = Options(seed=7, workload=WorkloadOptions(message_count=4_000))
    theirs = SimpyGroup(options)
    theirs.run()
    ours = SteadyGroup(options)
    for _ in ours.run():
        pass
    assert theirs.event_count == pytest.approx(ours.scheduler.event_count, rel=0.05)
    assert theirs.now_us == pytest.approx(ours.scheduler.now_us, rel=0.2)


def test_readings_are_rates_and_their_ratio() -> None:
    """Both readings have two rates above zero, and what one is to the other."""
    for reading in (measure_simulation(200), measure_kernel(2_000)):
        assert reading["simpy_per_s"] > 0
        ratio = reading["antiphon_per_s"] / reading["simpy_per_s"]
        assert reading["ratio"] == pytest.approx(ratio)

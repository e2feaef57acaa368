"""Flooding in the whole machine, in simulation: the theorem, per topology; what a broadcast costs.

Law: who delivered what is read from the trace; no test looks at counts, marks or neighbours.
"""

from math import log2
from random import Random
from unittest.mock import patch

import pytest

from antiphon.core.errors import UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Order, Run
from antiphon.oracle import judge
from antiphon.ordering.overlay.topologies import TOPOLOGIES
from antiphon.sim.lean_driver import Item, LeanDriver
from antiphon.sim.scenario import Scenario, Step
from antiphon.sim.steady_group import Options, simulate
from antiphon.sim.workload import WorkloadOptions
from antiphon.sim.world import World
from antiphon.stack.inputs import RunsReceived
from antiphon.stack.overlay import ViewFlooding
from antiphon.trace.verdict import Property, Status

SEEDS = 8

KINDS = ("incomplete-hypercube", "ring", "tree")

TALK_US, CRASH_US, LOOK_US = 60_000, 90_000, 1_300_000
"""Nobody is suspected before it has been silent for 1.5 seconds."""


def world_of(topology: str, seed: int) -> Scenario:
    """Return a world in which one fewer crash than the overlay is connected, while they talk."""
    random = Random(f"{topology}/{seed}/theorem")
    size = random.randint(3, 12)
    names = [f"p{number}" for number in range(1, size + 1)]
    crashes = TOPOLOGIES[topology].connectivity(size) - 1
    steps = [
        Step(random.randint(0, TALK_US), "multicast", (random.choice(names),), random.randint(1, 3))
        for _ in range(25)
    ]
    for source in names:
        for target in random.sample(names, 2):
            if source != target:
                slow_us = random.choice([5_000, 40_000, 200_000])
                steps.append(Step(0, "slow", (source, target), slow_us))
    steps += [
        Step(random.randint(1_000, CRASH_US), "crash", (victim,))
        for victim in random.sample(names, crashes)
    ]
    return Scenario(
        seed=seed, founders=size, messages=80, answers=0.2, timing="default",
        protocol=f"overlay-{topology}", state="none",
        steps=tuple(sorted(steps, key=lambda step: step.time_us)),
    )  # fmt: skip


def lost(scenario: Scenario) -> str:
    """Say what a survivor delivered and another has not, before there is another view."""
    world = World(scenario)
    world.run_until(LOOK_US)
    survivors = [driver for driver in world.drivers.values() if driver.is_up]
    delivered = {
        str(driver.me): {
            (event.sender, number)
            for event in driver.events
            if event.kind == "deliver"
            for number in range(event.first, event.first + event.count)
        }
        for driver in survivors
    }
    assert all(driver.machine.view_number == 1 for driver in survivors), "it is too soon for a view"
    everything = set[tuple[str, int]]().union(*delivered.values())
    assert everything, "somebody says something"
    found = next((who for who, what in delivered.items() if what != everything), "")
    if found:
        return found
    events = [event for driver in world.drivers.values() for event in driver.events]
    verdict = judge(events, "theorem")  # as far as it goes: nobody has stopped
    causal = next(each for each in verdict.properties if each.property is Property.CAUSAL)
    assert causal.status is not Status.VIOLATED
    return ""


@pytest.mark.parametrize("topology", KINDS)
def test_fewer_crashes_than_the_connectivity_lose_nothing_without_a_view(topology: str) -> None:
    """Overlay 4, corrected (002-5): what one survivor has, all have; and in causal order."""
    for seed in range(SEEDS):
        assert not lost(world_of(topology, seed)), f"seed {seed}"


@pytest.mark.parametrize("topology", KINDS)
def test_that_check_finds_neighbours_that_are_left_out(topology: str) -> None:
    """With fewer ways, crashes that many are too many."""

    def forward(self: ViewFlooding, peer: ProcessId, run: Run) -> None:
        self._out.relay((who for who in self.neighbours[:1] if who != peer), [run])

    with patch.object(ViewFlooding, "_forward", forward):
        assert any(lost(world_of(topology, seed)) for seed in range(SEEDS))


def copies_of(size: int, topology: str) -> float:
    """Return how many copies of a broadcast are sent, in a group in which nobody fails."""
    count = 0
    send_each = LeanDriver._send_each

    def counted(self: LeanDriver, to: tuple[ProcessId, ...], item: Item) -> None:
        nonlocal count
        count += len(to) if isinstance(item, RunsReceived) else 0
        send_each(self, to, item)

    options = Options(
        seed=7, process_count=size, protocol=f"overlay-{topology}",
        workload=WorkloadOptions(message_count=100, burst_max=1),
    )  # fmt: skip
    with patch.object(LeanDriver, "_send_each", counted):
        events = simulate(options)
    assert not judge(events, "copies").is_violated
    return count / sum(event.kind == "multicast" for event in events)


@pytest.mark.parametrize("size", [8, 16, 32])
def test_broadcast_on_a_full_cube_takes_as_many_copies_as_the_paper_says(size: int) -> None:
    """N (log2 n - 1) + 1, each message in a run of its own (002-7)."""
    assert copies_of(size, "incomplete-hypercube") == size * (log2(size) - 1) + 1


@pytest.mark.parametrize("topology", KINDS)
@pytest.mark.parametrize("size", [5, 11])
def test_broadcast_takes_a_copy_for_each_link_and_direction_but_one_per_receiver(
    topology: str, size: int
) -> None:
    """The sum of degrees less n - 1."""
    degrees = sum(map(len, TOPOLOGIES[topology].overlay(size)))
    assert copies_of(size, topology) == degrees - (size - 1)


def test_total_order_on_an_overlay_cannot_be_simulated() -> None:
    """As it cannot be had."""
    with pytest.raises(UsageError, match="neither total order"):
        Options(seed=1, order=Order.TOTAL, protocol="overlay-ring")

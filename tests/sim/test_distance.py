"""How long a group is without its senior member, by the distance between its members.

Law: the senior member is killed; all others are in the view without it within 1.5 s, the silence
that is borne by default, and twelve one-way delays, also where nobody can tell that it is dead but
by its silence.
"""

from collections.abc import Sequence

import pytest

from antiphon.membership.failure_detector import Timing
from antiphon.sim.scenario import Scenario, Step
from antiphon.sim.world import World

KILLED_US = 4_000_000
SEEDS = range(3)
DISTANCES_MS = (1, 5, 20, 50, 100, 120, 126, 150, 200, 350, 500, 700, 1_000)

every_distance = pytest.mark.parametrize("distance_ms", DISTANCES_MS)
every_size = pytest.mark.parametrize("founders", [3, 5])


def installed_after_us(scenario: Scenario, limit_us: int) -> int | None:
    """Return how long after the kill the last of the others is in a view without the senior."""
    world = World(scenario)
    others = [driver for who, driver in world.drivers.items() if who.name != "p1"]
    world.run_until(KILLED_US)
    while world.now_us <= KILLED_US + limit_us:
        world.run_until(world.now_us + 1_000)
        views = [driver.view.members for driver in others if driver.view is not None]
        if all(members == tuple(driver.machine.me for driver in others) for members in views):
            return world.now_us - KILLED_US
    return None


def killed(
    seed: int, founders: int, distance_us: int, *, is_seen: bool, far: Sequence[Step] = ()
) -> Scenario:
    """Return a quiet world with the timing of real groups, whose senior member is killed."""
    return Scenario(
        seed=seed, founders=founders, answers=0.0, delay_us=0, timing="default",
        distance_us=distance_us, steps=(*far, Step(KILLED_US, "crash", ("p1",), int(is_seen))),
    )  # fmt: skip


@every_distance
@every_size
def test_killed_senior_is_gone_in_time(founders: int, distance_ms: int) -> None:
    """If its computer says that nobody listens any more, within 1.5 s + 12 D, however far."""
    limit_us = Timing().timeout_us + 12 * 1_000 * distance_ms
    for seed in SEEDS:
        scenario = killed(seed, founders, 1_000 * distance_ms, is_seen=True)
        assert installed_after_us(scenario, limit_us) is not None


@every_distance
@every_size
def test_silent_senior_is_gone_in_time(founders: int, distance_ms: int) -> None:
    """By its silence alone, in the same time."""
    limit_us = Timing().timeout_us + 12 * 1_000 * distance_ms
    for seed in SEEDS:
        scenario = killed(seed, founders, 1_000 * distance_ms, is_seen=False)
        assert installed_after_us(scenario, limit_us) is not None


@pytest.mark.parametrize("seed", range(6))
def test_ways_of_unequal_length_are_no_obstacle(seed: int) -> None:
    """Near in one direction, far in the other: the longest way counts."""
    names = ("p1", "p2", "p3", "p4")
    lengths_ms = (2, 40, 130, 300, 700)
    far = [
        Step(0, "far", (source, target), 1_000 * lengths_ms[(7 * seed + 3 * at + to) % 5])
        for at, source in enumerate(names)
        for to, target in enumerate(names)
        if source != target
    ]
    limit_us = Timing().timeout_us + 12 * max(step.amount for step in far)
    scenario = killed(seed, 4, 1_000, is_seen=False, far=far)
    assert installed_after_us(scenario, limit_us) is not None

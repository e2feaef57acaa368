"""Planted bugs of flooding: the oracle finds each, on schedules that the right machine passes."""

import random
from collections.abc import Callable

import pytest
from tests.mutants.registry import Mutant, planted
from tests.overlay.planted import BUGS
from tests.overlay.schedules import crash_schedule, link_schedule
from tests.overlay.world import ViolationError, World

from antiphon.core.errors import PeerError
from antiphon.ordering.overlay.topologies import TOPOLOGIES, copies_per_broadcast

SEEDS = 200


def copies_schedule(seed: int) -> None:
    """Count the copies of a few broadcasts."""
    overlay = TOPOLOGIES["hypercube"].overlay(8)
    world = World(overlay, seed)
    for who in range(3):
        world.broadcast(who)
    world.settle()
    if world.copies != 3 * copies_per_broadcast(overlay):
        said = f"{world.copies} copies of three broadcasts"
        raise ViolationError(said)


def reordering_schedule(seed: int) -> None:
    """Use links that reorder: the machine is to refuse them before anything is lost."""
    world = World(TOPOLOGIES["ring"].overlay(5), seed)
    world.reorders = True
    try:
        for _ in range(4):
            world.broadcast(random.Random(seed).randrange(5))
        world.settle()
    except PeerError:
        return
    world.oracle.conclude(world.survivors)


SCHEDULES: dict[str, Callable[[int], object]] = {
    "crashes in a cube": lambda seed: crash_schedule("hypercube", 8, seed),
    "crashes in an incomplete cube": lambda seed: crash_schedule("incomplete-hypercube", 6, seed),
    "links that come and go": lambda seed: link_schedule(4 + seed % 4, seed),
    "copies": copies_schedule,
    "links that reorder": reordering_schedule,
}


def hunt() -> tuple[str, int, str] | None:
    """Return the first schedule that goes wrong: its kind, its seed, and what is said of it."""
    for seed in range(SEEDS):
        for name, schedule in SCHEDULES.items():
            try:
                schedule(seed)
            except (ViolationError, PeerError) as found:
                return name, seed, str(found)
    return None


def test_right_machine_passes_every_schedule() -> None:
    """What finds planted bugs finds none where there is none."""
    assert hunt() is None


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bug_is_found(bug: Mutant) -> None:
    """Within a few random schedules of some kind."""
    with planted(bug):
        assert hunt() is not None

"""Distributed commit in thousands of hostile worlds: nobody decides differently, all decide.

Law: what finds planted bugs passes the right machine on the very same seeds.
"""

from collections.abc import Iterator

import pytest
from tests.toolkit.commit_mutants import MUTANTS, planted
from tests.toolkit.commit_world import World

from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.toolkit import commit_parts
from antiphon.toolkit.commit import Outcome

SEEDS = 100
FAULTS = (0, 1, 2, 4)
FOUNDERS = ("a", "ab", "abc", "abcd", "abcde")


def worlds(seed: int) -> Iterator[World]:
    """Yield worlds of one seed, of different sizes and misfortune."""
    for fault_count in FAULTS:
        for names in FOUNDERS:
            yield World(names, seed, fault_count=fault_count)


def is_broken(world: World) -> bool:
    """Tell whether a world, or a machine in it, complains."""
    try:
        world.run()
    except (AssertionError, PeerError):
        return True
    return False


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have joiners told one thing in a message: worlds are too small for parts otherwise."""
    monkeypatch.setattr(commit_parts, "PART_BYTES", 1)


@pytest.mark.usefixtures("small_parts")
def test_worlds_with_faults_decide_alike() -> None:
    """Crashes, exclusions, joins, refusals and late votes never split a decision, or prevent it.

    The worlds commit and abort, block, forget, and are decided by processes that came later, or
    while a coordinator dies that has told these half of the past.
    """
    seen = {"commit": 0, "abort": 0, "lost past": 0, "blocked": 0, "joiner decides": 0, "half": 0}
    for seed in range(SEEDS):
        for world in worlds(seed):
            world.run()
            for outcomes in world.outcomes.values():
                is_commit = Outcome.COMMIT in outcomes.values()
                seen["commit" if is_commit else "abort"] += 1
            seen["half"] += world.half_told_count
            seen["lost past"] += world.is_past_lost()
            seen["blocked"] += len(world.going_on()) < len(world.epochs[-1].view.members)
            seen["joiner decides"] += any(
                site.first > 0 and site.machine.coordinator == me
                for me, site in world.sites.items()
            )
    assert all(count >= 2 for count in seen.values()), seen


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_many_worlds_with_faults_decide_alike() -> None:
    """Nor in many more worlds."""
    for seed in range(SEEDS, 20 * SEEDS):
        for world in worlds(seed):
            world.run()


def test_worlds_in_which_joiners_are_told_at_once_decide_alike() -> None:
    """Nor if what joiners are told goes into one message, as it does as long as it is short."""
    for seed in range(SEEDS):
        for world in worlds(seed):
            world.run()
            assert world.half_told_count == 0


@pytest.mark.parametrize("names", ["ab", "abc", "abcd"])
def test_crash_of_anyone_at_every_step_splits_nothing(names: str) -> None:
    """Each process is crashed after every single step of a schedule, and the rest decide."""
    for seed in range(6):
        length = World(names, seed).run().steps
        for step in range(1, length + 1):
            for name in names:
                World(names, seed).run(crash_at=step, victim=ProcessId(name))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_found(name: str) -> None:
    """A planted bug makes one of the worlds fail that the right machine passes."""
    with planted(name):
        assert any(is_broken(world) for seed in range(SEEDS) for world in worlds(seed))

"""Planted bugs of causality across groups are found: by random worlds, or by a schedule.

Law: what finds planted bugs has to pass the right machines on the very same worlds.
"""

from unittest.mock import patch

import pytest
from tests.mutants import planted_structure
from tests.mutants.planted_domains import MUTANTS, DomainMutant
from tests.sim import (
    test_across_groups,
    test_declared_structure,
    test_epochs,
    test_flush,
    test_told_by_other_groups,
)

from antiphon.sim.random_domains import examine_domain

QUICK_SEEDS = 150

SCHEDULES = {
    **vars(test_across_groups), **vars(test_declared_structure), **vars(test_epochs),
    **vars(test_flush), **vars(test_told_by_other_groups),
}  # fmt: skip
"""Tests by name."""

assert planted_structure.__doc__, "it has planted its bugs"

BY_WORLDS = [mutant for mutant in MUTANTS if not mutant.schedule]
QUICK = [mutant for mutant in BY_WORLDS if mutant.seeds <= QUICK_SEEDS]
SLOW = [mutant for mutant in BY_WORLDS if mutant.seeds > QUICK_SEEDS]
BY_SCHEDULE = [mutant for mutant in MUTANTS if mutant.schedule]


def _is_found(mutant: DomainMutant) -> bool:
    with patch.object(mutant.target, mutant.method, mutant.wrong):
        return _finds(mutant)


def _finds(mutant: DomainMutant) -> bool:
    return any(
        examine_domain(seed, mutant.resilience, structure=mutant.structure)
        for seed in range(mutant.seeds)
    )


@pytest.mark.parametrize("mutant", QUICK, ids=lambda mutant: mutant.name)
def test_mutant_is_found(mutant: DomainMutant) -> None:
    """Within a few worlds."""
    assert _is_found(mutant)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", SLOW, ids=lambda mutant: mutant.name)
def test_mutant_is_found_in_more_worlds(mutant: DomainMutant) -> None:
    """Within as many worlds as it is known to need."""
    assert _is_found(mutant)


@pytest.mark.parametrize("mutant", BY_SCHEDULE, ids=lambda mutant: mutant.name)
def test_mutant_is_found_by_its_schedule(mutant: DomainMutant) -> None:
    """The claim that forbids it fails."""
    with (
        patch.object(mutant.target, mutant.method, mutant.wrong),
        pytest.raises((AssertionError, pytest.fail.Exception)),
    ):
        SCHEDULES[mutant.schedule]()

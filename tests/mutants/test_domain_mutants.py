"""Planted bugs of causality across groups are found: by random worlds, or by a schedule.

Law: what finds planted bugs has to pass the right machines on the very same worlds.
"""

from unittest.mock import patch

import pytest
from tests.mutants.planted_domains import MUTANTS, DomainMutant
from tests.sim import test_across_groups

from antiphon.sim.random_domains import examine_domain

QUICK_SEEDS = 150

BY_WORLDS = [mutant for mutant in MUTANTS if not mutant.schedule]
QUICK = [mutant for mutant in BY_WORLDS if mutant.seeds <= QUICK_SEEDS]
SLOW = [mutant for mutant in BY_WORLDS if mutant.seeds > QUICK_SEEDS]
BY_SCHEDULE = [mutant for mutant in MUTANTS if mutant.schedule]


def _is_found(mutant: DomainMutant) -> bool:
    with patch.object(mutant.target, mutant.method, mutant.wrong):
        return any(examine_domain(seed, mutant.resilience) for seed in range(mutant.seeds))


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
        pytest.raises(AssertionError),
    ):
        getattr(test_across_groups, mutant.schedule)()

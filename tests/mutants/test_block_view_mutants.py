"""Planted bugs of causal blocks under views are found, in worlds that the right machines pass.

    python -m tests.mutants.test_block_view_mutants

hunts all of them from seed 0 on, and tells how many worlds each takes.
"""

import sys
from unittest.mock import patch

import pytest
from tests.mutants.planted_block_views import VIEW_MUTANTS, ViewMutant

from antiphon.sim.exploration import Finding, examine
from antiphon.sim.other_protocols import protocol_scenario
from antiphon.sim.scenario import Scenario, parse_scenario

_SEEDS_MAX = 2_000


def world_of(mutant: ViewMutant) -> Scenario:
    """Return the world in which a mistake is found."""
    if mutant.scenario:
        return parse_scenario(mutant.scenario)
    return protocol_scenario(mutant.seeds - 1, "view-atomic", "blocks")


def planted(mutant: ViewMutant, scenario: Scenario) -> Finding | None:
    """Return what goes wrong in a world where the mistake is made."""
    with patch.object(mutant.target, mutant.method, mutant.wrong):
        return examine(scenario)


@pytest.mark.parametrize("mutant", VIEW_MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_found(mutant: ViewMutant) -> None:
    """In its world, where nothing goes wrong without it."""
    scenario = world_of(mutant)
    assert examine(scenario) is None
    assert planted(mutant, scenario) is not None


if __name__ == "__main__":
    for each in VIEW_MUTANTS:
        hunted = (
            seed
            for seed in range(_SEEDS_MAX)
            if planted(each, protocol_scenario(seed, "view-atomic", "blocks"))
        )
        found = None if each.scenario else next(hunted, None)
        needed = "has a scenario" if each.scenario else "SURVIVED" if found is None else found + 1
        sys.stdout.write(f"{each.name:55} {needed}\n")

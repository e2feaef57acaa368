"""Planted bugs of flooding are found by random worlds; the right machines pass the same worlds."""

from contextlib import ExitStack
from unittest.mock import patch

import pytest
from tests.mutants.planted_overlay import MUTANTS, OverlayMutant

from antiphon.sim.exploration import Finding, examine
from antiphon.sim.other_protocols import protocol_scenario

SEEDS_MAX = 60


def hunt(mutant: OverlayMutant) -> tuple[int, Finding] | None:
    """Return within how many worlds a mistake is found, and how; None: it is not."""
    with ExitStack() as stack:
        for target, method, wrong in ((mutant.target, mutant.method, mutant.wrong), *mutant.also):
            stack.enter_context(patch.object(target, method, wrong))
        for seed in range(mutant.first, mutant.first + SEEDS_MAX):
            finding = examine(protocol_scenario(seed, "view-atomic", "overlay"))
            if finding is not None:
                return seed - mutant.first + 1, finding
    return None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_found(mutant: OverlayMutant) -> None:
    """Within as many worlds as it is given; and that very world is fine without it."""
    found = hunt(mutant)
    assert found is not None
    _, finding = found
    assert examine(finding.scenario) is None

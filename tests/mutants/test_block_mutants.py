"""Planted bugs of causal blocks are found by random worlds.

Law: what finds planted bugs has to pass the right machines on the very same worlds
(``tests/sim/lossy/test_author.py``).
"""

from unittest.mock import patch

import pytest
from tests.mutants.planted_blocks import MUTANTS, BlockMutant

from antiphon.sim.lossy.author import examine_blocks


def seeds_needed(mutant: BlockMutant, first: int = 0) -> int | None:
    """Return within how many worlds a mistake is found; None: it is not."""
    with patch.object(mutant.target, mutant.method, mutant.wrong):
        for seed in range(first, first + mutant.seeds):
            if examine_blocks(seed):
                return seed - first + 1
    return None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_found(mutant: BlockMutant) -> None:
    """Within as many worlds as it is given."""
    assert seeds_needed(mutant) is not None

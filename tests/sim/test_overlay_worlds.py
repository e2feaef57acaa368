"""Worlds of groups that flood an overlay: everything that is promised is kept, with faults."""

import pytest

from antiphon.sim.exploration import examine
from antiphon.sim.other_protocols import KINDS, protocol_scenario


@pytest.mark.parametrize("first", range(0, 60, 15))
def test_random_worlds_keep_every_promise(first: int) -> None:
    """Crashes, joins, leaves, partitions and wrong suspicions, up to nine members."""
    for seed in range(first, first + 15):
        assert examine(protocol_scenario(seed, "view-atomic", "overlay")) is None


def test_all_topologies_are_met() -> None:
    """In these worlds each occurs."""
    met = {protocol_scenario(seed, "view-atomic", "overlay").protocol for seed in range(60)}
    assert met == set(KINDS["overlay"])

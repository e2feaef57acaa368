"""Worlds of causal blocks under views: everything that is promised is kept, on lossy datagrams."""

from dataclasses import replace

import pytest

from antiphon.core.errors import UsageError
from antiphon.sim.exploration import examine
from antiphon.sim.other_protocols import protocol_scenario
from antiphon.sim.scenario import parse_scenario
from antiphon.sim.world import World


@pytest.mark.parametrize("first", range(0, 60, 15))
def test_random_worlds_keep_every_promise(first: int) -> None:
    """Crashes, joins, leaves, partitions, wrong suspicions, and up to 30 % of datagrams lost."""
    for seed in range(first, first + 15):
        assert examine(protocol_scenario(seed, "view-atomic", "blocks")) is None


def test_datagrams_are_lost_and_recovered() -> None:
    """The worlds that are explored put the protocol to the test."""
    sent = repeated = expired = dropped = 0
    for seed in range(30):
        world = World(protocol_scenario(seed, "view-atomic", "blocks"))
        outcome = world.run()
        sent += world.datagrams.sent_count
        expired += sum(event.detail == "expired" for event in outcome.events)
        for driver in world.drivers.values():
            blocks = driver.machine.blocks
            assert blocks is not None
            if blocks.group.machine is not None:
                repeated += blocks.group.machine.counts["repeated"]
                dropped += blocks.group.machine.counts["dropped"]
    assert sent > 5_000
    assert repeated > 100
    assert expired > 5
    assert dropped > 5


def test_same_seed_gives_the_same_world() -> None:
    """Byte for byte: what becomes of datagrams follows from the seed, too."""
    scenario = replace(protocol_scenario(3, "view-atomic", "blocks"), loss=0.3)
    assert World(scenario).run().events == World(scenario).run().events


def test_scenario_reads_back() -> None:
    """Protocol and loss are in the text."""
    scenario = replace(protocol_scenario(5, "view-atomic", "blocks"), loss=0.2)
    assert "protocol blocks\nloss 0.2" in str(scenario)
    assert parse_scenario(str(scenario)) == scenario


@pytest.mark.parametrize("line", ["protocol smoke", "loss 1.0", "loss -0.1"])
def test_scenario_that_cannot_be_is_refused(line: str) -> None:
    """A protocol that there is not, or a loss that leaves nothing."""
    with pytest.raises(UsageError, match=line.split(" ", maxsplit=1)[0]):
        parse_scenario(f"seed 1\n{line}\n")

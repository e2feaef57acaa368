"""The end of a driver's world: it is at rest when its trace says so, whatever happens last."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from antiphon.testing.cluster import Cluster
from antiphon.testing.driver_exploration import examine_driver, scenario_of
from antiphon.testing.driver_world import DriverWorld
from antiphon.testing.groups_rest import Rest
from antiphon.trace.schema import Event

_LATE = "zoe"
_DELAYS_US = range(0, 700_000, 250_000)
SEEDS = (0, 11)
"""Of a world with one group, and of one with several: in both, who is excluded comes back."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Let the driver not say what befalls it."""
    log = logging.getLogger("antiphon")
    level = log.level
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(level)


def and_then_pause(speak: Callable[..., str], delay_us: int) -> Callable[..., str]:
    """Have the newcomer stop for a while, soon after everybody has spoken for the last time."""

    def speak_and_pause(self: Any, *what: object) -> str:
        cluster: Cluster = self.cluster if isinstance(self, DriverWorld) else self._cluster
        is_last = isinstance(self, DriverWorld) or str(what[-1]).startswith("anew")
        if not (said := speak(self, *what)) and is_last:
            loop = cluster.loop
            loop.call_at_us(loop.now_us + delay_us, lambda: cluster.pause(_LATE))
            loop.call_at_us(loop.now_us + delay_us + 2_000_000, lambda: cluster.resume(_LATE))
        return said

    return speak_and_pause


def amiss_at_rest(events: list[Event]) -> list[str]:
    """Say who is said to be at rest, and is not with all others who are."""
    here = {(event.run, event.process) for event in events if event.detail == "quiescent"}
    assert here, "somebody is at rest"
    last = {(event.run, event.process): event for event in events if event.kind == "view"}
    return [
        f"{who} in {run or 'the group'}: view {last[run, who].view}"
        for run, who in here
        if set(last[run, who].members or ()) != {other for where, other in here if where == run}
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_who_is_excluded_at_the_very_end_has_come_back(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is said to be at rest who is on its way back, or about to be told of a view."""
    scenario = scenario_of(seed)
    assert scenario.rejoin
    speaks: dict[type, Callable[..., str]] = {DriverWorld: DriverWorld._speak, Rest: Rest._speak}
    excluded = 0
    for delay_us in _DELAYS_US:
        for where, speak in speaks.items():
            monkeypatch.setattr(where, "_speak", and_then_pause(speak, delay_us))
        found, events = examine_driver(scenario)
        assert found is None, found.text
        assert not amiss_at_rest(events)
        excluded += any(event.detail.startswith(f"failed {_LATE}") for event in events)
    assert excluded > len(_DELAYS_US) // 2


ASKING_SEED = 9467
"""Of a world in which one of two groups has lost its majority for good."""


def test_who_asks_for_a_lost_group_keeps_no_world_from_rest() -> None:
    """It asks again and again, on connections of its own: whenever one looks, some are there."""
    found, events = examine_driver(scenario_of(ASKING_SEED))
    assert found is None, found.text
    here = {event.run for event in events if event.detail == "quiescent"}
    assert here < {event.run for event in events}, "one group does not go on"

"""The end of a driver's world: it is at rest when its trace says so, whatever happens last."""

import logging
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from antiphon.testing.cluster import Cluster
from antiphon.testing.driver_exploration import examine_driver, scenario_of
from antiphon.testing.driver_world import DriverWorld
from antiphon.testing.groups_programs import Programs
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


class End:
    """An end of a connection of anna's and ben's."""

    owner = "anna"
    peer = SimpleNamespace(owner="ben")


class Owners(dict[str, SimpleNamespace]):
    """A cluster of two, and its network."""

    def __init__(self, ends: list[End]) -> None:
        """Connect the two by connections with these ends."""
        super().__init__((name, SimpleNamespace(owner=name)) for name in ("anna", "ben"))
        self.network = SimpleNamespace(connections=lambda one, _: ends if one == "anna" else [])


def rest_of_two(going: list[str], ends: list[End]) -> Rest:
    """Return who looks at two processes that share two groups, some of which still go on."""
    both = [("anna", None), ("ben", None)]
    programs = SimpleNamespace(
        cluster=Owners(ends), scenario=SimpleNamespace(groups=("hall", "loft")), going=going,
        castaways=lambda _: (), living=lambda: both, inside=lambda _: both,
    )  # fmt: skip
    return Rest(cast("Programs", programs))


def test_connections_on_which_a_lost_group_is_asked_for_keep_no_world_from_rest() -> None:
    """Whenever one looks, some are there; they are others each time."""
    ends = [End()]
    rest = rest_of_two(["hall"], ends)
    for _ in range(5):
        ends[1:] = [End()]
        assert not rest._crowd()


@pytest.mark.parametrize("going", [["hall"], ["hall", "loft"]])
def test_second_connection_that_lasts_is_said(going: list[str]) -> None:
    """At once where no group is lost, else when it is still there at the next look."""
    rest = rest_of_two(going, [End(), End()])
    looks = [rest._crowd() for _ in range(2)]
    assert looks[-1] == "anna and ben have 2 connections"
    assert bool(looks[0]) == (len(going) > 1)

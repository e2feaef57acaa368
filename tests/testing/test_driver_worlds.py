"""Driver's worlds: the real network driver keeps its promises when connections break."""

import logging
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import msgspec
import pytest

from antiphon.net.driver.driver import Driver
from antiphon.net.process.founding_by_list import FoundingByList
from antiphon.net.session.mesh import Mesh
from antiphon.net.session.peer import PeerLink
from antiphon.net.session.session import Session
from antiphon.stack.settings import FLUSHES
from antiphon.testing.driver_exploration import examine_driver
from antiphon.testing.driver_scenario import random_driver_scenario
from antiphon.testing.driver_world import DriverWorld

SEEDS = range(40)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Let the driver not say what befalls it."""
    log = logging.getLogger("antiphon")
    level = log.level
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(level)


def test_promises_are_kept_though_connections_break() -> None:
    """No world of these seeds breaks a promise, gets stuck, or raises anything."""
    found = [examine_driver(random_driver_scenario(seed))[0] for seed in SEEDS]
    assert not [(one.seed, one.what, one.text) for one in found if one is not None]


@pytest.mark.parametrize("flush", FLUSHES)
def test_same_seed_gives_the_same_trace_byte_by_byte(flush: str) -> None:
    """A world is a function of its seed: faults, delays, dice, and what the driver does."""
    for seed in range(8):
        first, again = (
            b"\n".join(map(msgspec.json.encode, examine_driver(scenario)[1]))
            for scenario in (random_driver_scenario(seed, flush),) * 2
        )
        assert first == again
        assert first.count(b"\n") > 10


DIGEST = """
import hashlib, logging, msgspec
from antiphon.testing.driver_scenario import random_driver_scenario
from antiphon.testing.driver_exploration import examine_driver
logging.getLogger("antiphon").setLevel(logging.CRITICAL)
digest = hashlib.sha256()
for seed in range(6):
    for event in examine_driver(random_driver_scenario(seed))[1]:
        digest.update(msgspec.json.encode(event))
print(digest.hexdigest())
"""


def test_trace_does_not_depend_on_the_hash_seed() -> None:
    """Nothing is decided by the order of a set: two programs that hash differently agree."""
    told = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1


def test_worlds_meet_what_they_are_for() -> None:
    """In these seeds every verb occurs, and most worlds end with a group that can be asked."""
    scenarios = [random_driver_scenario(seed) for seed in range(200)]
    verbs = Counter(step.verb for scenario in scenarios for step in scenario.steps)
    assert set(verbs) == set(DriverWorld(scenarios[0]).verbs)
    worlds = [DriverWorld(scenario) for scenario in scenarios[:30]]
    assert [world.run() for world in worlds] == [""] * 30
    assert sum(world.is_hopeless() for world in worlds) <= 6
    later = sum("~" in event.process for world in worlds for event in world.cluster.events())
    assert later, "nobody ever came back"
    for world in worlds:
        world.cluster.close()


def _forget_nothing(self: Session, received: int) -> list[bytes]:
    """Repeat nothing after a connection was lost."""
    self.acknowledge(received)
    return []


def _take_up_without_handshake(self: Mesh, link: PeerLink, why: str) -> None:
    """Do not notice that a link is gone."""


@pytest.mark.parametrize(
    ("where", "what", "wrong"),
    [
        (Session, "resume", _forget_nothing),
        (Mesh, "on_lost", _take_up_without_handshake),
        (Session, "take", lambda *_: None),
    ],
    ids=["nothing is repeated", "a lost link is not noticed", "what arrives is not counted"],
)
def test_planted_bug_is_found(
    where: type, what: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that is wrong in one place fails some world soon."""
    monkeypatch.setattr(where, what, wrong)
    assert any(examine_driver(random_driver_scenario(seed))[0] for seed in SEEDS)


SILENT_SEED = 748
"""Of the first world in which a founder begins, speaks, dies, and is started again."""


def test_founder_that_begins_in_silence_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it tells those it has counted that it begins, it may be in view 1 twice."""
    scenario = random_driver_scenario(SILENT_SEED)
    assert examine_driver(scenario)[0] is None

    def silent(self: FoundingByList, driver: Driver) -> None:
        driver.begin(self._view)

    monkeypatch.setattr(FoundingByList, "_begin", silent)
    found, _ = examine_driver(scenario)
    assert found is not None
    assert found.what == "views"

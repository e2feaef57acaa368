"""Whatever is handed over goes out or is told, whoever is shut out, comes back or leaves."""

from collections import Counter
from collections.abc import Iterator

import pytest
from tests.adversary.unsent_world import UnsentWorld, watched

from antiphon.net.driver import driver
from antiphon.net.driver.nobody import Nobody
from antiphon.stack.send_queue import SendQueue

SEEDS = range(6)


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[bytes]]:
    """What leaves, of all worlds of a test."""
    with watched(monkeypatch) as counted:
        yield counted


def _examine(seed: int, gone: Counter[bytes]) -> tuple[UnsentWorld, list[str]]:
    gone.clear()
    world = UnsentWorld(seed, gone)
    try:
        return world, world.run()
    finally:
        world.cluster.close()


def test_nothing_vanishes_and_nothing_is_told_that_somebody_has(gone: Counter[bytes]) -> None:
    """Some come back and some are told something, and nobody hangs."""
    told = returned = 0
    for seed in SEEDS:
        world, wrong = _examine(seed, gone)
        assert not wrong, f"seed {seed}"
        told += sum(len(actor.unsent) for actor in world.actors.values())
        returned += sum("~" in g.me for a in world.actors.values() for g in a.groups.values())
    assert told > 30
    assert returned > 3


@pytest.mark.parametrize(
    ("where", "what", "wrong", "seed"),
    [
        (driver, "step_between", lambda *_: [], 2),
        (Nobody, "on_effect", lambda *_: None, 16),
        (SendQueue, "drop_waiting", lambda _: None, 16),
    ],
    ids=[
        "what is sent while no machine runs vanishes",
        "what was sent before a group was abandoned is told to nobody",
        "what waits when a group is abandoned is told to nobody",
    ],
)
def test_planted_bug_is_found(
    where: object,
    what: str,
    wrong: object,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
    gone: Counter[bytes],
) -> None:
    """The world of this seed is the first that shows it."""
    assert not _examine(seed, gone)[1]
    monkeypatch.setattr(where, what, wrong)
    assert _examine(seed, gone)[1]

"""A founder that begins, speaks and dies before the others have begun: it was there, and failed."""

from pathlib import Path
from typing import Any

import pytest

from antiphon.testing import Cluster

pytestmark = pytest.mark.long

TRIO = ("alice", "bob", "carol")


@pytest.mark.parametrize("seed", range(30))
def test_founder_that_began_and_died_comes_back_as_another(seed: int, tmp_path: Path) -> None:
    """It is seen to have been in view 1; started again it is a new incarnation, with a journal."""
    with Cluster(seed) as cluster:
        members = {name: cluster.process(name).address for name in TRIO}
        options: dict[str, Any] = {"members": members, "trace": tmp_path / "run"}
        cluster.stall("bob", "carol")  # so neither sees everybody, as alice does
        starts = {
            name: cluster[name].start(cluster[name].handle("room", **options).__aenter__())
            for name in TRIO
        }
        alice = cluster.wait_for(starts["alice"])
        cluster["alice"].run(alice.cbcast(b"I was here"))
        cluster.advance(0.002)
        cluster.kill("alice")
        again = cluster.restart("alice")
        cluster.heal()
        joined = again.join("room", **options)
        bob, carol = (cluster.wait_for(starts[name]) for name in ("bob", "carol"))
        assert "alice~2" in joined.members
        cluster.wait_until(lambda: bob.members == carol.members == ("bob", "carol", "alice~2"))
        cluster.advance(2)
        cluster.check(at_rest=True)


@pytest.mark.parametrize("seed", range(60))
def test_founder_that_had_not_begun_may_begin_again(seed: int, tmp_path: Path) -> None:
    """One that dies while all still wait is the founder when it is started again, for everybody."""
    names = (*TRIO, "dave")
    with Cluster(seed) as cluster:
        members = {name: cluster.process(name).address for name in names}
        options: dict[str, Any] = {"members": members, "trace": tmp_path / "run"}

        def enter(name: str) -> Any:
            return cluster[name].start(cluster[name].handle("room", **options).__aenter__())

        carol = enter("carol")
        enter("alice")
        cluster.advance(0.1 + seed / 300)
        cluster.kill("alice", silently=seed % 2 == 1)
        cluster.advance(seed / 300)
        cluster.restart("alice")
        starts = [carol, *map(enter, ("alice", "bob", "dave"))]
        groups = [cluster.wait_for(start) for start in starts]
        cluster.advance(5)
        assert {(group.view.number, group.members) for group in groups} == {(1, names)}
        cluster.check(at_rest=True)

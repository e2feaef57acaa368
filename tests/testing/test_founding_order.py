"""Founders do not begin at the same moment: what the first one says reaches the others."""

import pytest

import antiphon
from antiphon.testing import Cluster
from antiphon.testing.cluster import Process

TRIO = ("anna", "ben", "cleo")
COUNT = 100


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("way", ["members", "places"])
def test_what_the_first_founder_says_at_once_reaches_all(seed: int, way: str) -> None:
    """It has begun, and is connected to those who have not."""
    with Cluster(seed) as cluster:
        here = [cluster.process(name) for name in TRIO]
        members = {process.name: process.address for process in here}
        got: dict[str, int] = dict.fromkeys(TRIO, 0)

        def handle(process: Process) -> antiphon.Group:
            if way == "members":
                return antiphon.join("room", me=process.name, members=members)
            seeds = list(members.values())
            at = process.address
            return antiphon.join("room", me=process.name, at=at, seeds=seeds, found=True)

        async def sing(process: Process) -> None:
            async with handle(process) as group:
                await group.cbcast_many([b"la"] * COUNT)
                async for _ in group.messages():
                    got[process.name] += 1

        for process in here:
            process.start(sing(process))
        cluster.advance(5)
        assert got == dict.fromkeys(TRIO, COUNT * len(TRIO))
        cluster.check()

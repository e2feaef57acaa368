"""Who joins a group whose members are far away is taken in, and suspects none of them."""

import pytest

import antiphon
from antiphon.testing import Cluster

TIMING = antiphon.Timing(heartbeat_us=50_000, timeout_us=400_000)
FAR_S = (0.05, 0.06)
"""One way: a channel is made, and used, within the timeout from either side, but not by much."""


@pytest.mark.parametrize("seed", range(3))
def test_members_have_the_time_to_be_heard_by_who_joins(seed: int) -> None:
    """Channels with those who did not take it in are made after it knows of them."""
    with Cluster(seed, delay_s=FAR_S) as cluster:
        founders = [cluster.process(name) for name in ("ann", "bob", "cal")]
        places = {process.name: process.address for process in founders}
        handles = [process.handle("room", members=places, timing=TIMING) for process in founders]
        entering = [
            process.start(handle.__aenter__())
            for process, handle in zip(founders, handles, strict=True)
        ]
        for task in entering:
            cluster.wait_for(task)
        joiner = cluster.process("dan")
        handles.append(joiner.join("room", seeds=[founders[0].address], timing=TIMING))
        for process, handle in zip((*founders, joiner), handles, strict=True):
            process.collect(handle)
        cluster.advance(3)
        cluster.raise_failures()
        suspicions = [event for event in cluster.events() if event.kind == "suspect"]
        assert not [(event.process, event.sender, event.detail) for event in suspicions]
        assert {handle.view.members for handle in handles} == {("ann", "bob", "cal", "dan")}

"""A view that its decider told to the joiner alone: the others learn of it from the joiner.

The senior of two decides alone who joins. If it dies, and what it told the other is lost, nobody
who is left knows of the view but its new member; the two are a majority of it.
"""

import pytest

import antiphon
from antiphon.testing import Cluster

TIMING = antiphon.Timing(heartbeat_us=50_000, timeout_us=1_000_000)


@pytest.mark.parametrize("seed", range(3))
def test_blocked_member_learns_a_view_from_its_joiner(seed: int) -> None:
    """It goes on with the joiner, though it has never accepted it."""
    with Cluster(seed) as cluster:
        founders = [cluster.process(name) for name in ("ann", "bob")]
        places = {process.name: process.address for process in founders}
        ann, bob = (process.handle("room", members=places, timing=TIMING) for process in founders)
        entering = [founders[0].start(ann.__aenter__()), founders[1].start(bob.__aenter__())]
        for task in entering:
            cluster.wait_for(task)
        founders[1].collect(bob)
        joiner = cluster.process("cal")
        cal = joiner.handle("room", seeds=[founders[0].address], timing=TIMING)
        cluster.network.close_path("ann", "bob")  # what one tells the other is lost
        entering = [joiner.start(cal.__aenter__())]
        cluster.wait_until(lambda: cal._local._driver is not None and cal._local.driver.latest)
        cluster.kill("ann")
        assert bob._local.driver.view_number == 1, "it has not heard of the joiner"
        cluster.wait_for(entering[0])
        joiner.collect(cal)
        cluster.advance(3)
        cluster.raise_failures()
        assert bob.view.primary
        assert bob.view.members == cal.view.members == ("bob", "cal")
        cluster.check(at_rest=False)

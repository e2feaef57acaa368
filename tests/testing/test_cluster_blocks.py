"""Applications of causal blocks are tested on the network in memory, which loses datagrams."""

from collections.abc import Sequence

from antiphon import Blocks, Message
from antiphon.testing import Cluster, DatagramFaults


def test_lost_datagrams_are_recovered_in_a_cluster() -> None:
    """One of five is lost, and some are repeated and late: all read all."""
    with Cluster(seed=3) as cluster:
        cluster.datagrams.faults = DatagramFaults(loss=0.2, duplication=0.2, reordering=0.2)
        groups = cluster.found("choir", "anna", "ben", "cleo", protocol=Blocks())
        read = [cluster[name].collect(group) for name, group in groups.items()]
        for number in range(20):
            for name, group in groups.items():
                cluster[name].run(group.cbcast(f"{name} {number}".encode()))
        cluster.wait_until(lambda: all(_count(events) == 60 for events in read))
        cluster.check()
        assert cluster.datagrams.lost_count > 5


def _count(events: Sequence[object]) -> int:
    return sum(isinstance(event, Message) for event in events)

"""Sessions of processes that share no group any more: they sleep, and either side wakes them up."""

from functools import partial

import pytest

from antiphon import Group
from antiphon.net.process.process import Process
from antiphon.testing.cluster import Cluster


class _Pair:
    """Two processes that are each in a group of their own, and may share another one."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.processes: dict[str, Process] = {}
        for name in ("anna", "ben"):
            host = cluster.process(name)
            make = partial(Process, name, at=host.address)
            process = self.processes[name] = host.context.copy().run(make)
            host.run(process.__aenter__())
            self.enter(name, f"alone-{name}", [])

    def enter(self, name: str, group: str, seeds: list[str]) -> Group:
        handle = self.processes[name].join(group, seeds=seeds)
        return self.cluster[name].run(handle.__aenter__())

    @property
    def connection_count(self) -> int:
        return len(self.cluster.network.connections("anna", "ben"))


@pytest.mark.parametrize(("first", "second"), [("anna", "ben"), ("ben", "anna")])
@pytest.mark.parametrize("leaves", ["anna", "ben"])
def test_who_comes_again_dials_whoever_dialled_before(first: str, second: str, leaves: str) -> None:
    """The session sleeps on both sides, and the one that joins again is in at once."""
    with Cluster(seed=1) as cluster:
        pair = _Pair(cluster)
        handles = {first: pair.enter(first, "shared", [])}
        handles[second] = pair.enter(second, "shared", [cluster[first].address])
        assert pair.connection_count == 1
        cluster[leaves].leave(handles[leaves])
        cluster.wait_until(lambda: pair.connection_count == 0)
        other = first if leaves == second else second
        begin_s = cluster.time_s
        again = pair.enter(leaves, "shared", [cluster[other].address])
        assert again.me == f"{leaves}~2"
        assert cluster.time_s < begin_s + 0.5
        cluster.run(handles[other].cbcast(b"welcome"))
        cluster.advance(0.1)
        assert pair.connection_count == 1
        cluster.check()

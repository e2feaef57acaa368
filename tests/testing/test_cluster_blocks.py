"""Applications of causal blocks are tested on the network in memory, which loses datagrams."""

from collections.abc import Sequence

import pytest

from antiphon import Blocks, Message, UsageError
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


ALL_LOST = DatagramFaults(loss=1.0)
NAMES = ("anna", "ben", "cleo")


def test_member_that_takes_no_datagram_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    """Heard by channel all the time, and though nobody waits to send; the log says why."""
    with Cluster(seed=1) as cluster:
        groups = cluster.found("choir", *NAMES, protocol=Blocks())
        for name in ("anna", "ben"):
            cluster.datagrams.between[name, "cleo"] = ALL_LOST
        cluster.advance(60)
        assert groups["anna"].members == NAMES, "nothing was multicast"
        cluster["anna"].run(groups["anna"].cbcast(b"hello"))
        cluster.advance(25)
        assert groups["anna"].members == NAMES, "it is given time"
        cluster.advance(10)
        assert groups["anna"].members == groups["ben"].members == ("anna", "ben")
        assert "anna suspects cleo" in caplog.text
        assert "UDP may be blocked" in caplog.text
        cluster.check()


def test_where_udp_is_blocked_altogether_it_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """Who multicasts in vain gives up all the others, by name, and is blocked without them."""
    with Cluster(seed=1) as cluster:
        cluster.datagrams.faults = ALL_LOST
        groups = cluster.found("choir", *NAMES, protocol=Blocks())
        cluster["anna"].run(groups["anna"].cbcast(b"hello"))
        cluster.advance(60)
        for name in ("ben", "cleo"):
            assert f"anna suspects {name}: no datagram has reached it" in caplog.text
        assert "UDP may be blocked" in caplog.text


def test_member_that_does_not_read_is_not_given_up() -> None:
    """Its machine takes datagrams, and reports what it has, for minutes."""
    with Cluster(seed=1) as cluster:
        groups = cluster.found("choir", *NAMES, protocol=Blocks())
        cluster["anna"].collect(groups["anna"])
        for _ in range(100):
            cluster["anna"].run(groups["anna"].cbcast(b"hello"))
            cluster.advance(1)
        assert groups["anna"].members == NAMES
        cluster.check()


def test_what_is_dropped_by_priority_is_counted_and_recovered() -> None:
    """Too many wait for one that was lost: the lowest go, and come again, in order."""
    with Cluster(seed=1) as cluster:
        groups = cluster.found("choir", *NAMES, protocol=Blocks(waiting=4))
        read = cluster["cleo"].collect(groups["cleo"])
        for name in ("anna", "ben"):
            cluster.datagrams.between[name, "cleo"] = ALL_LOST
        cluster["anna"].run(groups["anna"].cbcast(b"0"))
        cluster.advance(0.01)
        cluster.datagrams.between.clear()
        for number in range(1, 10):
            message = groups["anna"].multicast(b"%d" % number, priority=number % 3)
            cluster["anna"].run(message)
            cluster.advance(0.001)
        counts = groups["cleo"].block_counts
        assert counts.dropped == 5
        assert groups["anna"].block_counts.dropped == 0
        assert not _count(read)
        cluster.wait_until(lambda: _count(read) == 10)
        payloads = [event.payload for event in read if isinstance(event, Message)]
        assert payloads == [b"%d" % number for number in range(10)]
        assert groups["anna"].block_counts.repeated >= 1
        assert groups["cleo"].datagram_counts.received > 10
        before = groups["cleo"].block_counts
        cluster["ben"].leave(groups["ben"])
        cluster.wait_until(lambda: len(groups["cleo"].members) == 2)
        assert groups["cleo"].block_counts.dropped == before.dropped, "of all views together"
        cluster.check()


def test_counts_are_of_groups_that_send_datagrams() -> None:
    """Others say what to join with."""
    with Cluster(seed=1) as cluster:
        group = cluster.found("choir", "anna", "ben")["anna"]
        with pytest.raises(UsageError, match="sends no datagrams"):
            _ = group.datagram_counts
        with pytest.raises(UsageError, match="sends no datagrams"):
            _ = group.block_counts

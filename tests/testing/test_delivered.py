"""What a group tells of deliveries: soon, per view, and where its reader stands."""

import pytest

from antiphon import Group, Order, Timing, UsageError
from antiphon.testing import Cluster

NAMES = ("anna", "ben", "cleo")
HEARTBEAT_S = Timing().heartbeat_us / 1e6


@pytest.mark.parametrize("order", list(Order))
@pytest.mark.parametrize("uniform", [False, True])
def test_last_message_is_known_everywhere_within_three_heartbeats(
    order: Order, uniform: bool
) -> None:
    """A quiet group: one message, and nothing after it."""
    with Cluster(seed=1) as cluster:
        groups = cluster.found("quiet", *NAMES)
        cluster.advance(1.0)
        cluster["ben"].run(groups["ben"].multicast(b"x", order, uniform=uniform))
        cluster.advance(3 * HEARTBEAT_S)
        for group in groups.values():
            known = group.stability(delivered=True)
            assert known["ben"] == 1
            assert set(known) == set(NAMES)


def test_paused_member_delivers_nothing() -> None:
    """Whoever has not got a message is waited for, and so is who cannot say that it has."""
    with Cluster(seed=1) as cluster:
        groups = cluster.found("paused", *NAMES)
        cluster.pause("cleo")
        cluster["ben"].run(groups["ben"].cbcast(b"x"))
        cluster.advance(3 * HEARTBEAT_S)
        assert groups["anna"].stability(delivered=True)["ben"] == 0
        cluster.resume("cleo")
        cluster.advance(3 * HEARTBEAT_S)
        assert groups["anna"].stability(delivered=True)["ben"] == 1


def test_counts_begin_again_with_each_view() -> None:
    """After a crash the next view counts from 0, of those who are in it."""
    with Cluster(seed=1) as cluster:
        groups = cluster.found("views", *NAMES)
        cluster["ben"].run(groups["ben"].cbcast(b"x"))
        cluster.advance(3 * HEARTBEAT_S)
        cluster.kill("cleo")
        cluster.wait_until(lambda: groups["anna"].members == ("anna", "ben"))
        assert groups["anna"].stability(delivered=True) == {"anna": 0, "ben": 0}


async def _read(group: Group, count: int) -> None:
    if count:
        async for _ in group:
            count -= 1
            if not count:
                break


def test_caught_up_is_who_has_read_everything_and_may_multicast() -> None:
    """Not with a message unread, in part or not; nor while something waits to go out."""
    with Cluster(seed=1) as cluster:
        groups = cluster.found("caught", *NAMES)
        ben = groups["ben"]
        assert not ben.is_caught_up  # the first view
        cluster["ben"].run(_read(ben, 1))
        assert ben.is_caught_up
        cluster["anna"].run(groups["anna"].cbcast_many([b"x", b"y"]))
        cluster.advance(HEARTBEAT_S)
        assert not ben.is_caught_up
        cluster["ben"].run(_read(ben, 1))
        assert not ben.is_caught_up  # the second of the batch
        cluster["ben"].run(_read(ben, 1))
        assert ben.is_caught_up
        cluster["ben"].run(ben.cbcast(b"z"))
        assert not ben.is_caught_up  # pending, or its own to read
        cluster["ben"].run(_read(ben, 1))
        assert ben.is_caught_up
        cluster.kill("anna")
        cluster.kill("cleo")
        cluster.advance(5.0)
        assert not ben.is_caught_up  # blocked
        cluster["ben"].run(_read(ben, 1))
        assert not ben.is_caught_up


def test_outside_of_the_group_nobody_is_caught_up() -> None:
    """Before it is entered, and after it was left."""
    with Cluster(seed=1) as cluster:
        anna = cluster.process("anna")
        group = anna.handle("outside", at=anna.address)
        assert not group.is_caught_up
        with pytest.raises(UsageError, match="anna has not entered group outside"):
            group.stability(delivered=True)
        anna.run(group.__aenter__())
        assert group.stability(delivered=True) == {"anna": 0}
        anna.leave(group)
        assert not group.is_caught_up
        assert group.stability(delivered=True) == {"anna": 0}

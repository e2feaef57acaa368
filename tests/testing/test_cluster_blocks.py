"""Applications of causal blocks are tested on the network in memory, which loses datagrams."""

import asyncio
from collections.abc import Sequence

import pytest

from antiphon import Blocks, Group, Message, UsageError
from antiphon.net.stream import stream
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


UNREAD, WINDOW, CHUNK = 1_000_000, 200_000, bytes(20_000)
NARROW = Blocks(window_bytes=WINDOW, run_bytes=40_000)
LOSSY = DatagramFaults(loss=0.2, duplication=0.1, reordering=0.1)


@pytest.fixture
def _short_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "UNREAD_BYTES_MAX", UNREAD)


class Hall:
    """Members that send and read, all at their own pace."""

    def __init__(self, cluster: Cluster, names: Sequence[str], protocol: Blocks = NARROW) -> None:
        self.cluster = cluster
        self.groups = cluster.found("hall", *names, protocol=protocol)
        self.heard: dict[str, list[bytes]] = {name: [] for name in names}
        self.sent = dict.fromkeys(names, 0)
        self.most_unread = 0

    def send(self, name: str, count: int) -> asyncio.Task[None]:
        """Have a member send so many messages, waiting whenever it has to."""

        async def send() -> None:
            for number in range(count):
                await self.groups[name].cbcast(b"%06d" % number + CHUNK)
                self.sent[name] += 1

        return self.cluster[name].start(send())

    def read(self, name: str, pause_s: float = 0, most: float = float("inf")) -> None:
        """Have a member read, with a pause behind each message; or only so many."""

        async def read() -> None:
            async for message in self.groups[name].messages():
                self.heard[name].append(message.payload[:6])
                if len(self.heard[name]) >= most:
                    await asyncio.sleep(1e6)
                await asyncio.sleep(pause_s)

        self.cluster[name].start(read())

    def unread(self, name: str) -> int:
        """Return how many bytes wait to be read."""
        return self.groups[name]._local.stream.unread_bytes


def _numbers(count: int) -> list[bytes]:
    return [b"%06d" % number for number in range(count)]


@pytest.mark.usefixtures("_short_stream")
@pytest.mark.parametrize("faults", [DatagramFaults(), LOSSY], ids=["calm", "lossy"])
def test_member_that_stops_reading_holds_senders_up(faults: DatagramFaults) -> None:
    """At most two windows of each; when it reads on, all comes, in order."""
    with Cluster(seed=1) as cluster:
        cluster.datagrams.faults = faults
        hall = Hall(cluster, NAMES)
        hall.read("anna")
        hall.read("ben")
        begun = asyncio.Event()

        async def read_late() -> None:
            async for message in hall.groups["cleo"].messages():
                hall.heard["cleo"].append(message.payload[:6])
                await begun.wait()

        cluster["cleo"].start(read_late())
        sending = [hall.send(name, 400) for name in ("anna", "ben")]
        cluster.advance(20)
        assert not any(task.done() for task in sending)
        bound = UNREAD + 2 * (2 * WINDOW + len(CHUNK))
        assert UNREAD <= hall.unread("cleo") < bound
        assert sum(hall.sent.values()) * len(CHUNK) < bound
        assert len(hall.heard["ben"]) == sum(hall.sent.values()) + 2, "each waits behind one"
        for group in hall.groups.values():
            member = group._local.member
            assert member is not None
            assert member.blocks is not None
            assert member.kept_bytes == 0, "copies are dropped: all have delivered it"
            assert member.blocks.group.is_settled
        begun.set()
        cluster.wait_until(lambda: all(len(heard) == 800 for heard in hall.heard.values()), 60)
        assert sorted(hall.heard["cleo"]) == sorted(_numbers(400) * 2)
        assert hall.groups["anna"].members == NAMES
        cluster.check()


@pytest.mark.usefixtures("_short_stream")
def test_member_that_never_reads_is_given_up_while_senders_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """After thirty seconds, and not while nobody waits to send."""
    with Cluster(seed=1) as cluster:
        hall = Hall(cluster, NAMES)
        hall.read("anna")
        hall.read("ben")
        hall.read("cleo", most=1)
        before = hall.send("anna", 55)  # just more than there is room for
        cluster.advance(100)
        assert before.done()
        assert hall.unread("cleo") > UNREAD
        assert hall.groups["anna"].members == NAMES, "nobody waits"
        sending = hall.send("ben", 400)
        cluster.advance(25)
        assert not sending.done()
        assert hall.groups["anna"].members == NAMES, "it is given time"
        cluster.advance(10)
        assert hall.groups["anna"].members == hall.groups["ben"].members == ("anna", "ben")
        assert "ben suspects cleo: it has taken nothing for 30 s" in caplog.text
        cluster.wait_until(lambda: len(hall.heard["anna"]) == 455)
        assert sending.done()
        assert hall.heard["anna"] == hall.heard["ben"] == _numbers(55) + _numbers(400)
        cluster.check()


@pytest.mark.usefixtures("_short_stream")
def test_member_that_reads_slowly_is_not_given_up() -> None:
    """One message in five seconds is enough, however long half of the stream takes."""
    with Cluster(seed=1) as cluster:
        hall = Hall(cluster, NAMES)
        hall.read("anna")
        hall.read("ben")
        hall.read("cleo", pause_s=5)
        sending = hall.send("anna", 120)
        cluster.advance(120)
        assert not sending.done()
        assert 20 <= len(hall.heard["cleo"]) <= 25, "less than half"
        cluster.advance(500)
        assert hall.groups["anna"].members == NAMES
        assert sending.done()
        assert hall.heard["cleo"] == _numbers(len(hall.heard["cleo"]))
        cluster.check()


@pytest.mark.usefixtures("_short_stream")
@pytest.mark.parametrize("names", [NAMES[:2], NAMES], ids=["two", "three"])
@pytest.mark.parametrize("faults", [DatagramFaults(), LOSSY], ids=["calm", "lossy"])
def test_members_that_send_inside_their_reader_loops_do_not_wait_for_each_other(
    names: tuple[str, ...], faults: DatagramFaults
) -> None:
    """Each answers what it reads, and reads nothing while it waits to send: it ends."""
    count = 150
    with Cluster(seed=1) as cluster:
        cluster.datagrams.faults = faults
        groups = cluster.found("choir", *names, protocol=NARROW)

        async def sing(group: Group) -> int:
            left, heard = count, 0
            for _ in range(3):
                left -= 1
                await group.cbcast(CHUNK)
            async for message in group.messages():
                heard += 1
                for _ in range(min(left, 2) if message.sender != group.me else 0):
                    left -= 1
                    await group.cbcast(CHUNK)
                if heard == count * len(names):
                    break
            return heard

        tasks = [cluster[name].start(sing(group)) for name, group in groups.items()]
        cluster.wait_until(lambda: all(task.done() for task in tasks), 60)
        assert [task.result() for task in tasks] == [count * len(names)] * len(names)
        assert groups["anna"].members == names
        cluster.check()

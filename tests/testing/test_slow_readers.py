"""A member whose application reads slowly, in groups on connections: senders wait for it."""

import asyncio

import pytest

from antiphon import Overlay
from antiphon.net.stream import stream
from antiphon.testing import Cluster

NAMES = ("anna", "ben", "cleo", "dora", "emil")
UNREAD = 8_000_000
CHUNK = bytes(100_000)
COUNT = 320
"""More than the buffer of a reader and what may be on its way hold together."""

pytestmark = pytest.mark.parametrize("protocol", [None, Overlay("ring")], ids=["vectors", "ring"])


class Hall:
    """Anna sends all the time, and waits whenever she has to; all read but cleo."""

    def __init__(self, cluster: Cluster, protocol: Overlay | None) -> None:
        self.cluster = cluster
        self.groups = cluster.found("hall", *NAMES, protocol=protocol)
        self.heard: dict[str, list[bytes]] = {name: [] for name in NAMES}
        for name in NAMES:
            if name != "cleo":
                self.read(name)
        self.sending = cluster["anna"].start(self._send())

    async def _send(self) -> None:
        for number in range(COUNT):
            await self.groups["anna"].cbcast(b"%06d" % number + CHUNK)

    def read(self, name: str, pause_s: float = 0, most: float = float("inf")) -> None:
        """Have a member read, with a pause behind each message; or only so many."""

        async def read() -> None:
            async for message in self.groups[name].messages():
                self.heard[name].append(message.payload[:6])
                await asyncio.sleep(pause_s if len(self.heard[name]) < most else 1e6)

        self.cluster[name].start(read())


@pytest.fixture(autouse=True)
def _short_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "UNREAD_BYTES_MAX", UNREAD)


def test_member_that_reads_slowly_is_not_given_up(protocol: Overlay | None) -> None:
    """One message in ten seconds is enough, however long half of its buffer takes."""
    with Cluster(seed=1) as cluster:
        hall = Hall(cluster, protocol)
        hall.read("cleo", pause_s=10)
        cluster.advance(300)
        assert not hall.sending.done()
        assert 28 <= len(hall.heard["cleo"]) <= 32, "less than half of what its buffer holds"
        assert hall.groups["anna"].members == NAMES
        cluster.advance(1500)
        assert hall.sending.done()
        assert hall.groups["anna"].members == NAMES
        assert hall.heard["cleo"] == [b"%06d" % count for count in range(len(hall.heard["cleo"]))]
        assert len(hall.heard["ben"]) == COUNT
        cluster.check()


def test_member_that_stops_reading_is_given_up_while_somebody_waits(
    protocol: Overlay | None, caplog: pytest.LogCaptureFixture
) -> None:
    """After thirty seconds, as one that never read."""
    with Cluster(seed=1) as cluster:
        hall = Hall(cluster, protocol)
        hall.read("cleo", pause_s=10, most=8)
        cluster.advance(75)
        assert hall.groups["anna"].members == NAMES
        cluster.advance(60)
        assert "cleo" not in hall.groups["anna"].members
        assert "anna suspects cleo: it has taken nothing for 30 s" in caplog.text
        cluster.wait_until(lambda: len(hall.heard["ben"]) == COUNT)
        cluster.check()

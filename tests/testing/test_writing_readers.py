"""A reader that writes letters, while another task of its process waits for it to read."""

import asyncio

import pytest

from antiphon import Group, Letter, Message, Unsent
from antiphon.net.stream import stream
from antiphon.testing import Cluster

NAMES = ("anna", "ben", "cleo")


async def _answer(group: Group, may_read: asyncio.Event, told: list[Unsent]) -> None:
    """Write to cleo for each message that is read of ben."""
    async for event in group:
        if isinstance(event, Unsent):
            told.append(event)
        elif isinstance(event, Message):
            await may_read.wait()
            await group.send("cleo", b"answer to " + event.payload)


def test_reader_does_not_queue_behind_a_letter_that_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stream is full: who writes waits for the reader, and that writes before it reads on."""
    monkeypatch.setattr(stream, "UNREAD_BYTES_MAX", 300)
    with Cluster(1) as cluster:
        groups = cluster.found("room", *NAMES)
        anna, told = cluster["anna"], list[Unsent]()
        may_read = asyncio.Event()
        anna.start(_answer(groups["anna"], may_read, told))
        _, heard = (cluster[name].collect(groups[name]) for name in NAMES[1:])
        for number in range(6):
            cluster["ben"].run(groups["ben"].cbcast(b"%d" % number * 50))
            cluster.advance(0.1)
        writing = anna.start(groups["anna"].send("cleo", b"by another task"))
        cluster.advance(0.1)
        assert not writing.done(), "it waits for the reader"
        may_read.set()
        cluster.wait_for(writing, 5)
        cluster.advance(1)
        assert sum(isinstance(event, Letter) for event in heard) == 7


def test_reader_of_an_ended_incarnation_does_not_either() -> None:
    """So much was sent in vain that who writes waits for the reader, and that writes first."""
    with Cluster(2) as cluster:
        groups = cluster.found("room", *NAMES, rejoin=True)
        anna, told = cluster["anna"], list[Unsent]()
        may_read = asyncio.Event()
        anna.start(_answer(groups["anna"], may_read, told))
        cluster["ben"].run(groups["ben"].cbcast(b"question"))
        cluster.advance(0.1)
        cluster.partition({"anna"}, {"ben", "cleo"})
        cluster.wait_until(lambda: len(groups["ben"].members) == 2)
        cluster.heal()
        cluster.wait_until(lambda: "anna~2" in groups["ben"].members)
        cluster.advance(1)
        in_vain = [b"x" * 100_000] * 11
        anna.run(groups["anna"].cbcast_many(in_vain))
        writing = anna.start(groups["anna"].send("cleo", b"by another task"))
        cluster.advance(1)
        assert not writing.done(), "it waits for the reader"
        may_read.set()
        cluster.wait_for(writing, 5)
        cluster.advance(1)
        payloads = [payload for event in told for payload in event.payloads]
        assert payloads == [*in_vain, b"answer to question", b"by another task"]

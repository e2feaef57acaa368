"""IP multicast on loopback; multicast, and a slow line, across machines of their own."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from tests.net.datagrams.machines import conversation, machines
from tests.net.datagrams.stage import members
from tests.net.harness import LoopFactory, play, until

from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.datagrams.settings import DatagramSettings
from antiphon.net.transport.address import Address
from antiphon.net.transport.environment import SYSTEM
from antiphon.net.transport.interface import MulticastPlace

pytestmark = pytest.mark.net

MEMBER = Path(__file__).with_name("multicast_member.py")
SLOW = Path(__file__).with_name("slow_line_member.py")


def test_one_packet_reaches_all_on_loopback(loop_factory: LoopFactory) -> None:
    """Its sender gets it back, and counts it; items for some go by unicast all the same."""

    async def scene() -> None:
        port = 20_000 + os.getpid() % 10_000
        settings = DatagramSettings(
            multicast=MulticastPlace(
                address=Address("239.255.77.7", port), interface="127.0.0.1", hops=0
            )
        )
        try:
            await _try(settings)
        except OSError as error:
            pytest.skip(f"no IP multicast on loopback here: {error}")
        async with members(4, settings) as heard:
            anna, *others = heard
            anna.channel.send([b"to all"])
            await until(lambda: all(each.items for each in others), "all hear")
            await until(lambda: anna.channel.counts.own == 1, "anna hears herself")
            assert anna.channel.counts.sent == 1
            assert anna.items == []
            anna.channel.send([b"to one"], to=[2])
            await until(lambda: len(others[1].items) == 2, "carol hears")
            await asyncio.sleep(0.02)
            assert [len(each.items) for each in others] == [1, 2, 1]

    play(loop_factory, scene())


async def _try(settings: DatagramSettings) -> None:
    """Raise OSError if nothing that is sent to a group address comes back."""
    async with members(1, settings) as (alone,):
        alone.channel.send([b"echo"])
        for _ in range(50):
            await asyncio.sleep(0.01)
            if alone.channel.counts.own:
                return
        refusal = "it is not given back"
        raise OSError(refusal)


def test_group_address_that_is_none_is_refused(loop_factory: LoopFactory) -> None:
    """As an OSError, and nothing stays open."""

    async def scene() -> None:
        for host in ("127.0.0.1", "no address"):
            settings = DatagramSettings(multicast=MulticastPlace(address=Address(host, 7_007)))
            with pytest.raises(OSError, match=r"."):
                await DatagramPort.open(Address("127.0.0.1", 0), SYSTEM, settings)

    play(loop_factory, scene())


@pytest.mark.parametrize("version", [4, 6])
def test_members_on_three_machines_hear_each_other(version: int) -> None:
    """Each sends one packet for all to the group address, on an interface that it names."""
    hosts = [f"10.77.0.{n + 1}" if version == 4 else f"fd77::{n + 1}" for n in range(3)]
    words = [
        [str(rank), host, "239.255.77.7", host]
        if version == 4
        else [str(rank), host, "ff05::77:7", "eth"]
        for rank, host in enumerate(hosts)
    ]
    with machines() as names:
        said = conversation(MEMBER, names, words)
    assert said == [
        {"heard": [other for other in range(3) if other != rank], "own": True} for rank in range(3)
    ]


def test_line_slower_than_its_sender_makes_it_wait_and_loses_nothing() -> None:
    """The system refuses what its small buffer cannot keep: packets wait, and all arrive."""
    count = 400
    with machines() as names:
        limit = ("qdisc", "add", "dev", "eth", "root", "tbf")
        rate = ("rate", "8mbit", "burst", "10kb", "limit", "10mb")
        try:
            command = ["ip", "netns", "exec", names[0], "tc", *limit, *rate]
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no slow line here: {error}")
        words = [["0", "10.77.0.1", str(count)], ["1", "10.77.0.2", str(count)]]
        sent, received = conversation(SLOW, names[:2], words)
    assert received == {"came": count, "dropped": 0}
    assert sent["lost"] == 0
    assert 50_000 < sent["most"] < 60_000

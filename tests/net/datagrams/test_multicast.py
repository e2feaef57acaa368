"""IP multicast: one packet for all, on loopback, and across machines made of network namespaces."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.net.datagrams.stage import members
from tests.net.harness import LoopFactory, play, until

from antiphon.net.datagrams.port import DatagramPort
from antiphon.net.datagrams.settings import DatagramSettings
from antiphon.net.transport.address import Address
from antiphon.net.transport.environment import SYSTEM
from antiphon.net.transport.interface import MulticastPlace

pytestmark = pytest.mark.net

MEMBER = Path(__file__).with_name("multicast_member.py")


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


def ip(*words: str) -> None:
    """Change the network of this test."""
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def machines() -> Iterator[list[str]]:
    """Make three machines on one switch: a network namespace each; take them away at the end."""
    names = [f"antiphon{os.getpid()}n{index}" for index in range(3)]
    switch = f"antiphon{os.getpid()}s"
    if shutil.which("ip") is None:
        pytest.skip("needs the command ip")
    made: list[str] = []
    try:
        for name in (switch, *names):
            try:
                ip("netns", "add", name)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"no network namespaces here: {error.stderr.strip()}")
            made.append(name)
        try:
            _wire(switch, names)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no switch of network namespaces here: {error.stderr.strip()}")
        yield names
    finally:
        for name in made:
            ip("netns", "del", name)


def _wire(switch: str, names: list[str]) -> None:
    inside = ("netns", "exec", switch, "ip")
    ip(*inside, "link", "add", "sw", "type", "bridge", "mcast_snooping", "0")
    ip(*inside, "link", "set", "sw", "up")
    for index, name in enumerate(names):
        here = ("netns", "exec", name, "ip")
        ip(
            *inside,
            "link",
            "add",
            f"v{index}",
            "type",
            "veth",
            "peer",
            "name",
            "eth",
            "netns",
            name,
        )
        ip(*inside, "link", "set", f"v{index}", "master", "sw", "up")
        ip(*here, "addr", "add", f"10.77.0.{index + 1}/24", "dev", "eth")
        ip(*here, "addr", "add", f"fd77::{index + 1}/64", "dev", "eth", "nodad")
        ip(*here, "link", "set", "eth", "up")


@pytest.mark.parametrize("version", [4, 6])
def test_members_on_three_machines_hear_each_other(machines: list[str], version: int) -> None:
    """Each sends one packet for all to the group address, on an interface that it names."""
    hosts = [f"10.77.0.{n + 1}" if version == 4 else f"fd77::{n + 1}" for n in range(3)]
    programs = [
        subprocess.Popen(
            [
                "ip", "netns", "exec", name, sys.executable, str(MEMBER), str(rank), host,
                "239.255.77.7" if version == 4 else "ff05::77:7",
                host if version == 4 else "eth",
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for rank, (name, host) in enumerate(zip(machines, hosts, strict=True))
    ]  # fmt: skip
    try:
        places = [json.loads(read_line(program)) for program in programs]
        for program in programs:
            tell(program, json.dumps(places))
        said = [json.loads(read_line(program)) for program in programs]
        for program in programs:
            tell(program, "end")
    finally:
        for program in programs:
            program.kill()
            program.communicate()
    assert said == [
        {"heard": [other for other in range(3) if other != rank], "own": True} for rank in range(3)
    ]


def read_line(program: "subprocess.Popen[str]") -> str:
    """Return what a program says next."""
    assert program.stdout is not None
    return program.stdout.readline()


def tell(program: "subprocess.Popen[str]", line: str) -> None:
    """Give a program a line."""
    assert program.stdin is not None
    program.stdin.write(line + "\n")
    program.stdin.flush()

"""Founding on real sockets: by a majority, by a list of places, all at once or one by one."""

import asyncio
import logging
from itertools import pairwise
from typing import Any

import pytest
from tests.net.harness import (
    QUICK,
    LoopFactory,
    exchange,
    free_addresses,
    make_choir,
    play,
    read_payloads,
    start_all,
    stop_all,
    until_view,
)

from antiphon import Process, UsageError, join
from antiphon.core.control import FoundingAnswer, FoundingQuestion
from antiphon.membership.bootstrap import Founding, RollCall
from antiphon.net.driver.driver import Driver
from antiphon.net.process import founding
from antiphon.net.process.founding_by_list import FoundingByList
from antiphon.net.process.joining import make_node
from antiphon.net.process.node import Node

pytestmark = pytest.mark.net

NAMES = ("alice", "bob", "carol", "dave", "erin")


def founder(name: str, addresses: dict[str, str], **options: Any) -> Node:
    """Return a node that founds the group with the others, or joins it."""
    places = list(addresses.values())
    chosen: dict[str, Any] = {"timing": QUICK, "drain_s": 0.5, **options}
    return make_node("choir", name, at=addresses[name], seeds=places, found=True, **chosen)


async def until_all_in(nodes: list[Node]) -> None:
    """Wait until all are in one view."""
    names = {node.name for node in nodes}
    for node in nodes:
        while set(node.group.members) != names or not node.group.view.primary:
            await node.notifier.until_notified()
    assert len({node.group.view.number for node in nodes}) == 1


def test_all_that_start_at_once_found_one_group(loop_factory: LoopFactory) -> None:
    """They are all in its first view, by the order of their places, and reach each other."""

    async def scene() -> None:
        addresses = free_addresses(NAMES)
        nodes = [founder(name, addresses) for name in NAMES]
        await start_all(nodes)
        by_place = sorted(NAMES, key=lambda name: addresses[name])
        assert {(node.group.view.number, node.group.members) for node in nodes} == {
            (1, tuple(by_place))
        }
        await exchange(nodes)
        await stop_all(nodes)

    play(loop_factory, scene())


def test_majority_founds_and_the_rest_joins_when_it_comes(loop_factory: LoopFactory) -> None:
    """Two of three are enough; the third is taken in with the same call, and after a restart."""

    async def scene() -> None:
        addresses = free_addresses(NAMES[:3])
        alice, bob = founder("alice", addresses), founder("bob", addresses)
        await start_all([alice, bob])
        assert set(alice.group.members) == {"alice", "bob"}
        assert alice.group.view.number == 1
        carol = founder("carol", addresses)
        await carol.start()
        await until_all_in([alice, bob, carol])
        assert carol.name == "carol"
        await carol.stop()
        again = founder("carol", addresses)
        await again.start()
        await until_all_in([alice, bob, again])
        assert again.name == "carol~2"
        await exchange([alice, bob, again])
        await stop_all([alice, bob, again])

    play(loop_factory, scene())


def test_minority_founds_nothing_and_says_whom_it_awaits(
    loop_factory: LoopFactory,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the log while it waits, seldom; in the error when its time is up."""
    monkeypatch.setattr(founding, "TELL_S", 0.2)

    async def scene() -> tuple[str, dict[str, str]]:
        addresses = free_addresses(NAMES[:3])
        with pytest.raises(UsageError) as refused:
            await founder("bob", addresses, connect_s=1.5).start()
        return str(refused.value), addresses

    said, addresses = play(loop_factory, scene())
    missing = ", ".join(sorted((addresses["alice"], addresses["carol"])))
    assert said == (
        "bob cannot join group choir: after 1.5 s it does not run, and is not founded: 1 of 3 "
        f"places are there, and nobody answers at {missing}; more than half of the seeds are needed"
    )
    told = [record for record in caplog.records if "waits to found" in record.message]
    assert 2 <= len(told) <= 4
    assert told[0].message.startswith("bob waits to found group choir: 1 of 3 places are there")
    assert all(later.created - sooner.created > 0.15 for sooner, later in pairwise(told))


def test_process_that_does_not_found_the_group_is_not_called_silent(
    loop_factory: LoopFactory,
) -> None:
    """One that is in other groups, and one that is in none, are told from one that is not there."""

    async def scene() -> tuple[str, dict[str, str]]:
        addresses = free_addresses(NAMES[:4])
        alice, carol = (Process(name, at=addresses[name]) for name in ("alice", "carol"))
        async with alice, alice.join("other"), carol:
            with pytest.raises(UsageError) as refused:
                await founder("bob", addresses, connect_s=1.0).start()
        return str(refused.value), addresses

    said, at = play(loop_factory, scene())
    assert "1 of 4 places are there" in said
    running = sorted([f"{at['alice']} (alice)", at["carol"]])
    assert f", at {' and '.join(running)} a process runs that does not found it," in said
    assert f", and nobody answers at {at['dave']}; more than half" in said


def test_founder_that_dies_meanwhile_keeps_nobody_from_founding(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lowest place asks for votes, and is gone before it hears of the first."""
    vote = Founding.answer

    async def scene() -> None:
        addresses = free_addresses(NAMES[:3])
        lowest = min(addresses, key=lambda name: addresses[name])
        others = [founder(name, addresses) for name in addresses if name != lowest]
        dying = asyncio.ensure_future(founder(lowest, addresses).start())

        def answer(voter: Founding, asked: FoundingQuestion) -> FoundingAnswer:
            said = vote(voter, asked)
            if said.ballot and said.is_ok:
                dying.cancel()
            return said

        monkeypatch.setattr(Founding, "answer", answer)
        starting = asyncio.ensure_future(start_all(others))
        with pytest.raises(asyncio.CancelledError):
            await dying
        await starting
        await until_all_in(others)
        await stop_all(others)

    play(loop_factory, scene())


def test_other_seeds_are_said(loop_factory: LoopFactory) -> None:
    """Lists that differ could each have a majority of their own."""

    async def scene() -> list[object]:
        addresses = free_addresses(NAMES[:3])
        less = {name: addresses[name] for name in ("alice", "bob")}
        nodes = [founder("alice", addresses, connect_s=3.0), founder("bob", less, connect_s=3.0)]
        return await asyncio.gather(*(node.start() for node in nodes), return_exceptions=True)

    for name, error in zip(NAMES, play(loop_factory, scene()), strict=False):
        assert str(error).startswith(f"{name} cannot join group choir: ")
        assert "was given other seeds: give all the same" in str(error)


def test_member_list_is_founded_by_a_majority(
    loop_factory: LoopFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """Who is missing is logged and excluded; when it comes it joins, as a new incarnation."""
    caplog.set_level(logging.WARNING)

    async def scene() -> None:
        addresses = free_addresses()
        nodes = make_choir(addresses, timing=QUICK, drain_s=0.5)
        first = [nodes["bob"], nodes["carol"]]
        await start_all(first)
        for node in first:
            await until_view(node, ["bob", "carol"])
        await nodes["alice"].start()
        assert nodes["alice"].name == "alice~2"
        for node in nodes.values():
            await until_view(node, ["bob", "carol", "alice~2"])
        await exchange(list(nodes.values()))
        await stop_all(list(nodes.values()))

    play(loop_factory, scene())
    assert "founds group choir without them: alice at 127.0.0.1:" in caplog.text


def test_half_of_a_member_list_founds_nothing(loop_factory: LoopFactory) -> None:
    """Two of four wait, and are told whom they miss."""

    async def scene() -> list[object]:
        nodes = make_choir(free_addresses(NAMES[:4]), timing=QUICK, connect_s=1.0)
        starting = (nodes[name].start() for name in ("alice", "bob"))
        return await asyncio.gather(*starting, return_exceptions=True)

    for error in play(loop_factory, scene()):
        assert isinstance(error, UsageError)
        assert "dave" in str(error)


def test_process_is_found_where_it_is_advertised(loop_factory: LoopFactory) -> None:
    """It listens everywhere, and its id says where the others find it."""

    async def scene() -> None:
        addresses = free_addresses(["alice", "bob"])
        port = addresses["alice"].rpartition(":")[2]
        options: dict[str, Any] = {"insecure": True, "timing": QUICK, "drain_s": 0.5}
        alice = make_node(
            "choir", "alice", at=f"0.0.0.0:{port}", advertise=addresses["alice"], **options
        )
        await alice.start()
        assert alice.group.address == addresses["alice"]
        assert alice.driver.process.address == addresses["alice"]
        bob = make_node("choir", "bob", at=addresses["bob"], seeds=[addresses["alice"]], **options)
        await bob.start()
        await exchange([alice, bob])
        await stop_all([alice, bob])

    play(loop_factory, scene())


def test_founding_member_may_listen_elsewhere(loop_factory: LoopFactory) -> None:
    """The list says where it is found, ``at`` where it listens."""

    async def scene() -> None:
        addresses = free_addresses(["alice", "bob"])
        port = addresses["bob"].rpartition(":")[2]
        alice = make_node("choir", "alice", members=addresses, insecure=True, timing=QUICK)
        bob = make_node(
            "choir", "bob", members=addresses, at=f"0.0.0.0:{port}", insecure=True, timing=QUICK
        )
        await start_all([alice, bob])
        assert bob.group.address == addresses["bob"]
        await exchange([alice, bob])
        await stop_all([alice, bob])

    play(loop_factory, scene())


HERE = "127.0.0.1:1"
WAYS: dict[str, tuple[dict[str, Any], str]] = {
    "not among the seeds": ({"at": HERE, "seeds": ["127.0.0.1:2"], "found": True}, "none of them"),
    "nowhere to be found": ({"at": HERE, "found": True}, "none of them"),
    "members too": ({"members": {"a": HERE}, "found": True}, "need no seeds, nor found"),
    "advertised twice": ({"members": {"a": HERE}, "advertise": HERE}, "nor found or advertise"),
    "advertised everywhere": (
        {"at": HERE, "advertise": "0.0.0.0:1", "insecure": True}, "cannot reach 0.0.0.0:1",
    ),
    "advertised beyond": ({"at": HERE, "advertise": "192.0.2.1:1"}, "insecure=True"),
    "advertised nonsense": ({"at": HERE, "advertise": "x"}, "host:port"),
    "advertised by number": ({"at": HERE, "advertise": 7001}, "advertise is an address, as text"),
    "everywhere": ({"at": "0.0.0.0:1", "insecure": True}, "or advertise one"),
    "found by word": ({"at": HERE, "seeds": [HERE], "found": "yes"}, "found is True or False"),
    "too many": (
        {"at": HERE, "seeds": [f"127.0.0.1:{n}" for n in range(1, 50)], "found": True},
        "at most 32 places",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WAYS)
def test_ways_in_that_make_no_sense_are_refused_at_once(what: str) -> None:
    """Before anything is opened, in one sentence."""
    options, advice = WAYS[what]
    with pytest.raises(UsageError, match=advice):
        join("choir", me="a", **options)


def test_what_a_faster_founder_says_is_not_lost(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who begins last has got messages of who has begun before it: it delivers them in order."""
    settled = FoundingByList._is_settled

    def is_settled(self: FoundingByList, driver: Driver, roll_call: RollCall) -> bool:
        is_done = settled(self, driver, roll_call)
        return is_done and (driver.process.name != "carol" or len(driver.reception._early) > 1)

    monkeypatch.setattr(FoundingByList, "_is_settled", is_settled)

    async def scene() -> None:
        nodes = make_choir(free_addresses())
        alice, bob, carol = nodes.values()
        starting = asyncio.ensure_future(carol.start())
        await start_all([alice, bob])
        for number in range(3):
            await alice.group.cbcast(b"%d" % number)
        await starting
        assert await read_payloads(carol.group, 3) == [b"0", b"1", b"2"]
        await stop_all(list(nodes.values()))

    play(loop_factory, scene())

"""What can go wrong at the start: one sentence each, which says what to do, and nothing left over.

The scenes run to their end under a harness that fails on any socket or task left behind.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.net.harness import (
    TRIO,
    LoopFactory,
    address_of,
    choir,
    exchange,
    free_addresses,
    play,
    until,
)
from tests.net.raw_peer import RawPeer, RawSenior, carol, handshake

from antiphon import Overlay, Process, UsageError, join
from antiphon.core.frames import VERSION
from antiphon.net.process.joining import make_node
from antiphon.net.process.node import Node
from antiphon.net.session import dialler

pytestmark = pytest.mark.net

SOON_S = 0.2


async def _refused(node: Node) -> str:
    """Start a node that cannot start; return why, which is said after process and group."""
    with pytest.raises(UsageError) as refusal:
        await node.start()
    said, config = str(refusal.value), node.config
    beginning = f"{config.me} cannot join group {config.group}: "
    assert said.startswith(beginning)
    return said.removeprefix(beginning)


def test_port_in_use_is_named(loop_factory: LoopFactory) -> None:
    """The sentence names the address and whom to give another one."""

    async def scene() -> str:
        addresses = free_addresses(["alice", "bob"])
        async with join("solo", me="alice", members={"alice": addresses["alice"]}):
            return await _refused(make_node("choir", "alice", members=addresses, connect_s=SOON_S))

    said = play(loop_factory, scene())
    assert "is in use: give alice another address" in said
    assert said.endswith("; a program in several groups at one address is an antiphon.Process")


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "a..b"])
def test_address_of_another_machine_cannot_be_listened_at(
    host: str, loop_factory: LoopFactory
) -> None:
    """An address that is not this machine's is no place to listen, nor is one that is nowhere."""
    node = make_node("choir", "alice", members={"alice": f"{host}:7001"}, insecure=True)
    said = play(loop_factory, _refused(node))
    assert f"{host}:7001 cannot be used (" in said
    assert said.endswith("give alice another address")


def test_missing_members_are_named(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """After the time allowed, the sentence names each member that is not there, and where."""
    addresses = free_addresses(("alice", "bob", "carol", "dave"))

    async def scene() -> list[str]:
        nodes = [
            make_node("choir", name, members=addresses, connect_s=SOON_S, trace=tmp_path)
            for name in ("bob", "carol")
        ]
        return await asyncio.gather(*map(_refused, nodes))

    for said in play(loop_factory, scene()):
        assert said.startswith(f"after 0.2 s alice does not answer at {addresses['alice']}")
        assert said.endswith(": is every member running?")
    assert not (tmp_path / "events").exists()


def test_missing_juniors_are_named_too(loop_factory: LoopFactory) -> None:
    """The most senior member asks too, and says who does not answer."""
    addresses = free_addresses()
    node = make_node("choir", "alice", members=addresses, connect_s=SOON_S)
    assert play(loop_factory, _refused(node)) == (
        f"after 0.2 s bob does not answer at {addresses['bob']}, "
        f"carol does not answer at {addresses['carol']}: "
        "is every member running?"
    )


def test_silent_server_in_place_of_a_member_is_named(loop_factory: LoopFactory) -> None:
    """Somebody listens there but never greets: that member does not answer."""

    async def scene() -> str:
        server = await asyncio.start_server(_keep_quiet, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            addresses = free_addresses(["alice", "bob"]) | {"alice": f"127.0.0.1:{port}"}
            return await _refused(make_node("choir", "bob", members=addresses, connect_s=SOON_S))

    assert "alice does not answer at 127.0.0.1:" in play(loop_factory, scene())


async def _keep_quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def _talk_nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 smtp.example.com ready\r\n")
    await reader.read()
    writer.close()


def test_server_of_another_kind_in_place_of_a_member_is_named(loop_factory: LoopFactory) -> None:
    """Somebody answers in another language: the sentence names the member and the address."""

    async def scene() -> str:
        server = await asyncio.start_server(_talk_nonsense, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            addresses = free_addresses(["alice", "bob"]) | {"alice": f"127.0.0.1:{port}"}
            return await _refused(make_node("choir", "bob", members=addresses, connect_s=SOON_S))

    assert "alice at 127.0.0.1:" in play(loop_factory, scene())


DIFFERENT: Mapping[str, tuple[str, list[str], str]] = {
    "another group": ("quartet", ["alice", "bob"], "it is in group"),
    "one member more": ("choir", ["alice", "bob", "carol"], "given other members"),
    "another name": ("choir", ["alice", "bertha"], "given other members"),
    "another order": ("choir", ["bob", "alice"], "given other members"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_disagreement_about_the_group_is_said_on_both_sides(
    what: str, loop_factory: LoopFactory
) -> None:
    """Who dials is told at once, who is dialled when its time is up: give all the same."""
    group, names, why = DIFFERENT[what]

    async def scene() -> tuple[str, str]:
        addresses = free_addresses(["alice", "bob"])
        theirs = free_addresses(names) | {"alice": addresses["alice"]}
        if what == "another order":
            theirs = {name: addresses[name] for name in names}
        alice = make_node("choir", "alice", members=addresses, connect_s=5 * SOON_S)
        me = next(name for name in names if name != "alice")
        other = make_node(group, me, members=theirs, connect_s=20 * SOON_S)
        return await asyncio.gather(_refused(alice), _refused(other))

    for said in play(loop_factory, scene()):
        assert why in said


def test_disagreement_is_known_from_a_question_alone(loop_factory: LoopFactory) -> None:
    """One who was given another order may never dial, only ask: that is enough to say why."""

    async def scene() -> str:
        addresses = free_addresses()
        alice = make_node("choir", "alice", members=addresses, connect_s=5 * SOON_S)
        waiting = asyncio.ensure_future(_refused(alice))
        peer = await RawPeer.reach(addresses["alice"])
        await peer.send(handshake(carol(addresses["carol"]), view=1, founding=7, is_asking=True))
        await peer.hear_end()
        await peer.close()
        return await waiting

    assert "given other members" in play(loop_factory, scene())


def test_connection_that_meets_itself_is_nobody(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dialling a dead port from the very same port connects to oneself: that is no member."""
    addresses = free_addresses()

    async def scene() -> str:
        kind: Any = type(asyncio.get_running_loop())
        dial = kind.create_connection

        async def dial_from_there(loop: Any, factory: Any, host: str, port: int) -> Any:
            return await dial(loop, factory, host, port, local_addr=(host, port))

        monkeypatch.setattr(kind, "create_connection", dial_from_there)
        bob = make_node("choir", "bob", members=addresses, connect_s=SOON_S)
        return await _refused(bob)

    assert play(loop_factory, scene()) == (
        f"after 0.2 s alice does not answer at {addresses['alice']}, "
        f"carol does not answer at {addresses['carol']}: is every member running?"
    )


def test_swapped_addresses_are_recognised(loop_factory: LoopFactory) -> None:
    """Whoever meets first says that addresses differ, or who is at the wrong one."""

    async def scene() -> list[str]:
        addresses = free_addresses(("alice", "bob", "carol", "dave"))
        swapped = addresses | {"alice": addresses["bob"], "bob": addresses["alice"]}
        nodes = [make_node("choir", n, members=addresses, connect_s=1.0) for n in ("alice", "bob")]
        nodes.append(make_node("choir", "carol", members=swapped, connect_s=1.0))
        return await asyncio.gather(*map(_refused, nodes))

    said = play(loop_factory, scene())
    assert any("correct the addresses" in one or "other addresses" in one for one in said)


def test_dead_seeds_are_named(loop_factory: LoopFactory) -> None:
    """After the time allowed, the sentence names every seed, and says what a seed is."""
    seeds = list(free_addresses(["x", "y"]).values())
    node = make_node("choir", "dave", at="127.0.0.1:0", seeds=seeds, connect_s=SOON_S)
    assert play(loop_factory, _refused(node)) == (
        f"after 0.2 s no member answers at {seeds[0]} or {seeds[1]}: "
        "give the address of a running member"
    )


def test_seed_that_is_in_no_group_is_not_called_dead(loop_factory: LoopFactory) -> None:
    """It runs: that is told apart from one where nobody is."""

    async def scene() -> None:
        dead = free_addresses(["x"])["x"]
        async with Process("alice", at="127.0.0.1:0") as alice:
            there = alice.address
            node = make_node(
                "choir", "dave", at="127.0.0.1:0", seeds=[there, dead], connect_s=SOON_S
            )
            assert await _refused(node) == (
                f"after 0.2 s no member answers: who listens at {there} is in no group (it hangs "
                f"up), and nobody answers at {dead}: give the address of a process that is in a "
                "group, or found this one: write seeds=[], or found=True with the addresses of "
                "all founders as seeds"
            )

    play(loop_factory, scene())


def test_dead_seed_beside_a_live_one_does_no_harm(loop_factory: LoopFactory) -> None:
    """One member that answers is enough."""

    async def scene() -> None:
        async with choir(["alice"]) as nodes:
            seeds = [free_addresses(["x"])["x"], address_of(nodes["alice"])]
            async with join("choir", me="bob", at="127.0.0.1:0", seeds=seeds) as group:
                assert group.members == ("alice", "bob")

    play(loop_factory, scene())


MISFITS: dict[str, tuple[dict[str, Any], str, str]] = {
    "another group": ({}, "quartet", "it is in group choir, not quartet"),
    "another flush": ({"flush": "coordinator"}, "choir", "flush='view-atomic', not 'coordinator'"),
    "another protocol": (
        {"protocol": Overlay("ring")},
        "choir",
        "has protocol vector, not overlay ring: give all",
    ),
    "a name that is taken": ({"name": "bob"}, "choir", "the name bob is taken by a member at"),
}


@pytest.mark.parametrize("what", MISFITS)
def test_joiner_that_does_not_fit_is_told_why_and_the_group_is_unharmed(
    what: str, loop_factory: LoopFactory
) -> None:
    """One sentence says what differs; nobody else notices anything."""
    options, group, why = MISFITS[what]

    async def scene() -> str:
        async with choir() as nodes:
            others = {key: value for key, value in options.items() if key != "name"}
            joiner = make_node(
                group, options.get("name", "dave"), at="127.0.0.1:0",
                seeds=[address_of(nodes["bob"])], **others,
            )  # fmt: skip
            said = await _refused(joiner)
            await exchange(list(nodes.values()))
            assert {node.group.view.number for node in nodes.values()} == {1}
            return said

    assert why in play(loop_factory, scene())


def test_joiner_of_another_version_is_told_so(loop_factory: LoopFactory) -> None:
    """A seed that speaks another version answers in it, and the sentence names both."""

    async def scene() -> str:
        seed = free_addresses(["x"])["x"]
        foreign = bytes([VERSION + 1]) + handshake()[1:]
        async with RawSenior(seed, foreign):
            return await _refused(make_node("choir", "dave", at="127.0.0.1:0", seeds=[seed]))

    said = play(loop_factory, scene())
    assert f"has version {VERSION + 1}, this process speaks version {VERSION}" in said


def test_seed_that_is_no_member_is_named(loop_factory: LoopFactory) -> None:
    """Something else listens there: the sentence says so."""

    async def scene() -> str:
        server = await asyncio.start_server(_talk_nonsense, "127.0.0.1", 0)
        async with server:
            seed = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            return await _refused(make_node("choir", "dave", at="127.0.0.1:0", seeds=[seed]))

    assert "is no member of group choir" in play(loop_factory, scene())


async def _restarted(node: Node) -> None:
    """Start a node that has been started before: what to do is said."""
    said = f"{node.config.me} has entered group choir before: call antiphon.join again"
    with pytest.raises(UsageError, match=said):
        await node.start()


def test_started_node_cannot_be_started_again(loop_factory: LoopFactory) -> None:
    """Neither while it runs, nor while it connects, nor after its stop; the first start goes on."""

    async def scene() -> None:
        async with choir() as nodes:
            node = nodes["alice"]
            await _restarted(node)
            await exchange(list(nodes.values()))
        await _restarted(node)
        addresses = free_addresses(["alice", "bob"])
        lonely = make_node("choir", "bob", members=addresses, connect_s=SOON_S)
        first = asyncio.ensure_future(_refused(lonely))
        await asyncio.sleep(0)
        await _restarted(lonely)
        assert "alice does not answer" in await first

    play(loop_factory, scene())


def test_member_may_begin_again_while_the_others_still_wait(loop_factory: LoopFactory) -> None:
    """One that gave up and is started anew is connected to, as if it came for the first time."""

    async def scene() -> None:
        addresses = free_addresses(("alice", "bob", "carol", "dave"))
        carol = make_node("choir", "carol", members=addresses)
        waiting = asyncio.ensure_future(carol.start())
        assert "bob does not answer" in await _refused(
            make_node("choir", "alice", members=addresses, connect_s=SOON_S)
        )
        nodes = [make_node("choir", name, members=addresses) for name in ("alice", "bob", "dave")]
        await asyncio.gather(waiting, *(node.start() for node in nodes))
        await exchange([*nodes, carol])
        await asyncio.gather(*(node.stop() for node in (*nodes, carol)))

    play(loop_factory, scene())


def test_strangers_do_not_keep_a_group_from_starting(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silent, wrong and hasty connections during the start are refused, and the group opens."""
    monkeypatch.setattr(dialler, "HANDSHAKE_S", 0.05)

    async def scene() -> None:
        addresses = free_addresses()
        nodes = [make_node("choir", name, members=addresses) for name in TRIO]
        starts = [asyncio.ensure_future(nodes[0].start())]
        await until(lambda: nodes[0].process.listener._server, "alice listens")
        strangers = [await RawPeer.connect(addresses["alice"]) for _ in range(3)]
        await strangers[0].send(handshake(domain=7))
        await strangers[1].say(b"\xff" * 100)
        starts += [asyncio.ensure_future(node.start()) for node in nodes[1:]]
        await asyncio.gather(*starts)
        for stranger in strangers:
            await stranger.hear_end()
            await stranger.close()
        await exchange(nodes)
        await asyncio.gather(*(node.stop() for node in nodes))

    play(loop_factory, scene())


def test_cancelled_start_leaves_nothing_behind(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """Whoever loses patience while others are missing can bind the port again at once."""

    async def scene() -> None:
        addresses = free_addresses()
        node = make_node("choir", "bob", members=addresses, trace=tmp_path)
        start = asyncio.ensure_future(node.start())
        await until(lambda: node.process.listener._server, "bob listens")
        start.cancel()
        await asyncio.wait([start])
        assert start.cancelled()
        async with join("solo", me="bob", members={"bob": addresses["bob"]}):
            pass

    play(loop_factory, scene())


def test_unwritable_trace_is_refused_before_anything_is_opened(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """A file where the folder should be, and a folder with another run: choose another one."""
    file = tmp_path / "file"
    file.write_bytes(b"")

    async def scene(trace: Path) -> str:
        with pytest.raises(UsageError) as refusal:
            async with join("solo", me="a", members=free_addresses(["a"]), trace=trace):
                pass
        return str(refusal.value)

    assert "choose another folder" in play(loop_factory, scene(file))
    used = tmp_path / "used"

    async def once() -> None:
        async with join("solo", me="a", members=free_addresses(["a"]), trace=used):
            pass

    play(loop_factory, once())
    assert "choose another run folder" in play(loop_factory, scene(used))


WAYS: dict[str, tuple[dict[str, Any], str]] = {
    "neither way": ({}, "give members"),
    "at nowhere": ({"members": {"a": "127.0.0.1:1"}, "at": "nowhere"}, "host:port"),
    "members and seeds": (
        {"members": {"a": "127.0.0.1:1"}, "seeds": ["127.0.0.1:1"]},
        "need no seeds",
    ),
    "one seed for many": ({"at": "127.0.0.1:1", "seeds": "127.0.0.1:2"}, "a list of addresses"),
    "a bad seed": ({"at": "127.0.0.1:1", "seeds": ["nowhere"]}, "host:port"),
    "a seed without port": ({"at": "127.0.0.1:1", "seeds": ["127.0.0.1:0"]}, "outside 1 to"),
    "a seed beyond loopback": ({"at": "127.0.0.1:1", "seeds": ["192.0.2.1:1"]}, "insecure=True"),
    "at beyond loopback": ({"at": "192.0.2.1:1"}, "insecure=True"),
    "at everywhere": ({"at": "0.0.0.0:1", "insecure": True}, "cannot reach"),
    "a bad flush": ({"at": "127.0.0.1:1", "flush": "x"}, "there is no flush 'x'"),
    "a bad name": ({"at": "127.0.0.1:1", "me": "a b"}, "use 1 to 64 letters"),
}


@pytest.mark.parametrize("what", WAYS)
def test_ways_in_that_make_no_sense_are_refused_at_once(what: str) -> None:
    """Before anything is opened, a sentence says which way in there is."""
    options, advice = WAYS[what]
    with pytest.raises(UsageError, match=advice):
        join("choir", **({"me": "a"} | options))


MISTAKES = {
    "no port": ({"a": "localhost"}, "host:port, such as 127.0.0.1:7001"),
    "no host": ({"a": ":7001"}, "host:port, such as 127.0.0.1:7001"),
    "port in words": ({"a": "localhost:http"}, "host:port, such as 127.0.0.1:7001"),
    "port in other digits": ({"a": "localhost:٧٠٠١"}, "host:port, such as 127.0.0.1:7001"),
    "negative port": ({"a": "localhost:-1"}, "host:port, such as 127.0.0.1:7001"),
    "port 0": ({"a": "localhost:0"}, "a port outside 1 to 65535"),
    "port too high": ({"a": "localhost:65536"}, "a port outside 1 to 65535"),
    "port without end": ({"a": "localhost:" + "9" * 5000}, "a port outside 1 to 65535"),
    "another's address": ({"a": "127.0.0.1:7001", "b": ""}, "host:port"),
    "not a member": ({"b": "127.0.0.1:7001"}, "a is no member of group choir: add it"),
    "nobody": ({}, "a is no member of group choir: add it"),
    "beyond loopback": ({"a": "127.0.0.1:1", "b": "192.0.2.1:1"}, "pass insecure=True if you"),
    "all interfaces": ({"a": "0.0.0.0:7001"}, "pass insecure=True if you"),
    "a host name": ({"a": "localhost:1", "b": "example.com:1"}, "pass insecure=True if you"),
    "a bad name": ({"a": "localhost:1", "b c": "localhost:2"}, "use 1 to 64 letters"),
    "a path as a name": ({"a": "localhost:1", "../b": "localhost:2"}, "use 1 to 64 letters"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistake_in_the_configuration_is_said_at_once(what: str) -> None:
    """Before anything is opened, a sentence says what is wrong with it and what is right."""
    members, advice = MISTAKES[what]
    with pytest.raises(UsageError, match=advice.replace(".", r"\.")):
        join("choir", me="a", members=members)


def test_group_needs_a_usable_name() -> None:
    """Group names obey the rules of names."""
    with pytest.raises(UsageError, match=r"group name 'a/b' is not usable: use 1 to 64 letters"):
        join("a/b", me="a", members={"a": "127.0.0.1:7001"})


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "[::1]"])
def test_loopback_needs_no_permission(host: str) -> None:
    """Every address of this machine alone is fine."""
    join("choir", me="a", members={"a": f"{host}:7001"})

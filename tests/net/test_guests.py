"""Guests: whoever is in no view can ask to be taken in, takes little room, and not for long."""

import asyncio
import sys
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from tests.net.harness import (
    QUICK,
    LoopFactory,
    Nodes,
    address_of,
    choir,
    exchange,
    free_addresses,
    play,
    read_payloads,
    until,
    until_view,
)
from tests.net.raw_peer import (
    DOMAIN,
    SECRET,
    Porter,
    RawPeer,
    ack,
    control,
    farewell,
    handshake,
    relay,
    run,
    runs,
    said,
)

from antiphon.core.control import Alive, AnyMessage, Decide, JoinRequest, Out, Want
from antiphon.core.frames import (
    FRAME_BYTES_MAX,
    Ack,
    Control,
    Frame,
    encode_control,
    encode_hello,
)
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.net.process.joining import make_node
from antiphon.net.session import dialler
from antiphon.net.session import lobby as lobby_module
from antiphon.net.session.credentials import ANSWER, DIAL, is_proven, proven
from antiphon.net.session.listener import STRANGERS_MAX
from antiphon.net.session.lobby import GUESTS_MAX, HELD_BYTES_MAX, Lobby
from antiphon.net.session.peer import Peer
from antiphon.net.transport.framing import GUEST_BYTES_MAX, HANDSHAKE_BYTES_MAX, with_length

pytestmark = pytest.mark.net

DORA = ProcessId("dora", 1, 1, "127.0.0.1:7004")


@asynccontextmanager
async def visited(**options: Any) -> AsyncIterator[tuple[Nodes, Porter]]:
    """Start a group of three, and a listener for who wants to join it."""
    (address,) = free_addresses(["guests"]).values()
    async with Porter(address) as porter, choir(**options) as nodes:
        yield nodes, porter
        assert {node.group.view.number for node in nodes.values()} == {1}
        await exchange(list(nodes.values()))


def test_idle_connections_take_little_and_the_oldest_go(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five hundred that say nothing: a hundred-odd stay, with a handshake's room each."""
    monkeypatch.setattr(dialler, "HANDSHAKE_S", 60.0)

    async def scene() -> None:
        async with choir() as nodes:
            tracemalloc.start()
            crowd = [await RawPeer.connect(address_of(nodes["alice"])) for _ in range(500)]
            _, peak_bytes = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            # Both ends are in this process: asyncio's own share is nearly all of it.
            assert peak_bytes < 500 * 32 * 1024
            for stranger in crowd[: 500 - STRANGERS_MAX]:
                assert await stranger.hear_end() == b""
            await crowd[-1].send(handshake(domain=7))
            assert await crowd[-1].hear_frame()
            await exchange(list(nodes.values()))
            for stranger in crowd:
                await stranger.close()

    play(loop_factory, scene())


def test_silent_guests_take_little_and_keep_no_joiner_out(loop_factory: LoopFactory) -> None:
    """More of them than there is room for, each about to send 16 MiB: a joiner is in at once."""

    async def scene() -> None:
        (address,) = free_addresses(["guests"]).values()
        async with Porter(address) as porter, choir() as nodes:
            alice = nodes["alice"]
            tracemalloc.start()
            crowd = []
            for number in range(GUESTS_MAX + 8):
                guest = await porter.visit(address_of(alice), f"guest{number}")
                await guest.say(with_length(bytes(GUEST_BYTES_MAX))[:GUEST_BYTES_MAX])
                crowd.append(guest)
            waiting = [peer for peer in alice.driver.mesh.peers.values() if peer.is_guest]
            assert len(waiting) == GUESTS_MAX
            _, peak_bytes = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak_bytes < GUESTS_MAX * 100 * 1024
            async with asyncio.timeout(3):
                (mine,) = free_addresses(["dora"]).values()
                dora = make_node("choir", "dora", at=mine, seeds=[address_of(alice)])
                await dora.start()
            await until_view(alice, ["alice", "bob", "carol", "dora"])
            await dora.stop()
            for guest in crowd:
                await guest.close()

    play(loop_factory, scene())


@pytest.mark.skipif(sys.platform != "linux", reason="needs more than one address of loopback")
def test_crowd_of_one_host_keeps_no_other_host_out(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If there are too many, the oldest of the host that has most goes, not the oldest of all."""
    monkeypatch.setattr(dialler, "HANDSHAKE_S", 60.0)

    async def scene() -> None:
        async with choir() as nodes:
            host, port = address_of(nodes["alice"]).split(":")
            away = await asyncio.open_connection(host, int(port), local_addr=("127.0.0.2", 0))
            first = RawPeer(*away)
            crowd = [await RawPeer.connect(f"{host}:{port}") for _ in range(STRANGERS_MAX + 5)]
            for stranger in crowd[:5]:
                assert await stranger.hear_end() == b""
            await first.send(handshake(domain=7))
            assert said(await first.hear_frame()).process.name == "alice"
            for stranger in (first, *crowd):
                await stranger.close()

    play(loop_factory, scene())


def test_new_member_is_heard_by_one_that_learns_of_it_later(loop_factory: LoopFactory) -> None:
    """What dora says to bob before he knows her is not lost: he reads it in her first view."""

    async def scene() -> None:
        (address,) = free_addresses(["guests"]).values()
        async with Porter(address) as porter, choir(timing=QUICK) as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            to_bob = await porter.visit(address_of(bob), "dora")
            me = porter.dialled[-1].process
            early = run(payloads=[b"early"], sender=3, view=2)
            await to_bob.send(control(Alive(2, (), 0, 2)), runs(early))
            to_alice = await porter.visit(address_of(alice), "dora")
            await to_alice.send(control(JoinRequest(me)))
            assert await read_payloads(bob.group, 1) == [b"early"]
            assert bob.group.view.members == ("alice", "bob", "carol", "dora")
            for peer in (to_bob, to_alice):
                await peer.close()
            await until_view(alice, ["alice", "bob", "carol"])

    play(loop_factory, scene())


def test_guest_that_announces_a_large_frame_loses_its_connection(
    loop_factory: LoopFactory,
) -> None:
    """Nothing is allocated for it, nobody is suspected, and the session can be taken up again."""

    async def scene() -> None:
        async with visited() as (nodes, porter):
            alice = nodes["alice"]
            guest = await porter.visit(address_of(alice), "guest")
            await guest.say(FRAME_BYTES_MAX.to_bytes(4, "little"))
            await guest.hear_end()
            await guest.close()
            first, address = porter.dialled[-1], address_of(alice)
            again = replace(first, secret=b"", nonce=b"n" * 16, to=alice.incarnation.start)
            for key, is_its in ((b"?" * 16, False), (SECRET, True)):
                hello = proven(key, DIAL, again, alice.incarnation.process)
                guest = await RawPeer.connect(address)
                await guest.send(encode_hello(DOMAIN, hello))
                answer = said(await guest.hear_frame())
                assert bool(answer.to) is is_its
                assert is_proven(SECRET, ANSWER, answer, first.process.bare()) is is_its
                await guest.close()

    play(loop_factory, scene())


def test_guest_that_says_nothing_whole_goes(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then is no sign of life, nor is an acknowledgement of nothing."""
    monkeypatch.setattr(lobby_module, "GUEST_SILENT_S", 0.3)

    async def scene() -> None:
        async with visited() as (nodes, porter):
            drips = await porter.visit(address_of(nodes["alice"]), "drips")
            acknowledges = await porter.visit(address_of(nodes["alice"]), "acknowledges")
            alice = nodes["alice"].driver.mesh
            assert sum(peer.is_guest for peer in alice.peers.values()) == 2

            async def drip() -> None:
                while True:
                    await drips.say(b"\0" if drips.is_quiet else with_length(bytes(1000))[:4])
                    drips.is_quiet = True
                    await acknowledges.send(ack(0))
                    await asyncio.sleep(0.02)

            dripping = asyncio.ensure_future(drip())
            await until(lambda: len(alice.peers) == 2, "both are gone")
            dripping.cancel()
            await asyncio.wait([dripping])
            for guest in (drips, acknowledges):
                await guest.hear_end()
                await guest.close()

    play(loop_factory, scene())


_NEXT = View(GroupName("choir"), ViewNumber(2), (DORA,), joined=(DORA,))

# What only members may say, and what would come of it.
CLAIMS: dict[str, bytes] = {
    "alice is out": control(Out(99)),
    "a view without anybody": control(Decide((_NEXT,))),
    "a message of bob": relay(run(payloads=[b"never said"], sender=1)),
    "a message of its own": runs(run(payloads=[b"never said"], sender=0)),
    "later views": control(Alive(9, (), 0, 9)),
    "nothing more": farewell(),
    "another joiner": control(JoinRequest(DORA)),
    "a question": control(Want(0)),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_a_guest_claims_does_not_count(claim: str, loop_factory: LoopFactory) -> None:
    """It is kept until the guest is known, which it never is."""

    async def scene() -> None:
        async with visited() as (nodes, porter):
            guest = await porter.visit(address_of(nodes["alice"]), "guest")
            await guest.send(CLAIMS[claim])
            await guest.send(ack(10_000))  # a fault: the connection ends, and the claim was read
            await guest.hear_end()
            await guest.close()

    play(loop_factory, scene())


def test_guest_that_asks_and_does_not_read_goes(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every request is refused, and the answers pile up only so far."""
    monkeypatch.setattr(lobby_module, "GUEST_SILENT_S", 60.0)

    async def scene() -> None:
        async with visited() as (nodes, porter):
            guest = await porter.visit(address_of(nodes["alice"]), "bob", boot=7)
            me = porter.dialled[-1].process
            asked = with_length(encode_control(DOMAIN, 1, JoinRequest(me)))
            with suppress(ConnectionError):
                for _ in range(10_000):
                    await guest.say(asked)
            mesh = nodes["alice"].driver.mesh
            await until(lambda: me not in mesh.peers, "it is gone")
            await guest.close()

    play(loop_factory, scene())


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(4))
def test_random_bytes_at_any_moment_harm_nobody(seed: int, loop_factory: LoopFactory) -> None:
    """Before a handshake, inside of one, behind one that is refused, and as a guest."""
    random = Random(seed)
    beginnings = [
        b"",
        random.randrange(1, HANDSHAKE_BYTES_MAX).to_bytes(4, "little"),
        with_length(handshake())[: random.randrange(4, 60)],
        with_length(handshake(view=1)),
        with_length(handshake()),
        with_length(handshake(is_asking=True)),
    ]
    frames = [control(Alive(1, (), 0, 1)), runs(run()), ack(0), control(Out(9)), relay(run())]

    async def scene() -> None:
        async with visited() as (nodes, porter):
            for number in range(60):
                address = address_of(random.choice(list(nodes.values())))
                if number % 2:
                    stranger = await porter.visit(address, f"guest{number}")
                    noise = bytearray(with_length(random.choice(frames)))
                    noise[random.randrange(4, len(noise))] ^= 1 << random.randrange(8)
                else:
                    stranger = await RawPeer.connect(address)
                    noise = bytearray(random.choice(beginnings))
                noise += random.randbytes(random.randrange(2000))
                try:
                    await stranger.say(bytes(noise))
                finally:
                    await stranger.close()

    play(loop_factory, scene())


# The lobby alone.


class _Wire:
    """As much of a link as the lobby needs."""

    def __init__(self) -> None:
        self.owner: Any = None
        self.peer: Any = None
        self.is_dropped = self.is_trusted = self.is_at_fault = False

    def receive_guest(self) -> None:
        self.is_trusted = False

    def trust(self) -> None:
        self.is_trusted = True

    def drop(self, why: str) -> None:
        del why
        self.is_dropped = True

    def write(self, stream_bytes: bytes) -> None:
        del stream_bytes


class _Mesh:
    """As much of a mesh as the lobby needs."""

    def __init__(self, *peers: Peer) -> None:
        self.peers = {peer.process: peer for peer in peers}
        self.admitted: set[ProcessId] = set()
        self.taken: list[Frame] = []
        self.dismissed: list[ProcessId] = []

    def is_admitted(self, peer: Peer) -> bool:
        return peer.process in self.admitted

    def on_frame(self, peer: Peer, frame: Frame, byte_count: int) -> None:
        del peer, byte_count
        self.taken.append(frame)

    def on_read(self, peer: Peer) -> None:
        del peer

    def dismiss(self, peer: Peer, why: str) -> None:
        del why
        self.dismissed.append(peer.process)
        self.peers.pop(peer.process)


def _guest(number: int = 0) -> Peer:
    peer = Peer(ProcessId(f"guest{number}", 0, 1, "127.0.0.1:7004"), is_dialled=False)
    peer.is_guest = True
    return peer


def _frame(message: AnyMessage) -> Frame:
    return Control(DOMAIN, 1, message)


async def _enter(lobby: Any, peer: Peer) -> _Wire:
    wire: Any = _Wire()
    lobby.receive(peer, wire)
    peer.attach(wire, 0)
    assert isinstance(wire, _Wire)
    return wire


def test_member_that_is_known_late_is_heard_in_order(loop_factory: LoopFactory) -> None:
    """What a guest says waits, requests behind it too, and is taken when the guest is known."""

    async def scene() -> None:
        peer = _guest()
        mesh: Any = _Mesh(peer)
        lobby = Lobby(mesh)
        wire = await _enter(lobby, peer)
        words = [
            _frame(Alive(2, (), 0, 2)),
            _frame(JoinRequest(peer.process.numbered(1))),
            _frame(Want(3)),
        ]
        for frame in (*words[:2], Ack(0)):
            lobby.on_frame(peer, frame, 20)
        assert mesh.taken == [Ack(0)]
        mesh.admitted.add(peer.process)
        lobby.on_frame(peer, words[2], 20)
        assert mesh.taken[1:] == words
        assert (wire.owner, wire.is_trusted, wire.is_dropped) == (mesh, True, False)

    play(loop_factory, scene())


def test_guest_that_says_too_much_is_cut_off_without_a_gap(loop_factory: LoopFactory) -> None:
    """What it says behind the last that was kept is not taken either: it will be repeated."""

    async def scene() -> None:
        peer = _guest()
        mesh: Any = _Mesh(peer)
        lobby = Lobby(mesh)
        wire = await _enter(lobby, peer)
        lobby.on_frame(peer, _frame(Want(1)), HELD_BYTES_MAX)
        assert wire.is_dropped
        lobby.on_frame(peer, _frame(JoinRequest(peer.process.numbered(1))), 20)
        mesh.admitted.add(peer.process)
        lobby.on_frame(peer, _frame(Want(2)), 20)
        assert mesh.taken == []
        assert not wire.is_at_fault

    play(loop_factory, scene())


def test_full_lobby_sends_the_most_silent_away(loop_factory: LoopFactory) -> None:
    """Those without a connection first; then who has said nothing longest; never a candidate."""

    async def scene() -> None:
        peers = [_guest(number) for number in range(GUESTS_MAX)]
        mesh: Any = _Mesh(*peers)
        lobby = Lobby(mesh)
        for peer in peers[1:]:
            await _enter(lobby, peer)
        await asyncio.sleep(0.002)
        for peer in peers[2:]:
            lobby.on_frame(peer, _frame(JoinRequest(peer.process.numbered(1))), 20)
        mesh.admitted.add(peers[1].process)
        lobby.sweep()
        for number in (0, 2, 3):
            lobby.make_room()
            assert mesh.dismissed[-1] == peers[number].process
            newcomer = _guest(100 + number)
            mesh.peers[newcomer.process.bare()] = newcomer
            await _enter(lobby, newcomer)

    play(loop_factory, scene())

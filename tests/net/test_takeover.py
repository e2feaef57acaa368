"""Sessions belong to those who began them: nobody who only asks and guesses can have one."""

import asyncio
from struct import unpack
from typing import Any

import pytest
from msgspec.structs import replace
from tests.net.harness import (
    QUICK,
    LoopFactory,
    address_of,
    choir,
    exchange,
    free_addresses,
    make_choir,
    play,
    start_all,
    stop_all,
    until,
    until_view,
)
from tests.net.raw_peer import (
    CAROL,
    CAROLS_START,
    DOMAIN,
    Porter,
    RawPeer,
    RawSenior,
    control,
    founders,
    founders_handshake,
    handshake,
    infiltrated,
    said,
)

from antiphon.core.control import Out
from antiphon.core.errors import PeerError
from antiphon.core.frames import Hello, decode_frame, encode_control, encode_hello
from antiphon.core.handshake import Handshake
from antiphon.core.ids import ProcessId
from antiphon.net.process.node import Node
from antiphon.net.session import credentials, listener
from antiphon.net.session.credentials import (
    ANSWER,
    ASK,
    DIAL,
    Credentials,
    draw_secret,
    is_proven,
    proven,
)
from antiphon.net.session.peer import Peer, PeerLink
from antiphon.net.session.probe import probe
from antiphon.net.transport.environment import SYSTEM
from antiphon.net.transport.framing import with_length
from antiphon.net.transport.link import Link

GARBAGE = b"\xff" * 50


def _link(one: Node, other: Node) -> PeerLink | None:
    return one.driver.mesh.peers[other.driver.process.bare()].link


async def _ask(address: str, **fields: Any) -> Handshake:
    asker = await RawPeer.connect(address)
    await asker.send(handshake(is_asking=True, secret=b"", **fields))
    answer = said(await asker.hear_frame())
    await asker.close()
    return answer


@pytest.mark.net
def test_asking_and_guessing_takes_nobodys_session(loop_factory: LoopFactory) -> None:
    """Hundreds of handshakes that get all numbers right, and garbage behind: nobody notices."""

    async def scene() -> None:
        async with choir() as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            await exchange(list(nodes.values()))
            link, bobs = _link(alice, bob), bob.driver.process
            assert link is not None
            told = await _ask(address_of(alice), process=bobs, start=bob.incarnation.start, view=1)
            assert (told.secret, told.proof, told.received) == (b"", b"", 0)
            other = await _ask(address_of(alice), process=bobs, start=9, view=1)
            assert (other.to, other.knows_other) == (0, True)
            for received in range(300):
                stranger = await RawPeer.connect(address_of(alice))
                guess: dict[str, Any] = {"to": told.start, "received": received}
                if received % 2:
                    guess |= {"nonce": draw_secret(SYSTEM), "proof": draw_secret(SYSTEM)}
                await stranger.send(
                    handshake(bobs, start=bob.driver.identity.start, view=1, **guess)
                )
                await stranger.say(GARBAGE)
                assert said(await stranger.hear_frame()).to == 0
                await stranger.close()
            assert _link(alice, bob) is link
            assert not link.is_dropped
            await exchange(list(nodes.values()))
            assert {node.group.view.number for node in nodes.values()} == {1}

    play(loop_factory, scene())


@pytest.mark.net
def test_member_that_has_not_connected_yet_cannot_be_impersonated(
    loop_factory: LoopFactory,
) -> None:
    """Who greets as carol while the group is founded, but is not where carol is, is refused."""

    async def scene() -> None:
        addresses = free_addresses()
        nodes = list(make_choir(addresses).values())
        first = asyncio.ensure_future(start_all(nodes[:CAROL]))
        for _ in range(20):
            impostor = await RawPeer.reach(addresses["alice"])
            await impostor.send(founders_handshake(addresses))
            assert said(await impostor.hear_frame()).to == 0
            await impostor.hear_end()
            await impostor.close()
        await nodes[CAROL].start()
        await first
        impostor = await RawPeer.connect(addresses["alice"])
        await impostor.send(handshake(founders(addresses)[CAROL], view=1))
        assert said(await impostor.hear_frame()).to == 0
        await impostor.close()
        await exchange(nodes)
        assert {node.group.view.number for node in nodes} == {1}
        await stop_all(nodes)

    play(loop_factory, scene())


@pytest.mark.net
def test_asking_in_a_members_name_does_not_cut_its_link(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only who knows the session's secret is believed to have lost the connection."""
    monkeypatch.setattr(listener, "_SILENT_US", -1)

    async def scene() -> None:
        async with choir() as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            link = _link(alice, bob)
            assert link is not None
            for _ in range(20):
                await _ask(
                    address_of(alice), process=bob.driver.process, start=bob.incarnation.start
                )
            assert _link(alice, bob) is link
            assert not link.is_dropped

    play(loop_factory, scene())


@pytest.mark.net
def test_claims_are_looked_into_now_and_then(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of claims to be a later start of bob make alice ask him a few times a second."""
    asked: list[str] = []

    async def counted(transport: Any, address: str, *args: Any) -> Any:
        asked.append(address)
        return await probe(transport, address, *args)

    async def scene() -> None:
        async with choir() as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            monkeypatch.setattr(credentials, "probe", counted)
            loop = asyncio.get_running_loop()
            began = loop.time()
            for number in range(200):
                claim = handshake(bob.driver.process, start=99, view=1, is_asking=bool(number % 2))
                stranger = await RawPeer.connect(address_of(alice))
                await stranger.send(claim)
                await stranger.hear_end()
                await stranger.close()
            assert 1 <= len(asked) <= 2 + 5 * (loop.time() - began)
            await exchange(list(nodes.values()))
            assert {node.group.view.number for node in nodes.values()} == {1}

    play(loop_factory, scene())


@pytest.mark.net
def test_first_handshake_whose_answer_was_lost_is_believed_again(
    loop_factory: LoopFactory,
) -> None:
    """A joiner that never heard it is welcome dials anew, with another secret, which counts."""

    async def scene() -> None:
        (address,) = free_addresses(["guests"]).values()
        async with Porter(address) as porter, choir() as nodes:
            alice = nodes["alice"]
            first = await porter.visit(address_of(alice), "dora")
            porter.dialled[-1] = replace(porter.dialled[-1], secret=draw_secret(SYSTEM))
            second = await RawPeer.connect(address_of(alice))
            await second.send(encode_hello(DOMAIN, porter.dialled[-1]))
            assert said(await second.hear_frame()).to == CAROLS_START
            await first.hear_end()
            dora = alice.driver.mesh.peers[porter.dialled[-1].process.bare()]
            assert dora.secret == porter.dialled[-1].secret
            for peer in (first, second):
                await peer.close()

    play(loop_factory, scene())


class _Successor(RawSenior):
    """Listens where a dead member did, and tells everybody that it is out."""

    def __init__(self, address: str, dead: ProcessId) -> None:
        """Say of itself what the member said to everybody."""
        super().__init__(address)
        self._dead = dead
        self.count = 0

    def answer(self, handshake: Handshake) -> list[bytes]:
        """Answer as the member would, but for the proof, which it cannot give."""
        self.count += 1
        mine = Handshake("choir", "view-atomic", self._dead, CAROLS_START, 9)
        mine = replace(mine, to=handshake.start, nonce=handshake.nonce, proof=draw_secret(SYSTEM))
        return [encode_hello(DOMAIN, mine), control(Out(9))]


@pytest.mark.net
def test_who_takes_a_dead_members_place_is_not_believed(loop_factory: LoopFactory) -> None:
    """It cannot say that others are out; they give the member up when it has been silent."""

    async def scene() -> None:
        async with infiltrated(timing=QUICK) as group:
            await group.porter.__aexit__()
            async with _Successor(group.addresses["carol"], founders(group.addresses)[CAROL]) as it:
                for peer in group.to.values():
                    peer.is_quiet = True
                    await peer.close()
                for node in group.honest:
                    await until_view(node, ["alice", "bob"])
                assert it.count
            await exchange(group.honest)

    play(loop_factory, scene())


# Without sockets: what is a proof, and what is none.

ALICE, BOB = ProcessId("alice", address="127.0.0.1:1"), ProcessId("bob", address="127.0.0.1:2")
KEY = draw_secret(SYSTEM)


def _handshake(**fields: Any) -> Handshake:
    return Handshake("choir", "view-atomic", BOB, 5, **fields)


@pytest.mark.parametrize(
    "change",
    [{"start": 6}, {"to": 1}, {"received": 8}, {"process": ALICE}, {"is_asking": True}],
    ids=lambda change: next(iter(change)),
)
def test_proof_covers_all_that_is_said(change: dict[str, Any]) -> None:
    """A handshake is proven as it was said, by who knows the secret, to whom it was said."""
    shown = proven(KEY, DIAL, _handshake(received=7, nonce=draw_secret(SYSTEM)), ALICE)
    assert is_proven(KEY, DIAL, shown, ALICE)
    assert not is_proven(KEY, DIAL, replace(shown, **change), ALICE)
    assert not is_proven(KEY, DIAL, replace(shown, nonce=draw_secret(SYSTEM)), ALICE)
    assert not is_proven(KEY, DIAL, shown, BOB)
    assert not is_proven(KEY, ASK, shown, ALICE)
    assert not is_proven(draw_secret(SYSTEM), DIAL, shown, ALICE)


def test_nothing_proves_nothing() -> None:
    """Without a secret, or without a proof, nothing is proven."""
    assert not is_proven(b"", DIAL, proven(b"", DIAL, _handshake(), ALICE), ALICE)
    assert not is_proven(KEY, DIAL, _handshake(), ALICE)


class _Incarnation:
    """As much of an incarnation as greets."""

    process = ALICE

    def hello(
        self,
        other: ProcessId,
        to: int = 0,
        received: int = 0,
        *,
        is_asking: bool = False,
        group: str | None = None,
    ) -> Hello:
        del other, group
        said = Handshake("choir", "view-atomic", ALICE, 1, 1, 0, to, received, 0, is_asking)
        return Hello(DOMAIN, said)


def test_answer_of_another_time_is_refused(loop_factory: LoopFactory) -> None:
    """Whoever has kept an answer, or has none that is proven, cannot go on with the session."""

    async def scene() -> None:
        mine, peer, link = (
            Credentials(_Incarnation(), SYSTEM),
            Peer(BOB, is_dialled=True),
            Link[Peer](_NOBODY),
        )
        first = said(mine.to_dial(peer, link))
        assert first.secret
        mine.believe(peer, link, _handshake(to=1))
        assert peer.secret == first.secret
        again = said(mine.to_dial(peer, link))
        assert (again.secret, len(again.nonce), len(again.proof)) == (b"", 16, 16)
        answer = proven(peer.secret, ANSWER, _handshake(to=1, nonce=again.nonce), ALICE)
        mine.believe(peer, link, answer)
        for old in (_handshake(to=1), _handshake(to=1, nonce=again.nonce), replace(answer, to=2)):
            with pytest.raises(PeerError, match="does not show"):
                mine.believe(peer, link, old)
        mine.to_dial(peer, link)
        with pytest.raises(PeerError, match="does not show"):
            mine.believe(peer, link, answer)

    play(loop_factory, scene())


_NOBODY: Any = None


def test_stranger_in_a_dead_members_place_cannot_say_that_the_group_has_gone_on(
    loop_factory: LoopFactory,
) -> None:
    """Who is blocked asks there, and does not believe who cannot show the session's secret."""

    async def scene() -> int:
        addresses = free_addresses()
        nodes = make_choir(addresses, timing=QUICK, drain_s=0.05)
        alice, bob, carol = nodes.values()
        await start_all(list(nodes.values()))
        await exchange(list(nodes.values()))
        for node in (bob, carol):
            alice.incarnation.on_dead(
                alice.driver.mesh.peers[node.driver.process.bare()], "a test says so"
            )
        assert not alice.group.view.primary
        for node in (bob, carol):
            await node._end("killed")
        return await _answer_out(alice, addresses["bob"])

    async def _answer_out(alice: Node, address: str) -> int:
        asked = 0

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal asked
            hello = decode_frame(await reader.readexactly(*unpack("<I", await reader.read(4))))
            assert isinstance(hello, Hello)
            asked += 1
            zed = replace(
                hello.handshake, process=ProcessId("bob", 2, 7, address), view=99, proof=b""
            )
            for frame in (
                encode_hello(hello.domain, zed),
                encode_control(hello.domain, 2, Out(98)),
            ):
                writer.write(with_length(frame))
            await writer.drain()
            writer.close()

        host, port = address.split(":")
        async with await asyncio.start_server(answer, host, int(port)):
            await until(lambda: asked >= 3, "the blocked one has asked")
            assert not alice.driver.is_over
        await alice.stop()
        return asked

    assert play(loop_factory, scene()) >= 3

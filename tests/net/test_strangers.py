"""Connections that do not belong: each is closed, and a live group of three does not notice."""

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.net.harness import LoopFactory, address_of, choir, exchange, play, rows_of
from tests.net.raw_peer import RawPeer, carol, control, farewell, handshake, run, runs

from antiphon.core.control import Out
from antiphon.core.frames import FRAME_BYTES_MAX, VERSION, Hello, decode_frame
from antiphon.core.ids import ProcessId
from antiphon.net.session import dialler
from antiphon.net.transport.framing import with_length
from antiphon.trace.schema import LEFT

pytestmark = pytest.mark.net

_UNKNOWN_VERSION = bytes([VERSION + 1]) + handshake()[1:]
_UNKNOWN_KIND = handshake()[:1] + b"\x63" + handshake()[2:]
_UNREADABLE = handshake()[:8] + bytes([handshake()[8] ^ 0xFF]) + handshake()[9:]
_AWAY = carol("192.0.2.1:7003")

# What a stranger says, and what the log gives as the reason.
STRANGERS = {
    "a web browser": (b"GET / HTTP/1.1\r\nHost: antiphon\r\n\r\n", "above the limit"),
    "random bytes": (bytes(range(256)), "above the limit"),
    "a huge length": (b"\xff\xff\xff\xff", "above the limit"),
    "a member's frame size": (FRAME_BYTES_MAX.to_bytes(4, "little"), "above the limit of 4736"),
    "an empty frame": (with_length(b""), "too short"),
    "an unknown version": (with_length(_UNKNOWN_VERSION), "version 2"),
    "an unknown kind": (with_length(_UNKNOWN_KIND), "unknown kind 99"),
    "a handshake cut short": (with_length(handshake()[:-1]), "cannot be read"),
    "a handshake with a tail": (with_length(handshake() + b"!"), "cannot be read"),
    "a handshake that is none": (with_length(_UNREADABLE), "cannot be read"),
    "a name that is none": (with_length(handshake(ProcessId("../carol"))), "cannot be read"),
    "another domain": (with_length(handshake(domain=7)), "another protocol"),
    "another group": (with_length(handshake(domain=7, group="quartet")), "in group quartet"),
    "another flush": (with_length(handshake(domain=7, flush="x")), "flush='x'"),
    "an address beyond this machine": (with_length(handshake(_AWAY)), "beyond this machine"),
    "an address that is none": (with_length(handshake(carol("nowhere"))), "beyond this machine"),
    "a former member": (with_length(handshake(view=1)), "carol is no member"),
    "a session of nobody": (with_length(handshake(to=5)), "does not know of"),
    "messages, ungreeted": (with_length(runs(run())), "before its handshake"),
    "a farewell, ungreeted": (with_length(farewell()), "before its handshake"),
    "a control message, ungreeted": (with_length(control(Out(9))), "before its handshake"),
}

_HUNG_UP = "ended before its handshake: the connection was closed"


@pytest.mark.parametrize("what", STRANGERS)
def test_stranger_is_turned_away_and_nobody_else_notices(
    what: str, loop_factory: LoopFactory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection ends, the log says why, and the members go on, none of them suspected."""
    said, why = STRANGERS[what]
    caplog.set_level(logging.INFO, "antiphon")

    async def scene() -> None:
        async with choir(folder=tmp_path) as nodes:
            stranger = await RawPeer.connect(address_of(nodes["alice"]))
            await stranger.say(said)
            await stranger.hear_end()
            await stranger.close()
            await exchange(list(nodes.values()))
            assert {node.group.view.number for node in nodes.values()} == {1}

    play(loop_factory, scene())
    reasons = [record.getMessage() for record in caplog.records if "refused" in record.msg]
    # On a busy machine members hang up on each other, too, where both have dialled.
    strangers = [reason for reason in reasons if not reason.endswith(_HUNG_UP)]
    assert len(strangers) == 1, reasons
    assert why in strangers[0]
    _check_untroubled(tmp_path, caplog)


@pytest.mark.parametrize("beginning", [b"", with_length(handshake())[:-1]], ids=["none", "partial"])
def test_silent_stranger_is_turned_away_in_time(
    beginning: bytes,
    loop_factory: LoopFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever does not finish a handshake in time is disconnected; the members go on."""
    monkeypatch.setattr(dialler, "HANDSHAKE_S", 0.05)
    caplog.set_level(logging.INFO, "antiphon")

    async def scene() -> None:
        async with choir(folder=tmp_path) as nodes:
            stranger = await RawPeer.connect(address_of(nodes["bob"]))
            await stranger.say(beginning)
            assert await stranger.hear_end() == b""
            await stranger.close()
            await exchange(list(nodes.values()))
            assert {node.group.view.number for node in nodes.values()} == {1}

    play(loop_factory, scene())
    assert "it never sent a handshake" in caplog.text
    _check_untroubled(tmp_path, caplog)


def test_member_that_greeted_in_time_is_never_dropped_for_it(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit on handshakes ends with the handshake: quiet members stay connected."""
    monkeypatch.setattr(dialler, "HANDSHAKE_S", 0.05)

    async def scene() -> None:
        async with choir() as nodes:
            stranger = await RawPeer.connect(address_of(nodes["alice"]))
            await stranger.hear_end()  # later than any limit that began with the group
            await stranger.close()
            assert {node.group.view.number for node in nodes.values()} == {1}
            await exchange(list(nodes.values()))

    play(loop_factory, scene())


def test_stranger_learns_whom_it_has_reached(loop_factory: LoopFactory) -> None:
    """A handshake is answered even if it is refused, so that the other side can say why."""

    async def scene() -> None:
        async with choir() as nodes:
            stranger = await RawPeer.connect(address_of(nodes["alice"]))
            await stranger.send(handshake(domain=7))
            heard = decode_frame(await stranger.hear_frame())
            assert isinstance(heard, Hello)
            assert (heard.handshake.process.name, heard.handshake.group) == ("alice", "choir")
            assert await stranger.hear_end() == b""
            await stranger.close()

    play(loop_factory, scene())


def test_impostor_with_a_members_id_harms_nobody(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """Whoever claims to be a later start of bob is turned away: bob is looked after, and lives."""

    async def scene() -> None:
        async with choir(folder=tmp_path) as nodes:
            alice, bob = nodes["alice"], nodes["bob"]
            claims: list[dict[str, Any]] = [{"view": 1}, {"view": 1, "is_asking": True}, {}]
            for fields in claims:
                impostor = await RawPeer.connect(address_of(alice))
                await impostor.send(handshake(bob.driver.process, start=99, **fields))
                heard = decode_frame(await impostor.hear_frame())
                assert isinstance(heard, Hello)
                assert (heard.handshake.to, heard.handshake.proof) == (0, b"")
                assert await impostor.hear_end() == b""
                await impostor.close()
            await exchange(list(nodes.values()))
            assert {node.group.view.number for node in nodes.values()} == {1}

    play(loop_factory, scene())


def test_crowd_of_strangers_leaves_no_trace(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """Fifty strangers at once, some still connected at the end, hinder nobody from stopping."""

    async def scene() -> None:
        async with choir(folder=tmp_path) as nodes:
            addresses = [address_of(node) for node in nodes.values()]
            crowd = [await RawPeer.connect(addresses[i % len(addresses)]) for i in range(50)]
            for i, stranger in enumerate(crowd):
                await stranger.say(b"?" * (i % 7))
            await exchange(list(nodes.values()))
            for stranger in crowd:
                await stranger.close()

    play(loop_factory, scene())
    assert {rows_of(tmp_path, name)[-1].detail for name in ("alice", "bob")} == {LEFT}


def _check_untroubled(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody suspected anybody, everybody ended well, and nothing worse than a note was logged."""
    for name in ("alice", "bob", "carol"):
        rows = rows_of(folder, name)
        assert not [row for row in rows if row.kind == "suspect"]
        assert (rows[-1].kind, rows[-1].detail) == ("stop", LEFT)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]

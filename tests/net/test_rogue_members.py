"""A member that lies: its connection is dropped, for a reason, and the others go on.

Carol has greeted correctly. Whatever she sends alice then, only the link between those two may
suffer: alice and bob keep each other, and bob keeps carol.
"""

import logging
from pathlib import Path

import pytest
from tests.net.harness import (
    LoopFactory,
    address_of,
    exchange,
    play,
    read_payloads,
    rows_of,
    until,
)
from tests.net.raw_peer import (
    CAROL,
    Infiltrated,
    RawPeer,
    farewell,
    greeting,
    infiltrated,
    run,
    runs,
)

from antiphon.core.frames import FRAME_BYTES_MAX, NUMBER_MAX, VERSION
from antiphon.core.runs import Order
from antiphon.net.framing import with_length

pytestmark = pytest.mark.net

_TRUTH = runs(run(1, payloads=[b"a", b"b"]))
_GOOD = runs(run(3))


def _frames(*frames: bytes) -> bytes:
    return b"".join(map(with_length, frames))


# After two true messages to both, what carol sends to alice, and what alice says of her.
LIES = {
    "replay": (_frames(runs(run(1))), "repeats message 1 of member 2, expected 3"),
    "replay of the last": (_frames(runs(run(2))), "repeats message 2 of member 2, expected 3"),
    "replay and more": (_frames(runs(run(2, payloads=[b"b", b"c"]))), "repeats message 2"),
    "gap": (_frames(runs(run(4))), "skips to message 4 of member 2, expected 3"),
    "gap to the end of numbers": (_frames(runs(run(NUMBER_MAX))), "skips to message"),
    "beyond the end of numbers": (_frames(runs(run(NUMBER_MAX + 1))), "announces 1 messages"),
    "another group": (_frames(runs(run(3, group=7))), "group number 7"),
    "another view": (_frames(runs(run(3, view=2))), "view 2 of choir, not 1"),
    "no view": (_frames(runs(run(3, view=0))), "view 0 of choir, not 1"),
    "a run of bob": (_frames(runs(run(3, sender=1))), "a run of member 1 comes from member 2"),
    "a run of alice": (_frames(runs(run(3, sender=0))), "a run of member 0 comes from member 2"),
    "a run of nobody": (_frames(runs(run(3, sender=3))), "a run of member 3 comes from member 2"),
    "a run of bob, in his frame": (_frames(runs(run(3, sender=1), rank=1)), "process 1"),
    "a farewell for bob": (_frames(farewell(1)), "process 1"),
    "a frame of another domain": (_frames(runs(run(3), domain=7)), "domain 0x7"),
    "knows what alice never said": (_frames(runs(run(3, stamp=((0, 5),)))), "own message 5"),
    "knows a fourth member": (_frames(runs(run(3, stamp=((3, 1),)))), "entry for member 3"),
    "a lie behind a promise": (
        _frames(runs(run(3, stamp=((1, 1), (3, 1))))),
        "entry for member 3",
    ),
    "messages after farewell": (_frames(farewell(), _GOOD), "after it has said bye"),
    "farewell twice": (_frames(farewell(), farewell()), "after it has said bye"),
    "greets twice": (_frames(greeting()), "greets twice"),
    "an unknown version": (_frames(bytes([VERSION + 1]) + _GOOD[1:]), "version 2"),
    "an unknown kind": (_frames(_GOOD[:1] + b"\x63" + _GOOD[2:]), "unknown kind 99"),
    "an empty frame": (_frames(b""), "too short"),
    "a frame cut short": (_frames(_GOOD[:-1]), "not there"),
    "a frame with a tail": (_frames(_GOOD + b"!"), "more than its header"),
    "a huge length": ((FRAME_BYTES_MAX + 1).to_bytes(4, "little"), "above the limit"),
    "garbage": (b"\xff" * 1000, "above the limit"),
    "total order": (_frames(runs(run(3, order=Order.TOTAL))), "total"),
}


@pytest.mark.parametrize("lie", LIES)
def test_lie_costs_the_liar_its_link_and_nobody_else_anything(
    lie: str, loop_factory: LoopFactory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection is dropped, `lost`, the log and a suspect row say why, and others go on."""
    said, why = LIES[lie]

    async def scene() -> None:
        async with infiltrated(tmp_path) as group:
            alice, bob = group.honest
            for name, peer in group.to.items():
                await peer.send(_TRUTH)
                assert await read_payloads(group.nodes[name].group, 2) == [b"a", b"b"]
            await group.to["alice"].say(said)
            await group.to["alice"].hear_end()
            await until(lambda: alice.group.lost, "alice has lost carol")
            assert list(alice.group.lost) == ["carol"]
            assert why in alice.group.lost["carol"]
            assert not bob.group.lost
            await exchange([alice, bob])
            await _check_bob_still_hears_carol(group)

    play(loop_factory, scene())
    suspected = [row for row in rows_of(tmp_path, "alice") if row.kind == "suspect"]
    assert [row.sender for row in suspected] == ["carol"]
    assert why in suspected[0].detail
    _check_log(caplog, why)


async def _check_bob_still_hears_carol(group: Infiltrated) -> None:
    await group.to["bob"].send(_GOOD)
    assert await read_payloads(group.nodes["bob"].group, 1) == [b"la"]


def _check_log(caplog: pytest.LogCaptureFixture, why: str) -> None:
    """One warning by alice, and nothing that looks like a failure of ours."""
    warnings = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert [text for text in warnings if why in text and text.startswith("alice lost carol")]
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR or r.exc_info]


def test_stamp_that_is_wrong_further_on_does_not_hit_an_honest_member(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Carol's stamp waits for alice, then names what bob never sent: alice is not to blame."""

    async def scene() -> None:
        async with infiltrated(tmp_path) as group:
            alice, bob = group.honest
            await group.to["bob"].send(runs(run(stamp=((0, 1), (1, 5)))))
            await until(lambda: bob.group.lost or bob.held_runs, "carol's run has arrived")
            await exchange([alice, bob])
            await until(lambda: bob.group.lost, "bob has lost carol")
            assert list(bob.group.lost) == ["carol"]
            assert not alice.group.lost

    play(loop_factory, scene())


def test_promise_of_what_another_may_still_say_is_only_held(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """A stamp naming bob's future messages may be true: it is held, and delivered in its turn."""

    async def scene() -> None:
        async with infiltrated(tmp_path) as group:
            alice, bob = group.honest
            await group.to["alice"].send(runs(run(stamp=((1, 2),), payloads=[b"after two"])))
            await until(lambda: alice.held_runs == 1, "carol's run is held")
            for word in (b"one", b"two", b"three"):
                await bob.group.cbcast(word)
            got = await read_payloads(alice.group, 4)
            assert got.index(b"after two") > got.index(b"two") > got.index(b"one")
            assert not alice.group.lost

    play(loop_factory, scene())


def test_what_came_before_the_lie_is_delivered(loop_factory: LoopFactory) -> None:
    """Messages of earlier frames count; the lie, and what follows it, never does."""

    async def scene() -> None:
        async with infiltrated() as group:
            alice = group.nodes["alice"]
            await group.to["alice"].send(runs(run(1, payloads=[b"true"])))
            assert await read_payloads(alice.group, 1) == [b"true"]
            await group.to["alice"].send(
                runs(run(3, payloads=[b"false"])), runs(run(2, payloads=[b"late"]))
            )
            await until(lambda: alice.group.lost, "alice has lost carol")
            await alice.group.cbcast(b"mine")
            assert await read_payloads(alice.group, 1) == [b"mine"]

    play(loop_factory, scene())


def test_member_may_dawdle_in_the_middle_of_a_frame(loop_factory: LoopFactory) -> None:
    """A frame in two pieces is a frame; until the second comes, the others go on."""

    async def scene() -> None:
        async with infiltrated() as group:
            alice, bob = group.honest
            frame = with_length(runs(run()))
            await group.to["alice"].say(frame[:5])
            await exchange([alice, bob])
            await group.to["alice"].say(frame[5:])
            assert await read_payloads(alice.group, 1) == [b"la"]
            assert not alice.group.lost

    play(loop_factory, scene())


@pytest.mark.parametrize("ending", ["close", "end_stream", "mid-frame"])
def test_member_that_ends_without_farewell_is_lost(
    ending: str, loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """However the connection ends, without a BYE the member is lost, and suspected."""

    async def scene() -> None:
        async with infiltrated(tmp_path) as group:
            alice, bob = group.honest
            if ending == "mid-frame":
                await group.to["alice"].say(with_length(_GOOD)[:5])
            if ending == "end_stream":
                group.to["alice"].end_stream()
            else:
                await group.to["alice"].close()
            await until(lambda: alice.group.lost, "alice has lost carol")
            assert "closed" in alice.group.lost["carol"]
            await exchange([alice, bob])

    play(loop_factory, scene())
    assert [row.sender for row in rows_of(tmp_path, "alice") if row.kind == "suspect"] == ["carol"]


def test_member_that_said_farewell_is_not_lost(loop_factory: LoopFactory, tmp_path: Path) -> None:
    """A BYE and the end of the stream is how members leave: nobody is suspected."""

    async def scene() -> None:
        async with infiltrated(tmp_path) as group:
            alice, bob = group.honest
            for name, peer in group.to.items():
                await peer.send(farewell())
                peer.end_stream()
                await peer.hear_end()
                assert not group.nodes[name].group.lost
            await exchange([alice, bob])

    play(loop_factory, scene())
    for name in ("alice", "bob"):
        rows = rows_of(tmp_path, name)
        assert not [row for row in rows if row.kind == "suspect"]
        assert rows[-1].detail == "quiescent"


def test_rogue_that_comes_back_is_refused(loop_factory: LoopFactory) -> None:
    """Nobody can tell what a lost member missed, so it is not taken back."""

    async def scene() -> None:
        async with infiltrated() as group:
            alice, bob = group.honest
            await group.to["alice"].send(runs(run(2)))
            await until(lambda: alice.group.lost, "alice has lost carol")
            why = alice.group.lost
            again = await RawPeer.connect(address_of(alice))
            await again.send(greeting(CAROL, incarnation=2), _GOOD)
            await again.hear_end()
            await again.close()
            await exchange([alice, bob])
            assert alice.group.lost == why

    play(loop_factory, scene())

"""A member that lies: it is given up, for a reason, and the others go on without it.

Carol has greeted correctly. Whatever she sends alice then, nobody else suffers: alice and bob
agree on a view without her, and go on.
"""

import logging
from pathlib import Path

import pytest
from tests.net.harness import (
    QUICK,
    LoopFactory,
    address_of,
    exchange,
    play,
    read,
    read_payloads,
    rows_of,
    until,
    until_view,
    verdict_on,
)
from tests.net.raw_peer import (
    CAROL,
    Infiltrated,
    RawPeer,
    ack,
    control,
    farewell,
    founders,
    handshake,
    infiltrated,
    relay,
    run,
    runs,
)

from antiphon.core.control import Alive, Out
from antiphon.core.frames import FRAME_BYTES_MAX, VERSION, Control, Hello, decode_frame
from antiphon.core.records import NUMBER_MAX
from antiphon.core.runs import Run, SetsOrder
from antiphon.net.transport.framing import with_length
from antiphon.trace.schema import LEFT

pytestmark = pytest.mark.net

_TRUTH = runs(run(1, payloads=[b"a", b"b"]))
_GOOD = runs(run(3))


def _frames(*frames: bytes) -> bytes:
    return b"".join(map(with_length, frames))


# After two true messages to both, what carol sends to alice, and what alice says of her.
LIES = {
    "gap": (_frames(runs(run(4))), "skips to message 4 of member 2, expected 3"),
    "gap to the end of numbers": (_frames(runs(run(NUMBER_MAX))), "skips to message"),
    "beyond the end of numbers": (_frames(runs(run(NUMBER_MAX + 1))), "announces 1 messages"),
    "another group": (_frames(runs(run(3, group=7))), "group number 7"),
    "a run of bob": (_frames(runs(run(3, sender=1))), "a run of member 1 comes from another"),
    "a run of alice": (_frames(runs(run(3, sender=0))), "a run of member 0 comes from another"),
    "a run of nobody": (_frames(runs(run(3, sender=3))), "a run of member 3 comes from another"),
    "a relayed run of nobody": (_frames(relay(run(1, sender=3))), "sender number 3"),
    "receipt of what was never sent": (_frames(ack(10_000)), "10000 frames are acknowledged"),
    "receipt of what alice never said": (
        _frames(control(Alive(1, ((0, 5),), 0, 1))),
        "what was never multicast",
    ),
    "an unreadable control message": (_frames(control(Out(1))[:-1]), "cannot be read"),
    "knows what alice never said": (_frames(runs(run(3, stamp=((0, 5),)))), "own message 5"),
    "knows a fourth member": (_frames(runs(run(3, stamp=((3, 1),)))), "entry for member 3"),
    "a lie behind a promise": (
        _frames(runs(run(3, stamp=((1, 1), (3, 1))))),
        "entry for member 3",
    ),
    "messages after farewell": (_frames(farewell(), _GOOD), "after it has said bye"),
    "farewell twice": (_frames(farewell(), farewell()), "after it has said bye"),
    "greets twice": (_frames(handshake()), "a second handshake"),
    "an unknown version": (_frames(bytes([VERSION + 1]) + _GOOD[1:]), "version 2"),
    "an unknown kind": (_frames(_GOOD[:1] + b"\x63" + _GOOD[2:]), "unknown kind 99"),
    "an empty frame": (_frames(b""), "too short"),
    "a frame cut short": (_frames(_GOOD[:-1]), "not there"),
    "a frame with a tail": (_frames(_GOOD + b"!"), "more than its header"),
    "a huge length": ((FRAME_BYTES_MAX + 1).to_bytes(4, "little"), "above the limit"),
    "garbage": (b"\xff" * 1000, "above the limit"),
    "a turn of nobody": (_frames(runs(run(3, sets_order=SetsOrder(1, ((7, 1),))))), "view of"),
    "a successor that is nobody": (
        _frames(runs(run(3, sets_order=SetsOrder(1, (), 7)))),
        "view of",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_lie_costs_the_liar_its_place_and_nobody_else_anything(
    lie: str, loop_factory: LoopFactory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection is dropped, the log and a suspect row say why, and the others go on."""
    said, why = LIES[lie]

    async def scene() -> None:
        async with infiltrated(tmp_path) as group:
            for name, peer in group.to.items():
                await peer.send(_TRUTH)
                assert await read_payloads(group.nodes[name].group, 2) == [b"a", b"b"]
            await group.to["alice"].say(said)
            await group.to["alice"].hear_end()
            await _go_on_without_carol(group)

    play(loop_factory, scene())
    suspected = [row for row in rows_of(tmp_path, "alice") if row.kind == "suspect"]
    assert [row.sender for row in suspected] == ["carol"]
    assert why in suspected[0].detail
    assert not [row for row in rows_of(tmp_path, "bob") if row.kind == "suspect"]
    _check_log(caplog, why)
    verdict_on(tmp_path)


async def _go_on_without_carol(group: Infiltrated) -> None:
    for node in group.honest:
        await until_view(node, ["alice", "bob"])
        assert node.group.view.failed == ("carol",)
    await exchange(group.honest)


def _check_log(caplog: pytest.LogCaptureFixture, why: str) -> None:
    """One warning by alice, and nothing that looks like a failure of ours."""
    warnings = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert [text for text in warnings if why in text and text.startswith("alice suspects carol")]
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR or r.exc_info]


def test_stamp_that_is_wrong_further_on_does_not_hit_an_honest_member(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Carol's stamp waits for alice, then names what bob never sent: alice is not to blame."""

    async def scene() -> None:
        async with infiltrated(tmp_path) as group:
            alice, bob = group.honest
            await group.to["bob"].send(runs(run(stamp=((0, 1), (1, 5)))))
            await until(
                lambda: bob.group.view.number > 1 or bob.local_group.held_runs, "it has arrived"
            )
            await exchange([alice, bob])
            await _go_on_without_carol(group)

    play(loop_factory, scene())


def test_promise_of_what_another_may_still_say_is_only_held(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """A stamp naming bob's future messages may be true: it is held, and delivered in its turn."""

    async def scene() -> None:
        async with infiltrated(tmp_path) as group:
            alice, bob = group.honest
            await group.to["alice"].send(runs(run(stamp=((1, 2),), payloads=[b"after two"])))
            await until(lambda: alice.local_group.held_runs == 1, "carol's run is held")
            for word in (b"one", b"two", b"three"):
                await bob.group.cbcast(word)
            got = await read_payloads(alice.group, 4)
            assert got.index(b"after two") > got.index(b"two") > got.index(b"one")
            assert alice.group.view.number == 1

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
            await until_view(alice, ["alice", "bob"])
            await alice.group.cbcast(b"mine")
            assert await read_payloads(alice.group, 1) == [b"mine"]
            assert await read_payloads(group.nodes["bob"].group, 2) == [b"true", b"mine"]

    play(loop_factory, scene())


@pytest.mark.parametrize("again", [run(1), run(2), run(1, payloads=[b"a", b"b"])])
def test_what_is_said_twice_counts_once(again: Run, loop_factory: LoopFactory) -> None:
    """A replay is dropped: a run may also come by way of another member, earlier or later."""

    async def scene() -> None:
        async with infiltrated() as group:
            alice, carol = group.nodes["alice"], group.to["alice"]
            await carol.send(_TRUTH, runs(again), relay(again), _GOOD)
            got = [message.number for message in await read(alice.group, 3)]
            assert got == [1, 2, 3]
            assert alice.group.view.number == 1

    play(loop_factory, scene())


def test_member_may_dawdle_in_the_middle_of_a_frame(loop_factory: LoopFactory) -> None:
    """A frame in two pieces is a frame; until the second comes, the others go on."""

    async def scene() -> None:
        async with infiltrated() as group:
            alice, bob = group.honest
            frame = with_length(runs(run()))
            group.to["alice"].is_quiet = True
            await group.to["alice"].say(frame[:5])
            await exchange([alice, bob])
            await group.to["alice"].say(frame[5:])
            assert await read_payloads(alice.group, 1) == [b"la"]
            assert alice.group.view.number == 1

    play(loop_factory, scene())


@pytest.mark.parametrize("ending", ["close", "end_stream", "mid-frame", "farewell"])
def test_member_whose_connection_ends_for_good_is_given_up_in_time(
    ending: str, loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """However it ends, if the member does not come back it is suspected, and the others go on."""

    async def scene() -> None:
        async with infiltrated(tmp_path, timing=QUICK) as group:
            if ending == "mid-frame":
                await group.to["alice"].say(with_length(_GOOD)[:5])
            if ending == "farewell":
                await group.to["alice"].send(farewell())
            if ending in {"end_stream", "farewell"}:
                group.to["alice"].end_stream()
            else:
                await group.to["alice"].close()
            group.to["alice"].is_quiet = True
            await _go_on_without_carol(group)

    play(loop_factory, scene())
    assert [row.sender for row in rows_of(tmp_path, "alice") if row.kind == "suspect"] == ["carol"]
    for name in ("alice", "bob"):
        assert rows_of(tmp_path, name)[-1].detail == LEFT


def test_one_who_was_given_up_is_told_so(loop_factory: LoopFactory) -> None:
    """It gets no session any more; if it asks, it learns since which view it is out."""

    async def scene() -> None:
        async with infiltrated() as group:
            alice = group.nodes["alice"]
            await group.to["alice"].send(runs(run(2)))
            await until_view(alice, ["alice", "bob"])
            await until(lambda: len(alice.driver.mesh.peers) == 1, "alice has forgotten carol")
            carol = founders(group.addresses)[CAROL]
            again = await RawPeer.connect(address_of(alice))
            await again.send(handshake(carol, view=1, to=alice.incarnation.start), _GOOD)
            assert await again.hear_end()
            await again.close()
            asking = await RawPeer.connect(address_of(alice))
            await asking.send(handshake(carol, view=1, is_asking=True))
            answer = decode_frame(await asking.hear_frame())
            assert isinstance(answer, Hello)
            assert (answer.handshake.to, answer.handshake.next_incarnation) == (0, 2)
            told = decode_frame(await asking.hear_frame())
            assert isinstance(told, Control)
            assert told.message == Out(2)
            await asking.close()
            await exchange(group.honest)

    play(loop_factory, scene())

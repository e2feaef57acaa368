"""One process in several groups, on sockets: what it has once, and what each group has."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.net.harness import (
    QUICK,
    TRIO,
    LoopFactory,
    free_addresses,
    play,
    read_payloads,
    until,
    verdict_on,
)
from tests.net.houses import house, until_members, views_of

from antiphon import ExcludedError, Message, Process, Timing, UsageError, View, join
from antiphon.trace.reader import read_rows

pytestmark = pytest.mark.net


def test_pair_of_processes_has_one_connection_whatever_the_number_of_groups(
    loop_factory: LoopFactory,
) -> None:
    """And each group has its own views, messages and stream."""
    groups = {f"room-{number}": "abc" for number in range(8)}

    async def scene() -> None:
        async with house(groups) as built:
            for name, rooms in built.rooms.items():
                peers = built.mesh(name).peers.values()
                assert len(peers) == 2
                assert all(peer.link is not None for peer in peers)
                for group, handle in rooms.items():
                    await handle.cbcast(f"{name} in {group}".encode())
            for rooms in built.rooms.values():
                for group, handle in rooms.items():
                    said = sorted(await read_payloads(handle, 3))
                    assert said == [f"{name} in {group}".encode() for name in TRIO]

    play(loop_factory, scene())


def test_crash_changes_the_view_of_every_group_concerned(loop_factory: LoopFactory) -> None:
    """It is noticed once; a group in which the dead process was not stays as it is."""

    async def scene() -> None:
        async with house({"one": "abc", "two": "abc", "without": "ab"}) as built:
            await built.kill("carol")
            for name in ("alice", "bob"):
                for group in ("one", "two"):
                    await until_members(built.rooms[name][group], "alice", "bob")
                assert built.rooms[name]["without"].view.number == 1

    play(loop_factory, scene())


def test_leaving_is_of_one_group_and_who_comes_again_has_the_next_number(
    loop_factory: LoopFactory,
) -> None:
    """The connection stays; in the other group nothing happens at all."""

    async def scene() -> None:
        async with house({"one": "abc", "two": "abc"}) as built:
            carol, alice = built.processes["carol"], built.rooms["alice"]
            links = [peer.link for peer in built.mesh("carol").peers.values()]
            await built.rooms["carol"]["one"].__aexit__()
            await until_members(alice["one"], "alice", "bob")
            assert carol.groups == ("two",)
            async with carol.join("one") as again:
                assert again.me == "carol~2"
                await until_members(alice["one"], "alice", "bob", "carol~2")
                await again.cbcast(b"back")
                assert await read_payloads(alice["one"], 1) == [b"back"]
                await alice["one"].cbcast(b"welcome")
                assert await read_payloads(again, 2) == [b"back", b"welcome"]
                await built.rooms["carol"]["two"].cbcast(b"all the time")
                assert await read_payloads(alice["two"], 1) == [b"all the time"]
            assert alice["two"].view.number == 1
            assert alice["two"].members == built.rooms["carol"]["two"].members
            assert [peer.link for peer in built.mesh("carol").peers.values()] == links

    play(loop_factory, scene())


def test_who_comes_again_with_found_is_not_in_the_first_view_any_more(
    loop_factory: LoopFactory,
) -> None:
    """Others still say how the group was founded; it joins, as the next in number."""

    async def scene() -> None:
        async with house({"one": "abc", "two": "abc"}) as built:
            carol, alice = built.processes["carol"], built.rooms["alice"]["one"]
            await built.rooms["carol"]["one"].__aexit__()
            seeds = list(built.addresses.values())
            async with carol.join("one", seeds=seeds, found=True) as again:
                assert (again.me, again.view.number) == ("carol~2", 3)
                await until_members(alice, "alice", "bob", "carol~2")
                await alice.cbcast(b"welcome")
                assert await read_payloads(again, 1) == [b"welcome"]

    play(loop_factory, scene())


def test_group_that_is_founded_anew_is_not_traced_as_the_old_one(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """A run folder takes one run; without a trace it is founded, by the next in number."""

    async def scene(trace: Path | None) -> None:
        async with house({"one": "a", "two": "abc"}, trace=trace) as built:
            await built.rooms["alice"]["one"].__aexit__()
            again = built.processes["alice"].join("one", seeds=[])
            if trace is None:
                async with again:
                    assert (again.me, again.view.number) == ("alice~2", 1)
                return
            with pytest.raises(UsageError, match="alice cannot join group one: it was in it"):
                await again.__aenter__()

    play(loop_factory, scene(None))
    play(loop_factory, scene(tmp_path))


def test_processes_that_share_no_group_any_more_meet_again(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their connection is closed meanwhile; the session sleeps, and goes on."""
    monkeypatch.setattr("antiphon.net.session.mesh.DEPART_S", 0.1)

    async def scene() -> None:
        async with house({"ab": "ab", "bc": "bc", "ac": "ac"}) as built:
            bob = built.processes["bob"]
            await built.rooms["bob"]["ab"].__aexit__()
            await until(lambda: len(built.mesh("bob").peers) == 1, "bob has only carol")
            await until(lambda: len(built.mesh("alice").peers) == 1, "alice has only carol")
            async with bob.join("ac") as room:  # found through carol, who is in it
                await until_members(room, "alice", "bob", "carol")
                await room.cbcast(b"here again")
                assert await read_payloads(built.rooms["alice"]["ac"], 1) == [b"here again"]

    play(loop_factory, scene())


@pytest.mark.parametrize("forgetful", ["alice", "bob"])
def test_session_that_one_side_has_forgotten_begins_anew(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch, forgetful: str
) -> None:
    """Be it the side that dials or the one that is dialled; nothing of the new group is lost."""
    monkeypatch.setattr("antiphon.net.session.mesh.DEPART_S", 0.1)

    async def scene() -> None:
        async with house({"ab": "ab", "bc": "bc", "ac": "ac"}) as built:
            await built.rooms["bob"]["ab"].__aexit__()
            for name in ("alice", "bob"):
                await until(lambda one=name: len(built.mesh(one).peers) == 1, "only carol is left")  # type: ignore[misc]
            assert built.mesh(forgetful)._asleep
            built.mesh(forgetful)._asleep.clear()
            async with built.processes["bob"].join("ac") as room:
                await until_members(room, "alice", "bob", "carol")
                await room.cbcast(b"here again")
                assert await read_payloads(built.rooms["alice"]["ac"], 1) == [b"here again"]
                await built.rooms["alice"]["ac"].cbcast(b"so you are")
                assert await read_payloads(room, 2) == [b"here again", b"so you are"]
            assert built.rooms["alice"]["ac"].view.failed == ()

    play(loop_factory, scene())


def test_minority_in_one_group_is_a_majority_in_another(loop_factory: LoopFactory) -> None:
    """Two of five are gone: the group of the three dead and one waits, the others go on."""
    names = ("alice", "bob", "carol", "dave", "emil")

    async def scene() -> None:
        async with house({"most": "abcde", "few": "ade"}, names) as built:
            for name in ("dave", "emil"):
                await built.kill(name)
            await until_members(built.rooms["alice"]["most"], "alice", "bob", "carol")
            few = built.rooms["alice"]["few"]
            await until(lambda: not few.view.primary, "alice has lost the others of few")
            await built.rooms["alice"]["most"].cbcast(b"on")
            assert await read_payloads(built.rooms["bob"]["most"], 1) == [b"on"]

    play(loop_factory, scene())


def test_who_is_excluded_from_one_group_is_out_of_all(loop_factory: LoopFactory) -> None:
    """Its streams end; the others go on without it in every group."""

    async def scene() -> None:
        async with house({"one": "abc", "two": "abc"}) as built:
            for name in ("alice", "bob"):
                built.shut_out("carol", by=name)
            for group in ("one", "two"):
                await until_members(built.rooms["alice"][group], "alice", "bob")
                with pytest.raises(ExcludedError):
                    await read_payloads(built.rooms["carol"][group], 1)
            assert not built.rooms["carol"]["one"].view.primary

    play(loop_factory, scene())


def test_who_comes_back_does_so_in_all_groups(loop_factory: LoopFactory) -> None:
    """As one new incarnation of the process, which is heard in each."""

    async def scene() -> None:
        async with house({"one": "abc", "two": "abc"}, rejoin=True) as built:
            reading = [
                asyncio.ensure_future(read_payloads(handle, 1))
                for handle in built.rooms["carol"].values()
            ]
            for name in ("alice", "bob"):
                built.shut_out("carol", by=name)
            for group in ("one", "two"):
                await until_members(built.rooms["alice"][group], "alice", "bob", "carol~2")
                await built.rooms["alice"][group].cbcast(group.encode())
            assert await asyncio.gather(*reading) == [[b"one"], [b"two"]]
            assert len(built.mesh("carol").peers) == 2

    play(loop_factory, scene())


def test_who_comes_back_goes_on_with_a_group_of_its_own(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Nobody else could let it in there; who joins later gets a view after the last one."""

    async def scene() -> None:
        async with house({"own": "c", "one": "abc"}, rejoin=True, trace=tmp_path) as built:
            own = built.rooms["carol"]["own"]
            await own.cbcast(b"before")
            reading = asyncio.ensure_future(views_of(own))
            for name in ("alice", "bob"):
                built.shut_out("carol", by=name)
            other = asyncio.ensure_future(read_payloads(built.rooms["carol"]["one"], 1))
            await until_members(built.rooms["alice"]["one"], "alice", "bob", "carol~2")
            await built.rooms["alice"]["one"].cbcast(b"welcome back")
            assert await other == [b"welcome back"]
            await until_members(own, "carol~2")
            async with built.processes["alice"].join("own") as guest:
                await until_members(guest, "carol~2", "alice")
                await own.cbcast(b"after")
                assert await read_payloads(guest, 1) == [b"after"]
            await own.__aexit__()
            views = await reading
            assert [view.members for view in views[:3]] == [
                ("carol",), ("carol~2",), ("carol~2", "alice"),
            ]  # fmt: skip
            assert [view.number for view in views[:3]] == [1, 2, 3]

    play(loop_factory, scene())
    verdict_on(tmp_path / "own")


def test_group_is_found_through_a_process_that_is_not_in_it(loop_factory: LoopFactory) -> None:
    """Whoever is asked names the processes that it knows."""

    async def scene() -> None:
        (mine,) = free_addresses(["dora"]).values()
        async with house({"ab": "ab", "bc": "bc"}) as built:
            seeds = [built.addresses["alice"]]
            async with (
                Process("dora", at=mine, seeds=seeds, timing=QUICK) as dora,
                dora.join("bc") as room,
            ):
                await until_members(room, "bob", "carol", "dora")

    play(loop_factory, scene())


def test_process_of_one_group_and_one_of_many_are_in_a_group_together(
    loop_factory: LoopFactory,
) -> None:
    """What ``antiphon.join`` makes is a process like any other."""

    async def scene() -> None:
        (mine,) = free_addresses(["dora"]).values()
        async with house({"one": "abc", "two": "abc"}) as built:
            seeds = [built.addresses["bob"]]
            async with join("one", me="dora", at=mine, seeds=seeds, timing=QUICK) as room:
                await until_members(built.rooms["alice"]["one"], *TRIO, "dora")
                await room.cbcast(b"hello")
                assert await read_payloads(built.rooms["carol"]["one"], 1) == [b"hello"]
            await until_members(built.rooms["alice"]["one"], *TRIO)

    play(loop_factory, scene())


def test_application_that_is_done_leaves_in_the_background(loop_factory: LoopFactory) -> None:
    """Where the others cannot let it go, its part in the group lives on, and so do its groups."""

    async def scene() -> None:
        names = (*TRIO, "dave")
        async with house({"stuck": "abc", "going": "ad"}, names) as built:
            alice = built.rooms["alice"]
            for name in ("bob", "carol"):
                await built.kill(name)
            await until(lambda: not alice["stuck"].view.primary, "alice has lost the others")
            await asyncio.wait_for(alice["stuck"].__aexit__(), 5)
            assert built.processes["alice"].groups == ("going",)
            with pytest.raises(UsageError, match="join group stuck: it has not left it yet"):
                async with built.processes["alice"].join("stuck", connect_s=0.2):
                    pass
            await alice["going"].cbcast(b"on")
            assert await read_payloads(built.rooms["dave"]["going"], 1) == [b"on"]

    play(loop_factory, scene())


def test_traces_of_groups_are_apart_and_each_is_sound(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """A run folder for each group; who leaves and comes again is another process in it."""

    async def scene() -> None:
        async with house({"one": "abc", "two": "abc"}, trace=tmp_path) as built:
            for rooms in built.rooms.values():
                for handle in rooms.values():
                    await handle.cbcast(b"x")
            await built.rooms["carol"]["one"].__aexit__()
            async with built.processes["carol"].join("one") as again:
                await again.cbcast(b"y")
                await read_payloads(again, 1)

    play(loop_factory, scene())
    for group in ("one", "two"):
        verdict_on(tmp_path / group)
        assert {row.group for row, _, _ in read_rows(tmp_path / group / "events")} <= {"", group}
    names = {row.process for row, _, _ in read_rows(tmp_path / "one" / "events")}
    assert names == {*TRIO, "carol~2"}


def test_joiners_of_several_groups_at_once(loop_factory: LoopFactory) -> None:
    """One process enters ten groups in the same breath, through one seed."""

    async def scene() -> None:
        groups = {f"room-{number}": "ab" for number in range(10)}
        (mine,) = free_addresses(["dora"]).values()
        async with house(groups, TRIO[:2]) as built, AsyncExitStack() as stack:
            seeds = [built.addresses["alice"]]
            dora = await stack.enter_async_context(
                Process("dora", at=mine, seeds=seeds, timing=Timing())
            )
            rooms = await asyncio.gather(
                *(stack.enter_async_context(dora.join(group)) for group in groups)
            )
            for room in rooms:
                assert "dora" in room.members
                await room.cbcast(room.name.encode())
            for group in groups:
                assert await read_payloads(built.rooms["bob"][group], 1) == [group.encode()]
            assert dora._local.incarnation is not None
            assert len(dora._local.incarnation.mesh.peers) == 2

    play(loop_factory, scene())


def test_events_of_one_group_do_not_show_in_another(loop_factory: LoopFactory) -> None:
    """Each stream has its own views and messages."""

    async def scene() -> None:
        async with house({"one": "abc", "two": "ab"}) as built:
            await built.rooms["carol"]["one"].cbcast(b"in one")
            await built.rooms["alice"]["two"].cbcast(b"in two")
            seen: list[Message | View] = []
            async for event in built.rooms["bob"]["two"]:
                assert isinstance(event, Message | View)
                seen.append(event)
                if isinstance(event, Message):
                    break
            assert [type(event) for event in seen] == [View, Message]
            assert seen[1] == Message("alice", 1, b"in two")

    play(loop_factory, scene())

"""Mistakes with several groups: one sentence each, and nobody else is harmed."""

import asyncio
from typing import Any

import pytest
from tests.net.harness import QUICK, TRIO, LoopFactory, free_addresses, play, read_payloads
from tests.net.houses import house

from antiphon import ExcludedError, Group, Process, UsageError, join
from antiphon.testing import Cluster

pytestmark = pytest.mark.net


def test_group_is_joined_once(loop_factory: LoopFactory) -> None:
    """The error names process and group; the handle that there is goes on."""

    async def scene() -> None:
        async with house({"one": "ab"}, TRIO[:2]) as built:
            with pytest.raises(UsageError, match="alice has joined group one already"):
                built.processes["alice"].join("one")
            await built.rooms["alice"]["one"].cbcast(b"x")
            assert await read_payloads(built.rooms["bob"]["one"], 1) == [b"x"]

    play(loop_factory, scene())


def test_who_is_excluded_leaves_its_handle_and_joins_again() -> None:
    """The stream and a hasty join say the same; what they say works."""

    async def enter(me: str, at: str, seeds: list[str]) -> tuple[Process, Group]:
        process = await Process(me, at=at, seeds=seeds).__aenter__()
        return process, await process.join("one").__aenter__()

    async def come_again(process: Process, group: Group) -> tuple[str, str, tuple[str, ...]]:
        with pytest.raises(ExcludedError) as excluded:
            _ = [event async for event in group]
        with pytest.raises(UsageError) as refused:
            process.join("one")
        await group.__aexit__(None, None, None)
        async with process.join("one") as again:
            return str(excluded.value), str(refused.value), again.members

    with Cluster() as cluster:
        first = cluster.process("alice")
        entered = {
            me: cluster.process(me).run(
                enter(me, cluster[me].address, [first.address] if me != "alice" else [])
            )
            for me in TRIO
        }
        for me in TRIO[:2]:
            cluster[me].collect(entered[me][1])
        cluster.pause("carol")
        cluster.wait_until(lambda: entered["alice"][1].members == ("alice", "bob"))
        cluster.resume("carol")
        ended, said, members = cluster["carol"].run(come_again(*entered["carol"]))
    advice = "leave its handle (the `async with` block), then join again"
    assert ended.endswith(f": {advice}")
    assert said == f"carol is out of group one, but has not left it: {advice}"
    assert members == ("alice", "bob", "carol~2")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"trace": "runs"},
            r"trace is given once, for all groups: antiphon.Process\(..., trace=...",
        ),
        ({"rejoin": True, "timing": None}, r"rejoin and timing are given once, for all groups: "),
        ({"members": {}}, r"members is for antiphon.join: here, found the group by seeds=\[\], or"),
    ],
)
def test_option_that_belongs_elsewhere_is_sent_there(options: dict[str, Any], said: str) -> None:
    """Where it belongs is said; what belongs nowhere is Python's to refuse."""

    async def scene() -> None:
        process: Any = Process("alice", at="127.0.0.1:0")
        with pytest.raises(UsageError, match=said):
            process.join("one", **options)
        with pytest.raises(TypeError, match="unexpected keyword argument 'seed'"):
            process.join("one", seed=[])

    asyncio.run(scene())


def test_unknown_group_is_not_made_by_the_way(loop_factory: LoopFactory) -> None:
    """Who answers is named, and what to do."""
    said = (
        r"alice cannot join group two: after 0.4 s nobody who answers \(bob at .*\) is in the "
        r"group: is its name right\? to found it write seeds=\[\], or found=True with the addresses"
    )

    async def scene() -> None:
        async with house({"one": "ab"}, TRIO[:2]) as built:
            with pytest.raises(UsageError, match=said):
                async with built.processes["alice"].join("two", connect_s=0.4):
                    pass
            assert built.processes["alice"].groups == ("one",)
            assert built.rooms["bob"]["one"].view.number == 1

    play(loop_factory, scene())


def test_name_that_is_taken_in_a_group_is_refused_there(loop_factory: LoopFactory) -> None:
    """Two processes of one name may be in different groups, not in one."""
    said = "alice cannot join group one: the name alice is taken by a member at"

    async def scene() -> None:
        (mine,) = free_addresses(["other"]).values()
        async with house({"one": "ab"}, TRIO[:2]) as built:
            seeds = [built.addresses["bob"]]
            async with (
                Process("alice", at=mine, seeds=seeds, timing=QUICK) as other,
                other.join("mine", seeds=[]) as room,
            ):
                with pytest.raises(UsageError, match=said):
                    async with other.join("one", seeds=seeds, connect_s=3):
                        pass
                await room.cbcast(b"still here")
                assert await read_payloads(room, 1) == [b"still here"]
            assert built.rooms["bob"]["one"].view.number == 1

    play(loop_factory, scene())


def test_group_whose_settings_differ_is_not_joined(loop_factory: LoopFactory) -> None:
    """What differs is said; the process's other groups, and the group itself, are unharmed."""
    said = "dora cannot join group one: .* flush='view-atomic', not 'coordinator'"

    async def scene() -> None:
        (mine,) = free_addresses(["dora"]).values()
        async with house({"one": "ab", "two": "ab"}, TRIO[:2]) as built:
            seeds = [built.addresses["bob"]]
            async with (
                Process("dora", at=mine, seeds=seeds, timing=QUICK) as dora,
                dora.join("two") as two,
            ):
                with pytest.raises(UsageError, match=said):
                    async with dora.join("one", flush="coordinator"):
                        pass
                await two.cbcast(b"x")
                assert await read_payloads(built.rooms["alice"]["two"], 1) == [b"x"]
            assert built.rooms["bob"]["one"].view.number == 1

    play(loop_factory, scene())


def test_handle_that_was_never_entered_claims_nothing(loop_factory: LoopFactory) -> None:
    """After ``await alice.join(...)`` what is right works, and so does the handle, in its turn."""
    write = r"write `async with process.join\(...\) as group:`"

    async def scene() -> None:
        async with Process("alice", at="127.0.0.1:0") as alice:
            handle: Any = alice.join("one", domain="here")
            with pytest.raises(UsageError, match=write):
                await handle
            with pytest.raises(UsageError, match=write):
                await anext(aiter(handle))
            with pytest.raises(UsageError, match="connect_s"):
                alice.join("two", domain="here", connect_s=-1)
            async with alice.join("one", domain="here") as one:
                with pytest.raises(UsageError, match="alice has joined group one already"):
                    await handle.__aenter__()
                with pytest.raises(UsageError, match=r"one before: call process\.join again"):
                    await one.__aenter__()
                assert one.members == ("alice",)
            async with handle as again:  # its own journal in the domain: the next number
                assert again.members == ("alice~2",)
            late = alice.join("late")
        with pytest.raises(UsageError, match=r"alice has ended: .* to join group late"):
            await late.__aenter__()

    play(loop_factory, scene())


def test_process_is_entered_before_its_groups_and_once(loop_factory: LoopFactory) -> None:
    """Each mistake in one sentence."""

    async def scene() -> None:
        alice = Process("alice", at="127.0.0.1:0")
        with pytest.raises(UsageError, match="group one: enter the process first"):
            async with alice.join("one"):
                pass
        async with alice as entered, entered.join("one") as room:
            assert room.members == ("alice",)
            with pytest.raises(UsageError, match="has been entered before"):
                await alice.__aenter__()
        with pytest.raises(UsageError, match="has ended"):
            alice.join("two")
        with pytest.raises(UsageError, match="not awaited but entered"):
            await alice  # type: ignore[misc]

    play(loop_factory, scene())


def test_group_with_more_members_than_a_field_has_room_for_is_refused() -> None:
    """By the call: 4,096 are as many as a rank can tell apart."""
    members = {f"m{number}": f"127.0.0.1:{20_000 + number}" for number in range(4_097)}
    with pytest.raises(UsageError, match="at most 4096 members, not 4097"):
        join("choir", me="m0", members=members)
    del members["m4096"]
    join("choir", me="m0", members=members)

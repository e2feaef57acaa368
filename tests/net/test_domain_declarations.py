"""What a domain declares of its groups, and flushes between domains, on sockets."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.net.building import build, causality, read, shut_out
from tests.net.harness import QUICK, LoopFactory, free_addresses, play

import antiphon
from antiphon import CausalDomain, ExcludedError, Group, Process, UsageError
from antiphon.trace.verdict import Status

pytestmark = pytest.mark.net


def test_overlap_that_is_not_declared_is_refused(loop_factory: LoopFactory) -> None:
    """It names the groups, and harms nobody: the process goes on in the others."""
    domain = CausalDomain("d", overlaps=[("hall", "room-*")])

    async def scene() -> None:
        (address,) = free_addresses(("alice",)).values()
        async with (
            Process("alice", at=address, timing=QUICK) as alice,
            alice.join("hall", seeds=[], domain=domain) as hall,
        ):
            async with alice.join("room-1", seeds=[], domain=domain):
                pass
            with pytest.raises(UsageError, match=r"room-1 .* group room-2.* overlap"):
                async with alice.join("room-2", seeds=[], domain=domain):
                    pass
            await hall.cbcast(b"on")
            assert await read(alice, 1) == [("hall", b"on")]
            assert alice.groups == ("hall",)

    play(loop_factory, scene())


def test_circle_by_an_excluded_group_keeps_the_order(
    loop_factory: LoopFactory, tmp_path: Path
) -> None:
    """Groups that make a ring, one of them excluded: no stamps go round, but epochs."""
    ring = [("A", "B"), ("B", "C"), ("C", "A")]
    domain = CausalDomain("d", overlaps=ring, excluded=["C"])

    async def scene() -> list[tuple[str, bytes]]:
        async with AsyncExitStack() as stack:
            groups = {"A": "ab", "B": "bc", "C": "ca"}
            built = await build(stack, groups, domain=domain, trace=tmp_path)

            async def relay(name: str, heard: str, to: str) -> None:
                async for message in built.processes[name].messages():
                    if message.group == heard:
                        await built.rooms[name][to].cbcast(message.payload)
                        if message.payload == b"9":
                            return

            relays = [
                asyncio.ensure_future(relay("bob", "A", "B")),
                asyncio.ensure_future(relay("carol", "B", "C")),
            ]
            for number in range(10):
                await built.rooms["alice"]["A"].cbcast(b"%d" % number)
            found = await read(built.processes["alice"], 20)
            await asyncio.gather(*relays)
            return found

    found = play(loop_factory, scene())
    assert all(found.index(("A", b"%d" % n)) < found.index(("C", b"%d" % n)) for n in range(10))
    assert causality(tmp_path / "d") is Status.HOLDS


def test_declarations_that_make_no_sense_are_refused() -> None:
    """Where they are made, by names."""
    ring = [("a", "b"), ("b", "c"), ("c", "a")]
    assert CausalDomain("d", overlaps=ring).structure is not None
    with pytest.raises(UsageError, match="a, b, c make a circle"):
        CausalDomain("d", overlaps=ring, acyclic=True)
    with pytest.raises(UsageError, match="overlaps is a list of pairs"):
        CausalDomain("d", overlaps=7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="pair of names"):
        CausalDomain("d", overlaps=["ab"])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="overlap itself"):
        CausalDomain("d", overlaps=[("a", "a")])
    with pytest.raises(UsageError, match="give the overlaps, too"):
        CausalDomain("d", excluded=["a"])
    with pytest.raises(UsageError, match="excluded is a list"):
        CausalDomain("d", overlaps=ring, excluded="a")
    pairs: list[Any] = [(1, 2), ("a", None), None, ("a", "b", "c"), ("a", [])]
    for wrong in pairs:
        with pytest.raises(UsageError, match="an overlap is a pair of names of groups, and"):
            CausalDomain("d", overlaps=[wrong])
    with pytest.raises(UsageError, match="excluded groups are given by name, and 7 is none"):
        CausalDomain("d", overlaps=ring, excluded=[7])  # type: ignore[list-item]
    left_out = CausalDomain("d", overlaps=ring, excluded=["c"])
    assert left_out.description != CausalDomain("d", overlaps=ring).description
    one, other = CausalDomain("d", overlaps=ring), CausalDomain("d", overlaps=ring[:2])
    assert one.description != other.description != CausalDomain("d").description
    without_circle = CausalDomain("d", overlaps=ring[:2], acyclic=True)
    assert without_circle.description == f"{other.description[:-1]}, acyclic)"


def test_domain_of_one_group_says_what_to_use() -> None:
    """Whoever looks for it in the simplest call is told where it is; a slip is what it was."""
    wrong: Any = antiphon.join
    with pytest.raises(UsageError, match=r"antiphon\.Process\(\.\.\.\)\.join\(group, domain="):
        wrong("room", me="alice", at="127.0.0.1:0", domain="house")
    with pytest.raises(TypeError, match="unexpected keyword argument 'seed'"):
        wrong("room", me="alice", at="127.0.0.1:0", seed="127.0.0.1:7001")


def test_groups_are_excluded_one_by_one() -> None:
    """As ISIS has it (7.3): a domain without a circle, from one that has some."""
    ring = [("a", "b"), ("b", "c"), ("c", "a")]
    domain = CausalDomain("d", 2, overlaps=ring)
    assert domain.exclude("c") == CausalDomain("d", 2, overlaps=ring, excluded=["c"])
    assert domain.exclude("b", "c") == domain.exclude("b").exclude("c").exclude("b")
    assert domain.excluded == (), "it is as it was"
    with pytest.raises(UsageError, match="group z is excluded and not declared to overlap"):
        domain.exclude("z")
    with pytest.raises(UsageError, match="give the overlaps, too"):
        CausalDomain("d").exclude("a")


def delivered(group: Group, sender: str) -> int:
    """Return how many messages of a member have been delivered at another."""
    member = group._local.member
    assert member is not None
    return member.ordering.clock(member.group)[group.members.index(sender)]


def test_flush_ends_when_all_have_what_was_sent(loop_factory: LoopFactory) -> None:
    """Between two domains: what is done in the second comes after what was done in the first."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            built = await build(stack, {"A": "abc", "B": "bcd"})
            alice, bob = built.processes["alice"], built.processes["bob"]
            for number in range(50):
                await built.rooms["alice"]["A"].cbcast(b"%d" % number)
                if number % 10 == 9:
                    assert delivered(built.rooms["bob"]["A"], "alice") < number + 1
                    await alice.flush("d")
                    for name in ("bob", "carol"):
                        assert delivered(built.rooms[name]["A"], "alice") == number + 1
            await built.rooms["bob"]["B"].cbcast(b"x")
            await bob.flush()
            assert delivered(built.rooms["dave"]["B"], "bob") == 1
            with pytest.raises(UsageError, match="in no group of domain e"):
                await alice.flush("e")
            waiting = asyncio.ensure_future(alice.flush())
            await asyncio.sleep(0)
            await waiting  # nothing is under way

    play(loop_factory, scene())


def test_flush_is_told_that_its_process_ends(loop_factory: LoopFactory) -> None:
    """Nobody waits for ever; who waits too long gives up."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            built = await build(stack, {"A": "abc"})
            alice = built.processes["alice"]
            for name in ("bob", "carol"):
                await built.processes[name]._local.close()  # without a word
            await built.rooms["alice"]["A"].cbcast(b"lost")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(alice.flush(), 0.05)
            waiting = asyncio.ensure_future(alice.flush())
            await asyncio.sleep(0.01)
            await alice._local.close()
            with pytest.raises(ExcludedError, match="incarnation has ended"):
                await waiting

    play(loop_factory, scene())


def test_flush_of_a_process_that_is_shut_out_does_not_wait_for_its_end(
    loop_factory: LoopFactory,
) -> None:
    """It drops out of its groups, and stays to read what is left: who waits is told at once."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            built = await build(stack, {"A": "abc", "B": "abc"})
            carol = built.processes["carol"]
            shut_out(built, "carol", by=("alice", "bob"))
            await built.rooms["carol"]["A"].cbcast(b"in vain")
            with pytest.raises(ExcludedError, match="nobody knows"):
                await asyncio.wait_for(carol.flush(), 5)

    play(loop_factory, scene())

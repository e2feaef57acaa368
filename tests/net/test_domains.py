"""A group's causality domain is one of its settings: members that were given others do not meet."""

import asyncio

import pytest
from tests.net.harness import QUICK, TRIO, LoopFactory, free_addresses, play
from tests.net.houses import until_members

from antiphon import Process, UsageError, join

pytestmark = pytest.mark.net


@pytest.mark.parametrize(("theirs", "mine"), [("d", "e"), ("d", None), (None, "e")])
def test_group_in_another_domain_is_not_joined(
    theirs: str | None, mine: str | None, loop_factory: LoopFactory
) -> None:
    """A group's domain is one of its settings; by default it has one of its own name."""
    said = f"bob cannot join group x: .*: its group is in domain {theirs or 'x'}, not {mine or 'x'}"

    async def scene() -> None:
        addresses = free_addresses(TRIO[:2])
        seeds = [addresses["alice"]]
        async with (
            Process("alice", at=addresses["alice"], timing=QUICK) as alice,
            alice.join("x", domain=theirs) as room,
            Process("bob", at=addresses["bob"], seeds=seeds, timing=QUICK) as bob,
        ):
            with pytest.raises(UsageError, match=said):
                async with bob.join("x", domain=mine):
                    pass
            async with bob.join("x", domain=theirs):
                await until_members(room, "alice", "bob")

    play(loop_factory, scene())


def test_founders_in_different_domains_are_told(loop_factory: LoopFactory) -> None:
    """Neither founds the group."""

    async def scene() -> None:
        addresses = free_addresses(TRIO[:2])
        seeds = list(addresses.values())

        async def enter(name: str, domain: str) -> None:
            async with (
                Process(name, at=addresses[name], seeds=seeds, timing=QUICK) as process,
                process.join("x", found=True, domain=domain, connect_s=3.0),
            ):
                pass

        said = await asyncio.gather(enter("alice", "d"), enter("bob", "e"), return_exceptions=True)
        for name, error in zip(TRIO, said, strict=False):
            assert str(error).startswith(f"{name} cannot join group x: ")
            assert "its group is in domain" in str(error)

    play(loop_factory, scene())


def test_both_ways_of_entering_meet_in_the_default_domain(loop_factory: LoopFactory) -> None:
    """``antiphon.join``, and that of a process: which is told the group's own name, or nothing."""

    async def scene() -> None:
        async with join("x", me="alice", at="127.0.0.1:0", timing=QUICK) as alice:
            seeds = [alice.address]
            async with (
                Process("bob", at="127.0.0.1:0", seeds=seeds, timing=QUICK) as bob,
                Process("carol", at="127.0.0.1:0", seeds=seeds, timing=QUICK) as carol,
                bob.join("x"),
                carol.join("x", domain="x"),
            ):
                await until_members(alice, *TRIO)

    play(loop_factory, scene())

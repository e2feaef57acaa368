"""First steps that go wrong: each is told in one sentence what to write instead."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.net.harness import LoopFactory, free_addresses, play

import antiphon
from antiphon import Group, UsageError, View

pytestmark = pytest.mark.net

WRITE = "write `async with antiphon.join\\(...\\) as group:`"


def alone() -> Group:
    """Return a handle on a group of one."""
    return antiphon.join("choir", me="alice", at=free_addresses(["alice"])["alice"])


READERS: dict[str, Callable[[Group], AsyncIterator[Any]]] = {
    "events": lambda group: group.__aiter__(),
    "messages": lambda group: group.messages(),
    "batches": lambda group: group.batches(),
}


@pytest.mark.parametrize("how", READERS)
def test_reading_before_entering_is_refused(how: str, loop_factory: LoopFactory) -> None:
    """Nothing can come: a sentence, not a wait for ever. A reader made before may read inside."""

    async def scene() -> None:
        group = alone()
        with pytest.raises(UsageError, match=WRITE):
            await anext(READERS[how](group))
        early = READERS[how](group)
        async with group:
            await group.cbcast(b"la")
            assert await anext(early)
        async for _ in READERS[how](group):  # what is left, to the end
            pass

    play(loop_factory, scene())


def test_reader_may_wait_while_the_group_is_being_entered(loop_factory: LoopFactory) -> None:
    """It is on its way in: something may come."""

    async def scene() -> None:
        addresses = free_addresses(["alice", "bob"])
        groups = [antiphon.join("choir", me=name, members=addresses) for name in addresses]
        entering = asyncio.ensure_future(groups[0].__aenter__())
        await asyncio.sleep(0)
        reading = asyncio.ensure_future(anext(aiter(groups[0])))
        async with groups[1]:
            await entering
            assert await reading == View(1, ("alice", "bob"))
            await groups[0].__aexit__()

    play(loop_factory, scene())


def test_awaiting_a_group_says_what_to_write(loop_factory: LoopFactory) -> None:
    """``await antiphon.join(...)`` is what one writes first."""

    async def scene() -> None:
        group: Any = alone()
        with pytest.raises(UsageError, match=WRITE):
            await group

    play(loop_factory, scene())


def test_using_a_group_before_entering_says_what_to_write(loop_factory: LoopFactory) -> None:
    """Multicasts, letters, calls and questions about the view."""

    async def scene() -> None:
        group = alone()
        for use in (
            group.cbcast(b"la"), group.abcast(b"la"), group.cbcast_many([b"la"]),
            group.send("bob", b"la"), group.call(b"la"),
        ):  # fmt: skip
            with pytest.raises(UsageError, match=WRITE):
                await use
        for look in (
            lambda: group.view, group.stability, lambda: group.stability(delivered=True),
            lambda: group.k_stable(1),
        ):  # fmt: skip
            with pytest.raises(UsageError, match=WRITE):
                look()

    play(loop_factory, scene())


def test_address_is_where_the_others_find_it(loop_factory: LoopFactory) -> None:
    """A port of 0 becomes a real one, and a joiner can be given it."""

    async def scene() -> None:
        async with antiphon.join("choir", me="alice", at="127.0.0.1:0") as alice:
            assert not alice.address.endswith(":0")
            at, seeds = "127.0.0.1:0", [alice.address]
            async with antiphon.join("choir", me="bob", at=at, seeds=seeds) as bob:
                assert bob.members == ("alice", "bob")

    play(loop_factory, scene())


def test_completion_shows_the_public_interface() -> None:
    """``dir(antiphon)`` lists every public name, and no other, whether any has been used or not."""
    for use in ("", "antiphon.join; antiphon.testing; "):
        code = f"import antiphon; {use}print(*(set(dir(antiphon)) ^ set(antiphon.__all__)))"
        assert sorted(_run(code).stdout.split()) == ["__version__", "testing"]


def test_testing_is_there_when_it_is_used() -> None:
    """``import antiphon`` is enough for ``antiphon.testing``, and does not load it."""
    code = """
import sys, antiphon
print("antiphon.testing" in sys.modules, antiphon.testing.Cluster.__name__)
"""
    assert _run(code).stdout.split() == ["False", "Cluster"]


def test_traceback_without_uvloop_is_about_the_program_alone() -> None:
    """What a program raises did not come of a missing uvloop."""
    code = """
import sys
sys.modules["uvloop"] = None
import antiphon
async def main():
    raise ValueError("mine")
antiphon.run(main())
"""
    said = _run(code).stderr
    assert said.splitlines()[-1] == "ValueError: mine"
    assert "uvloop" not in said.replace('sys.modules["uvloop"] = None', "")


def test_run_returns_what_the_program_does() -> None:
    """With uvloop or without."""

    async def main() -> int:
        return 7

    assert antiphon.run(main()) == 7


def _run(code: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)

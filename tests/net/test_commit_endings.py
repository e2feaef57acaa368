"""Distributed commit where processes leave, are shut out, or stop in the middle of it."""

import asyncio
from typing import Any

import pytest
from tests.net.harness import (
    QUICK,
    LoopFactory,
    free_addresses,
    make_choir,
    play,
    start_all,
    stop_all,
    until,
    until_view,
)
from tests.net.test_committing import Diary, enter, house, leave, shut_out

from antiphon import Committer, InDoubtError, UsageError

pytestmark = pytest.mark.net


@pytest.mark.parametrize("pause_s", [0.0, 0.0005, 0.001, 0.002])
def test_who_leaves_once_it_has_prepared_is_told_what_it_decided(
    loop_factory: LoopFactory, pause_s: float
) -> None:
    """Its decision and its leave may come in one step: the resource hears of it all the same."""

    async def scene() -> None:
        found = house()
        await enter(found)
        begun = asyncio.ensure_future(found.committers["alice"].begin(b"x"))
        await until(lambda: found.diaries["bob"].entries, "bob has prepared")
        await asyncio.sleep(pause_s)
        await found.nodes["bob"].stop()
        ending = await asyncio.wait_for(begun, 10)
        assert ending.is_committed
        assert (await found.settled())[1] == ["prepare x", "commit alice"]
        await leave(found)

    play(loop_factory, scene())


class Lock(Diary):
    """A resource that is locked from prepare until the outcome."""

    def __init__(self) -> None:
        """Begin unlocked."""
        super().__init__()
        self._lock = asyncio.Lock()

    async def prepare(self, transaction: str, body: bytes) -> bool:
        """Wait for the lock, and keep it."""
        await self._lock.acquire()
        self.left.append(transaction)
        return await super().prepare(transaction, body)

    async def commit(self, transaction: str) -> None:
        """Give it back."""
        self._release(transaction)
        await super().commit(transaction)

    async def abort(self, transaction: str) -> None:
        """Give it back."""
        self._release(transaction)
        await super().abort(transaction)

    def _release(self, transaction: str) -> None:
        self.left.remove(transaction)
        self._lock.release()


def test_recovery_does_not_wait_for_what_waits_for_recovery(loop_factory: LoopFactory) -> None:
    """A transaction that waited for the lock of one in doubt does not keep its outcome back."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, rejoin=True)
        locks = {name: Lock() for name in nodes}
        committers = {
            name: Committer(node.group, locks[name], vote_s=1.0) for name, node in nodes.items()
        }
        await start_all(list(nodes.values()))
        locks["carol"].gate.clear()
        first = asyncio.ensure_future(committers["alice"].begin(b"1"))
        await until(lambda: locks["bob"].entries, "bob has prepared the first")
        second = asyncio.ensure_future(committers["alice"].begin(b"2"))
        await asyncio.sleep(0.05)
        shut_out(nodes, "bob")
        for begun in (first, second):
            assert not (await asyncio.wait_for(begun, 10)).is_committed
        locks["carol"].gate.set()
        await until_view(nodes["alice"], ["alice", "carol", "bob~2"])
        await until(lambda: not locks["bob"].left, "bob has recovered")
        assert (await asyncio.wait_for(committers["alice"].begin(b"3"), 10)).is_committed
        await stop_all(list(nodes.values()))

    play(loop_factory, scene())


def test_transaction_ends_in_doubt_when_its_process_stops_alone(loop_factory: LoopFactory) -> None:
    """Without the others no outcome can be known: who waits hears that, and no clock runs on."""

    async def scene() -> None:
        nodes = make_choir(free_addresses(), timing=QUICK, drain_s=0.5)
        committer, *_ = [Committer(node.group) for node in nodes.values()]
        await start_all(list(nodes.values()))
        for name in ("bob", "carol"):
            await nodes[name].process.close()
        await until(lambda: not nodes["alice"].group.view.primary, "alice is alone")
        begun = asyncio.ensure_future(committer.begin(b"x"))
        await asyncio.sleep(0.05)
        timers = nodes["alice"].incarnation.timers
        await nodes["alice"].stop()
        with pytest.raises((InDoubtError, UsageError)):
            await asyncio.wait_for(begun, 10)
        assert all(timer.cancelled() for timer in timers.handles.values())

    play(loop_factory, scene())


ODD_NEEDS = [
    [b"bob"], [3], "bob", None, 5, ["\udc80"], ["a b"], [""], ["x" * 65], ["bob~1"], ["bob~x"],
]  # fmt: skip


@pytest.mark.parametrize("needs", ODD_NEEDS)
def test_needs_that_are_no_names_are_refused(loop_factory: LoopFactory, needs: Any) -> None:
    """Nothing is begun, and the next transaction is decided."""

    async def scene() -> None:
        found = house()
        await enter(found)
        with pytest.raises(UsageError, match=r"give (the names of members|a list of names)"):
            await found.committers["alice"].begin(b"x", needs)
        assert (await found.committers["alice"].begin(b"y", ["bob"])).is_committed
        await leave(found)

    play(loop_factory, scene())

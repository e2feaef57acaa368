"""The event loop on virtual time: what asyncio asks of a loop, at no real time at all."""

import asyncio
from contextvars import Context
from time import perf_counter
from typing import Any

import pytest

from antiphon.testing.event_loop import OWNER, CallbackOwner, DeadlockError, VirtualEventLoop


def make_loop() -> VirtualEventLoop:
    """Return a loop at time 0."""
    loop_type: Any = VirtualEventLoop
    loop: VirtualEventLoop = loop_type()
    return loop


def test_an_hour_takes_no_time() -> None:
    """Sleeping moves the clock, and nothing else waits."""
    loop, begin = make_loop(), perf_counter()

    async def scene() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    assert loop.run_until_complete(scene()) == 3600
    assert perf_counter() - begin < 1


def test_what_asyncio_builds_on_a_loop_works() -> None:
    """Timeouts, events, queues, locks, waits, gatherings and task groups."""
    loop = make_loop()

    async def scene() -> list[object]:
        event, queue = asyncio.Event(), asyncio.Queue[int]()
        seen: list[object] = []

        async def feed() -> None:
            for number in range(3):
                await asyncio.sleep(0.5)
                await queue.put(number)
            event.set()

        async with asyncio.TaskGroup() as group:
            group.create_task(feed())
            seen += [await queue.get() for _ in range(3)]
            await event.wait()
        try:
            async with asyncio.timeout(2):
                await asyncio.Event().wait()
        except TimeoutError:
            seen.append("late")
        done, pending = await asyncio.wait([asyncio.ensure_future(asyncio.sleep(9))], timeout=1)
        seen += [len(done), len(pending), await asyncio.gather(asyncio.sleep(1, "a"))]
        seen.append(await asyncio.wait_for(asyncio.sleep(1, "b"), 2))
        seen.append(await asyncio.to_thread(lambda: "in place"))
        return [*seen, loop.now_us]

    told = loop.run_until_complete(scene())
    assert told == [0, 1, 2, "late", 0, 1, ["a"], "b", "in place", 6_500_000]
    assert not loop.failures


def test_callbacks_run_by_time_and_then_in_the_order_of_scheduling() -> None:
    """Ties are broken by who came first, and cancelled timers never run."""
    loop, seen = make_loop(), list[str]()
    loop.call_later(0.2, seen.append, "late")
    loop.call_later(0.1, seen.append, "first")
    loop.call_at(0.1, seen.append, "second")
    loop.call_later(0.1, seen.append, "never").cancel()
    loop.call_soon(seen.append, "soon")
    loop.run_while(lambda: True, 150_000)
    assert seen == ["soon", "first", "second"]
    assert loop.now_us == 150_000


def test_waiting_for_what_cannot_come_is_a_deadlock() -> None:
    """Nothing is scheduled, so the result will never be there: that is said."""
    loop = make_loop()
    with pytest.raises(DeadlockError):
        loop.run_until_complete(asyncio.Event().wait())


def test_what_nobody_took_is_kept() -> None:
    """A callback that raises does not end the run; the test can look at it."""
    loop = make_loop()
    loop.call_soon(lambda: 1 / 0)
    loop.run_while(lambda: True, 1)
    assert isinstance(loop.failures[0]["exception"], ZeroDivisionError)


def test_process_that_is_paused_goes_on_later_and_one_that_is_killed_never() -> None:
    """Timers of a paused process fire when it is resumed, in order; those of a dead one do not."""
    loop, seen = make_loop(), list[str]()
    owners = {name: CallbackOwner(name) for name in ("anna", "ben")}
    for name, owner in owners.items():
        context = Context()
        context.run(OWNER.set, owner)
        for second in (1, 2, 3):
            loop.call_at(second, seen.append, f"{name} {second}", context=context)
    loop.run_while(lambda: True, 1_500_000)
    loop.pause(owners["anna"])
    loop.kill(owners["ben"])
    loop.run_while(lambda: True, 2_500_000)
    assert seen == ["anna 1", "ben 1"]
    loop.resume(owners["anna"])
    loop.run_while(lambda: True, 9_000_000)
    assert seen == ["anna 1", "ben 1", "anna 2", "anna 3"]

"""A call gets its turn, however much its caller and those who answer have to send besides."""

import asyncio
from collections import Counter

import pytest
from tests.net.harness import LoopFactory, choir, play

from antiphon import Group

pytestmark = pytest.mark.net

QUARTET = ("alice", "bob", "carol", "dave")
LINK_S_MAX = 0.05
LETTERS_PER_S = 50
"""More than can go out: each waits for its acknowledgement, half a round trip and back."""

SCENE_S = 8.0
CALL_S = 5.0


async def _drain(group: Group) -> None:
    async for _ in group.batches():
        pass


class Load:
    """Has the members of a group multicast, write letters and call, all at once."""

    def __init__(self) -> None:
        """Begin to count."""
        self.is_over = asyncio.Event()
        self.calls: Counter[str] = Counter()
        self.letters: Counter[str] = Counter()

    async def multicast(self, group: Group) -> None:
        """Multicast steadily."""
        while not self.is_over.is_set():
            await group.cbcast_many([bytes(100)] * 20)
            await asyncio.sleep(0.002)

    async def write(self, group: Group) -> None:
        """Write to the next member, each letter in a task of its own, as servers do."""
        to = QUARTET[QUARTET.index(group.me) - 1]
        tasks: list[asyncio.Task[None]] = []
        while not self.is_over.is_set():
            tasks.append(asyncio.ensure_future(self._write_one(group, to)))
            await asyncio.sleep(1 / LETTERS_PER_S)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def _write_one(self, group: Group, to: str) -> None:
        await group.send(to, b"for you")
        self.letters[group.me] += 1

    async def call(self, group: Group) -> None:
        """Call, one call after the other."""
        while not self.is_over.is_set():
            await group.call(b"?", timeout_s=CALL_S)
            self.calls[group.me] += 1


def test_calls_go_on_while_everybody_writes_more_letters_than_can_go_out(
    loop_factory: LoopFactory,
) -> None:
    """No call runs out of time, and letters and multicasts go on as well."""

    async def scene() -> None:
        async with choir(QUARTET, delay_s_max=LINK_S_MAX) as nodes:
            groups = [node.group for node in nodes.values()]
            load = Load()
            for group in groups:
                group.answer_calls(lambda _caller, payload: payload)
            readers = [asyncio.ensure_future(_drain(group)) for group in groups]
            async with asyncio.TaskGroup() as tasks:
                for group in groups:
                    for work in (load.multicast, load.write, load.call):
                        tasks.create_task(work(group))
                await asyncio.sleep(SCENE_S)
                load.is_over.set()
            assert min(load.calls[name] for name in QUARTET) >= 8
            assert min(load.letters[name] for name in QUARTET) >= 8
        await asyncio.gather(*readers)

    play(loop_factory, scene())

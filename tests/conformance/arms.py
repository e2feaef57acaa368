"""Where a conversation can be held: each arm leaves a run folder behind, and nothing else.

Law: the machine is the same (``Endpoint``), the application is the same (``singer.py``), the
trace is the same; an arm only carries. Links are uneven on every arm, so that answers overtake
questions.
"""

import asyncio
from pathlib import Path

import pytest
from tests.conformance.planted import lacks_nothing
from tests.conformance.singer import Singer, sing, total
from tests.net.harness import DEADLINE_S, LoopFactory, free_addresses, play
from tests.net.processes import start

from antiphon.core.runs import Run
from antiphon.net.process.joining import make_node
from antiphon.sim.delays import DelayOptions
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.steady_group import Options, SteadyGroup, process_names
from antiphon.sim.workload import Multicast, WorkloadOptions
from antiphon.trace.journal import Journal
from antiphon.trace.rows import Sink

MEMBER_COUNT = 5
NAMES = process_names(MEMBER_COUNT)
DELAY_S_MAX = 0.02


class Conversation:
    """In place of the simulator's own workload: the application that all arms share."""

    def __init__(
        self, scheduler: Scheduler, options: WorkloadOptions, seed: str, multicast: Multicast
    ) -> None:
        """Prepare a singer per process."""
        del options, seed  # the conversation is always the same
        self._scheduler = scheduler
        self._multicast = multicast
        self._singers = [Singer(name, NAMES) for name in NAMES]
        self._left = total(MEMBER_COUNT)

    @property
    def is_over(self) -> bool:
        """Whether everything has been said."""
        return not self._left

    def start(self, process_count: int) -> None:
        """Let everybody open."""
        for process in range(process_count):
            self._say((process, self._singers[process].open()))

    def on_deliver(self, process: int, run: Run) -> None:
        """Answer what ``process`` has just delivered."""
        for payload in run.payloads:
            if answer := self._singers[process].hear(payload):
                self._scheduler.at(self._scheduler.now_us, self._say, (process, answer))

    def _say(self, said: tuple[int, list[bytes]]) -> None:
        process, payloads = said
        self._left -= len(payloads)
        self._multicast(process, payloads)


def simulate(folder: Path, seed: int) -> None:
    """Hold the conversation in a simulated world."""
    delays = DelayOptions(delay_us_min=0, delay_us_mean=int(DELAY_S_MAX * 1e6))
    options = Options(seed=seed, process_count=MEMBER_COUNT, delays=delays)
    journals = {name: Journal(folder / "events", name) for name in NAMES}
    sinks: dict[str, Sink] = {name: journals[name].append for name in NAMES}
    for _ in SteadyGroup(options, sinks, Conversation).run():
        pass
    for journal in journals.values():
        journal.close()


def hold_in_one_loop(folder: Path, loop_factory: LoopFactory) -> None:
    """Hold it on sockets, all members in one event loop."""

    async def scene() -> None:
        addresses = free_addresses(NAMES)
        groups = [
            make_node("g", name, members=addresses, trace=folder, delay_s_max=DELAY_S_MAX).group
            for name in NAMES
        ]

        async def live(index: int) -> None:
            async with groups[index] as group:
                await sing(group)

        await asyncio.gather(*map(live, range(MEMBER_COUNT)))

    play(loop_factory, scene())


def hold_in_processes(folder: Path, *, plant: bool) -> None:
    """Hold it on sockets, each member in a process of its own."""
    addresses = free_addresses(NAMES)
    common = {"members": addresses, "folder": str(folder), "delay_s_max": DELAY_S_MAX}
    processes = [
        start("tests/conformance/member.py", common | {"me": name, "plant": plant})
        for name in NAMES
    ]
    try:
        for process in processes:
            _, errors = process.communicate(timeout=DEADLINE_S)
            assert (process.returncode, errors) == (0, ""), errors
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def plant_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the machine for this test only."""
    monkeypatch.setattr("antiphon.ordering.vector_clock.VectorClock.lack", lacks_nothing)

"""The same simulated world on SimPy, written the way SimPy's documentation teaches.

Law: same endpoints, same driver, same timing, same delays, same workload, same rest; the draws come
from the same generators. Only the kernel and its idioms differ: a SimPy process per copy on its
way, a Store as each member's inbox, a SimPy process per member that takes from it, one per timer
that is set, and one per pending answer.
"""

from collections.abc import Generator
from math import log
from random import Random
from typing import Any

import simpy

from antiphon.core.runs import PORT_ORDER, Run
from antiphon.sim.lean_driver import Item, LeanDriver
from antiphon.sim.steady_group import Options, make_endpoints, rows_for
from antiphon.stack.inputs import MulticastRequested, Timer
from antiphon.trace.rows import Sink
from antiphon.trace.schema import QUIESCENT

Waiting = Generator[simpy.Event, Any, None]
"""A SimPy process: yields what it waits for."""


class SimpyGroup:
    """All processes of a simulation, on SimPy."""

    def __init__(self, options: Options, sinks: dict[str, Sink] | None = None) -> None:
        """Build the world; ``sinks`` take each process's events, by its name."""
        self.environment = simpy.Environment()
        self._options = options
        self._how = options.how
        view, endpoints = make_endpoints(options)
        indexes = {member: index for index, member in enumerate(view.members)}
        self._drivers = [
            LeanDriver(endpoint, indexes, self, self, rows)
            for endpoint, rows in zip(endpoints, rows_for(view, sinks), strict=True)
        ]
        self._inboxes = [simpy.Store(self.environment) for _ in view.members]
        self._busy_until = [[0] * len(view.members) for _ in view.members]
        self._network_random = Random(f"{options.seed}/network")
        self._random = Random(f"{options.seed}/workload")
        self._left = options.workload.message_count
        self._payload = bytes(options.workload.payload_bytes)
        self._owed = 0
        self._rest = self.environment.event()
        self.event_count = 0

    @property
    def now_us(self) -> int:
        """Simulated time."""
        return int(self.environment.now)

    def run(self) -> None:
        """Run to rest."""
        for index, driver in enumerate(self._drivers):
            driver.start()
            self.environment.process(self._talk(index))
            self.environment.process(self._listen(index))
        self.environment.run(until=self._rest)
        for driver in self._drivers:
            driver.stop(self.now_us, QUIESCENT)

    # Applications.

    def _talk(self, index: int) -> Waiting:
        mean = self._options.workload.interval_us_mean
        while self._left:
            yield self.environment.timeout(int(self._random.expovariate(1.0 / mean)))
            self.event_count += 1
            self._say(index)

    def _answer(self, index: int, thought_us: int) -> Waiting:
        yield self.environment.timeout(thought_us)
        self.event_count += 1
        self._say(index)

    def _say(self, index: int) -> None:
        if not self._left:
            return
        longest = self._options.workload.burst_max
        count = min(1 + int(self._random.random() * longest), self._left)
        self._left -= count
        self._owed += count * len(self._drivers)
        payloads = [self._payload] * count
        asked = MulticastRequested(payloads, self._how, count * len(self._payload))
        self._drivers[index].multicast(asked)

    # As a carrier.

    def multicast(self, source: int, item: Item) -> None:
        """Send ``item`` to every other process."""
        for target in range(len(self._drivers)):
            if target != source:
                self.send(source, target, item)

    def send(self, source: int, target: int, item: Item) -> None:
        """Send ``item`` to one other process."""
        delays, busy, now_us = self._options.delays, self._busy_until[source], self.now_us
        draw = log(1.0 - self._network_random.random())
        due = now_us + delays.delay_us_min - int(delays.delay_us_mean * draw)
        busy[target] = max(due, busy[target])
        self.environment.process(self._carry(target, busy[target] - now_us, item))

    def _carry(self, target: int, delay_us: int, item: Item) -> Waiting:
        yield self.environment.timeout(delay_us)
        yield self._inboxes[target].put(item)

    def _listen(self, index: int) -> Waiting:
        inbox, take = self._inboxes[index], self._drivers[index].take
        while True:
            item = yield inbox.get()
            self.event_count += 1
            take(item)

    def set_timer(self, process: int, time_us: int, due: tuple[Timer, int]) -> None:
        """Call ``fire(due)`` of a process at this time."""
        self.environment.process(self._wait(process, time_us - self.now_us, due))

    def _wait(self, process: int, delay_us: int, due: tuple[Timer, int]) -> Waiting:
        yield self.environment.timeout(delay_us)
        self.event_count += 1
        self._drivers[process].fire(due)

    def on_send(self, run: Run) -> None:
        """A run has been multicast: what the machine says by itself is to arrive as well."""
        if run.port == PORT_ORDER:
            self._owed += run.count * len(self._drivers)

    def on_deliver(self, process: int, run: Run) -> None:
        """A process has delivered a run, and perhaps answers it."""
        self._owed -= len(run.payloads)
        workload = self._options.workload
        if not self._owed and not self._left:
            self._rest.succeed()
        elif run.sender != process and run.port != PORT_ORDER and self._left:
            answer = workload.answers / max(1, len(self._drivers) - 1)
            if self._random.random() < answer:
                thought_us = int(self._random.random() * workload.thought_us_max)
                self.environment.process(self._answer(process, thought_us))

"""The same simulated world on SimPy, written the way SimPy's documentation teaches.

Law: same machines, same delays, same workload, same random draws per copy; only the kernel and
its idioms differ: a SimPy process per copy on its way, a Store as each member's inbox, a SimPy
process per member that takes from it, and one per pending answer.
"""

from collections.abc import Generator
from math import log
from random import Random

import simpy

from antiphon.core.ids import GroupNumber, ProcessId, ViewNumber
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.sim.cluster import GROUP, Options, process_names
from antiphon.stack import MulticastRequested, Process, SendRun

_NUMBER = GroupNumber(0)

Waiting = Generator[simpy.Event, Run, None]
"""A SimPy process: yields what it waits for."""


class SimpyCluster:
    """All processes of a simulation, on SimPy."""

    def __init__(self, options: Options) -> None:
        """Build the world."""
        self.environment = simpy.Environment()
        self._options = options
        members = tuple(ProcessId(name) for name in process_names(options.process_count))
        view = View(GROUP, ViewNumber(1), members)
        fifo = options.network.is_fifo
        self._machines = [Process(member, fifo_channels=fifo) for member in members]
        self._inboxes = [simpy.Store(self.environment) for _ in members]
        self._busy_until = [[0] * len(members) for _ in members]
        self._network_random = Random(f"{options.seed}/network")
        self._random = Random(f"{options.seed}/workload")
        self._left = options.workload.message_count
        self._payload = bytes(options.workload.payload_bytes)
        self.event_count = 0
        for index, machine in enumerate(self._machines):
            machine.join_static(_NUMBER, view)
            self.environment.process(self._talk(index))
            self.environment.process(self._listen(index))

    def run(self) -> None:
        """Run to quiescence."""
        self.environment.run()

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
        now_us = int(self.environment.now)
        requested = MulticastRequested(_NUMBER, [self._payload] * count, self._options.order)
        for effect in self._machines[index].step(requested, now_us):
            if isinstance(effect, SendRun):
                self._send(index, effect.run, now_us)

    def _send(self, source: int, arriving: Run, now_us: int) -> None:
        network, busy = self._options.network, self._busy_until[source]
        for destination in range(len(self._machines)):
            if destination != source:
                draw = log(1.0 - self._network_random.random())
                due = now_us + network.delay_us_min - int(network.delay_us_mean * draw)
                busy[destination] = max(due, busy[destination])
                delay_us = busy[destination] - now_us
                self.environment.process(self._carry(destination, delay_us, arriving))

    def _carry(self, destination: int, delay_us: int, arriving: Run) -> Waiting:
        yield self.environment.timeout(delay_us)
        yield self._inboxes[destination].put(arriving)

    def _listen(self, index: int) -> Waiting:
        inbox, receive = self._inboxes[index], self._machines[index].receive
        workload = self._options.workload
        answer = workload.answers / max(1, len(self._machines) - 1)
        while True:
            arrived = yield inbox.get()
            self.event_count += 1
            for _ in receive(arrived):
                if self._left and self._random.random() < answer:
                    thought_us = int(self._random.random() * workload.thought_us_max)
                    self.environment.process(self._answer(index, thought_us))

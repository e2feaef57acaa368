"""A small cluster in one real process: simulated processes on virtual time, with faults.

    with Cluster(seed=1) as cluster:
        groups = cluster.found("room", "alice", "bob", "carol")
        alice, bob = cluster["alice"], cluster["bob"]
        heard = bob.collect(groups["bob"])
        alice.run(groups["alice"].cbcast(b"hello"))
        cluster.advance(0.1)
        cluster.kill("carol")
        cluster.wait_until(lambda: groups["alice"].members == ("alice", "bob"))
        cluster.check()

Law: what runs is the real network driver, on an event loop whose clock jumps (``event_loop``) and a
network in memory (``network``): hours pass in seconds, and a seed and a program always give the
same run. Everything of a simulated process, from its listener to the application's tasks, runs in
its own context, so that it can be paused or killed as a whole.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from functools import partial
from random import Random
from types import TracebackType
from typing import Any, Self, TypeVar

from antiphon.core.errors import ExcludedError, UsageError
from antiphon.core.ids import check_name
from antiphon.net.application.checking import check_seconds, refuse
from antiphon.net.group.group import Group
from antiphon.net.process.joining import join
from antiphon.net.stream.events import Event as StreamEvent
from antiphon.net.transport.environment import Environment, set_environment
from antiphon.oracle import judge
from antiphon.testing.datagrams import MemoryDatagrams
from antiphon.testing.event_loop import OWNER, CallbackOwner, VirtualEventLoop
from antiphon.testing.journal import Journals
from antiphon.testing.network import Network
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Status, Verdict

T = TypeVar("T")

WITHIN_S = 60.0
"""How long, in virtual time, anything may take unless the test allows more."""

_FIRST_PORT = 7001
_EPOCH_US = 1_000_000_000_000_000
"""What the calendars of simulated processes show at the beginning (in 2001)."""


class Collected(list[StreamEvent]):
    """What a process has read of a group so far, in order."""

    error: ExcludedError | None = None
    """What ended it, if the process was excluded; while it is read, and if it left, None."""


class Process:
    """One simulated process: where the real driver and an application run."""

    def __init__(self, cluster: "Cluster", name: str, address: str, start: int) -> None:
        """Used by the cluster; tests call :meth:`Cluster.process`."""
        self.name = name
        """What it is called in every group, and in the cluster."""
        self.address = address
        """Where it listens, unless it joins a group ``at`` another place."""
        self.start_count = start
        """How often it has been started, this time included."""
        self._cluster = cluster
        self.owner = CallbackOwner(name)
        """To whom its callbacks and connections belong: for the event loop and the network."""
        self.context = Context()
        """In what everything of it runs: there, ``antiphon.join`` finds the cluster's network."""
        self.context.run(OWNER.set, self.owner)
        random = Random(f"process {cluster.seed} {name} {start}")
        # Clocks of different processes, and of different starts, have nothing in common.
        self._offset_us = random.randrange(10**12)
        loop = cluster.loop
        environment = Environment(
            transport=cluster.network.transport_of(self.owner, self.context),
            now_us=lambda: loop.now_us + self._offset_us,
            clock_s=lambda: (loop.now_us + self._offset_us) / 1e6,
            wall_us=lambda: cluster.calendar_us,
            draw=random.randbytes,
            open_journal=partial(cluster.journals.open, name),
            datagrams=cluster.datagrams.transport_of(self.owner, self.context),
        )
        self.context.run(set_environment, environment)

    @property
    def is_alive(self) -> bool:
        """Whether it has not been killed."""
        return not self.owner.is_dead

    def start(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Run a coroutine in this process, in the background; return its task.

        ``antiphon.join`` in it finds the network of the cluster.
        """
        if not self.is_alive:
            work.close()
            raise UsageError(_say_killed(self.name))
        return self._cluster.loop.create_task(work, context=self.context.copy())

    def run(self, work: Coroutine[Any, Any, T], within_s: float = WITHIN_S) -> T:
        """Run a coroutine in this process until it ends; return its result."""
        return self._cluster.wait_for(self.start(work), within_s)

    def handle(self, group: str, **options: Any) -> Group:  # noqa: ANN401 - those of antiphon.join
        """Return a handle on a group that this process has not joined yet."""
        if "members" not in options:
            options.setdefault("at", self.address)
        return self.context.copy().run(partial(join, group, me=self.name, **options))

    def join(self, group: str, within_s: float = WITHIN_S, **options: Any) -> Group:  # noqa: ANN401
        """Join a group, or found one; ``options`` are those of :func:`antiphon.join`."""
        handle = self.handle(group, **options)
        return self.run(handle.__aenter__(), within_s)

    def leave(self, group: Group, within_s: float = WITHIN_S) -> None:
        """Leave a group."""
        _check_handle("leave", group)
        self.run(group.__aexit__(None, None, None), within_s)

    def collect(self, group: Group) -> Collected:
        """Read a group in the background; return the list that what is read goes to.

        If the process is excluded, that is the end of the list, and no failure: see its ``error``.
        """
        _check_handle("collect", group)
        read = Collected()

        async def reader() -> None:
            try:
                async for event in group:
                    read.append(event)
            except ExcludedError as error:
                read.error = error

        self.start(reader())
        return read


def _say_killed(name: str) -> str:
    return f"{name} was killed: nothing runs in it any more, and restart makes another"


def _check_handle(verb: str, group: object) -> None:
    """Refuse what is no handle, such as the name of a group."""
    if not isinstance(group, Group):
        message = f"{verb} takes a handle on a group, as join returns it, not {group!r:.100}"
        raise UsageError(message)


class Cluster:
    """Simulated processes, their network and their clock."""

    def __init__(self, seed: int = 0, *, delay_s: tuple[float, float] = (50e-6, 500e-6)) -> None:
        """Begin with no process; messages take between the two of ``delay_s``, one way."""
        self.seed = seed
        """With what the test does, it decides everything."""
        self.loop = VirtualEventLoop()  # type: ignore[abstract]  # sockets are not for this loop
        low_s, high_s = delay_s
        if not 0 <= low_s <= high_s:
            message = f"messages take at least 0 s, and at most no less than at least: {delay_s}"
            raise UsageError(message)
        """The event loop: virtual time, and what runs when."""
        self.network = Network(self.loop, str(seed), (round(low_s * 1e6), round(high_s * 1e6)))
        """The network: delays, paths and connections, for faults that have no verb here."""
        self.datagrams = MemoryDatagrams(self.network, str(seed))
        """What is sent by datagram: which are lost, repeated or late (``faults``)."""
        self.journals = Journals()
        """What every process recorded."""
        self._processes: dict[str, Process] = {}
        self._former: list[Process] = []

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End every process where it stands; raise what went wrong in the background."""
        try:
            if error is None:
                self.raise_failures()
        finally:
            self.close()

    def close(self) -> None:
        """End every process where it stands."""
        processes = [*self._former, *self._processes.values()]
        for process in processes:
            self.loop.kill(process.owner)
        self.loop.close(*(process.owner for process in processes))

    def failures(self) -> list[dict[str, Any]]:
        """Return what callbacks and tasks raised that nobody took."""
        processes = [*self._former, *self._processes.values()]
        return self.loop.collect_failures(*(process.owner for process in processes))

    def raise_failures(self) -> None:
        """Raise what a callback or a task raised that nobody took."""
        for said in self.failures():
            message = f"in the background: {said.get('message')}: {said.get('exception')!r}"
            raise AssertionError(message) from said.get("exception")

    # Processes.

    def process(self, name: str) -> Process:
        """Return the process of this name; a new one, if there has been none."""
        check_name(name, "process name")
        if name not in self._processes:
            address = f"127.0.0.1:{_FIRST_PORT + len(self._processes)}"
            self._processes[name] = Process(self, name, address, 1)
        return self._processes[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all processes, dead or alive."""
        return tuple(self._processes)

    def __getitem__(self, name: str) -> Process:
        """Return a process that there is."""
        if name not in self._processes:
            there = ", ".join(self._processes) or "nobody"
            message = f"there is no process {name} in this cluster: there is {there}"
            raise UsageError(message)
        return self._processes[name]

    def found(
        self,
        group: str,
        *names: str,
        within_s: float = WITHIN_S,
        **options: Any,  # noqa: ANN401 - those of antiphon.join
    ) -> dict[str, Group]:
        """Found a group together; return each member's handle on it, by name."""
        processes = [self.process(name) for name in names]
        members = {process.name: process.address for process in processes}
        starts = {
            process.name: process.start(
                process.handle(group, members=members, **options).__aenter__()
            )
            for process in processes
        }
        return {name: self.wait_for(task, within_s) for name, task in starts.items()}

    def restart(self, name: str) -> Process:
        """Start a process again that was killed: at the same address, remembering nothing."""
        former = self[name]
        if former.is_alive:
            message = f"{name} is running: kill it first"
            raise UsageError(message)
        self._former.append(former)
        again = Process(self, name, former.address, former.start_count + 1)
        self._processes[name] = again
        return again

    # Time.

    @property
    def calendar_us(self) -> int:
        """The date that simulated processes see, in microseconds since 1970."""
        return self.loop.now_us + _EPOCH_US

    @property
    def time_s(self) -> float:
        """Seconds since the cluster began, in virtual time."""
        return self.loop.time()

    def advance(self, seconds: float) -> None:
        """Let so much virtual time pass."""
        check_seconds("seconds", seconds, is_zero_fine=True)
        self.loop.run_while(lambda: True, self.loop.now_us + round(seconds * 1e6))

    def run(self, work: Coroutine[Any, Any, T], within_s: float = WITHIN_S) -> T:
        """Run a coroutine of the test itself, which belongs to no process, until it ends."""
        return self.wait_for(self.loop.create_task(work, context=copy_context()), within_s)

    def wait_for(self, task: "asyncio.Task[T]", within_s: float = WITHIN_S) -> T:
        """Let time pass until a task has ended; return its result."""
        if not isinstance(task, asyncio.Future):
            message = f"wait_for takes a task, as start returns it, not {task!r:.100}"
            raise UsageError(message)
        for process in (*self._former, *self._processes.values()):
            if not (process.is_alive or task.done()) and task in process.owner.tasks:
                raise UsageError(_say_killed(process.name))
        self.wait_until(task.done, within_s)
        return task.result()

    def wait_until(self, condition: Callable[[], object], within_s: float = WITHIN_S) -> None:
        """Let time pass until ``condition`` holds; raise TimeoutError if it does not in time."""
        check_seconds("within_s", within_s, is_zero_fine=True)
        if not callable(condition):
            message = f"a condition is a function, such as `lambda: ...`, not {condition!r:.100}"
            raise UsageError(message)
        deadline_us = self.loop.now_us + round(within_s * 1e6)
        self.loop.run_while(lambda: not condition(), deadline_us)
        if not condition():
            message = f"{within_s:g} s have passed in the cluster, and it has not come true"
            raise TimeoutError(message)

    # Faults.

    def kill(self, name: str, *, silently: bool = False) -> None:
        """Kill a process without a goodbye, as ``kill -9`` does.

        The system closes its connections, and nobody listens at its address any more.
        ``silently``: as if its machine lost power; nobody is told, and nobody gets an answer.
        """
        process = self[name]
        if process.is_alive:
            self.loop.kill(process.owner)
            self.network.kill(process.owner, silently=silently)
            self.journals.note_kill(name, self.calendar_us)

    def pause(self, name: str) -> None:
        """Stop a process, as SIGSTOP does: its connections stay, and nobody answers on them."""
        self.loop.pause(self[name].owner)

    def resume(self, name: str) -> None:
        """Let a process go on that was paused."""
        self.loop.resume(self[name].owner)

    def cut(self, one: str, other: str) -> None:
        """Reset every connection between two processes, once; they may connect again."""
        for end in self.network.connections(self[one].name, self[other].name):
            self.network.cut_connection(end)

    def half_open(self, one: str, other: str, *, silently: bool = False) -> None:
        """Let ``one`` lose its connections to ``other``, which does not notice.

        It would when it sends, for that is answered with a reset; ``silently``: not even then.
        """
        for end in self.network.connections(self[one].name, self[other].name):
            self.network.half_open(end, is_silent=silently)

    def stall(self, one: str, other: str) -> None:
        """Let nothing pass between two processes, and tell neither, until :meth:`heal`."""
        self.partition({one}, {other})

    def partition(self, *sides: set[str]) -> None:
        """Let nothing pass between processes of different sides, until :meth:`heal`."""
        for side in sides:
            if isinstance(side, str):
                refuse("a side", f"a set of names, such as {{{side!r}}}", side)
        for side in sides:
            for other in sides:
                if side is not other:
                    for source in sorted(side):
                        for target in sorted(other):
                            self.network.close_path(self[source].name, self[target].name)

    def refuse(self, name: str, *, is_refusing: bool = True) -> None:
        """Let a process refuse connections, as if nobody listened; or accept them again."""
        self.network.refuse(self[name].name, is_refusing=is_refusing)

    def heal(self) -> None:
        """End partitions, stalls and refusals; what was sent meanwhile arrives."""
        self.network.open_all()

    # Judging.

    def events(self, *, at_rest: bool = False) -> list[Event]:
        """Return the trace of all processes so far: the rows of a run folder."""
        at_rest_us = self.calendar_us if at_rest else None
        return self.journals.events(at_rest_us=at_rest_us)

    def verdict(self, *, at_rest: bool = False) -> Verdict:
        """Let the oracle judge what all processes did; see docs/properties.md.

        ``at_rest`` says that nothing more is to come: then everything has to have been delivered.
        """
        return judge(self.events(at_rest=at_rest), f"seed {self.seed}")

    def check(self, *, at_rest: bool = False) -> None:
        """Raise AssertionError if a promise was broken, or something failed in the background."""
        self.raise_failures()
        for item in self.verdict(at_rest=at_rest).properties:
            if item.status is Status.VIOLATED:
                message = f"{item.property.value}: {item.violations[0].text}"
                raise AssertionError(message)

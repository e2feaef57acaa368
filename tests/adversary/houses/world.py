"""Programs that use `antiphon.Process` in the groups of causality domains, as users write them.

Law: nothing but the public interface, on the cluster of `antiphon.testing`: real network driver,
virtual time. A program reads all its groups together, and notes what it hands over and reads
(``judge``). What it hands over it hands over one thing at a time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from tests.adversary.houses.judge import Judge, Reader

import antiphon
from antiphon import Batch, CausalDomain, Letter, Message, Order, Timing, Unsent, View
from antiphon.core.errors import AntiphonError
from antiphon.net.group.group import Group
from antiphon.testing.cluster import Cluster

JOIN_S = 8.0


class Notes:
    """What an application keeps of a group: the numbers of the messages that it has read there."""

    def __init__(self, program: "Program", group: str) -> None:
        """Nothing has been read."""
        self.program, self.group = program, group
        self.read: list[int] = []

    def save(self) -> Iterator[bytes]:
        """Return one piece per message."""
        return iter([b"%d" % bit for bit in self.read])

    async def load(self, pieces: AsyncIterator[bytes]) -> None:
        """Know what another member knew."""
        self.read = [int(piece) async for piece in pieces]
        for bit in self.read:
            self.program.world.judge.learn(self.program.reader, self.group, bit)


class Program:
    """One start of a process."""

    def __init__(self, world: "House", name: str) -> None:
        """Be in no group."""
        self.world, self.name = world, name
        self.simulated = world.cluster[name]
        self.reader = Reader(f"{name}.{self.simulated.start_count}")
        world.judge.readers.append(self.reader)
        self.process = self.simulated.context.copy().run(
            partial(
                antiphon.Process, name, at=self.simulated.address, seeds=world.addresses,
                timing=world.timing, rejoin=world.rejoins,
            )
        )  # fmt: skip
        self.handles: dict[str, Group] = {}
        self.notes: dict[str, Notes] = {}
        self.ending = asyncio.Event()
        self.leaving: dict[str, asyncio.Event] = {}
        self.is_open = False
        self.errors: list[str] = []
        self._turn = asyncio.Lock()
        self.pace_s = 0.0
        self.in_batches = False

    @property
    def is_there(self) -> bool:
        """Whether it runs."""
        return self.is_open and self.simulated.is_alive and not self.ending.is_set()

    @property
    def inside(self) -> list[str]:
        """Groups that it is in, and does not leave."""
        return [group for group in self.handles if not self.leaving[group].is_set()]

    def do(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something in the process, if it runs."""
        if self.simulated.is_alive:
            self.simulated.start(work)
        else:
            work.close()

    async def live(self) -> None:
        """Enter, read until the end, leave all groups."""
        async with self.process:
            self.is_open = True
            reading = asyncio.ensure_future(self._read())
            await self.ending.wait()
            self.is_open = False
        with suppress(AntiphonError):
            await reading

    async def stay(self, group: str, *, found: bool) -> None:
        """Enter a group, and leave it when that is asked for."""
        if group in self.handles or not self.is_there:
            return
        world, leaving = self.world, asyncio.Event()
        notes = self.notes[group] = Notes(self, group)
        domain = world.domain_of(group)
        try:
            handle = self.process.join(
                group, found=found, domain=domain, connect_s=JOIN_S, drain_s=world.drain_s,
                seeds=world.addresses_of(group) if found else None, flush=world.flush,
                state=notes if world.has_states else None,
            )  # fmt: skip
            async with handle:
                self.handles[group], self.leaving[group] = handle, leaving
                await leaving.wait()
                self.reader.left.add(group)
        except AntiphonError as error:
            self.errors.append(f"{group}: {error}")
        finally:
            self.handles.pop(group, None)
            self.reader.left.add(group)

    async def say(
        self, group: str, order: Order, *, uniform: bool = False, count: int = 1, to: str = ""
    ) -> None:
        """Hand something over."""
        async with self._turn:
            handle = self.handles.get(group)
            if handle is None or not self.is_there:
                return
            judge = self.world.judge
            say = partial(judge.say, self.reader, group, order, uniform=uniform, to=to)
            payloads = [b"%d" % say() for _ in range(count)]
            try:
                if to:
                    await handle.send(to, payloads[0])
                elif count > 1:
                    await handle.multicast_many(payloads, order, uniform=uniform)
                else:
                    await handle.multicast(payloads[0], order, uniform=uniform)
            except AntiphonError as error:
                self.errors.append(f"saying in {group}: {error}")

    async def flush(self) -> None:
        """Wait until all is everywhere; then what is said comes after it in all domains."""
        async with self._turn:
            before, inside = dict(self.reader.sure), set(self.inside)
            with suppress(AntiphonError, TimeoutError):
                await asyncio.wait_for(self.process.flush(), 3.0)
                self.world.judge.flushed(self.reader, before, inside & set(self.inside))

    async def _read(self) -> None:
        while True:
            stream = self.process.batches() if self.in_batches else aiter(self.process)
            try:
                async for event in stream:
                    self._take(event)
                    if self.pace_s:
                        await asyncio.sleep(self.pace_s)
            except antiphon.ExcludedError as error:
                self._is_out(str(error))
            except AntiphonError as error:
                self.errors.append(f"reading: {error}")
            else:
                return

    def _is_out(self, why: str) -> None:
        self.errors.append(why)
        for group, step in self.reader.here.items():
            self.world.judge.begin_again(self.reader, group, step.me)
        for leaving in self.leaving.values():
            leaving.set()

    def _take(self, event: object) -> None:
        judge, reader = self.world.judge, self.reader
        match event:
            case View(number, members, primary=primary, failed=failed) if primary:
                handle = self.handles.get(event.group)
                mine = [who for who in members if who.split("~")[0] == self.name]
                me = mine[-1] if mine else (handle.me if handle is not None else "")
                before = reader.here.get(event.group)
                if before is not None and before.me != me and event.group not in reader.left:
                    judge.begin_again(reader, event.group, before.me)
                judge.view(reader, event.group, me, number, members, failed)
            case Message(payload=payload):
                self._hear(event.group, int(payload))
            case Letter(payload=payload):
                self._hear(event.group, int(payload))
            case Batch(payloads=payloads):
                for payload in payloads:
                    self._hear(event.group, int(payload))
            case Unsent(payloads=payloads):
                reader.unsent |= sum(1 << int(payload) for payload in payloads)
            case _:
                pass

    def _hear(self, group: str, bit: int) -> None:
        self.world.judge.read(self.reader, group, bit)
        if group in self.notes:
            self.notes[group].read.append(bit)
        self.world.on_reading(self, group)


class House:
    """Programs, their groups, and the network that breaks."""

    def __init__(
        self, seed: int, groups: dict[str, str], domains: dict[str, str], options: CausalDomain,
        *, delay_s: tuple[float, float] = (50e-6, 500e-6),
    ) -> None:  # fmt: skip
        """Begin with nobody; ``groups`` tells who founds each, by initials."""
        self.cluster = Cluster(seed, delay_s=delay_s)
        self.groups, self.domains, self._options = groups, domains, options
        self.names = "".join(sorted(set("".join(groups.values()))))
        resilience = 1 << 20 if options.resilience == "all" else int(options.resilience)
        self.judge = Judge(domains, resilience)
        self.timing = Timing(heartbeat_us=50_000, timeout_us=400_000, timeout_us_max=6_000_000)
        self.rejoins = self.has_states = False
        self.flush = "view-atomic"
        self.drain_s = 1.0
        self.programs: dict[str, Program] = {}
        self.on_reading: Callable[[Program, str], None] = lambda *_: None

    @property
    def addresses(self) -> list[str]:
        """Where all are."""
        return [self.cluster.process(name).address for name in self.names]

    def addresses_of(self, group: str) -> list[str]:
        """Where the founders of a group are."""
        return [self.cluster.process(name).address for name in self.groups[group]]

    def domain_of(self, group: str) -> CausalDomain | None:
        """Return the domain of a group, as it is given to join."""
        name = self.domains[group]
        if name == group:
            return None
        if name == self._options.name:
            return self._options
        return CausalDomain(name, self._options.resilience)

    def start(self) -> None:
        """Start all; let those found the groups who are to."""
        for name in self.names:
            self.cluster.process(name)
        for name in self.names:
            self.begin(name)
        self.cluster.advance(0.01)
        for group, founders in self.groups.items():
            for name in founders:
                program = self.programs[name]
                program.do(program.stay(group, found=True))
        self.cluster.advance(1.0)

    def begin(self, name: str) -> Program:
        """Start a process, or start it again."""
        program = self.programs[name] = Program(self, name)
        program.do(program.live())
        return program

    def kill(self, name: str, *, silently: bool = False) -> None:
        """Kill a process."""
        program = self.programs[name]
        program.reader.is_harmed = True
        for group, step in program.reader.here.items():
            self.judge.dead.add(f"{group}/{step.me}")
        self.cluster.kill(name, silently=silently)

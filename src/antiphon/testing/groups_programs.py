"""Processes that run in several groups each, in a world: who is there, and in which group.

Law: a program is one start of a process, with one application in each group that it has entered. A
group can be asked to go on where a quorum of its last view lives, and can give its state.
"""

import asyncio
from collections.abc import Iterator
from functools import partial

from antiphon.core.errors import UsageError
from antiphon.net.driver.driver import Driver
from antiphon.net.group.committing import Committer
from antiphon.net.group.group import Group
from antiphon.net.process.process import Process as NetProcess
from antiphon.testing.cluster import Cluster, Process
from antiphon.testing.driver_application import Application, Voter
from antiphon.testing.driver_world import is_cut_off, latest_view
from antiphon.testing.groups_scenario import GroupsScenario

_CONNECT_S = 10.0
_VOTE_S = 1.0


class Program:
    """What one start of a process runs: an application in each of its groups."""

    def __init__(self, process: NetProcess) -> None:
        """Be in no group."""
        self.process = process
        self.applications: dict[str, Application] = {}
        """The latest one in each group."""
        self.places: set[str] = set()
        """Where it has been told of somebody."""
        self.is_open = False
        self.is_ending = asyncio.Event()

    async def live(self) -> None:
        """Enter, wait for the end, leave all groups."""
        async with self.process:
            self.is_open = True
            await self.is_ending.wait()
        self.is_open = False

    def driver(self, group: str) -> Driver | None:
        """Return what takes part in a group, with or without an application, if anything does."""
        incarnation = self.process._local.incarnation  # noqa: SLF001 - what it does, not shows
        part = incarnation.part(group) if incarnation is not None else None
        return part if isinstance(part, Driver) else None


class Programs:
    """What runs in a world."""

    def __init__(self, scenario: GroupsScenario, cluster: Cluster) -> None:
        """Begin with nobody."""
        self.scenario = scenario
        self.cluster = cluster
        self.of: dict[str, Program] = {}
        """The latest program of each process."""

    def start(self, process: Process, known: tuple[str, ...]) -> None:
        """Start a process that finds groups through others."""
        scenario = self.scenario
        seeds = [self.cluster[name].address for name in known]
        make = partial(
            NetProcess, process.name, at=process.address, seeds=seeds, timing=scenario.timing,
            rejoin=scenario.rejoin,
        )  # fmt: skip
        before = self.of.get(process.name)
        program = self.of[process.name] = Program(process.context.copy().run(make))
        if before is not None:
            # As with a run folder: names of an earlier start are taken in all groups of a domain.
            local, former = program.process._local, before.process._local  # noqa: SLF001 - likewise
            local._numbers.update(former._numbers)  # noqa: SLF001 - likewise
        program.places.update(seeds)
        process.start(program.live())

    def enter(
        self, name: str, group: str, seeds: list[str] | None = None, *, found: bool = False
    ) -> None:
        """Have a process join, or found, a group, unless it is in it."""
        scenario, program = self.scenario, self.find(name)
        if program is None or program.is_ending.is_set():
            return
        before = program.applications.get(group)
        if before is not None and not before.is_done:
            return
        application = program.applications[group] = Application(name)
        program.places.update(seeds or ())
        try:
            handle = program.process.join(
                group, seeds=seeds, found=found, flush=scenario.flush, connect_s=_CONNECT_S,
                drain_s=scenario.drain_s, state=application.tally if scenario.with_state else None,
                domain=scenario.domain,
            )  # fmt: skip
        except UsageError as error:
            application.end, application.is_done = error, True
            return
        if scenario.with_commit:
            application.committer = Committer(handle, Voter(name), vote_s=_VOTE_S)
        self.cluster[name].start(application.live(handle))

    def find(self, name: str) -> Program | None:
        """Return the program of a process that is alive and has begun."""
        program = self.of.get(name)
        is_there = program is not None and program.is_open and self.cluster[name].is_alive
        return program if is_there else None

    def living(self) -> Iterator[tuple[str, Program]]:
        """Return the programs of those that are alive and have begun."""
        for name, program in self.of.items():
            if self.find(name) is not None:
                yield name, program

    def application(self, group: str, name: str) -> Application | None:
        """Return the application of a process that is alive and has entered a group."""
        program = self.find(name)
        application = program.applications.get(group) if program is not None else None
        return application if application is not None and application.is_in else None

    def inside(self, group: str) -> list[tuple[str, Application, Group]]:
        """Return those that have entered a group, and can find the others."""
        lost = self.castaways(group)
        entered = [(name, self.application(group, name)) for name in self.of]
        return [
            (name, application, application.group)
            for name, application in entered
            if application is not None and application.group is not None and name not in lost
        ]

    def is_hopeless(self, group: str) -> bool:
        """Whether too few live for anybody to decide anything in a group."""
        parts = [driver for _, program in self.living() if (driver := program.driver(group))]
        drivers = [driver for driver in parts if not driver.is_over]
        known = [driver.latest for driver in drivers if driver.latest is not None]
        if not known:
            return True
        newest = max(known, key=lambda view: view.number)
        here = {driver.process for driver in drivers}
        has_quorum = newest.has_quorum([who for who in newest.members if who in here])
        return not has_quorum or self._has_lost_its_state(group)

    def _has_lost_its_state(self, group: str) -> bool:
        """Whether some wait for the state, and all who have it have applications no more.

        Who alone has the state is not let go before it has given it away, which it then cannot.
        """
        parts = [
            (driver, program.applications.get(group))
            for _, program in self.living()
            if (driver := program.driver(group)) is not None and not driver.is_over
        ]
        givers = [
            driver
            for driver, application in parts
            if driver.has_state and application is not None and not application.is_done
        ]
        return not givers and not all(driver.has_state for driver, _ in parts)

    def castaways(self, group: str) -> list[str]:
        """Return those that are cut off, and know no place where a member is that is not."""
        entered: list[tuple[str, Group]] = []
        for name in self.of:
            application = self.application(group, name)
            if application is not None and application.group is not None:
                entered.append((name, application.group))
        for name, handle in entered:
            if (latest := latest_view(handle)) is not None:
                self.of[name].places.update(who.address for who in latest.members)
        there = {self.cluster[name].address for name, handle in entered if not is_cut_off(handle)}
        return [
            name
            for name, handle in entered
            if is_cut_off(handle) and there and not there & self.of[name].places
        ]

    @property
    def going(self) -> list[str]:
        """The groups that can be asked to go on.

        In a domain, who is blocked in one group may be held up in all: there it is all or none.
        """
        groups = self.scenario.groups
        going = [group for group in groups if not self.is_hopeless(group)]
        is_held_up = len(going) < len(groups) or any(map(self.castaways, groups))
        return [] if self.scenario.domain is not None and is_held_up else going

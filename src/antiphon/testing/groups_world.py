"""Driver's worlds of several groups: processes on the real network driver, each in some groups.

Law: what is asked of a world with one group (``driver_world``) is asked of each group here. Beside
that, in the end any two processes that share a group have one connection, and others none; nobody
takes part in a group that its application has left; who was excluded from one of its groups has
gone on in none; a newcomer finds each group through any process that leads there, leaves all but
one, and comes again. Then all end, and leave neither a task nor a connection behind.

Where the groups are one causality domain, their rows are judged together.

Not asked to recover: a group of whose last view too few live to decide anything, or in which some
wait for the state of those whose applications have left; the others are.
"""

from collections.abc import Callable

from antiphon.testing.cluster import Cluster
from antiphon.testing.driver_scenario import DriverStep
from antiphon.testing.faults import Faults
from antiphon.testing.groups_programs import Programs
from antiphon.testing.groups_rest import Rest
from antiphon.testing.groups_scenario import GroupsScenario
from antiphon.trace.schema import Event


class GroupsWorld:
    """One world."""

    def __init__(self, scenario: GroupsScenario) -> None:
        """Begin with the processes, at time 0."""
        self.scenario = scenario
        self.cluster = Cluster(scenario.seed)
        self.cluster.network.delay_us = scenario.delay_us
        self.cluster.network.cut_chance = 0.15
        self._faults = Faults(self.cluster)
        self.programs = Programs(scenario, self.cluster)
        self._rows: list[Event] | None = None
        self.verbs: dict[str, Callable[[DriverStep], None]] = {
            "found": self._found, "multicast": self._multicast, "call": self._call,
            "letter": self._letter, "transaction": self._transact,
            "stop reading": self._stop_reading, "restart": self._restart, "join": self._join,
            "leave": self._leave, "end": self._end, **self._faults.verbs,
        }  # fmt: skip

    # Living.

    def run(self) -> str:
        """Live through the scenario; say what is wrong in the end, or nothing."""
        scenario, cluster = self.scenario, self.cluster
        for name in scenario.processes:
            cluster.process(name)
        for name, known in scenario.processes.items():
            self.programs.start(cluster[name], known)
        cluster.advance(0.001)
        for step in scenario.steps:
            cluster.advance(max(0, step.at_us - cluster.loop.now_us) / 1e6)
            self.verbs[step.verb](step)
        cluster.advance(max(0, scenario.calm_us - cluster.loop.now_us) / 1e6)
        cluster.heal()
        for _, program in self.programs.living():
            for application in program.applications.values():
                application.is_reading.set()
        rest = Rest(self.programs)
        said = rest.come_to_rest()
        self._rows = self._rows_at(is_at_rest=not said)
        return said or rest.shut_down()

    def trace(self, said: str) -> list[Event]:
        """Return everything that happened before all ended."""
        del said
        return self._rows if self._rows is not None else self.cluster.events()

    def _rows_at(self, *, is_at_rest: bool) -> list[Event]:
        groups, is_shared = self.scenario.groups, self.scenario.domain is not None
        hopeless = [group for group in groups if self.programs.is_hopeless(group)]

        def is_restless(name: str, run: str) -> bool:
            concerned = groups if is_shared else (run,)
            castaways = [who for group in concerned for who in self.programs.castaways(group)]
            return name in castaways or not set(hopeless).isdisjoint(concerned)

        rest_us = self.cluster.calendar_us if is_at_rest else None
        return self.cluster.journals.events(at_rest_us=rest_us, is_restless=is_restless)

    # What is said.

    def _found(self, step: DriverStep) -> None:
        group, *names = step.who
        places = [self.cluster[name].address for name in names]
        for name in names:
            self.programs.enter(name, group, places, found=True)

    def _multicast(self, step: DriverStep) -> None:
        group, name, size = step.who
        if (application := self.programs.application(group, name)) is not None:
            payloads = [bytes(int(size))] * step.value
            self.cluster[name].start(application.multicast(payloads, step.order))

    def _call(self, step: DriverStep) -> None:
        group, name = step.who
        if (application := self.programs.application(group, name)) is not None:
            self.cluster[name].start(application.call(step.value / 1e6))

    def _transact(self, step: DriverStep) -> None:
        group, name = step.who
        if (application := self.programs.application(group, name)) is not None:
            self.cluster[name].start(application.transact())

    def _letter(self, step: DriverStep) -> None:
        group, name, to = step.who
        application, other = (
            self.programs.application(group, name),
            self.programs.application(group, to),
        )
        if application is not None and other is not None and other.group is not None:
            self.cluster[name].start(application.letter(other.group.me, step.value))

    def _stop_reading(self, step: DriverStep) -> None:
        group, name = step.who
        if (application := self.programs.application(group, name)) is not None:
            application.is_reading.clear()
            self._faults.later(step.value, application.is_reading.set)

    # Who comes and goes.

    def _restart(self, step: DriverStep) -> None:
        (name,) = step.who
        if not self.cluster[name].is_alive:
            before = self.programs.of[name]
            self.programs.start(self.cluster.restart(name), self.scenario.processes[name])
            self.cluster.advance(0.001)
            for group in before.applications:
                self.programs.enter(name, group)

    def _join(self, step: DriverStep) -> None:
        group, name = step.who
        self.programs.enter(name, group)

    def _leave(self, step: DriverStep) -> None:
        group, name = step.who
        if (application := self.programs.application(group, name)) is not None:
            application.is_leaving.set()

    def _end(self, step: DriverStep) -> None:
        if (program := self.programs.find(step.who[0])) is not None:
            program.is_ending.set()

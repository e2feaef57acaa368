"""Driver's worlds: the real network driver lives through a random scenario, and is judged.

Law: a world fails if the oracle finds a broken promise; if a callback or task of the driver raises;
if a correct process is taken for one that lies, or is suspected where connections are merely cut;
or if, when nothing has broken for a while, it is not at rest: the living are the members of one
view, have read the same, and nothing that was begun is still open. Then everybody multicasts once
more, and a process joins that was not there before: that has to work too, and to last for a while.

Not asked to recover: a world in which too few of the last view live for anybody to decide, and one
in which a living process refused connections. Transports promise that nobody listens where one is
refused, and members condemn for good whom they find dead like that; promises are kept all the same.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from antiphon.core.errors import UsageError
from antiphon.core.views import View
from antiphon.net.group.committing import Committer
from antiphon.net.group.group import Group
from antiphon.testing.cluster import Cluster, Process
from antiphon.testing.driver_application import Application, Voter
from antiphon.testing.driver_scenario import DriverScenario, DriverStep
from antiphon.testing.faults import Faults
from antiphon.trace.schema import Event

REST_S = 90.0
"""How long a world may take to come to rest: longest patience, back-off and joining added up."""

STALE_S = 3.0
"""Between two looks at whether a world is at rest."""

_SETTLE_S = 0.3
_QUIET_S = 0.7
"""What tools say of their own accord, of who has joined for instance, arrives within this time."""

_CONNECT_S = 10.0
_ROUNDS = 4
_VOTE_S = 1.0
_LOOKS = 40
_GROUP = "room"
_LATE = "zoe"


class DriverWorld:
    """One world."""

    def __init__(self, scenario: DriverScenario) -> None:
        """Begin with the founders, at time 0."""
        self.scenario = scenario
        self.cluster = Cluster(scenario.seed)
        self.cluster.network.delay_us = scenario.delay_us
        self.cluster.network.cut_chance = 0.15
        self._faults = Faults(self.cluster)
        self.applications: dict[str, Application] = {}
        self._members: dict[str, str] = {}
        self._places: dict[str, set[str]] = {}  # where each has been told of somebody
        self.verbs: dict[str, Callable[[DriverStep], None]] = {
            "multicast": self._multicast, "call": self._call, "letter": self._letter,
            "transaction": self._transact,
            "stop reading": self._stop_reading, "restart": self._restart, "join": self._join,
            "found again": self._found_again,
            "leave": self._leave, **self._faults.verbs,
        }  # fmt: skip

    # Living.

    def run(self) -> str:
        """Live through the scenario; say what is wrong in the end, or nothing."""
        scenario, cluster = self.scenario, self.cluster
        founders = [cluster.process(name) for name in scenario.founders]
        self._members = {process.name: process.address for process in founders}
        for process in founders:
            at_us = scenario.starts_us.get(process.name, 0)
            start = partial(self._found, process)
            self._faults.later(at_us, start) if at_us else start()
        for step in scenario.steps:
            self._advance_to(step.at_us)
            self.verbs[step.verb](step)
        self._advance_to(scenario.calm_us)
        cluster.heal()
        for application in self.applications.values():
            application.is_reading.set()
        return self._come_to_rest()

    def _advance_to(self, at_us: int) -> None:
        self.cluster.advance(max(0, at_us - self.cluster.loop.now_us) / 1e6)

    def _start(self, process: Process, **way_in: Any) -> None:  # noqa: ANN401 - as antiphon.join
        scenario = self.scenario
        self._places[process.name] = {*way_in.get("members", {}).values(), *way_in.get("seeds", ())}
        application = self.applications[process.name] = Application(process.name)
        try:
            group = process.handle(
                _GROUP, rejoin=scenario.rejoin, flush=scenario.flush, timing=scenario.timing,
                connect_s=_CONNECT_S, state=application.tally if scenario.with_state else None,
                **way_in,
            )  # fmt: skip
        except UsageError as error:
            application.end = error
            return
        if scenario.with_commit:
            voter = Voter(process.name)
            application.committer = Committer(group, voter, vote_s=_VOTE_S)
        process.start(application.live(group))

    def _running(self, name: str) -> Application | None:
        """Return the application of a process that is alive and has entered."""
        application = self.applications.get(name)
        if application is None or not application.is_in or not self.cluster[name].is_alive:
            return None
        return application

    # What is said.

    def _multicast(self, step: DriverStep) -> None:
        name, size = step.who
        if (application := self._running(name)) is not None:
            payloads = [bytes(int(size))] * step.value
            self.cluster[name].start(application.multicast(payloads, step.order))

    def _call(self, step: DriverStep) -> None:
        (name,) = step.who
        if (application := self._running(name)) is not None:
            self.cluster[name].start(application.call(step.value / 1e6))

    def _transact(self, step: DriverStep) -> None:
        if (application := self._running(step.who[0])) is not None:
            self.cluster[step.who[0]].start(application.transact())

    def _letter(self, step: DriverStep) -> None:
        name, to = step.who
        application, other = self._running(name), self._running(to)
        if application is not None and other is not None and other.group is not None:
            self.cluster[name].start(application.letter(other.group.me, step.value))

    def _stop_reading(self, step: DriverStep) -> None:
        if (application := self._running(step.who[0])) is not None:
            application.is_reading.clear()
            self._faults.later(step.value, application.is_reading.set)

    # Who comes and goes.

    def _seeds(self, me: str) -> list[str]:
        names = dict.fromkeys((*self.scenario.founders, *self.applications))
        return [self.cluster[name].address for name in names if name != me]

    def _restart(self, step: DriverStep) -> None:
        (name,) = step.who
        if not self.cluster[name].is_alive:
            process = self.cluster.restart(name)
            if seeds := self._seeds(name):
                self._start(process, seeds=seeds)

    def _found(self, process: Process) -> None:
        if process.is_alive:  # it may have been killed before it came to that
            self._start(process, members=self._members)

    def _found_again(self, step: DriverStep) -> None:
        (name,) = step.who
        if not self.cluster[name].is_alive:
            self._start(self.cluster.restart(name), members=self._members)

    def _join(self, step: DriverStep) -> None:
        (name,) = step.who
        seeds = self._seeds(name)
        self._start(self.cluster.process(name), seeds=seeds)

    def _leave(self, step: DriverStep) -> None:
        if (application := self._running(step.who[0])) is not None:
            application.is_leaving.set()

    # The end.

    def _come_to_rest(self) -> str:
        cluster = self.cluster
        deadline_s = cluster.time_s + REST_S
        said = "it has not been looked at"
        pause_s = _SETTLE_S
        while said and cluster.time_s < deadline_s:
            cluster.advance(pause_s)
            pause_s = min(pause_s * 1.5, STALE_S)
            if self.is_hopeless():
                return ""
            said = self._unrest()
        if said:
            return f"not at rest {REST_S:g} s after the last fault: {said}"
        return self._go_on()

    def _go_on(self) -> str:
        """Let everybody speak once more, and somebody join."""
        members = [name for name in self.applications if self._running(name) is not None]
        if not members:
            return ""
        late = self.cluster.process(_LATE)
        self._start(late, seeds=[self.cluster[name].address for name in members])
        said = ""
        for round_number in range(_ROUNDS):
            # What is said while somebody is being excluded may be dropped: then once more.
            if not (said := self._speak(f"well {round_number}")):
                return stay_at_rest(self.cluster, self._unrest, self._views)
        return f"it does not go on after it was at rest: {said}"

    def _views(self) -> object:
        """Return who is in which view, as far as applications have been told."""
        groups = [app.group for app in self._living() if app.is_in and app.group is not None]
        return [(group.me, group.view.number) for group in groups]

    def _speak(self, word: str) -> str:
        lost = self.castaways()
        names = [name for name in self.applications if self._running(name) and name not in lost]
        expected = set()
        for name in names:
            for order in ("causal", "total"):
                payload = f"{word} {name} {order}".encode()
                expected.add(payload)
                self.cluster[name].start(self.applications[name].multicast([payload], order))
        said = ""
        for _ in range(_LOOKS):
            self.cluster.advance(_SETTLE_S)
            if not (said := self._unrest() or self._unheard(names, expected)):
                return ""
        return said

    def _unheard(self, names: list[str], expected: set[bytes]) -> str:
        for name in names:
            if missing := expected - self.applications[name].words:
                return f"{name} has not read {min(missing)!r} and {len(missing) - 1} others"
        if self._running(_LATE) is None:
            return f"{_LATE} does not get in: {self.applications[_LATE].end}"
        return ""

    def _living(self) -> list[Application]:
        """Return those that are in the group, or on their way in or back."""
        alive = (name for name in self.applications if self.cluster[name].is_alive)
        return [self.applications[name] for name in alive if self.applications[name].end is None]

    def is_hopeless(self) -> bool:
        """Whether too few live for anybody to decide anything."""
        living = self._living()
        groups = [app.group for app in living if app.is_in and app.group is not None]
        known = [view for group in groups if (view := latest_view(group)) is not None]
        if not known:
            # Who is on its way in may found the group yet.
            return all(app.is_in or app.is_leaving.is_set() for app in living)
        newest = max(known, key=lambda view: view.number)
        here = {group.me for group in groups}
        return not newest.has_quorum([who for who in newest.members if str(who) in here])

    def _is_castaway(self, name: str, group: Group) -> bool:
        """Whether nobody is where members were that a process knows, to tell it more."""
        known = self._places[name]
        if (latest := latest_view(group)) is not None:
            known.update(who.address for who in latest.members)
        if not is_cut_off(group):
            return False
        inside = [app for app in self._living() if app.is_in and app.group is not None]
        there = [app.name for app in inside if app.group and not is_cut_off(app.group)]
        return bool(there) and not any(self.cluster[other].address in known for other in there)

    def castaways(self) -> list[str]:
        """Return those that can find nobody any more."""
        return [
            app.name
            for app in self._living()
            if app.is_in and app.group is not None and self._is_castaway(app.name, app.group)
        ]

    def trace(self, said: str) -> list[Event]:
        """Return everything that happened; ``said`` is what was wrong in the end, if anything."""
        is_at_rest = not said and not self.is_hopeless()
        rest_us = self.cluster.calendar_us if is_at_rest else None
        lost = self.castaways()
        return self.cluster.journals.events(
            at_rest_us=rest_us, is_restless=lambda name, _: name in lost
        )

    def _unrest(self) -> str:
        """Say what is not as it must be in the end; empty if all is well."""
        inside: list[tuple[Application, Group]] = []
        for application in self._living():
            group = application.group
            if application.is_leaving.is_set() and application.is_in:
                return f"{application.name} has not left"
            if not application.is_leaving.is_set():
                if not application.is_in or group is None:
                    return f"{application.name} is not in yet"
                if not self._is_castaway(application.name, group):
                    inside.append((application, group))
        first = inside[0] if inside else None
        is_told = self.scenario.with_state
        said = (unlike(*first, *one, is_told=is_told) for one in inside if first is not None)
        if found := next(filter(None, said), ""):
            return found
        members = set(first[1].view.members) if first is not None else set()
        here = {group.me for _, group in inside}
        return f"members are {sorted(members)}, not {sorted(here)}" if members != here else ""


def stay_at_rest(cluster: Cluster, unrest: Callable[[], str], views: Callable[[], object]) -> str:
    """Wait until a world that is at rest has been so for a while; say why it does not stay so.

    Somebody may be suspected wrongly, and come back, at any time, also now: a trace says that
    nothing is under way only where that is so.
    """
    said, before = "", views()
    for _ in range(_LOOKS):
        cluster.advance(_QUIET_S)
        said, now = unrest(), views()
        if not said and now == before:
            return ""
        before = None if said else now
    return f"it does not stay at rest: {said}"


def unlike(
    first: Application,
    first_group: Group,
    application: Application,
    group: Group,
    *,
    is_told: bool,
) -> str:
    """Say what one member still waits for, or in what it differs from another."""
    views = [(one.view.number, one.view.members) for one in (group, first_group)]
    counts = [one.tally.counts for one in (application, first)]
    name = application.name
    checks = (
        (not group.view.primary, f"{name} is cut off: {group.view}"),
        (views[0] != views[1], f"different views: {views}"),
        (any(application.open_work.values()), f"{name} waits: {application.open_work}"),
        (is_told and counts[0] != counts[1], f"{name} and {first.name} have read {counts}"),
    )
    return next((said for is_so, said in checks if is_so), "")


def is_cut_off(group: Group) -> bool:
    """Whether a process is blocked, or out and on its way back."""
    is_over = group._local.driver.is_over  # noqa: SLF001 - what it knows, not what it shows
    return is_over or not group.view.primary or group.me not in group.view.members


def latest_view(group: Group) -> View | None:
    """Return the last view agreed on, as far as a member knows."""
    return group._local.driver.latest  # noqa: SLF001 - what it knows, not what it shows

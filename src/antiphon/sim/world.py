"""A world: members of a dynamic group on faulty channels, living through a scenario.

Law: a scenario is a world. The machines are those of the real network; channels, clocks, faults
and applications are simulated, and the same scenario gives the same rows, byte for byte.

A process that learns that it was excluded comes back as a new incarnation, a few times: it knows
the founders' places, and what it hears (``bootstrap``). When the last step is done all faults end,
and the world goes on until it is quiescent (``quiescence``), within a bound that follows from its
settings and delays (``progress``): if it is not by then, that is reported as ``stuck``, unless too
few members live for anybody to decide anything. While faults last, the group has to go on within
the same bound wherever it clearly can: else the world is ``late``.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from antiphon.core.control import Out
from antiphon.core.ids import ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.membership.effects import LeaveGroup
from antiphon.sim.application import Application
from antiphon.sim.bootstrap import INCARNATIONS_MAX, Bootstrap
from antiphon.sim.channels import Channels
from antiphon.sim.clock import Clock, clock_apart
from antiphon.sim.coverage import DONE, Pair, pairs_in
from antiphon.sim.datagrams import LossyChannels
from antiphon.sim.driver import GROUP, MADE_OUT, Driver
from antiphon.sim.founding import Founders, FoundingReply
from antiphon.sim.founding import Question as FoundingQuestion
from antiphon.sim.probes import ProbeReply, Probes
from antiphon.sim.progress import Progress, bound_us
from antiphon.sim.protocols import protocol_of
from antiphon.sim.quiescence import (
    STATES_DIFFER,
    is_castaway,
    is_hopeless,
    leads_in,
    why_not_quiescent,
)
from antiphon.sim.scenario import LIMITS, SAYINGS, TIMINGS, Scenario, Step, borne_stall_us
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.surroundings import WAYS, Surroundings
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import LeaveRequested, PeerFilled, PeerLost, ProbeAnswered
from antiphon.stack.ports import CommitOptions
from antiphon.stack.send_queue import SendQueue
from antiphon.stack.settings import Settings
from antiphon.trace.schema import QUIESCENT, Event

TIMING = TIMINGS["quick"]
BLOCKED = "blocked: too few members are left"
_COME_BACK_US = 5_000
_TALK = ("multicast", "send", "begin", "call", "answer", *SAYINGS)

_ROOM = 2
"""Messages and letters in flight with which a channel is full, where there is little room."""

_QUIET_BEATS = 3
"""Heartbeats, and a round trip, for which nothing may change: something could be on its way."""


@dataclass(slots=True)
class Outcome:
    """What became of a world."""

    events: list[Event]
    stuck: str = ""
    """Why the world did not become quiescent, if it did not."""
    late: str = ""
    """Where the group did not go on in time, if it did not."""
    views: list[View] = field(default_factory=list)
    """The views installed, in order of their first installation."""
    calls: str = ""
    """What is wrong with the calls, if anything is."""
    sent_count: int = 0
    time_us: int = 0
    pairs: set[Pair] = field(default_factory=set)
    """Which events fell inside one view change (``coverage``)."""
    deliveries: str = ""
    """What is wrong with what members say to be delivered by all, if anything is."""


class World:
    """All processes of one group, living and dead."""

    def __init__(self, scenario: Scenario) -> None:
        """Found the group; nothing happens before ``run``."""
        self._scenario = scenario
        self._timing = TIMINGS[scenario.timing]
        timing = self._timing
        if scenario.limits == "tight":
            timing = replace(timing, stall_us=borne_stall_us(scenario))
        self._settings = Settings(
            flush=scenario.flush, protocol=protocol_of(scenario), timing=timing,
            token=scenario.token, limits=LIMITS[scenario.limits],
        )  # fmt: skip
        self.scheduler = Scheduler()
        self.channels = Channels(
            self.scheduler, scenario.seed, scenario.delay_us, self._arrive, scenario.distance_us
        )
        self.drivers: dict[ProcessId, Driver] = {}
        self.datagrams = LossyChannels(
            self.scheduler, self.channels, scenario.seed, scenario.loss, self.drivers
        )
        self._around = Surroundings(
            self.scheduler, self.channels, scenario.messages, self.datagrams
        )
        self._around.answers = scenario.answers
        self._around.ways = WAYS[scenario.orders]
        self._around.has_letters = bool(scenario.letters)
        self._around.has_transactions = bool(scenario.transactions)
        self._around.has_state = scenario.state == "kept"
        self._around.is_awkward = bool(scenario.awkward)
        self._around.has_calls = bool(scenario.calls)
        self._around.is_tight = scenario.limits == "tight"
        self._around.heartbeat_us = self._timing.heartbeat_us
        self._around.vote_us = 3 * self._timing.timeout_us // 2
        self._around.on_end = self._on_end
        self._around.on_give_up = self._on_give_up
        self._around.on_restore = self._on_restore
        self._restored_us: dict[tuple[ProcessId, ProcessId], int] = {}
        if self._around.is_tight:
            self.channels.room = _ROOM
            self.channels.on_full = self._on_full
        self._around.complain = self.complain
        self._progress = Progress(self._timing, self.channels)
        self._late = ""
        self._early: dict[ProcessId, list[tuple[ProcessId, Any]]] = {}
        self._current: dict[str, Driver] = {}
        self._applications: dict[str, Application] = {}
        self._bootstraps: dict[str, Bootstrap] = {}
        self.probes = Probes(self.scheduler, self.channels, self._current, self._on_reply)
        self._around.on_probe = self.probes.probe
        self._complaint = ""
        founders = tuple(ProcessId(f"p{number}") for number in range(1, scenario.founders + 1))
        view = View(GROUP, ViewNumber(1), founders)
        self._places = [process.place for process in founders]
        self._founders: Founders | None = None
        if scenario.start == "apart":
            self._founders = Founders(self, self._places, self._timing, scenario.seed)
        else:
            for process in founders:
                self.begin(process, view)
        for step in scenario.steps:
            self.scheduler.at(step.time_us, self._do_step, step)

    @property
    def now_us(self) -> int:
        """Simulated time."""
        return self.scheduler.now_us

    def begin(self, process: ProcessId, view: View | None) -> Driver:
        """Begin an incarnation."""
        seed, is_founder = self._scenario.seed, view is not None
        is_apart = self._scenario.clocks == "apart"
        clock = clock_apart(seed, process.name) if is_apart else Clock()
        application = self._application(process.name)
        commit = CommitOptions(self._around.vote_us) if self._around.has_transactions else None
        endpoint = Endpoint(
            process, view, self._settings, clock.read(self.now_us), queue=application.queue,
            with_state=self._around.has_state, commit=commit,
        )  # fmt: skip
        driver = Driver(endpoint, self._around, application, seed, clock, is_founder=is_founder)
        self.drivers[process] = self._current[process.name] = driver
        for source, item in self._early.pop(process, []):
            driver.arrive(source, item)
        return driver

    def _application(self, name: str) -> Application:
        """Return whose incarnation begins: of a process that comes back, the same as before."""
        found = self._applications.get(name)
        if found is None or found.is_over:
            queue = SendQueue(self._settings.limits.queued_bytes)
            found = Application(
                name, self._scenario.seed, self.scheduler, queue, is_tight=self._around.is_tight
            )
            self._applications[name] = found
        return found

    def current(self, name: str) -> Driver | None:
        """Return the incarnation that bears a name now."""
        return self._current.get(name)

    def enter(self, name: str) -> None:
        """Let a process that could not found the group look for the way in."""
        self._join(name)

    def complain(self, what: str) -> None:
        """Say what no process should do."""
        self._complaint = self._complaint or what

    # Running.

    def run(self) -> Outcome:
        """Live through the scenario, then become quiescent."""
        self._run_steps(max((step.time_us for step in self._scenario.steps), default=0))
        self._calm()
        self._settle()
        stuck = self._why_not_quiescent()
        drivers, lost = list(self.drivers.values()), self._lost()
        # Everything has arrived then, and it is for the oracle to say what went wrong.
        detail = QUIESCENT if stuck in {"", STATES_DIFFER} else stuck
        for driver in drivers:
            if driver.is_up:
                # Who is blocked for good may hold back what it will never deliver.
                is_cast_away = is_castaway(driver, drivers) or driver.machine.me in lost
                driver.rows.stop(driver.now_us, BLOCKED if is_cast_away else detail)
        is_unfounded = self._founders is not None and bool(self._founders.outside)
        is_excused = is_hopeless(drivers) and (bool(drivers) or not is_unfounded)
        return Outcome(
            [event for driver in drivers for event in driver.events],
            "" if is_excused else stuck,
            self._late, list(self._around.views.values()), self._around.calls.judge(),
            self.channels.sent_count, self.now_us,
            pairs_in(self._around.marks, self.channels.distance_us_max),
            self._around.deliveries.complaint,
        )  # fmt: skip

    def run_until(self, time_us: int) -> None:
        """Live on until it is ``time_us``."""
        self.scheduler.run_until(time_us)

    def _run_steps(self, last_us: int) -> None:
        """Live through the steps; look now and then whether the group goes on where it must."""
        while self.now_us < last_us:
            self.run_until(min(last_us, self.now_us + 2 * self._timing.timeout_us))
            self._late = self._late or self._progress.look(list(self.drivers.values()), self.now_us)

    def _settle(self) -> None:
        """Go on until nothing has changed for a while, or for as long as that may take.

        Applications that answer answers say more: then it may take as long once more. A world
        allows so many messages in all, so that this ends.
        """
        stall_us = self._settings.timing.stall_us if self._around.is_tight else 0

        def settled_us() -> int:
            drivers = list(self.drivers.values())
            return self.now_us + bound_us(self._timing, self.channels, drivers, stall_us)

        end_us, messages_left = settled_us(), self._around.messages_left
        beat_us = self._timing.heartbeat_us
        quiet_us = _QUIET_BEATS * beat_us + 2 * self.channels.distance_us_max
        restless_us = self.now_us
        while self.now_us < end_us and self.now_us - restless_us < quiet_us:
            self.run_until(self.now_us + beat_us)
            if self._why_not_quiescent():
                restless_us = self.now_us
            if self._around.messages_left < messages_left:
                end_us, messages_left = settled_us(), self._around.messages_left

    def _calm(self) -> None:
        """End all faults."""
        self.channels.heal()
        self.channels.up_all()
        self.channels.speed_up()
        if self._founders is not None:
            self._founders.calm()
        for bootstrap in self._bootstraps.values():
            bootstrap.is_paused = False
        for driver in list(self._current.values()):
            driver.pace.work_in_slices(0)
            driver.pace.go_on()

    def _why_not_quiescent(self) -> str:
        lost = self._lost()
        drivers = [driver for driver in self.drivers.values() if driver.machine.me not in lost]
        outside = [
            name
            for name, bootstrap in self._bootstraps.items()
            if bootstrap.driver is None and not bootstrap.is_over and name not in lost
        ]
        unfounded = self._founders.outside if self._founders is not None else []
        return self._complaint or why_not_quiescent(drivers, outside + unfounded)

    def _lost(self) -> dict[str | ProcessId, None]:
        """Return who is outside and knows no place that leads to a member, named or numbered."""
        drivers = list(self.drivers.values())
        lost: dict[str | ProcessId, None] = {}
        for name, bootstrap in self._bootstraps.items():
            driver = bootstrap.driver
            is_outside = driver is None or driver.machine.membership.latest is None
            if (
                not bootstrap.is_over
                and is_outside
                and not leads_in(bootstrap.search.places, drivers)
            ):
                lost[name if driver is None else driver.machine.me] = None
        return lost

    # Steps.

    def _do_step(self, step: Step) -> None:
        if step.verb not in _TALK:
            self._progress.disturb(self.now_us)
        if step.verb in DONE:
            self._around.mark(step.verb)
        self._do(step)

    def _do(self, step: Step) -> None:
        match step.verb:
            case "partition":
                self.channels.partition(step.who)
            case "heal":
                self.channels.heal()
            case "slow" | "far" | "down" | "up" | "condemn":
                self._do_to_pair(step.who[0], step.who[1], step)
            case "join":
                self._join(step.who[0])
            case _:
                driver = self._current.get(step.who[0])
                if driver is not None and driver.is_up:
                    self.do_to(driver, step)
                elif self._founders is not None and self._founders.is_founding(step.who[0]):
                    self._founders.do(step)
                elif (bootstrap := self._bootstraps.get(step.who[0])) is not None:
                    _do_to_bootstrap(bootstrap, step)

    def _do_to_pair(self, source: str, target: str, step: Step) -> None:
        match step.verb:
            case "slow":
                self.channels.slow(source, target, step.amount)
            case "far":
                self.channels.far(source, target, step.amount)
            case "down":
                self.channels.down(source, target)
            case "up":
                self.channels.up(source, target)
            case _:  # condemn
                self._condemn(source, target)

    def do_to(self, driver: Driver, step: Step) -> None:
        """Let a process do something, or do something to it."""
        match step.verb:
            case "multicast":
                driver.speaker.say(max(1, step.amount))
            case _ if step.verb in SAYINGS:
                driver.speaker.say(max(1, step.amount), SAYINGS[step.verb])
            case "send":
                driver.speaker.write(step.who[1])
            case "begin" | "call":
                (driver.speaker.begin if step.verb == "begin" else driver.speaker.call)()
            case "crash":
                self._crash(driver, is_seen=bool(step.amount))
            case "pause" | "resume" | "busy" | "takeover":
                self._tell(driver, step)
            case "answer":
                driver.application.answer()
            case _:  # leave
                driver.is_leaving = True
                self._around.mark("leave")
                driver.happen(LeaveRequested())

    def _tell(self, driver: Driver, step: Step) -> None:
        match step.verb:
            case "pause":
                driver.pace.stop()
            case "resume":
                driver.pace.go_on()
            case "takeover":
                driver.act(driver.take_over)
            case _:  # busy
                driver.pace.work_in_slices(step.amount)

    def _condemn(self, name: str, other_name: str) -> None:
        driver, other = self._current.get(name), self._current.get(other_name)
        if driver is not None and other is not None and other.is_up:
            driver.act(lambda: driver.give_up(other.machine.me))

    def _join(self, name: str) -> None:
        driver = self._current.get(name)
        count = sum(process.name == name for process in self.drivers)
        before = self._bootstraps.get(name)
        is_bootstrapping = before is not None and not before.is_over
        is_bootstrapping |= self._founders is not None and self._founders.is_founding(name)
        is_down = driver is None or not driver.is_up
        if is_down and count < INCARNATIONS_MAX and not is_bootstrapping:
            self._around.mark("rejoin" if count else "join")
            latest = driver.machine.membership.latest if driver is not None else None
            known = [who.place for who in latest.members] if latest is not None else []
            places = list(dict.fromkeys([*known, *self._places]))
            self._bootstraps[name] = Bootstrap(
                self, name, places, self._timing, self._scenario.seed
            )

    def _on_reply(self, reply: ProbeReply) -> None:
        probe = reply.probe
        if probe.about is None:
            if (bootstrap := self._bootstraps.get(probe.asker.name)) is not None:
                bootstrap.hear(reply)
            return
        is_of_another = reply.found is not None and reply.found.process != probe.about
        driver, said, about = self.drivers[probe.asker], reply.said, probe.about
        if said is not None and (isinstance(said, Out) or not is_of_another):
            driver.happen(ProbeAnswered(about, said))

    def _crash(self, driver: Driver, *, is_seen: bool) -> None:
        if (bootstrap := self._bootstraps.get(driver.machine.me.name)) is not None:
            bootstrap.is_over = True
        self._around.mark("crash")
        if self._founders is not None:
            self._founders.crash(driver.machine.me.name)
        driver.crash()
        self.channels.lose_sent(driver.machine.me)
        self.datagrams.lose_sent(driver.machine.me)
        for other in self.drivers.values():
            if is_seen and other.is_up:
                delay_us = self._scenario.distance_us + 200 + int(other.random.random() * 5_000)
                self.scheduler.at(self.now_us + delay_us, _see, (other, driver.machine.me))

    def _arrive(self, source: ProcessId, target: ProcessId, item: Any) -> None:  # noqa: ANN401
        if target in self.drivers:
            self.drivers[target].arrive(source, item)
        elif target.incarnation:  # it has not begun: what is sent to it waits
            self._early.setdefault(target, []).append((source, item))
        elif isinstance(item, FoundingQuestion | FoundingReply):
            assert self._founders is not None, "somebody founds"
            self._founders.arrive(target.name, item)
        else:
            self.probes.arrive(target.name, item)

    def _on_end(self, driver: Driver, effect: LeaveGroup) -> None:
        """A process is out: the excluded come back; where nothing went wrong, that is wrong."""
        name = driver.machine.me.name
        bootstrap = self._bootstraps.get(name)
        was_in = driver.machine.membership.latest is not None
        if effect.why and was_in and not self._has_faults():
            self.complain(f"{driver.machine.me}: {effect.why}")
        if driver.is_leaving:
            if bootstrap is not None:
                bootstrap.is_over = True
        elif bootstrap is not None and not bootstrap.is_over and bootstrap.driver is driver:
            bootstrap.end(driver, effect)
        elif effect.why:
            self.scheduler.at(self.now_us + _COME_BACK_US, lambda _: self._join(name), None)

    def _on_full(self, source: ProcessId, target: ProcessId, is_full: bool) -> None:  # noqa: FBT001
        self.drivers[source].happen(PeerFilled(target, is_full))

    def _on_give_up(self, driver: Driver, process: ProcessId, why: str) -> None:
        """A process gives another one up: where that one is slow and not stuck, that is wrong.

        Who was given up wrongly before is to be given twice the time.
        """
        restored_us = self._restored_us.get((driver.me, process))
        time_us = 2 * self._settings.timing.stall_us - self._timing.heartbeat_us
        if why != MADE_OUT and restored_us is not None and driver.now_us - restored_us < time_us:
            self.complain(f"{driver.me} gives up {process} again, too soon: {why}")
        if not self._has_faults():
            self.complain(f"{driver.me} gives up {process}, with which nothing is wrong: {why}")

    def _on_restore(self, driver: Driver, process: ProcessId) -> None:
        self._restored_us[driver.me, process] = driver.now_us
        self.channels.restore(driver.me, process)

    def _has_faults(self) -> bool:
        """Whether somebody may have been suspected: also by who is too far to be heard in time.

        Or given up, if it reads so late that it seems to take nothing.
        """
        harmless = {"join", "leave", "far", *_TALK}
        round_trip_us = 2 * self.channels.distance_us_max + 3 * self._timing.heartbeat_us
        is_far = 5 * round_trip_us > 8 * self._timing.timeout_us
        is_given_up = self._around.is_tight and self._has_late_readers()
        is_faulty = any(step.verb not in harmless for step in self._scenario.steps)
        return is_far or is_given_up or is_faulty

    def _has_late_readers(self) -> bool:
        """Whether somebody may read so late that it seems to take nothing.

        Also who reads late what comes without end: from senders that do not wait to be admitted.
        """
        everybody = self._applications.values()
        late_us = self._settings.timing.stall_us // 2
        if any(one.handed and not one.is_patient for one in everybody):
            late_us = 0
        return any(one.lag_us > late_us for one in everybody)


def _see(what: tuple[Driver, ProcessId]) -> None:
    """Let a process notice that another is dead."""
    driver, dead = what
    driver.happen(PeerLost(dead))


def _do_to_bootstrap(bootstrap: Bootstrap, step: Step) -> None:
    """Do something to a process that is between two incarnations."""
    match step.verb:
        case "crash":
            bootstrap.is_over = True
        case "pause" | "resume":
            bootstrap.is_paused = step.verb == "pause"
        case _:  # it does so in its next incarnation
            bootstrap.wishes.append(step)

"""A world: members of a dynamic group on faulty channels, living through a scenario.

Law: a scenario is a world. The machines are those of the real network; channels, clocks, faults
and applications are simulated, and the same scenario gives the same rows, byte for byte.

A process that learns that it was excluded comes back as a new life, a few times (``entering``):
who enters knows the founders' places, and what it hears. When the last step is done all faults end,
and the world goes on until it has come to rest (``rest``), within a bound that follows from its
settings and delays (``progress``): if it has not, that is reported as ``stuck``, unless too few
members live for anybody to decide anything. While faults last, the group has to go on within the
same bound wherever it clearly can: else the world is ``late``.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from antiphon.core.control import Out
from antiphon.core.ids import ProcessId, ViewNumber
from antiphon.core.runs import Order
from antiphon.core.views import View
from antiphon.membership.effects import LeaveGroup
from antiphon.sim.application import Application
from antiphon.sim.asking import Inquiries, Reply
from antiphon.sim.channels import Channels
from antiphon.sim.clock import Clock, clock_apart
from antiphon.sim.coverage import DONE, Pair, pairs_in
from antiphon.sim.entering import LIVES_MAX, Entering
from antiphon.sim.life import GROUP, MADE_OUT, Life
from antiphon.sim.progress import Progress, bound_us
from antiphon.sim.rest import STATES_DIFFER, is_castaway, is_hopeless, leads_in, unrest
from antiphon.sim.scenario import LIMITS, TIMINGS, Scenario, Step
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.surroundings import WAYS, Surroundings
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import LeaveRequested, PeerFilled, PeerLost, ProbeAnswered
from antiphon.stack.ports import CommitOptions
from antiphon.stack.send_queue import How, SendQueue
from antiphon.stack.settings import Settings
from antiphon.trace.schema import QUIESCENT, Event

TIMING = TIMINGS["quick"]
BLOCKED = "blocked: too few members are left"
_COME_BACK_US = 5_000
_SAYINGS = {
    "fifo": How(Order.FIFO),
    "causal": How(Order.CAUSAL),
    "total": How(Order.TOTAL),
    "uniform": How(Order.CAUSAL, uniform=True),
    "uniform-fifo": How(Order.FIFO, uniform=True),
    "uniform-total": How(Order.TOTAL, uniform=True),
}
_TALK = ("multicast", "send", "begin", "call", "answer", *_SAYINGS)
_STALLS = 4
"""Heartbeats, and round trips, after which who takes nothing is given up, with little room."""

_ROOM = 2
"""Messages and letters in flight with which a channel is full, where there is little room."""

_QUIET_BEATS = 3
"""Heartbeats, and a round trip, for which nothing may change: something could be on its way."""


@dataclass(slots=True)
class Outcome:
    """What became of a world."""

    events: list[Event]
    stuck: str = ""
    """Why the world did not come to rest, if it did not."""
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


class World:
    """All processes of one group, living and dead."""

    def __init__(self, scenario: Scenario) -> None:
        """Found the group; nothing happens before ``run``."""
        self._scenario = scenario
        self._timing = TIMINGS[scenario.timing]
        timing = self._timing
        if scenario.limits == "tight":
            timing = replace(timing, stall_us=_stall_us(scenario))
        self._settings = Settings(
            flush=scenario.flush, timing=timing, token=scenario.token,
            limits=LIMITS[scenario.limits],
        )  # fmt: skip
        self.scheduler = Scheduler()
        self.channels = Channels(
            self.scheduler, scenario.seed, scenario.delay_us, self._arrive, scenario.distance_us
        )
        self._around = Surroundings(self.scheduler, self.channels, scenario.messages)
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
        self.lives: dict[ProcessId, Life] = {}
        self._current: dict[str, Life] = {}
        self._applications: dict[str, Application] = {}
        self._entering: dict[str, Entering] = {}
        self.inquiries = Inquiries(self.scheduler, self.channels, self._current, self._on_reply)
        self._around.on_probe = self.inquiries.probe
        self._complaint = ""
        founders = tuple(ProcessId(f"p{number}") for number in range(1, scenario.founders + 1))
        view = View(GROUP, ViewNumber(1), founders)
        self._places = [process.place for process in founders]
        for process in founders:
            self.begin(process, view)
        for step in scenario.steps:
            self.scheduler.at(step.time_us, self._do_step, step)

    @property
    def now_us(self) -> int:
        """Simulated time."""
        return self.scheduler.now_us

    def begin(self, process: ProcessId, view: View | None) -> Life:
        """Begin a life."""
        seed, is_founder = self._scenario.seed, view is not None
        is_apart = self._scenario.clocks == "apart"
        clock = clock_apart(seed, process.name) if is_apart else Clock()
        application = self._application(process.name)
        commit = CommitOptions(self._around.vote_us) if self._around.has_transactions else None
        endpoint = Endpoint(
            process, view, self._settings, clock.read(self.now_us), queue=application.queue,
            with_state=self._around.has_state, commit=commit,
        )  # fmt: skip
        life = Life(endpoint, self._around, application, seed, clock, is_founder=is_founder)
        self.lives[process] = self._current[process.name] = life
        return life

    def _application(self, name: str) -> Application:
        """Return whose life begins: of a process that comes back, the same as before."""
        found = self._applications.get(name)
        if found is None or found.is_over:
            queue = SendQueue(self._settings.limits.queued_bytes)
            found = Application(
                name, self._scenario.seed, self.scheduler, queue, is_tight=self._around.is_tight
            )
            self._applications[name] = found
        return found

    def complain(self, what: str) -> None:
        """Say what no process should do."""
        self._complaint = self._complaint or what

    # Running.

    def run(self) -> Outcome:
        """Live through the scenario, then come to rest."""
        self._run_steps(max((step.time_us for step in self._scenario.steps), default=0))
        self._calm()
        self._settle()
        stuck = self._unrest()
        lives, lost = list(self.lives.values()), self._lost()
        # Everything has arrived then, and it is for the oracle to say what went wrong.
        detail = QUIESCENT if stuck in {"", STATES_DIFFER} else stuck
        for life in lives:
            if life.is_up:
                # Who is blocked for good may hold back what it will never deliver.
                is_cast_away = is_castaway(life, lives) or life.machine.me in lost
                life.rows.stop(life.now_us, BLOCKED if is_cast_away else detail)
        return Outcome(
            [event for life in lives for event in life.events],
            "" if is_hopeless(lives) else stuck, self._late,
            list(self._around.views.values()), self._around.calls.judge(),
            self.channels.sent_count, self.now_us,
            pairs_in(self._around.marks, self.channels.distance_us_max),
        )  # fmt: skip

    def run_until(self, time_us: int) -> None:
        """Live on until it is ``time_us``."""
        self.scheduler.run_until(time_us)

    def _run_steps(self, last_us: int) -> None:
        """Live through the steps; look now and then whether the group goes on where it must."""
        while self.now_us < last_us:
            self.run_until(min(last_us, self.now_us + 2 * self._timing.timeout_us))
            self._late = self._late or self._progress.look(list(self.lives.values()), self.now_us)

    def _settle(self) -> None:
        """Go on until nothing has changed for a while, or for as long as that may take."""
        end_us = self.now_us + bound_us(self._timing, self.channels, list(self.lives.values()))
        if self._around.is_tight:  # who gave each other up are restored one after the other
            end_us += 4 * (2 * self._settings.timing.stall_us + 6 * self._timing.timeout_us)
        beat_us = self._timing.heartbeat_us
        quiet_us = _QUIET_BEATS * beat_us + 2 * self.channels.distance_us_max
        restless_us = self.now_us
        while self.now_us < end_us and self.now_us - restless_us < quiet_us:
            self.run_until(self.now_us + beat_us)
            if self._unrest():
                restless_us = self.now_us

    def _calm(self) -> None:
        """End all faults."""
        self.channels.heal()
        self.channels.up_all()
        self.channels.speed_up()
        for entering in self._entering.values():
            entering.is_paused = False
        for life in list(self._current.values()):
            life.pace.work_in_slices(0)
            life.resume()

    def _unrest(self) -> str:
        lost = self._lost()
        lives = [life for life in self.lives.values() if life.machine.me not in lost]
        outside = [
            name
            for name, entering in self._entering.items()
            if entering.life is None and not entering.is_over and name not in lost
        ]
        return self._complaint or unrest(lives, outside)

    def _lost(self) -> dict[str | ProcessId, None]:
        """Return who is outside and knows no place that leads to a member: names, and lives."""
        lives = list(self.lives.values())
        lost: dict[str | ProcessId, None] = {}
        for name, entering in self._entering.items():
            life = entering.life
            is_outside = life is None or life.machine.membership.latest is None
            if not entering.is_over and is_outside and not leads_in(entering.search.places, lives):
                lost[name if life is None else life.machine.me] = None
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
                life = self._current.get(step.who[0])
                if life is not None and life.is_up:
                    self.do_to(life, step)
                elif (entering := self._entering.get(step.who[0])) is not None:
                    _do_to_entering(entering, step)

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

    def do_to(self, life: Life, step: Step) -> None:
        """Let a process do something, or do something to it."""
        match step.verb:
            case "multicast":
                life.say(max(1, step.amount))
            case _ if step.verb in _SAYINGS:
                life.say(max(1, step.amount), _SAYINGS[step.verb])
            case "send":
                life.write(step.who[1])
            case "begin" | "call":
                (life.begin if step.verb == "begin" else life.call)()
            case "crash":
                self._crash(life, is_seen=bool(step.amount))
            case "pause" | "resume" | "busy":
                self._change_pace(life, step)
            case "answer":
                life.application.answer()
            case _:  # leave
                life.is_leaving = True
                self._around.mark("leave")
                life.happen(LeaveRequested())

    def _change_pace(self, life: Life, step: Step) -> None:
        match step.verb:
            case "pause":
                life.pace.stop()
            case "resume":
                life.resume()
            case _:  # busy
                life.pace.work_in_slices(step.amount)

    def _condemn(self, name: str, other_name: str) -> None:
        life, other = self._current.get(name), self._current.get(other_name)
        if life is not None and other is not None and other.is_up:
            life.act(lambda: life.give_up(other.machine.me))

    def _join(self, name: str) -> None:
        life = self._current.get(name)
        lives = sum(process.name == name for process in self.lives)
        before = self._entering.get(name)
        is_entering = before is not None and not before.is_over
        if (life is None or not life.is_up) and lives < LIVES_MAX and not is_entering:
            self._around.mark("rejoin" if lives else "join")
            latest = life.machine.membership.latest if life is not None else None
            known = [who.place for who in latest.members] if latest is not None else []
            places = list(dict.fromkeys([*known, *self._places]))
            self._entering[name] = Entering(self, name, places, self._timing, self._scenario.seed)

    def _on_reply(self, reply: Reply) -> None:
        question = reply.question
        if question.about is None:
            if (entering := self._entering.get(question.asker.name)) is not None:
                entering.hear(reply)
            return
        is_of_another = reply.found is not None and reply.found.process != question.about
        life, said, about = self.lives[question.asker], reply.said, question.about
        if said is not None and (isinstance(said, Out) or not is_of_another):
            life.happen(ProbeAnswered(about, said))

    def _crash(self, life: Life, *, is_seen: bool) -> None:
        if (entering := self._entering.get(life.machine.me.name)) is not None:
            entering.is_over = True
        self._around.mark("crash")
        life.crash()
        self.channels.lose_sent(life.machine.me)
        for other in self.lives.values():
            if is_seen and other.is_up:
                delay_us = self._scenario.distance_us + 200 + int(other.random.random() * 5_000)
                self.scheduler.at(self.now_us + delay_us, self._see, (other, life.machine.me))

    def _see(self, what: tuple[Life, ProcessId]) -> None:
        life, dead = what
        life.happen(PeerLost(dead))

    def _arrive(self, source: ProcessId, target: ProcessId, item: Any) -> None:  # noqa: ANN401
        if target.incarnation:
            self.lives[target].arrive(source, item)
        else:
            self.inquiries.arrive(target.name, item)

    def _on_end(self, life: Life, effect: LeaveGroup) -> None:
        """A process is out: the excluded come back; where nothing went wrong, that is wrong."""
        name = life.machine.me.name
        entering = self._entering.get(name)
        was_in = life.machine.membership.latest is not None
        if effect.why and was_in and not self._has_faults():
            self.complain(f"{life.machine.me}: {effect.why}")
        if life.is_leaving:
            if entering is not None:
                entering.is_over = True
        elif entering is not None and not entering.is_over and entering.life is life:
            entering.end(life, effect)
        elif effect.why:
            self.scheduler.at(self.now_us + _COME_BACK_US, lambda _: self._join(name), None)

    def _on_full(self, source: ProcessId, target: ProcessId, is_full: bool) -> None:  # noqa: FBT001
        self.lives[source].happen(PeerFilled(target, is_full))

    def _on_give_up(self, life: Life, process: ProcessId, why: str) -> None:
        """A process gives another one up: where that one is slow and not stuck, that is wrong.

        Who was given up wrongly before is to be given twice the time.
        """
        restored_us = self._restored_us.get((life.me, process))
        time_us = 2 * self._settings.timing.stall_us - self._timing.heartbeat_us
        if why != MADE_OUT and restored_us is not None and life.now_us - restored_us < time_us:
            self.complain(f"{life.me} gives up {process} again, too soon: {why}")
        if not self._has_faults():
            self.complain(f"{life.me} gives up {process}, with which nothing is wrong: {why}")

    def _on_restore(self, life: Life, process: ProcessId) -> None:
        self._restored_us[life.me, process] = life.now_us
        self.channels.restore(life.me, process)

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


def _stall_us(scenario: Scenario) -> int:
    """Return how long stalls are borne where there is little room: a few round trips at least."""
    far_us = [step.amount for step in scenario.steps if step.verb == "far"]
    way_us = max([scenario.distance_us, *far_us]) + 8 * scenario.delay_us
    timing = TIMINGS[scenario.timing]
    return max(_STALLS * timing.heartbeat_us + 6 * way_us, 3 * timing.timeout_us)


def _do_to_entering(entering: Entering, step: Step) -> None:
    """Do something to a process that is between two lives."""
    match step.verb:
        case "crash":
            entering.is_over = True
        case "pause" | "resume":
            entering.is_paused = step.verb == "pause"
        case _:  # it does so when it lives
            entering.wishes.append(step)

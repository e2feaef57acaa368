"""A world: members of a dynamic group on faulty channels, living through a scenario.

Law: a scenario is a world. The machines are those of the real network; channels, clocks, faults
and applications are simulated, and the same scenario gives the same rows, byte for byte.

A process that learns that it was excluded comes back as a new life, a few times (``entering``):
who enters knows the founders' places, and what it hears. When the last
step is done all faults end, and the world goes on until it has come to rest (``rest``), or for so
long that it never will: that is reported as ``stuck``, unless too few members live for anybody
to decide anything.
"""

from dataclasses import dataclass, field
from typing import Any

from antiphon.core.control import Out
from antiphon.core.ids import ProcessId, ViewNumber
from antiphon.core.runs import Order
from antiphon.core.views import View
from antiphon.membership.effects import LeaveGroup
from antiphon.membership.failure_detector import Timing
from antiphon.sim.asking import Inquiries, Reply
from antiphon.sim.channels import Channels
from antiphon.sim.entering import LIVES_MAX, Entering
from antiphon.sim.life import GROUP, WAYS, How, Life, Surroundings
from antiphon.sim.rest import STATES_DIFFER, is_castaway, is_hopeless, unrest
from antiphon.sim.scenario import Scenario, Step
from antiphon.sim.scheduler import Scheduler
from antiphon.stack.member import Member
from antiphon.stack.settings import Settings
from antiphon.trace.schema import QUIESCENT, Event

TIMING = Timing(heartbeat_us=20_000, timeout_us=100_000, timeout_us_max=400_000)
SETTLE_US = 6_000_000
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
_QUIET_BEATS = 3
"""Heartbeats for which nothing may change: something could be on its way."""


@dataclass(slots=True)
class Outcome:
    """What became of a world."""

    events: list[Event]
    stuck: str = ""
    """Why the world did not come to rest, if it did not."""
    views: list[View] = field(default_factory=list)
    """The views installed, in order of their first installation."""
    sent_count: int = 0
    time_us: int = 0


class World:
    """All processes of one group, living and dead."""

    def __init__(self, scenario: Scenario) -> None:
        """Found the group; nothing happens before ``run``."""
        self._scenario = scenario
        self._settings = Settings(flush=scenario.flush, timing=TIMING, token=scenario.token)
        self.scheduler = Scheduler()
        self.channels = Channels(self.scheduler, scenario.seed, scenario.delay_us, self._arrive)
        self._around = Surroundings(self.scheduler, self.channels, scenario.messages)
        self._around.answers = scenario.answers
        self._around.ways = WAYS[scenario.orders]
        self._around.has_letters = bool(scenario.letters)
        self._around.has_transactions = bool(scenario.transactions)
        self._around.heartbeat_us = TIMING.heartbeat_us
        self._around.on_end = self._on_end
        self.lives: dict[ProcessId, Life] = {}
        self._current: dict[str, Life] = {}
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
        machine = Member(process, view, self._settings, self.now_us)
        life = Life(machine, self._around, self._scenario.seed, is_founder=view is not None)
        self.lives[process] = self._current[process.name] = life
        return life

    def complain(self, what: str) -> None:
        """Say what no process should do."""
        self._complaint = self._complaint or what

    # Running.

    def run(self) -> Outcome:
        """Live through the scenario, then come to rest."""
        self.run_until(max((step.time_us for step in self._scenario.steps), default=0))
        self._calm()
        end_us = self.now_us + SETTLE_US
        quiet = 0
        while self.now_us < end_us and quiet < _QUIET_BEATS:
            self.run_until(self.now_us + TIMING.heartbeat_us)
            quiet = quiet + 1 if not self._unrest() else 0
        stuck = self._unrest()
        lives, lost = list(self.lives.values()), self._lost()
        # Everything has arrived then, and it is for the oracle to say what went wrong.
        detail = QUIESCENT if stuck in {"", STATES_DIFFER} else stuck
        for life in lives:
            if life.is_up:
                # Who is blocked for good may hold back what it will never deliver.
                is_cast_away = is_castaway(life, lives) or life.machine.me in lost
                life.rows.stop(self.now_us, BLOCKED if is_cast_away else detail)
        return Outcome(
            [event for life in lives for event in life.events],
            "" if is_hopeless(lives) else stuck,
            list(self._around.views.values()), self.channels.sent_count, self.now_us,
        )  # fmt: skip

    def run_until(self, time_us: int) -> None:
        """Live on until it is ``time_us``."""
        self.scheduler.run_until(time_us)

    def _calm(self) -> None:
        """End all faults."""
        self.channels.heal()
        self.channels.speed_up()
        for entering in self._entering.values():
            entering.is_paused = False
        for life in list(self._current.values()):
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
        """Return who is on its way in and knows no place where a member is: names, and lives."""
        here = {life.machine.me.name for life in self.lives.values() if life.is_up and life.view}
        lost: dict[str | ProcessId, None] = {}
        for name, entering in self._entering.items():
            is_lost = not any(place in here for place in entering.search.places)
            if not entering.is_over and is_lost:
                life = entering.life
                lost[name if life is None else life.machine.me] = None
        return lost

    # Steps.

    def _do_step(self, step: Step) -> None:
        match step.verb:
            case "partition":
                self.channels.partition(step.who)
            case "heal":
                self.channels.heal()
            case "slow":
                self.channels.slow(step.who[0], step.who[1], step.amount)
            case "join":
                self._join(step.who[0])
            case "condemn":
                self._condemn(*step.who)
            case _:
                life = self._current.get(step.who[0])
                if life is not None and life.is_up:
                    self.do_to(life, step)
                elif (entering := self._entering.get(step.who[0])) is not None:
                    _do_to_entering(entering, step)

    def do_to(self, life: Life, step: Step) -> None:
        """Let a process do something, or do something to it."""
        match step.verb:
            case "multicast":
                life.say(max(1, step.amount))
            case _ if step.verb in _SAYINGS:
                life.say(max(1, step.amount), _SAYINGS[step.verb])
            case "send":
                life.write(step.who[1])
            case "begin":
                life.begin()
            case "crash":
                self._crash(life, is_seen=bool(step.amount))
            case "pause":
                life.is_paused = True
            case "resume":
                life.resume()
            case _:  # leave
                life.is_leaving = True
                life.act(lambda: life.machine.leave(self.now_us))

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
            latest = life.machine.membership.latest if life is not None else None
            known = [who.place for who in latest.members] if latest is not None else []
            places = list(dict.fromkeys([*known, *self._places]))
            self._entering[name] = Entering(self, name, places, TIMING, self._scenario.seed)

    def _on_reply(self, reply: Reply) -> None:
        question = reply.question
        if question.about is None:
            if (entering := self._entering.get(question.asker.name)) is not None:
                entering.hear(reply)
            return
        is_of_another = reply.found is not None and reply.found.process != question.about
        life, said, about = self.lives[question.asker], reply.said, question.about
        if said is not None and (isinstance(said, Out) or not is_of_another):
            life.act(lambda: life.machine.take_control(about, said, self.now_us))

    def _crash(self, life: Life, *, is_seen: bool) -> None:
        life.is_up = False
        if (entering := self._entering.get(life.machine.me.name)) is not None:
            entering.is_over = True
        life.rows.crash(self.now_us)
        self.channels.lose_sent(life.machine.me)
        for other in self.lives.values():
            if is_seen and other.is_up:
                delay_us = 200 + int(other.random.random() * 5_000)
                self.scheduler.at(self.now_us + delay_us, self._see, (other, life.machine.me))

    def _see(self, what: tuple[Life, ProcessId]) -> None:
        life, dead = what
        life.act(lambda: life.machine.lose(dead, self.now_us))

    def _arrive(self, source: ProcessId, target: ProcessId, item: Any) -> None:  # noqa: ANN401
        if target.incarnation:
            self.lives[target].arrive(source, item)
        else:
            self.inquiries.arrive(target.name, item)

    def _on_end(self, life: Life, effect: LeaveGroup) -> None:
        """A process is out: the excluded come back, leavers may have to complain."""
        name = life.machine.me.name
        entering = self._entering.get(name)
        if life.is_leaving:
            if entering is not None:
                entering.is_over = True
            if effect.why and not self._has_faults():
                self.complain(f"{life.machine.me}: {effect.why}")
        elif entering is not None and not entering.is_over and entering.life is life:
            entering.end(life, effect)
        elif effect.why:
            self.scheduler.at(self.now_us + _COME_BACK_US, lambda _: self._join(name), None)

    def _has_faults(self) -> bool:
        harmless = {"multicast", "join", "leave", "send", "begin", *_SAYINGS}
        return any(step.verb not in harmless for step in self._scenario.steps)


def _do_to_entering(entering: Entering, step: Step) -> None:
    """Do something to a process that is between two lives."""
    match step.verb:
        case "crash":
            entering.is_over = True
        case "pause" | "resume":
            entering.is_paused = step.verb == "pause"
        case _:  # it does so when it lives
            entering.wishes.append(step)

"""A world: members of a dynamic group on faulty channels, living through a scenario.

Law: a scenario is a world. The machines are those of the real network; channels, clocks, faults
and applications are simulated, and the same scenario gives the same rows, byte for byte.

A process that learns that it was excluded comes back as a new life, a few times. When the last
step is done all faults end, and the world goes on until the members agree on a view of exactly
the living and everything sent has arrived, or for so long that it never will: that is reported
as ``stuck``, unless too few members live for anybody to decide anything.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from antiphon.core.control import AnyMessage, StateChunk, StateTaken
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.membership.effects import (
    BlockGroup,
    DeliverRuns,
    Effect,
    InstallView,
    LeaveGroup,
    RelayRuns,
    ResumeGroup,
    SendControl,
    SuspectProcess,
)
from antiphon.membership.failure_detector import Timing
from antiphon.sim.channels import Channels
from antiphon.sim.scenario import Scenario, Step
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.replica import Replica
from antiphon.stack.member import Member, SendRun, Settings
from antiphon.toolkit import state_transfer
from antiphon.toolkit.state_transfer import (
    ExpectState,
    LoadChunk,
    SaveState,
    SendState,
    StateLost,
    StateTransfer,
)
from antiphon.trace.rows import Rows
from antiphon.trace.schema import LEFT, QUIESCENT, Event

GROUP = GroupName("g")
TIMING = Timing(heartbeat_us=20_000, timeout_us=100_000, timeout_us_max=400_000)
SETTLE_US = 6_000_000
LIVES_MAX = 4
_JOIN_RETRY_US = 60_000


@dataclass(slots=True)
class Copied:
    """A run that a relay sends."""

    run: Run


Item = Run | Copied | AnyMessage
Action = Callable[[], list[Effect | SendRun]]


class Life:
    """One life of a process: its machine, its rows, and what waits while it is paused."""

    __slots__ = (
        "events", "inbox", "is_leaving", "is_paused", "is_up", "machine", "pending", "random",
        "replica", "rows", "transfer", "view",
    )  # fmt: skip

    def __init__(self, machine: Member, seed: int, *, is_founder: bool) -> None:
        self.machine = machine
        self.transfer = StateTransfer(machine.me, has_state=is_founder)
        self.replica = Replica(has_state=is_founder)
        self.events: list[Event] = []
        self.rows = Rows(str(machine.me), GROUP, self._append)
        self.random = Random(f"{seed}/{machine.me}/life")
        self.is_up = True
        self.is_paused = self.is_leaving = False
        self.inbox: deque[tuple[ProcessId, Item]] = deque()
        self.pending = 0
        self.view: View | None = None

    def _append(self, event: Event) -> None:
        event.index = len(self.events)
        self.events.append(event)


@dataclass(slots=True)
class Outcome:
    """What became of a world."""

    events: list[Event]
    stuck: str = ""
    """Why the world did not come to rest, if it did not."""
    views: list[View] = field(default_factory=list)
    """The views installed, in order."""
    sent_count: int = 0
    time_us: int = 0


class World:
    """All processes of one group, living and dead."""

    def __init__(self, scenario: Scenario) -> None:
        """Found the group; nothing happens before ``run``."""
        self._scenario = scenario
        self._settings = Settings(flush=scenario.flush, timing=TIMING)
        self.scheduler = Scheduler()
        self.channels = Channels(
            self.scheduler, scenario.seed, scenario.delay_us, self._arrive
        )
        self.lives: dict[ProcessId, Life] = {}
        self._current: dict[str, Life] = {}
        self._left_messages = scenario.messages
        self._installed: dict[int, View] = {}
        self._complaint = ""
        founders = tuple(ProcessId(f"p{number}") for number in range(1, scenario.founders + 1))
        view = View(GROUP, ViewNumber(1), founders)
        for process in founders:
            self._begin(process, view)
        for step in scenario.steps:
            self.scheduler.at(step.time_us, self._do_step, step)

    @property
    def now_us(self) -> int:
        """Simulated time."""
        return self.scheduler.now_us

    def _begin(self, process: ProcessId, view: View | None) -> None:
        machine = Member(process, view, self._settings, self.now_us)
        life = Life(machine, self._scenario.seed, is_founder=view is not None)
        self.lives[process] = self._current[process.name] = life
        life.rows.start(self.now_us)
        self._do(life, machine.take_effects())
        # Not in step with each other: timers that fire together hide races.
        first_us = self.now_us + 1 + int(life.random.random() * TIMING.heartbeat_us)
        self.scheduler.at(first_us, self._tick, life)

    # Running.

    def run(self) -> Outcome:
        """Live through the scenario, then come to rest."""
        last_us = max((step.time_us for step in self._scenario.steps), default=0)
        self._run_until(last_us)
        self._calm()
        end_us = self.now_us + SETTLE_US
        quiet = 0
        while self.now_us < end_us:
            self._run_until(self.now_us + TIMING.heartbeat_us)
            # Twice in a row: nothing may be on its way that changes it.
            quiet = quiet + 1 if not self._unrest() else 0
            if quiet == 3:  # noqa: PLR2004
                break
        stuck = self._unrest()
        self._stop(stuck)
        events = [event for life in self.lives.values() for event in life.events]
        return Outcome(
            events, "" if self._is_hopeless() else stuck,
            list(self._installed.values()), self.channels.sent_count, self.now_us,
        )  # fmt: skip

    def _run_until(self, time_us: int) -> None:
        self.scheduler.run_until(time_us)

    def _calm(self) -> None:
        """End all faults."""
        self.channels.heal()
        for source in self._current:
            for target in self._current:
                self.channels.slow(source, target, 0)
        for life in list(self._current.values()):
            self._resume(life)

    def _unrest(self) -> str:
        """Say what is not yet as it must be in the end; empty if all is well."""
        if self._complaint:
            return self._complaint
        living = [life for life in self.lives.values() if life.is_up]
        views = {life.view.number if life.view else 0: life.view for life in living}
        if len(views) > 1:
            return f"views {sorted(views)} at the same time"
        for life in living:
            transition = life.machine.membership.transition
            if life.view is None or transition.pending:
                return f"{life.machine.me} waits for a view"
            if list(life.view.members) != [m for m in life.view.members if self.lives[m].is_up]:
                return f"{life.machine.me} has a dead member in its view"
            if life.machine.ordering.queue_depth:
                return f"{life.machine.me} holds messages back"
            if life.pending or not life.machine.may_multicast:
                return f"{life.machine.me} cannot multicast"
        if living and living[0].view and len(living) != len(living[0].view.members):
            return "a living process is in no view"
        if any(not life.transfer.has_state for life in living):
            return "a member has not got the state"
        received = [life.machine.received() for life in living]
        if any(counts != received[0] for counts in received):
            return "messages are under way"
        states = [life.replica.state for life in living]
        if any(state != states[0] for state in states):
            return f"states differ: {states}"
        return ""

    def _is_hopeless(self) -> bool:
        """Whether too few members live for anybody to decide anything."""
        latest = [life.machine.membership.latest for life in self.lives.values() if life.is_up]
        newest = max((view for view in latest if view), key=lambda view: view.number, default=None)
        return newest is None or not newest.has_quorum(
            [member for member in newest.members if self.lives[member].is_up]
        )

    def _has_faults(self) -> bool:
        return any(step.verb not in ("multicast", "join", "leave") for step in self._scenario.steps)

    def _stop(self, stuck: str) -> None:
        for life in self.lives.values():
            if life.is_up:
                life.rows.stop(self.now_us, stuck or QUIESCENT)

    # Steps.

    def _do_step(self, step: Step) -> None:
        match step.verb:
            case "partition":
                self.channels.partition(step.who)
                return
            case "heal":
                self.channels.heal()
                return
            case "slow":
                self.channels.slow(step.who[0], step.who[1], step.amount)
                return
            case "join":
                self._join(step.who[0])
                return
            case _:
                life = self._current.get(step.who[0])
        if life is None or not life.is_up:
            return
        match step.verb:
            case "multicast":
                self._say(life, max(1, step.amount))
            case "crash":
                self._crash(life, is_seen=bool(step.amount))
            case "pause":
                life.is_paused = True
            case "resume":
                self._resume(life)
            case "leave":
                life.is_leaving = True
                self._act(life, lambda: life.machine.leave(self.now_us))

    def _join(self, name: str) -> None:
        life = self._current.get(name)
        if life is not None and life.is_up:
            return
        lives = sum(1 for process in self.lives if process.name == name)
        if lives >= LIVES_MAX:
            return
        self._begin(ProcessId(name, lives + 1, lives), None)
        self._ask(self._current[name])

    def _ask(self, life: Life) -> None:
        """Ask some member to be taken in, again and again."""
        if not life.is_up or life.machine.membership.latest is not None:
            return
        members = [
            other.machine.me
            for other in self.lives.values()
            if other.is_up and other.view is not None and other is not life
        ]
        if members and not life.is_paused:
            contact = members[int(life.random.random() * len(members))]
            self._do(life, life.machine.ask_to_join(contact, self.now_us))
        self.scheduler.at(self.now_us + _JOIN_RETRY_US, self._ask, life)

    def _crash(self, life: Life, *, is_seen: bool) -> None:
        life.is_up = False
        life.rows.crash(self.now_us)
        self.channels.lose_sent(life.machine.me)
        if is_seen:
            for other in self.lives.values():
                if other.is_up:
                    delay_us = 200 + int(other.random.random() * 5_000)
                    self.scheduler.at(
                        self.now_us + delay_us, self._see_crash, (other, life.machine.me)
                    )

    def _see_crash(self, what: tuple[Life, ProcessId]) -> None:
        life, dead = what
        self._act(life, lambda: life.machine.lose(dead, self.now_us))

    def _resume(self, life: Life) -> None:
        if not life.is_paused:
            return
        life.is_paused = False
        while life.inbox and life.is_up and not life.is_paused:
            source, item = life.inbox.popleft()
            self._take(life, source, item)

    def _act(self, life: Life, action: Action) -> None:
        """Let a process do something; if it is paused, it does so when it goes on."""
        if life.is_up and not life.is_paused:
            self._do(life, action())
        elif life.is_up:
            self.scheduler.at(self.now_us + 1_000, lambda _: self._act(life, action), None)

    # The application.

    def _say(self, life: Life, count: int) -> None:
        count = min(count, self._left_messages)
        self._left_messages -= count
        life.pending += count
        self._flush(life)

    def _flush(self, life: Life) -> None:
        if life.pending and life.is_up and not life.is_paused and life.machine.may_multicast:
            payloads, life.pending = [b""] * life.pending, 0
            self._do(life, life.machine.multicast(payloads, Order.CAUSAL, self.now_us))

    def _answer(self, life: Life) -> None:
        if self._left_messages and life.is_up and life.random.random() < self._scenario.answers:
            thought_us = int(life.random.random() * 2_000)
            self.scheduler.at(self.now_us + thought_us, lambda _: self._say(life, 1), None)

    # Time and messages.

    def _tick(self, life: Life) -> None:
        if not life.is_up:
            return
        if not life.is_paused:
            self._do(life, life.machine.tick(self.now_us))
            self._flush(life)
        self.scheduler.at(self.now_us + TIMING.heartbeat_us, self._tick, life)

    def _arrive(self, source: ProcessId, target: ProcessId, item: Item) -> None:
        life = self.lives[target]
        if life.is_paused:
            life.inbox.append((source, item))
        elif life.is_up:
            self._take(life, source, item)

    def _take(self, life: Life, source: ProcessId, item: Item) -> None:
        machine, now_us = life.machine, self.now_us
        if isinstance(item, Run):
            delivered = machine.receive(source, item)
            if delivered is None:
                self._do(life, machine.take_run(source, item, now_us))
            else:
                machine.hear(source, now_us)
                self._deliver(life, delivered)
        elif isinstance(item, StateChunk | StateTaken):
            machine.hear(source, now_us)
            self._do_transfer(life, life.transfer.receive(source, item))
        elif isinstance(item, Copied):
            self._do(life, machine.take_run(source, item.run, now_us, relayed=True))
        else:
            self._do(life, machine.take_control(source, item, now_us))
        self._flush(life)

    # Effects.

    def _do(self, life: Life, effects: list[Effect | SendRun]) -> None:
        send = self.channels.send
        me = life.machine.me
        for effect in effects:
            match effect:
                case SendRun(run, alive):
                    life.rows.run(self.now_us, "multicast", run, 0)
                    assert life.view is not None, "only members multicast"
                    for member in life.view.members:
                        if member != me:
                            if alive is not None:
                                send(me, member, alive)
                            send(me, member, run)
                case SendControl(to, message):
                    for process in to:
                        send(me, process, message)
                case RelayRuns(to, runs):
                    for process in to:
                        for run in runs:
                            send(me, process, Copied(run))
                case DeliverRuns(runs):
                    self._deliver(life, runs)
                case _:
                    self._note(life, effect)

    def _deliver(self, life: Life, runs: list[Run]) -> None:
        for run in runs:
            life.rows.run(self.now_us, "deliver", run, 0)
            life.replica.deliver(run)
            assert life.view is not None, "only members deliver"
            if life.view.members[run.sender] != life.machine.me:
                self._answer(life)

    def _note(self, life: Life, effect: Effect) -> None:
        match effect:
            case InstallView(view):
                life.view = view
                life.rows.view(self.now_us, view)
                self._installed.setdefault(view.number, view)
                if life.machine.me in view.members:
                    life.replica.enter(view.number)
                    self._do_transfer(life, life.transfer.enter(view))
            case SuspectProcess(process):
                life.rows.suspect(self.now_us, str(process), "")
            case BlockGroup(reachable):
                life.rows.block(self.now_us, " ".join(map(str, reachable)))
            case ResumeGroup():
                life.rows.resume(self.now_us)
            case LeaveGroup(why):
                self._end(life, why)
            case _:
                pass

    def _do_transfer(self, life: Life, effects: list[state_transfer.Effect]) -> None:
        for effect in effects:
            match effect:
                case SendState(to, message):
                    self.channels.send(life.machine.me, to, message)
                case SaveState(number):
                    self._do_transfer(life, life.transfer.give(number, life.replica.save()))
                case ExpectState(number):
                    life.replica.expect(number)
                case LoadChunk():
                    delay_us = int(life.random.random() * 4_000)
                    self.scheduler.at(self.now_us + delay_us, self._load, (life, effect))
                case StateLost():
                    pass  # nobody can help; the world ends unequal, and hopeless or stuck

    def _load(self, what: tuple[Life, LoadChunk]) -> None:
        life, chunk = what
        if life.is_paused:
            self.scheduler.at(self.now_us + 1_000, self._load, what)
        elif life.is_up:
            life.replica.load(chunk.number, chunk.data)
            self._do_transfer(life, life.transfer.took(chunk.number))
            if life.transfer.has_state and not life.replica.has_state:
                life.replica.finish()
                self._do(life, life.machine.gain_state(self.now_us))

    def _end(self, life: Life, why: str) -> None:
        life.is_up = False
        life.rows.stop(self.now_us, why or LEFT)
        if why and life.is_leaving and not self._has_faults():
            self._complaint = f"{life.machine.me}: {why}"
        if why and not life.is_leaving:
            self.scheduler.at(self.now_us + 5_000, lambda _: self._join(life.machine.me.name), None)

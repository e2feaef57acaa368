"""Simulated processes that found their group: each runs the bootstrap as a node does.

Law: founders start at different times, which follow from the seed, and know each other's places
alone. They ask and answer on the channels of questions (``probes``), slow and cut as those between
the processes are. Who crashes before it has begun has crashed for good: started again, it
only joins, for it would have forgotten its vote.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Protocol

from antiphon.core.control import FoundingAnswer, FoundingQuestion
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.bootstrap import Founding, is_majority
from antiphon.membership.failure_detector import Timing
from antiphon.sim.channels import Channels
from antiphon.sim.driver import GROUP, Driver
from antiphon.sim.probes import post_box
from antiphon.sim.scenario import Step
from antiphon.sim.scheduler import Scheduler

_LATER_US = 1_000


@dataclass(frozen=True, slots=True)
class Question:
    """Asked of a place."""

    asker: str
    asked: FoundingQuestion


@dataclass(frozen=True, slots=True)
class FoundingReply:
    """What came of it."""

    place: str
    said: FoundingAnswer | None = None
    is_member: bool = False


class FoundersWorld(Protocol):
    """What the world does for its founders."""

    scheduler: Scheduler
    channels: Channels

    def begin(self, process: ProcessId, view: View | None) -> Driver:
        """Begin an incarnation."""

    def enter(self, name: str) -> None:
        """Let a process look for the way in."""

    def current(self, name: str) -> Driver | None:
        """Return the incarnation that bears a name now."""


class Founder:
    """One process that founds."""

    def __init__(
        self, around: FoundersWorld, name: str, places: list[str], timing: Timing, seed: int
    ) -> None:
        """Start."""
        self._around = around
        self.name = name
        now_us = around.scheduler.now_us
        self.machine = Founding(GROUP, ProcessId(name), places, timing, now_us)
        self._timing = timing
        self._random = Random(f"{seed}/{name}/founding")
        self.is_paused = False
        self.is_dead = False
        self.is_through = False
        self._wake()

    def answer(self, asked: FoundingQuestion) -> FoundingAnswer:
        """Vote."""
        said = self.machine.answer(asked)
        self._later(0, self._look)
        return said

    def hear(self, reply: FoundingReply) -> None:
        """An answer has come, or nobody answers."""
        if self.is_paused:
            self._later(_LATER_US, lambda: self.hear(reply))
            return
        now_us, dice = self._around.scheduler.now_us, self._random.random()
        if reply.said is not None:
            self.machine.hear(reply.place, reply.said, now_us, dice)
        elif reply.is_member:
            self.machine.meet(reply.place, now_us, dice)
        else:
            self.machine.miss(reply.place, now_us, dice)
        self._look()

    def _wake(self) -> None:
        if not self.is_through and not self.is_dead:
            self._look()
            self._later(self._timing.heartbeat_us // 4, self._wake)

    def _look(self) -> None:
        if self.is_paused or self.is_dead or self.is_through:
            return
        machine, around = self.machine, self._around
        for ask in machine.look(around.scheduler.now_us, self._random.random()):
            question = Question(self.name, ask.question)
            around.channels.post(post_box(self.name), post_box(ask.place), question)
        me, view = ProcessId(self.name), machine.view
        if view is not None and me in view.members:
            self.is_through = True
            around.begin(me, view)
        elif view is not None or machine.is_running:
            self.is_through = True
            around.enter(self.name)

    def _later(self, delay_us: int, action: Callable[[], None]) -> None:
        scheduler = self._around.scheduler
        scheduler.at(scheduler.now_us + delay_us, lambda _: action(), None)


class Founders:
    """All that found the group of a world."""

    def __init__(self, around: FoundersWorld, names: list[str], timing: Timing, seed: int) -> None:
        """Let them start, one after the other or together."""
        self._around = around
        self.names = names
        self._timing = timing
        self._seed = seed
        self.started: dict[str, Founder] = {}
        self._never: dict[str, None] = {}
        random = Random(f"{seed}/start")
        spread_us = random.choice(
            [0, timing.heartbeat_us, timing.timeout_us, 4 * timing.timeout_us]
        )
        for name in names:
            delay_us = int(random.random() * spread_us)
            around.scheduler.at(around.scheduler.now_us + delay_us, self._start, name)

    def _start(self, name: str) -> None:
        if name not in self._never:
            founder = Founder(self._around, name, self.names, self._timing, self._seed)
            self.started[name] = founder

    def is_founding(self, name: str) -> bool:
        """Whether a process is on its way to be a founder."""
        founder = self.started.get(name)
        is_to_start = founder is None and name in self.names and name not in self._never
        return is_to_start or (
            founder is not None and not founder.is_through and not founder.is_dead
        )

    def do(self, step: Step) -> None:
        """Do something to a process that has not begun yet."""
        match step.verb:
            case "crash":
                self.crash(step.who[0])
            case "pause" | "resume":
                self.pause(step.who[0], is_paused=step.verb == "pause")
            case _:  # it has nobody to say anything to
                pass

    def crash(self, name: str) -> None:
        """A process dies, begun or not."""
        if (founder := self.started.get(name)) is not None:
            founder.is_dead = True
        elif name in self.names:
            self._never[name] = None

    def pause(self, name: str, *, is_paused: bool) -> None:
        """A process stops, or goes on."""
        if (founder := self.started.get(name)) is not None:
            founder.is_paused = is_paused

    def calm(self) -> None:
        """Let everybody go on."""
        for founder in self.started.values():
            founder.is_paused = False

    @property
    def outside(self) -> list[str]:
        """Who has not begun, and should sooner or later: enough live, or the group runs."""
        waiting = [name for name in self.names if self.is_founding(name)]
        voting = [name for name, founder in self.started.items() if not founder.is_dead]
        return waiting if is_majority(len(voting), len(self.names)) else []

    def arrive(self, place: str, item: Question | FoundingReply) -> None:
        """Answer a question, or hand an answer over."""
        founder = self.started.get(place)
        if isinstance(item, FoundingReply):
            if founder is not None:
                founder.hear(item)
            return
        driver = self._around.current(place)
        is_paused = (founder is not None and founder.is_paused) or (
            driver is not None and driver.is_up and driver.is_paused
        )
        if is_paused:
            scheduler = self._around.scheduler
            scheduler.at(scheduler.now_us + _LATER_US, lambda _: self.arrive(place, item), None)
            return
        reply = FoundingReply(place)
        if founder is not None and not founder.is_dead:
            reply = FoundingReply(place, founder.answer(item.asked))
        elif driver is not None and driver.is_up and driver.view is not None:
            reply = FoundingReply(place, is_member=True)
        self._around.channels.post(post_box(place), post_box(item.asker), reply)

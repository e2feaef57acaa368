"""Bootstrap of a simulated process: how it finds its way into the group.

Law: it knows the founders' places, those of its last view and what it hears of; it probes, asks to
be taken in and waits as the machine says (``membership.entrance``), as a new incarnation when its
number has to change. It stops when it is in a view, crashes, or has had as many incarnations as a
world allows.
"""

from collections.abc import Callable
from random import Random
from typing import Protocol

from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.effects import LeaveGroup
from antiphon.membership.entrance import GiveUp, Inquire, Knock, Search
from antiphon.membership.failure_detector import Timing
from antiphon.sim.driver import GROUP, Driver
from antiphon.sim.probes import Probe, ProbeReply, Probes
from antiphon.sim.scenario import Step
from antiphon.sim.scheduler import Scheduler
from antiphon.stack.inputs import JoinRequested

INCARNATIONS_MAX = 4


class WayIn(Protocol):
    """What the world does for those on their way in."""

    scheduler: Scheduler
    probes: Probes
    drivers: dict[ProcessId, Driver]

    def begin(self, process: ProcessId, view: View | None) -> Driver:
        """Begin an incarnation."""

    def do_to(self, driver: Driver, step: Step) -> None:
        """Let a process do something."""

    def complain(self, what: str) -> None:
        """Say what no process should do."""


class Bootstrap:
    """One process on its way in."""

    def __init__(
        self, around: WayIn, name: str, places: list[str], timing: Timing, seed: int
    ) -> None:
        """Begin to look for the way in."""
        self._around = around
        self._name = name
        self._timing = timing
        last_number = max((p.incarnation for p in around.drivers if p.name == name), default=0)
        self.search = Search(
            GROUP, [place for place in places if place != name], timing,
            around.scheduler.now_us, last_number=last_number,
        )  # fmt: skip
        self._random = Random(f"{seed}/{name}/{last_number}/entrance")
        self._wake_us: int | None = None
        self.driver: Driver | None = None
        """The incarnation that knocks."""
        self.wishes: list[Step] = []
        """What the process is to do once it has an incarnation."""
        self.is_paused = False
        self.is_over = False
        self._look()

    @property
    def _is_still(self) -> bool:
        return self.is_paused or (self.driver is not None and self.driver.is_paused)

    def hear(self, reply: ProbeReply) -> None:
        """An answer has come, or nobody answered."""
        now_us, dice = self._around.scheduler.now_us, self._random.random()
        if self._is_still:
            self._at(now_us + 1_000, lambda: self.hear(reply))
            return
        if reply.found is None:
            self.search.miss(reply.place, now_us, dice)
        else:
            self.search.hear(reply.place, reply.found, now_us, dice)
        self._look()

    def end(self, driver: Driver, effect: LeaveGroup) -> None:
        """The incarnation that knocked is over."""
        latest = driver.machine.membership.latest
        now_us = self._around.scheduler.now_us
        self.driver = None
        if latest is not None:
            places = [who.place for who in latest.members if who.name != self._name]
            self.search.learn(places, now_us)
        self.search.end(
            effect.why, effect.next_incarnation, now_us, self._random.random(),
            is_refused=effect.is_refused,
        )  # fmt: skip
        self._look()

    def _look(self) -> None:
        """Do what the machine says, and come back in time."""
        if self.is_over:
            return
        driver = self.driver
        if driver is not None and driver.view is not None:
            self.is_over = True
            return
        now_us = self._around.scheduler.now_us
        is_taken_in = driver is not None and driver.machine.membership.latest is not None
        if not self._is_still and not is_taken_in:
            for effect in self.search.look(now_us, self._random.random()):
                match effect:
                    case Inquire(places):
                        self._inquire(places)
                    case Knock(contact, number):
                        self._knock(contact, number)
                    case GiveUp(why):
                        self.is_over = True
                        self._around.complain(f"{self._name} gives up coming back: {why}")
        soon_us = now_us + self._timing.heartbeat_us
        self._wake(max(now_us + 500, min(self.search.is_due_us, soon_us)))

    def _inquire(self, places: tuple[str, ...]) -> None:
        me = self.driver.machine.me if self.driver is not None else ProcessId(self._name, 0)
        for place in places:
            self._around.probes.send(place, Probe(me, 0))

    def _knock(self, contact: ProcessId, number: int) -> None:
        around = self._around
        if self.driver is None or self.driver.machine.me.incarnation != number:
            count = sum(process.name == self._name for process in around.drivers)
            if count >= INCARNATIONS_MAX:
                self.is_over = True
                return
            if self.driver is not None:
                self.driver.die("its number is out of date")
            self.driver = around.begin(ProcessId(self._name, number, count), None)
            wishes, self.wishes = self.wishes, []
            for step in wishes:
                around.do_to(self.driver, step)
        driver = self.driver
        driver.give(JoinRequested(contact))

    # Time.

    def _at(self, time_us: int, action: Callable[[], None]) -> None:
        self._around.scheduler.at(time_us, lambda _: action(), None)

    def _wake(self, time_us: int) -> None:
        if self.is_over or (self._wake_us is not None and self._wake_us <= time_us):
            return
        self._wake_us = time_us
        self._at(time_us, self._woken)

    def _woken(self) -> None:
        if self._wake_us is not None and self._around.scheduler.now_us >= self._wake_us:
            self._wake_us = None
            self._look()

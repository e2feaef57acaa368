"""Random scenarios for processes in several groups on the network: who is where, and what breaks.

Law: as for one group (``driver_scenario``), a scenario is data and a function of its seed. Groups
overlap: each is founded by some of the processes, at the beginning or in the midst of things, and
entered and left by others later. In half of the worlds they are one causality domain; in some of
these somebody goes from group to group, and is in none between two. Verbs of a group name it before
the process.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Literal

from antiphon.membership.failure_detector import Timing
from antiphon.net.application.causal_domain import CausalDomain
from antiphon.testing.driver_scenario import (
    DELAYS_US,
    NAMES,
    ORDERS,
    Draft,
    DriverStep,
    break_connections,
    break_processes,
    draw_timing,
)

GROUPS = ("hall", "loft", "nook", "yard")

_WANDERING = 0.4
"""In which part of the worlds of a domain somebody is in no group between two."""


@dataclass(frozen=True, slots=True)
class GroupsScenario:
    """One world."""

    seed: int
    flush: str
    processes: dict[str, tuple[str, ...]]
    """The processes, and of each those through whom it finds groups."""
    groups: tuple[str, ...]
    timing: Timing
    delay_us: tuple[int, int]
    with_state: bool
    with_commit: bool
    """Whether there are transactions."""
    rejoin: bool
    calm_us: int
    """From when on nothing breaks any more."""
    drain_s: float
    """How long an application waits to be let go; then its process leaves in the background."""
    domain: CausalDomain | None = None
    """The causality domain of all groups, if they share one."""
    steps: list[DriverStep] = field(default_factory=list)

    def __str__(self) -> str:
        """Line by line."""
        known = ", ".join(f"{name} knows {' '.join(whom)}" for name, whom in self.processes.items())
        head = (
            f"seed {self.seed}, flush {self.flush}, groups {' '.join(self.groups)}, {known}, "
            f"state {self.with_state}, transactions {self.with_commit}, rejoin {self.rejoin}, "
            f"domain {self.domain.description if self.domain is not None else 'of each'}, "
            f"one way {self.delay_us} us, leaves within {self.drain_s:g} s, "
            f"{self.timing}, calm from {self.calm_us / 1e6:g} s"
        )
        return "\n".join([head, *map(str, self.steps)])


class _GroupsDraft(Draft):
    """A scenario being drawn."""

    def __init__(self, seed: int, flush: str) -> None:
        super().__init__(seed, flush)
        self.random = random = Random(f"drivers in groups {seed} {flush}")
        self.founders = NAMES[: random.choice((2, 3, 3, 4, 4, 5))]
        self.running = list(self.founders)
        self.groups = GROUPS[: random.choice((2, 2, 3, 4))]
        self.members: dict[str, list[str]] = {}
        """Who founds each group, or is to join it."""
        self.calm_us = random.choice((1_500_000, 2_500_000, 4_000_000))
        self.orders = ORDERS if flush == "view-atomic" else ORDERS[:3]
        self.with_commit = flush == "view-atomic" and random.random() < 0.2


def _found(draft: _GroupsDraft) -> None:
    random = draft.random
    for group in draft.groups:
        count = random.randint(2, len(draft.founders))
        members = draft.members[group] = sorted(random.sample(draft.founders, count))
        at_us = random.choice((0, 0, 0, draft.time_us()))
        draft.add("found", group, *members, at_us=at_us)


def _speak(draft: _GroupsDraft) -> None:
    random = draft.random

    def somebody() -> tuple[str, str]:
        group = random.choice(draft.groups)
        return group, random.choice(draft.members[group])

    for _ in range(random.randrange(6, 20)):
        size = random.choice((0, 10, 10, 100, 3_000))
        count = random.choice((1, 1, 2, 5, 20))
        order = random.choice(draft.orders)
        draft.add("multicast", *somebody(), str(size), value=count, order=order)
    if random.random() < 0.5:
        draft.add("call", *somebody(), value=random.choice((300_000, 2_000_000)))
    for _ in range(random.choice((0, 0, 1, 3))):
        group, who = somebody()
        draft.add("letter", group, who, random.choice(draft.members[group]), value=2)
    for _ in range(random.choice((1, 2, 4)) if draft.with_commit else 0):
        draft.add("transaction", *somebody())
    if random.random() < 0.04:
        draft.add("multicast", *somebody(), str(1 << 20), value=24, order="causal")
    if random.random() < 0.15:
        at_us = draft.time_us()
        draft.add("stop reading", *somebody(), value=draft.length_us(at_us), at_us=at_us)


def _come_and_go(draft: _GroupsDraft) -> None:
    random = draft.random
    for _ in range(random.choice((0, 1, 2, 3, 5))):
        group, who = random.choice(draft.groups), random.choice(draft.founders)
        if who in draft.members[group] and random.random() < 0.7:
            at_us = draft.time_us()
            draft.add("leave", group, who, at_us=at_us)
            if random.random() < 0.6:
                draft.add("join", group, who, at_us=at_us + draft.length_us(at_us))
        else:
            draft.add("join", group, who)
            draft.members[group].append(who)
    if random.random() < 0.15:
        draft.add("end", random.choice(draft.founders))


def _domain(seed: int, flush: str) -> CausalDomain | None:
    """In half of the worlds all groups are one causality domain."""
    random = Random(f"domain {seed} {flush}")  # its own: other worlds stay as they are
    if random.random() < 0.5:
        return None
    resiliences: tuple[int | Literal["all"], ...] = (1, 1, 2, "all")
    return CausalDomain("house", random.choice(resiliences))


def _wander(draft: _GroupsDraft, seed: int, flush: str) -> None:
    """Let somebody leave all its groups, enter another, and speak there, once or more often.

    Between two others something is slow meanwhile, and all speak: so there is much to be told.
    """
    random = Random(f"in no group between {seed} {flush}")  # its own, as well
    if random.random() > _WANDERING:
        return
    if len(draft.founders) > 3 and len(draft.groups) > 2 and random.random() < 0.7:
        _answer_elsewhere(draft, random)
        return
    who = random.choice(draft.founders)
    others = [name for name in draft.founders if name != who]
    at_us = random.randrange(200_000, 1_000_000)
    for _ in range(random.choice((1, 1, 2, 3))):
        if len(others) > 1:
            draft.add("close path", *random.sample(others, 2), value=100_000, at_us=at_us)
        for _ in range(random.randrange(2, 8)):
            at_us += random.randrange(500, 4_000)
            group, order = random.choice(draft.groups), random.choice(draft.orders)
            _say(draft, group, random.choice(others), order, at_us)
        at_us += random.randrange(500, 4_000)
        for group in draft.groups:
            draft.add("leave", group, who, at_us=at_us)
        at_us += random.choice((2_000, 10_000, 10_000, 50_000, 500_000))
        _enter_and_speak(draft, random.choice(draft.groups), who, at_us)
        at_us += random.choice((20_000, 100_000, 400_000))


def _answer_elsewhere(draft: _GroupsDraft, random: Random) -> None:
    """Let somebody hear what is not known everywhere yet, leave, and answer in another group.

    That is what it depends on in a third group: its sender is slow to reach one who is everywhere.
    """
    far, near, late, who = random.sample(draft.founders, 4)
    asked, heard, answered = random.sample(draft.groups, 3)
    members = {
        asked: (far, near, late),
        heard: (near, late, who),
        answered: random.choice(((late,), (late, near))),
    }
    draft.steps = [
        step for step in draft.steps if step.verb != "found" or step.who[0] not in members
    ]
    for group, names in members.items():
        draft.add("found", group, *names, at_us=0)
    at_us = random.randrange(200_000, 1_000_000)
    draft.add("close path", far, late, value=random.choice((60_000, 200_000)), at_us=at_us)
    _say(draft, asked, far, "causal", at_us + 1_000)
    _say(draft, heard, near, "causal", at_us + random.randrange(2_000, 6_000))
    left_us = at_us + random.randrange(7_000, 10_000)
    draft.add("leave", heard, who, at_us=left_us)
    entered_us = left_us + random.choice((5_000, 10_000, 20_000))
    _enter_and_speak(draft, answered, who, entered_us)


def _enter_and_speak(draft: _GroupsDraft, group: str, who: str, at_us: int) -> None:
    draft.add("join", group, who, at_us=at_us)
    for pause_us in (3_000, 10_000, 50_000, 200_000):
        _say(draft, group, who, "causal", at_us + pause_us)


def _say(draft: _GroupsDraft, group: str, who: str, order: str, at_us: int) -> None:
    draft.add("multicast", group, who, "10", value=1, order=order, at_us=at_us)


def random_groups_scenario(seed: int, flush: str = "view-atomic") -> GroupsScenario:
    """Draw the scenario of a seed."""
    draft = _GroupsDraft(seed, flush)
    random = draft.random
    for part in (_found, _come_and_go, _speak):
        part(draft)
    break_connections(draft)
    break_processes(draft)
    domain = _domain(seed, flush)
    if domain is not None:
        _wander(draft, seed, flush)
    known = {
        name: tuple(random.sample([who for who in draft.founders if who != name], count))
        for name in draft.founders
        for count in (random.randint(1, len(draft.founders) - 1),)
    }
    return GroupsScenario(
        seed, flush, known, draft.groups, draw_timing(random), random.choice(DELAYS_US),
        with_state=random.random() < 0.5, with_commit=draft.with_commit,
        rejoin=random.random() < 0.6,
        calm_us=draft.calm_us, drain_s=random.choice((0.05, 0.5, 5.0)), domain=domain,
        steps=sorted(draft.steps, key=lambda step: step.at_us),
    )  # fmt: skip

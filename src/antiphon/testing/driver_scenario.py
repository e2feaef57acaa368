"""Random scenarios for the real network driver: who takes part, what is said, and what breaks.

Law: a scenario is data, and a function of its seed. Faults that last name when they end, and all
have ended by the time ``calm_us``; too many processes are never killed on purpose, so that most
worlds can be asked to recover.
"""

from dataclasses import dataclass, field
from random import Random

from antiphon.membership.failure_detector import Timing

NAMES = ("anna", "ben", "cleo", "dora", "emil", "fay", "gus")

ORDERS = ("fifo", "causal", "total", "uniform", "uniform total")
"""What is asked of a multicast; the ISIS flushes serve the first three."""


BUSY_US = 4_000_000
"""What happens begins within this time."""

STARVED_US = 40_000_000
"""For longer than this nobody waits for a member that reads nothing."""

_FOUNDING = 0.25
"""Part of the worlds, of those with enough founders, in which founding itself is disturbed."""

DELAYS_US = ((50, 500), (50, 500), (200, 20_000), (1_000, 60_000))
"""How long anything takes, one way, at least and at most: one of these."""


@dataclass(frozen=True, slots=True)
class DriverStep:
    """Something that is done to a world at a time."""

    at_us: int
    verb: str
    who: tuple[str, ...] = ()
    value: int = 0
    """How many, how long (in microseconds) or how large, as the verb needs."""
    order: str = ""

    def __str__(self) -> str:
        """As a person reads it."""
        said = [f"{self.at_us / 1e6:.6f} s", self.verb, *self.who]
        said += [str(self.value)] if self.value else []
        return " ".join([*said, self.order] if self.order else said)


@dataclass(frozen=True, slots=True)
class DriverScenario:
    """One world."""

    seed: int
    flush: str
    founders: tuple[str, ...]
    timing: Timing
    delay_us: tuple[int, int]
    with_state: bool
    with_commit: bool
    """Whether there are transactions."""
    rejoin: bool
    calm_us: int
    """From when on nothing breaks any more."""
    steps: list[DriverStep] = field(default_factory=list)
    starts_us: dict[str, int] = field(default_factory=dict)
    """When founders start that do not all start at once."""

    def __str__(self) -> str:
        """Line by line."""
        head = (
            f"seed {self.seed}, flush {self.flush}, founded by {' '.join(self.founders)}, "
            f"state {self.with_state}, transactions {self.with_commit}, rejoin {self.rejoin}, "
            f"one way {self.delay_us} us, "
            f"{self.timing}, calm from {self.calm_us / 1e6:g} s"
        )
        starts = [f"{at_us / 1e6:.6f} s starts {who}" for who, at_us in self.starts_us.items()]
        return "\n".join([head, *starts, *map(str, self.steps)])


class Draft:
    """A scenario being drawn."""

    def __init__(self, seed: int, flush: str) -> None:
        """Draw who is there, and how long things break."""
        self.random = random = Random(f"drivers {seed} {flush}")
        founder_count = random.choice((1, 2, 3, 3, 3, 4, 4, 5))
        self.founders = NAMES[:founder_count]
        self.running = list(self.founders)
        self.killed: list[str] = []
        self.outside = list(NAMES[founder_count : founder_count + 2])
        self.calm_us = random.choice((1_500_000, 2_500_000, 4_000_000))
        self.orders = ORDERS if flush == "view-atomic" else ORDERS[:3]
        self.with_commit = flush == "view-atomic" and random.random() < 0.3
        self.steps: list[DriverStep] = []

    def time_us(self) -> int:
        """Draw when something happens."""
        return self.random.randrange(50_000, min(self.calm_us, BUSY_US))

    def add(
        self, verb: str, *who: str, value: int = 0, order: str = "", at_us: int | None = None
    ) -> None:
        """Let something be done."""
        self.steps.append(
            DriverStep(self.time_us() if at_us is None else at_us, verb, who, value, order)
        )

    def pair(self) -> tuple[str, ...]:
        """Draw two that run; nobody, if there are not as many."""
        return tuple(self.random.sample(self.running, 2)) if len(self.running) > 1 else ()

    def length_us(self, at_us: int) -> int:
        """Return how long a fault lasts that begins then: it ends before all is calm."""
        return min(int(self.random.expovariate(1) * 700_000) + 1, self.calm_us - at_us)


def _speak(draft: Draft) -> None:
    random = draft.random
    for _ in range(random.randrange(4, 14)):
        who = random.choice(draft.running)
        size = random.choice((0, 10, 10, 100, 3_000))
        count = random.choice((1, 1, 2, 5, 20))
        draft.add("multicast", who, str(size), value=count, order=random.choice(draft.orders))
    if random.random() < 0.5:
        draft.add("call", random.choice(draft.running), value=random.choice((300_000, 2_000_000)))
    for _ in range(random.choice((0, 0, 1, 3))):
        if pair := draft.pair():
            draft.add("letter", *pair, value=random.choice((1, 3)))
    for _ in range(random.choice((1, 2, 4)) if draft.with_commit else 0):
        draft.add("transaction", random.choice(draft.running))
    if random.random() < 0.06:
        _flood(draft)
    if random.random() < 0.15:
        at_us = draft.time_us()
        who = random.choice(draft.running)
        draft.add("stop reading", who, value=draft.length_us(at_us), at_us=at_us)


def _flood(draft: Draft) -> None:
    """Multicast more than any buffer holds; perhaps to somebody who reads nothing for too long."""
    random, at_us = draft.random, draft.time_us()
    who = random.choice(draft.running)
    draft.add("multicast", who, str(1 << 20), value=24, order="causal", at_us=at_us)
    if (pair := draft.pair()) and random.random() < 0.4:
        draft.calm_us = STARVED_US + 5_000_000
        draft.add("stop reading", pair[0], value=STARVED_US, at_us=at_us // 2)
        draft.add("multicast", pair[1], str(1 << 20), value=20, order="total", at_us=at_us)


def break_connections(draft: Draft) -> None:
    """Draw what happens to connections and paths."""
    random = draft.random
    for _ in range(random.choice((0, 1, 2, 4, 8))):
        if not (pair := draft.pair()):
            return
        at_us = draft.time_us()
        verb = random.choice(("cut", "cut", "cut", "half open", "half open silently", "stall"))
        draft.add(verb, *pair, at_us=at_us)
    for _ in range(random.choice((0, 0, 1, 2))):
        if pair := draft.pair():
            at_us = draft.time_us()
            verb = random.choice(("close path", "close path", "close both paths"))
            draft.add(verb, *pair, value=draft.length_us(at_us), at_us=at_us)
    if random.random() < 0.2 and len(draft.running) > 1:
        at_us = draft.time_us()
        side = random.sample(draft.running, random.randrange(1, len(draft.running)))
        draft.add("partition", *side, value=draft.length_us(at_us), at_us=at_us)
    if random.random() < 0.08:
        at_us = draft.time_us()
        who = random.choice(draft.running)
        draft.add("refuse", who, value=draft.length_us(at_us), at_us=at_us)


def break_processes(draft: Draft) -> None:
    """Draw who is paused, killed, and started again."""
    random = draft.random
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        at_us = draft.time_us()
        who = random.choice(draft.running)
        draft.add("pause", who, value=draft.length_us(at_us), at_us=at_us)
    kill_count = random.choice((0, 0, 1, 1, 2))
    for _ in range(min(kill_count, (len(draft.founders) - 1) // 2)):
        at_us = draft.time_us()
        who = random.choice(draft.running)
        draft.add(random.choice(("kill", "kill", "kill silently")), who, at_us=at_us)
        draft.running.remove(who)
        if random.random() < 0.5:
            draft.add("restart", who, at_us=at_us + draft.length_us(at_us))


def _come_and_go(draft: Draft) -> None:
    random = draft.random
    for who in draft.outside:
        if random.random() < 0.4:
            draft.add("join", who)
    if random.random() < 0.25 and len(draft.running) > 1:
        draft.add("leave", random.choice(draft.running))


def draw_timing(random: Random) -> Timing:
    """Draw how soon silence is suspicious."""
    heartbeat_us, timeout_us = random.choice(
        ((100_000, 1_500_000), (50_000, 400_000), (100_000, 700_000))
    )
    return Timing(heartbeat_us=heartbeat_us, timeout_us=timeout_us, timeout_us_max=6_000_000)


def _found(draft: Draft, flush: str, seed: int) -> dict[str, int]:
    """Draw, for some worlds, founders that start apart, die meanwhile, and are started again."""
    random = Random(f"founding {seed} {flush}")  # of its own: other worlds stay what they are
    if len(draft.founders) < 3 or random.random() > _FOUNDING:
        return {}
    starts_us = {who: random.randrange(random.choice((1, 300_000))) for who in draft.founders}
    killed = {step.who[0] for step in draft.steps if step.verb.startswith("kill")}
    who = random.choice(draft.founders)
    if who not in killed and len(killed) < (len(draft.founders) - 1) // 2:
        others_us = [at_us for name, at_us in starts_us.items() if name != who]
        begins_us = max(starts_us[who], min(others_us))
        dies_us = begins_us + random.randrange(1, random.choice((3_000, 30_000, 300_000)))
        draft.add(random.choice(("kill", "kill silently")), who, at_us=dies_us)
        again_us = dies_us + random.randrange(1, random.choice((3_000, 100_000, 1_000_000)))
        draft.add("found again", who, at_us=min(again_us, draft.calm_us))
    return starts_us


def random_driver_scenario(seed: int, flush: str = "view-atomic") -> DriverScenario:
    """Draw the scenario of a seed."""
    draft = Draft(seed, flush)
    random = draft.random
    timing = draw_timing(random)
    for part in (_speak, break_connections, break_processes, _come_and_go):
        part(draft)
    starts_us = _found(draft, flush, seed)
    return DriverScenario(
        seed, flush, draft.founders,
        timing, random.choice(DELAYS_US),
        with_state=random.random() < 0.5, with_commit=draft.with_commit,
        rejoin=random.random() < 0.85,
        calm_us=draft.calm_us, steps=sorted(draft.steps, key=lambda step: step.at_us),
        starts_us=starts_us,
    )  # fmt: skip

"""Random scenarios: a seed becomes a world with faults, aimed at the moments that hurt.

Law: the scenario is a function of the seed, the flush and what it is aimed at. Of two seeds one,
the odd one, makes a wide world (``wide_scenario``); the others are near, and written here. Faults
come in clusters of a few milliseconds, about as long as a view change takes, because that is where
protocols break: a second crash during the flush for the first, a join between two failures, a
message still under way on a slow channel when its sender dies.

Between the faults there are scenes (``scenes``), with dice of their own, so that the faults of a
seed are the same whatever is played. A few worlds have a prologue
(``beginnings``), or an epilogue (``takeovers``).
"""

from dataclasses import replace
from random import Random

from antiphon.sim.beginnings import with_beginning
from antiphon.sim.calm_scenario import calm_scenario, reply_scenario
from antiphon.sim.coverage import Pair
from antiphon.sim.scenario import Scenario, Step, Verb, without_strangers
from antiphon.sim.scenes import Scenes
from antiphon.sim.takeovers import with_takeover
from antiphon.sim.wide_scenario import wide_scenario

_TIMEOUT_US = 100_000

_FAULTS = {
    "crash": 16,
    "last_words": 16,
    "chain_of_deaths": 8,
    "deaf_senior": 10,
    "pause": 8,
    "partition": 8,
    "slow_channel": 12,
    "join": 16,
    "leave": 12,
    "condemn": 5,
    "lost_joiner": 4,
}
"""What can happen, each a method of the author, and how often."""

_SCENE_MESSAGES = 80

_CALM = 0.05
"""How many worlds are calm, or nearly so."""

_REPLIES = 0.01
"""How many are about letters that follow each other to one member: replies to its calls."""

_CALLING = 0.4
"""How many worlds have calls."""

_TIGHT = 0.3
"""How many worlds have buffers of a few bytes."""


def random_scenario(seed: int, flush: str = "view-atomic", aim: Pair | None = None) -> Scenario:
    """Return the world of ``seed``; if aimed at a pair of events, a wide one that has both."""
    if aim is None and Random(f"{seed}/is calm").random() < _CALM:
        return calm_scenario(seed, flush)
    if aim is None and Random(f"{seed}/has replies").random() < _REPLIES:
        return reply_scenario(seed, flush)
    if aim is not None or seed % 2:
        scenario = wide_scenario(seed, flush, aim)
    else:
        scenario = _Author(seed, flush).write()
    scenario = without_strangers(_with_tools(scenario))
    return scenario if aim is not None else with_beginning(with_takeover(scenario))


def _with_tools(scenario: Scenario) -> Scenario:
    """Let some worlds call, and some have little room; with dice of their own, as scenes have."""
    random = Random(f"{scenario.seed}/tools")
    calls = int(random.random() < _CALLING)
    limits = "tight" if random.random() < _TIGHT else scenario.limits
    return replace(scenario, calls=calls, limits=limits)


class _Author:
    """Writes one scenario."""

    def __init__(self, seed: int, flush: str) -> None:
        self._seed = seed
        self._flush = flush
        self._random = Random(f"{seed}/scenario")
        self._steps: list[Step] = []
        self._founders = self._random.choice([1, 2, 3, 3, 4, 4, 4, 5, 5, 6])
        self._names = [f"p{number}" for number in range(1, self._founders + 1)]
        self._newcomers = [f"q{number}" for number in range(1, 4)]

    def write(self) -> Scenario:
        random = self._random
        scenes = Scenes(self._seed, self._flush, self._names[:])
        time_us = scenes.quiet_us + random.randint(500, 8_000)
        for _ in range(random.choice([1, 1, 2, 2, 3])):
            time_us = self._cluster(time_us)
        last_us = time_us
        for _ in range(random.randint(4, 24)):
            when_us = random.randint(0, last_us)
            self._add(when_us, "multicast", self._somebody(), amount=random.randint(1, 3))
        messages = random.choice([15, 30, 60])
        answers = random.choice([0.0, 0.2, 0.4])
        delay_us = random.choice([100, 1_000, 1_000, 4_000])
        played = scenes.play(last_us, delay_us)
        if played:  # let the scenes be heard: answers to answers use up all messages
            messages, answers = messages + _SCENE_MESSAGES, answers * scenes.answers
        return Scenario(
            seed=self._seed,
            founders=self._founders,
            flush=self._flush,
            messages=messages,
            answers=answers,
            delay_us=delay_us,
            # Only the view-atomic flush gives uniform delivery.
            orders="mixed" if self._flush == "view-atomic" else "ordered",
            letters=random.choice([0, 1]),
            # The decision is a uniform multicast.
            transactions=int(
                (random.random() < 0.5 and self._flush == "view-atomic")
                or any(step.verb == "begin" for step in played)
            ),
            token=random.choice(["follow", "follow", "fixed"]),
            steps=tuple(sorted(self._steps + played, key=lambda step: step.time_us)),
        )

    def _cluster(self, time_us: int) -> int:
        """Add faults that come together; return when the next ones may come."""
        random = self._random
        gap_us = random.choice([0, 300, 1_500, 6_000, 30_000])
        for _ in range(random.choice([1, 2, 2, 3, 3, 4, 5])):
            self._fault(time_us)
            time_us += int(random.expovariate(1.0) * gap_us)
            if random.random() < 0.6:
                self._add(time_us, "multicast", self._somebody(), amount=1)
        return time_us + random.choice([5_000, 60_000, 3 * _TIMEOUT_US])

    def _fault(self, time_us: int) -> None:
        random = self._random
        kind = random.choices(list(_FAULTS), list(_FAULTS.values()))[0]
        getattr(self, f"_{kind}")(time_us)

    def _crash(self, time_us: int) -> None:
        self._add(time_us, "crash", self._somebody(), amount=self._random.randint(0, 1))

    def _pause(self, time_us: int) -> None:
        who = self._somebody()
        self._add(time_us, "pause", who)
        self._add(time_us + self._random.choice([3_000, 40_000, 300_000]), "resume", who)

    def _partition(self, time_us: int) -> None:
        count = self._random.randint(1, max(1, len(self._names) - 1))
        self._add(time_us, "partition", *self._random.sample(self._names, count))
        self._add(time_us + self._random.choice([5_000, 60_000, 400_000]), "heal")

    def _slow_channel(self, time_us: int) -> None:
        self._slow(time_us, self._somebody(), self._somebody())

    def _join(self, time_us: int) -> None:
        who = self._random.choice(self._newcomers + self._names)
        self._add(time_us, "join", who)
        if who not in self._names:
            self._names.append(who)

    def _lost_joiner(self, time_us: int) -> None:
        """A process joins, and is cut off about when it is taken in, perhaps until it is out."""
        random = self._random
        who = random.choice(self._newcomers + self._names)
        self._add(time_us, "join", who)
        cut_us = time_us + random.choice([2_000, 4_000, 8_000, 16_000])
        self._add(cut_us, "partition", who)
        self._add(cut_us + random.choice([20_000, 250_000, 400_000]), "heal")

    def _leave(self, time_us: int) -> None:
        self._add(time_us, "leave", self._somebody())

    def _condemn(self, time_us: int) -> None:
        """A member is given up by another one, or by two, as one that takes nothing."""
        random = self._random
        whom = self._somebody()
        for who in random.sample(self._names, min(len(self._names), random.choice([1, 1, 2]))):
            self._add(time_us, "condemn", who, whom)

    def _last_words(self, time_us: int) -> None:
        """A message that reaches some and not others, and then its sender dies."""
        random = self._random
        who = self._somebody()
        for other in self._names:
            if random.random() < 0.5:
                self._slow(time_us, who, other)
        self._add(time_us + 100, "multicast", who, amount=1)
        delay_us = random.choice([200, 2_000, 10_000, 30_000])
        self._add(time_us + delay_us, "crash", who, amount=random.randint(0, 1))

    def _chain_of_deaths(self, time_us: int) -> None:
        """A message that only one process gets, which passes it on to one other, and so on."""
        random = self._random
        order = random.sample(self._names, min(len(self._names), random.choice([2, 3])))
        self._add(time_us + 50, "multicast", order[0], amount=1)
        for who, heir in zip(order, [*order[1:], self._somebody()], strict=True):
            for other in self._names:
                if other not in (who, heir):
                    self._add(time_us, "slow", who, other, amount=150_000)
            time_us += random.choice([1_000, 4_000, 8_000, 15_000])
            self._add(time_us, "crash", who, amount=1)

    def _deaf_senior(self, time_us: int) -> None:
        """What the senior member proposes comes late: others take over, and both go on."""
        random = self._random
        senior = self._names[0] if random.random() < 0.7 else self._somebody()
        for other in self._names:
            if other != senior and random.random() < 0.7:
                self._add(time_us, "slow", senior, other, amount=random.choice([120_000, 250_000]))
        self._add(time_us + 200, random.choice(["join", "leave"]), self._somebody())
        self._add(time_us + 200, "join", random.choice(self._newcomers))
        for other in self._names:
            self._add(time_us + 60_000, "slow", senior, other)

    def _slow(self, time_us: int, source: str, target: str) -> None:
        random = self._random
        extra_us = random.choice([5_000, 20_000, 60_000, 150_000])
        self._add(time_us, "slow", source, target, amount=extra_us)
        self._add(time_us + random.choice([1_000, 10_000, 50_000]), "slow", source, target)

    def _somebody(self) -> str:
        return self._random.choice(self._names)

    def _add(self, time_us: int, verb: Verb, *who: str, amount: int = 0) -> None:
        self._steps.append(Step(time_us, verb, who, amount))

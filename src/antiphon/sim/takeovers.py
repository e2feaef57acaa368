"""Epilogues of random worlds: a majority is lost, or seems to be, and a survivor takes over.

Law: an epilogue follows from the seed alone, with dice of its own, and comes after all else: the
worlds without one are as they were, and one with it begins as it did. Either most die for good, and
one or two survivors take over; or a minority is cut off and one of it takes over, wrongly, while
the others go on, perhaps with newcomers; or both sides of a split take over. What was lost comes
back, and newcomers join.
"""

from dataclasses import replace
from random import Random

from antiphon.sim.scenario import TIMINGS, Scenario, Step, Verb

_OFTEN = 0.06
"""How many worlds have an epilogue."""

_SAYINGS: dict[str, tuple[Verb, ...]] = {
    "causal": ("causal",),
    "ordered": ("fifo", "causal", "total"),
    "mixed": ("causal", "total", "uniform", "uniform-total"),
}


def with_takeover(scenario: Scenario) -> Scenario:
    """Return the world with its epilogue, if its seed has one."""
    random = Random(f"{scenario.seed}/takeover")
    return takeover_world(scenario, random) if random.random() < _OFTEN else scenario


def takeover_world(scenario: Scenario, random: Random) -> Scenario:
    """Return the world with an epilogue."""
    return _Epilogue(scenario, random).write()


class _Epilogue:
    """Writes the epilogue of one world."""

    def __init__(self, scenario: Scenario, random: Random) -> None:
        self._scenario = scenario
        self._random = random
        timing = TIMINGS[scenario.timing]
        self._silence_us = timing.timeout_us + 2 * scenario.distance_us
        self._way_us = scenario.distance_us + scenario.delay_us + 300
        joined = [step.who[0] for step in scenario.steps if step.verb == "join"]
        founders = [f"p{number}" for number in range(1, scenario.founders + 1)]
        self._names = list(dict.fromkeys([*founders, *joined]))
        self._steps: list[Step] = []

    def write(self) -> Scenario:
        random, scenario = self._random, self._scenario
        last_us = max((step.time_us for step in scenario.steps), default=0)
        time_us = last_us + random.choice([self._way_us, self._silence_us, 3 * self._silence_us])
        for name in self._names:
            if random.random() < 0.7:
                self._add(time_us - self._soon(4), random.choice(self._sayings), name, amount=1)
        plots = [self._die, self._split, self._split_twice, self._strangers]
        after_us = random.choices(plots, [3, 3, 2, 2])[0](time_us)
        for name in random.sample(self._names, min(3, len(self._names))):
            self._add(after_us + self._soon(8), "join", name)
            self._add(after_us + self._silence_us + self._soon(9), "multicast", name, amount=1)
        self._add(after_us + self._soon(20), "join", "q3")
        steps = sorted((*scenario.steps, *self._steps), key=lambda step: step.time_us)
        return replace(scenario, messages=scenario.messages + 30, steps=tuple(steps))

    def _die(self, time_us: int) -> int:
        """Most die for good, together or one after the other, perhaps in mid-sentence."""
        random = self._random
        order = random.sample(self._names, len(self._names))
        survivors = order[: random.choice([1, 1, 2])]
        for name in order[len(survivors) :]:
            self._add(time_us + self._soon(6), "crash", name, amount=random.choice([0, 1, 1]))
        for name in survivors:
            self._add(time_us + self._soon(6), random.choice(self._sayings), name, amount=1)
        over_us = time_us + random.choice([1, 3, 5]) * self._silence_us + self._soon(9)
        for name in survivors:
            if name is survivors[0] or random.random() < 0.6:
                self._take_over(over_us + random.choice([0, self._soon(9)]), name)
        if len(survivors) > 1 and random.random() < 0.5:
            self._add(time_us, "partition", survivors[0])
            self._add(over_us + self._silence_us + self._soon(9), "heal")
        return over_us + 2 * self._silence_us

    def _split(self, time_us: int) -> int:
        """A minority is cut off; one of it takes over, though the others live and go on."""
        random = self._random
        count = max(1, (len(self._names) - 1) // 2)
        cut_off = random.sample(self._names, random.randint(1, count))
        self._add(time_us, "partition", *cut_off)
        over_us = time_us + 3 * self._silence_us + self._soon(9)
        self._take_over(over_us, random.choice(cut_off))
        heal_us = over_us + random.choice([self._soon(9), 3 * self._silence_us])
        for name in self._names:
            if random.random() < 0.6:
                self._add(random.randint(time_us, heal_us), random.choice(self._sayings), name)
        if random.random() < 0.3:
            self._add(over_us - self._soon(9), "leave", random.choice(self._names))
        self._add(heal_us, "heal")
        if random.random() < 0.2:
            self._add(heal_us + self._soon(20), "crash", cut_off[0], amount=1)
        return heal_us + 2 * self._silence_us

    def _strangers(self, time_us: int) -> int:
        """Those who go on take newcomers in, whom the one that takes over has never heard of."""
        random = self._random
        alone, link, *others = random.sample(self._names, len(self._names)) * 2
        self._add(time_us, "partition", alone)
        join_us = time_us + 3 * self._silence_us
        for name in ("q1", "q2"):
            self._add(join_us + self._soon(3), "join", name)
        gone_us = join_us + 3 * self._silence_us
        for name in dict.fromkeys(others):
            if name not in {alone, link} and random.random() < 0.8:
                self._add(gone_us + self._soon(3), random.choice(["leave", "crash"]), name)
        over_us = gone_us + 3 * self._silence_us
        self._take_over(over_us, alone)
        heal_us = over_us + random.choice([0, 2]) * self._silence_us + self._soon(9)
        self._add(heal_us, "heal")
        return heal_us + 3 * self._silence_us

    def _split_twice(self, time_us: int) -> int:
        """Some die, and each of two others, out of each other's reach, takes over."""
        random = self._random
        order = random.sample(self._names, len(self._names))
        first, second, *others = [*order, *order][: max(2, len(order))]
        self._add(time_us, "partition", first)
        for name in others:
            if random.random() < 0.7:
                self._add(time_us + self._soon(6), "crash", name, amount=random.choice([0, 1]))
        over_us = time_us + 3 * self._silence_us + self._soon(9)
        self._take_over(over_us, first)
        self._take_over(over_us + random.choice([0, self._soon(6), self._silence_us]), second)
        heal_us = over_us + random.choice([2, 4]) * self._silence_us
        self._add(random.randint(over_us, heal_us), random.choice(self._sayings), first)
        self._add(random.randint(over_us, heal_us), random.choice(self._sayings), second)
        self._add(heal_us, "heal")
        return heal_us + 2 * self._silence_us

    @property
    def _sayings(self) -> tuple[Verb, ...]:
        return _SAYINGS[self._scenario.orders]

    def _take_over(self, time_us: int, name: str) -> None:
        """Have an operator tell a process so, and again some time later: it may have been early."""
        self._add(time_us, "takeover", name)
        self._add(time_us + self._silence_us, "takeover", name)

    def _soon(self, ways: float) -> int:
        return int(self._random.random() * ways * self._way_us)

    def _add(self, time_us: int, verb: Verb, *who: str, amount: int = 0) -> None:
        self._steps.append(Step(max(0, time_us), verb, who, amount))

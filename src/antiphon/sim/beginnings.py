"""Prologues of random worlds: the group is still to be founded, and things go wrong meanwhile.

Law: a prologue follows from the seed alone, with dice of its own. What else happens in the world is
the same, but later. Founders start apart (``founding``); some die, stop, or are cut off before the
group has begun, or just when it does, and newcomers ask to be taken in.
"""

from dataclasses import replace
from random import Random

from antiphon.sim.scenario import TIMINGS, Scenario, Step, Verb

_OFTEN = 0.06
"""How many worlds have a prologue."""

_LASTS = 12
"""For how many times the silence that is borne."""


def with_beginning(scenario: Scenario) -> Scenario:
    """Return the world with its prologue, if its seed has one."""
    random = Random(f"{scenario.seed}/beginning")
    return founding_world(scenario, random) if random.random() < _OFTEN else scenario


def founding_world(scenario: Scenario, random: Random) -> Scenario:
    """Return the world with a prologue."""
    return _Prologue(scenario, random).write()


class _Prologue:
    """Writes the prologue of one world."""

    def __init__(self, scenario: Scenario, random: Random) -> None:
        self._scenario = scenario
        self._random = random
        self._silence_us = TIMINGS[scenario.timing].timeout_us + 2 * scenario.distance_us
        self._names = [f"p{number}" for number in range(1, scenario.founders + 1)]
        self._steps: list[Step] = []

    def write(self) -> Scenario:
        random, scenario = self._random, self._scenario
        for _ in range(random.choice([0, 1, 2, 3])):
            time_us = int(random.random() * random.choice([2, 5]) * self._silence_us)
            until_us = time_us + int(random.choice([0.3, 1.5, 4]) * self._silence_us)
            faults = [self._crash, self._pause, self._part, self._part, self._slow, self._join]
            random.choice(faults)(time_us, until_us)
        if len(self._names) > 2 and random.random() < 0.6:
            self._duel()
        begin_us = _LASTS * self._silence_us
        later = [replace(step, time_us=step.time_us + begin_us) for step in scenario.steps]
        everything = sorted((*self._steps, *later), key=lambda step: step.time_us)
        return replace(scenario, start="apart", steps=tuple(everything))

    def _crash(self, time_us: int, until_us: int) -> None:
        who = self._random.choice(self._names)
        self._add(time_us, "crash", who)
        if self._random.random() < 0.3:
            self._add(until_us, "join", who)

    def _pause(self, time_us: int, until_us: int) -> None:
        who = self._random.choice(self._names)
        self._add(time_us, "pause", who)
        self._add(until_us, "resume", who)

    def _part(self, time_us: int, until_us: int) -> None:
        count = self._random.randint(1, max(1, len(self._names) - 1))
        self._add(time_us, "partition", *self._random.sample(self._names, count))
        self._add(until_us, "heal")

    def _slow(self, time_us: int, until_us: int) -> None:
        random, who = self._random, self._random.choice(self._names)
        for other in self._names:
            if other != who and random.random() < 0.6:
                pair = random.choice([(who, other), (other, who)])
                self._add(time_us, "slow", *pair, amount=int(random.random() * self._silence_us))
                self._add(until_us, "slow", *pair)

    def _duel(self) -> None:
        """What the first to propose says comes late to most, so that others propose too."""
        random, silence_us = self._random, self._silence_us
        proposer = random.choice([self._names[0], self._names[0], self._names[1]])
        time_us = int(random.random() * 2.5 * silence_us)
        until_us = time_us + int(random.choice([0.2, 1, 2]) * silence_us)
        for other in self._names:
            if other != proposer and random.random() < 0.7:
                extra_us = int(random.choice([0.5, 1.5, 3, 5]) * random.random() * silence_us)
                self._add(time_us, "slow", proposer, other, amount=extra_us)
                self._add(until_us, "slow", proposer, other)
        for _ in range(random.choice([0, 1, 1, 2])):
            gone_us = time_us + int(random.random() * 3 * silence_us)
            who = random.choice(self._names)
            if random.random() < 0.5:
                self._add(gone_us, "crash", who)
            else:
                self._part(gone_us, gone_us + int(random.choice([1, 3]) * silence_us))

    def _join(self, time_us: int, _until_us: int) -> None:
        self._add(time_us, "join", "q1")

    def _add(self, time_us: int, verb: Verb, *who: str, amount: int = 0) -> None:
        self._steps.append(Step(time_us, verb, who, amount))

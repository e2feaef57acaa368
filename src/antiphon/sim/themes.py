"""Themes: small scenes that once showed what is wrong with a plausible rule, for variations.

Law: a theme is a few steps in a given order, of given processes; a world that varies it keeps the
order of the steps and who does what, but for chance: all times are stretched, each is shifted a
little, names are exchanged, and perhaps one step is left out. Random steps hardly ever come in
such an order; one that has mattered once is worth being tried in many delays.
"""

from random import Random
from typing import NamedTuple

from antiphon.sim.scenario import Scenario, Step, parse_scenario

_BEGIN_US = 40_000


class Theme(NamedTuple):
    """A scene, for which flushes it is made, and how often it is played: the rarer its harm."""

    text: str
    flushes: tuple[str, ...] = ("view-atomic",)
    weight: int = 1


_EVERY = ("view-atomic", "coordinator", "all-to-all")
_LINEAR = ("coordinator", "all-to-all")

_HOLDER_STAYS = """
founders 3
delay_us 100
at 1000 total p2 1
at 1500 total p2 1
at 2000 total p2 1
at 2500 total p2 1
at 3000 total p2 1
at 3500 total p2 1
at 5900 slow p3 p1 20000
at 6000 uniform-total p1 1
at 6100 total p1 1
at 9000 total p2 1
at 9500 total p2 1
at 15000 slow p3 p1
at 60000 total p3 1
"""

_HOLDER_FOLLOWS = """
founders 4
delay_us 300
at 1000 total p2 1
at 1400 total p2 1
at 1800 total p2 1
at 2200 total p2 1
at 2600 total p2 1
at 3000 total p2 1
at 3400 total p2 1
at 3800 total p2 1
at 3900 total p4 1
at 4300 total p3 1
at 4600 total p3 1
at 5000 total p3 1
at 5400 total p3 1
at 5800 total p3 1
at 6200 total p3 1
at 6600 total p3 1
at 7000 total p3 1
at 7100 total p4 1
at 7500 total p2 1
"""

_ONE_CONFIRMATION = """
founders 3
delay_us 300
at 900 slow p3 p1 60000
at 1000 uniform p3 1
at 2500 crash p3 1
at 7500 crash p2 1
at 200000 heal
"""

_DEAD_PAST = """
founders 5
delay_us 300
at 900 slow p4 p1 150000
at 900 slow p4 p2 150000
at 900 slow p4 p3 150000
at 1000 causal p4 1
at 3000 uniform p5 1
at 7000 crash p4 1
at 7000 crash p5 1
"""

_DEAD_ORDER = """
founders 4
delay_us 300
token fixed
at 1000 uniform p3 1
at 1020 uniform-total p3 1
at 1100 uniform p2 1
at 1120 uniform-total p2 1
at 2000 slow p1 p2 20000
at 2000 slow p1 p3 20000
at 2000 slow p1 p4 20000
at 4500 partition p1
at 4600 crash p1 1
at 100000 heal
"""

_DEAD_LETTER = """
founders 4
delay_us 300
at 900 slow p4 p2 20000
at 1000 send p4 p2
at 1100 causal p4 1
at 4000 partition p4
at 4000 crash p4 1
at 200000 heal
"""

_FORWARDED_ONCE = """
founders 4
delay_us 200
at 1000 slow p4 p1 400000
at 1000 slow p4 p2 400000
at 2000 causal p4 1
at 3500 slow p3 p1 40000
at 4000 crash p4 1
at 20000 slow p1 p2 400000
at 70000 crash p1 1
"""

_TURNS_OF_ITS_OWN = """
founders 4
delay_us 1000
at 1000 total p4 1
at 1400 total p4 1
at 6900 causal p2 1
at 8900 total p3 1
at 9300 total p3 1
at 10100 total p3 1
at 10900 total p3 1
at 11000 causal p3 1
at 11200 total p3 1
at 11300 total p3 1
at 12100 uniform-total p3 1
at 14700 total p3 1
"""

_DEAD_TURN = """
founders 5
delay_us 1000
answers 0.2
at 1000 slow p4 p2 60000
at 1000 slow p4 p3 60000
at 1000 slow p4 p5 60000
at 1100 total p4 1
at 3600 total p3 1
at 3600 total p5 1
at 10400 crash p1 1
at 10800 crash p4 1
"""

_SPLIT_DECISION = """
founders 6
delay_us 100
transactions 1
at 1000 begin p1
at 2200 slow p6 p2 60000
at 2200 slow p6 p3 60000
at 2200 slow p6 p4 60000
at 2200 slow p6 p5 60000
at 6400 crash p6 1
at 6600 crash p1 1
"""

_DEAD_RELAY = """
founders 4
delay_us 1000
at 1000 slow p4 p1 150000
at 1000 slow p4 p2 150000
at 1050 causal p4 1
at 16000 crash p4 1
at 16000 slow p3 p2 150000
at 400000 heal
"""

_LATE_WORDS = """
founders 4
delay_us 200
at 1000 slow p3 p1 600000
at 1000 slow p3 p4 600000
at 1000 slow p3 p2 197000
at 2000 causal p3 1
at 3000 pause p3
at 50000 slow p4 p1 60000
at 140000 slow p1 p2 50000
at 300000 heal
"""

_TAKEN_TOO_LATE = """
founders 6
delay_us 1000
at 1000 causal p6 1
at 4200 total p2 1
at 5500 total p2 1
at 6800 total p2 1
at 8100 total p2 1
at 8200 slow p1 p2 26000
at 9400 total p2 1
at 10700 total p2 1
at 11900 total p3 1
at 12000 total p2 1
at 16400 total p1 1
at 17200 total p2 1
at 19500 crash p1 1
"""

_TWO_PROPOSERS = """
founders 4
delay_us 1000
at 1000 partition p4
at 25700 slow p1 p2 250000
at 25900 leave p3
at 61600 causal p4 1
at 114700 slow p1 p4 120000
at 118000 partition p3
at 152300 crash p2
"""

THEMES = (
    Theme(_HOLDER_STAYS),
    Theme(_HOLDER_FOLLOWS, _EVERY),
    Theme(_TURNS_OF_ITS_OWN),
    Theme(_ONE_CONFIRMATION, weight=3),
    Theme(_DEAD_PAST),
    Theme(_DEAD_ORDER, weight=3),
    Theme(_DEAD_TURN, _EVERY, weight=3),
    Theme(_SPLIT_DECISION, weight=3),
    Theme(_DEAD_LETTER, _EVERY),
    Theme(_DEAD_RELAY, _EVERY),
    Theme(_FORWARDED_ONCE, _LINEAR),
    Theme(_TWO_PROPOSERS, _EVERY),
    Theme(_LATE_WORDS),
    Theme(_TAKEN_TOO_LATE, _EVERY),
)


def vary(random: Random, seed: int, flush: str) -> Scenario:
    """Return a variation of some theme."""
    themes = [theme for theme in THEMES if flush in theme.flushes]
    theme = random.choices(themes, [theme.weight for theme in themes])[0]
    scenario = parse_scenario(f"seed {seed}\nflush {flush}\nanswers 0\n{theme.text}")
    names = [f"p{number}" for number in range(1, scenario.founders + 1)]
    mapped = dict(zip(names, names, strict=True))
    if random.random() < 0.5:  # all but the senior member, who is in a place of its own
        mapped = dict(
            zip(names, [names[0], *random.sample(names[1:], len(names) - 1)], strict=True)
        )
    stretch = random.choice([0.5, 0.8, 1.0, 1.0, 1.25, 2.0])
    steps = [_varied(random, step, mapped, stretch) for step in scenario.steps]
    if random.random() < 0.25:
        steps.pop(random.randrange(len(steps)))
    return Scenario(
        seed=seed, flush=flush, founders=scenario.founders, answers=scenario.answers,
        messages=60, transactions=scenario.transactions,
        delay_us=int(scenario.delay_us * stretch * random.choice([0.5, 1.0, 1.0, 2.0])),
        orders="mixed" if flush == "view-atomic" else "ordered", token=scenario.token,
        clocks=random.choice(["same", "same", "apart"]),
        steps=tuple(sorted(steps, key=lambda step: step.time_us)),
    )  # fmt: skip


def _varied(random: Random, step: Step, names: dict[str, str], stretch: float) -> Step:
    shift_us = random.choice([0, 0, random.randint(-100, 100)])
    time_us = _BEGIN_US + int((step.time_us + shift_us) * stretch)
    return Step(time_us, step.verb, tuple(names[name] for name in step.who), step.amount)

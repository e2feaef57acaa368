"""Calm worlds: nobody fails, comes or goes, so that more can be asked of who is there.

Law: a calm world is a function of the seed and the flush. Some are **prompt**: every way takes the
same time, members call and write to each other, and what anybody hands over has to go out soon
(``promptness``). In the others there is little room, and somebody has more to say than fits, to
members that read slowly: **streams**, in which nobody may be given up, for all of them move; and
**quarrels**, in which all give each other up wrongly, take each other back, and go on.
"""

from dataclasses import replace
from random import Random

from antiphon.sim.scenario import Scenario, Step

_KINDS = {"prompt": 3, "stream": 2, "quarrel": 5}
_QUARREL_US = 60_000
_REPLY_ROUNDS, _SLOW_US = 8, 20_000
_PROMPT_US, _PROMPT_COUNT = 80_000, 30
_STREAM_COUNT, _STREAM_GAP_US = 120, 2_000


def calm_scenario(seed: int, flush: str) -> Scenario:
    """Return the calm world of ``seed``."""
    random = Random(f"{seed}/calm")
    kind = random.choices(list(_KINDS), list(_KINDS.values()))[0]
    if kind == "prompt":
        return _prompt(random, seed, flush)
    scenario = _stream(random, seed, flush)
    return scenario if kind == "stream" else _quarrel(random, scenario)


def _prompt(random: Random, seed: int, flush: str) -> Scenario:
    founders = random.choice([2, 3, 4])
    names = [f"p{number}" for number in range(1, founders + 1)]
    steps: list[Step] = []
    for _ in range(_PROMPT_COUNT):
        time_us = random.randint(0, _PROMPT_US)
        who, to = random.sample(names, 2)
        if random.random() < 0.2:
            steps.append(Step(time_us, "send", (who, to)))
        else:
            steps.append(Step(time_us, "multicast", (who,), 1))
    return Scenario(
        seed=seed, founders=founders, flush=flush, messages=80, answers=0.3,
        delay_us=0, distance_us=random.choice([0, 300, 2_000]), letters=random.randint(0, 1),
        orders="mixed" if flush == "view-atomic" else "ordered", calls=1,
        steps=tuple(sorted(steps, key=lambda step: step.time_us)),
    )  # fmt: skip


def _stream(random: Random, seed: int, flush: str) -> Scenario:
    founders = random.choice([2, 3, 4])
    senders = [f"p{number}" for number in range(1, founders + 1)][: random.choice([1, 1, 2])]
    steps = [
        Step(at * _STREAM_GAP_US, "multicast", (random.choice(senders),), 1)
        for at in range(_STREAM_COUNT)
    ]
    delay_us = random.choice([1_000, 2_000])
    is_mixed = random.random() < 0.5
    return Scenario(
        seed=seed, founders=founders, flush=flush, messages=_STREAM_COUNT, answers=0.0,
        delay_us=delay_us, limits="tight", steps=tuple(steps),
        orders="mixed" if is_mixed and flush == "view-atomic" else "causal",
    )  # fmt: skip


def _quarrel(random: Random, stream: Scenario) -> Scenario:
    founders = random.choice([3, 4])
    names = [f"p{number}" for number in range(1, founders + 1)]
    steps = [replace(step, who=(random.choice(names),)) for step in stream.steps]
    for name in names:
        for other in names:
            if name != other:
                time_us = _QUARREL_US + random.choice([0, 0, 3_000, 20_000])
                steps.append(Step(time_us, "condemn", (name, other)))
    steps.sort(key=lambda step: step.time_us)
    return replace(stream, founders=founders, orders="causal", steps=tuple(steps))


def reply_scenario(seed: int, flush: str) -> Scenario:
    """Return a world of three in which one calls twice, and the second reply to it is slow.

    Who replied goes on to write to the third, who multicasts: what it says comes after both
    replies, and may come first only if the second was not waited for.
    """
    random = Random(f"{seed}/replies")
    names = ["p1", "p2", "p3"]
    steps: list[Step] = []
    time_us = 5_000
    for _ in range(_REPLY_ROUNDS):
        caller, callee, third = random.sample(names, 3)
        begin_us, slow_us = time_us, time_us + random.choice([1_500, 3_000, 4_500])
        steps += [
            Step(begin_us, "call", (caller,)),
            Step(begin_us + random.choice([500, 1_500, 3_000]), "call", (caller,)),
            Step(slow_us, "slow", (callee, caller), _SLOW_US),
        ]
        for _ in range(6):
            written_us = begin_us + 2_000 + random.randint(0, 8_000)
            steps.append(Step(written_us, "send", (callee, third)))
        for _ in range(4):
            said_us = begin_us + 4_000 + random.randint(0, 12_000)
            steps.append(Step(said_us, "causal", (third,), 1))
        time_us += _SLOW_US + 20_000
        steps.append(Step(time_us - 20_000, "slow", (callee, caller)))
    return Scenario(
        seed=seed, founders=3, flush=flush, messages=200, answers=0.0, delay_us=300, calls=1,
        steps=tuple(sorted(steps, key=lambda step: step.time_us)),
    )  # fmt: skip

"""A group in which processes crash, hang and are cut off, from the parameters of a steady one.

Law: a seed is a world. The parameters become a scenario (``scenario``) that an explored world
plays: everybody multicasts bursts at random moments, as in ``workload``, and each fault comes at
a moment of its own in the middle of the talk. Never more than a minority fails at once, so a
group always goes on; timing is that of real groups. What a world says is judged and measured like
any other trace.
"""

from dataclasses import dataclass
from random import Random

from antiphon.core.errors import UsageError
from antiphon.core.runs import Order
from antiphon.sim.scenario import TIMINGS, Scenario, Step, Verb
from antiphon.sim.steady_group import Options, process_names
from antiphon.sim.world import World
from antiphon.trace.schema import Event

_TIMING = "default"

_VERBS: dict[tuple[Order, bool], Verb] = {
    (Order.FIFO, False): "fifo",
    (Order.CAUSAL, False): "causal",
    (Order.TOTAL, False): "total",
    (Order.FIFO, True): "uniform-fifo",
    (Order.CAUSAL, True): "uniform",
    (Order.TOTAL, True): "uniform-total",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCounts:
    """How often what goes wrong."""

    crashes: int = 0
    """Processes that die."""
    pauses: int = 0
    """Times that a process does nothing for as long as others bear, or half of it, or twice."""
    partitions: int = 0
    """Times that a minority is cut off, likewise."""

    def __bool__(self) -> bool:
        """Whether anything goes wrong."""
        return bool(self.crashes or self.pauses or self.partitions)


@dataclass(frozen=True, slots=True)
class Played:
    """What became of a world."""

    events: list[Event]
    """Numbered, process by process."""
    message_count: int
    copy_count: int
    held_runs_max: int
    time_us: int
    stuck: str
    """Why it did not come to rest, if it did not."""


def check_faults(options: Options, faults: FaultCounts) -> None:
    """Complain of faults with which no majority would be left to go on."""
    minority = (options.process_count - 1) // 2
    if faults.crashes > minority:
        message = (
            f"of {options.process_count} processes {minority} may crash: with more, no majority is "
            "left to go on"
        )
        raise UsageError(message)
    if (faults.pauses or faults.partitions) and not minority:
        message = "only three processes or more can go on without one of them"
        raise UsageError(message)


def scenario_of(options: Options, faults: FaultCounts) -> Scenario:
    """Return what is done to the world."""
    check_faults(options, faults)
    dice = Random(f"{options.seed}/faults")
    names = process_names(options.process_count)
    said = talk(options, names, dice)
    end_us = said[-1].time_us
    minority = (len(names) - 1) // 2
    steps = [
        *said,
        *crashes(faults, names, end_us, dice),
        *absences(faults, names, end_us, dice, minority),
    ]
    return Scenario(
        seed=options.seed,
        founders=options.process_count,
        messages=options.workload.message_count,
        answers=options.workload.answers / max(1, options.process_count - 1),
        delay_us=options.delays.delay_us_mean,
        distance_us=options.delays.delay_us_min,
        orders="causal" if options.how.order is Order.CAUSAL else "ordered",
        timing=_TIMING,
        protocol=options.protocol,
        state="none",
        steps=tuple(sorted(steps, key=lambda step: step.time_us)),
    )


def play(scenario: Scenario) -> Played:
    """Run the world to its end."""
    outcome = World(scenario).run()
    counts: dict[str, int] = {}
    for event in outcome.events:
        event.index = counts.get(event.process, 0)
        counts[event.process] = event.index + 1
    return Played(
        sorted(outcome.events, key=lambda event: (event.process, event.index)),
        sum(event.count for event in outcome.events if event.kind == "multicast"),
        outcome.sent_count,
        max((event.queue_depth for event in outcome.events), default=0),
        outcome.time_us,
        outcome.stuck or outcome.late,
    )


def talk(options: Options, names: list[str], dice: Random) -> list[Step]:
    """Return bursts until all messages are said; some of them will be answers instead."""
    verb, workload = _VERBS[options.how.order, options.how.uniform], options.workload
    left, steps = workload.message_count, list[Step]()
    now_us = dict.fromkeys(names, 0.0)
    while left:
        name = min(names, key=now_us.__getitem__)
        now_us[name] += dice.expovariate(1.0) * workload.interval_us_mean
        count = min(left, dice.randint(1, workload.burst_max))
        left -= count
        steps.append(Step(int(now_us[name]), verb, (name,), count))
    return sorted(steps, key=lambda step: step.time_us)


def _moment(end_us: int, dice: Random) -> int:
    return int(end_us * dice.uniform(0.2, 0.8))


def crashes(faults: FaultCounts, names: list[str], end_us: int, dice: Random) -> list[Step]:
    """Return who dies, and when."""
    return [
        Step(_moment(end_us, dice), "crash", (name,)) for name in dice.sample(names, faults.crashes)
    ]


def absences(
    faults: FaultCounts, names: list[str], end_us: int, dice: Random, minority: int
) -> list[Step]:
    """Return pauses and partitions, one after the other: each is over before the next begins."""
    timeout_us = TIMINGS[_TIMING].timeout_us
    kinds = ["pause"] * faults.pauses + ["partition"] * faults.partitions
    dice.shuffle(kinds)
    steps, free_us = list[Step](), 0
    for kind in kinds:
        begin_us = max(free_us, _moment(end_us, dice))
        over_us = begin_us + int(timeout_us * dice.choice([0.5, 1.0, 2.0]))
        if kind == "pause":
            who: tuple[str, ...] = (dice.choice(names),)
            steps += [Step(begin_us, "pause", who), Step(over_us, "resume", who)]
        else:
            who = tuple(dice.sample(names, dice.randint(1, minority)))
            steps += [Step(begin_us, "partition", who), Step(over_us, "heal")]
        free_us = over_us + 3 * timeout_us
    return steps

"""Several groups of one causality domain, from the parameters of a steady group.

Law: a seed is a world. The parameters become a scenario (``scenario``) that a world of several
groups lives through (``domain_world``): everybody multicasts bursts at random moments, each in any
of its groups, and answers in another; each fault comes at a moment of its own in the middle of the
talk. Never more fail at once than a minority of the smallest group, so all groups go on; who is
excluded stays out. Timing is that of real groups.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from antiphon.core.errors import UsageError
from antiphon.core.ids import check_name
from antiphon.core.runs import Order
from antiphon.sim.declared import check_founders, declared_structure
from antiphon.sim.domain_world import DomainWorld
from antiphon.sim.faulty_group import FaultCounts, Played, absences, crashes, talk
from antiphon.sim.scenario import MESSAGES_MAX, Scenario, Step
from antiphon.sim.steady_group import Options

Groups = Mapping[str, Sequence[str]]
"""Members by name of the group."""


def parse_groups(said: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return groups as people say them: A=p1,p2,p3."""
    groups: dict[str, tuple[str, ...]] = {}
    for each in said:
        name, _, members = each.partition("=")
        names = tuple(members.split(","))
        if name in groups or not members or len(set(names)) < len(names):
            message = (
                f"group {each!r} cannot be read: write NAME=p1,p2,p3, each group and each of its "
                "members once"
            )
            raise UsageError(message)
        check_name(name, "the group")
        for member in names:
            check_name(member, "the process")
        groups[name] = names
    return groups


class Declared(NamedTuple):
    """What is declared of the overlaps of groups."""

    overlaps: tuple[tuple[str, str], ...]
    excluded: tuple[str, ...]


NOTHING_DECLARED = Declared((), ())


def parse_declared(overlaps: Sequence[str], excluded: Sequence[str]) -> Declared:
    """Return overlaps as people say them: A,B."""
    pairs: list[tuple[str, str]] = []
    for each in overlaps:
        one, comma, other = each.partition(",")
        if not (one and comma and other) or "," in other:
            message = f"overlap {each!r} cannot be read: write A,B, two groups that may overlap"
            raise UsageError(message)
        pairs.append((one, other))
    return Declared(tuple(pairs), tuple(excluded))


def check_resilience(said: str) -> None:
    """Complain of what is no resilience."""
    if said != "all" and not (said.isdecimal() and int(said)):
        message = f"resilience {said!r} cannot be read: write 1, 2, ... or all"
        raise UsageError(message)


def domain_scenario(
    options: Options,
    faults: FaultCounts,
    groups: Groups,
    resilience: str = "1",
    declared: Declared = NOTHING_DECLARED,
) -> Scenario:
    """Return what is done to the world."""
    structure = declared_structure(declared.overlaps, declared.excluded)
    if structure is not None:
        check_founders(structure, groups)
    names = list(dict.fromkeys(name for members in groups.values() for name in members))
    minority = (min(map(len, groups.values())) - 1) // 2
    _check(options, faults, minority)
    dice = Random(f"{options.seed}/faults")
    said = [
        Step(step.time_us, step.verb, step.who, step.amount, _any_group(step.who[0], groups, dice))
        for step in talk(options, names, dice)
    ]
    end_us = said[-1].time_us
    steps = [
        *said,
        *crashes(faults, names, end_us, dice),
        *absences(faults, names, end_us, dice, minority),
    ]
    return Scenario(
        seed=options.seed,
        founders=0,
        messages=options.workload.message_count,
        answers=options.workload.answers / max(1, len(names) - 1),
        delay_us=options.delays.delay_us_mean,
        distance_us=options.delays.delay_us_min,
        orders="causal" if options.how.order is Order.CAUSAL else "ordered",
        timing="default",
        groups=tuple((name, tuple(members)) for name, members in groups.items()),
        resilience=resilience,
        overlaps=declared.overlaps,
        excluded=declared.excluded,
        steps=tuple(sorted(steps, key=lambda step: step.time_us)),
    )


def _check(options: Options, faults: FaultCounts, minority: int) -> None:
    if options.workload.message_count > MESSAGES_MAX:
        message = f"up to {MESSAGES_MAX:,} messages are simulated in several groups: take fewer"
        raise UsageError(message)
    if faults.crashes > minority or ((faults.pauses or faults.partitions) and not minority):
        message = (
            f"{minority} may fail where the smallest group has so few members: with more, no "
            "majority of it is left to go on"
        )
        raise UsageError(message)


def _any_group(name: str, groups: Groups, dice: Random) -> str:
    return dice.choice([group for group, members in groups.items() if name in members])


def play_domain(scenario: Scenario) -> Played:
    """Run the world to its end."""
    world = DomainWorld(scenario)
    events = sorted(world.live(), key=lambda event: (event.record, event.index))
    return Played(
        events,
        sum(event.count for event in events if event.kind == "multicast"),
        world.world.sent,
        max((event.queue_depth for event in events), default=0),
        world.now_us,
        world.stuck(),
    )

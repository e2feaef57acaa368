"""Exploration: many random worlds, each judged by the oracle; a failing one is shrunk.

Law: a world fails if the oracle finds a broken promise that its flush makes, if it does not become
quiescent in time, if it does not go on in time where it must, or if a machine raises anything. The
ISIS flushes do not promise view atomicity towards processes that crash later (000-17 a), so it is
not asked of them; nor, where it was broken, that a joiner's state is that of the others: the donor
may have crashed after giving it. Total order, and causality from one view to the next, rest on
view atomicity: excused where that was broken.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from antiphon.core.errors import AntiphonError
from antiphon.oracle import judge
from antiphon.oracle.letter_checks import find_broken_letter
from antiphon.sim.answer_checks import find_unasked_answer
from antiphon.sim.coverage import Pair
from antiphon.sim.domain_world import DomainWorld
from antiphon.sim.driver import Driver
from antiphon.sim.order_checks import find_disorder
from antiphon.sim.promptness import find_slow_word
from antiphon.sim.quiescence import STATES_DIFFER
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.scenario import Scenario
from antiphon.sim.takeover_checks import find_lost_uniform, find_wrong_end
from antiphon.sim.world import Outcome, World
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status, Verdict

NOT_PROMISED: dict[str, tuple[Property, ...]] = {
    "view-atomic": (),
    "coordinator": (Property.VIEW_ATOMIC,),
    "all-to-all": (Property.VIEW_ATOMIC,),
}

_EXCUSABLE = (Property.VIEW_ATOMIC, Property.TOTAL)


@dataclass(frozen=True, slots=True)
class Finding:
    """What went wrong in a world."""

    scenario: Scenario
    what: str
    """The property that was violated, ``stuck``, ``late``, or the name of an error."""
    text: str
    """One sentence."""
    events: list[Event]
    aim: str = ""
    """The pair of events that the world was aimed at, if it was."""


def examine(scenario: Scenario) -> Finding | None:
    """Run a world; return what went wrong, or None."""
    return survey(scenario).finding


class Survey(NamedTuple):
    """A world that was run."""

    finding: Finding | None
    """What went wrong, if anything did."""
    events: list[Event]
    """Everything that happened."""
    pairs: set[Pair]
    """Which events fell inside one view change (``coverage``)."""


def survey(scenario: Scenario) -> Survey:
    """Run a world, and judge it."""
    if scenario.groups:
        return _survey_domain(scenario)
    world = World(scenario)
    try:
        outcome = world.run()
        verdict = judge(outcome.events, f"seed {scenario.seed}")
    except (AntiphonError, AssertionError, IndexError, KeyError, ValueError) as error:
        text = f"at {world.now_us} us: {type(error).__name__}: {error}"
        events = [event for driver in world.drivers.values() for event in driver.events]
        return Survey(Finding(scenario, type(error).__name__, text, events), events, set())
    wrong = _wrong(scenario, outcome, verdict, list(world.drivers.values()))
    finding = Finding(scenario, *wrong, outcome.events) if wrong is not None else None
    return Survey(finding, outcome.events, outcome.pairs)


def _survey_domain(scenario: Scenario) -> Survey:
    """Run a world of several groups, and judge it."""
    world = DomainWorld(scenario)
    try:
        outcome = world.run()
    except (AntiphonError, AssertionError, IndexError, KeyError, ValueError) as error:
        text = f"at {world.now_us} us: {type(error).__name__}: {error}"
        events = world.events()
        return Survey(Finding(scenario, type(error).__name__, text, events), events, set())
    wrong = outcome.wrong
    finding = Finding(scenario, *wrong, outcome.events) if wrong is not None else None
    return Survey(finding, outcome.events, set())


def _wrong(
    scenario: Scenario, outcome: Outcome, verdict: Verdict, drivers: list[Driver]
) -> tuple[str, str] | None:
    """Return the kind of what went wrong, and a sentence."""
    broken = {item.property: item for item in verdict.properties if item.status is Status.VIOLATED}
    is_excused = any(which in broken for which in NOT_PROMISED[scenario.flush])
    for which, item in broken.items():
        if not is_excused or which not in _EXCUSABLE:
            return which.value, item.violations[0].text
    is_stuck = not (is_excused and outcome.stuck == STATES_DIFFER)
    found = {
        "letters": "" if is_excused else find_broken_letter(outcome.events),
        "answers": "" if is_excused else find_unasked_answer(drivers),
        "program order": find_disorder(drivers),
        "calls": outcome.calls,
        "deliveries": outcome.deliveries,
        "takeover": find_lost_uniform(outcome.events) or find_wrong_end(drivers),
        "stuck": outcome.stuck if is_stuck else "",
        "late": outcome.late or find_slow_word(scenario, drivers),
    }
    return next(((what, said) for what, said in found.items() if said), None)


def explore(
    seeds: range, flush: str, aim: Pair | None = None
) -> Iterator[tuple[int, Finding | None]]:
    """Examine the worlds of these seeds, one by one."""
    for seed in seeds:
        yield seed, examine(random_scenario(seed, flush, aim))

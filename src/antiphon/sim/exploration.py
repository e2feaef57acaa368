"""Exploration: many random worlds, each judged by the oracle; a failing one is shrunk.

Law: a world fails if the oracle finds a broken promise that its flush makes, if it does not come
to rest, or if a machine raises anything. The ISIS flushes do not promise view atomicity towards
processes that crash later (000-17 a), so it is not asked of them; nor, where it was broken, that
a joiner's state is that of the others: the donor may have crashed after giving it. Total order,
and causality from one view to the next, rest on view atomicity: excused where that was broken.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from antiphon.core.errors import AntiphonError
from antiphon.sim.answer_checks import find_unasked_answer
from antiphon.sim.letter_checks import find_broken_letter
from antiphon.sim.oracle import judge
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.rest import STATES_DIFFER
from antiphon.sim.scenario import Scenario
from antiphon.sim.world import World
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status

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
    """The property that was violated, ``stuck``, or the name of an error."""
    text: str
    """One sentence."""
    events: list[Event]


def examine(scenario: Scenario) -> Finding | None:
    """Run a world; return what went wrong, or None."""
    return live(scenario)[0]


def live(scenario: Scenario) -> tuple[Finding | None, list[Event]]:
    """Run a world; return what went wrong, if anything did, and everything that happened."""
    world = World(scenario)
    try:
        outcome = world.run()
        verdict = judge(outcome.events, f"seed {scenario.seed}")
    except (AntiphonError, AssertionError, IndexError, KeyError, ValueError) as error:
        text = f"at {world.now_us} us: {type(error).__name__}: {error}"
        events = [event for life in world.lives.values() for event in life.events]
        return Finding(scenario, type(error).__name__, text, events), events
    broken = {item.property: item for item in verdict.properties if item.status is Status.VIOLATED}
    is_excused = any(which in broken for which in NOT_PROMISED[scenario.flush])
    for which, item in broken.items():
        if not is_excused or which not in _EXCUSABLE:
            finding = Finding(scenario, which.value, item.violations[0].text, outcome.events)
            return finding, outcome.events
    if not is_excused and (said := find_broken_letter(outcome.events)):
        return Finding(scenario, "letters", said, outcome.events), outcome.events
    if not is_excused and (said := find_unasked_answer(world.lives.values())):
        return Finding(scenario, "answers", said, outcome.events), outcome.events
    if outcome.stuck and not (is_excused and outcome.stuck == STATES_DIFFER):
        finding = Finding(scenario, "stuck", outcome.stuck, outcome.events)
        return finding, outcome.events
    return None, outcome.events


def explore(seeds: range, flush: str) -> Iterator[tuple[int, Finding | None]]:
    """Examine the worlds of these seeds, one by one."""
    for seed in seeds:
        yield seed, examine(random_scenario(seed, flush))

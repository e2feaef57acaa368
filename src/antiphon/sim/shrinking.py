"""Shrinking: from a world that fails to a small one that fails in the same way.

Law: the result is a scenario that shows the same kind of finding, from which no single step can
be taken without losing it (unless the allowed number of tries ran out). Steps are dropped in
halves, then quarters, and so on (delta debugging); then numbers are made small, and the head plain.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from antiphon.sim.exploration import Finding, examine
from antiphon.sim.scenario import Scenario, Step, without_strangers

TRIES_MAX = 1_000

_PLAIN: dict[str, Any] = {
    "answers": 0.0, "awkward": 0, "letters": 0, "transactions": 0, "clocks": "same",
    "state": "kept", "distance_us": 0,
}  # fmt: skip
"""What the head of a scenario says where nothing special is needed."""


def shrink(finding: Finding, on_try: Callable[[int], None] | None = None) -> Finding:
    """Return a finding of the same kind in a smaller scenario; tell the size at each success."""
    tries = 0
    best = finding
    progress = True
    while progress:
        progress = False
        for smaller in map(without_strangers, _smaller(best.scenario)):
            tries += 1
            if tries > TRIES_MAX:
                return best
            found = examine(smaller)
            if found is not None and found.what == finding.what:
                best, progress = found, True
                if on_try is not None:
                    on_try(len(smaller.steps))
                break
    return best


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Yield scenarios with less in them, the boldest first."""
    steps = scenario.steps
    size = max(1, len(steps) // 2)
    while steps:
        for at in range(0, len(steps), size):
            yield replace(scenario, steps=steps[:at] + steps[at + size :])
        if size == 1:
            break
        size //= 2
    yield from _plainer(scenario)
    if scenario.founders > 1:
        gone = f"p{scenario.founders}"
        rest = tuple(step for step in steps if gone not in step.who)
        yield replace(scenario, founders=scenario.founders - 1, steps=rest)
    for at, step in enumerate(steps):
        if step.verb == "multicast" and step.amount > 1:
            yield replace(scenario, steps=(*steps[:at], _single(step), *steps[at + 1 :]))


def _plainer(scenario: Scenario) -> Iterator[Scenario]:
    """Yield scenarios of which the head says less."""
    for name, plain in _PLAIN.items():
        if getattr(scenario, name) != plain:
            yield replace(scenario, **{name: plain})
    if not scenario.distance_us and scenario.timing != "quick":
        yield replace(scenario, timing="quick")


def _single(step: Step) -> Step:
    return Step(step.time_us, step.verb, step.who, 1)

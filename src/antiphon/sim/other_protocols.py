"""Random worlds of groups that have chosen a protocol of their own.

Law: such a world is that of the same seed with the default flush, but for what the protocol does
not give (total order, uniform messages, transactions), and with more members: some worlds have so
many that an overlay is not a full mesh. Faults hit members of any rank.
"""

from dataclasses import replace
from random import Random

from antiphon.sim.coverage import Pair
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.scenario import Scenario, Step, Verb

KINDS = {
    "vector": ("vector",),
    "blocks": ("blocks",),
    "overlay": ("overlay-incomplete-hypercube", "overlay-ring", "overlay-tree"),
}
"""What is explored together, by name."""

_MEMBERS_MAX = 9

_GIVEN: dict[Verb, Verb] = {
    "total": "causal", "uniform": "causal", "uniform-total": "causal", "uniform-fifo": "fifo",
}  # fmt: skip
"""What is multicast instead of what cannot be given."""


def protocol_scenario(seed: int, flush: str, kind: str, aim: Pair | None = None) -> Scenario:
    """Return the world of ``seed`` for a kind of protocol."""
    scenario = random_scenario(seed, flush, aim)
    random = Random(f"{seed}/protocol")
    chosen = random.choice(KINDS[kind])
    if chosen == "vector":
        return scenario
    count = scenario.founders + random.choice([0, 1, 2, 3, 4, 5, 6])
    count = max(scenario.founders, min(count, _MEMBERS_MAX))
    places = random.sample(range(1, count + 1), scenario.founders)
    names = {f"p{number}": f"p{place}" for number, place in enumerate(places, start=1)}
    steps = (_given(step, names) for step in scenario.steps if step.verb != "begin")
    scenario = replace(
        scenario, founders=count, protocol=chosen, orders="causal", transactions=0,
        steps=tuple(steps),
    )  # fmt: skip
    return _on_datagrams(scenario) if chosen == "blocks" else scenario


def _on_datagrams(scenario: Scenario) -> Scenario:
    """Let datagrams be lost, and some messages expire."""
    random = Random(f"{scenario.seed}/datagrams")
    return replace(
        scenario,
        loss=random.choice([0.0, 0.02, 0.1, 0.2, 0.3]),
        orders=random.choice(["causal", "perishable"]),
    )


def _given(step: Step, names: dict[str, str]) -> Step:
    who = tuple(names.get(name, name) for name in step.who)
    return replace(step, verb=_GIVEN.get(step.verb, step.verb), who=who)

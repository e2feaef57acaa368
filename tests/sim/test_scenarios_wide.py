"""Scenarios of wide worlds: each once broke a promise, or shows what a planted bug breaks.

Law: each scenario in ``tests/scenarios_wide`` is lived through with its own seed and others, which
change delays of a fraction of a millisecond, and clocks. Every promise is kept in all of them.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.mutants.planted import MUTANTS, planted
from tests.mutants.registry import UNMET

from antiphon.sim.exploration import examine
from antiphon.sim.scenario import Scenario, parse_scenario

FOLDER = Path(__file__).parent.parent / "scenarios_wide"
SEEDS = range(6)

WRONG_RULES = {
    "founders_hear_of_each_other_a_round_trip_later": "first sign of life is given no more time",
    "joiners_of_a_view_whose_members_all_die": "joiners wait for a dead view",
    "only_one_left_behind_has_the_state": "joiners wait for a dead view",
    "second_letter_on_its_way": "any acknowledgement frees the sender",
    "two_that_took_each_other_back_go_on_at_once": "vote that was held up tells how far it is",
    "views_that_one_has_missed": "agreed views are forgotten too soon",
}
"""For each scenario the planted bug that it shows."""


def scenarios(path: Path) -> list[Scenario]:
    """Return a scenario of the folder, with its own seed and others."""
    scenario = parse_scenario(path.read_text())
    return [scenario, *(replace(scenario, seed=seed) for seed in SEEDS)]


def findings(path: Path) -> list[tuple[int, str, str]]:
    """Return what goes wrong in a scenario, over all seeds."""
    found = [examine(scenario) for scenario in scenarios(path)]
    return [(one.scenario.seed, one.what, one.text) for one in found if one is not None]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_every_promise_is_kept_in_every_scenario(path: Path) -> None:
    """Nothing goes wrong with any seed."""
    assert findings(path) == []


@pytest.mark.long
@pytest.mark.parametrize(("name", "wrong"), WRONG_RULES.items())
def test_wrong_rule_breaks_a_promise(name: str, wrong: str) -> None:
    """With the bug planted some seed shows it."""
    with planted(next(one for one in MUTANTS + UNMET if one.name == wrong)):
        assert findings(FOLDER / f"{name}.txt") != []

"""Errata of view changes and orders as scenarios: the right rule holds, the printed one breaks.

Law: each scenario in ``tests/scenarios_views`` is lived through with several seeds, which change
only delays of a fraction of a millisecond. The machines as they are keep every promise in all of
them; with the printed rule planted back (``tests/mutants``) some seed breaks one.
"""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.mutants.planted import MUTANTS, planted
from tests.mutants.registry import UNMET
from tests.sim.test_scenarios_wide import WRONG_RULES as WRONG_RULES_OF_WIDE_WORLDS

from antiphon.membership.all_to_all_flush import AllToAllFlush
from antiphon.oracle import judge
from antiphon.sim.exploration import examine
from antiphon.sim.scenario import Scenario, parse_scenario
from antiphon.sim.world import World
from antiphon.stack.settings import FLUSHES
from antiphon.trace.verdict import Property, Status

FOLDER = Path(__file__).parent.parent / "scenarios_views"
SEEDS = range(6)
WRONG_SEEDS = range(60)
"""How often a wrong rule may be lucky: what dies with whom is for the seed to say."""


WRONG_RULES: dict[str, tuple[str, ...]] = {
    "erratum_003_1_silent_dead_process": ("no exclusion of who never sent",),
    "erratum_003_2_two_views_at_once": ("no next round with views pending",),
    "erratum_003_3_late_words_of_an_excluded_process": ("late words of the excluded count",),
    "erratum_003_5_permission_that_reached_only_some": (
        "permission is not passed on",
        "new coordinator repeats nothing",
    ),
    "erratum_000_17_b_late_words_of_a_failed_process": ("late words of the failed count",),
    "erratum_000_17_c_copies_of_a_view_that_was_left": ("copies are dropped with their view",),
    "erratum_000_17_d_messages_of_a_later_view": ("messages of the next view are dropped",),
    "erratum_000_17_f_leaver_takes_part": ("leaver is counted out too soon",),
    "erratum_000_17_f_dead_leaver": ("dead leaver is waited for",),
    "excluded_process_tells_what_its_vote_decided": ("excluded process keeps its knowledge",),
    "uniform_leaver_that_was_not_counted": ("leaver goes uncounted",),
    "erratum_000_18_forwarded_once": ("forwarded once then stable",),
    "erratum_000_18_unstable_until_installed": ("unstable only until installed",),
    "total_000_9_token_follows_the_talker": ("new holder looks at new messages only",),
    "total_000_10_holder_keeps_giving_turns": ("holder gives turns during the flush",),
    "total_000_10_holder_crashes_with_turns_unsaid": ("left overs in order of receipt",),
    "total_000_11_turn_that_died_with_its_message": ("lost turns are waited for",),
    "uniform_003_6_one_confirmation_too_few": ("one confirmation is not waited for",),
    "uniform_003_7_past_that_dies_with_its_senders": ("confirmed on receipt",),
    "uniform_003_7_order_dies_with_the_holder": ("order of uniform messages is not uniform",),
    "uniform_000_6_token_stays_while_own_messages_wait": ("token moves while own messages wait",),
    "uniform_000_11_turns_that_outlive_a_lost_one": ("left overs ignore the turns that are known",),
    "letters_000_24_news_by_a_second_letter": ("letter to another does not wait",),
    "letters_000_24_letter_that_dies_with_its_sender": ("sender of a letter goes on multicasting",),
}
"""For each scenario the planted bugs that together are the printed rule."""


def scenarios(name: str) -> list[Scenario]:
    """Return a scenario of the folder, with several seeds."""
    scenario = parse_scenario((FOLDER / f"{name}.txt").read_text())
    return [replace(scenario, seed=seed) for seed in SEEDS]


def findings(name: str) -> list[str]:
    """Return what goes wrong in a scenario, over all seeds."""
    found = [examine(scenario) for scenario in scenarios(name)]
    return [finding.what for finding in found if finding is not None]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_every_promise_is_kept_in_every_scenario(path: Path) -> None:
    """The machines as they are live through every scenario of the folder, with every seed."""
    assert findings(path.stem) == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
@pytest.mark.parametrize("flush", FLUSHES)
def test_every_promise_is_kept_with_every_flush(path: Path, flush: str) -> None:
    """Scenarios were made for one flush; the others have to live through them as well."""
    scenario = replace(parse_scenario(path.read_text()), flush=flush)
    if path.stem.startswith("uniform") and flush != "view-atomic":
        pytest.skip("uniform delivery needs the view-atomic flush")
    assert examine(scenario) is None


@pytest.mark.parametrize("name", WRONG_RULES)
def test_printed_rule_breaks_a_promise(name: str) -> None:
    """With the printed rule in place, the same scenario violates a property or gets stuck."""
    with ExitStack() as stack:
        for mutant in MUTANTS + UNMET:
            if mutant.name in WRONG_RULES[name]:
                stack.enter_context(planted(mutant))
        scenario = parse_scenario((FOLDER / f"{name}.txt").read_text())
        found = (examine(replace(scenario, seed=seed)) for seed in WRONG_SEEDS)
        assert any(finding is not None for finding in found)


def test_rules_name_planted_bugs_that_exist() -> None:
    """A scenario whose planted bug was renamed would prove nothing."""
    names = {mutant.name for mutant in MUTANTS + UNMET}
    used = {rule for rules in WRONG_RULES.values() for rule in rules}
    assert used <= names
    found = used | set(WRONG_RULES_OF_WIDE_WORLDS.values())
    assert {mutant.name for mutant in UNMET} <= found, "nothing else finds these"


def test_view_is_starved_if_only_its_own_round_installs_it() -> None:
    """000-19: without early release a view waits for ever for who failed since."""

    def only_own_round(self: AllToAllFlush) -> None:
        transition = self._transition
        for view in transition.pending[:1]:
            participants = transition.participants(view.number)
            if all(self._flushed.get(process, 0) >= view.number for process in participants):
                self.installable = max(self.installable, view.number)

    with patch.object(AllToAllFlush, "_check", only_own_round):
        assert "stuck" in findings("erratum_000_19_later_round_installs_an_earlier_view")


@pytest.mark.parametrize("flush", ["coordinator", "all-to-all"])
def test_isis_flush_violates_view_atomicity(flush: str) -> None:
    """Uniform 2.2, 000-17 (a): a process that installs a view and dies may have delivered more."""
    name = "d3_coordinator_flush" if flush == "coordinator" else "d3_all_to_all_flush"
    for scenario in scenarios(name):
        verdict = judge(World(scenario).run().events)
        violated = [item for item in verdict.properties if item.status is Status.VIOLATED]
        assert [item.property for item in violated] == [Property.VIEW_ATOMIC]
        assert "both went on to view 2" in violated[0].violations[0].text


@pytest.mark.long
@pytest.mark.parametrize("name", ["d3_coordinator_flush", "d3_all_to_all_flush"])
def test_default_flush_never_violates_view_atomicity(name: str) -> None:
    """The same schedules, whatever the moments of the crashes, are harmless with the default."""
    for scenario in scenarios(name):
        for shift_us in range(-4_000, 60_000, 4_000):
            steps = tuple(
                replace(step, time_us=step.time_us + shift_us) if step == last else step
                for last in [scenario.steps[-1]]
                for step in scenario.steps
            )
            shifted = replace(scenario, flush="view-atomic", steps=steps)
            verdict = judge(World(shifted).run().events)
            assert verdict.of(Property.VIEW_ATOMIC).status is not Status.VIOLATED


def test_wrongly_excluded_process_learns_it_and_comes_back() -> None:
    """003-8: it stops with a reason, and the last view has its new incarnation."""
    for scenario in scenarios("erratum_003_8_wrongly_excluded_process_learns_it"):
        outcome = World(scenario).run()
        ends = {event.process: event.detail for event in outcome.events if event.kind == "stop"}
        assert ends["p3"].startswith("the others have gone on without this process")
        assert [str(member) for member in outcome.views[-1].members] == ["p1", "p2", "p3~2"]

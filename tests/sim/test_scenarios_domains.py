"""Golden scenarios of several groups in one causality domain: figures, errata and worst moments.

Law: each scenario in ``tests/scenarios_domains`` is lived through with its own seed and others,
which change delays of a fraction of a millisecond; all is as it says in all of them. With the bug
planted that it is about, it fails.
"""

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.mutants import planted_structure  # noqa: F401 - its bugs are in the list, too
from tests.mutants.planted_domains import MUTANTS
from tests.sim.domain_schedules import stamps_in

from antiphon.core.errors import UsageError
from antiphon.sim.domain_world import DomainWorld
from antiphon.sim.exploration import survey
from antiphon.sim.scenario import Scenario, parse_scenario

FOLDER = Path(__file__).parent.parent / "scenarios_domains"
FILES = sorted(FOLDER.glob("*.txt"))
SEEDS = range(4)

WRONG_RULES = {
    "chain_over_three_groups": ("only own groups ride along", "causal"),
    "exile_hears_by_a_third_party": ("views go unsaid though somebody is doubted", "causal"),
    "exile_is_named_the_view_after": ("what is of an older view is forgotten unsaid", "causal"),
    "figure_4_causal_cycle_over_two_groups": ("one other receiver is enough", "causal"),
    "isis_6_6_circle_needs_stamps_of_others": ("own groups are enough on a circle", "causal"),
    "isis_6_7_excluded_group_ends_the_circle": ("no epoch before an excluded group", "causal"),
    "join_that_is_not_declared_is_refused": ("any overlap is let in", "expectation"),
    "phantom_circle_of_who_leaves_one_group_for_another": (
        "who has left begins no epoch", "causal",
    ),
    "flushes_do_not_wait_in_a_circle": ("what is lost is waited for", "stuck"),
    "isis_6_5_hole_beyond_the_resilience": ("view ends with its flush", "agreement"),
    "isis_6_5_resilience_1_bears_one_crash": ("nothing is waited for", "no-orphan"),
    "isis_6_5_resilience_2_leaves_no_hole": ("nothing is waited for", "no-orphan"),
    "joiner_of_a_second_group": ("nobody waits for who joins", "causal"),
    "turns_of_two_total_orders": ("own messages need not be delivered", "agreement"),
}  # fmt: skip
"""For each scenario the planted bug that it shows, and what is broken by it."""


def read(name: str) -> Scenario:
    """Return a scenario of the folder."""
    return parse_scenario((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario_goes_as_it_says(path: Path) -> None:
    """Nothing goes wrong, and what is expected comes about, with any seed."""
    scenario = read(path.stem)
    worlds = [scenario, *(replace(scenario, seed=seed) for seed in SEEDS)]
    found = [survey(world).finding for world in worlds]
    assert [(one.scenario.seed, one.what, one.text) for one in found if one is not None] == []


@pytest.mark.parametrize(("name", "wrong", "what"), [(k, *v) for k, v in WRONG_RULES.items()])
def test_wrong_rule_breaks_what_the_scenario_is_about(name: str, wrong: str, what: str) -> None:
    """With the bug planted it is found at once, and what is broken is named."""
    mutant = next(one for one in MUTANTS if one.name == wrong)
    with patch.object(mutant.target, mutant.method, mutant.wrong):
        finding = survey(read(name)).finding
    assert finding is not None
    assert finding.what == what


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario_reads_back_and_gives_the_same_trace(path: Path) -> None:
    """Its text form is the scenario, and a world is a function of it."""
    scenario = read(path.stem)
    assert parse_scenario(str(scenario)) == scenario
    assert survey(scenario).events == survey(parse_scenario(str(scenario))).events


@pytest.mark.parametrize("is_declared", [True, False])
def test_in_a_declared_tree_stamps_of_own_groups_alone_ride_along(
    monkeypatch: pytest.MonkeyPatch, *, is_declared: bool
) -> None:
    """Where nothing is declared, what is known of A goes on to B and C, and to whoever is there."""
    scenario = read("isis_6_6_tree_needs_stamps_of_own_groups_only")
    own = {"p3": {0, 1}, "p4": {1}, "p5": {1, 2}, "p6": {2}}
    world = DomainWorld(scenario if is_declared else replace(scenario, overlaps=()))
    noted = stamps_in(world.world, monkeypatch)
    world.run()
    strange = {
        who
        for who, stamps in noted
        for group, _, _ in stamps
        if group not in own[who.partition("@")[0].partition("~")[0]]
    }
    assert strange == (set() if is_declared else {"p4@B", "p5@C", "p6@C"})
    assert any(stamps for who, stamps in noted if who.startswith("p3"))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("overlaps A C", "p3 is in groups A and B, which are not declared to overlap"),
        ("overlaps A A", "group A is declared to overlap itself"),
        ("overlaps A B\nexcluded D", "group D is excluded and not declared to overlap any other"),
        ("overlaps A B C", "cannot be read: a line is a name and a value, a group, an overlap of"),
        ("excluded A", "group A is excluded and not declared"),
    ],
)
def test_structure_that_cannot_be_is_refused_in_one_sentence(lines: str, said: str) -> None:
    """What founders overlap has to be declared; what a structure refuses, a scenario does."""
    groups = "group A p1 p2 p3\ngroup B p3 p4\n"
    with pytest.raises(UsageError, match=r"of the scenario|the scenario's head") as refusal:
        parse_scenario(f"{groups}{lines}\n")
    assert said in str(refusal.value)
    with pytest.raises(UsageError, match="are for scenarios of several groups"):
        parse_scenario("founders 3\noverlaps A B\n")


def test_patterns_declare_many_groups() -> None:
    """As in programs: room-* is any number of groups."""
    text = "group lobby p1 p2\ngroup room-1 p1 p3\noverlaps lobby room-*\n"
    scenario = parse_scenario(f"{text}expect verdict causal holds\nat 5 causal p1 1 in lobby\n")
    assert scenario.overlaps == (("lobby", "room-*"),)
    assert "overlaps lobby room-*\n" in str(scenario)
    assert survey(scenario).finding is None


def test_expectation_that_is_not_met_is_named_with_what_is_there_instead() -> None:
    """Each kind of line is really checked."""
    text = (FOLDER / "figure_4_causal_cycle_over_two_groups.txt").read_text(encoding="utf-8")
    head = "\n".join(line for line in text.splitlines() if not line.startswith("expect"))
    wrong = {
        "expect p1 delivers p3/1 p1/1": "it delivers p1/1 p3/1",
        "expect p1 delivers p1/1 in any order": "it delivers p1/1 p3/1",
        "expect p1 never p1/1": "it delivers p1/1 p3/1",
        "expect view A p1 p2": "p1 is in a view of p1 p2 p3",
        "expect view A p4": "p4 is not in it",
        "expect verdict causal unknown": "it is holds",
    }
    for line, said in wrong.items():
        finding = survey(parse_scenario(f"{head}\n{line}\n")).finding
        assert finding is not None, line
        assert (finding.what, finding.text) == ("expectation", f"{line}: {said}")


def test_trace_is_one_with_its_domain_and_resilience() -> None:
    """Each process has one record, numbered without gaps, over all its groups."""
    events = survey(read("isis_6_5_resilience_2_leaves_no_hole")).events
    of_p3 = [event for event in events if event.process == "p3"]
    assert [event.index for event in of_p3] == list(range(len(of_p3)))
    views = [event for event in of_p3 if event.kind == "view"]
    assert {(event.group, event.domain, event.resilience) for event in views} == {
        ("A", "d", 2), ("B", "d", 2),
    }  # fmt: skip
    assert [event.kind for event in of_p3].count("start") == 1
    assert [event.kind for event in of_p3].count("stop") == 1


def test_who_leaves_one_group_goes_on_in_the_other() -> None:
    """To leave one of several groups does not end a record; coming back begins another."""
    events = survey(read("joiner_of_a_second_group")).events
    ends = {event.process: event.detail for event in events if event.kind == "stop"}
    assert ends["p4"] == ends["p4~2"] == "quiescent"
    assert {event.group for event in events if event.process == "p4" and event.group} == {"A", "B"}

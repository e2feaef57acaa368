"""The quick part of the mutation suite: bugs that exploration finds within a hundred worlds.

Law: what finds planted bugs has to pass the right machines on the very same seeds, or it finds
nothing. The bugs that need more worlds are hunted by ``make mutants``.
"""

from pathlib import Path

import pytest
from tests.mutants.campaign import OTHERS, SEEDS_MAX, hunt, others, report
from tests.mutants.planted import MUTANTS, Mutant, planted

from antiphon.sim.exploration import explore
from antiphon.stack.settings import FLUSHES

QUICK_SEEDS = 100

SLOW_TO_FIND = (
    "decision is multicast plainly",
    "late words of the failed count",
    "late words of the excluded count",
    "forwarded once then stable",
    "old holder goes on",
    "token moves while own messages wait",
    "successor counts turns from its own",
    "last list is not said",
    "token is taken during the flush",
    "view begins with a holder although it ends",
    "one confirmation is not waited for",
    "everything received counts as settled",
    "order of uniform messages is not uniform",
    "list that is still unsaid counts as marked",
    "sender of a letter goes on multicasting",
    "letter to another does not wait",
    "early letter is not acknowledged",
    "permission is not passed on",
    "new coordinator repeats nothing",
    "relayed messages are not relayed on",
    "exclusion is not checked",
    "leaver is counted out too soon",
    "any half is a quorum",
    "accepted views are overruled",
    "promises are not kept",
    "every first ballot skips phase one",
    "what was accepted is not told",
    "leaver goes uncounted",
    "joiners wait for a dead view",
    "late answers end a ballot",
    "token is lost on the way",
    "successor begins on receipt",
    "new holder looks at new messages only",
    "excluded process keeps its knowledge",
    "accusations may break the quorum",
    "joiners forget what they saw",
    "any acknowledgement frees the sender",
    "agreed views are forgotten too soon",
    "exclusion before the first view is a refusal",
    "condemned are never asked again",
    "stalled are never pardoned",
    "queue keeps a tools word for the next incarnation",
    "what waits is sent in the next incarnation",
    "late reader answers in the next incarnation",
    "every lineage is the next one",
    "old lineage contradicts the new one",
    "those left behind are forgotten",
    "question of a later lineage is not heeded",
    "who learns that it is out tells nobody",
    "half of the places found",
    "ballots are never given up",
    "acknowledgement that nobody asked for is never sent",
    "member that moves is given up anyway",
    "member given up wrongly gets no more time",
    "confirmations of other views count",
    "withheld counts as delivered",
)
"""Bugs that may need more worlds than the quick suite has time for."""

QUICK = [mutant.name for mutant in MUTANTS if mutant.name not in SLOW_TO_FIND]


@pytest.mark.parametrize("name", QUICK)
def test_quick_mutant_is_found(name: str) -> None:
    """A planted bug makes one of the first hundred random worlds fail."""
    _, seeds, what, text = hunt(name, QUICK_SEEDS)
    assert seeds is not None
    assert what
    assert text


@pytest.mark.parametrize("flush", FLUSHES)
def test_right_machines_pass_the_same_seeds(flush: str) -> None:
    """Without a planted bug none of these worlds fails."""
    found = [seed for seed, finding in explore(range(QUICK_SEEDS), flush) if finding is not None]
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_TO_FIND)
def test_slow_mutant_is_found(name: str) -> None:
    """The other planted bugs are found within the bound of the campaign."""
    assert hunt(name, SEEDS_MAX)[1] is not None


def test_slow_list_names_mutants_that_exist() -> None:
    """A bug that is renamed must not drop out of the suite."""
    names = [mutant.name for mutant in MUTANTS]
    assert set(SLOW_TO_FIND) <= set(names)
    assert len(set(names)) == len(names)
    assert len(QUICK) >= 15


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_bug_is_planted_and_taken_out_again(mutant: Mutant) -> None:
    """A planted bug replaces what is there, and nothing of it remains."""
    right = mutant.target.__dict__[mutant.method]
    with planted(mutant):
        assert mutant.target.__dict__[mutant.method] is mutant.wrong
        assert mutant.wrong is not right
        for target, method, wrong in mutant.also:
            assert target.__dict__[method] is wrong
    assert mutant.target.__dict__[mutant.method] is right
    assert all(target.__dict__[method] is not wrong for target, method, wrong in mutant.also)


def test_report_lists_every_mutant_and_names_survivors() -> None:
    """The page has a line for each bug, and says which were not found."""
    rows = [(mutant.name, 7, 8, "stuck") for mutant in MUTANTS[1:]]
    page = report([(MUTANTS[0].name, None, 3, ""), *rows])
    first = MUTANTS[0]
    assert f"| {first.name} | {first.flush} | {first.source} | not found | 3 |" in page
    assert page.count("| 7 | 8 | stuck |") == len(MUTANTS) - 1


def test_written_page_has_what_is_planted_elsewhere_and_the_readme_counts_all() -> None:
    """Causal blocks, overlays and domains have tables too."""
    root = Path(__file__).parents[2]
    page = (root / "docs" / "mutants.md").read_text(encoding="utf-8")
    assert page.endswith("\n".join(others()) + "\n"), "run `make mutants`"
    assert all(f"| {mutant.name} | {mutant.flush} |" in page for mutant in MUTANTS)
    count = len(MUTANTS) + sum(len(mutants) for _, _, mutants in OTHERS)
    readme = (root / "README.md").read_text("utf-8")
    assert f"[{count} planted bugs](docs/mutants.md)" in readme
    here = len(MUTANTS)
    assert f"{here} of what every group does, {count - here} of causal blocks, overlays" in readme

"""Shrinking: a failing world becomes a small one that fails in the same way."""

from dataclasses import replace

import pytest
from tests.mutants.planted import MUTANTS, planted

from antiphon.sim import shrinking
from antiphon.sim.exploration import Finding, examine, explore
from antiphon.sim.scenario import Scenario, parse_scenario
from antiphon.sim.shrinking import shrink

NAME = "unstable messages are not forwarded"


def first_finding(name: str = NAME) -> Finding:
    """Return what exploration finds first; to be called with the bug planted."""
    flush = next(mutant.flush for mutant in MUTANTS if mutant.name == name)
    return next(finding for _, finding in explore(range(2_000), flush) if finding is not None)


def test_shrunk_world_is_small_and_fails_in_the_same_way() -> None:
    """Less remains, it fails with the bug as before, and it holds without the bug."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == NAME)
    with planted(mutant):
        finding = first_finding()
        small = shrink(finding)
        assert small.what == finding.what
        assert len(small.scenario.steps) < len(finding.scenario.steps)
        assert len(small.scenario.steps) <= 8
        again = examine(parse_scenario(str(small.scenario)))
        assert again is not None
        assert again.what == finding.what
    assert examine(small.scenario) is None


def test_no_single_step_can_be_taken_from_the_result() -> None:
    """Each step that is left is needed."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == NAME)
    with planted(mutant):
        found = shrink(first_finding())
        small = found.scenario
        for at in range(len(small.steps)):
            rest = examine(replace(small, steps=small.steps[:at] + small.steps[at + 1 :]))
            assert rest is None or rest.what != found.what


def test_success_is_told_with_the_size() -> None:
    """Whoever waits is told how far shrinking has come, ever smaller."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == NAME)
    sizes: list[int] = []
    with planted(mutant):
        shrink(first_finding(), sizes.append)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes != []


def test_tries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shrinking stops after so many tries, with the best that it has."""
    tries: list[Scenario] = []
    finding = Finding(parse_scenario("at 1 multicast p1 3\nat 2 crash p2\n"), "stuck", "", [])

    def always(scenario: Scenario) -> Finding:
        tries.append(scenario)
        return Finding(scenario, "stuck", "", [])

    monkeypatch.setattr(shrinking, "TRIES_MAX", 2)
    monkeypatch.setattr(shrinking, "examine", always)
    shrink(finding)
    assert len(tries) == 2


def test_other_kind_of_finding_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smaller world that fails in another way is not what was asked for."""
    finding = Finding(parse_scenario("at 1 multicast p1 3\nat 2 crash p2\n"), "stuck", "", [])
    monkeypatch.setattr(
        shrinking, "examine", lambda scenario: Finding(scenario, "agreement", "", [])
    )
    assert shrink(finding) is finding


def test_everything_superfluous_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """If any world fails, what remains is one founder, no step and no answer."""
    text = "founders 5\nat 1 multicast p5 3\nat 2 crash p2\nat 3 join q1\n"
    finding = Finding(parse_scenario(text), "stuck", "", [])
    monkeypatch.setattr(shrinking, "examine", lambda scenario: Finding(scenario, "stuck", "", []))
    small = shrink(finding).scenario
    assert (small.founders, small.steps, small.answers) == (1, (), 0.0)

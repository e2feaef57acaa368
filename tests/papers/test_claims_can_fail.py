"""Each test of a claim fails with the planted bugs that it names: it can tell right from wrong."""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from tests.golden.test_golden import CATCHES
from tests.mutants.planted import planted
from tests.papers.play import CAUGHT, Claim, forget_worlds
from tests.papers.wrong_rules import HERE, bug

from antiphon.core.errors import AntiphonError

MODULES = [
    import_module(f"tests.papers.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("test_*_[2-7]*.py"))
]


@pytest.mark.parametrize(
    ("claim", "name"), CAUGHT, ids=[f"{claim.__name__}: {name}" for claim, name in CAUGHT]
)
def test_claim_is_not_shown_with_the_planted_bug(claim: Claim, name: str) -> None:
    """With the opposite rule in place, the test of the claim fails."""
    wrong = (AssertionError, ValueError, KeyError, IndexError, AntiphonError)
    forget_worlds()
    try:
        with planted(bug(name)), pytest.raises(wrong):
            claim()
    finally:
        forget_worlds()


def _tests(module: ModuleType) -> list[str]:
    return [name for name in vars(module) if name.startswith("test_")]


def test_every_test_of_a_claim_names_a_planted_bug() -> None:
    """A claim that nothing could contradict would not be one."""
    tests = {name for module in MODULES for name in _tests(module)}
    assert len(tests) > 90
    assert tests == {claim.__name__ for claim, _ in CAUGHT}


def test_page_lists_every_test() -> None:
    """The table of claims, docs/papers.md, is that of the tests, in their order."""
    page = (Path(__file__).parents[2] / "docs" / "papers.md").read_text("utf-8")
    listed: list[str] = []
    for section in page.split("\n## ")[1:]:
        named = re.findall(r"named `(test_\w+?)_\.\.\.`", section)
        if not named:
            continue  # a paper whose tests are elsewhere
        (prefix,) = named
        listed += [f"{prefix}_{name}" for name in re.findall(r"\| `(\w+)` \|", section)]
    assert listed == [name for module in MODULES for name in _tests(module)]


def test_every_planted_bug_of_these_tests_is_named() -> None:
    """No wrong rule is left over."""
    used = {name for _, name in CAUGHT} | set(CATCHES.values())
    assert {mutant.name for mutant in HERE} <= used

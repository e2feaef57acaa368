"""A small part of the damage campaign; the whole of it is `make damage`."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.pipeline.damage_campaign import cases, judged_by_oracle, outcome, written
from tests.pipeline.whole_damage import WHOLE_DAMAGE

from antiphon.pipeline.verify import verify_all
from antiphon.trace.verdict import Property

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor


def check(executor: "Executor", folder: Path, damaged: int, clean: int) -> None:
    """Judge so many traces of each kind, and hold the verdicts to what was done to them."""
    of = list(cases(damaged, clean))
    placed = written(of, folder)
    expected = judged_by_oracle(placed)
    by_oracle = outcome(of, expected, expected)
    assert (by_oracle.missed, by_oracle.false_alarms) == ([], [])
    assert by_oracle.found == dict.fromkeys(WHOLE_DAMAGE, damaged)
    assert outcome(of, verify_all(executor, [folder]), expected) == by_oracle


def test_every_property_has_its_damage() -> None:
    """None is left out."""
    assert WHOLE_DAMAGE.keys() == set(Property)


def test_damage_is_found_and_nothing_else(executor: "Executor", tmp_path: Path) -> None:
    """By the oracle, by this process and by Spark, in the same words."""
    check(executor, tmp_path, damaged=8, clean=60)


@pytest.mark.slow
def test_whole_campaign(executor: "Executor", tmp_path: Path) -> None:
    """As it is recorded in docs/pipeline.md."""
    check(executor, tmp_path, damaged=200, clean=2_000)

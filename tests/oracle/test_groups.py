"""The oracle on groups whose domains nobody names: causality across them is not judged."""

from collections.abc import Callable

import pytest
from tests.oracle.known_groups import (
    ASKED,
    CASES,
    CAUSAL,
    Case,
    answer_before_its_question_inside_a_group,
    answer_in_another_group,
)

from antiphon.oracle import judge
from antiphon.trace.verdict import Status

IDS = [case.__name__ for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_what_was_not_judged_across_groups_is_not_said_to_hold(case: Callable[[], Case]) -> None:
    """Unknown where a process is in more than one group; violated, or held, as ever elsewhere."""
    rows, expected = case()
    verdict = judge(rows)
    found = {
        item.property: -1 if item.status is Status.UNKNOWN else item.violation_count
        for item in map(verdict.of, ASKED)
    }
    assert {which: count for which, count in found.items() if count} == expected


def test_reason_names_who_is_in_several_groups_and_what_to_do() -> None:
    """The reason says what was not judged and for whom, what was, and how to get a verdict."""
    rows, _ = answer_in_another_group()
    assert judge(rows).of(CAUSAL).reason == (
        "2 processes are in more than one group, and causality across groups is not judged: B, C "
        "(name their causality domains in a column `domain`, or say --domains one, or --domains "
        "each); within each group nothing is violated"
    )


def test_violation_inside_a_group_says_what_else_was_not_judged() -> None:
    """The reason beside a violation names the processes, too, but promises nothing."""
    rows, _ = answer_before_its_question_inside_a_group()
    causal = judge(rows).of(CAUSAL)
    assert causal.status is Status.VIOLATED
    assert causal.reason == (
        "2 processes are in more than one group, and causality across groups is not judged: B, C "
        "(name their causality domains in a column `domain`, or say --domains one, or --domains "
        "each)"
    )

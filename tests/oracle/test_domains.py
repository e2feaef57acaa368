"""Causality across the groups of a domain, as the oracle judges it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.oracle.known_domains import CASES, Case, chain, in_domain
from tests.oracle.known_groups import ASKED
from tests.oracle.known_names import NAME_CASES
from tests.trace.hand_written import deliver, multicast, write_rows

from antiphon.core.errors import TraceError
from antiphon.oracle import judge
from antiphon.trace import words
from antiphon.trace.reader import read_rows
from antiphon.trace.verdict import Hop, Property, Status

ALL_CASES = [*CASES, *NAME_CASES]

CHAIN = """\
{"process":"a","kind":"multicast","group":"A","domain":"d","first":1}
{"process":"b","kind":"deliver","group":"A","domain":"d","sender":"a","first":1}
{"process":"b","kind":"multicast","group":"B","domain":"d","first":1}
{"process":"c","kind":"deliver","group":"B","domain":"d","sender":"b","first":1}
{"process":"c","kind":"multicast","group":"C","domain":"d","first":1}
{"process":"e","kind":"deliver","group":"C","domain":"d","sender":"c","first":1}
{"process":"e","kind":"deliver","group":"A","domain":"d","sender":"a","first":1}
"""
"""a asks in A; b hears it and speaks in B; c, who is not in A, hears that and speaks in C; and e,
who is in A and in C, hears c first. Only b delivered what e lacks, and e does not hear b."""


def test_chain_through_three_groups_is_found_broken(tmp_path: Path) -> None:
    """Causal order is violated once, at e; nothing is missing in the end."""
    path = tmp_path / "chain.ndjson"
    path.write_text(CHAIN, encoding="ascii")
    verdict = judge(read_rows(path))
    causal = verdict.of(Property.CAUSAL)
    assert (causal.status, causal.violation_count) == (Status.VIOLATED, 1)
    [violation] = causal.violations
    assert (violation.process, violation.earlier and violation.earlier.sender) == ("e", "a")
    assert verdict.of(Property.NO_ORPHAN).status is Status.HOLDS


def test_chain_through_three_groups_holds_in_order(tmp_path: Path) -> None:
    """With the last two lines the other way round, it is known that nothing is wrong."""
    *lines, one, other = CHAIN.splitlines(keepends=True)
    path = tmp_path / "chain.ndjson"
    path.write_text("".join([*lines, other, one]), encoding="ascii")
    verdict = judge(read_rows(path))
    assert verdict.of(Property.CAUSAL).status is Status.HOLDS
    assert verdict.of(Property.NO_ORPHAN).status is Status.HOLDS


@pytest.mark.parametrize("case", ALL_CASES, ids=[case.__name__ for case in ALL_CASES])
def test_causality_is_judged_across_the_groups_of_a_domain(case: Callable[[], Case]) -> None:
    """Violated as often as is said, unknown where that is said, and otherwise it holds."""
    rows, expected, terms = case()
    verdict = judge(rows, terms=terms)
    found = {
        item.property: -1 if item.status is Status.UNKNOWN else item.violation_count
        for item in map(verdict.of, ASKED)
    }
    assert {which: count for which, count in found.items() if count} == expected


def test_explanation_names_processes_groups_and_the_chain() -> None:
    """Every event of the chain says in which group and view it was."""
    [violation] = judge(in_domain(chain())).of(Property.CAUSAL).violations
    assert violation.text == (
        "e delivered message 1 of c (group C, view 1), but only later message 1 of a (group A, "
        "view 1), which precedes it: b had delivered it before multicasting message 1 of b "
        "(group B, view 1), c had delivered that before multicasting message 1 of c (group C, "
        "view 1)"
    )
    assert [link.text for link in violation.chain] == [
        "a multicast message 1 of a (group A, view 1)",
        "b delivered message 1 of a (group A, view 1)",
        "b multicast message 1 of b (group B, view 1)",
        "c delivered message 1 of b (group B, view 1)",
        "c multicast message 1 of c (group C, view 1)",
        (
            "e delivered message 1 of c (group C, view 1), but message 1 of a (group A, view 1) "
            "only later"
        ),
    ]
    assert violation.route == (Hop("a", "A", "b"), Hop("b", "B", "c"), Hop("c", "C", "e"))
    assert violation.missed() == "only later"


def test_route_of_what_one_process_said_in_two_groups() -> None:
    """A process that multicasts in one group and then in another takes it on itself."""
    rows = [
        multicast("a", group="A"), multicast("a", group="B"),
        deliver("e", "a", group="B"), deliver("e", "a", group="A"),
    ]  # fmt: skip
    [violation] = judge(in_domain(rows)).of(Property.CAUSAL).violations
    assert violation.route == (Hop("a", "A", "a"), Hop("a", "B", "e"))
    assert words.way(
        [(hop.sender, hop.group, hop.to) for hop in violation.route], is_ascii=True
    ) == ("a in A, then a -B-> e")


def test_two_domains_of_one_group_are_refused_by_file_and_line(tmp_path: Path) -> None:
    """The first row that says another than the first is named, and so is the first."""
    rows = in_domain(chain())
    rows[4].domain = "other"
    rows[5].domain = "other still"
    path = write_rows(tmp_path / "chain.ndjson", rows)
    with pytest.raises(TraceError) as refusal:
        judge(read_rows(path))
    assert str(refusal.value) == (
        f"{path}:6: group 'C' is in domain 'other still' here, and in 'other' in {path}:5: a group "
        "has one domain, the same in all its rows (a column `domain` that says something else has "
        "to be renamed)"
    )

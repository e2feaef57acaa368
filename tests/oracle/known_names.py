"""Hand-written traces of processes that have several names in the groups of a domain.

What is to be said of them is told as in ``known_domains``.
"""

from collections.abc import Callable

import msgspec
from tests.oracle.known_domains import NO_TOTAL, NOT_JUDGED, ONE, Case, chain, in_domain, question
from tests.oracle.known_groups import CAUSAL, NO_ORPHAN
from tests.trace.hand_written import deliver, multicast, start, stop, view

from antiphon.trace.schema import Event
from antiphon.trace.verdict import ALL


def also(name: str, record: str, rows: list[Event]) -> list[Event]:
    """Return rows that say that a process has another name."""
    return [
        msgspec.structs.replace(row, recorded_as=record) if row.process == name else row
        for row in rows
    ]


def _under_two_names() -> list[Event]:
    """B, who hears A in g, is B~2 in h, and answers there; C has the answer first."""
    rows = [
        start("B~2"), multicast("A", group="g"), deliver("B", "A", group="g"),
        multicast("B~2", group="h"), stop("B~2"),
        deliver("C", "B~2", group="h"), deliver("C", "A", group="g"),
    ]  # fmt: skip
    return also("B~2", "B", rows)


def answer_under_another_name() -> Case:
    """What a process of two names heard under one it knows under the other."""
    return in_domain(_under_two_names()), {CAUSAL: 1} | NO_TOTAL, ALL


def answer_under_another_name_last() -> Case:
    """In order."""
    *rows, answer, asked = in_domain(_under_two_names())
    return [*rows, asked, answer], NO_TOTAL, ALL


def answer_under_another_name_before_the_question() -> Case:
    """The rows of both names are in one order: it had not heard the question yet."""
    rows = in_domain(_under_two_names())
    rows.insert(1, rows.pop(3))
    return rows, NO_TOTAL, ALL


def answer_under_another_name_said_on_the_command_line() -> Case:
    """The same where the terms name the domain."""
    return _under_two_names(), {CAUSAL: 1} | NO_TOTAL, ONE


def answer_under_another_name_of_unknown_domain() -> Case:
    """Who is in several groups under several names is in several groups."""
    rows = [row for row in _under_two_names() if row.process != "C"]
    return [*rows, deliver("C", "B~2", group="h")], NOT_JUDGED, ALL


def answer_under_another_name_in_another_domain() -> Case:
    """Nothing is promised from one domain to another."""
    return in_domain(_under_two_names(), h="other"), NO_TOTAL, ALL


def question_heard_under_another_name() -> Case:
    """C has the answer in h, and then, as C~2, the question in g."""
    rows = question()
    rows[-1].process = "C~2"
    return in_domain(also("C~2", "C", rows)), {CAUSAL: 1} | NO_TOTAL, ALL


def question_lost_under_another_name() -> Case:
    """C has the answer in h, and, as C~2 a member of g, never the question."""
    rows = [view("C~2", "A", "B", "C~2", group="g"), *question()[:-1]]
    return in_domain(also("C~2", "C", rows)), {NO_ORPHAN: 1} | NO_TOTAL, ALL


def chain_through_two_names() -> Case:
    """One is b, b~2 in B and b~3 in D; so the news comes to another, who is c, and c~2 in C."""
    rows = [
        multicast("a", group="A"), deliver("b", "a", group="A"),
        multicast("b~2", group="B"), deliver("b~3", "d", group="D"), multicast("d", group="D"),
        deliver("c", "b~2", group="B"), multicast("c~2", group="C"),
        deliver("e", "c~2", group="C"), deliver("e", "a", group="A"),
    ]  # fmt: skip
    rows = also("b~3", "b", also("b~2", "b", also("c~2", "c", rows)))
    return in_domain(rows), {CAUSAL: 1} | NO_TOTAL, ALL


def circle_through_two_names() -> Case:
    """B answers before it hears the question, and that comes after the answer: no order."""
    rows = _under_two_names()[:5]
    rows = [rows[0], rows[2], rows[3], deliver("A", "B~2", group="h"), rows[1]]
    return in_domain(rows), NOT_JUDGED, ALL


def two_names_in_one_group() -> Case:
    """Nothing crosses groups where there is one."""
    rows = _under_two_names()
    for row in rows:
        row.group = row.group and "g"
    return in_domain(rows), NO_TOTAL, ALL


def two_names_in_one_view() -> Case:
    """Nobody can be two members of a view: what such a log means is not known."""
    rows = [*_under_two_names(), deliver("B~2", "A", group="g")]
    return in_domain(also("B~2", "B", rows)), NOT_JUDGED, ALL


def two_names_in_one_view_of_those_listed() -> Case:
    """Nor is it if a view only lists both."""
    rows = [view("A", "A", "B", "B~2", group="g"), *_under_two_names()]
    return in_domain(rows), {CAUSAL: -1, NO_ORPHAN: -1} | NO_TOTAL, ALL


def two_names_and_an_answer_first() -> Case:
    """What is wrong elsewhere is wrong."""
    rows = in_domain([*_under_two_names(), *chain()])
    return rows, {CAUSAL: 2} | NO_TOTAL, ALL


def two_names_of_processes_that_followed_each_other() -> Case:
    """One that was started again knows nothing of what it was."""
    rows = in_domain(_under_two_names())
    return [msgspec.structs.replace(row, recorded_as="") for row in rows], NO_TOTAL, ALL


NAME_CASES: list[Callable[[], Case]] = [
    answer_under_another_name,
    answer_under_another_name_last,
    answer_under_another_name_before_the_question,
    answer_under_another_name_said_on_the_command_line,
    answer_under_another_name_of_unknown_domain,
    answer_under_another_name_in_another_domain,
    question_heard_under_another_name,
    question_lost_under_another_name,
    chain_through_two_names,
    circle_through_two_names,
    two_names_in_one_group,
    two_names_in_one_view,
    two_names_in_one_view_of_those_listed,
    two_names_and_an_answer_first,
    two_names_of_processes_that_followed_each_other,
]

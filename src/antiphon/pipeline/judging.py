"""The steps from a trace to verdicts, in their order.

Law: matrix, orders, agreement, explanations; each table is computed once, kept in memory or on
disk as long as a later step needs it, and let go of whatever happens. All runs of a trace are
judged by the same few passes, be it one run or thousands.
"""

from collections.abc import Callable
from functools import partial

from antiphon.pipeline.case import Case
from antiphon.pipeline.checks.across.breaks import breaks_across, by_component, total_breaks_across
from antiphon.pipeline.checks.borders import astray, suspects, wrong_views
from antiphon.pipeline.checks.commit import judge_decisions
from antiphon.pipeline.checks.findings import Findings, What
from antiphon.pipeline.checks.matrix import pieces, position_matrix
from antiphon.pipeline.checks.orders import block_length, block_starts, disorders, is_long, timeline
from antiphon.pipeline.checks.promises import broken_promises
from antiphon.pipeline.checks.total import block_ends, disagreements, sequence, yardsticks
from antiphon.pipeline.checks.total import suspects as total_suspects
from antiphon.pipeline.conclude import conclude
from antiphon.pipeline.explanations.decisions import explain_wrong_decision
from antiphon.pipeline.explanations.explain import explain
from antiphon.pipeline.ingest.loading import Trace
from antiphon.pipeline.survey.domains import SurveyedDomains
from antiphon.pipeline.survey.grain import Grain
from antiphon.pipeline.survey.layout import Layout
from antiphon.pipeline.survey.scopes import Survey, strand_tables, survey
from antiphon.pipeline.tables.table import Executor, Table
from antiphon.trace.verdict import ALL, Property, Terms, Verdict

Cases = Callable[[Survey, SurveyedDomains, list[Findings]], list[Case]]
Begin = Callable[[str], None]
"""Told that a step begins."""

_ABOUT_CAUSES = {Property.CAUSAL, Property.NO_ORPHAN, Property.TOTAL_CAUSAL}


def judge(
    executor: Executor,
    trace: Trace,
    cases_of: Cases,
    begin: Begin,
    grain: Grain,
    terms: Terms = ALL,
) -> list[Verdict]:
    """Return a verdict for each of the cases that ``cases_of`` makes of all that was found.

    What is not asked is not looked for where that costs a pass of its own.
    """
    begin("matrix")
    found = survey(trace.reports, terms)
    domains = SurveyedDomains(trace.reports, found, terms)
    components = {scope: each.component for scope, each in domains.seatings.items()}
    layouts = {scope.number: scope.layout() for scope in found.scopes}
    row_count = sum(part.row_count for scope in found.scopes for part in scope.parts.values())
    part_count = executor.part_count(row_count, grain.rows_per_partition)
    strands = strand_tables(trace.reports, found.scopes, grain)
    cut_up = pieces(trace.packs, strands)
    with position_matrix(cut_up, layouts, components, part_count).kept() as matrix:
        begin("orders")
        findings = _find_disorders(matrix, layouts, grain, part_count)
        if any(scope.asks_total for scope in found.scopes):
            if Property.TOTAL in terms.asked:
                findings += _find_two_orders(matrix, found, layouts, grain, part_count)
            if Property.TOTAL_CAUSAL in terms.asked and any(
                item.what is What.NOT_CAUSAL for item in findings
            ):
                findings += _find_total_disorders(matrix, layouts, grain, part_count)
        if domains.components and not _ABOUT_CAUSES.isdisjoint(terms.asked):
            findings += _find_across(matrix, domains, part_count)
        begin("agreement")
        findings += broken_promises(matrix)
        of_suspects = suspects(trace, found)
        findings += astray(trace.packs, strands, of_suspects) if of_suspects else []
        findings += wrong_views(found)
        is_asked = Property.COMMIT in terms.asked
        outcomes = judge_decisions(trace, part_count) if is_asked else {}
        begin("explain")
        cases = cases_of(found, domains, findings)
        examples = [
            example for case in cases for which in terms.asked for example in case.examples(which)
        ]
        explained = (
            explain(trace, found, domains.seatings, strands, layouts, matrix, examples)
            if examples
            else {}
        )
    explain_decision = partial(explain_wrong_decision, found, trace.files)
    return [
        conclude(case, explained, outcomes, explain_decision, executor.name, terms)
        for case in cases
    ]


def _find_disorders(
    matrix: Table, layouts: dict[int, Layout], grain: Grain, part_count: int
) -> list[Findings]:
    length = block_length(layouts, grain, part_count)
    steps = timeline(matrix, layouts, length, part_count)
    if not is_long(layouts, length):
        return disorders(steps, layouts, {})
    with steps.kept() as kept:
        starts = block_starts(kept, layouts, length)
        return disorders(kept, layouts, starts)


def _find_across(matrix: Table, domains: SurveyedDomains, part_count: int) -> list[Findings]:
    """Find what breaks causality across the groups of a domain.

    What does among messages in total order is looked for only if anything comes late at all.
    """
    rows, seatings = by_component(matrix, part_count), domains.seatings
    findings = breaks_across(rows, seatings)
    asks_total = any(scope.asks_total for each in domains.components for scope in each.scopes)
    if asks_total and any(item.what is What.LATE_ACROSS for item in findings):
        findings += total_breaks_across(rows, seatings)
    return findings


def _find_total_disorders(
    matrix: Table, layouts: dict[int, Layout], grain: Grain, part_count: int
) -> list[Findings]:
    """Find what breaks causal order among messages in total order: it breaks causal order, too.

    So this is only asked if something does.
    """
    in_total_order = matrix.where("is_total")
    what = What.NOT_TOTAL_CAUSAL
    return [
        Findings(
            item.scope,
            what,
            item.count,
            item.senders,
            [example._replace(what=what) for example in item.examples],
        )
        for item in _find_disorders(in_total_order, layouts, grain, part_count)
        if item.what is What.NOT_CAUSAL
    ]


def _find_two_orders(
    matrix: Table,
    found: Survey,
    layouts: dict[int, Layout],
    grain: Grain,
    part_count: int,
) -> list[Findings]:
    """Find messages in total order that two processes delivered in different orders."""
    by_yardstick = sequence(matrix, layouts, yardsticks(found.scopes), grain, part_count)
    suspected = total_suspects(by_yardstick)
    if not suspected:
        return []
    with sequence(matrix, layouts, suspected, grain, part_count).kept() as of_suspects:
        ends = block_ends(of_suspects)
        return disagreements(of_suspects, suspected, ends, part_count)

"""From findings to a verdict: statuses, reasons, counts, and which examples to explain.

Law: a property is violated iff there is a finding against it that nothing excuses; what a
verdict leaves out is said in its reason; without any delivery there is nothing to judge.
Definitions in docs/properties.md; words in ``antiphon.trace.words``.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from antiphon.pipeline.checks.commit import Outcome, WrongDecision
from antiphon.pipeline.checks.findings import PROPERTY_OF, Finding, Findings, What
from antiphon.pipeline.survey.scopes import Scope, Survey
from antiphon.trace import words
from antiphon.trace.verdict import (
    EXAMPLES_MAX,
    Property,
    PropertyVerdict,
    Terms,
    Verdict,
    Violation,
    concluded,
    unknown,
)

_ABOUT_VIEWS = (Property.VIEWS, Property.SENDING_VIEW, Property.VIEW_ATOMIC)
_ABOUT_CAUSES = (Property.CAUSAL, Property.NO_ORPHAN, Property.TOTAL_CAUSAL)
"""What rests on which message is before which, and is judged within each group only."""

Explained = dict[Finding, Violation]
ExplainDecision = Callable[[WrongDecision], Violation]


@dataclass(frozen=True, slots=True)
class Case:
    """What is to be judged as one: a run, or all runs of a trace."""

    name: str
    runs: list[str]
    scopes: list[Scope]
    findings: list[Findings]
    survey: Survey

    def of(self, *kinds: What) -> list[Findings]:
        """Return the findings of these kinds."""
        return [item for item in self.findings if item.what in kinds]

    def examples(self, which: Property) -> list[Finding]:
        """Return the smallest findings against a property, or none if all are excused."""
        found = [item for item in self.findings if PROPERTY_OF[item.what] is which]
        if all(item.what is What.IN_DOUBT for item in found):
            return []
        examples = [example for item in found for example in item.examples]
        return sorted(examples, key=self._order)[:EXAMPLES_MAX]

    def _order(self, finding: Finding) -> tuple[str, int, tuple[str, int, str, int]]:
        scope = self.survey.scopes[finding.scope]
        _, group, view = scope.key
        message = (group, view, scope.names[finding.sender], finding.number)
        return scope.names[finding.process], finding.position, message


def cases_by_run(survey: Survey, findings: Iterable[Findings]) -> list[Case]:
    """Return one case per run."""
    scopes: dict[str, list[Scope]] = {run: [] for run in survey.records}
    for scope in survey.scopes:
        scopes[scope.key[0]].append(scope)
    of_run: dict[str, list[Findings]] = {run: [] for run in survey.records}
    for item in findings:
        of_run[survey.scopes[item.scope].key[0]].append(item)
    return [Case(run, [run], scopes[run], of_run[run], survey) for run in sorted(scopes)]


def case_of_all(name: str, survey: Survey, findings: Sequence[Findings]) -> Case:
    """Return all that there is as one case."""
    return Case(name, sorted(survey.records), survey.scopes, list(findings), survey)


def conclude(
    case: Case,
    explained: Explained,
    outcomes: dict[str, Outcome],
    explain_decision: ExplainDecision,
    engine: str,
    terms: Terms,
) -> Verdict:
    """Return the verdict on what is asked, given by this engine."""
    parts = [part for scope in case.scopes for part in scope.parts.values()]
    records = [record for run in case.runs for record in case.survey.records[run].values()]
    delivery_count = sum(part.delivery_count for part in parts)
    surplus = sum(item.count for item in case.of(What.MULTICAST_AGAIN))
    judge = _judged(case, explained) if delivery_count else _nothing_to_judge
    verdicts = [
        _commit(case, outcomes, explain_decision) if which is Property.COMMIT else judge(which)
        for which in terms.asked
    ]
    return Verdict(
        run=case.name,
        engine=engine,
        process_count=len(records),
        event_count=sum(record.row_count for record in records),
        message_count=sum(part.multicast_count for part in parts) - surplus,
        delivery_count=delivery_count,
        properties=tuple(verdicts),
        terms=terms,
    )


def _commit(
    case: Case, outcomes: dict[str, Outcome], explain_decision: ExplainDecision
) -> PropertyVerdict:
    found = [outcomes[run] for run in case.runs if run in outcomes]
    if not found:
        return unknown(Property.COMMIT, words.NO_DECISION)
    examples = [example for item in found for example in item.examples]
    examples.sort(key=lambda item: (item.decision.process, item.decision.position, item.run))
    violations = map(explain_decision, examples[:EXAMPLES_MAX])
    return concluded(Property.COMMIT, sum(item.count for item in found), violations)


def _judged(case: Case, explained: Explained) -> Callable[[Property], PropertyVerdict]:
    across = _in_several_groups(case)
    causes = words.together(_left_out_of_orders(case), _in_fifo_order(case))
    reasons = {
        Property.FIFO: _left_out_of_orders(case),
        Property.CAUSAL: causes,
        Property.AGREEMENT: _members_not_held(case),
        Property.SENDING_VIEW: _without_views(case),
        Property.VIEW_ATOMIC: _no_view_left(case),
        Property.NO_ORPHAN: causes,
        Property.SELF_DELIVERY: _senders_not_held(case),
        Property.LIVENESS: _members_not_held(case),
        Property.TOTAL: _held_to_uniform(case),
        Property.TOTAL_CAUSAL: _left_out_of_orders(case),
        Property.UNIFORM: _not_held_to_uniform(case),
    }
    not_applicable = _not_applicable(case)

    def judge(which: Property) -> PropertyVerdict:
        found = [item for item in case.findings if PROPERTY_OF[item.what] is which]
        if which in not_applicable:
            return unknown(which, not_applicable[which])
        if found and all(item.what is What.IN_DOUBT for item in found):
            return unknown(which, _in_doubt(case))
        return concluded(
            which,
            sum(item.count for item in found),
            [explained[finding] for finding in case.examples(which)],
            reasons.get(which, ""),
            across if which in _ABOUT_CAUSES else "",
        )

    return judge


def _not_applicable(case: Case) -> dict[Property, str]:
    """Return what the trace has nothing to say about, and why."""
    has_views = any(key[0] in case.runs for key in case.survey.views.rows)
    reasons = {} if has_views else dict.fromkeys(_ABOUT_VIEWS, words.NO_VIEW)
    if not any(scope.asks_total for scope in case.scopes):
        reasons |= dict.fromkeys((Property.TOTAL, Property.TOTAL_CAUSAL), words.NO_TOTAL)
    if not any(scope.asks_uniform for scope in case.scopes):
        reasons[Property.UNIFORM] = words.NO_UNIFORM
    return reasons


def _nothing_to_judge(which: Property) -> PropertyVerdict:
    return unknown(which, words.NO_DELIVERY)


def _in_doubt(case: Case) -> str:
    doubts = case.of(What.IN_DOUBT)
    senders = [
        case.survey.scopes[item.scope].names[rank] for item in doubts for rank in item.senders
    ]
    return words.in_doubt(sum(item.count for item in doubts), senders)


def _left_out_of_orders(case: Case) -> str:
    count = sum(item.count for item in case.of(What.NOT_MULTICAST, What.IN_DOUBT))
    return words.without_multicast(count)


def _in_fifo_order(case: Case) -> str:
    has_fifo = any(part.fifo_count for scope in case.scopes for part in scope.parts.values())
    return words.IN_FIFO_ORDER if has_fifo else ""


def _in_several_groups(case: Case) -> str:
    groups: dict[tuple[str, str], set[str]] = {}
    for scope in case.scopes:
        run, group, _ = scope.key
        for name, part in scope.parts.items():
            if part.row_count or part.is_installed:
                groups.setdefault((run, name), set()).add(group)
    return words.in_several_groups(name for (_, name), names in groups.items() if len(names) > 1)


def _members_not_held(case: Case) -> str:
    return words.not_held(
        name for scope in case.scopes for name in scope.members() if not scope.parts[name].is_held
    )


def _senders_not_held(case: Case) -> str:
    return words.not_held(
        name
        for scope in case.scopes
        for name, part in scope.parts.items()
        if part.multicast_count and not part.is_bound
    )


def _held_to_uniform(case: Case) -> str:
    return words.held_to_uniform(
        name
        for scope in case.scopes
        if (True, False) in scope.asks
        for name, part in scope.parts.items()
        if part.delivery_count and not part.is_bound
    )


def _not_held_to_uniform(case: Case) -> str:
    return words.not_held(
        name
        for scope in case.scopes
        if scope.asks_uniform
        for name in set(scope.members()) - set(scope.movers())
        if not scope.parts[name].is_held
    )


def _without_views(case: Case) -> str:
    views = case.survey.views.rows
    return words.without_views(
        name
        for scope in case.scopes
        for name, part in scope.parts.items()
        if part.row_count and (*scope.key[:2], name) not in views
    )


def _no_view_left(case: Case) -> str:
    is_left_by_two = any(len(scope.movers()) > 1 for scope in case.scopes)
    return "" if is_left_by_two else words.NO_VIEW_LEFT

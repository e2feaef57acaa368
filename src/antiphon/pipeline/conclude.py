"""From findings to a verdict: statuses, reasons, counts, and which examples to explain.

Law: a property is violated iff there is a finding against it that nothing excuses; what a
verdict leaves out is said in its reason; what nothing puts to the test is not known to hold.
Definitions in docs/properties.md; words in ``antiphon.trace.words``.
"""

from collections.abc import Callable

from antiphon.pipeline.case import Case
from antiphon.pipeline.checks.commit import Outcome, WrongDecision
from antiphon.pipeline.checks.findings import Finding, What
from antiphon.pipeline.reasons import (
    holes_in_doubt,
    left_out,
    may_go_round,
    not_applicable,
    not_judged_across,
)
from antiphon.pipeline.untested import untested
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

Explained = dict[Finding, Violation]
ExplainDecision = Callable[[WrongDecision], Violation]


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
    is_tested = any(item.is_tested for item in found)
    return concluded(
        Property.COMMIT,
        sum(item.count for item in found),
        violations,
        untested="" if is_tested else words.NO_SECOND_BALLOT,
    )


def _judged(case: Case, explained: Explained) -> Callable[[Property], PropertyVerdict]:
    across, around = not_judged_across(case), may_go_round(case)
    of_causes = {
        Property.CAUSAL: across,
        Property.NO_ORPHAN: words.together(holes_in_doubt(case), across),
        Property.TOTAL_CAUSAL: across,
    }
    reasons = left_out(case)
    not_tested = untested(case)
    beside_the_point = not_applicable(case)

    def judge(which: Property) -> PropertyVerdict:
        if which in beside_the_point:
            return unknown(which, beside_the_point[which])
        found = case.against(which)
        if which is Property.NO_CREATION and reasons[which] and not found:
            return unknown(which, reasons[which])
        return concluded(
            which,
            sum(item.count for item in found),
            [explained[finding] for finding in case.examples(which)],
            reasons.get(which, ""),
            of_causes.get(which, ""),
            not_tested.get(which, ""),
            around if which in of_causes else "",
        )

    return judge


def _nothing_to_judge(which: Property) -> PropertyVerdict:
    return unknown(which, words.NO_DELIVERY)

"""From findings to a verdict: statuses, reasons, counts, and which examples to explain.

Law: a property is violated iff there is a finding against it that nothing excuses; what a
verdict leaves out is said in its reason; without any delivery there is nothing to judge.
Definitions in docs/properties.md; the oracle says the same in the same words.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from antiphon.pipeline.findings import EXAMPLES_MAX, PROPERTY_OF, Finding, Findings, What
from antiphon.pipeline.scopes import Scope, Survey
from antiphon.trace.verdict import Property, PropertyVerdict, Status, Verdict, Violation

NAMES_MAX = 10
ENGINE = "spark"

Explained = dict[Finding, Violation]


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


def conclude(case: Case, explained: Explained) -> Verdict:
    """Return the verdict."""
    parts = [part for scope in case.scopes for part in scope.parts.values()]
    records = [record for run in case.runs for record in case.survey.records[run].values()]
    delivery_count = sum(part.delivery_count for part in parts)
    surplus = sum(item.count for item in case.of(What.MULTICAST_AGAIN))
    judge = _judged(case, explained) if delivery_count else _nothing_to_judge
    return Verdict(
        run=case.name,
        engine=ENGINE,
        process_count=len(records),
        event_count=sum(record.row_count for record in records),
        message_count=sum(part.multicast_count for part in parts) - surplus,
        delivery_count=delivery_count,
        properties=tuple(judge(which) for which in Property),
    )


def _judged(case: Case, explained: Explained) -> Callable[[Property], PropertyVerdict]:
    reasons = {
        Property.FIFO: _left_out_of_orders(case),
        Property.CAUSAL: _together(_left_out_of_orders(case), _in_fifo_order(case)),
        Property.AGREEMENT: _left_out_of_agreement(case),
    }

    def judge(which: Property) -> PropertyVerdict:
        found = [item for item in case.findings if PROPERTY_OF[item.what] is which]
        if found and all(item.what is What.IN_DOUBT for item in found):
            return PropertyVerdict(which, Status.UNKNOWN, reason=_in_doubt(case))
        return PropertyVerdict(
            property=which,
            status=Status.VIOLATED if found else Status.HOLDS,
            violation_count=sum(item.count for item in found),
            reason=reasons.get(which, ""),
            violations=tuple(explained[finding] for finding in case.examples(which)),
        )

    return judge


def _nothing_to_judge(which: Property) -> PropertyVerdict:
    reason = "the trace has no delivery, so there is nothing to judge"
    return PropertyVerdict(which, Status.UNKNOWN, reason=reason)


def _in_doubt(case: Case) -> str:
    doubts = case.of(What.IN_DOUBT)
    senders = {
        case.survey.scopes[item.scope].names[rank] for item in doubts for rank in item.senders
    }
    count = sum(item.count for item in doubts)
    return (
        f"{_counted(count, 'delivery is', 'deliveries are')} of messages whose multicast may be "
        f"in the part of a record that is missing: {_listed(senders)}"
    )


def _left_out_of_orders(case: Case) -> str:
    count = sum(item.count for item in case.of(What.NOT_MULTICAST, What.IN_DOUBT))
    left_out = _counted(count, "delivery of a message", "deliveries of messages")
    return f"{left_out} without a recorded multicast left out" if count else ""


def _in_fifo_order(case: Case) -> str:
    has_fifo = any(part.fifo_count for scope in case.scopes for part in scope.parts.values())
    return "messages in fifo order are not held to it" if has_fifo else ""


def _together(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _left_out_of_agreement(case: Case) -> str:
    excused = {
        name for scope in case.scopes for name in scope.members() if not scope.parts[name].is_whole
    }
    if not excused:
        return ""
    return (
        f"{_counted(len(excused), 'process is', 'processes are')} not held to it, as the record "
        f"ends early or is missing: {_listed(excused)}"
    )


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _listed(names: set[str]) -> str:
    shown = sorted(names)[:NAMES_MAX]
    return ", ".join(shown) + (", ..." if len(names) > len(shown) else "")

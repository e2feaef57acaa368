"""What is judged as one: the scopes of a run, or of several, with what was found in them.

Law: nothing is decided here; a finding belongs to the case that its scope is in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from antiphon.pipeline.checks.findings import NOT_COUNTED, PROPERTY_OF, Finding, Findings, What
from antiphon.pipeline.survey.domains import SurveyedDomains
from antiphon.pipeline.survey.scopes import Scope, Survey
from antiphon.trace.verdict import EXAMPLES_MAX, Property


@dataclass(frozen=True, slots=True)
class Case:
    """What is to be judged as one: a run, or all runs of a trace."""

    name: str
    runs: list[str]
    scopes: list[Scope]
    findings: list[Findings]
    survey: Survey
    domains: SurveyedDomains

    def of(self, *kinds: What) -> list[Findings]:
        """Return the findings of these kinds."""
        return [item for item in self.findings if item.what in kinds]

    def against(self, which: Property) -> list[Findings]:
        """Return the findings against a property, without those in doubt."""
        return [
            item
            for item in self.findings
            if PROPERTY_OF[item.what] is which and item.what not in NOT_COUNTED
        ]

    def examples(self, which: Property) -> list[Finding]:
        """Return the smallest findings against a property."""
        examples = [example for item in self.against(which) for example in item.examples]
        return sorted(examples, key=self._order)[:EXAMPLES_MAX]

    def _order(self, finding: Finding) -> tuple[str, int, tuple[str, int, str, int]]:
        scope = self.survey.scopes[finding.scope]
        _, group, view = scope.key
        message = (group, view, scope.names[finding.sender], finding.number)
        return scope.names[finding.process], finding.position, message


def cases_by_run(
    survey: Survey, domains: SurveyedDomains, findings: Iterable[Findings]
) -> list[Case]:
    """Return one case per run."""
    scopes: dict[str, list[Scope]] = {run: [] for run in survey.records}
    for scope in survey.scopes:
        scopes[scope.key[0]].append(scope)
    of_run: dict[str, list[Findings]] = {run: [] for run in survey.records}
    for item in findings:
        of_run[survey.scopes[item.scope].key[0]].append(item)
    return [Case(run, [run], scopes[run], of_run[run], survey, domains) for run in sorted(scopes)]


def case_of_all(
    name: str, survey: Survey, domains: SurveyedDomains, findings: Sequence[Findings]
) -> Case:
    """Return all that there is as one case."""
    return Case(name, sorted(survey.records), survey.scopes, list(findings), survey, domains)

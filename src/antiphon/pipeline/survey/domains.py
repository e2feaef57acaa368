"""Which groups are judged together, as far as causality goes: the components of domains.

Law: groups of one causality domain that are linked by processes with rows of several of them are a
component, all their views included; nothing passes from one component to another. A group that is
linked with no other is none, nor are groups of which some message says whom it is `to`, or of which
a view has two names of one process: they are noted, and not judged together. Processes of a
component are numbered by the name of their record, whatever they are called in a group. What a
task has to know of a view to judge a part of a component travels with it as a ``Seating``. All of
it follows from the reports, on the driver. Definitions in docs/properties.md.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from antiphon.pipeline.ingest.reading import Report
from antiphon.pipeline.survey.scopes import Scope, Survey
from antiphon.trace.domains import DomainKey, GroupKey, domain_of, named_domains
from antiphon.trace.verdict import Terms


class Seating(NamedTuple):
    """What must be known of a view to judge it as a part of a component."""

    component: int
    places: tuple[int, ...]
    """By rank: the process's number in the component."""
    owing: tuple[int, ...]
    """Ranks that have to deliver what is multicast here, if they deliver what comes after it."""
    is_doubtful: bool
    """Whether so many members failed that something may be lost for good."""
    is_implied: tuple[bool, ...]
    """By rank: whether its multicasts count as its own deliveries."""


@dataclass(frozen=True, slots=True)
class Component:
    """Groups that are judged as one."""

    number: int
    scopes: list[Scope]
    names: list[str]
    """Of the processes, by number."""
    failed: list[str]
    """Who failed in views in which something may be lost for good."""


class SurveyedDomains:
    """The domains of a trace."""

    def __init__(self, reports: Iterable[Report], survey: Survey, terms: Terms) -> None:
        """Take what rows and terms say."""
        named = named_domains(naming for report in reports for naming in report.namings())
        self._of_groups: dict[GroupKey, DomainKey | None] = {
            scope.key[:2]: domain_of(scope.key[:2], named, terms) for scope in survey.scopes
        }
        self._persons = _persons(reports)
        self._groups = self._groups_of_processes(survey.scopes)
        self._survey = survey
        linked = self._linked()
        addressed = {scope.key[:2] for scope in survey.scopes if scope.aims()}
        self._addressed = {groups[0][0] for groups in linked if not addressed.isdisjoint(groups)}
        self._two_names: dict[str, list[str]] = {}
        judged = [
            groups
            for groups in linked
            if addressed.isdisjoint(groups) and not self._has_two_names(groups)
        ]
        self.components = self._components(judged)
        self.seatings: dict[int, Seating] = {}
        for component in self.components:
            numbers = {name: place for place, name in enumerate(component.names)}
            for scope in component.scopes:
                places = {name: numbers[self.person(scope, name)] for name in scope.names}
                self.seatings[scope.number] = self._seating(component.number, scope, places)
        self._unknown: dict[str, list[str]] = {}
        for (run, name), groups in self._groups.items():
            if len(groups) > 1 and any(self._of_groups[group] is None for group in groups):
                self._unknown.setdefault(run, []).append(name)

    def unknown(self, runs: Iterable[str]) -> list[str]:
        """Return who is in several groups of which not all are known to be of some domain."""
        return [name for run in runs for name in self._unknown.get(run, ())]

    def two_names(self, runs: Iterable[str]) -> list[str]:
        """Return who has two names in one view of groups that might be judged together."""
        return [name for run in runs for name in self._two_names.get(run, ())]

    def is_addressed(self, runs: Iterable[str]) -> bool:
        """Whether groups are not judged together, for a message there says whom it is `to`."""
        return not self._addressed.isdisjoint(runs)

    def failed(self, scopes: Iterable[int]) -> list[str]:
        """Return who failed in the components that these views are of."""
        numbers = {self.seatings[scope].component for scope in scopes}
        return [name for number in numbers for name in self.components[number].failed]

    def person(self, scope: Scope, name: str) -> str:
        """Return how a process is called in all groups."""
        return self._persons.get((scope.key[0], name), name)

    def _has_two_names(self, groups: list[GroupKey]) -> bool:
        """Note who has two names in one view; return whether anybody has."""
        found: list[str] = []
        for scope in self._survey.scopes:
            if scope.key[:2] in groups:
                persons = Counter(self.person(scope, name) for name in scope.names)
                found += [person for person, count in persons.items() if count > 1]
        self._two_names.setdefault(groups[0][0], []).extend(found)
        return bool(found)

    def _groups_of_processes(
        self, scopes: Iterable[Scope]
    ) -> dict[tuple[str, str], list[GroupKey]]:
        """Return, by run and process, the groups that it has rows of, under whatever name."""
        found: dict[tuple[str, str], dict[GroupKey, None]] = {}
        for scope in scopes:
            run, group, _ = scope.key
            for name, part in scope.parts.items():
                if part.row_count or part.is_installed:
                    found.setdefault((run, self.person(scope, name)), {})[run, group] = None
        return {key: list(groups) for key, groups in found.items()}

    def _linked(self) -> list[list[GroupKey]]:
        """Return the groups of each domain that processes link, two or more."""
        parents = {group: group for group in self._of_groups}
        for groups in self._groups.values():
            firsts: dict[DomainKey, GroupKey] = {}
            for group in groups:
                domain = self._of_groups[group]
                if domain is not None:
                    first = firsts.setdefault(domain, group)
                    parents[_root(parents, group)] = _root(parents, first)
        together: dict[GroupKey, list[GroupKey]] = {}
        for group in sorted(parents):
            together.setdefault(_root(parents, group), []).append(group)
        return [groups for groups in together.values() if len(groups) > 1]

    def _components(self, linked: list[list[GroupKey]]) -> list[Component]:
        numbers = {group: number for number, groups in enumerate(linked) for group in groups}
        scopes: list[list[Scope]] = [[] for _ in linked]
        for scope in self._survey.scopes:
            if scope.key[:2] in numbers:
                scopes[numbers[scope.key[:2]]].append(scope)
        return [
            Component(
                number,
                of_component,
                sorted({self.person(one, name) for one in of_component for name in one.names}),
                [name for scope in of_component for name in self._failed(scope)],
            )
            for number, of_component in enumerate(scopes)
        ]

    def _failed(self, scope: Scope) -> list[str]:
        """Return who failed in a view, if these are more than it was to stand."""
        rows = self._survey.views.installed.get(scope.key, {}).values()
        resilience = min((row.resilience for row in rows), default=0)
        failed = [name for name in scope.members() if not scope.parts[name].is_bound]
        return failed if len(failed) > resilience else []

    def _seating(self, number: int, scope: Scope, places: dict[str, int]) -> Seating:
        return Seating(
            number,
            tuple(places[name] for name in scope.names),
            tuple(
                scope.ranks[name]
                for name in scope.members()
                if not scope.parts[name].has_taken_over
            ),
            bool(self._failed(scope)),
            tuple(not part.delivers_own for part in scope.parts.values()),
        )


def _persons(reports: Iterable[Report]) -> dict[tuple[str, str], str]:
    """Return, by run and name, in whose record it is, where it is in another's."""
    found: dict[tuple[str, str], str] = {}
    for part in (part for report in reports for part in report.records):
        key = (part.run, part.process)
        found[key] = min(found.get(key, part.record), part.record)
    return {key: record for key, record in found.items() if key[1] != record}


def _root(parents: dict[GroupKey, GroupKey], group: GroupKey) -> GroupKey:
    while parents[group] != group:
        parents[group] = group = parents[parents[group]]
    return group

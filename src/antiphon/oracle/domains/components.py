"""Groups of one causality domain that have processes in common, and what comes before what in them.

Law: a component is all views of such groups, two or more; nothing passes from one component to
another. What comes before a message is what its sender multicast or delivered before, in any view
of any of these groups, and all that comes before that; nothing comes before a message in fifo
order, or one that only sets the order of others. Events are taken in an order in which each comes
after those before it at its process, and a delivery after the multicast; where there is no such
order, what is left over is stuck, and nothing is known of the component; nor is it where a message
of it says whom it is `to`, or two names of one process are in one view. A process goes by the name
of its record, whatever it is called in a group. Definitions in docs/properties.md. Cost: O(messages
x events) bits, as for the event graph.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from functools import cached_property

from antiphon.oracle.event_graph import Act, History, Message, Scope
from antiphon.trace import words
from antiphon.trace.domains import (
    OF_A_GROUP,
    DomainKey,
    GroupKey,
    Naming,
    domain_of,
    named_domains,
)
from antiphon.trace.schema import SETS_ORDER, Event
from antiphon.trace.verdict import Terms

Item = tuple[str, int, Message]
"""A message of any view of any group: group, view, and the message there."""

Step = tuple[Scope, Act]

Namings = dict[tuple[str, str, str], Naming]
"""Of each run, group and domain: the first row that names it."""


def item_of(scope: Scope, message: Message) -> Item:
    """Return what names a message among those of all groups."""
    return scope.group, scope.view, message


class Component:
    """All views of groups that are one, as far as causality goes."""

    def __init__(self, history: History, scopes: list[Scope]) -> None:
        """Take the views."""
        self.scopes = scopes
        self._history = history
        self.acts: dict[str, list[Step]] = self._in_local_order(
            (scope, act) for scope in scopes for acts in scope.acts.values() for act in acts
        )
        self.deliveries: dict[str, list[Step]] = self._in_local_order(
            (scope, act)
            for scope in scopes
            for deliveries in scope.deliveries.values()
            for act in deliveries.values()
        )
        items = [item_of(scope, message) for scope in scopes for message in scope.multicasts]
        self.bits: dict[Item, int] = {item: 1 << place for place, item in enumerate(items)}
        self.order, self.stuck = self._causal_order()

    def bit(self, scope: Scope, message: Message) -> int:
        """Return a message as a set of one; the empty set if it was not multicast."""
        return self.bits.get(item_of(scope, message), 0)

    def person(self, scope: Scope, name: str) -> str:
        """Return how a process is called in all groups."""
        return self._history.persons.get((scope.run, name), name)

    @property
    def is_addressed(self) -> bool:
        """Whether some message is for some only, by its `to`."""
        return any(scope.named for scope in self.scopes)

    @cached_property
    def two_names(self) -> list[str]:
        """Return who has two names in one view."""
        found: list[str] = []
        for scope in self.scopes:
            senders = {sender for got in scope.deliveries.values() for sender, _ in got}
            installed = self._history.installed.get((scope.run, scope.group, scope.view), {})
            names = {*scope.members, *scope.viewed, *scope.acts, *installed, *senders}
            persons = Counter(self.person(scope, name) for name in names)
            found += [person for person, count in persons.items() if count > 1]
        return found

    @property
    def is_judged(self) -> bool:
        """Whether it can be said what comes before what."""
        return not (self.stuck or self.is_addressed or self.two_names)

    @cached_property
    def pasts(self) -> dict[Item, int]:
        """Return, for each message, all that comes before it."""
        pasts: dict[Item, int] = {}
        known: dict[str, int] = defaultdict(int)
        for scope, act in self.order:
            item = item_of(scope, act.message)
            if act.is_multicast:
                pasts[item] = known[self.person(scope, act.process)] if passes_on(act.event) else 0
            known[self.person(scope, act.process)] |= self.bits.get(item, 0) | pasts.get(item, 0)
        return pasts

    @cached_property
    def doubtful(self) -> list[Scope]:
        """Return the views in which more members failed than need not leave a hole."""
        return [scope for scope in self.scopes if self._failed(scope)]

    def failed_names(self) -> list[str]:
        """Return who failed in such views."""
        return [name for scope in self.doubtful for name in self._failed(scope)]

    def _failed(self, scope: Scope) -> list[str]:
        """Return who failed in a view, if these are more than it was to stand."""
        key = (scope.run, scope.group, scope.view)
        rows = self._history.installed.get(key, {}).values()
        resilience = min((row.event.resilience for row in rows), default=0)
        gone_on = self._history.successors(scope)
        failed = [
            member
            for member in scope.members
            if (scope.run, member) not in self._history.whole and member not in gone_on
        ]
        return failed if len(failed) > resilience else []

    def _in_local_order(self, steps: Iterable[Step]) -> dict[str, list[Step]]:
        """Return the steps of each process, in their order."""
        found: dict[str, list[Step]] = defaultdict(list)
        for scope, act in steps:
            found[self.person(scope, act.process)].append((scope, act))
        for of_process in found.values():
            of_process.sort(key=lambda step: step[1].position)
        return found

    def _causal_order(self) -> tuple[list[Step], list[str]]:
        """Return the events in causal order, and whose multicasts there is no place for in it."""
        remaining = {process: deque(self.acts[process]) for process in sorted(self.acts)}
        order: list[Step] = []
        ready = deque(remaining)
        waiting: dict[Item, list[str]] = {}
        passed: set[Item] = set()
        while ready:
            process = ready.popleft()
            steps = remaining[process]
            while steps:
                scope, act = steps[0]
                item = item_of(scope, act.message)
                if act.is_multicast:
                    passed.add(item)
                    ready.extend(waiting.pop(item, ()))
                elif item in self.bits and item not in passed:
                    waiting.setdefault(item, []).append(process)
                    break
                order.append(steps.popleft())
        stuck = [
            process
            for process, steps in remaining.items()
            if any(act.is_multicast for _, act in steps)
        ]
        return order, stuck


def passes_on(row: Event) -> bool:
    """Whether a multicast is held to causality across groups, and passes it on."""
    return row.order != "fifo" and row.detail != SETS_ORDER


def noting_domains(
    rows: Iterable[Event | tuple[Event, str, int]], run: str, namings: Namings
) -> Iterator[Event | tuple[Event, str, int]]:
    """Yield all rows, noting which domains they name."""
    for row in rows:
        event, file, line = (row, "", 0) if isinstance(row, Event) else row
        if event.domain and event.kind in OF_A_GROUP:
            key = (event.run or run, event.group, event.domain)
            if key not in namings:
                namings[key] = Naming(*key, file, line)
        yield row


def persons_of(history: History) -> dict[tuple[str, str], str]:
    """Return, by run and name, in whose record it is: names of one process are in one record."""
    return {
        key: min(entry.event.record for entry in record) for key, record in history.records.items()
    }


def domains_of(
    history: History, namings: Namings, terms: Terms
) -> dict[GroupKey, DomainKey | None]:
    """Return the domain of each group; complain if rows do not agree."""
    named = named_domains(namings.values())
    groups = dict.fromkeys((scope.run, scope.group) for scope in history.scopes)
    return {group: domain_of(group, named, terms) for group in groups}


def components_of(history: History) -> list[Component]:
    """Return all components."""
    found: dict[GroupKey, set[GroupKey]] = {key: {key} for key in history.domains}
    for groups in _groups_by_process(history).values():
        by_domain: dict[DomainKey, list[GroupKey]] = {}
        for group in groups:
            domain = history.domains[group]
            if domain is not None:
                by_domain.setdefault(domain, []).append(group)
        for first, *others in by_domain.values():
            for other in others:
                joined = found[first] | found[other]
                found.update(dict.fromkeys(joined, joined))
    several = {min(groups): groups for groups in found.values() if len(groups) > 1}
    return [
        Component(history, [one for one in history.scopes if (one.run, one.group) in several[key]])
        for key in sorted(several)
    ]


def not_judged(history: History, components: Iterable[Component]) -> str:
    """Say where causality may have crossed groups, and nobody can tell."""
    in_unknown_domains = words.in_several_groups(
        process
        for (_, process), groups in _groups_by_process(history).items()
        if len(groups) > 1 and any(history.domains[group] is None for group in groups)
    )
    components = list(components)
    is_addressed = any(component.is_addressed for component in components)
    addressed = words.ADDRESSED_ACROSS if is_addressed else ""
    others = [component for component in components if not component.is_addressed]
    two_names = words.under_two_names(name for one in others for name in one.two_names)
    stuck = words.in_circles(name for one in others if not one.two_names for name in one.stuck)
    return words.together(in_unknown_domains, addressed, two_names, stuck)


def _groups_by_process(history: History) -> dict[tuple[str, str], list[GroupKey]]:
    """Return, for each process, the groups that it has rows of, under whatever name."""
    found: dict[tuple[str, str], set[GroupKey]] = defaultdict(set)
    for (run, name), record in history.records.items():
        found[run, history.persons[run, name]].update(
            (run, entry.event.group) for entry in record if entry.event.kind in OF_A_GROUP
        )
    return {process: sorted(groups) for process, groups in found.items()}

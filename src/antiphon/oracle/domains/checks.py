"""What was delivered too early, or without what comes before it, across the groups of a domain.

Law: a delivery of m' at p breaks causal order if p delivers later something that comes before m'
(``components``), and leaves m' an orphan if p, a member of the view of something that comes before
m', never delivers that. What may be lost for good, as too many members of its view failed, is in
doubt. What breaks a rule within its own view has been found there, and is not counted again. Asked
is what is on record: a multicast that counts as the sender's own delivery shows nothing here.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from antiphon.oracle.domains.chains import explain_across
from antiphon.oracle.domains.components import Component, item_of, passes_on
from antiphon.oracle.event_graph import Act, History, Scope
from antiphon.oracle.findings import Finding
from antiphon.trace import words
from antiphon.trace.verdict import Property

Delivery = tuple[str, str, int, str, tuple[str, int]]
"""Run, group, view, process and message."""

_Broken = tuple[Scope, Act, int]
"""A delivery, and what was missing."""


def delivery_of(scope: Scope, act: Act) -> Delivery:
    """Return what names a delivery."""
    return scope.run, scope.group, scope.view, act.process, act.message


def late_across(components: Iterable[Component], within: Collection[Delivery]) -> list[Finding]:
    """Find deliveries that came before something that precedes them."""
    return _findings(Property.CAUSAL, components, _too_early, within)


def late_in_total_order(
    history: History, components: Iterable[Component], within: Collection[Delivery]
) -> list[Finding]:
    """Find the same among messages in total order."""

    def too_early(component: Component) -> Iterator[_Broken]:
        total = sum(
            component.bit(scope, message)
            for scope in component.scopes
            if not history.has_takeover(scope)
            for message in scope.multicasts
            if scope.is_total(message)
        )
        for scope, act, missing in _too_early(component):
            if component.bit(scope, act.message) & total and missing & total:
                yield scope, act, missing & total

    return _findings(Property.TOTAL_CAUSAL, components, too_early, within)


def orphans_across(
    history: History, components: Iterable[Component], within: Collection[Delivery]
) -> list[Finding]:
    """Find deliveries at processes that never deliver something that precedes them."""
    orphans = partial(_without, history, is_doubtful=False)
    return _findings(Property.NO_ORPHAN, components, orphans, within)


def holes_in_doubt(
    history: History, components: Iterable[Component], within: Collection[Delivery]
) -> str:
    """Say how many deliveries are without something that may be lost for good."""
    count, failed = 0, list[str]()
    for component in components:
        sure = {
            delivery_of(*found[:2]) for found in _without(history, component, is_doubtful=False)
        }
        doubtful = [
            found
            for found in _without(history, component, is_doubtful=True)
            if delivery_of(*found[:2]) not in sure.union(within)
        ]
        count += len(doubtful)
        failed += component.failed_names() if doubtful else []
    return words.holes_in_doubt(count, failed) if count else ""


def _findings(
    which: Property,
    components: Iterable[Component],
    broken: Callable[[Component], Iterator[_Broken]],
    within: Collection[Delivery],
) -> list[Finding]:
    return [
        (
            (act.process, act.position),
            partial(explain_across, which, component, scope, act, missing),
        )
        for component in components
        for scope, act, missing in broken(component)
        if delivery_of(scope, act) not in within
    ]


def _too_early(component: Component) -> Iterator[_Broken]:
    """Yield deliveries with something before them that the process delivers later."""
    for process, past_of in _pasts_at(component):
        delivers = _delivered(component, process)
        delivered = 0
        for scope, act in component.deliveries[process]:
            missing = past_of(scope, act) & delivers & ~delivered
            if missing:
                yield scope, act, missing
            delivered |= component.bit(scope, act.message)


def _without(history: History, component: Component, *, is_doubtful: bool) -> Iterator[_Broken]:
    """Yield deliveries with something before them that the process owes, and never delivers."""
    for process, past_of in _pasts_at(component):
        lost = _lost(history, component, process, is_doubtful=is_doubtful)
        for scope, act in component.deliveries[process]:
            missing = past_of(scope, act) & lost
            if missing:
                yield scope, act, missing


def _pasts_at(component: Component) -> Iterator[tuple[str, Callable[[Scope, Act], int]]]:
    """Yield the processes, and what comes before a delivery; nothing if that is not known."""

    def past_of(scope: Scope, act: Act) -> int:
        multicast = scope.multicasts.get(act.message)
        is_recorded = act.event.kind == "deliver"  # or else it is a multicast that counts as one
        if multicast is None or not is_recorded or not passes_on(multicast.event):
            return 0
        return component.pasts[item_of(scope, act.message)]

    if component.is_judged:
        for process in sorted(component.deliveries):
            yield process, past_of


def _delivered(component: Component, process: str) -> int:
    """Return all that a process delivers at any time."""
    delivers = 0
    for scope, act in component.deliveries[process]:
        delivers |= component.bit(scope, act.message)
    return delivers


def _lost(history: History, component: Component, process: str, *, is_doubtful: bool) -> int:
    """Return what a process owes, as a member of the view, and never delivers."""
    lost = 0
    for scope in component.scopes:
        names = [name for name in scope.members if component.person(scope, name) == process]
        if (scope in component.doubtful) is not is_doubtful or not names:
            continue
        name = names[0]
        if history.is_elsewhere(scope, name):
            continue
        delivered = scope.deliveries.get(name, {})
        for message in scope.multicasts:
            if message not in delivered and not history.is_excused(scope, name, message):
                lost |= component.bit(scope, message)
    return lost

"""Which events link two messages of different groups: the shortest way from one to the other.

Law: from the multicast of the message that was delivered wrongly, backwards. Its sender is
reached, up to that multicast; then, step by step, whoever multicast something that one who is
reached delivered in time, up to the last such multicast. As soon as one who is reached multicast or
delivered a missing message in time, that is the one to be named: of several processes at the
first by name, of several messages its last. Of several ways to reach a process equally far, the
one through the first by name is told.
"""

from collections.abc import Iterable
from typing import NamedTuple, Optional

from antiphon.oracle.domains.components import Component, Step, passes_on
from antiphon.oracle.event_graph import Act, Entry, Scope
from antiphon.oracle.explain import event_of, written
from antiphon.trace import explanations
from antiphon.trace.explanations import MessageEvent
from antiphon.trace.verdict import Property, Violation


class _Reached(NamedTuple):
    """A process, up to one of its multicasts."""

    multicast: Step
    heard: Step | None
    """The delivery of that message at the process through which it was reached."""
    through: Optional["_Reached"]

    @property
    def position(self) -> tuple[int, int]:
        return self.multicast[1].position


def explain_across(
    which: Property, component: Component, scope: Scope, wrong: Act, missing: int
) -> Violation:
    """Explain a delivery that came before, or without, one of the messages ``missing``."""
    where, known, reached = _nearest(component, scope, wrong, missing)
    earlier = where.multicasts[known.message]
    is_own = known.is_multicast or (
        known.process == earlier.process and earlier.position < known.position
    )
    heard: MessageEvent[Entry] | None = None if is_own else event_of(where, known)
    links: list[tuple[MessageEvent[Entry] | None, MessageEvent[Entry]]] = []
    link: _Reached | None = reached
    while link is not None:
        links.append((heard, event_of(*link.multicast)))
        heard = None if link.heard is None else event_of(*link.heard)
        link = link.through
    explanation = explanations.explain_across(
        which,
        event_of(scope, wrong),
        event_of(where, earlier),
        links,
        is_never=not any(
            known.message in delivered
            for name, delivered in where.deliveries.items()
            if component.person(where, name) == component.person(scope, wrong.process)
        ),
    )
    return written(scope, explanation)


def _nearest(
    component: Component, scope: Scope, wrong: Act, missing: int
) -> tuple[Scope, Act, _Reached]:
    """Return the missing message that is named: who knew it, how, and how that one is reached."""
    multicast = scope.multicasts[wrong.message]
    sender = component.person(scope, multicast.process)
    reached = {sender: _Reached((scope, multicast), None, None)}
    frontier = reached
    while frontier:
        for process in sorted(frontier):
            for where, act in reversed(_acts_before(component, frontier[process])):
                if component.bit(where, act.message) & missing:
                    return where, act, frontier[process]
        frontier = _further(component, reached, frontier)
        reached = reached | frontier
    message = "what comes before a message is reached from it"
    raise AssertionError(message)


def _further(
    component: Component, reached: dict[str, _Reached], frontier: dict[str, _Reached]
) -> dict[str, _Reached]:
    """Return who is reached through those in the frontier, further than before."""
    found: dict[str, _Reached] = {}
    for process in sorted(frontier):
        for where, act in _acts_before(component, frontier[process]):
            multicast = where.multicasts.get(act.message)
            if multicast is None or act.is_multicast or not passes_on(multicast.event):
                continue
            sender = component.person(where, multicast.process)
            best = found.get(sender) or reached.get(sender)
            if best is None or multicast.position > best.position:
                found[sender] = _Reached((where, multicast), (where, act), frontier[process])
    return found


def _acts_before(component: Component, reached: _Reached) -> list[Step]:
    scope, multicast = reached.multicast
    acts: Iterable[Step] = component.acts[component.person(scope, multicast.process)]
    return [step for step in acts if step[1].position < reached.position]

"""What the oracle asks of messages in total order, and of uniform ones.

Law: the definitions of docs/properties.md. ``total``: two processes that deliver the same two
messages deliver them in the same order (ISIS 5.2); those that died are held to it where both are
uniform. ``total-causal``: that order respects causality. ``uniform``: D4 of Schiper and Sandoz
(Uniform 2.2), what anybody delivered, dead or alive, nobody who went on did without. Neither is
asked of a view that somebody left by taking over, alone, for a new lineage. Judged by
comparing the deliveries of each two processes. Cost: O(processes^2 x messages) if all is well.
"""

from collections.abc import Iterator
from functools import partial

from antiphon.oracle.domains.checks import delivery_of, late_in_total_order
from antiphon.oracle.domains.components import Component, not_judged
from antiphon.oracle.event_graph import (
    Act,
    History,
    Message,
    Scope,
    direct_predecessors,
    out_of_order,
)
from antiphon.oracle.explain import explain_not_uniform, explain_order, explain_two_orders
from antiphon.oracle.findings import Finding, concluded
from antiphon.oracle.untested import (
    is_bound,
    is_missing,
    left_out_of_orders,
    left_to_others,
    may_go_round,
    orders_untested,
    total_untested,
    uniform_untested,
)
from antiphon.oracle.view_checks import movers_of
from antiphon.trace import words
from antiphon.trace.verdict import Property, PropertyVerdict, unknown

_Sequence = dict[Message, Act]
"""What a process is held to have delivered in total order, in its own order."""


def judge_total(history: History) -> PropertyVerdict:
    """Judge whether all delivered what is in total order in the same order."""
    scopes = [scope for scope in history.scopes if _asks_total(history, scope)]
    if not scopes:
        return unknown(Property.TOTAL, words.NO_TOTAL)
    findings: list[Finding] = []
    for scope in scopes:
        sequences = _sequences(history, scope)
        for process, wrong, (other, earlier) in _disagreements(sequences):
            here, there = sequences[process], sequences[other]
            explain = partial(
                explain_two_orders,
                scope,
                (here[wrong], here[earlier]),
                (there[earlier], there[wrong]),
            )
            findings.append(((process, here[wrong].position), explain))
    untested = total_untested(history, scopes)
    return concluded(Property.TOTAL, findings, _held_to_uniform(history), untested=untested)


def _asks_total(history: History, scope: Scope) -> bool:
    return any(is_total for is_total, _ in scope.asks) and not history.has_takeover(scope)


def _asks_uniform(history: History, scope: Scope) -> bool:
    return any(is_uniform for _, is_uniform in scope.asks) and not history.has_takeover(scope)


def _sequences(history: History, scope: Scope) -> dict[str, _Sequence]:
    """Return what each process delivered in total order, by name in order."""
    messages = dict.fromkeys(
        message for deliveries in scope.deliveries.values() for message in deliveries
    )
    in_order = {message: None for message in messages if scope.is_total(message)}
    uniform = {message: None for message in in_order if scope.is_uniform(message)}
    found: dict[str, _Sequence] = {}
    for process in sorted(scope.deliveries):
        held = in_order if is_bound(history, scope, process) else uniform
        found[process] = {
            message: act for message, act in scope.deliveries[process].items() if message in held
        }
    return found


def _disagreements(
    sequences: dict[str, _Sequence],
) -> Iterator[tuple[str, Message, tuple[str, Message]]]:
    """Yield each message that a process delivered too early, as somebody before it by name shows.

    With it, that other process, and what it had delivered before the message.
    """
    names = list(sequences)
    for place, process in enumerate(names):
        found: dict[Message, tuple[str, Message]] = {}
        for other in names[:place]:
            for wrong, earlier in _reversed(sequences[other], sequences[process]):
                found.setdefault(wrong, (other, earlier))
        for wrong, why in found.items():
            yield process, wrong, why


def _reversed(one: _Sequence, two: _Sequence) -> Iterator[tuple[Message, Message]]:
    """Yield what comes before something in ``two`` that it follows in ``one``: the last such."""
    expected = [message for message in one if message in two]
    found = [message for message in two if message in one]
    if expected == found:
        return
    places = {message: place for place, message in enumerate(expected)}
    delivered = 0
    for message in found:
        missing = ((1 << places[message]) - 1) & ~delivered
        if missing:
            yield message, expected[missing.bit_length() - 1]
        delivered |= 1 << places[message]


def _held_to_uniform(history: History) -> str:
    return words.held_to_uniform(
        process
        for scope in history.scopes
        if (True, False) in scope.asks and not history.has_takeover(scope)
        for process, deliveries in scope.deliveries.items()
        if any(act.event.kind == "deliver" for act in deliveries.values())
        and not is_bound(history, scope, process)
    )


def judge_total_causal(history: History, components: list[Component]) -> PropertyVerdict:
    """Judge whether the total order respects causality."""
    scopes = [scope for scope in history.scopes if _asks_total(history, scope)]
    if not scopes:
        return unknown(Property.TOTAL_CAUSAL, words.NO_TOTAL)
    broken = [
        (scope, act, missing)
        for scope in scopes
        for act, missing in out_of_order(history, scope, _predecessors_in_total_order(scope))
    ]
    findings: list[Finding] = [
        (
            (act.process, act.position),
            partial(explain_order, Property.TOTAL_CAUSAL, scope, act, missing),
        )
        for scope, act, missing in broken
    ]
    within = {delivery_of(scope, act) for scope, act, _ in broken}
    findings += late_in_total_order(history, components, within)
    across = not_judged(history, components)
    left_out, untested = left_out_of_orders(history), orders_untested(scopes)
    around = may_go_round(history)
    return concluded(Property.TOTAL_CAUSAL, findings, left_out, across, untested, around)


def _predecessors_in_total_order(scope: Scope) -> dict[Message, int]:
    in_total_order = sum(bit for message, bit in scope.bits.items() if scope.is_total(message))
    return {
        message: mask & in_total_order if scope.is_total(message) else 0
        for message, mask in direct_predecessors(scope).items()
    }


def judge_uniform(history: History) -> PropertyVerdict:
    """Judge whether all who went on delivered the uniform messages that anybody delivered."""
    if not any(_asks_uniform(history, scope) for scope in history.scopes):
        return unknown(Property.UNIFORM, words.NO_UNIFORM)
    findings: list[Finding] = []
    excused: list[str] = []
    bound: list[tuple[Scope, list[str]]] = []
    for scope in (one for one in history.scopes if _asks_uniform(history, one)):
        movers = movers_of(history, scope)
        held = [
            member for member in scope.members if member in movers or history.is_held(scope, member)
        ]
        excused += [member for member in scope.members if member not in held]
        bound.append((scope, held))
        delivered = _uniform_deliveries(scope)
        for member in held:
            for message in delivered:
                if is_missing(history, scope, member, message):
                    explain = partial(
                        explain_not_uniform,
                        scope,
                        delivered[message],
                        movers.get(member),
                        history.end_of(scope, member),
                    )
                    findings.append(((member, (scope.group, scope.view, *message)), explain))
    untested = uniform_untested(history, bound)
    left_out = words.together(words.not_held(excused), left_to_others(history))
    return concluded(Property.UNIFORM, findings, left_out, untested=untested)


def _uniform_deliveries(scope: Scope) -> dict[Message, Act]:
    """Return, for each uniform message delivered, its delivery at the first process by name."""
    found: dict[Message, Act] = {}
    for process in sorted(scope.deliveries):
        for message, act in scope.deliveries[process].items():
            if scope.is_uniform(message):
                found.setdefault(message, act)
    return found

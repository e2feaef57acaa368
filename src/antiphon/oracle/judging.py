"""The oracle: judges a trace by its explicit event graph, slowly and plainly.

Law: the definitions of docs/properties.md, read off message by message, sharing no idea with
the pipeline or the protocols: it exists to disagree with them. What is about views is in
``view_checks``, what is about total order and uniform delivery in ``total_checks``, transactions
are in ``commit_checks``. Causal order is judged by the whole "happened before" relation; its
count is of deliveries that break it directly, and the two are never at odds (a chain breaks at
some link first). Cost: 2,000 messages at 5 processes take about a tenth of a second; it grows
with the square of the messages.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from antiphon.oracle.commit_checks import judge_commit
from antiphon.oracle.domains.checks import (
    Delivery,
    delivery_of,
    holes_in_doubt,
    late_across,
    orphans_across,
)
from antiphon.oracle.domains.components import (
    Component,
    Namings,
    components_of,
    domains_of,
    not_judged,
    noting_domains,
    persons_of,
)
from antiphon.oracle.event_graph import (
    Act,
    History,
    Message,
    Scope,
    causal_pasts,
    direct_predecessors,
    fifo_predecessors,
    history_of,
    out_of_order,
    without_past,
)
from antiphon.oracle.explain import (
    explain_creation,
    explain_disagreement,
    explain_duplicate,
    explain_not_addressed,
    explain_order,
    explain_stall,
)
from antiphon.oracle.findings import Finding, concluded
from antiphon.oracle.total_checks import judge_total, judge_total_causal, judge_uniform
from antiphon.oracle.untested import (
    agreement_untested,
    causes_untested,
    is_missing,
    left_out_of_orders,
    left_to_others,
    liveness_untested,
    may_go_round,
    orders_untested,
    senders_unseen,
)
from antiphon.oracle.view_checks import (
    judge_self_delivery,
    judge_sending_view,
    judge_view_atomic,
    judge_views,
)
from antiphon.trace import words
from antiphon.trace.schema import Event
from antiphon.trace.verdict import ALL, Property, PropertyVerdict, Terms, Verdict, unknown


def judge(
    rows: Iterable[Event | tuple[Event, str, int]], run: str = "", terms: Terms = ALL
) -> Verdict:
    """Return the verdict on a trace, given as rows, with or without their files and lines.

    Rows are as the reader gives them: checked, those of a process numbered or in local order.
    Those of several runs are told apart, but share the verdict.
    """
    namings: Namings = {}
    history = history_of(noting_domains(rows, run, namings), run, terms)
    history.domains = domains_of(history, namings, terms)
    history.persons = persons_of(history)
    components = components_of(history)
    return Verdict(
        run=run,
        engine="oracle",
        process_count=len(history.records),
        event_count=sum(map(len, history.records.values())),
        message_count=sum(len(scope.multicasts) for scope in history.scopes),
        delivery_count=history.delivery_count,
        properties=tuple(_judged(history, components, which) for which in terms.asked),
        terms=terms,
    )


def _judged(history: History, components: list[Component], which: Property) -> PropertyVerdict:
    """Judge one property; but for transactions, there is nothing to judge without deliveries."""
    if not history.delivery_count and which is not Property.COMMIT:
        return unknown(which, words.NO_DELIVERY)
    if which in _CAUSES:
        return _CAUSES[which](history, components)
    return _CHECKS[which](history)


def _fifo(history: History) -> PropertyVerdict:
    findings = [
        ((act.process, act.position), partial(explain_order, Property.FIFO, scope, act, missing))
        for scope in history.scopes
        for act, missing in out_of_order(history, scope, fifo_predecessors(scope))
    ]
    untested = orders_untested(history.scopes)
    return concluded(Property.FIFO, findings, left_out_of_orders(history), untested=untested)


def _causal(history: History, components: list[Component]) -> PropertyVerdict:
    findings: list[Finding] = []
    around = may_go_round(history)
    within: set[Delivery] = set()
    for scope in history.scopes:
        broken = list(out_of_order(history, scope, direct_predecessors(scope)))
        is_violated = any(True for _ in out_of_order(history, scope, causal_pasts(scope)))
        # Unless some link is none for want of a record, of a subscription, or of a destination.
        is_complete = not (history.late or scope.audience is not None or around)
        is_complete &= not any(_for_others(scope))
        assert is_violated >= bool(broken), "what is directly before is before"
        assert is_violated == bool(broken) or not is_complete, "a chain breaks at a link first"
        findings += [
            (
                (act.process, act.position),
                partial(explain_order, Property.CAUSAL, scope, act, missing),
            )
            for act, missing in broken
        ]
        within.update(delivery_of(scope, act) for act, _ in broken)
    findings += late_across(components, within)
    across = not_judged(history, components)
    return _concluded_on_causes(Property.CAUSAL, findings, history, across)


def _no_duplicate(history: History) -> PropertyVerdict:
    findings = [
        ((again.process, again.position), partial(explain_duplicate, scope, first, again))
        for scope in history.scopes
        for first, again in scope.surplus
    ]
    return concluded(Property.NO_DUPLICATE, findings)


def _no_creation(history: History) -> PropertyVerdict:
    created = [(scope, act) for scope in history.scopes for act in _created(scope)]
    astray = [(scope, act) for scope in history.scopes for act in _for_others(scope)]
    in_doubt = [act for scope, act in created if _may_be_lost(history, scope, act)]
    reason = ""
    if in_doubt:
        doubt = words.in_doubt(len(in_doubt), [act.message[0] for act in in_doubt])
        reason = words.together(doubt, senders_unseen(history))
        if len(in_doubt) == len(created) and not astray:
            return unknown(Property.NO_CREATION, reason)
    findings = [
        ((act.process, act.position), partial(explain_creation, scope, act))
        for scope, act in created
        if not _may_be_lost(history, scope, act)
    ]
    findings += [
        ((act.process, act.position), partial(explain_not_addressed, scope, act))
        for scope, act in astray
    ]
    return concluded(Property.NO_CREATION, findings, reason)


def _agreement(history: History) -> PropertyVerdict:
    findings: list[Finding] = []
    for scope in history.scopes:
        whole = _whole_members(history, scope)
        delivered: dict[Message, Act] = {}
        for member in whole:
            delivered = scope.deliveries.get(member, {}) | delivered
        findings += [
            (
                (member, (scope.group, scope.view, *message)),
                partial(explain_disagreement, scope, act, history.end_of(scope, member)),
            )
            for member in whole
            for message, act in delivered.items()
            if is_missing(history, scope, member, message)
        ]
    untested = agreement_untested(history)
    return concluded(Property.AGREEMENT, findings, _members_not_held(history), untested=untested)


def _no_orphan(history: History, components: list[Component]) -> PropertyVerdict:
    broken = [
        (scope, act, missing)
        for scope in history.scopes
        for act, missing in without_past(history, scope, direct_predecessors(scope))
    ]
    findings: list[Finding] = [
        (
            (act.process, act.position),
            partial(explain_order, Property.NO_ORPHAN, scope, act, missing),
        )
        for scope, act, missing in broken
    ]
    within = {delivery_of(scope, act) for scope, act, _ in broken}
    findings += orphans_across(history, components, within)
    across = words.together(
        holes_in_doubt(history, components, within), not_judged(history, components)
    )
    return _concluded_on_causes(Property.NO_ORPHAN, findings, history, across)


def _liveness(history: History) -> PropertyVerdict:
    findings = [
        (
            (member, (scope.group, scope.view, *message)),
            partial(explain_stall, scope, multicast, history.end_of(scope, member)),
        )
        for scope in history.scopes
        for member in _whole_members(history, scope)
        for message, multicast in scope.multicasts.items()
        if history.is_held(scope, multicast.process) and is_missing(history, scope, member, message)
    ]
    untested = liveness_untested(history)
    return concluded(Property.LIVENESS, findings, _members_not_held(history), untested=untested)


def _whole_members(history: History, scope: Scope) -> list[str]:
    return [member for member in scope.members if history.is_held(scope, member)]


def _members_not_held(history: History) -> str:
    excused = words.not_held(
        member
        for scope in history.scopes
        for member in scope.members
        if not history.is_held(scope, member)
    )
    return words.together(excused, left_to_others(history))


def _created(scope: Scope) -> Iterator[Act]:
    """Yield deliveries of what was not multicast, or by its own sender not yet."""
    for process in sorted(scope.deliveries):
        for message, act in scope.deliveries[process].items():
            multicast = scope.multicasts.get(message)
            if multicast is None or (
                process == multicast.process and act.position < multicast.position
            ):
                yield act


def _for_others(scope: Scope) -> Iterator[Act]:
    """Yield deliveries of what was not `to` the process, nor its own."""
    for process in sorted(scope.deliveries):
        for message, act in scope.deliveries[process].items():
            multicast = scope.multicasts.get(message)
            aim = multicast.event.to if multicast else None
            if aim and process not in {message[0], *aim}:
                yield act


def _may_be_lost(history: History, scope: Scope, act: Act) -> bool:
    """Whether the multicast of a message may be where its sender's record is lost."""
    sender, number = act.message
    is_later = number > scope.highest.get(sender, 0)
    is_earlier = sender not in scope.first_sent or number < scope.first_sent[sender]
    may_be_before = history.is_late(scope, sender) and is_earlier
    is_lost = act.message not in scope.multicasts
    return is_lost and (may_be_before or ((scope.run, sender) not in history.whole and is_later))


def _concluded_on_causes(
    which: Property, findings: Sequence[Finding], history: History, across: str
) -> PropertyVerdict:
    left_out = words.together(left_out_of_orders(history), _in_fifo_order(history))
    untested = causes_untested(history)
    return concluded(which, findings, left_out, across, untested, may_go_round(history))


def _in_fifo_order(history: History) -> str:
    is_fifo = (
        entry.event.kind == "multicast" and entry.event.order == "fifo"
        for record in history.records.values()
        for entry in record
    )
    return words.IN_FIFO_ORDER if any(is_fifo) else ""


_CHECKS: dict[Property, Callable[[History], PropertyVerdict]] = {
    Property.FIFO: _fifo,
    Property.NO_DUPLICATE: _no_duplicate,
    Property.NO_CREATION: _no_creation,
    Property.AGREEMENT: _agreement,
    Property.VIEWS: judge_views,
    Property.SENDING_VIEW: judge_sending_view,
    Property.VIEW_ATOMIC: judge_view_atomic,
    Property.SELF_DELIVERY: judge_self_delivery,
    Property.LIVENESS: _liveness,
    Property.TOTAL: judge_total,
    Property.UNIFORM: judge_uniform,
    Property.COMMIT: judge_commit,
}

_CAUSES: dict[Property, Callable[[History, list[Component]], PropertyVerdict]] = {
    Property.CAUSAL: _causal,
    Property.NO_ORPHAN: _no_orphan,
    Property.TOTAL_CAUSAL: judge_total_causal,
}
"""What rests on which message is before which, across groups, too."""

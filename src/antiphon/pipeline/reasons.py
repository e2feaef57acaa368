"""What a verdict leaves out, and why something is not known: reasons, property by property.

Law: definitions in docs/properties.md; words in ``antiphon.trace.words``. Nothing is counted here
but what reports and findings have counted already.
"""

from antiphon.pipeline.case import Case
from antiphon.pipeline.checks.findings import What
from antiphon.pipeline.untested import senders_unseen
from antiphon.trace import words
from antiphon.trace.verdict import Property

_ABOUT_VIEWS = (Property.VIEWS, Property.SENDING_VIEW, Property.VIEW_ATOMIC)


def left_out(case: Case) -> dict[Property, str]:
    """Return what is left out of the judgement of each property."""
    causes = words.together(_left_out_of_orders(case), _in_fifo_order(case))
    return {
        Property.FIFO: _left_out_of_orders(case),
        Property.CAUSAL: causes,
        Property.NO_CREATION: in_doubt(case),
        Property.AGREEMENT: _members_not_held(case),
        Property.SENDING_VIEW: _without_views(case),
        Property.NO_ORPHAN: causes,
        Property.SELF_DELIVERY: _senders_not_held(case),
        Property.LIVENESS: _members_not_held(case),
        Property.TOTAL: _held_to_uniform(case),
        Property.TOTAL_CAUSAL: _left_out_of_orders(case),
        Property.UNIFORM: _not_held_to_uniform(case),
    }


def not_applicable(case: Case) -> dict[Property, str]:
    """Return what the trace has nothing to say about, and why."""
    has_views = any(key[0] in case.runs for key in case.survey.views.rows)
    reasons = {} if has_views else dict.fromkeys(_ABOUT_VIEWS, words.NO_VIEW)
    if not any(scope.asks_total for scope in case.scopes):
        reasons |= dict.fromkeys((Property.TOTAL, Property.TOTAL_CAUSAL), words.NO_TOTAL)
    if not any(scope.asks_uniform for scope in case.scopes):
        reasons[Property.UNIFORM] = words.NO_UNIFORM
    return reasons


def in_doubt(case: Case) -> str:
    """Say which deliveries may be of messages that were multicast off the record."""
    doubts = case.of(What.IN_DOUBT)
    senders = [
        case.survey.scopes[item.scope].names[rank] for item in doubts for rank in item.senders
    ]
    if not doubts:
        return ""
    doubt = words.in_doubt(sum(item.count for item in doubts), senders)
    return words.together(doubt, senders_unseen(case))


def _left_out_of_orders(case: Case) -> str:
    count = sum(item.count for item in case.of(What.NOT_MULTICAST, What.IN_DOUBT))
    left = words.without_multicast(count)
    return words.together(left, senders_unseen(case), _left_to_others(case))


def _in_fifo_order(case: Case) -> str:
    has_fifo = any(part.fifo_count for scope in case.scopes for part in scope.parts.values())
    return words.IN_FIFO_ORDER if has_fifo else ""


def not_judged_across(case: Case) -> str:
    """Say where causality may have crossed groups, and nobody can tell."""
    circles = case.of(What.IN_CIRCLE)
    scopes = case.survey.scopes
    stuck = [
        case.domains.person(scopes[item.scope], scopes[item.scope].names[rank])
        for item in circles
        for rank in item.senders
    ]
    return words.together(
        words.in_several_groups(case.domains.unknown(case.runs)),
        words.ADDRESSED_ACROSS if case.domains.is_addressed(case.runs) else "",
        words.under_two_names(case.domains.two_names(case.runs)),
        words.in_circles(stuck),
    )


def holes_in_doubt(case: Case) -> str:
    """Say how many deliveries are without something that may be lost for good."""
    doubts = case.of(What.HOLE_IN_DOUBT)
    if not doubts:
        return ""
    failed = case.domains.failed(item.scope for item in doubts)
    return words.holes_in_doubt(sum(item.count for item in doubts), failed)


def may_go_round(case: Case) -> str:
    """Say that a chain of causes may go round a process that its ends are `to`.

    It cannot where those who share messages, sender included, are nested: looked at from the
    largest set down, all of a set are in the same smallest one so far.
    """
    for scope in case.scopes:
        sets = {
            frozenset([name, *aim])
            for name, part in scope.parts.items()
            for aim in part.aims
            if aim
        }
        within: dict[str, frozenset[str]] = {}
        for each in sorted(sets, key=len, reverse=True):
            if len({within.get(name) for name in each}) > 1:
                return words.OVERLAPPING
            within.update(dict.fromkeys(each, each))
    return ""


def _left_to_others(case: Case) -> str:
    parts = [
        (name, part)
        for scope in case.scopes
        for name, part in scope.parts.items()
        if part.row_count
    ]
    return words.together(
        words.held_from_beginning(name for name, part in parts if part.is_late),
        words.not_subscribed(name for name, part in parts if not part.is_addressed),
        words.ADDRESSED if any(scope.aims() for scope in case.scopes) else "",
    )


def _members_not_held(case: Case) -> str:
    excused = words.not_held(
        name for scope in case.scopes for name in scope.members() if not scope.parts[name].is_held
    )
    return words.together(excused, _left_to_others(case))


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
    excused = words.not_held(
        name
        for scope in case.scopes
        if scope.asks_uniform
        for name in set(scope.members()) - set(scope.movers())
        if not scope.parts[name].is_held
    )
    return words.together(excused, _left_to_others(case))


def _without_views(case: Case) -> str:
    views = case.survey.views
    owners = [
        ((*scope.key[:2], name), part)
        for scope in case.scopes
        for name, part in scope.parts.items()
        if part.row_count
    ]
    return words.together(
        words.without_views(owner[2] for owner, _ in owners if owner not in views.rows),
        words.held_from_first_view(
            owner[2]
            for owner, part in owners
            if views.begins_late(owner) and part.first_position < views.rows[owner][0].position
        ),
    )

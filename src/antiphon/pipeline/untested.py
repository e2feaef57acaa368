"""Whether a trace puts a property to the test at all, as reports and findings show.

Law: a property that nothing in the trace could have broken is not known to hold. What each needs
to be put to the test is in docs/properties.md; every function here returns the reason why it is
not, or nothing.
"""

from antiphon.pipeline.case import Case
from antiphon.pipeline.checks.findings import What
from antiphon.pipeline.survey.scopes import Scope
from antiphon.trace import words
from antiphon.trace.verdict import Property


def untested(case: Case) -> dict[Property, str]:
    """Return why nothing puts a property to the test, for those of which that is so."""
    causes = _orders(case, case.scopes) or _causes(case)
    return {
        Property.FIFO: _orders(case, case.scopes),
        Property.CAUSAL: causes,
        Property.AGREEMENT: _agreement(case),
        Property.SENDING_VIEW: _sending_view(case),
        Property.VIEW_ATOMIC: _view_atomic(case),
        Property.NO_ORPHAN: causes,
        Property.SELF_DELIVERY: _self_delivery(case),
        Property.LIVENESS: _liveness(case),
        Property.TOTAL: _total(case),
        Property.TOTAL_CAUSAL: _orders(case, [one for one in case.scopes if one.asks_total]),
        Property.UNIFORM: _uniform(case),
    }


def senders_unseen(case: Case) -> str:
    """Say which senders of messages have no rows of their own."""
    return words.never_processes(
        name
        for scope in case.scopes
        for name, part in scope.parts.items()
        if part.told_row_count and name not in case.survey.records[scope.key[0]]
    )


def _orders(case: Case, scopes: list[Scope]) -> str:
    numbers = {scope.number for scope in scopes}
    kinds = (What.NOT_MULTICAST, What.IN_DOUBT, What.DELIVERED_AGAIN)
    left_out = sum(item.count for item in case.of(*kinds) if item.scope in numbers)
    delivered = sum(part.delivery_count for scope in scopes for part in scope.parts.values())
    return "" if delivered > left_out else words.NO_DELIVERY_LEFT


def _causes(case: Case) -> str:
    is_asked = any(
        part.multicast_count > part.fifo_count
        for scope in case.scopes
        for part in scope.parts.values()
    )
    return "" if is_asked else words.ALL_IN_FIFO_ORDER


def _agreement(case: Case) -> str:
    for scope in case.scopes:
        held = scope.held()
        is_delivered = any(scope.parts[name].has_delivered for name in held)
        if len(held) > 1 and is_delivered and scope.is_shared(held):
            return ""
    return words.together(words.NONE_TO_AGREE, _only_process(case))


def _sending_view(case: Case) -> str:
    views = case.survey.views
    for scope in case.scopes:
        for name, part in scope.parts.items():
            owner = (*scope.key[:2], name)
            if not part.row_count or owner not in views.rows:
                continue
            if not views.begins_late(owner) or part.last_position > views.rows[owner][0].position:
                return ""
    return words.NO_ACT_IN_VIEWS


def _view_atomic(case: Case) -> str:
    for scope in case.scopes:
        movers = scope.movers()
        is_delivered = any(scope.parts[name].has_delivered for name in movers)
        if len(movers) > 1 and is_delivered and scope.is_shared(movers):
            return ""
    return words.NO_VIEW_LEFT


def _self_delivery(case: Case) -> str:
    bound = [
        part
        for scope in case.scopes
        for name, part in scope.parts.items()
        if part.multicast_count and part.is_bound and part.is_addressed
        and scope.may_reach(name, [name])
    ]  # fmt: skip
    if not bound:
        return words.together(words.NO_MULTICAST, senders_unseen(case))
    return "" if any(part.delivers_own for part in bound) else words.NO_OWN_DELIVERY


def _liveness(case: Case) -> str:
    for scope in case.scopes:
        held = scope.held()
        for name, part in scope.parts.items():
            if not part.multicast_count or not part.is_held:
                continue
            if any(
                (member != name or part.delivers_own) and scope.may_reach(member, [name])
                for member in held
            ):
                return ""
    return words.together(words.NONE_TO_REACH, _only_process(case), senders_unseen(case))


def _total(case: Case) -> str:
    for scope in (one for one in case.scopes if one.asks_total):
        is_uniform = (True, True) in scope.asks
        held = [
            part
            for part in scope.parts.values()
            if part.delivery_count and (is_uniform or part.is_bound)
        ]
        if len(held) > 1:
            return ""
    return words.together(words.NONE_TO_COMPARE, _only_process(case))


def _uniform(case: Case) -> str:
    for scope in (one for one in case.scopes if one.asks_uniform):
        deliverers = {name for name, part in scope.parts.items() if part.delivery_count}
        held = {*scope.held(), *scope.movers()}.intersection(scope.members())
        if any(
            deliverers - {member} and (not scope.aims() or scope.may_reach(member, scope.parts))
            for member in held
        ):
            return ""
    return words.together(words.NONE_TO_FOLLOW, _only_process(case))


def _only_process(case: Case) -> str:
    return words.only_process(name for run in case.runs for name in case.survey.records[run])

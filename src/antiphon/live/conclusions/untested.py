"""Whether a run has put a property to the test, so far.

Law: a property that nothing could have broken is not known to hold (docs/properties.md). Every
function here returns the reason why it was not put to the test, or nothing.
"""

from collections.abc import Callable

from antiphon.live.conclusions.outlook import Outlook
from antiphon.live.packs import TOTAL, UNIFORM
from antiphon.trace import words
from antiphon.trace.verdict import Property

Reason = Callable[[Outlook], str]


def _orders_untested(outlook: Outlook) -> str:
    """Say that nothing was delivered that was multicast."""
    return "" if any(view.is_tested for view in outlook.views) else words.NO_DELIVERY_LEFT


def _causes_untested(outlook: Outlook) -> str:
    """Say that nobody asked for causal order, or that nothing is left to judge."""
    untested = _orders_untested(outlook)
    return untested if untested or outlook.memory.has_causal else words.ALL_IN_FIFO_ORDER


def _total_causal_untested(outlook: Outlook) -> str:
    """Say that nothing in total order was delivered."""
    is_tested = any(view.is_tested for view in outlook.asking(TOTAL))
    return "" if is_tested else words.NO_DELIVERY_LEFT


def _agreement_untested(outlook: Outlook) -> str:
    """Say that no two processes had anything to agree on."""
    for view in outlook.views:
        held = [each for each in view.members if outlook.is_held(view, each)]
        if len(held) > 1 and any(each in view.having for each in held):
            return ""
    return words.together(words.NONE_TO_AGREE, outlook.only_process())


def _liveness_untested(outlook: Outlook) -> str:
    """Say that no message had to reach anybody."""
    for view in outlook.views:
        held = [each for each in view.members if outlook.is_held(view, each)]
        for sender in view.senders:
            if outlook.is_held(view, sender) and any(
                each != sender or sender in view.own for each in held
            ):
                return ""
    return words.together(
        words.NONE_TO_REACH, outlook.only_process(), words.never_processes(outlook.unseen)
    )


def _self_delivery_untested(outlook: Outlook) -> str:
    """Say that no process has to deliver what it multicast."""
    bound = [
        each in view.own
        for view in outlook.views
        for each in view.senders
        if outlook.is_bound(view, each)
    ]
    if not bound:
        return words.together(words.NO_MULTICAST, words.never_processes(outlook.unseen))
    return "" if any(bound) else words.NO_OWN_DELIVERY


def _sending_view_untested(outlook: Outlook) -> str:
    """Say that nobody who has views did anything."""
    is_tested = any(
        standing.is_acting and standing.latest is not None
        for group in outlook.memory.groups
        for standing in group.standings.values()
    )
    return "" if is_tested else words.NO_ACT_IN_VIEWS


def _view_atomic_untested(outlook: Outlook) -> str:
    """Say that nobody left a view together with another."""
    is_tested = any(
        len(view.movers) > 1 and any(each in view.having for each in view.movers)
        for view in outlook.views
    )
    return "" if is_tested else words.NO_VIEW_LEFT


def _total_untested(outlook: Outlook) -> str:
    """Say that no two processes had an order to compare."""
    for view in outlook.asking(TOTAL):
        is_uniform = TOTAL | UNIFORM in view.asks
        held = [each for each in view.delivering if is_uniform or outlook.is_bound(view, each)]
        if len(held) > 1:
            return ""
    return words.together(words.NONE_TO_COMPARE, outlook.only_process())


def _uniform_untested(outlook: Outlook) -> str:
    """Say that nobody had to follow another."""
    for view in outlook.asking(UNIFORM):
        if any(set(view.delivering) - {each} for each in outlook.bound_to_uniform(view)):
            return ""
    return words.together(words.NONE_TO_FOLLOW, outlook.only_process())


def _ballots_untested(outlook: Outlook) -> str:
    """Say that no decision has another ballot beside it."""
    return "" if outlook.memory.is_ballot_tested else words.NO_SECOND_BALLOT


def _nothing(_: Outlook) -> str:
    """Say nothing."""
    return ""


UNTESTED: dict[Property, Reason] = {
    Property.FIFO: _orders_untested,
    Property.CAUSAL: _causes_untested,
    Property.NO_DUPLICATE: _nothing,
    Property.NO_CREATION: _nothing,
    Property.AGREEMENT: _agreement_untested,
    Property.VIEWS: _nothing,
    Property.SENDING_VIEW: _sending_view_untested,
    Property.VIEW_ATOMIC: _view_atomic_untested,
    Property.NO_ORPHAN: _causes_untested,
    Property.SELF_DELIVERY: _self_delivery_untested,
    Property.LIVENESS: _liveness_untested,
    Property.TOTAL: _total_untested,
    Property.TOTAL_CAUSAL: _total_causal_untested,
    Property.UNIFORM: _uniform_untested,
    Property.COMMIT: _ballots_untested,
}

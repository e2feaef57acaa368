"""What a verdict leaves out: who is not held to a promise, and what waits for a row to be read.

Law: the words of `antiphon verify` once records are over; while they go on, what may still come is
said to be awaited.
"""

from collections.abc import Callable

from antiphon.live.conclusions.outlook import Outlook
from antiphon.live.packs import TOTAL, UNIFORM
from antiphon.trace import words
from antiphon.trace.verdict import Property

Reason = Callable[[Outlook], str]


def _left_out_of_orders(outlook: Outlook) -> str:
    """Say what the orders do not judge."""
    if not outlook.is_over:
        return words.awaiting_multicast(outlook.left_out)
    left_out = words.without_multicast(outlook.left_out)
    return words.together(left_out, words.never_processes(outlook.unseen))


def _left_out_of_causes(outlook: Outlook) -> str:
    """Say what causal order does not judge, besides."""
    in_fifo = words.IN_FIFO_ORDER if outlook.memory.has_fifo else ""
    return words.together(_left_out_of_orders(outlook), in_fifo)


def _members_not_held(outlook: Outlook) -> str:
    """Say which members were not there to the end."""
    return outlook.not_held(
        each for view in outlook.views for each in view.members if not outlook.is_held(view, each)
    )


def _in_doubt(outlook: Outlook) -> str:
    """Say of what it is not known whether it was made up."""
    doubtful = {
        process: count
        for process, count in outlook.doubtful.items()
        if count and not (process in outlook.memory.uncast and outlook.is_whole(process))
    }
    if not doubtful:
        return ""
    if not outlook.is_over:
        return words.awaiting_multicast(sum(doubtful.values()))
    doubt = words.in_doubt(sum(doubtful.values()), outlook.named(doubtful))
    return words.together(doubt, words.never_processes(outlook.unseen))


def _without_views(outlook: Outlook) -> str:
    """Say whose views are not known."""
    return words.without_views(
        outlook.memory.name_of(process)
        for group in outlook.memory.groups
        for process, standing in group.standings.items()
        if standing.is_acting and standing.latest is None
    )


def _senders_not_held(outlook: Outlook) -> str:
    """Say who need not have delivered its own messages."""
    return outlook.not_held(
        each for view in outlook.views for each in view.senders if not outlook.is_bound(view, each)
    )


def _held_to_uniform(outlook: Outlook) -> str:
    """Say who is held to total order in uniform messages only."""
    found = {
        each
        for view in outlook.asking(TOTAL)
        if TOTAL in view.asks
        for each in view.delivering
        if not outlook.is_bound(view, each)
    }
    if not outlook.is_over:
        return outlook.not_held(found)
    return words.held_to_uniform(outlook.named(found))


def _uniform_not_held(outlook: Outlook) -> str:
    """Say which members need not have delivered what is uniform."""
    return outlook.not_held(
        each
        for view in outlook.asking(UNIFORM)
        for each in view.members
        if each not in outlook.bound_to_uniform(view)
    )


def _nothing(_: Outlook) -> str:
    """Say nothing."""
    return ""


LEFT_OUT: dict[Property, Reason] = {
    Property.FIFO: _left_out_of_orders,
    Property.CAUSAL: _left_out_of_causes,
    Property.NO_DUPLICATE: _nothing,
    Property.NO_CREATION: _in_doubt,
    Property.AGREEMENT: _members_not_held,
    Property.VIEWS: _nothing,
    Property.SENDING_VIEW: _without_views,
    Property.VIEW_ATOMIC: _nothing,
    Property.NO_ORPHAN: _left_out_of_causes,
    Property.SELF_DELIVERY: _senders_not_held,
    Property.LIVENESS: _members_not_held,
    Property.TOTAL: _held_to_uniform,
    Property.TOTAL_CAUSAL: _left_out_of_orders,
    Property.UNIFORM: _uniform_not_held,
    Property.COMMIT: _nothing,
}

"""What a trace leaves out, and whether it puts a property to the test at all.

Law: a property that nothing in the trace could have broken is not known to hold. What each needs
to be put to the test is in docs/properties.md; every function here returns the reason why it is
not, or nothing.
"""

from itertools import combinations

from antiphon.oracle.event_graph import History, Message, Scope
from antiphon.trace import words


def left_out_of_orders(history: History) -> str:
    """Say what the orders do not judge: messages whose multicast is not in the trace."""
    count = sum(
        message not in scope.multicasts
        for scope in history.scopes
        for deliveries in scope.deliveries.values()
        for message in deliveries
    )
    left_out = words.without_multicast(count)
    return words.together(left_out, senders_unseen(history), left_to_others(history))


def left_to_others(history: History) -> str:
    """Say who is not held to all: its record begins late, or it is not to receive everything."""
    late = words.held_from_beginning(
        process
        for scope in history.scopes
        for process in scope.acts
        if history.is_late(scope, process)
    )
    others = words.not_subscribed(
        process
        for scope in history.scopes
        for process in scope.acts
        if scope.audience is not None and process not in scope.audience
    )
    is_addressed = any(scope.named for scope in history.scopes)
    return words.together(late, others, words.ADDRESSED if is_addressed else "")


def is_missing(history: History, scope: Scope, process: str, message: Message) -> bool:
    """Whether a process has not delivered a message, and nothing excuses it."""
    is_delivered = message in scope.deliveries.get(process, {})
    return not is_delivered and not history.is_excused(scope, process, message)


def senders_unseen(history: History) -> str:
    """Say which senders of messages have no rows of their own."""
    return words.never_processes(
        sender
        for scope in history.scopes
        for deliveries in scope.deliveries.values()
        for sender, _ in deliveries
        if (scope.run, sender) not in history.records
    )


def may_go_round(history: History) -> str:
    """Say that a chain of causes may go round a process that its ends are `to`.

    It cannot where of any two sets of processes that share a message, its sender included, one
    has the other in it, or they have nobody in common: then who passes something on knows it.
    """
    for scope in history.scopes:
        sets = {
            frozenset([sender, *aim]) for sender, aims in scope.aims.items() for aim in aims if aim
        }
        for one, other in combinations(sets, 2):
            if one & other and not (one <= other or other <= one):
                return words.OVERLAPPING
    return ""


def orders_untested(scopes: list[Scope]) -> str:
    """Say that no message that was multicast on the record was delivered."""
    is_tested = any(
        act.event.kind == "deliver" and message in scope.multicasts
        for scope in scopes
        for deliveries in scope.deliveries.values()
        for message, act in deliveries.items()
    )
    return "" if is_tested else words.NO_DELIVERY_LEFT


def causes_untested(history: History) -> str:
    """Say that nobody asked for causal order, or that nothing is left to judge."""
    is_asked = any(
        entry.event.kind == "multicast" and entry.event.order != "fifo"
        for record in history.records.values()
        for entry in record
    )
    untested = orders_untested(history.scopes)
    return untested if untested or is_asked else words.ALL_IN_FIFO_ORDER


def agreement_untested(history: History) -> str:
    """Say that no two processes had anything to agree on."""
    for scope in history.scopes:
        held = [member for member in scope.members if history.is_held(scope, member)]
        is_delivered = any(scope.deliveries.get(member) for member in held)
        if len(held) > 1 and is_delivered and scope.is_shared(held):
            return ""
    return words.together(words.NONE_TO_AGREE, _only_process(history))


def liveness_untested(history: History) -> str:
    """Say that no message had to reach anybody."""
    for scope in history.scopes:
        held = [member for member in scope.members if history.is_held(scope, member)]
        senders = {act.process for act in scope.multicasts.values()}
        for sender in senders:
            if history.is_held(scope, sender) and any(
                (member != sender or sender in scope.own) and scope.may_reach(member, [sender])
                for member in held
            ):
                return ""
    return words.together(words.NONE_TO_REACH, _only_process(history), senders_unseen(history))


def self_delivery_untested(history: History) -> str:
    """Say that no process has to deliver what it multicast."""
    bound = {
        (scope.run, scope.group, scope.view, act.process): act.process in scope.own
        for scope in history.scopes
        for act in scope.multicasts.values()
        if is_bound(history, scope, act.process)
        and (scope.audience is None or act.process in scope.audience)
        and scope.may_reach(act.process, [act.process])
    }
    if not bound:
        return words.together(words.NO_MULTICAST, senders_unseen(history))
    return "" if any(bound.values()) else words.NO_OWN_DELIVERY


def total_untested(history: History, scopes: list[Scope]) -> str:
    """Say that no two processes had an order to compare."""
    for scope in scopes:
        is_uniform = (True, True) in scope.asks
        held = [
            process
            for process, deliveries in scope.deliveries.items()
            if any(act.event.kind == "deliver" for act in deliveries.values())
            and (is_uniform or is_bound(history, scope, process))
        ]
        if len(held) > 1:
            return ""
    return words.together(words.NONE_TO_COMPARE, _only_process(history))


def is_bound(history: History, scope: Scope, process: str) -> bool:
    """Whether a process was there to the end of the view, or of all."""
    return (scope.run, process) in history.whole or process in history.successors(scope)


def uniform_untested(history: History, held: list[tuple[Scope, list[str]]]) -> str:
    """Say that nobody had to follow another, given who is held to it in which scope."""
    for scope, members in held:
        deliverers = {
            process
            for process, deliveries in scope.deliveries.items()
            if any(act.event.kind == "deliver" for act in deliveries.values())
        }
        if any(
            deliverers - {member} and (not scope.named or scope.may_reach(member, scope.aims))
            for member in members
        ):
            return ""
    return words.together(words.NONE_TO_FOLLOW, _only_process(history))


def _only_process(history: History) -> str:
    return words.only_process(process for _, process in history.records)

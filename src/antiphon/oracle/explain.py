"""What the oracle found, event by event, handed over to be put into words.

Law: which events link two messages is found here, in the event graph; what is said of them, and
in which order, is in ``antiphon.trace.explanations``. Explaining decides nothing: the violation
has been found already.
"""

from antiphon.oracle.event_graph import Act, Entry, Message, Scope
from antiphon.trace import explanations, words
from antiphon.trace.explanations import (
    BallotEvent,
    Ending,
    Explanation,
    MessageEvent,
    ViewEvent,
)
from antiphon.trace.verdict import Link, MessageId, Property, Violation


def explain_order(which: Property, scope: Scope, wrong: Act, missing: int) -> Violation:
    """Explain a delivery that came before, or without, one of the messages ``missing``."""
    known = _latest_of(scope, wrong.message, missing)
    earlier = scope.multicasts[known.message]
    is_own = known.is_multicast or (
        known.process == earlier.process and earlier.position < known.position
    )
    explanation = explanations.explain_order(
        which,
        event_of(scope, wrong),
        event_of(scope, scope.multicasts[wrong.message]),
        event_of(scope, earlier),
        None if is_own else event_of(scope, known),
        is_never=known.message not in scope.deliveries[wrong.process],
    )
    return written(scope, explanation)


def explain_duplicate(scope: Scope, first: Act, again: Act) -> Violation:
    """Explain a second multicast, or delivery, of a message."""
    explanation = explanations.explain_duplicate(event_of(scope, first), event_of(scope, again))
    return written(scope, explanation)


def explain_creation(scope: Scope, wrong: Act) -> Violation:
    """Explain the delivery of what nobody multicast, or of what was multicast only later."""
    multicast = scope.multicasts.get(wrong.message)
    explanation = explanations.explain_creation(
        event_of(scope, wrong), None if multicast is None else event_of(scope, multicast)
    )
    return written(scope, explanation)


def explain_not_addressed(scope: Scope, wrong: Act) -> Violation:
    """Explain the delivery of what was for others."""
    multicast = event_of(scope, scope.multicasts[wrong.message])
    return written(scope, explanations.explain_not_addressed(event_of(scope, wrong), multicast))


def explain_disagreement(scope: Scope, delivered: Act, end: Entry) -> Violation:
    """Explain that a process, whose record closes with ``end``, never delivered a message."""
    explanation = explanations.explain_disagreement(
        event_of(scope, delivered), _origin(scope, delivered), _ending(None, end)
    )
    return written(scope, explanation)


def explain_stall(scope: Scope, multicast: Act, end: Entry) -> Violation:
    """Explain that a process never delivered a message of one that went on to the end, too."""
    explanation = explanations.explain_stall(event_of(scope, multicast), _ending(None, end))
    return written(scope, explanation)


def explain_two_orders(scope: Scope, here: tuple[Act, Act], there: tuple[Act, Act]) -> Violation:
    """Explain that one process delivered two messages in one order, another in the other."""
    explanation = explanations.explain_two_orders(
        (event_of(scope, here[0]), event_of(scope, here[1])),
        (event_of(scope, there[0]), event_of(scope, there[1])),
    )
    return written(scope, explanation)


def explain_not_uniform(
    scope: Scope, delivered: Act, successor: Entry | None, end: Entry
) -> Violation:
    """Explain that a process went on, or ended, without a uniform message somebody delivered."""
    explanation = explanations.explain_not_uniform(
        event_of(scope, delivered), _origin(scope, delivered), _ending(successor, end)
    )
    return written(scope, explanation)


def explain_not_atomic(scope: Scope, delivered: Act, there: Entry, here: Entry) -> Violation:
    """Explain that two processes left a view, ``there`` with a message and ``here`` without."""
    explanation = explanations.explain_not_atomic(
        event_of(scope, delivered),
        _origin(scope, delivered),
        _installation(there),
        _ending(here, here),
    )
    return written(scope, explanation)


def explain_own_missing(
    scope: Scope, multicast: Act, successor: Entry | None, end: Entry
) -> Violation:
    """Explain that a process never delivered what it had multicast itself."""
    explanation = explanations.explain_own_missing(
        event_of(scope, multicast), _ending(successor, end)
    )
    return written(scope, explanation)


def explain_wrong_view(scope: Scope, wrong: Act, current: Entry | None) -> Violation:
    """Explain that a message of one view was multicast, or delivered, in another."""
    multicast = None if wrong.is_multicast else scope.multicasts.get(wrong.message)
    explanation = explanations.explain_wrong_view(
        event_of(scope, wrong),
        None if multicast is None else event_of(scope, multicast),
        None if current is None else _installation(current),
    )
    return written(scope, explanation)


def explain_other_members(reference: Entry, wrong: Entry) -> Violation:
    """Explain that a view has other members here than at the first process that installed it."""
    explanation = explanations.explain_other_members(_installation(reference), _installation(wrong))
    return explanation.written(wrong.run, _link)


def explain_wrong_number(before: Entry, wrong: Entry) -> Violation:
    """Explain that a view does not follow the one before it."""
    explanation = explanations.explain_wrong_number(_installation(before), _installation(wrong))
    return explanation.written(wrong.run, _link)


def explain_not_listed(wrong: Entry) -> Violation:
    """Explain that a process installed a view without being in it."""
    return explanations.explain_not_listed(_installation(wrong)).written(wrong.run, _link)


def explain_decision(reason: Entry, decision: Entry) -> Violation:
    """Explain that a decision contradicts a vote, or another decision."""
    row = decision.event
    explanation = explanations.explain_decision(
        words.transaction(row.sender, row.first), row.group, _ballot(decision), _ballot(reason)
    )
    return explanation.written(decision.run, _link)


def _latest_of(scope: Scope, message: Message, wanted: int) -> Act:
    """Return the last event before a message's multicast, at its sender, that is of ``wanted``."""
    sender = scope.multicasts[message].process
    before = scope.acts[sender][: scope.acts[sender].index(scope.multicasts[message])]
    return next(act for act in reversed(before) if scope.bits.get(act.message, 0) & wanted)


def _origin(scope: Scope, delivered: Act) -> MessageEvent[Entry] | None:
    """Return the multicast of a message, unless it is the row of this delivery."""
    multicast = scope.multicasts.get(delivered.message)
    if multicast is None or multicast.event is delivered.event:
        return None
    return event_of(scope, multicast)


def event_of(scope: Scope, act: Act) -> MessageEvent[Entry]:
    """Return a single multicast, or delivery, as an event of an explanation."""
    message = MessageId(*act.message, scope.group, scope.view, _name_of(scope, act.message))
    entry = Entry(act.position[0], scope.run, act.event, act.file, act.line)
    return MessageEvent(act.process, message, act.is_multicast, entry)


def _name_of(scope: Scope, message: Message) -> str:
    """Return the user's own name for a message."""
    multicast = scope.multicasts.get(message)
    if multicast is not None and multicast.event.id:
        return multicast.event.id
    having = (scope.deliveries[process] for process in sorted(scope.deliveries))
    return next((acts[message].event.id for acts in having if message in acts), "")


def _installation(entry: Entry) -> ViewEvent[Entry]:
    row = entry.event
    return ViewEvent(row.process, row.group, row.view, row.members or (), entry)


def _ballot(entry: Entry) -> BallotEvent[Entry]:
    row = entry.event
    return BallotEvent(row.process, row.kind == "vote", row.detail, entry)


def _ending(successor: Entry | None, last: Entry) -> Ending[Entry]:
    went_on = None if successor is None else _installation(successor)
    return Ending(last.event.process, went_on, last)


def written(scope: Scope, explanation: Explanation[Entry]) -> Violation:
    """Return a violation, with the lines that record its events."""
    return explanation.written(scope.run, _link)


def _link(entry: Entry, text: str) -> Link:
    return Link(entry.event.process, entry.event.index, text, entry.file, entry.line)

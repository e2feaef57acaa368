"""The smallest explanation of a broken promise, in words, with the lines of the trace.

Law: an explanation names the process where it shows, the messages, and the events that link
them, in causal order, the wrong one last; every event says where in the trace it is recorded.
Explaining decides nothing: the oracle has found the violation already.
"""

from antiphon.oracle.event_graph import Act, Entry, Message, Scope
from antiphon.trace import words
from antiphon.trace.verdict import Link, MessageId, Property, Violation


def explain_order(which: Property, scope: Scope, wrong: Act, missing: int) -> Violation:
    """Explain a delivery that came before, or without, one of the messages ``missing``."""
    known = _latest_of(scope, wrong.message, missing)
    earlier, sender = known.message, wrong.message[0]
    later = scope.deliveries[wrong.process].get(earlier)
    multicast = scope.multicasts[earlier]
    chain = [link(multicast)]
    if known.is_multicast or (known.process == earlier[0] and multicast.position < known.position):
        how = f"{sender} had multicast earlier"
    else:
        chain.append(link(known))
        how = f"{sender} had delivered before multicasting it"
    fault = "only later" if later else "never"
    chain += [
        link(scope.multicasts[wrong.message]),
        link(wrong, f"{say(wrong)}, but {name(earlier)} {fault}"),
    ]
    text = f"{say(wrong)}, but {fault} {name(earlier)}, which {how}{where(scope)}"
    return violation_of(which, scope, wrong, chain, text, earlier)


def explain_duplicate(scope: Scope, first: Act, again: Act) -> Violation:
    """Explain a second multicast, or delivery, of a message."""
    chain = [link(first), link(again, f"{say(again)} again")]
    text = f"{say(again)} a second time{where(scope)}"
    return violation_of(Property.NO_DUPLICATE, scope, again, chain, text)


def explain_creation(scope: Scope, wrong: Act) -> Violation:
    """Explain the delivery of what nobody multicast, or of what was multicast only later."""
    multicast = scope.multicasts.get(wrong.message)
    if multicast is None:
        text = f"{say(wrong)}, which {wrong.message[0]} never multicast"
        chain = [link(wrong, text)]
    else:
        text = f"{say(wrong)} before multicasting it"
        chain = [link(multicast), link(wrong, text)]
    return violation_of(Property.NO_CREATION, scope, wrong, chain, text + where(scope))


def explain_disagreement(scope: Scope, process: str, delivered: Act, end: Entry) -> Violation:
    """Explain that ``process``, whose record closes with ``end``, never delivered a message."""
    message = delivered.message
    multicast = scope.multicasts.get(message)
    text = words.never(process, name(message))
    chain = [] if multicast is None or multicast.event is delivered.event else [link(multicast)]
    chain += [link(delivered), link_to(end, words.at_end(text))]
    why = f"{text}, which {delivered.process} delivered{where(scope)}"
    wrong = delivered._replace(process=process)
    return violation_of(Property.AGREEMENT, scope, wrong, chain, why)


def _latest_of(scope: Scope, message: Message, wanted: int) -> Act:
    """Return the last event before a message's multicast, at its sender, that is of ``wanted``."""
    sender = scope.multicasts[message].process
    before = scope.acts[sender][: scope.acts[sender].index(scope.multicasts[message])]
    return next(act for act in reversed(before) if scope.bits.get(act.message, 0) & wanted)


def explain_stall(scope: Scope, process: str, multicast: Act, end: Entry) -> Violation:
    """Explain that ``process`` never delivered a message of one that went on to the end, too."""
    text = words.never(process, name(multicast.message))
    chain = [link(multicast), link_to(end, words.at_end(text))]
    why = f"{text}, which {multicast.process} multicast{where(scope)}"
    wrong = multicast._replace(process=process)
    return violation_of(Property.LIVENESS, scope, wrong, chain, why)


def explain_two_orders(scope: Scope, here: tuple[Act, Act], there: tuple[Act, Act]) -> Violation:
    """Explain that one process delivered two messages in one order, another in the other."""
    wrong, late = here
    message, earlier = name(wrong.message), name(late.message)
    chain = [
        *map(link, there),
        link(wrong),
        link(late, words.only_after(late.process, earlier, message)),
    ]
    text = words.in_two_orders(wrong.process, message, earlier, there[0].process) + where(scope)
    return violation_of(Property.TOTAL, scope, wrong, chain, text, late.message)


def explain_not_uniform(
    scope: Scope, delivered: Act, successor: Entry | None, end: Entry
) -> Violation:
    """Explain that a process went on, or ended, without a uniform message somebody delivered."""
    message, process = name(delivered.message), (successor or end).event.process
    multicast = scope.multicasts.get(delivered.message)
    if successor is None:
        last = link_to(end, words.at_end(words.never(process, message)))
    else:
        last = link_to(successor, words.went_on(process, scope.view + 1, message))
    chain = [link(multicast)] if multicast else []
    chain += [link(delivered), last]
    view = None if successor is None else scope.view + 1
    text = words.not_uniform(process, message, delivered.process, view) + where(scope)
    wrong = delivered._replace(process=process)
    return violation_of(Property.UNIFORM, scope, wrong, chain, text)


def violation_of(
    which: Property,
    scope: Scope,
    wrong: Act,
    chain: list[Link],
    text: str,
    earlier: Message | None = None,
) -> Violation:
    """Return the explanation of what is wrong with one message."""

    def identify(message: Message) -> MessageId:
        return MessageId(*message, scope.group, scope.view)

    return Violation(
        property=which,
        process=wrong.process,
        message=identify(wrong.message),
        earlier=identify(earlier) if earlier else None,
        chain=tuple(chain),
        text=text,
        run=scope.run,
    )


def link(act: Act, text: str = "") -> Link:
    """Return an event as part of a chain."""
    return Link(act.process, act.event.index, text or say(act), act.file, act.line)


def link_to(entry: Entry, text: str) -> Link:
    """Return a row as part of a chain."""
    return Link(entry.event.process, entry.event.index, text, entry.file, entry.line)


def say(act: Act) -> str:
    """Say what happened."""
    verb = "multicast" if act.is_multicast else "delivered"
    return f"{act.process} {verb} {name(act.message)}"


def name(message: Message) -> str:
    """Return what people call a message."""
    return str(MessageId(*message))


def where(scope: Scope) -> str:
    """Say in which group and view."""
    return words.where(scope.group, scope.view)

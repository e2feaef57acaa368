"""The smallest explanation of a broken promise, in words, with the lines of the trace.

Law: an explanation names the process where it shows, the messages, and the events that link
them, in causal order, the wrong one last; every event says where in the trace it is recorded.
Explaining decides nothing: the oracle has found the violation already.
"""

from antiphon.sim.event_graph import Act, Entry, Message, Scope
from antiphon.trace.verdict import Link, MessageId, Property, Violation


def explain_order(which: Property, scope: Scope, wrong: Act, missing: int) -> Violation:
    """Explain a delivery that came before, or without, one of the messages ``missing``."""
    known = _latest_of(scope, wrong.message, missing)
    earlier, sender = known.message, wrong.message[0]
    later = scope.deliveries[wrong.process].get(earlier)
    multicast = scope.multicasts[earlier]
    chain = [_link(multicast)]
    if known.is_multicast or (known.process == earlier[0] and multicast.position < known.position):
        how = f"{sender} had multicast earlier"
    else:
        chain.append(_link(known))
        how = f"{sender} had delivered before multicasting it"
    fault = "only later" if later else "never"
    chain += [
        _link(scope.multicasts[wrong.message]),
        _link(wrong, f"{_say(wrong)}, but {_name(earlier)} {fault}"),
    ]
    text = f"{_say(wrong)}, but {fault} {_name(earlier)}, which {how}{_where(scope)}"
    return _violation(which, scope, wrong, chain, text, earlier)


def explain_duplicate(scope: Scope, first: Act, again: Act) -> Violation:
    """Explain a second multicast, or delivery, of a message."""
    chain = [_link(first), _link(again, f"{_say(again)} again")]
    text = f"{_say(again)} a second time{_where(scope)}"
    return _violation(Property.NO_DUPLICATE, scope, again, chain, text)


def explain_creation(scope: Scope, wrong: Act) -> Violation:
    """Explain the delivery of what nobody multicast, or of what was multicast only later."""
    multicast = scope.multicasts.get(wrong.message)
    if multicast is None:
        text = f"{_say(wrong)}, which {wrong.message[0]} never multicast"
        chain = [_link(wrong, text)]
    else:
        text = f"{_say(wrong)} before multicasting it"
        chain = [_link(multicast), _link(wrong, text)]
    return _violation(Property.NO_CREATION, scope, wrong, chain, text + _where(scope))


def explain_disagreement(scope: Scope, process: str, delivered: Act, end: Entry) -> Violation:
    """Explain that ``process``, whose record closes with ``end``, never delivered a message."""
    message = delivered.message
    multicast = scope.multicasts.get(message)
    text = f"{process} never delivered {_name(message)}"
    chain = [] if multicast is None or multicast.event is delivered.event else [_link(multicast)]
    chain += [
        _link(delivered),
        Link(process, end.event.index, f"{text} up to the end of its record", end.file, end.line),
    ]
    why = f"{text}, which {delivered.process} delivered{_where(scope)}"
    wrong = delivered._replace(process=process)
    return _violation(Property.AGREEMENT, scope, wrong, chain, why)


def _latest_of(scope: Scope, message: Message, wanted: int) -> Act:
    """Return the last event before a message's multicast, at its sender, that is of ``wanted``."""
    sender = scope.multicasts[message].process
    before = scope.acts[sender][: scope.acts[sender].index(scope.multicasts[message])]
    return next(act for act in reversed(before) if scope.bits.get(act.message, 0) & wanted)


def _violation(
    which: Property,
    scope: Scope,
    wrong: Act,
    chain: list[Link],
    text: str,
    earlier: Message | None = None,
) -> Violation:
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


def _link(act: Act, text: str = "") -> Link:
    return Link(act.process, act.event.index, text or _say(act), act.file, act.line)


def _say(act: Act) -> str:
    verb = "multicast" if act.is_multicast else "delivered"
    return f"{act.process} {verb} {_name(act.message)}"


def _name(message: Message) -> str:
    return str(MessageId(*message))


def _where(scope: Scope) -> str:
    return f" (group {scope.group}, view {scope.view})" if scope.group else ""

"""What is wrong with views, and with messages at their borders, in words.

Law: as in ``explain``; where a view is part of the story, its number is named, and the row in
which a process installed it is part of the chain.
"""

from antiphon.oracle.event_graph import Act, Entry, Scope
from antiphon.oracle.explain import link, link_to, name, say, violation_of, where
from antiphon.trace import words
from antiphon.trace.verdict import Link, Property, Violation


def explain_other_members(reference: Entry, wrong: Entry) -> Violation:
    """Explain that a view has other members here than at the first process that installed it."""
    row, first = wrong.event, reference.event
    text = words.other_members(
        row.process, row.group, row.view, row.members or [], (first.process, first.members or [])
    )
    return _about_view(wrong, [_installation(reference), _installation(wrong)], text)


def explain_wrong_number(before: Entry, wrong: Entry) -> Violation:
    """Explain that a view does not follow the one before it."""
    row = wrong.event
    text = words.wrong_number(row.process, row.group, row.view, before.event.view)
    chain = [_installation(before, is_short=True), _installation(wrong, is_short=True)]
    return _about_view(wrong, chain, text)


def explain_not_listed(wrong: Entry) -> Violation:
    """Explain that a process installed a view without being in it."""
    row = wrong.event
    text = words.not_listed(row.process, row.group, row.view)
    return _about_view(wrong, [_installation(wrong)], text)


def explain_wrong_view(scope: Scope, wrong: Act, current: Entry | None) -> Violation:
    """Explain that a message of one view was multicast, or delivered, in another."""
    text = words.in_wrong_view(
        say(wrong), scope.group, scope.view, current.event.view if current else None
    )
    multicast = scope.multicasts.get(wrong.message)
    chain = [link(multicast)] if multicast and not wrong.is_multicast else []
    chain += [_installation(current, is_short=True)] if current else []
    chain.append(link(wrong, text))
    return violation_of(Property.SENDING_VIEW, scope, wrong, chain, text)


def explain_not_atomic(scope: Scope, delivered: Act, there: Entry, here: Entry) -> Violation:
    """Explain that two processes left a view, ``there`` with a message and ``here`` without."""
    message, process = delivered.message, here.event.process
    multicast = scope.multicasts.get(message)
    chain = [] if multicast is None or multicast.event is delivered.event else [link(multicast)]
    chain += [
        link(delivered),
        _installation(there, is_short=True),
        link_to(here, words.went_on(process, scope.view + 1, name(message))),
    ]
    text = (
        f"{words.never(process, name(message))}, which {delivered.process} delivered, and both "
        f"went on to view {scope.view + 1}{where(scope)}"
    )
    wrong = delivered._replace(process=process)
    return violation_of(Property.VIEW_ATOMIC, scope, wrong, chain, text)


def explain_own_missing(
    scope: Scope, multicast: Act, successor: Entry | None, end: Entry
) -> Violation:
    """Explain that a process never delivered what it had multicast itself."""
    message = name(multicast.message)
    text = words.never(multicast.process, message)
    if successor is None:
        last = link_to(end, words.at_end(text))
    else:
        last = link_to(successor, words.went_on(multicast.process, scope.view + 1, message))
    why = f"{text}, which it had multicast itself{where(scope)}"
    return violation_of(Property.SELF_DELIVERY, scope, multicast, [link(multicast), last], why)


def _installation(entry: Entry, *, is_short: bool = False) -> Link:
    row = entry.event
    members = () if is_short else row.members or ()
    return link_to(entry, words.installed(row.process, row.view, members))


def _about_view(wrong: Entry, chain: list[Link], text: str) -> Violation:
    return Violation(
        property=Property.VIEWS,
        process=wrong.event.process,
        message=None,
        earlier=None,
        chain=tuple(chain),
        text=text,
        run=wrong.run,
    )

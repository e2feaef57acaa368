"""What the oracle asks of views: the same everywhere, and nothing crosses their borders.

Law: the definitions of docs/properties.md. ``views``: one sequence of views, the same members in
each; only who takes over begins a new lineage, alone. ``sending-view``: messages stay in their
view. ``view-atomic``: D3 of Schiper and Sandoz
(Uniform 2), whoever goes on to the next view has delivered the same in this one, crashed later
or not. ``self-delivery``: nobody leaves a view without what it multicast there. Judged by the
view rows and the event graph alone. Cost: O(rows + members x messages).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

from antiphon.oracle.event_graph import (
    Act,
    Entry,
    History,
    Message,
    Scope,
    acts_of,
    is_takeover,
)
from antiphon.oracle.explain import (
    explain_not_atomic,
    explain_not_listed,
    explain_other_members,
    explain_own_missing,
    explain_wrong_number,
    explain_wrong_view,
)
from antiphon.oracle.findings import Finding, concluded
from antiphon.oracle.untested import is_bound, is_missing, self_delivery_untested
from antiphon.trace import words
from antiphon.trace.verdict import Property, PropertyVerdict, Violation, unknown


def judge_views(history: History) -> PropertyVerdict:
    """Judge whether all saw the same views, in the same order, and were in them."""
    if not history.views:
        return unknown(Property.VIEWS, words.NO_VIEW)
    findings: list[Finding] = []
    groups = Counter((run, process) for run, _, process in history.views)
    for key in history.views:
        is_elsewhere = groups[key[0], key[2]] > 1
        for entry, explain in _wrong_views(history, key, is_elsewhere=is_elsewhere):
            findings.append(((entry.event.process, (entry.place, 0)), explain))
    return concluded(Property.VIEWS, findings)


def _wrong_views(
    history: History, key: tuple[str, str, str], *, is_elsewhere: bool
) -> Iterator[tuple[Entry, Callable[[], Violation]]]:
    """Yield the view rows of one process in one group that are wrong: one fault each.

    Who ``is_elsewhere``, in other groups too, may leave this one and go on.
    """
    run, group, process = key
    rows = history.views[key]
    has_left = is_elsewhere or history.has_left(run, process)
    may_leave = has_left or history.is_cut_off(run, process)
    for before, entry in zip(chain([None], rows), rows, strict=False):
        row = entry.event
        reference = next(iter(history.installed[run, group, row.view].values()))
        if row.members != reference.event.members:
            yield entry, partial(explain_other_members, reference, entry)
        elif (
            before is not None
            and row.view != before.event.view + 1
            and not is_takeover(before.event, row)
        ):
            yield entry, partial(explain_wrong_number, before, entry)
        elif process not in (row.members or ()) and not (may_leave and entry is rows[-1]):
            yield entry, partial(explain_not_listed, entry)


def judge_sending_view(history: History) -> PropertyVerdict:
    """Judge whether messages were multicast and delivered in the view that they belong to."""
    if not history.views:
        return unknown(Property.SENDING_VIEW, words.NO_VIEW)
    scopes = {(scope.run, scope.group, scope.view): scope for scope in history.scopes}
    findings: list[Finding] = []
    left_out: list[str] = []
    begun: list[str] = []
    is_tested = False
    for entry, current in _acts_in_views(history):
        row = entry.event
        if (entry.run, row.group, row.process) not in history.views:
            left_out.append(row.process)
            continue
        if current is None and (entry.run, row.process) in history.late:
            begun.append(row.process)
            continue
        is_tested = True
        if current is None or current.event.view != row.view:
            scope = scopes[entry.run, row.group, row.view]
            findings += [
                ((act.process, act.position), partial(explain_wrong_view, scope, act, current))
                for act in acts_of(entry, is_multicast=row.kind == "multicast")
            ]
    untested = "" if is_tested else words.NO_ACT_IN_VIEWS
    excused = words.together(words.without_views(left_out), words.held_from_first_view(begun))
    return concluded(Property.SENDING_VIEW, findings, excused, untested=untested)


def _acts_in_views(history: History) -> Iterator[tuple[Entry, Entry | None]]:
    """Yield each row about messages, with the last view row of its group before it."""
    for record in history.records.values():
        current: dict[str, Entry] = {}
        for entry in record:
            if entry.event.kind == "view":
                current[entry.event.group] = entry
            elif entry.event.kind in {"multicast", "deliver"}:
                yield entry, current.get(entry.event.group)


def judge_view_atomic(history: History) -> PropertyVerdict:
    """Judge whether all who went on from a view to the next had delivered the same in it."""
    if not history.views:
        return unknown(Property.VIEW_ATOMIC, words.NO_VIEW)
    findings: list[Finding] = []
    is_tested = False
    for scope in history.scopes:
        movers = movers_of(history, scope)
        delivered: dict[Message, Act] = {}
        for mover in movers:
            delivered = scope.deliveries.get(mover, {}) | delivered
        is_tested |= len(movers) > 1 and bool(delivered) and scope.is_shared(movers)
        findings += [
            (
                (mover, (scope.group, scope.view, *message)),
                partial(explain_not_atomic, scope, act, movers[act.process], movers[mover]),
            )
            for mover in movers
            for message, act in delivered.items()
            if is_missing(history, scope, mover, message)
        ]
    untested = "" if is_tested else words.NO_VIEW_LEFT
    return concluded(Property.VIEW_ATOMIC, findings, untested=untested)


def movers_of(history: History, scope: Scope) -> dict[str, Entry]:
    """Return the members that installed a view and its successor, with the successor's rows."""
    installed = history.installed.get((scope.run, scope.group, scope.view), {})
    return {
        process: entry
        for process, entry in history.successors(scope).items()
        if process in installed and process in scope.viewed
    }


def judge_self_delivery(history: History) -> PropertyVerdict:
    """Judge whether each process delivered its own messages before it left the view."""
    findings: list[Finding] = []
    excused: list[str] = []
    for scope in history.scopes:
        successors = history.successors(scope)
        for message, multicast in scope.multicasts.items():
            process = multicast.process
            if not is_bound(history, scope, process):
                excused.append(process)
            elif is_missing(history, scope, process, message):
                explain = partial(
                    explain_own_missing,
                    scope,
                    multicast,
                    successors.get(process),
                    history.end_of(scope, process),
                )
                findings.append(((process, (scope.group, scope.view, *message)), explain))
    untested = self_delivery_untested(history)
    return concluded(Property.SELF_DELIVERY, findings, words.not_held(excused), untested=untested)

"""The definitions of docs/properties.md that are about views, and about what nobody may miss.

As in ``definitions``: loops over loops, for tiny traces whose rows are not numbered; counts only.
"""

from collections.abc import Sequence

from tests.oracle.definitions import (
    UNKNOWN,
    Facts,
    Scope,
    counts,
    facts_of,
    is_whole,
    known_in_groups,
    precedes,
    scope_of,
    whole_members,
)
from tests.oracle.tested_definitions import is_decision_tested, put_to_the_test
from tests.oracle.total_definitions import new_counts, wrong_decision_count

from antiphon.trace.schema import LEFT, Event
from antiphon.trace.verdict import Property


def all_counts(rows: Sequence[Event]) -> dict[Property, int]:
    """Return how often each property is broken; -1 for unknown, or not put to the test."""
    decisions = wrong_decision_count(rows)
    if decisions == 0 and not is_decision_tested(rows):
        decisions = UNKNOWN
    if not any(row.kind == "deliver" for row in rows):
        return dict.fromkeys(Property, UNKNOWN) | {Property.COMMIT: decisions}
    facts = facts_of(rows)
    has_views = any(row.kind == "view" for row in rows)
    tested = put_to_the_test(rows, facts)
    found = counts(rows) | {
        Property.VIEWS: wrong_view_count(rows) if has_views else UNKNOWN,
        Property.SENDING_VIEW: strayed_count(rows) if has_views else UNKNOWN,
        Property.VIEW_ATOMIC: not_atomic_count(rows, facts) if has_views else UNKNOWN,
        Property.NO_ORPHAN: known_in_groups(
            rows, sum(is_orphan(facts, *delivery) for delivery in facts.deliveries)
        ),
        Property.SELF_DELIVERY: own_missing_count(rows, facts),
        Property.LIVENESS: stalled_count(rows, facts),
        **new_counts(rows, facts),
    }
    known = {
        which: count if count or which in tested else UNKNOWN for which, count in found.items()
    }
    return known | {Property.COMMIT: decisions}


def view_lines(rows: Sequence[Event], like: Event) -> list[int]:
    """Return where the process of a row installs views of the row's group."""
    wanted = (like.run, like.process, like.group)
    return [
        line for line, row in enumerate(rows)
        if row.kind == "view" and (row.run, row.process, row.group) == wanted
    ]  # fmt: skip


def wrong_view_count(rows: Sequence[Event]) -> int:
    """Return how many view rows have other members, the wrong number, or not their process."""
    return sum(
        has_other_members(rows, row) or is_out_of_turn(rows, line) or is_stranger(rows, line)
        for line, row in enumerate(rows)
        if row.kind == "view"
    )


def has_other_members(rows: Sequence[Event], row: Event) -> bool:
    """Whether the process that comes first by name installed this view with other members."""
    same = [other for other in rows if other.kind == "view" and scope_of(other) == scope_of(row)]
    first_name = min(other.process for other in same)
    first = next(other for other in same if other.process == first_name)
    return row.members != first.members


def is_out_of_turn(rows: Sequence[Event], line: int) -> bool:
    """Whether a view's number is not the next after that of the view before."""
    before = [other for other in view_lines(rows, rows[line]) if other < line]
    return bool(before) and rows[line].view != rows[before[-1]].view + 1


def is_stranger(rows: Sequence[Event], line: int) -> bool:
    """Whether a process installs a view without itself, other than as the last, by leaving."""
    row = rows[line]
    if row.process in (row.members or ()):
        return False
    record = [other for other in rows if (other.run, other.process) == (row.run, row.process)]
    groups = {one.group for one in record if one.kind == "view"}
    has_left = (record[-1].kind, record[-1].detail) == ("stop", LEFT) or len(groups) > 1
    is_cut_off = record[-1].kind != "stop" and not is_whole(rows, row.run, row.process)
    may_leave = has_left or is_cut_off
    return not (may_leave and line == view_lines(rows, row)[-1])


def strayed_count(rows: Sequence[Event]) -> int:
    """Return how many messages were multicast or delivered outside their view."""
    count = 0
    for line, row in enumerate(rows):
        views = view_lines(rows, row)
        if row.kind in {"multicast", "deliver"} and views:
            before = [other for other in views if other < line]
            is_at_home = bool(before) and rows[before[-1]].view == row.view
            count += 0 if is_at_home else row.count
    return count


def installers(rows: Sequence[Event], scope: Scope) -> set[str]:
    """Return who installed a view."""
    return {row.process for row in rows if row.kind == "view" and scope_of(row) == scope}


def next_scope(scope: Scope) -> Scope:
    """Return the view that follows."""
    run, group, view = scope
    return run, group, view + 1


def not_atomic_count(rows: Sequence[Event], facts: Facts) -> int:
    """Return how much of what one who went on delivered, others who went on did not."""
    count = 0
    for scope in sorted({scope_of(row) for row in rows}):
        listed = {
            name
            for row in rows
            if row.kind == "view" and scope_of(row) == scope
            for name in row.members or ()
        }
        movers = listed & installers(rows, scope) & installers(rows, next_scope(scope))
        messages = {
            message for process, message in facts.deliveries
            if process in movers and message[0] == scope
        }  # fmt: skip
        count += sum(
            (mover, message) not in facts.deliveries for mover in movers for message in messages
        )
    return count


def is_orphan(facts: Facts, process: str, message: tuple[Scope, str, int]) -> bool:
    """Whether a process delivered a message and never something that came before it."""
    if message not in facts.multicasts or message in facts.in_fifo_order:
        return False
    return any(
        precedes(facts, other, message) and (process, other) not in facts.deliveries
        for other in facts.multicasts
    )


def own_missing_count(rows: Sequence[Event], facts: Facts) -> int:
    """Return how many messages their sender did not deliver, though it went on, or ended well."""
    return sum(
        (sender, (scope, sender, number)) not in facts.deliveries
        for scope, sender, number in facts.multicasts
        if sender in installers(rows, next_scope(scope)) or is_whole(rows, scope[0], sender)
    )


def stalled_count(rows: Sequence[Event], facts: Facts) -> int:
    """Return how many messages of whole processes are missing at whole members."""
    return sum(
        (member, (scope, sender, number)) not in facts.deliveries
        for scope, sender, number in facts.multicasts
        if is_whole(rows, scope[0], sender)
        for member in whole_members(rows, scope)
    )

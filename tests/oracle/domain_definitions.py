"""What docs/properties.md says of several groups, read out literally: loops over loops.

All groups are one domain. Rows are users' rows or journals, in local order. Counts only.
"""

from collections.abc import Sequence

from tests.oracle.definitions import (
    UNKNOWN,
    Facts,
    Message,
    Scope,
    breaks_causal,
    facts_of,
    is_whole,
    scope_of,
)
from tests.oracle.view_definitions import is_orphan

from antiphon.trace.schema import SETS_ORDER, Event

Pasts = dict[Message, set[Message]]


def pasts_of(rows: Sequence[Event], facts: Facts) -> Pasts:
    """Return what comes before each message: the least sets that fit the definition."""
    apart = {
        (scope_of(row), row.process, number)
        for row in rows
        if row.kind == "multicast" and (row.detail == SETS_ORDER or row.order == "fifo")
        for number in range(row.first, row.first + row.count)
    }
    pasts: Pasts = {message: set() for message in facts.multicasts}
    has_grown = True
    while has_grown:
        has_grown = False
        for message, at in facts.multicasts.items():
            if message in apart:
                continue
            for other, other_at in facts.multicasts.items():
                is_known = (other[1] == message[1] and other_at < at) or (
                    facts.deliveries.get((message[1], other), at) < at
                )
                if is_known and other != message:
                    found = {other} | pasts[other]
                    has_grown |= not found <= pasts[message]
                    pasts[message] |= found
    return pasts


def causal_count(rows: Sequence[Event]) -> int:
    """Return how many deliveries break causal order, within a view or across groups."""
    facts = facts_of(rows)
    pasts = pasts_of(rows, facts)
    has_circle = any(message in past for message, past in pasts.items())
    count = sum(
        breaks_causal(facts, process, message)
        or (not has_circle and is_late_across(facts, pasts, process, message))
        for process, message in facts.deliveries
    )
    return UNKNOWN if has_circle and not count else count


def is_late_across(facts: Facts, pasts: Pasts, process: str, message: Message) -> bool:
    """Whether a process delivers later what comes before a message."""
    at = facts.deliveries[process, message]
    return at != facts.multicasts.get(message) and any(
        facts.deliveries.get((process, other), at) > at for other in pasts.get(message, set())
    )


def orphan_count(rows: Sequence[Event]) -> int:
    """Return how many deliveries are without what comes before them, whatever the order."""
    facts = facts_of(rows)
    pasts = pasts_of(rows, facts)
    has_circle = any(message in past for message, past in pasts.items())
    count = doubt_count = 0
    for (process, message), at in facts.deliveries.items():
        is_recorded = at != facts.multicasts.get(message)
        lost = {
            other
            for other in (pasts.get(message, set()) if is_recorded else ())
            if (process, other) not in facts.deliveries and process in members(rows, other[0])
        }
        sure = {other for other in lost if not is_doubtful(rows, other[0])}
        if is_orphan(facts, process, message) or (sure and not has_circle):
            count += 1
        elif lost and not has_circle:
            doubt_count += 1
    return UNKNOWN if (has_circle or doubt_count) and not count else count


def members(rows: Sequence[Event], scope: Scope) -> set[str]:
    """Return who is in a view: those listed, or else all that took part."""
    here = [row for row in rows if scope_of(row) == scope]
    listed = {name for row in here if row.kind == "view" for name in row.members or ()}
    return listed or {row.process for row in here if row.kind in {"multicast", "deliver"}}


def is_doubtful(rows: Sequence[Event], scope: Scope) -> bool:
    """Whether more members of a view failed than its rows say it stands."""
    run, group, view = scope
    installed = [row for row in rows if row.kind == "view"]
    gone_on = {row.process for row in installed if scope_of(row) == (run, group, view + 1)}
    stands = [row.resilience for row in installed if scope_of(row) == scope]
    failed = [
        name
        for name in members(rows, scope)
        if name not in gone_on and not is_whole(rows, run, name)
    ]
    return len(failed) > min(stands, default=0)

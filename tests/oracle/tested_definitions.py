"""Which properties a trace puts to the test, by docs/properties.md: loops over loops.

As in ``definitions``: for tiny traces whose rows are not numbered.
"""

from collections.abc import Sequence

from tests.oracle.definitions import (
    Facts,
    Scope,
    is_whole,
    scope_of,
    tells_of_own,
    whole_members,
)
from tests.oracle.total_definitions import transaction_of, went_on

from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property

ALWAYS = {Property.NO_DUPLICATE, Property.NO_CREATION, Property.VIEWS}


def put_to_the_test(rows: Sequence[Event], facts: Facts) -> set[Property]:
    """Return the properties that something in a trace could have broken."""
    scopes = sorted({scope_of(row) for row in rows})
    acts = [row for row in rows if row.kind in {"multicast", "deliver"}]
    total = {scope_of(row) for row in acts if row.order == "total"}
    uniform = {scope_of(row) for row in acts if row.uniform}
    tests = {
        Property.FIFO: any(is_ordered(rows, facts, scope) for scope in scopes),
        Property.CAUSAL: is_causal_asked(rows, facts, scopes),
        Property.NO_ORPHAN: is_causal_asked(rows, facts, scopes),
        Property.AGREEMENT: any(
            has_two_to_agree(facts, scope, whole_members(rows, scope)) for scope in scopes
        ),
        Property.SENDING_VIEW: any(has_view(rows, row) for row in acts),
        Property.VIEW_ATOMIC: any(
            has_two_to_agree(facts, scope, movers(rows, scope)) for scope in scopes
        ),
        Property.SELF_DELIVERY: any(
            is_bound(rows, sender, scope) and records_own(rows, sender, scope)
            for scope, sender, _ in facts.multicasts
        ),
        Property.LIVENESS: any(
            is_whole(rows, scope[0], sender)
            and any(
                member != sender or records_own(rows, sender, scope)
                for member in whole_members(rows, scope)
            )
            for scope, sender, _ in facts.multicasts
        ),
        Property.TOTAL: any(has_two_orders(rows, scope) for scope in total),
        Property.TOTAL_CAUSAL: any(is_ordered(rows, facts, scope) for scope in total),
        Property.UNIFORM: any(
            deliverers(rows, scope) - {member}
            for scope in uniform
            for member in {*whole_members(rows, scope), *movers(rows, scope)}
        ),
    }
    return ALWAYS | {which for which, is_tested in tests.items() if is_tested}


def is_decision_tested(rows: Sequence[Event]) -> bool:
    """Whether a transaction that was decided has another vote or decision."""
    ballots = [row for row in rows if row.kind in {"vote", "decide"}]
    return any(
        row is not other and transaction_of(row) == transaction_of(other)
        for row in ballots
        if row.kind == "decide"
        for other in ballots
    )


def is_ordered(rows: Sequence[Event], facts: Facts, scope: Scope) -> bool:
    """Whether a deliver row of the scope is of a message that was multicast."""
    return any(
        (scope, row.sender, row.first + place) in facts.multicasts
        for row in rows
        if row.kind == "deliver" and scope_of(row) == scope
        for place in range(row.count)
    )


def is_causal_asked(rows: Sequence[Event], facts: Facts, scopes: list[Scope]) -> bool:
    """Whether anything was multicast other than in fifo order, and anything can be judged."""
    is_asked = any(row.kind == "multicast" and row.order != "fifo" for row in rows)
    return is_asked and any(is_ordered(rows, facts, scope) for scope in scopes)


def has_two_to_agree(facts: Facts, scope: Scope, who: list[str]) -> bool:
    """Whether these are two or more, and one of them delivered something."""
    return len(who) > 1 and any(
        process in who and message[0] == scope for process, message in facts.deliveries
    )


def has_view(rows: Sequence[Event], like: Event) -> bool:
    """Whether the process of a row installed a view of its group."""
    return any(
        row.kind == "view"
        and (row.run, row.process, row.group) == (like.run, like.process, like.group)
        for row in rows
    )


def movers(rows: Sequence[Event], scope: Scope) -> list[str]:
    """Return the members that installed a view and the next."""
    views = [row for row in rows if row.kind == "view" and scope_of(row) == scope]
    listed = {name for row in views for name in row.members or ()}
    return sorted(
        {
            row.process
            for row in views
            if row.process in listed and went_on(rows, row.process, scope)
        }
    )


def is_bound(rows: Sequence[Event], process: str, scope: Scope) -> bool:
    """Whether a process was there to the end, of all or of the view."""
    return is_whole(rows, scope[0], process) or went_on(rows, process, scope)


def records_own(rows: Sequence[Event], process: str, scope: Scope) -> bool:
    """Whether a process records deliveries of its own messages, or has to."""
    return any(
        tells_of_own(row) for row in rows if row.process == process and scope_of(row) == scope
    )


def deliverers(rows: Sequence[Event], scope: Scope) -> set[str]:
    """Return who has deliver rows in a scope."""
    return {row.process for row in rows if row.kind == "deliver" and scope_of(row) == scope}


def has_two_orders(rows: Sequence[Event], scope: Scope) -> bool:
    """Whether two processes that are held to total order delivered something in a scope."""
    is_uniform = any(
        row.kind in {"multicast", "deliver"}
        and row.order == "total"
        and row.uniform
        and scope_of(row) == scope
        for row in rows
    )
    held = [name for name in deliverers(rows, scope) if is_uniform or is_bound(rows, name, scope)]
    return len(held) > 1

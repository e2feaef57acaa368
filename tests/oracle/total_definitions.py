"""The definitions of docs/properties.md about total order, uniform delivery and transactions.

As in ``definitions``: loops over loops, for tiny traces whose rows are not numbered; counts only.
"""

from collections.abc import Sequence

from tests.oracle.definitions import (
    UNKNOWN,
    Facts,
    Message,
    Scope,
    is_missing_before,
    is_whole,
    known_in_groups,
    messages_of,
    precedes,
    scope_of,
    whole_members,
)

from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property


def new_counts(rows: Sequence[Event], facts: Facts) -> dict[Property, int]:
    """Return how often each of these properties is broken; -1 for unknown."""
    acts = [row for row in rows if row.kind in {"multicast", "deliver"}]
    has_total = any(row.order == "total" for row in acts)
    has_uniform = any(row.uniform for row in acts)
    return {
        Property.TOTAL: two_orders_count(rows, facts) if has_total else UNKNOWN,
        Property.TOTAL_CAUSAL: (
            known_in_groups(rows, uncausal_count(rows, facts)) if has_total else UNKNOWN
        ),
        Property.UNIFORM: not_uniform_count(rows, facts) if has_uniform else UNKNOWN,
        Property.COMMIT: wrong_decision_count(rows),
    }


def asked(rows: Sequence[Event], message: Message) -> list[Event]:
    """Return the rows that say what is asked of a message."""

    def telling(kind: str) -> list[Event]:
        return [
            row for row in rows
            if row.kind == kind and message in [covered for _, covered in messages_of(row)]
        ]  # fmt: skip

    return telling("multicast")[:1] or telling("deliver")


def is_total(rows: Sequence[Event], message: Message) -> bool:
    """Whether a message is in total order."""
    return any(row.order == "total" for row in asked(rows, message))


def is_uniform(rows: Sequence[Event], message: Message) -> bool:
    """Whether a message is uniform."""
    return any(row.uniform for row in asked(rows, message))


def went_on(rows: Sequence[Event], process: str, scope: Scope) -> bool:
    """Whether a process installed the view that follows."""
    run, group, view = scope
    return any(
        row.kind == "view" and row.process == process and scope_of(row) == (run, group, view + 1)
        for row in rows
    )


def two_orders_count(rows: Sequence[Event], facts: Facts) -> int:
    """Return how many messages came before one that a process earlier by name had first."""
    deliveries = {
        (process, message): place
        for (process, message), place in facts.deliveries.items()
        if is_total(rows, message)
    }
    uniform = {message for _, message in deliveries if is_uniform(rows, message)}
    bound = {
        (process, message[0])
        for process, message in deliveries
        if is_whole(rows, message[0][0], process) or went_on(rows, process, message[0])
    }
    return sum(
        any(
            is_other_way_round(deliveries, (process, other), (message, earlier))
            for other, earlier in deliveries
            if other < process
            and earlier[0] == message[0]
            and (
                {message, earlier} <= uniform
                or {(process, message[0]), (other, message[0])} <= bound
            )
        )
        for process, message in deliveries
    )


def is_other_way_round(
    deliveries: dict[tuple[str, Message], tuple[int, int]],
    processes: tuple[str, str],
    messages: tuple[Message, Message],
) -> bool:
    """Whether the first process delivers the first message first, and the second the second."""
    (here, there), (message, earlier) = processes, messages
    if (here, earlier) not in deliveries or (there, message) not in deliveries:
        return False
    return (
        deliveries[here, message] < deliveries[here, earlier]
        and deliveries[there, earlier] < deliveries[there, message]
    )


def uncausal_count(rows: Sequence[Event], facts: Facts) -> int:
    """Return how many messages in total order came before others that belong before them."""
    in_order = [message for message in facts.multicasts if is_total(rows, message)]
    return sum(
        any(
            precedes(facts, other, message) and is_missing_before(facts, process, other, message)
            for other in in_order
        )
        for process, message in facts.deliveries
        if message in in_order
    )


def not_uniform_count(rows: Sequence[Event], facts: Facts) -> int:
    """Return how many uniform messages that anybody delivered are missing at those who went on."""
    count = 0
    for scope in sorted({scope_of(row) for row in rows}):
        views = [row for row in rows if row.kind == "view" and scope_of(row) == scope]
        listed = {name for row in views for name in row.members or ()}
        movers = {
            row.process for row in views
            if row.process in listed and went_on(rows, row.process, scope)
        }  # fmt: skip
        messages = {
            message for _, message in facts.deliveries
            if message[0] == scope and is_uniform(rows, message)
        }  # fmt: skip
        count += sum(
            (member, message) not in facts.deliveries
            for member in movers | set(whole_members(rows, scope))
            for message in messages
        )
    return count


def wrong_decision_count(rows: Sequence[Event]) -> int:
    """Return how many decisions commit what was refused, or are not like the first by name."""
    decisions = [row for row in rows if row.kind == "decide"]
    count = 0
    for row in decisions:
        same = [other for other in decisions if transaction_of(other) == transaction_of(row)]
        first = min(same, key=lambda other: other.process)
        is_refused = any(
            vote.kind == "vote" and vote.detail == "no"
            for vote in rows
            if transaction_of(vote) == transaction_of(row)
        )
        count += (row.detail == "commit" and is_refused) or row.detail != first.detail
    return count if decisions else UNKNOWN


def transaction_of(row: Event) -> tuple[str, str, str, int]:
    """Return which transaction a vote or decision is about."""
    return row.run, row.group, row.sender, row.first

"""The definitions of docs/properties.md, read out literally: loops over loops, for tiny traces.

Rows here are users' rows, not numbered. Counts only; nothing is explained.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from antiphon.trace.schema import LEFT, QUIESCENT, Event
from antiphon.trace.verdict import Property

Scope = tuple[str, str, int]
Message = tuple[Scope, str, int]
Place = tuple[int, int]

UNKNOWN = -1

FIVE = (
    Property.FIFO,
    Property.CAUSAL,
    Property.NO_DUPLICATE,
    Property.NO_CREATION,
    Property.AGREEMENT,
)


class Facts(NamedTuple):
    """First multicasts, by message, and first deliveries, by process and message."""

    multicasts: dict[Message, Place]
    in_fifo_order: set[Message]
    deliveries: dict[tuple[str, Message], Place]
    surplus_count: int


def counts(rows: Sequence[Event]) -> dict[Property, int]:
    """Return how often each of five properties is broken; -1 for unknown."""
    if not any(row.kind == "deliver" for row in rows):
        return dict.fromkeys(FIVE, UNKNOWN)
    facts = facts_of(rows)
    return {
        Property.FIFO: sum(breaks_fifo(facts, *delivery) for delivery in facts.deliveries),
        Property.CAUSAL: known_in_groups(
            rows, sum(breaks_causal(facts, *delivery) for delivery in facts.deliveries)
        ),
        Property.NO_DUPLICATE: facts.surplus_count,
        Property.NO_CREATION: creation_count(rows, facts),
        Property.AGREEMENT: disagreement_count(rows, facts),
    }


def known_in_groups(rows: Sequence[Event], count: int) -> int:
    """Return how often a rule about causes is broken: unknown if only across groups, perhaps."""
    groups: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row.kind in {"multicast", "deliver", "view"}:
            groups.setdefault((row.run, row.process), set()).add(row.group)
    is_in_several = any(len(names) > 1 for names in groups.values())
    return UNKNOWN if is_in_several and not count else count


def scope_of(row: Event) -> Scope:
    """Return run, group and view."""
    return row.run, row.group, row.view


def messages_of(row: Event) -> Iterator[tuple[int, Message]]:
    """Yield the single messages of a row, with their places in it."""
    for place in range(row.count):
        yield place, (scope_of(row), row.sender or row.process, row.first + place)


def facts_of(rows: Sequence[Event]) -> Facts:
    """Return who multicast and delivered what, when first; lines are places at the process."""
    facts = Facts({}, set(), {}, 0)
    surplus_count = 0
    for line, row in enumerate(rows):
        for place, message in messages_of(row):
            if row.kind == "multicast":
                surplus_count += message in facts.multicasts
                if row.order == "fifo" and message not in facts.multicasts:
                    facts.in_fifo_order.add(message)
                facts.multicasts.setdefault(message, (line, place))
            elif row.kind == "deliver":
                surplus_count += (row.process, message) in facts.deliveries
                facts.deliveries.setdefault((row.process, message), (line, place))
    own = {(scope_of(row), row.process) for row in rows if tells_of_own(row)}
    for (scope, sender, number), first in facts.multicasts.items():
        if (scope, sender) not in own:
            facts.deliveries[sender, (scope, sender, number)] = first
    return facts._replace(surplus_count=surplus_count)


def tells_of_own(row: Event) -> bool:
    """Whether a process delivers its own, or would have to say so: it asks for more than causal."""
    is_asked = row.kind == "multicast" and (row.order == "total" or row.uniform)
    return is_asked or (row.kind == "deliver" and row.sender == row.process)


def breaks_fifo(facts: Facts, process: str, message: Message) -> bool:
    """Whether a message that its sender multicast before this one is missing here."""
    return message in facts.multicasts and any(
        other[:2] == message[:2]
        and place < facts.multicasts[message]
        and is_missing_before(facts, process, other, message)
        for other, place in facts.multicasts.items()
    )


def breaks_causal(facts: Facts, process: str, message: Message) -> bool:
    """Whether a message that its sender multicast or delivered before this one is missing here."""
    if message not in facts.multicasts or message in facts.in_fifo_order:
        return False
    return any(
        precedes(facts, other, message) and is_missing_before(facts, process, other, message)
        for other in facts.multicasts
    )


def precedes(facts: Facts, other: Message, message: Message) -> bool:
    """Whether the sender of a message multicast or delivered another before multicasting it."""
    scope, sender, _ = message
    if other[0] != scope or other == message:
        return False
    if other[1] == sender and facts.multicasts[other] < facts.multicasts[message]:
        return True
    delivered = facts.deliveries.get((sender, other))
    return delivered is not None and delivered < facts.multicasts[message]


def is_missing_before(facts: Facts, process: str, other: Message, message: Message) -> bool:
    """Whether ``process`` had not delivered ``other`` when it delivered ``message``."""
    delivered = facts.deliveries.get((process, other))
    return delivered is None or delivered > facts.deliveries[process, message]


def is_whole(rows: Sequence[Event], run: str, process: str) -> bool:
    """Whether the record of a process is there up to its end."""
    record = [row for row in rows if (row.run, row.process) == (run, process)]
    if not record or any(row.kind == "crash" for row in record):
        return False
    if not any(row.kind == "start" for row in record):
        return True
    return record[-1].kind == "stop" and record[-1].detail in (QUIESCENT, LEFT)


def creation_count(rows: Sequence[Event], facts: Facts) -> int:
    """Return how many deliveries have no multicast, or are the sender's own and before it."""
    created = excused = 0
    for (process, message), place in facts.deliveries.items():
        (scope, sender, number) = message
        if message not in facts.multicasts:
            created += 1
            numbers = [other[2] for other in facts.multicasts if other[:2] == (scope, sender)]
            excused += not is_whole(rows, scope[0], sender) and number > max(numbers, default=0)
        elif process == sender and place < facts.multicasts[message]:
            created += 1
    return UNKNOWN if created and created == excused else created - excused


def disagreement_count(rows: Sequence[Event], facts: Facts) -> int:
    """Return how many messages delivered by a whole member are missing at another."""
    count = 0
    for scope in sorted({scope_of(row) for row in rows}):
        whole = whole_members(rows, scope)
        delivered = {
            message
            for process, message in facts.deliveries
            if process in whole and message[0] == scope
        }
        count += sum(
            (member, message) not in facts.deliveries for member in whole for message in delivered
        )
    return count


def whole_members(rows: Sequence[Event], scope: Scope) -> list[str]:
    """Return who must agree: those listed in views, or else all that took part, if whole."""
    here = [row for row in rows if scope_of(row) == scope]
    members = {name for row in here if row.kind == "view" for name in row.members or ()}
    if not members:
        members = {row.process for row in here if row.kind in {"multicast", "deliver"}}
    return sorted(name for name in members if is_whole(rows, scope[0], name))

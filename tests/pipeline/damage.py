"""Damage that a window of a right trace shows for certain, and the property that it breaks.

Law: each function changes rows in place where what it needs is in the window, and says whether it
did. What has to be found is what the window alone proves.
"""

from collections.abc import Callable
from random import Random

import msgspec

from antiphon.trace.schema import ABORT, COMMIT, Event
from antiphon.trace.verdict import Property

Damage = Callable[[list[Event], Random], bool]


def swap(rows: list[Event], dice: Random) -> bool:
    """Let a process deliver two runs of a sender the other way round, both multicast on record."""
    pairs = [
        (one, two)
        for one, two in _pairs(rows)
        if _is_sent(rows, rows[one]) and _is_sent(rows, rows[two])
    ]
    if pairs:
        one, two = dice.choice(pairs)
        rows[one], rows[two] = _exchanged(rows[one], rows[two])
    return bool(pairs)


def lose_delivery(rows: list[Event], dice: Random) -> bool:
    """Let a process have no delivery between two others of the same sender, multicast on record."""
    pairs = _pairs(rows)
    followers = dict(pairs)
    middles = [
        two
        for _, two in pairs
        if two in followers and _is_sent(rows, rows[two]) and _is_sent(rows, rows[followers[two]])
    ]
    if middles:
        del rows[dice.choice(middles)]
        _renumber(rows)
    return bool(middles)


def repeat(rows: list[Event], dice: Random) -> bool:
    """Let a process deliver a run again."""
    places = [place for place, row in enumerate(rows) if row.kind == "deliver"]
    if places:
        row = rows[dice.choice(places)]
        last = max(place for place, other in enumerate(rows) if other.process == row.process)
        rows.insert(last, msgspec.structs.replace(row))
        _renumber(rows)
    return bool(places)


def lose_multicast(rows: list[Event], dice: Random) -> bool:
    """Lose a multicast between two others of its sender; somebody delivered it."""
    sent = [place for place, row in enumerate(rows) if row.kind == "multicast"]
    middles = [
        place
        for place in sent
        if _is_delivered(rows, rows[place])
        and any(_scope(rows[one]) == _scope(rows[place]) for one in sent if one < place)
        and any(_scope(rows[one]) == _scope(rows[place]) for one in sent if one > place)
    ]
    if middles:
        del rows[dice.choice(middles)]
        _renumber(rows)
    return bool(middles)


def mislist(rows: list[Event], dice: Random) -> bool:
    """Let a process install a view with other members than another."""
    views = [place for place, row in enumerate(rows) if row.kind == "view"]
    shared = [
        place
        for place in views
        if any(
            (rows[other].group, rows[other].view) == (rows[place].group, rows[place].view)
            for other in views
            if rows[other].process != rows[place].process
        )
    ]
    is_judged = bool(shared) and any(row.kind == "deliver" for row in rows)
    if is_judged:
        place = dice.choice(shared)
        members = [*(rows[place].members or []), "nobody"]
        rows[place] = msgspec.structs.replace(rows[place], members=members)
    return is_judged


def decide_otherwise(rows: list[Event], dice: Random) -> bool:
    """Let a process decide otherwise than another."""
    decided = [place for place, row in enumerate(rows) if row.kind == "decide"]
    shared = [
        place
        for place in decided
        if any(
            _transaction(rows[one]) == _transaction(rows[place]) for one in decided if one != place
        )
    ]
    if shared:
        place = dice.choice(shared)
        detail = ABORT if rows[place].detail == COMMIT else COMMIT
        rows[place] = msgspec.structs.replace(rows[place], detail=detail)
    return bool(shared)


DAMAGE: dict[Property, Damage] = {
    Property.FIFO: swap,
    Property.NO_ORPHAN: lose_delivery,
    Property.NO_DUPLICATE: repeat,
    Property.NO_CREATION: lose_multicast,
    Property.VIEWS: mislist,
    Property.COMMIT: decide_otherwise,
}


def _scope(row: Event) -> tuple[str, str, int]:
    return row.process, row.group, row.view


def _transaction(row: Event) -> tuple[str, str, int]:
    return row.group, row.sender, row.first


def _pairs(rows: list[Event]) -> list[tuple[int, int]]:
    """Return where a process delivers something of another, and later what follows it."""
    places = [
        place
        for place, row in enumerate(rows)
        if row.kind == "deliver" and row.sender != row.process
    ]
    return [
        (one, two)
        for one in places
        for two in places
        if (_scope(rows[one]), rows[one].sender) == (_scope(rows[two]), rows[two].sender)
        and rows[one].first + rows[one].count == rows[two].first
    ]


def _is_sent(rows: list[Event], delivered: Event) -> bool:
    """Whether all of a row was multicast on record, not in fifo order alone."""
    numbers = {
        number
        for row in rows
        if row.kind == "multicast" and row.order != "fifo"
        and _scope(row) == (delivered.sender, delivered.group, delivered.view)
        for number in range(row.first, row.first + row.count)
    }  # fmt: skip
    return numbers.issuperset(range(delivered.first, delivered.first + delivered.count))


def _is_delivered(rows: list[Event], sent: Event) -> bool:
    return any(
        row.kind == "deliver"
        and (row.sender, row.group, row.view) == _scope(sent)
        and row.first < sent.first + sent.count
        and sent.first < row.first + row.count
        for row in rows
    )


def _exchanged(one: Event, two: Event) -> tuple[Event, Event]:
    return (
        msgspec.structs.replace(two, index=one.index),
        msgspec.structs.replace(one, index=two.index),
    )


def _renumber(rows: list[Event]) -> None:
    """Number anew the rows that were numbered, from where they began."""
    following: dict[str, int] = {}
    for place, row in enumerate(rows):
        if row.index >= 0:
            index = following.get(row.process, row.index)
            rows[place] = msgspec.structs.replace(row, index=index)
            following[row.process] = index + 1

"""Small traces of all sorts from a seed: causally ordered ones, and such ones spoilt.

Law: a seed is a trace. In some of them several groups and views run at once, in others groups go
from view to view (``view_worlds``), or nobody agrees (``scrambled_orders``); some processes crash,
some record their own deliveries, some rows are numbered; some messages are in total order, some
uniform, and some transactions are voted on and decided. Then, in most traces, a few rows are
swapped, dropped, repeated or forged.
"""

from collections.abc import Callable
from random import Random

import msgspec
from tests.pipeline.observed_scopes import Scope, deliveries, installed, multicasts
from tests.pipeline.scrambled_orders import scrambled_orders
from tests.pipeline.transactions import ballots
from tests.pipeline.view_worlds import ORDERS, changing_views

from antiphon.trace.schema import (
    ABORT,
    COMMIT,
    LEFT,
    NO,
    QUIESCENT,
    RUN_COUNT_MAX,
    YES,
    Event,
)

NUMBER_MAX = 2**63 - 1 - RUN_COUNT_MAX


def random_trace(seed: int) -> list[Event]:
    """Return the rows of a trace, in an order that keeps each process's own."""
    dice = Random(seed)
    rows = dice.choice(_WORLDS)(dice)
    for _ in range(dice.choice([0, 0, 1, 1, 2, 3, 5])):
        dice.choice(_SPOILERS)(rows, dice)
    rows = rows or [Event(process="a", kind="start")]
    if dice.random() < 0.5:
        _number(rows)
    return rows


def right_trace(dice: Random) -> list[Event]:
    """Return a trace in which every order is kept, though not everything may arrive."""
    names = [f"p{number}" for number in range(dice.randint(2, 5))]
    orders, uniform = dice.choice(ORDERS), dice.choice([0, 0, 0.5, 1])
    tells = dice.random() < 0.5
    scopes = [
        Scope(
            group, view, names, delivered={name: set() for name in names}, orders=orders,
            uniform=uniform, tells=tells,
        )
        for group in dice.choice([[""], ["g"], ["g", "h"]])
        for view in dice.choice([[1], [1], [1, 2]])
    ]  # fmt: skip
    is_journal, is_viewed = dice.random() < 0.6, dice.random() < 0.6
    rows = [Event(process=name, kind="start") for name in names if is_journal]
    rows += [
        installed(scope, name) for scope in scopes for name in names
        if is_viewed and dice.random() < 0.8
    ]  # fmt: skip
    rows += _happenings(scopes, names, dice)
    for group in dict.fromkeys(scope.group for scope in scopes):
        rows += ballots(group, names, dice)
    return rows + [row for name in names if is_journal for row in _end(name, dice)]


def _happenings(scopes: list[Scope], names: list[str], dice: Random) -> list[Event]:
    """Multicast and deliver at random; then, in most traces, deliver all that is left."""
    rows: list[Event] = []
    is_asked = any("total" in scope.orders or scope.uniform for scope in scopes)
    delivers_own = {name: dice.random() < 0.7 or is_asked for name in names}
    for _ in range(dice.randint(2, 40)):
        scope, name = dice.choice(scopes), dice.choice(names)
        act = multicasts if dice.random() < 0.3 else deliveries
        rows += act(scope, name, dice, delivers_own=delivers_own[name])
    if dice.random() < 0.8:
        for scope in scopes:
            for name in names:
                while scope.deliverable(name):
                    rows += deliveries(scope, name, dice, delivers_own=delivers_own[name])
    return rows


def _end(name: str, dice: Random) -> list[Event]:
    kind = dice.choice(["stop", "stop", "stop", "stop", "halt", "crash", ""])
    if kind == "stop":
        return [Event(process=name, kind="stop", detail=QUIESCENT)]
    if kind == "halt":
        return [Event(process=name, kind="stop", detail="told to")]
    return [Event(process=name, kind="crash")] if kind else []


def _number(rows: list[Event]) -> None:
    following: dict[str, int] = {}
    for place, row in enumerate(rows):
        index = following.get(row.process, 0)
        rows[place] = _changed(row, index=index)
        following[row.process] = index + 1


def _changed(row: Event, **changes: object) -> Event:
    return msgspec.structs.replace(row, **changes)


Spoiler = Callable[[list[Event], Random], None]


def _pick(rows: list[Event], dice: Random, *kinds: str) -> int | None:
    places = [place for place, row in enumerate(rows) if not kinds or row.kind in kinds]
    return dice.choice(places) if places else None


def _swap(rows: list[Event], dice: Random) -> None:
    one = _pick(rows, dice, "deliver", "multicast")
    if one is not None:
        same = [place for place, row in enumerate(rows) if row.process == rows[one].process]
        other = dice.choice(same)
        rows[one], rows[other] = rows[other], rows[one]


def _drop(rows: list[Event], dice: Random) -> None:
    place = _pick(rows, dice)
    if place is not None:
        del rows[place]


def _repeat(rows: list[Event], dice: Random) -> None:
    place = _pick(rows, dice, "deliver", "multicast", "view")
    if place is not None:
        rows.insert(dice.randint(0, len(rows)), rows[place])


def _forge(rows: list[Event], dice: Random) -> None:
    place = _pick(rows, dice, "deliver")
    if place is not None:
        row = rows[place]
        changes: list[dict[str, object]] = [
            {"sender": dice.choice(["p0", "p1", "ghost"])},
            {"first": max(1, row.first + dice.choice([-2, -1, 1, 2, 50]))},
            {"first": NUMBER_MAX - row.count + 1},
            {"count": dice.choice([1, 2, 5, 60])},
            {"view": dice.choice([1, 2, 3])},
            {"group": dice.choice(["", "g", "h"])},
            {"process": dice.choice(["p0", "p1", "stranger"])},
        ]
        change = dice.choice(changes)
        count = int(str(change.get("count", row.count)))
        first = int(str(change.get("first", row.first)))
        change["first"] = min(first, NUMBER_MAX - count + 1)
        rows[place] = _changed(row, **change)


def _forge_multicast(rows: list[Event], dice: Random) -> None:
    place = _pick(rows, dice, "multicast")
    if place is not None:
        row = rows[place]
        first = dice.choice([row.first + 1, row.first + 3, max(1, row.first - 1), 1, 1000])
        count, order = dice.choice([row.count, 1, 4]), dice.choice(["", "fifo", "total"])
        rows[place] = _changed(row, first=first, count=count, order=order)


def _deliver_own_early(rows: list[Event], dice: Random) -> None:
    own = [
        place for place, row in enumerate(rows)
        if row.kind == "deliver" and row.sender == row.process
    ]  # fmt: skip
    if own:
        row = rows.pop(dice.choice(own))
        rows.insert(dice.randint(0, len(rows) // 2), row)


def _cut_tail(rows: list[Event], dice: Random) -> None:
    place = _pick(rows, dice)
    if place is not None:
        name = rows[place].process
        rows[place:] = [row for row in rows[place:] if row.process != name]


def _crash(rows: list[Event], dice: Random) -> None:
    place = _pick(rows, dice)
    if place is not None:
        rows.insert(place, Event(process=rows[place].process, kind="crash"))


def _change_views(rows: list[Event], dice: Random) -> None:
    for place in reversed(range(len(rows))):
        row = rows[place]
        if row.kind == "view" and dice.random() < 0.5:
            members = row.members or []
            rows[place] = _changed(row, members=members[1:] or ["newcomer"])
        elif row.kind == "view":
            del rows[place]


def _split(rows: list[Event], dice: Random) -> None:
    runs = [place for place, row in enumerate(rows) if row.count > 1]
    if runs:
        place = dice.choice(runs)
        row = rows[place]
        count = dice.randint(1, row.count - 1)
        rest = _changed(row, first=row.first + count, count=row.count - count)
        rows[place : place + 1] = [_changed(row, count=count), rest]


def _merge(rows: list[Event], dice: Random) -> None:
    place = _pick(rows, dice, "deliver", "multicast")
    if place is not None and rows[place].first + rows[place].count + 3 < NUMBER_MAX:
        rows[place] = _changed(rows[place], count=rows[place].count + dice.choice([1, 2, 3]))


def _misnumber(rows: list[Event], dice: Random) -> None:
    """Record a view, or messages, under the number of another view."""
    place = _pick(rows, dice, dice.choice(["view", "deliver", "multicast"]))
    if place is not None:
        view = max(1, rows[place].view + dice.choice([-1, 1, 1, 2]))
        rows[place] = _changed(rows[place], view=view)


def _shift_view(rows: list[Event], dice: Random) -> None:
    """Install a view a little too early, or too late."""
    place = _pick(rows, dice, "view")
    if place is not None:
        same = [at for at, row in enumerate(rows) if row.process == rows[place].process]
        at = same.index(place) + dice.choice([-3, -2, -1, 1, 2, 3])
        rows.insert(same[max(0, min(at, len(same) - 1))], rows.pop(place))


def _mislist(rows: list[Event], dice: Random) -> None:
    """List other members, or the same in another order, at one process."""
    place = _pick(rows, dice, "view")
    if place is not None:
        members = list(rows[place].members or [])
        dice.shuffle(members)
        members = dice.choice([members, members[1:] or ["nobody"], [*members, f"x{len(members)}"]])
        rows[place] = _changed(rows[place], members=members)


def _unlist(rows: list[Event], dice: Random) -> None:
    """Leave somebody out of a view everywhere: all agree, but one is not in its own view."""
    place = _pick(rows, dice, "view")
    if place is not None:
        scope, gone = (rows[place].group, rows[place].view), dice.choice(rows[place].members or [])
        for at, row in enumerate(rows):
            if row.kind == "view" and (row.group, row.view) == scope:
                members = [name for name in row.members or [] if name != gone]
                rows[at] = _changed(row, members=members or ["nobody"])


def _forget(rows: list[Event], dice: Random) -> None:
    """Lose a delivery; the rest of what happened shows that it should be there."""
    place = _pick(rows, dice, "deliver")
    if place is not None:
        del rows[place]


def _end_otherwise(rows: list[Event], dice: Random) -> None:
    """End a record in another way."""
    place = _pick(rows, dice, "stop")
    if place is not None:
        rows[place] = _changed(rows[place], detail=dice.choice([LEFT, QUIESCENT, "excluded"]))


def _exchange(rows: list[Event], dice: Random) -> None:
    """Let a process deliver two messages of different senders the other way round."""
    place = _pick(rows, dice, "deliver")
    if place is not None:
        row = rows[place]
        others = [
            at for at, other in enumerate(rows)
            if other.kind == "deliver" and other.sender != row.sender
            and (other.process, other.group, other.view) == (row.process, row.group, row.view)
        ]  # fmt: skip
        if others:
            other = min(others, key=lambda at: abs(at - place))
            rows[place], rows[other] = rows[other], row


def _ask_otherwise(rows: list[Event], dice: Random) -> None:
    """Ask for more, or less, in some rows."""
    for place, row in enumerate(rows):
        if row.kind in {"multicast", "deliver"} and dice.random() < 0.3:
            order = dice.choice(["", "causal", "total", row.order])
            rows[place] = _changed(row, order=order, uniform=dice.random() < 0.5)


def _die_with_it(rows: list[Event], dice: Random) -> None:
    """Let all but one lose a message: that one delivered it, and died."""
    place = _pick(rows, dice, "deliver")
    if place is not None:
        row, name = rows[place], rows[place].process
        scope = (row.group, row.view, row.sender, row.first)
        rows[:] = [
            other for other in rows
            if other.kind != "deliver" or other.process == name
            or (other.group, other.view, other.sender, other.first) != scope
        ]  # fmt: skip
        rows.append(Event(process=name, kind="crash"))


def _decide_otherwise(rows: list[Event], dice: Random) -> None:
    """Turn a vote, or a decision, into its opposite."""
    place = _pick(rows, dice, "vote", "decide")
    if place is not None:
        turned = {YES: NO, NO: YES, COMMIT: ABORT, ABORT: COMMIT}
        rows[place] = _changed(rows[place], detail=turned[rows[place].detail])


def _misfile(rows: list[Event], dice: Random) -> None:
    """Record a vote, or a decision, as that of another transaction or process, or once more."""
    place = _pick(rows, dice, "vote", "decide")
    if place is not None:
        changes: list[dict[str, object]] = [
            {"sender": dice.choice(["p0", "p1", "ghost"])}, {"first": dice.choice([1, 2, 99])},
            {"group": dice.choice(["", "g", "h"])}, {"process": dice.choice(["p0", "p1"])},
        ]  # fmt: skip
        changed = _changed(rows[place], **dice.choice(changes))
        rows[place : place + dice.choice([0, 1])] = [changed]


_WORLDS = [right_trace, right_trace, changing_views, changing_views, scrambled_orders]

_SPOILERS: list[Spoiler] = [
    _swap, _swap, _swap, _drop, _repeat, _forge, _forge, _forge_multicast,
    _deliver_own_early, _cut_tail, _crash, _change_views, _split, _merge,
    _misnumber, _misnumber, _shift_view, _mislist, _unlist, _forget, _forget, _end_otherwise,
    _exchange, _exchange, _ask_otherwise, _die_with_it, _decide_otherwise, _decide_otherwise,
    _misfile,
]  # fmt: skip

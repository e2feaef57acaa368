"""Small traces of all sorts from a seed: causally ordered ones, and such ones spoilt.

Law: a seed is a trace. Nothing of the project's protocols is used: messages know the set of those
before them, and are delivered when that set has been. Several groups and views run at once; runs
are cut differently at each process; some processes crash, some record their own deliveries, some
rows are numbered. Then, in most traces, a few rows are swapped, dropped, repeated or forged.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import msgspec

from antiphon.trace.schema import QUIESCENT, RUN_COUNT_MAX, Event, Kind, Order

Message = tuple[str, int]
NUMBER_MAX = 2**63 - 1 - RUN_COUNT_MAX


@dataclass
class _Scope:
    """One view of one group, as an all-knowing observer sees it."""

    group: str
    view: int
    names: list[str]
    causes: dict[Message, set[Message]] = field(default_factory=dict)
    delivered: dict[str, set[Message]] = field(default_factory=dict)
    next_number: dict[str, int] = field(default_factory=dict)
    orders: list[Order] = field(default_factory=lambda: [""])
    """What is asked for on the send call, drawn anew for each run."""

    def deliverable(self, process: str) -> list[Message]:
        """Return what a process may deliver now, in a fixed order."""
        has = self.delivered[process]
        return [
            message for message, before in self.causes.items()
            if message not in has and before <= has
        ]  # fmt: skip


def random_trace(seed: int) -> list[Event]:
    """Return the rows of a trace, in an order that keeps each process's own."""
    dice = Random(seed)
    rows = right_trace(dice)
    for _ in range(dice.choice([0, 0, 1, 1, 2, 3, 5])):
        dice.choice(_SPOILERS)(rows, dice)
    rows = rows or [Event(process="a", kind="start")]
    if dice.random() < 0.5:
        _number(rows)
    return rows


def right_trace(dice: Random) -> list[Event]:
    """Return a trace in which every order is kept, though not everything may arrive."""
    names = [f"p{number}" for number in range(dice.randint(2, 5))]
    orders: list[Order] = dice.choice([[""], ["causal"], ["causal", "fifo"]])
    scopes = [
        _Scope(group, view, names, delivered={name: set() for name in names}, orders=orders)
        for group in dice.choice([[""], ["g"], ["g", "h"]])
        for view in dice.choice([[1], [1], [1, 2]])
    ]
    is_journal, is_viewed = dice.random() < 0.6, dice.random() < 0.6
    rows = [Event(process=name, kind="start") for name in names if is_journal]
    rows += [
        _view(scope, name) for scope in scopes for name in names
        if is_viewed and dice.random() < 0.8
    ]  # fmt: skip
    rows += _happenings(scopes, names, dice)
    return rows + [row for name in names if is_journal for row in _end(name, dice)]


def _happenings(scopes: list[_Scope], names: list[str], dice: Random) -> list[Event]:
    """Multicast and deliver at random; then, in most traces, deliver all that is left."""
    rows: list[Event] = []
    delivers_own = {name: dice.random() < 0.7 for name in names}
    for _ in range(dice.randint(2, 40)):
        scope, name = dice.choice(scopes), dice.choice(names)
        act = _multicasts if dice.random() < 0.3 else _deliveries
        rows += act(scope, name, dice, delivers_own=delivers_own[name])
    if dice.random() < 0.8:
        for scope in scopes:
            for name in names:
                while scope.deliverable(name):
                    rows += _deliveries(scope, name, dice, delivers_own=delivers_own[name])
    return rows


def _view(scope: _Scope, name: str) -> Event:
    return Event(
        process=name, kind="view", group=scope.group, view=scope.view, members=list(scope.names)
    )


def _multicasts(scope: _Scope, name: str, dice: Random, *, delivers_own: bool) -> list[Event]:
    """Multicast a run; deliver it oneself at once, later, or without a word."""
    first, count = scope.next_number.get(name, 1), dice.choice([1, 1, 2, 3, 7])
    scope.next_number[name] = first + count
    order = dice.choice(scope.orders)
    has_all = {(name, number) for number in range(1, first)} <= scope.delivered[name]
    is_at_once = not delivers_own or (has_all and dice.random() < 0.7)
    for number in range(first, first + count):
        own = {(name, before) for before in range(1, number)}
        scope.causes[name, number] = own if order == "fifo" else scope.delivered[name] | own
        if is_at_once:
            scope.delivered[name].add((name, number))
    rows = [_row("multicast", scope, name, (name, first), count, order)]
    if is_at_once and delivers_own:
        rows += _runs(scope, name, [(name, first + place) for place in range(count)], dice)
    return rows


def _deliveries(scope: _Scope, name: str, dice: Random, *, delivers_own: bool) -> list[Event]:
    """Deliver a message that may be delivered, and perhaps those of its sender that follow."""
    possible = scope.deliverable(name)
    if not possible:
        return []
    sender, number = dice.choice(possible)
    series = [(sender, number)]
    scope.delivered[name].add(series[0])
    while len(series) < 8 and dice.random() < 0.7:
        following = (sender, series[-1][1] + 1)
        if following not in scope.deliverable(name):
            break
        series.append(following)
        scope.delivered[name].add(following)
    if sender == name and not delivers_own:
        return []
    received = [Event(process=name, kind="receive", group=scope.group)] * dice.randint(0, 2)
    return received + _runs(scope, name, series, dice)


def _runs(scope: _Scope, name: str, series: list[Message], dice: Random) -> list[Event]:
    """Record consecutive messages of a sender in rows of any lengths."""
    rows, begin = [], 0
    while begin < len(series):
        count = dice.randint(1, len(series) - begin)
        rows.append(_row("deliver", scope, name, series[begin], count))
        begin += count
    return rows


def _row(
    kind: Kind, scope: _Scope, name: str, first: Message, count: int, order: Order = ""
) -> Event:
    sender, number = first
    is_told = kind == "deliver" or number % 2
    return Event(
        process=name, kind=kind, group=scope.group, view=scope.view,
        sender=sender if is_told else "", first=number, count=count, order=order,
    )  # fmt: skip


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
        count, order = dice.choice([row.count, 1, 4]), dice.choice(["", "fifo"])
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


_SPOILERS: list[Spoiler] = [
    _swap, _swap, _swap, _drop, _repeat, _forge, _forge, _forge_multicast,
    _deliver_own_early, _cut_tail, _crash, _change_views, _split, _merge,
]  # fmt: skip

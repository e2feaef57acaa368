"""One view of one group, as an all-knowing observer sees it, and what can be done in it.

Law: messages know the set of those before them, and are delivered when that set has been; those in
total order are delivered in the order in which they were multicast. Nothing of the project's
protocols is used. Runs are cut differently at each process.
"""

from dataclasses import dataclass, field
from random import Random

from antiphon.trace.schema import Event, Kind, Order

Message = tuple[str, int]


@dataclass
class Scope:
    """Who has multicast and delivered what there."""

    group: str
    view: int
    names: list[str]
    causes: dict[Message, set[Message]] = field(default_factory=dict)
    delivered: dict[str, set[Message]] = field(default_factory=dict)
    next_number: dict[str, int] = field(default_factory=dict)
    orders: list[Order] = field(default_factory=lambda: [""])
    """What is asked for on the send call, drawn anew for each run."""
    uniform: float = 0.0
    """How likely it is uniform."""
    tells: bool = False
    """Whether deliver rows repeat what was asked for."""
    asked: dict[Message, tuple[Order, bool]] = field(default_factory=dict)
    in_total_order: list[Message] = field(default_factory=list)

    def turn(self, process: str) -> Message | None:
        """Return which of the messages in total order comes next at a process."""
        has = self.delivered[process]
        return next((message for message in self.in_total_order if message not in has), None)

    def deliverable(self, process: str) -> list[Message]:
        """Return what a process may deliver now, in a fixed order."""
        has, turn = self.delivered[process], self.turn(process)
        return [
            message for message, before in self.causes.items()
            if message not in has and before <= has
            and (self.asked[message][0] != "total" or message == turn)
        ]  # fmt: skip


def installed(scope: Scope, name: str) -> Event:
    """Return the row in which a process installs the view."""
    return Event(
        process=name, kind="view", group=scope.group, view=scope.view, members=list(scope.names)
    )


def multicasts(scope: Scope, name: str, dice: Random, *, delivers_own: bool) -> list[Event]:
    """Multicast a run; deliver it oneself at once, later, or without a word."""
    first, count = scope.next_number.get(name, 1), dice.choice([1, 1, 2, 3, 7])
    scope.next_number[name] = first + count
    order, is_uniform = dice.choice(scope.orders), dice.random() < scope.uniform
    has_all = {(name, number) for number in range(1, first)} <= scope.delivered[name]
    is_its_turn = order != "total" or scope.turn(name) is None
    is_at_once = not delivers_own or (has_all and is_its_turn and dice.random() < 0.7)
    for number in range(first, first + count):
        own = {(name, before) for before in range(1, number)}
        scope.asked[name, number] = (order, is_uniform)
        scope.in_total_order += [(name, number)] if order == "total" else []
        scope.causes[name, number] = own if order == "fifo" else scope.delivered[name] | own
        if is_at_once:
            scope.delivered[name].add((name, number))
    rows = [_row("multicast", scope, name, (name, first), count)]
    if is_at_once and delivers_own:
        rows += _runs(scope, name, [(name, first + place) for place in range(count)], dice)
    return rows


def deliveries(scope: Scope, name: str, dice: Random, *, delivers_own: bool) -> list[Event]:
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


def _runs(scope: Scope, name: str, series: list[Message], dice: Random) -> list[Event]:
    """Record consecutive messages of a sender in rows of any lengths."""
    rows, begin = [], 0
    while begin < len(series):
        alike = [scope.asked[message] == scope.asked[series[begin]] for message in series[begin:]]
        count = dice.randint(1, (*alike, False).index(False))
        rows.append(_row("deliver", scope, name, series[begin], count))
        begin += count
    return rows


def _row(kind: Kind, scope: Scope, name: str, first: Message, count: int) -> Event:
    sender, number = first
    is_told = kind == "deliver" or number % 2
    is_repeated = kind == "multicast" or scope.tells
    order, is_uniform = scope.asked[first] if is_repeated else ("", False)
    return Event(
        process=name, kind=kind, group=scope.group, view=scope.view,
        sender=sender if is_told else "", first=number, count=count, order=order,
        uniform=is_uniform,
    )  # fmt: skip

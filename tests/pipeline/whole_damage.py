"""Damage to a whole, right trace, and the property that it is certain to break: one for each.

Law: each function changes the rows of a complete trace in place where what it needs is there, and
says whether it did. That the property is broken follows from docs/properties.md and from what the
function looked for, whoever judges. Nothing here asks a judge.
"""

from collections.abc import Iterator
from random import Random

from tests.pipeline.damage import (
    Damage,
    decide_otherwise,
    lose_delivery,
    lose_multicast,
    mislist,
    repeat,
    swap,
)

from antiphon.core.views import lineage_of
from antiphon.trace.schema import LEFT, QUIESCENT, Event
from antiphon.trace.verdict import Property

Scope = tuple[str, int]
"""Group and view."""

Message = tuple[str, int]


class _Trace:
    """What can be read off the rows of a right trace."""

    def __init__(self, rows: list[Event]) -> None:
        self.rows = rows
        self.multicasts: dict[tuple[Scope, Message], int] = {}
        """Where each message is multicast."""
        self.delivered: dict[tuple[Scope, Message], dict[str, int]] = {}
        """Where each process has a deliver row of it."""
        self.views: dict[tuple[str, str, int], int] = {}
        """By process, group and number: where it installs a view."""
        for place, row in enumerate(rows):
            scope = (row.group, row.view)
            if row.kind == "view":
                self.views.setdefault((row.process, *scope), place)
            for number in range(row.first, row.first + row.count):
                if row.kind == "multicast":
                    self.multicasts[scope, (row.process, number)] = place
                elif row.kind == "deliver":
                    of_message = self.delivered.setdefault((scope, (row.sender, number)), {})
                    of_message[row.process] = place

    def is_whole(self, process: str) -> bool:
        """Whether a record is complete to its end."""
        record = [row for row in self.rows if row.process == process]
        kinds = {row.kind for row in record}
        is_quiet = record[-1].kind == "stop" and record[-1].detail in {QUIESCENT, LEFT}
        return "crash" not in kinds and (is_quiet or "start" not in kinds)

    def goes_on(self, process: str, scope: Scope) -> bool:
        """Whether a process installs a view and the one after it."""
        group, view = scope
        return (process, group, view) in self.views and (process, group, view + 1) in self.views

    def members(self, scope: Scope) -> set[str]:
        """Return who is listed in a view."""
        listed = [
            row.members or [] for row in self.rows
            if row.kind == "view" and (row.group, row.view) == scope
        ]  # fmt: skip
        return {name for members in listed for name in members}

    def owing(self, scope: Scope) -> set[str]:
        """Return the members whose records are complete."""
        names = self.members(scope) & {row.process for row in self.rows}
        return {name for name in names if self.is_whole(name)}

    def is_total(self, scope: Scope, message: Message) -> bool:
        return self._asked(scope, message).order == "total"

    def is_uniform(self, scope: Scope, message: Message) -> bool:
        return self._asked(scope, message).uniform

    def _asked(self, scope: Scope, message: Message) -> Event:
        place = self.multicasts.get((scope, message))
        return Event(process="?", kind="start") if place is None else self.rows[place]

    def shared(self, among: dict[Scope, set[str]]) -> Iterator[tuple[Scope, Message, list[str]]]:
        """Yield messages that two or more of these delivered, on record, and who did."""
        for (scope, message), places in self.delivered.items():
            names = sorted(among.get(scope, set()) & places.keys())
            if len(names) > 1:
                yield scope, message, names

    @property
    def scopes(self) -> list[Scope]:
        return sorted({scope for scope, _ in self.delivered})


def has_takeover(rows: list[Event]) -> bool:
    """Whether somebody took a group over: then less is owed than these functions take for owed."""
    return any(lineage_of(row.view) > 0 for row in rows)


def overtake(rows: list[Event], dice: Random) -> bool:
    """Let a process deliver an answer before the question, of another process."""
    trace = _Trace(rows)
    found = [
        (before, after)
        for (scope, answer), places in sorted(trace.delivered.items())
        for before, after in _questions(trace, scope, answer, places)
    ]
    if found:
        before, after = dice.choice(found)
        rows.insert(before, rows.pop(after))
    return bool(found)


def _questions(
    trace: _Trace, scope: Scope, answer: Message, places: dict[str, int]
) -> Iterator[tuple[int, int]]:
    """Yield where a process delivers something that came before a message, and the message."""
    sent, sender = trace.multicasts.get((scope, answer)), answer[0]
    if sent is None or trace.rows[sent].order == "fifo":
        return
    for (where, question), known in sorted(trace.delivered.items()):
        is_before = where == scope and known.get(sender, sent) < sent
        if not is_before or question[0] == sender or (scope, question) not in trace.multicasts:
            continue
        for process, after in places.items():
            if process != sender and known.get(process, after) < after:
                yield known[process], after


def keep_from_one(rows: list[Event], dice: Random) -> bool:
    """Let a member that was there to the end lack what another such member delivered."""
    trace = _Trace(rows)
    among = {scope: trace.owing(scope) for scope in trace.scopes}
    found = [(scope, message, who) for scope, message, who in trace.shared(among)]
    return _lose_one(trace, found, dice)


def leave_without(rows: list[Event], dice: Random) -> bool:
    """Let a process go on to the next view without what another who goes on delivered."""
    trace = _Trace(rows)
    among = {
        scope: {name for name in trace.members(scope) if trace.goes_on(name, scope)}
        for scope in trace.scopes
    }
    return _lose_one(trace, list(trace.shared(among)), dice)


def keep_uniform_from_one(rows: list[Event], dice: Random) -> bool:
    """Let a member that was there to the end lack a uniform message that anybody delivered."""
    trace = _Trace(rows)
    found = []
    for (scope, message), places in sorted(trace.delivered.items()):
        owing = sorted(trace.owing(scope) & places.keys())
        if owing and len(places) > 1 and trace.is_uniform(scope, message):
            found.append((scope, message, owing))
    return _lose_one(trace, found, dice)


def _lose_one(trace: _Trace, found: list[tuple[Scope, Message, list[str]]], dice: Random) -> bool:
    """Let one of those who delivered a message not have done so; its own do not count."""
    able = [
        (scope, message, name)
        for scope, message, names in found
        for name in names
        if name != message[0]
    ]
    if able:
        scope, message, name = dice.choice(able)
        del trace.rows[trace.delivered[scope, message][name]]
    return bool(able)


def reach_nobody(rows: list[Event], dice: Random) -> bool:
    """Let a multicast of a member that was there to the end be delivered by nobody else."""
    trace = _Trace(rows)
    able = [
        (scope, place)
        for (scope, (sender, _)), place in sorted(trace.multicasts.items())
        if sender in (owing := trace.owing(scope)) and len(owing) > 1
    ]
    if not able:
        return False
    (group, view), place = dice.choice(able)
    sent = rows[place]
    numbers = range(sent.first, sent.first + sent.count)
    kept = [
        row for row in rows
        if row.kind != "deliver" or row.process == sent.process
        or (row.group, row.view, row.sender) != (group, view, sent.process)
        or not {*numbers} & {*range(row.first, row.first + row.count)}
    ]  # fmt: skip
    is_judged = any(row.kind == "deliver" for row in kept)  # without any, nothing is known at all
    rows[:] = kept if is_judged else rows
    return is_judged


def forget_own(rows: list[Event], dice: Random) -> bool:
    """Let a process that goes on, or is there to the end, not deliver what it multicast."""
    trace = _Trace(rows)
    able = []
    for (scope, message), places in sorted(trace.delivered.items()):
        sender = message[0]
        others = [
            where for (one, (name, _)), where in trace.delivered.items()
            if one == scope and name == sender and where.get(sender) != places.get(sender)
        ]  # fmt: skip
        still_tells = any(sender in where for where in others)
        is_bound = sender in places and (trace.is_whole(sender) or trace.goes_on(sender, scope))
        if is_bound and still_tells and (scope, message) in trace.multicasts:
            able.append(places[sender])
    if able:
        del rows[dice.choice(able)]
    return bool(able)


def deliver_in_next_view(rows: list[Event], dice: Random) -> bool:
    """Let a process deliver a message of a view when it has installed the next."""
    trace = _Trace(rows)
    able = []
    for place, row in enumerate(rows):
        after = trace.views.get((row.process, row.group, row.view + 1))
        if row.kind == "deliver" and after is not None and place < after:
            able.append((place, after))
    if able:
        place, after = dice.choice(able)
        rows.insert(after, rows.pop(place))
    return bool(able)


def order_otherwise(rows: list[Event], dice: Random) -> bool:
    """Let a process deliver two messages in total order the other way round."""
    return _exchange_total(rows, dice, is_of_one_sender=False)


def order_against_causes(rows: list[Event], dice: Random) -> bool:
    """The same, with two of one sender: the first is before the second."""
    return _exchange_total(rows, dice, is_of_one_sender=True)


def _exchange_total(rows: list[Event], dice: Random, *, is_of_one_sender: bool) -> bool:
    trace = _Trace(rows)
    able = set()
    for scope in trace.scopes:
        total = [
            (message, places) for (where, message), places in sorted(trace.delivered.items())
            if where == scope and trace.is_total(scope, message)
        ]  # fmt: skip
        for one, at_one in total:
            for two, at_two in total:
                both = [
                    name for name in at_one.keys() & at_two.keys()
                    if at_one[name] < at_two[name]
                    and (trace.is_whole(name) or trace.goes_on(name, scope))
                ]  # fmt: skip
                if (one[0] == two[0]) is is_of_one_sender and len(both) > 1:
                    able |= {(at_one[name], at_two[name]) for name in both}
    if able:
        first, second = dice.choice(sorted(able))
        rows[first], rows[second] = rows[second], rows[first]
    return bool(able)


WHOLE_DAMAGE: dict[Property, Damage] = {
    Property.FIFO: swap,
    Property.CAUSAL: overtake,
    Property.NO_DUPLICATE: repeat,
    Property.NO_CREATION: lose_multicast,
    Property.AGREEMENT: keep_from_one,
    Property.VIEWS: mislist,
    Property.SENDING_VIEW: deliver_in_next_view,
    Property.VIEW_ATOMIC: leave_without,
    Property.NO_ORPHAN: lose_delivery,
    Property.SELF_DELIVERY: forget_own,
    Property.LIVENESS: reach_nobody,
    Property.TOTAL: order_otherwise,
    Property.TOTAL_CAUSAL: order_against_causes,
    Property.UNIFORM: keep_uniform_from_one,
    Property.COMMIT: decide_otherwise,
}

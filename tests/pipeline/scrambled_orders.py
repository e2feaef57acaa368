"""Traces in which everybody has an idea of its own about the total order.

Law: nothing is promised here. Each process delivers some of the messages, in an order that differs
from that of the others in a few places; some die, some go on to the next view, some do neither, and
only some messages are uniform. What is wrong, and how often, is for the judges to say.
"""

from random import Random

from antiphon.trace.schema import QUIESCENT, Event

NAMES = ("p0", "p1", "p2", "p3", "p4", "p5")


def scrambled_orders(dice: Random) -> list[Event]:
    """Return a trace of one view, perhaps with the beginning of the next."""
    names = list(NAMES[: dice.randint(2, 6)])
    rows = [Event(process=name, kind="start") for name in names]
    rows += [Event(process=name, kind="view", members=names) for name in names]
    sent = _multicasts(names, dice)
    tells = dice.random() < 0.5
    rows += [row for row in sent if dice.random() < 0.9 or not tells]
    messages = [(row, row.first + place) for row in sent for place in range(row.count)]
    dice.shuffle(messages)
    skipping, swaps = dice.choice([0, 0, 0.1]), dice.choice([0, 1, 1, 3, 20])
    for name in names:
        own = [message for message in messages if dice.random() >= skipping]
        if dice.random() < 0.3:
            own = own[: dice.randint(0, len(own))]
        for _ in range(dice.randint(0, swaps) if len(own) > 1 and dice.random() < 0.5 else 0):
            at = dice.randrange(len(own) - 1)
            own[at], own[at + 1] = own[at + 1], own[at]
        rows += [_delivery(name, row, number, tells=tells) for row, number in own]
    return rows + [row for name in names for row in _end(name, names, dice)]


def _multicasts(names: list[str], dice: Random) -> list[Event]:
    uniform = dice.choice([0, 0.5, 0.9])
    rows = []
    for name in names:
        first = 1
        for _ in range(dice.randint(0, 3)):
            count = dice.choice([1, 1, 2])
            rows.append(
                Event(
                    process=name, kind="multicast", first=first, count=count,
                    order="total" if dice.random() < 0.9 else "causal",
                    uniform=dice.random() < uniform,
                )
            )  # fmt: skip
            first += count
    return rows


def _delivery(name: str, row: Event, number: int, *, tells: bool) -> Event:
    return Event(
        process=name, kind="deliver", sender=row.process, first=number,
        order=row.order if tells else "", uniform=tells and row.uniform,
    )  # fmt: skip


def _end(name: str, names: list[str], dice: Random) -> list[Event]:
    crash = Event(process=name, kind="crash")
    view = Event(process=name, kind="view", view=2, members=names)
    quiet = Event(process=name, kind="stop", detail=QUIESCENT)
    return dice.choice([[quiet], [quiet], [view], [view, crash], [crash], [crash], []])

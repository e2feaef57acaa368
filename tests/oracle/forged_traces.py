"""Small traces of all sorts: right ones, and right ones spoilt in a few places, from a seed."""

from random import Random

import msgspec
from tests.trace.hand_written import crash, deliver, multicast, start, stop, view

from antiphon.trace.schema import Event

NAMES = "ABC"


def forged_trace(seed: int) -> list[Event]:
    """Return a trace that may or may not be right, as a function of the seed."""
    dice = Random(seed)
    rows = right_trace(dice)
    for _ in range(dice.choice([0, 0, 1, 1, 2, 3, 6])):
        dice.choice([swap, drop, repeat, alter, strew, relax, ask, tangle, ballot])(rows, dice)
    return rows


def right_trace(dice: Random) -> list[Event]:
    """Return a trace in which all deliver in one order, in runs, not all up to the end."""
    group, number = dice.choice(["", "g"]), dice.choice([1, 2])
    rows = [start(name) for name in NAMES if dice.random() < 0.5]
    if dice.random() < 0.5:
        rows.append(view("A", *NAMES, group=group, view=number))
    sent: list[tuple[str, int, int]] = []
    next_number, delivered = dict.fromkeys(NAMES, 1), dict.fromkeys(NAMES, 0)
    records_own = {name: dice.random() < 0.7 for name in NAMES}

    def catch_up(process: str, until: int) -> None:
        for sender, first, count in sent[delivered[process] : until]:
            if sender != process or records_own[process]:
                rows.append(deliver(process, sender, first, count, group=group, view=number))
        delivered[process] = max(until, delivered[process])

    for _ in range(dice.randint(1, 6)):
        sender, count = dice.choice(NAMES), dice.choice([1, 1, 2, 3])
        catch_up(sender, len(sent))
        rows.append(multicast(sender, next_number[sender], count, group=group, view=number))
        sent.append((sender, next_number[sender], count))
        next_number[sender] += count
        for process in NAMES:
            catch_up(process, dice.randint(0, len(sent)))
    for process in NAMES:
        catch_up(process, len(sent) - dice.choice([0, 0, 0, 1]))
        rows += [stop(process)] if dice.random() < 0.7 else []
    return rows


def swap(rows: list[Event], dice: Random) -> None:
    """Exchange two rows; at the same process that is another order."""
    if rows:
        one = dice.randrange(len(rows))
        same = [place for place, row in enumerate(rows) if row.process == rows[one].process]
        other = dice.choice(same)
        rows[one], rows[other] = rows[other], rows[one]


def drop(rows: list[Event], dice: Random) -> None:
    """Lose a row."""
    if rows:
        del rows[dice.randrange(len(rows))]


def repeat(rows: list[Event], dice: Random) -> None:
    """Record a row twice."""
    if rows:
        rows.insert(dice.randrange(len(rows)), dice.choice(rows))


def alter(rows: list[Event], dice: Random) -> None:
    """Record a multicast or delivery with other numbers, or in another place."""
    rows[:] = [
        Event(**{name: getattr(row, name) for name in row.__struct_fields__}) for row in rows
    ]
    acts = [row for row in rows if row.kind in {"multicast", "deliver"}]
    if acts:
        row = dice.choice(acts)
        row.first = max(1, row.first + dice.choice([-1, 0, 1]))
        row.count = max(1, row.count + dice.choice([-1, 0, 1]))
        if dice.random() < 0.3:
            row.view = 3 - row.view if row.view < 3 else 1
        if row.kind == "deliver" and dice.random() < 0.3:
            row.sender = dice.choice("ABCD")


def strew(rows: list[Event], dice: Random) -> None:
    """Add a row of any kind, anywhere."""
    process, sender = dice.choice(NAMES), dice.choice("ABCD")
    first, count = dice.randint(1, 5), dice.choice([1, 2])
    row = dice.choice(
        [
            deliver(process, sender, first, count),
            multicast(process, first, count),
            crash(process),
            start(process),
            stop(process, dice.choice(["quiescent", "interrupted"])),
            view(process, *dice.sample("ABCD", dice.randint(1, 4))),
        ]
    )
    rows.insert(dice.randint(0, len(rows)), row)


def ask(rows: list[Event], dice: Random) -> None:
    """Ask for total order, or uniform delivery, in most rows, or in some."""
    chance, uniform = dice.choice([0.3, 0.9, 1]), dice.choice([0, 0.5, 1])
    for place, row in enumerate(rows):
        if row.kind in {"multicast", "deliver"} and dice.random() < chance:
            is_uniform = dice.random() < uniform
            rows[place] = msgspec.structs.replace(row, order="total", uniform=is_uniform)


def tangle(rows: list[Event], dice: Random) -> None:
    """Let a process deliver two messages, one after the other, the other way round."""
    places = [at for at, row in enumerate(rows) if row.kind == "deliver"]
    pairs = [
        (one, two) for one in places for two in places
        if one < two and rows[one].process == rows[two].process
        and rows[one].view == rows[two].view
    ]  # fmt: skip
    if pairs:
        one, two = min(dice.sample(pairs, min(3, len(pairs))), key=lambda pair: pair[1] - pair[0])
        rows[one], rows[two] = rows[two], rows[one]


def ballot(rows: list[Event], dice: Random) -> None:
    """Vote on a transaction, and decide it: rightly, for the most part."""
    initiator, number, group = dice.choice("AB"), dice.choice([1, 1, 2]), dice.choice(["", "g"])
    decision, vote = dice.choice([("commit", "yes"), ("commit", "yes"), ("abort", "no")])
    is_wrong = dice.random() < 0.5
    for process in dice.sample(NAMES, dice.randint(1, 3)):
        if is_wrong and dice.random() < 0.2:
            decision = "abort" if decision == "commit" else "commit"
        for kind, detail in (("vote", vote), ("decide", decision)):
            row = Event(
                process=process, kind="vote" if kind == "vote" else "decide", group=group,
                sender=initiator, first=number, detail=detail,
            )  # fmt: skip
            rows.insert(dice.randint(0, len(rows)), row)


def relax(rows: list[Event], dice: Random) -> None:
    """Record a multicast as one in fifo order, which is held to less."""
    places = [place for place, row in enumerate(rows) if row.kind == "multicast"]
    if places:
        place = dice.choice(places)
        row = rows[place]
        fields = {name: getattr(row, name) for name in row.__struct_fields__}
        rows[place] = Event(**{**fields, "order": "fifo"})

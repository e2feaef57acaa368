"""Small traces with several views: right ones, and right ones spoilt in a few places.

In a right one, whoever goes on to the next view has delivered all of this one before. Processes
join, leave, crash and come back as new incarnations; a crashed one has delivered a part.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import msgspec
from tests.oracle.forged_traces import alter, ask, ballot, drop, relax, repeat, strew, swap, tangle
from tests.trace.hand_written import crash, deliver, multicast, start, stop, view

from antiphon.trace.schema import LEFT, Event

VIEWS_MAX = 4


@dataclass
class World:
    """A group, as an all-knowing observer sees it."""

    dice: Random
    group: str
    number: int
    members: list[str]
    rows: list[Event] = field(default_factory=list)
    incarnations: dict[str, int] = field(default_factory=dict)
    records_own: dict[str, bool] = field(default_factory=dict)

    def install(self, process: str) -> None:
        """Record that a process installs the view."""
        self.rows.append(view(process, *self.members, group=self.group, view=self.number))

    def join(self, name: str) -> str:
        """Return the process by which somebody new, or back again, comes in."""
        number = self.incarnations.get(name, 0) + 1
        self.incarnations[name] = number
        process = name if number == 1 else f"{name}~{number}"
        self.rows.append(start(process))
        self.records_own[process] = self.dice.random() < 0.8
        return process


def forged_views(seed: int) -> list[Event]:
    """Return a trace that may or may not be right, as a function of the seed."""
    dice = Random(f"views {seed}")
    rows = right_views(dice)
    if dice.random() < 0.5:
        ask(rows, dice)
    if dice.random() < 0.5:
        ballot(rows, dice)
    for _ in range(dice.choice([0, 0, 1, 1, 2, 3, 6])):
        dice.choice(SPOILERS)(rows, dice)
    return rows


def right_views(dice: Random) -> list[Event]:
    """Return a trace of one group through its views, up to a quiet end."""
    world = World(dice, dice.choice(["", "g"]), dice.choice([1, 1, 3]), [])
    world.members = [world.join(name) for name in "ABC"[: dice.randint(1, 3)]]
    for process in world.members:
        world.install(process)
    for _ in range(dice.randint(1, VIEWS_MAX)):
        crashed = [name for name in world.members if dice.random() < 0.1][: len(world.members) - 1]
        talk(world, crashed)
        change(world, crashed)
    talk(world, [])
    world.rows += [stop(process) for process in world.members]
    return world.rows


def talk(world: World, crashed: list[str]) -> None:
    """Let members multicast, and deliver in one order: those who crash only a part of it."""
    dice, sent = world.dice, list[tuple[str, int, int]]()
    numbers, delivered = dict.fromkeys(world.members, 1), dict.fromkeys(world.members, 0)

    def catch_up(process: str, until: int) -> None:
        for sender, first, count in sent[delivered[process] : until]:
            if sender != process or world.records_own[process]:
                row = deliver(process, sender, first, count, group=world.group, view=world.number)
                world.rows.append(row)
        delivered[process] = max(until, delivered[process])

    for _ in range(dice.randint(0, 3)):
        sender, count = dice.choice(world.members), dice.choice([1, 1, 2])
        catch_up(sender, len(sent))
        row = multicast(sender, numbers[sender], count, group=world.group, view=world.number)
        world.rows.append(row)
        sent.append((sender, numbers[sender], count))
        numbers[sender] += count
        for process in world.members:
            catch_up(process, dice.randint(0, len(sent)))
    for process in world.members:
        if process not in crashed:
            catch_up(process, len(sent))


def change(world: World, crashed: list[str]) -> None:
    """Go on to the next view: without some, and with some who are new, or back again."""
    dice = world.dice
    world.rows += [crash(process) for process in crashed if dice.random() < 0.7]
    stayers = [process for process in world.members if process not in crashed]
    leavers = [process for process in stayers[1:] if dice.random() < 0.15]
    present = {process.partition("~")[0] for process in stayers if process not in leavers}
    joiners = [
        world.join(name) for name in "ABCD"
        if name not in present and dice.random() < 0.3
    ]  # fmt: skip
    world.number += 1
    world.members = [process for process in stayers if process not in leavers] + joiners
    for process in [*stayers, *joiners]:
        world.install(process)
    world.rows += [stop(process, LEFT) for process in leavers]


def misnumber(rows: list[Event], dice: Random) -> None:
    """Record a view, or messages, with another view's number."""
    place = chosen(rows, dice, dice.choice(["view", "multicast", "deliver"]))
    if place is not None:
        number = max(1, rows[place].view + dice.choice([-1, 1]))
        rows[place] = msgspec.structs.replace(rows[place], view=number)


def mislist(rows: list[Event], dice: Random) -> None:
    """Record a view with other members, or in another order."""
    place = chosen(rows, dice, "view")
    if place is not None:
        members = list(rows[place].members or [])
        dice.shuffle(members)
        members = dice.choice([members, members[1:] or ["Z"], [*members, f"Z{len(members)}"]])
        rows[place] = msgspec.structs.replace(rows[place], members=members)


def unlist(rows: list[Event], dice: Random) -> None:
    """Leave somebody out of a view everywhere: the views agree, but one is not in its own."""
    place = chosen(rows, dice, "view")
    if place is not None and len(rows[place].members or []) > 1:
        gone, number = dice.choice(rows[place].members or []), rows[place].view
        for at, row in enumerate(rows):
            if row.kind == "view" and row.view == number:
                members = [name for name in row.members or [] if name != gone]
                rows[at] = msgspec.structs.replace(row, members=members or ["Z"])


def forget(rows: list[Event], dice: Random) -> None:
    """Lose a message at one process, in all its rows."""
    place = chosen(rows, dice, "deliver")
    if place is not None:
        del rows[place]


def shift_view(rows: list[Event], dice: Random) -> None:
    """Install a view a little earlier, or later."""
    place = chosen(rows, dice, "view")
    if place is not None:
        same = [at for at, row in enumerate(rows) if row.process == rows[place].process]
        at = same.index(place) + dice.choice([-2, -1, 1, 2])
        rows.insert(same[max(0, min(at, len(same) - 1))], rows.pop(place))


def end_otherwise(rows: list[Event], dice: Random) -> None:
    """End a record in another way."""
    place = chosen(rows, dice, "stop")
    if place is not None:
        detail = dice.choice([LEFT, "quiescent", "excluded"])
        rows[place] = msgspec.structs.replace(rows[place], detail=detail)


def chosen(rows: list[Event], dice: Random, kind: str) -> int | None:
    """Return the place of some row of a kind."""
    places = [place for place, row in enumerate(rows) if row.kind == kind]
    return dice.choice(places) if places else None


Spoiler = Callable[[list[Event], Random], None]

SPOILERS: list[Spoiler] = [
    misnumber, mislist, unlist, forget, forget, shift_view, end_otherwise,
    swap, drop, repeat, alter, strew, relax, tangle, tangle, ballot,
]  # fmt: skip

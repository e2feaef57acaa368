"""Processes in several groups of one causality domain: right traces, from dice; and wrong ones.

Law: an explicit graph decides. Each message carries the set of all that comes before it; a process
delivers it once it has delivered what it is to have of that set, whatever the group and view.
Groups go from view to view: whoever goes on has delivered all of the view that is not lost. Who
dies may take messages along that nobody else delivered: then what depends on them in the same
group is lost, too, and in other groups it is delivered with a hole, which is excused. Some
messages are in fifo order, and some set the order of others: neither waits for other groups, nor
passes anything on.

Damage is done between two messages of different groups, or linked by way of another group alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from tests.oracle.definitions import facts_of
from tests.oracle.domain_definitions import is_doubtful, pasts_of
from tests.pipeline.group_structures import Structure, random_structure

from antiphon.trace.schema import QUIESCENT, SETS_ORDER, Event, Order
from antiphon.trace.verdict import Property

View = tuple[str, int]


class Item(NamedTuple):
    """A message."""

    group: str
    view: int
    sender: str
    number: int

    @property
    def scope(self) -> View:
        """Return the view that it is of."""
        return self.group, self.view


@dataclass
class _World:
    """What there is, and what has happened."""

    dice: Random
    groups: Structure
    """The members of each group now."""
    orders: list[Order]
    resilience: int
    rows: list[Event] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    """The view that each group is in."""
    rosters: dict[View, list[str]] = field(default_factory=dict)
    pasts: dict[Item, set[Item]] = field(default_factory=dict)
    orders_of: dict[Item, tuple[Order, str]] = field(default_factory=dict)
    """What was asked for: order, and detail."""
    known: dict[str, set[Item]] = field(default_factory=dict)
    """What a process multicast or delivered, and all before that."""
    got: dict[str, set[Item]] = field(default_factory=dict)
    lost: set[Item] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    delivers_own: dict[str, bool] = field(default_factory=dict)

    def install(self, group: str) -> None:
        self.numbers[group] = self.numbers.get(group, 0) + 1
        view = self.numbers[group]
        self.rosters[group, view] = list(self.groups[group])
        for name in self.groups[group]:
            self.rows.append(
                Event(
                    process=name, kind="view", group=group, view=view, domain="d",
                    members=list(self.groups[group]), resilience=self.resilience,
                )
            )  # fmt: skip

    def alive(self) -> list[str]:
        return [name for name in self.known if name not in self.dead]

    def waiting(self, name: str, group: str) -> list[Item]:
        """Return what a process can deliver next of a group."""
        view = self.numbers[group]
        return [
            item
            for item in self.pasts
            if item.scope == (group, view)
            and name in self.rosters[group, view]
            and item not in self.got[name]
            and item not in self.lost
            and self._lacks_nothing(name, item)
        ]

    def _lacks_nothing(self, name: str, item: Item) -> bool:
        order, detail = self.orders_of[item]
        got = self.got[name]
        needed = {
            other
            for other in self.pasts
            if other.scope == item.scope and other.sender == item.sender
            and other.number < item.number
        }  # fmt: skip
        if order != "fifo":
            needed |= {
                other
                for other in self.pasts[item]
                if name in self.rosters[other.scope]
                and (detail != SETS_ORDER or other.scope == item.scope)
            }
        return needed - self.lost <= got

    def multicast(self, name: str) -> None:
        mine = [group for group, members in self.groups.items() if name in members]
        if not mine:
            return
        group = self.dice.choice(mine)
        view = self.numbers[group]
        order = self.dice.choice(self.orders)
        is_apart = order in {"", "causal"} and self.dice.random() < 0.04
        detail = SETS_ORDER if is_apart else ""
        first = 1 + sum(item.scope == (group, view) and item.sender == name for item in self.pasts)
        count = self.dice.choice([1, 1, 1, 1, 2, 3])
        self.rows.append(
            Event(
                process=name, kind="multicast", group=group, view=view, first=first, count=count,
                order=order, detail=detail,
            )
        )  # fmt: skip
        for number in range(first, first + count):
            item = Item(group, view, name, number)
            self.orders_of[item] = (order, detail)
            # What only sets an order knows of its own group, and tells of nothing.
            self.pasts[item] = set(self.known[name]) if order != "fifo" else set()
            self.known[name].add(item)
            if not self.delivers_own[name]:
                self.got[name].add(item)

    def deliver(self, name: str) -> bool:
        """Let a process deliver something, if it can."""
        mine = [group for group in self.groups if name in self.groups[group]]
        self.dice.shuffle(mine)
        for group in mine:
            ready = self.waiting(name, group)
            if ready:
                item = self.dice.choice(ready)
                count = 0
                while item in ready and count < 3 and (not count or self.dice.random() < 0.5):
                    self._take(name, item)
                    item, count = item._replace(number=item.number + 1), count + 1
                    ready = self.waiting(name, group)
                first = item.number - count
                order, detail = self.orders_of[item._replace(number=first)]
                self.rows.append(
                    Event(
                        process=name, kind="deliver", group=group, view=item.view, first=first,
                        sender=item.sender, count=count, order=order, detail=detail,
                    )
                )  # fmt: skip
                return True
        return False

    def _take(self, name: str, item: Item) -> None:
        order, detail = self.orders_of[item]
        self.got[name].add(item)
        self.known[name].add(item)
        if order != "fifo" and detail != SETS_ORDER:
            self.known[name] |= self.pasts[item]

    def settle(self) -> None:
        """Let all who live deliver all that they can."""
        while sum(self.deliver(name) for name in self.alive()):
            pass

    def crash(self, name: str) -> None:
        """Let a process die; what nobody else has may be lost."""
        self.dead.add(name)
        self.rows.append(Event(process=name, kind="crash"))
        alive = self.alive()
        for item in self.pasts if not self.resilience else ():
            is_there = any(item in self.got[other] for other in alive)
            if not is_there and item.sender in self.dead and self.dice.random() < 0.6:
                self.lost.add(item)
        has_grown = True
        while has_grown:
            has_grown = False
            for item, past in self.pasts.items():
                if item in self.lost or any(item in self.got[other] for other in alive):
                    continue
                # A later one of the same sender is lost, too, and what depends on it in its group.
                is_without = any(
                    other.scope == item.scope
                    and (other in past or (other.sender == item.sender and other < item))
                    for other in self.lost
                )
                if is_without and item.sender in self.dead:
                    self.lost.add(item)
                    has_grown = True

    def change(self, group: str) -> None:
        """Take a group to its next view; somebody may join."""
        members = [name for name in self.groups[group] if name not in self.dead]
        others = [name for name in self.alive() if name not in members]
        if others and self.dice.random() < 0.4:
            members.append(self.dice.choice(others))
        if len(members) > 0:
            self.groups[group] = members
            self.install(group)
        else:
            del self.groups[group]


def right_world(dice: Random) -> list[Event]:
    """Return a trace in which causality holds across groups."""
    return _played(dice).rows


def _played(dice: Random) -> _World:
    orders: list[list[Order]] = [
        [""],
        ["causal"],
        ["causal", "causal", "fifo"],
        ["causal", "total"],
    ]
    world = _World(dice, random_structure(dice), dice.choice(orders), dice.choice([0, 0, 1, 2]))
    names = sorted({name for members in world.groups.values() for name in members})
    is_asked = "total" in world.orders
    for name in names:
        world.known[name], world.got[name] = set(), set()
        world.delivers_own[name] = is_asked or dice.random() < 0.6
        world.rows.append(Event(process=name, kind="start"))
    for group in list(world.groups):
        world.install(group)
    is_rough = dice.random() < 0.5
    for _ in range(dice.randint(1, 3)):
        for _ in range(dice.randint(10, 40)):
            name = dice.choice(world.alive())
            act = world.multicast if dice.random() < 0.4 else world.deliver
            act(name)
        if is_rough and len(world.alive()) > 2 and dice.random() < 0.6:
            world.crash(dice.choice(world.alive()))
        world.settle()
        for group in list(world.groups):
            has_failed = any(name in world.dead for name in world.groups[group])
            if has_failed or dice.random() < 0.3:
                world.change(group)
    world.settle()
    world.rows += [Event(process=name, kind="stop", detail=QUIESCENT) for name in world.alive()]
    return world


Planted = tuple[Property, str]
"""What is broken, and at which process."""


def random_world(seed: int) -> tuple[list[Event], Planted | None]:
    """Return a trace, and what was done to it, if anything; in half of them rows are numbered."""
    dice = Random(f"domain {seed}")
    world = _played(dice)
    planted = dice.choice([_postpone, _postpone, _postpone, _forget, _forget, None])
    done = None if planted is None else planted(world)
    rows = world.rows
    if dice.random() < 0.5:
        following: dict[str, int] = {}
        for row in rows:
            row.index = following.get(row.process, 0)
            following[row.process] = row.index + 1
    return rows, done


def _linked(world: _World) -> Iterator[tuple[int, int, Item, Item]]:
    """Yield the rows of two deliveries by one process, of messages linked across groups."""
    at: dict[tuple[str, Item], int] = {}
    for place, row in enumerate(world.rows):
        if row.kind == "deliver":
            for number in range(row.first, row.first + row.count):
                at[row.process, Item(row.group, row.view, row.sender, number)] = place
    for (name, item), later in at.items():
        order, detail = world.orders_of[item]
        for other in world.pasts[item] if order != "fifo" and detail != SETS_ORDER else ():
            earlier = at.get((name, other))
            # Who delivers none of its own is taken to deliver them all at once.
            is_across = other.group != item.group and other.sender != name
            if earlier is not None and earlier < later and is_across:
                yield earlier, later, other, item


def _is_still_linked(world: _World, other: Item, item: Item) -> bool:
    """Whether one message comes before another: the way may have led through what was changed."""
    past = pasts_of(world.rows, facts_of(world.rows))[_message(item)]
    return _message(other) in past


def _message(item: Item) -> tuple[tuple[str, str, int], str, int]:
    return ("", item.group, item.view), item.sender, item.number


def _postpone(world: _World) -> Planted | None:
    """Let a process deliver something only after what depends on it by way of another group."""
    for earlier, later, other, item in _tries(world):
        rows = list(world.rows)
        world.rows.insert(later + 1, world.rows[earlier])
        del world.rows[earlier]
        if _is_still_linked(world, other, item):
            return Property.CAUSAL, rows[earlier].process
        world.rows = rows
    return None


def _forget(world: _World) -> Planted | None:
    """Let a process never deliver something, though what depends on it by way of another group."""
    for earlier, _, other, item in _tries(world):
        rows = list(world.rows)
        del world.rows[earlier]
        is_sure = not is_doubtful(world.rows, ("", other.group, other.view))
        if is_sure and _is_still_linked(world, other, item):
            return Property.NO_ORPHAN, rows[earlier].process
        world.rows = rows
    return None


def _tries(world: _World) -> list[tuple[int, int, Item, Item]]:
    pairs = sorted(_linked(world))
    return world.dice.sample(pairs, min(len(pairs), 8))

"""Random worlds of one causality domain: groups that overlap, applications that answer across them.

Law: a world is a function of its seed. Groups make a structure (a chain, a ring, a star, a clique,
a grid, or anything); applications answer what is delivered to them in another of their groups, so
that chains of messages go from group to group; some ways between processes are slow, so that what
is first overtakes; processes crash just after they have spoken, leave, join and are cut off. In
some worlds a group takes a member for dead that lives, hears late of it, and is heard in others. A
world fails if causality is broken within or across groups, or a group that can go on does not, or
something that was multicast by who lives on is not delivered by who lives on.
"""

from collections.abc import Callable
from functools import partial
from itertools import combinations
from random import Random

from antiphon.core.errors import AntiphonError
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Order
from antiphon.ordering.structure import Structure
from antiphon.sim.going_on import find_stuck_in_domain
from antiphon.sim.random_groups import GroupAuthor
from antiphon.sim.several_groups import Node, SeveralGroups
from antiphon.trace.schema import Event

_CRASHES = 0.03
"""How often who has just spoken crashes."""

_WAYS = (
    (Order.CAUSAL, False), (Order.CAUSAL, False), (Order.CAUSAL, False), (Order.TOTAL, False),
    (Order.TOTAL, False), (Order.CAUSAL, True), (Order.TOTAL, True), (Order.FIFO, False),
)  # fmt: skip


def examine_domain(
    seed: int, resilience: int = 1, flush: str = "view-atomic", structure: str = "none"
) -> str:
    """Live through the world of ``seed``; say what went wrong, if anything did.

    ``structure`` says what the domain declares of its overlaps (``AUTHORS``).
    """
    return survey_domain(seed, resilience, flush, structure)[0]


def survey_domain(
    seed: int, resilience: int, flush: str, structure: str = "none"
) -> tuple[str, list[Event]]:
    """Live through the world of ``seed``; return what went wrong, and the trace."""
    author = AUTHORS[structure](seed, resilience, flush)
    try:
        said = author.live()
    except (AntiphonError, AssertionError, KeyError, ValueError, IndexError) as error:
        said = f"at {author.world.now_us} us: {type(error).__name__}: {error}"
    return said, author.world.finish()


class DomainAuthor(GroupAuthor):
    """Does random things to groups of one domain."""

    def __init__(self, seed: int, resilience: int, flush: str) -> None:
        """Found some groups."""
        world = SeveralGroups(seed, causality="d", resilience=resilience, flush=flush)
        super().__init__(seed, world, structure=self._found)
        random = self.random
        self._answers = random.choice((0.0, 0.1, 0.3, 0.45))
        self._ways = [
            way for way in _WAYS if flush == "view-atomic" or not way[1]
        ] if random.random() < 0.5 else [(Order.CAUSAL, False)]  # fmt: skip
        self._has_letters = random.random() < 0.3
        self._answered = 0
        self._exiles = Exiles(seed, self) if not self.is_calm else None
        world.on_delivery = self._answer
        for one in self.names:
            for other in self.names:
                if one != other and random.random() < 0.25:
                    world.slow[one, other] = random.choice((2_000, 10_000, 30_000))

    def _found(self, random: Random, names: str) -> dict[int, str]:
        """Return groups of some of these processes."""
        return _structure(random, names)

    def _act(self) -> None:
        if self._exiles is not None:
            self._exiles.look()
        super()._act()

    def _calm(self) -> None:
        super()._calm()
        if self._exiles is not None:
            self._exiles.end()

    def _answer(self, node: Node, group: GroupNumber) -> None:
        """Multicast something, perhaps in another group, when something is delivered."""
        if self.random.random() > self._answers or self._answered > 120:
            return
        self._answered += 1
        own = [other for other in node.views if other not in node.ends]
        elsewhere = [other for other in own if other != group] or own
        if elsewhere:
            to = self.random.choice(elsewhere)
            self.world.at(self.world.now_us, lambda: self.say_in(node.me.name, to))

    def say_in(self, name: str, group: int) -> None:
        """Let a process multicast something in a group, or write to somebody there."""
        node = self.world.node(name)
        number = GroupNumber(group)
        if not node.is_up or number not in node.views or number in node.ends:
            return
        if self._has_letters and self.random.random() < 0.15:
            self.world.write(name, group, self.random.choice(self.groups[group]))
            return
        order, uniform = self.random.choice(self._ways)
        self.world.say(name, group, order, uniform=uniform)
        may_crash = not self.is_calm and len(self.crashed) < self.crashes_max
        if may_crash and name not in self.crashed and self.random.random() < _CRASHES:
            self.world.crash(name)
            self.crashed += name

    def _speak(self, name: str, number: int) -> None:
        for _ in range(self.random.choice((1, 1, 2, 4))):
            own = [group for group, members in self.groups.items() if name in members]
            self.say_in(name, self.random.choice(own) if own else number)

    def stuck(self) -> str:
        """Say the same; a process that is blocked in one group may hold up another of its."""
        return find_stuck_in_domain(self.world, self.groups)

    def judge(self) -> list[str]:
        """Say what is wrong."""
        return [*super().judge(), self.world.across.judge(self.world.resilience)]


class Exiles:
    """Members that one group no longer hears, and that hear late of what follows from that."""

    def __init__(self, seed: int, author: DomainAuthor) -> None:
        """Draw whether there are any: in every fourth world with faults."""
        self._random = random = Random(f"{seed}/exiles")
        self._author = author
        self._world = author.world
        self._left = random.choice((0, 0, 0, 2))
        self._ends_us = 0
        self._before: dict[tuple[str, str], int] | None = None

    def look(self) -> None:
        """Begin or end an exile, if it is time."""
        if self._before is not None:
            if self._world.now_us >= self._ends_us:
                self.end()
        elif self._left and self._random.random() < 0.15:
            self._left -= 1
            self._begin()

    def _begin(self) -> None:
        random, world, author = self._random, self._world, self._author
        group = random.choice(list(author.groups))
        members = author.groups[group]
        exile = random.choice(members[1:] or members)
        others = [name for name in members if name != exile]
        world.say(random.choice(others or [exile]), group, Order.CAUSAL)  # perhaps it has this yet
        self._before = {(name, exile): world.slow.get((name, exile), 0) for name in others}
        for name in others:
            world.take_down(exile, name)
            world.slow[name, exile] = random.choice((150_000, 250_000, 400_000))
        world.say(random.choice(others or [exile]), group, Order.CAUSAL)
        self._ends_us = world.now_us + random.choice((200_000, 400_000))
        for name in author.names:
            after_us = world.now_us + random.randrange(90_000, 260_000)
            own = [number for number, who in author.groups.items() if name in who]
            if name != exile and own:
                world.at(after_us, partial(author.say_in, name, random.choice(own)))

    def end(self) -> None:
        """End an exile, if there is one."""
        if self._before is not None:
            self._world.slow |= self._before
            self._world.take_up(*((exile, name) for name, exile in self._before))
            self._before = None


class DeclaredAuthor(DomainAuthor):
    """Does the same where overlaps are declared, and joins groups only where they are.

    In every third world processes flush, too.
    """

    def __init__(self, seed: int, resilience: int, flush: str) -> None:
        """Found some groups."""
        super().__init__(seed, resilience, flush)
        self._flushing = Random(f"{seed}/flushes") if seed % 3 == 1 else None

    def _act(self) -> None:
        super()._act()
        random = self._flushing
        if random is not None and random.random() < 0.2:
            self.world.flush_out(random.choice(self.names), random.choice((None, "d")))

    def judge(self) -> list[str]:
        """Say the same, and who waits for the end of a flush for ever."""
        return [*super().judge(), self.world.unended_flush()]

    def _found(self, random: Random, names: str) -> dict[int, str]:
        groups = (_tree if random.random() < 0.5 else _structure)(random, names)
        overlaps = [
            (f"g{one}", f"g{other}")
            for one, other in combinations(groups, 2)
            if set(groups[one]) & set(groups[other])
        ]
        if random.random() < 0.3:
            overlaps += [
                (f"g{one}", f"g{other}")
                for one, other in combinations(groups, 2)
                if random.random() < 0.2
            ]
        self.world.structure = self._declare(random, overlaps)
        return groups

    def _declare(self, random: Random, overlaps: list[tuple[str, str]]) -> Structure:
        del random
        return Structure(overlaps)

    def _may_join(self, node: Node, number: int) -> bool:
        structure = self.world.structure
        assert structure is not None, "it is declared"
        return all(structure.declares(f"g{number}", f"g{other}") for other in node.ids)


class ExcludedAuthor(DeclaredAuthor):
    """Does the same where some groups are excluded (ISIS 6.7).

    Who has left a group may join any that may overlap those it is in.
    """

    def _declare(self, random: Random, overlaps: list[tuple[str, str]]) -> Structure:
        names = sorted({name for pair in overlaps for name in pair})
        count = min(len(names), random.choice((1, 1, 2, 3)))
        return Structure(overlaps, excluded=random.sample(names, count))

    def _may_join(self, node: Node, number: int) -> bool:
        structure = self.world.structure
        assert structure is not None, "it is declared"
        if not structure.excluded:  # nothing overlaps
            return super()._may_join(node, number)
        own = [other for other in node.ids if not self._has_left(node, other)]
        return all(structure.declares(f"g{number}", f"g{other}") for other in own)

    def _has_left(self, node: Node, group: GroupNumber) -> bool:
        """Whether a process knows a view of a group without it; who leaves as the last does not."""
        is_in = group not in node.views or node.ids[group] in node.views[group].members
        return node.ends.get(group) == "" and not is_in


AUTHORS: dict[str, type[DomainAuthor]] = {
    "none": DomainAuthor, "declared": DeclaredAuthor, "excluded": ExcludedAuthor,
}  # fmt: skip
"""Who makes worlds, by what is declared there of overlaps."""


def _tree(random: Random, names: str) -> dict[int, str]:
    """Return groups that make a tree: each process is in one or two."""
    fresh, shared = list(names), [names[0]]
    groups: dict[int, str] = {}
    while fresh:
        one = shared.pop(random.randrange(len(shared)))
        fresh = [name for name in fresh if name != one]
        others = fresh[: random.randint(1, 3)]
        if not others:
            break
        fresh = fresh[len(others) :]
        groups[len(groups)] = _sorted(one, *others)
        shared += others
        if not shared:
            break
    return groups


def _structure(random: Random, names: str) -> dict[int, str]:
    """Return groups of some of these processes."""
    size = len(names)
    kinds: dict[str, Callable[[], dict[int, str]]] = {
        "chain": lambda: {i: names[i : i + 2 + random.randrange(2)] for i in range(size - 1)},
        "ring": lambda: {i: _sorted(names[i], names[(i + 1) % size]) for i in range(size)},
        "star": lambda: {i: _sorted(names[0], *random.sample(names, 2)) for i in range(3)},
        "twins": lambda: dict.fromkeys(range(random.randint(2, 3)), names),
        "clique": lambda: dict(enumerate(map("".join, combinations(names[:4], 2)))),
        "grid": lambda: dict(enumerate((names[:2], names[2:4], names[::2][:2], names[1::2][:2]))),
    }
    kind = random.choice(("any", "any", *kinds))
    if kind in kinds and (size >= 4 or kind != "grid"):
        return kinds[kind]()
    return {
        number: _sorted(*random.sample(names, random.randint(2, size)))
        for number in range(random.randint(2, 4))
    }


def _sorted(*names: str) -> str:
    return "".join(sorted(set(names)))

"""Random worlds of one causality domain: groups that overlap, applications that answer across them.

Law: a world is a function of its seed. Groups make a structure (a chain, a ring, a star, a clique,
a grid, or anything); applications answer what is delivered to them in another of their groups, so
that chains of messages go from group to group; some ways between processes are slow, so that what
is first overtakes; processes crash just after they have spoken, leave, join and are cut off. A
world fails if causality is broken within or across groups, or a group that can go on does not, or
something that was multicast by who lives on is not delivered by who lives on.
"""

from collections.abc import Callable
from itertools import combinations
from random import Random

from antiphon.core.errors import AntiphonError
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Order
from antiphon.sim.random_groups import GroupAuthor
from antiphon.sim.several_groups import Node, SeveralGroups

_CRASHES = 0.03
"""How often who has just spoken crashes."""

_WAYS = (
    (Order.CAUSAL, False), (Order.CAUSAL, False), (Order.CAUSAL, False), (Order.TOTAL, False),
    (Order.TOTAL, False), (Order.CAUSAL, True), (Order.TOTAL, True), (Order.FIFO, False),
)  # fmt: skip


def examine_domain(seed: int, resilience: int = 1, flush: str = "view-atomic") -> str:
    """Live through the world of ``seed``; say what went wrong, if anything did."""
    author = DomainAuthor(seed, resilience, flush)
    try:
        return author.live()
    except (AntiphonError, AssertionError, KeyError, ValueError, IndexError) as error:
        return f"at {author.world.now_us} us: {type(error).__name__}: {error}"


class DomainAuthor(GroupAuthor):
    """Does random things to groups of one domain."""

    def __init__(self, seed: int, resilience: int, flush: str) -> None:
        """Found some groups."""
        world = SeveralGroups(seed, causality="d", resilience=resilience, flush=flush)
        super().__init__(seed, world, structure=_structure)
        random = self.random
        self._answers = random.choice((0.0, 0.1, 0.3, 0.45))
        self._ways = [
            way for way in _WAYS if flush == "view-atomic" or not way[1]
        ] if random.random() < 0.5 else [(Order.CAUSAL, False)]  # fmt: skip
        self._has_letters = random.random() < 0.3
        self._answered = 0
        world.on_delivery = self._answer
        for one in self.names:
            for other in self.names:
                if one != other and random.random() < 0.25:
                    world.slow[one, other] = random.choice((2_000, 10_000, 30_000))

    def _answer(self, node: Node, group: GroupNumber) -> None:
        """Multicast something, perhaps in another group, when something is delivered."""
        if self.random.random() > self._answers or self._answered > 120:
            return
        self._answered += 1
        own = [other for other in node.views if other not in node.ends]
        elsewhere = [other for other in own if other != group] or own
        if elsewhere:
            to = self.random.choice(elsewhere)
            self.world.at(self.world.now_us, lambda: self._say_in(node.me.name, to))

    def _say_in(self, name: str, group: int) -> None:
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
            self._say_in(name, self.random.choice(own) if own else number)

    def _stuck(self, number: int) -> str:
        """Say the same; a process that is blocked in one group may hold up another of its."""
        for node in self.world.nodes.values():
            if node.is_up and any(
                node.machine.endpoint(group).is_blocked
                for group in node.machine.groups
                if group not in node.ends
            ):
                return ""
        return super()._stuck(number)

    def judge(self) -> list[str]:
        """Say what is wrong."""
        return [*super().judge(), self.world.across.judge(self.world.resilience)]


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

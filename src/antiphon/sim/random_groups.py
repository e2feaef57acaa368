"""Random worlds of several groups: what is done to them, and whether they kept their promises.

Law: a world is a function of its seed. It fails if the oracle finds a broken promise in any group,
or if, when all faults have ended and time has passed, a group has not gone on although a quorum of
its last view lives: then the living are its members, all in one view.
"""

from collections.abc import Callable
from random import Random

from antiphon.core.errors import AntiphonError
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Order
from antiphon.sim.going_on import find_excluded, find_stuck
from antiphon.sim.several_groups import Node, SeveralGroups

_SETTLE_US = 4_000_000

_CALM = 0.3
"""How many worlds have no faults: nobody may be excluded there."""

_FAULTS = 0.16


def examine_groups(seed: int) -> str:
    """Live through the world of ``seed``; say what went wrong, if anything did."""
    author = GroupAuthor(seed, SeveralGroups(seed))
    try:
        return author.live()
    except (AntiphonError, AssertionError, KeyError, ValueError) as error:
        return f"at {author.world.now_us} us: {type(error).__name__}: {error}"


Structure = Callable[[Random, str], dict[int, str]]
"""Makes groups of processes."""


def _any_structure(random: Random, names: str) -> dict[int, str]:
    return {
        number: "".join(sorted(random.sample(names, random.randint(2, len(names)))))
        for number in range(random.randint(2, 4))
    }


class GroupAuthor:
    """Does random things to groups that overlap."""

    def __init__(self, seed: int, world: SeveralGroups, structure: Structure | None = None) -> None:
        """Found some groups."""
        self.random = random = Random(f"{seed}/groups")
        self.names = "abcdef"[: random.randint(3, 6)]
        self.world = world
        self.groups = (structure or _any_structure)(random, self.names)
        self.world.start(self.names, self.groups)
        self.crashed = ""
        self.is_calm = random.random() < _CALM
        self.crashes_max = (min(map(len, self.groups.values())) - 1) // 2

    def live(self) -> str:
        """Do some things, end all faults, and look what became of it."""
        for _ in range(self.random.randint(10, 40)):
            self.world.run(self.random.choice([100, 1_000, 5_000, 40_000, 200_000]))
            self._act()
        self._calm()
        self.world.run(_SETTLE_US)
        said = [self.stuck(), find_excluded(self.world, is_calm=self.is_calm), *self.judge()]
        return next((text for text in said if text), "")

    def _calm(self) -> None:
        """End all faults."""
        self.world.cut("")

    def judge(self) -> list[str]:
        """Say what is wrong in the groups."""
        return self.world.judge()

    def _act(self) -> None:
        random, world = self.random, self.world
        number = random.choice(list(self.groups))
        name = random.choice(self.groups[number])
        kind = random.uniform(_FAULTS if self.is_calm else 0.0, 1.0)
        if kind < 0.06:
            if name not in self.crashed and len(self.crashed) < self.crashes_max:
                world.crash(name)
                self.crashed += name
        elif kind < 0.1:
            world.cut("".join(who for who in self.names if random.random() < 0.3))
        elif kind < _FAULTS:
            world.cut("")
        elif kind < 0.22:
            world.leave(name, number)
        elif kind < 0.3:
            self._join(number)
        else:
            self._speak(name, number)

    def _speak(self, name: str, number: int) -> None:
        self.world.say(name, number, self.random.choice([Order.CAUSAL, Order.TOTAL]))

    def _join(self, number: int) -> None:
        joiner = self.random.choice(self.names)
        node = self.world.node(joiner)
        is_able = node.is_up and not node.machine.is_over
        group = GroupNumber(number)
        has_left = group in node.ends and not node.ends[group]
        is_able = is_able and self._may_join(node, number)
        if is_able and (group not in node.rows or has_left):
            contact = self.random.choice(self.groups[number])
            if contact != joiner:
                self.world.join(joiner, number, contact)

    def _may_join(self, node: Node, number: int) -> bool:
        """Whether a process may be in a group, with all others that it is or has been in."""
        del node, number
        return True

    def stuck(self) -> str:
        """Say which group has not gone on where it can."""
        return next(
            (said for number in self.groups if (said := find_stuck(self.world, number))), ""
        )

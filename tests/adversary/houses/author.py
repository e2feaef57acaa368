"""Random houses: structures, faults and applications that answer in other groups.

Law: a world is a function of its seed. A world fails if the judge finds something wrong, if a task
raises what nobody takes, or if, when all faults have ended and time has passed, somebody in a group
that can go on has not read what is said then.
"""

from collections.abc import Callable
from itertools import combinations
from random import Random
from typing import Literal

from tests.adversary.houses.ending import look_at_the_end
from tests.adversary.houses.harms import Harms
from tests.adversary.houses.judging import judge as judge_house
from tests.adversary.houses.world import House, Program

from antiphon import CausalDomain, Order
from antiphon.core.errors import AntiphonError

Groups = dict[str, str]
_ANSWERS_MAX = 200
_REST_S = 25.0
_ORDERS = [
    (Order.CAUSAL, False), (Order.CAUSAL, False), (Order.TOTAL, False), (Order.FIFO, False),
    (Order.CAUSAL, True), (Order.TOTAL, True),
]  # fmt: skip


def examine(seed: int, letters: float | None = None) -> str:
    """Live through a world; say what went wrong, if anything did."""
    author = Author(seed, letters)
    try:
        return author.live()
    except (AntiphonError, AssertionError, KeyError, ValueError, IndexError, TypeError) as error:
        return f"at {author.house.cluster.time_s:.3f} s: {type(error).__name__}: {error}"
    finally:
        author.house.cluster.close()


def structure(random: Random, names: str) -> Groups:
    """Return groups of some of these processes, by initials."""
    size = len(names)

    def ring(width: int) -> list[str]:
        return ["".join(names[(i + j) % size] for j in range(width)) for i in range(size)]

    def tree() -> list[str]:
        return [names[i] + names[(i - 1) // 2] for i in range(1, size)]

    def grid() -> list[str]:
        rows = [names[at : at + 3] for at in range(0, size, 3)]
        columns = ["".join(row[at] for row in rows if at < len(row)) for at in range(3)]
        return [one for one in rows + columns if len(one) > 1]

    def clique() -> list[str]:
        return ["".join(pair) for pair in combinations(names[:4], 2)]

    def anything() -> list[str]:
        count = random.randint(2, 5)
        return ["".join(random.sample(names, random.randint(2, size))) for _ in range(count)]

    def triples() -> list[str]:
        return ["".join(three) for three in combinations(names[:4], 3)]

    def same() -> list[str]:
        return [names] * random.randint(2, 3)

    kinds: list[Callable[[], list[str]]] = [
        lambda: ring(2), lambda: ring(3), tree, grid, clique, anything, anything, triples, same,
    ]  # fmt: skip
    found = [one for one in random.choice(kinds)() if len(set(one)) > 1]
    founders = ["".join(sorted(set(one))) for one in found] or [names]
    return {f"g{number}": one for number, one in enumerate(founders)}


class Author:
    """Does random things to a house."""

    def __init__(self, seed: int, letters: float | None = None) -> None:
        """Build it; ``letters``: so much of what is said is written to one member."""
        self.random = random = Random(f"house {seed}")
        names = "abcdefg"[: random.randint(3, 6)]
        groups = structure(random, names)
        domains = {
            group: random.choices(("house", "yard", group), (8, 1, 1))[0] for group in groups
        }
        resilience: Literal[1, 2, "all"] = random.choice((1, 1, 2, "all"))
        self.kind = random.choice(("", "", "declared", "excluded"))
        self.house = House(
            seed, groups, domains, self._domain(groups, resilience),
            delay_s=random.choice(((50e-6, 500e-6), (50e-6, 5e-3), (1e-3, 20e-3), (10e-3, 40e-3))),
        )  # fmt: skip
        house = self.house
        house.rejoins = random.random() < 0.5
        house.has_states = house.judge.has_states = random.random() < 0.3
        house.drain_s = random.choice((0.05, 1.0, 5.0))
        house.flush = random.choice(("view-atomic",) * 4 + ("coordinator", "all-to-all"))
        self._ways = random.choice((_ORDERS, _ORDERS, _ORDERS[:1], _ORDERS[:3], _ORDERS[2:]))
        if house.flush != "view-atomic":
            self._ways = [way for way in self._ways if not way[1]] or _ORDERS[:3]
            if house.judge.resilience < 1 << 20:
                house.judge.resilience = 0  # a hole is possible after one crash: who leaves first
        drawn = random.choice((0.0, 0.0, 0.1, 0.3))
        self._letters = drawn if letters is None else letters
        self._answers = random.choice((0.1, 0.3, 0.5))
        self._answered = 0
        faults = [
            "", "", "slow", "slow plot", "kill", "kill slow plot", "leave join",
            "leave join slow hop",
            "kill restart leave join", "pause slow", "pause leave join kill restart", "part heal",
            "part heal kill join restart slow", "cut half stall heal", "end restart join",
            "kill leave join hop slow flush pause part heal restart plot",
        ]  # fmt: skip
        self._faults = random.choice(faults).split()
        self._flushes = random.choice((0.0, 0.0, 0.05))
        self._rate = random.choice((0.1, 0.3))
        self._harms = Harms(house, random, self._say, random.choice((1, 1, 2, 3)))
        house.on_reading = self._answer

    def _domain(self, groups: Groups, resilience: Literal[1, 2, "all"]) -> CausalDomain:
        random = self.random
        if not self.kind:
            return CausalDomain("house", resilience)
        pairs = [
            (one, other)
            for one, other in combinations(groups, 2)
            if set(groups[one]) & set(groups[other]) or random.random() < 0.2
        ]
        pairs = pairs or [("g0", "g1")]
        excluded = random.sample(sorted(groups), random.randint(1, min(2, len(groups))))
        if self.kind == "excluded":
            return CausalDomain("house", resilience, overlaps=pairs, excluded=excluded)
        return CausalDomain("house", resilience, overlaps=pairs)

    # What applications do.

    def _answer(self, program: Program, group: str) -> None:
        """Say something when something is read: mostly in another group."""
        if self.random.random() > self._answers or self._answered > _ANSWERS_MAX:
            return
        self._answered += 1
        elsewhere = [other for other in program.inside if other != group] or program.inside
        if elsewhere:
            self._say(program, self.random.choice(elsewhere))

    def _say(self, program: Program, group: str) -> None:
        random = self.random
        others = [name for name in self.house.names if name != program.name]
        if random.random() < self._letters:
            handle = program.handles.get(group)
            there = [one for one in (handle.members if handle else ()) if one in others]
            if there:
                to = random.choice(there)
                program.do(program.say(group, Order.CAUSAL, to=to))
            return
        order, uniform = random.choice(self._ways)
        count = random.choice((1, 1, 1, 4))
        program.do(program.say(group, order, uniform=uniform, count=count))

    # What happens.

    def live(self) -> str:
        """Do some things, end all faults, and look what became of it."""
        random, house = self.random, self.house
        house.start()
        for program in house.programs.values():
            program.in_batches = random.random() < 0.5
            program.pace_s = random.choice((0.0, 0.0, 0.0, 0.002))
        for _ in range(random.randint(15, 50)):
            house.cluster.advance(random.choice((0.0002, 0.001, 0.004, 0.02, 0.08, 0.6)))
            self._act()
        self._calm()
        house.cluster.advance(_REST_S)
        judge = house.judge
        look_at_the_end(house)
        judge_house(judge)
        for said in house.cluster.failures():
            judge.complain(f"background: {said.get('message')}: {said.get('exception')!r}")
        return judge.wrong[0] if judge.wrong else ""

    def _calm(self) -> None:
        house = self.house
        for name in sorted(self._harms.paused):
            house.cluster.resume(name)
        for one in house.names:
            for other in house.names:
                house.cluster.network.set_delay_us(one, other, None)
        house.cluster.heal()
        for program in house.programs.values():
            program.pace_s = 0.0

    def _act(self) -> None:
        random, house = self.random, self.house
        if self._faults and random.random() < self._rate:
            self._harms.do(random.choice(self._faults))
        name = random.choice(house.names)
        program = house.programs[name]
        if random.random() < self._flushes and program.is_there:
            program.do(program.flush())
        for _ in range(random.choice((1, 1, 2, 5))):
            if program.is_there and program.inside:
                self._say(program, random.choice(program.inside))

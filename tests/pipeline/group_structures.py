"""Structures of overlapping groups, from dice: who is in which group.

Law: every structure is connected, by processes that are in several groups; process names say
nothing about the structure.
"""

from collections.abc import Callable
from itertools import combinations
from random import Random

Structure = dict[str, list[str]]
"""By group: its members."""


def tree(dice: Random) -> list[list[int]]:
    """Each group but the first shares one process with one before it."""
    groups, count = [[0, 1]], 2
    for _ in range(dice.randint(1, 4)):
        size = dice.randint(1, 2)
        groups.append([dice.choice(dice.choice(groups)), *range(count, count + size)])
        count += size
    return groups


def ring(dice: Random) -> list[list[int]]:
    """Each group shares one process with the next, and the last with the first."""
    size = dice.randint(3, 6)
    return [[number, (number + 1) % size] for number in range(size)]


def clique(dice: Random) -> list[list[int]]:
    """Every two groups have a process in common, and no two the same."""
    pairs = list(combinations(range(dice.randint(2, 4)), 2))
    groups = max(max(pair) for pair in pairs) + 1
    return [[place for place, pair in enumerate(pairs) if group in pair] for group in range(groups)]


def grid(dice: Random) -> list[list[int]]:
    """Processes stand in rows and columns, and each of these is a group."""
    height, width = dice.randint(2, 3), dice.randint(2, 3)
    rows = [[row * width + place for place in range(width)] for row in range(height)]
    return [*rows, *(list(column) for column in zip(*rows, strict=True))]


def anything(dice: Random) -> list[list[int]]:
    """Groups of any members; the first is in all that would be apart."""
    count = dice.randint(4, 7)
    groups = [dice.sample(range(count), dice.randint(2, 4)) for _ in range(dice.randint(2, 6))]
    together = set(groups[0])
    for group in groups[1:]:
        if not together.intersection(group):
            group.append(groups[0][0])
        together.update(group)
    return groups


STRUCTURES: list[Callable[[Random], list[list[int]]]] = [tree, ring, clique, grid, anything]


def random_structure(dice: Random) -> Structure:
    """Return groups with their members, by name; in small ones some extra processes listen."""
    shape = dice.choice(STRUCTURES)(dice)
    count = 1 + max(place for group in shape for place in group)
    if dice.random() < 0.4:
        shape[dice.randrange(len(shape))].append(count)
        count += 1
    names = [f"p{number}" for number in range(count)]
    dice.shuffle(names)
    groups = [f"g{number}" for number in range(len(shape))]
    dice.shuffle(groups)
    return {
        group: sorted({names[place] for place in places})
        for group, places in zip(groups, shape, strict=True)
    }

"""What a scenario of several groups declares of their overlaps (``ordering.structure``).

    overlaps A B
    overlaps B C
    excluded C

Law: overlaps are declared if a line declares any, else everything may overlap everything. Groups
that share a founder must be declared to overlap, or the scenario is refused; a join that would make
an overlap nobody declared is refused by the machine when it is tried, as an application would be
told, and the process stays out.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

from antiphon.core.errors import UsageError
from antiphon.ordering.structure import Structure


def declared_structure(
    overlaps: Sequence[tuple[str, str]], excluded: Sequence[str]
) -> Structure | None:
    """Return what is declared, or nothing; raise :class:`UsageError` if it cannot be."""
    return Structure(overlaps, excluded=excluded) if overlaps or excluded else None


def check_founders(structure: Structure, groups: Mapping[str, Sequence[str]]) -> None:
    """Refuse groups that overlap from the beginning and are not declared to."""
    for one, other in combinations(groups, 2):
        shared = [name for name in groups[one] if name in groups[other]]
        if shared and not structure.declares(one, other):
            message = (
                f"{shared[0]} is in groups {one} and {other}, which are not declared to overlap: "
                "declare it, or let it be in one of them"
            )
            raise UsageError(message)

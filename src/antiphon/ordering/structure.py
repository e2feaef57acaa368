"""The declared structure of a causality domain: which groups may overlap (ISIS 6.6, 7.3).

Two groups overlap if a process is in both, or has been in one and is in the other: what it
multicasts depends on both. A domain may declare its overlaps, as pairs of names of groups; a name
that ends in ``*`` is a pattern and stands for any number of groups (``room-*``). They make a graph.

Law (ISIS 6.6, Theorem 1; 000-21). The stamp of a group is needed by who is in it, and by who is in
a group of the same biconnected component with three groups or more: on a circle, what is known can
come round by a way on which nobody is in that group. Components of two groups are single overlaps
and need nothing; so a tree needs stamps of one's own groups only.

A structure may have circles, unless it is declared ``acyclic``.

Excluded groups (ISIS 6.7) have no part in circles: whoever goes from or to one begins an epoch
(``stack.epochs``), so nothing that depends on it comes round. Their overlaps are left out of the
graph.

Patterns. How many groups match one is not known, so each stands in the graph three times, each time
for names that match no longer pattern, and are not named themselves. Three are enough: whatever
parts two of many alike, when it is taken away, parts two of three; and groups that overlap others
of their own pattern are a circle when there are three of them. As only the end of a name may be
open, of the patterns that match a name one is the longest, and the graph is exact.

Cost: once per declaration, linear in its graph; then a look-up. The graph library is imported when
a structure is made, and never otherwise.
"""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from antiphon.core.errors import UsageError
from antiphon.core.ids import check_name

_COPIES = 3

_Vertex = tuple[str, int]
"""A name or pattern, and which of its copies."""


class Structure:
    """Which groups of a domain may overlap, and which of them need each other's stamps."""

    __slots__ = ("_linked", "_names", "_overlaps", "excluded")

    def __init__(
        self,
        overlaps: Iterable[tuple[str, str]],
        *,
        acyclic: bool = False,
        excluded: Iterable[str] = (),
    ) -> None:
        """Declare pairs of names or patterns; refuse circles, if there are to be none.

        ``excluded`` are names or patterns, too: groups in and out of which epochs lead.
        """
        self._overlaps = frozenset(_pair(pair) for pair in overlaps)
        self._names = {name for pair in self._overlaps for name in pair}
        self.excluded = frozenset(self._check_excluded(excluded))
        """Groups, or patterns of groups, that circles do not lead through."""
        self._names |= self.excluded
        self._linked = self._components()
        if acyclic and self._linked:
            groups = ", ".join(sorted({name for name, _ in next(iter(self._linked.values()))}))
            message = (
                f"the declared overlaps of {groups} make a circle, and there is to be none: "
                "declare fewer overlaps, or do without acyclic"
            )
            raise UsageError(message)

    def __eq__(self, other: object) -> bool:
        """Whether the same is declared."""
        return (
            isinstance(other, Structure)
            and self._overlaps == other._overlaps
            and self.excluded == other.excluded
        )

    def __hash__(self) -> int:
        """Equal declarations are one."""
        return hash((self._overlaps, self.excluded))

    def declares(self, one: str, other: str) -> bool:
        """Whether two groups may overlap."""
        return one == other or any(
            (_matches(a, one) and _matches(b, other)) or (_matches(a, other) and _matches(b, one))
            for a, b in self._overlaps
        )

    def is_excluded(self, group: str) -> bool:
        """Whether epochs lead in and out of a group."""
        return any(_matches(one, group) for one in self.excluded)

    def are_linked(self, one: str, other: str) -> bool:
        """Whether two groups are on a circle, so that each needs the other's stamp."""
        a, b = self._name_for(one), self._name_for(other)
        if a is None or b is None or one == other:
            return False
        first, second = (a, 0), (b, 1 if a == b else 0)
        return any(second in component for component in self._of(first))

    # Inside.

    def _check_excluded(self, excluded: Iterable[str]) -> Iterable[str]:
        if isinstance(excluded, str):
            message = f"excluded groups are several: write [{excluded!r}]"
            raise UsageError(message)
        for given in excluded:
            if not isinstance(given, str):
                message = f"excluded groups are given by name, and {given!r} is none"
                raise UsageError(message)
            name = _check(given)
            if not any(_matches(one, name) for one in self._names):
                message = (
                    f"group {name} is excluded and not declared to overlap any other: declare "
                    "with which, or do not exclude it"
                )
                raise UsageError(message)
            yield name

    def _of(self, vertex: _Vertex) -> list[frozenset[_Vertex]]:
        return [component for component in self._linked.values() if vertex in component]

    def _name_for(self, group: str) -> str | None:
        """Return what a group goes by in the graph: its name, or the longest pattern."""
        if group in self._names:
            return group
        return max((one for one in self._names if _matches(one, group)), key=len, default=None)

    def _components(self) -> Mapping[int, frozenset[_Vertex]]:
        """Return the biconnected components of three groups and more."""
        graph = _graph_library()
        structure = graph.Graph()
        vertices = [
            (name, copy)
            for name in sorted(self._names)
            for copy in range(_COPIES if name.endswith("*") else 1)
        ]
        structure.add_nodes_from(vertices)
        structure.add_edges_from(
            (one, other)
            for one, other in combinations(vertices, 2)
            if self.declares(_example(*one), _example(*other))
            and not self.is_excluded(_example(*one))
            and not self.is_excluded(_example(*other))
        )
        found = [frozenset(each) for each in graph.biconnected_components(structure)]
        return dict(enumerate(sorted((each for each in found if len(each) > 2), key=sorted)))


def _graph_library() -> Any:  # noqa: ANN401 - it ships no types
    try:
        import networkx as nx  # noqa: PLC0415 - for who declares a structure, and for nobody else
    except ImportError as error:
        message = "a declared structure needs the graph library: install antiphon[structure]"
        raise UsageError(message) from error
    return nx


def _pair(pair: tuple[str, str]) -> tuple[str, str]:
    is_pair = isinstance(pair, tuple) and len(pair) == 2
    if not (is_pair and all(isinstance(name, str) for name in pair)):
        message = f"an overlap is a pair of names of groups, and {pair!r} is none"
        raise UsageError(message)
    one, other = sorted(map(_check, pair))
    if one == other and not one.endswith("*"):
        message = f"group {one} is declared to overlap itself: name two groups"
        raise UsageError(message)
    return one, other


def _check(name: str) -> str:
    """Return a name or a pattern, if it is one."""
    if name != "*":
        check_name(name.removesuffix("*"), "group")
    return name


def _matches(pattern: str, group: str) -> bool:
    if pattern.endswith("*"):
        return group.startswith(pattern[:-1])
    return pattern == group


def _example(name: str, copy: int = 0) -> str:
    """Return a name that matches a pattern, and no longer one; no group can bear it."""
    return f"{name[:-1]}*{copy}" if name.endswith("*") else name

"""Overlays as functions of the number of members: who is whose neighbour.

Rule. Members are ranks 0 to n - 1; each computes its own neighbours from n and its rank, in time
proportional to their number, so a view says all there is to know, and another view rewires them.

Invariant. Neighbourhood is mutual, nobody is its own neighbour, and the overlay is connected. It
stays connected when fewer members crash than its connectivity says (Overlay 4 says "log n failures"
of a hypercube; 002-5: log n - 1, for the log n neighbours of one member cut it off).

    hypercube             n = 2^d: ranks that differ in one bit. Degree and connectivity d
    incomplete-hypercube  any n. With 2^d <= n < 2^(d+1): the cube of d + 1 dimensions in which each
                          missing rank is played by its twin, the rank without the highest bit.
                          Degrees d to 2d, connectivity at least d
    ring                  any n: distances 1, 2, 4, ... both ways. Degree and connectivity 2 log n
    tree                  any n: a binary heap. Fewest copies, n - 1; connectivity 1: no crash

Why the incomplete cube is d-connected. The 2^d lower ranks are a whole cube, which is d-connected.
An upper rank u has d + 1 ways to different lower ranks that share nothing but u: its twin, and, for
each bit, the member that plays u with that bit flipped, or that one's twin. So with fewer than d
gone the lower ranks that are left are connected, and every upper rank is with one of them.

Cost of one broadcast: sum of degrees - (n - 1) copies; n(log2 n - 1) + 1 in a full cube (002-7).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from antiphon.core.errors import UsageError

Neighbours = tuple[int, ...]


class Topology(NamedTuple):
    """A kind of overlay."""

    name: str
    neighbours: Callable[[int, int], Neighbours]
    """Of a rank, among so many members: (size, rank)."""
    connectivity: Callable[[int], int]
    """With fewer crashes than this all who are left are still connected; at least."""

    def overlay(self, size: int) -> list[Neighbours]:
        """Return everybody's neighbours."""
        return [self.neighbours(size, rank) for rank in range(size)]


def hypercube(size: int, rank: int) -> Neighbours:
    """Return the ranks that differ in one bit; only powers of two have a cube."""
    _check(size, rank)
    if size & (size - 1):
        message = f"a hypercube has 2, 4, 8, ... members, not {size}: use incomplete-hypercube"
        raise UsageError(message)
    return tuple(rank ^ 1 << bit for bit in range(_log2(size)))


def incomplete_hypercube(size: int, rank: int) -> Neighbours:
    """Return the neighbours in a cube in which twins play who is missing."""
    _check(size, rank)
    bits = _log2(size)
    half = 1 << bits
    across = [rank ^ 1 << bit for bit in range(bits)]
    if rank >= half:
        return (*(other if other < size else other - half for other in across), rank - half)
    twin = rank + half
    if twin < size:
        return (*across, twin)
    return (*across, *(upper for bit in range(bits) if (upper := twin ^ 1 << bit) < size))


def ring(size: int, rank: int) -> Neighbours:
    """Return the ranks at distance 1, 2, 4, ... on both sides."""
    _check(size, rank)
    steps = [1 << bit for bit in range(size.bit_length()) if 1 << bit <= size // 2]
    both = [(rank + sign * step) % size for step in steps for sign in (1, -1)]
    return tuple(dict.fromkeys(both))


def tree(size: int, rank: int) -> Neighbours:
    """Return the parent and the children in a binary heap."""
    _check(size, rank)
    children = (child for child in (2 * rank + 1, 2 * rank + 2) if child < size)
    return (*(() if rank == 0 else ((rank - 1) // 2,)), *children)


def _log2(size: int) -> int:
    return size.bit_length() - 1


def _check(size: int, rank: int) -> None:
    if not 0 <= rank < size:
        message = f"rank {rank} is none of {size} members: ranks are 0 to {size - 1}"
        raise UsageError(message)


TOPOLOGIES = {
    each.name: each
    for each in (
        Topology("hypercube", hypercube, _log2),
        Topology("incomplete-hypercube", incomplete_hypercube, _log2),
        Topology("ring", ring, lambda size: len(ring(size, 0))),
        Topology("tree", tree, lambda size: min(1, size - 1)),
    )
}


def check_overlay(overlay: Sequence[Sequence[int]]) -> None:
    """Refuse an overlay over which flooding would not reach everybody."""
    size = len(overlay)
    for rank, neighbours in enumerate(overlay):
        for other in neighbours:
            if not 0 <= other < size or other == rank or rank not in overlay[other]:
                message = f"members {rank} and {other} are not each other's neighbours, of {size}"
                raise UsageError(message)
    reached = reachable(overlay, 0) if size else set()
    if len(reached) < size:
        lost = next(rank for rank in range(size) if rank not in reached)
        message = f"the overlay is not connected: no way from member 0 to member {lost}"
        raise UsageError(message)


def reachable(
    overlay: Sequence[Sequence[int]], start: int, gone: frozenset[int] = frozenset()
) -> set[int]:
    """Return who can be reached without those that are gone."""
    found, waiting = {start}, [start]
    while waiting:
        for other in overlay[waiting.pop()]:
            if other not in found and other not in gone:
                found.add(other)
                waiting.append(other)
    return found


def copies_per_broadcast(overlay: Sequence[Sequence[int]]) -> int:
    """Return how often one message is put on a link when nobody crashes (002-7)."""
    return sum(map(len, overlay)) - (len(overlay) - 1)

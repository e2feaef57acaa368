"""A spanning tree of an overlay, as a function of the number of members: by which receipts go.

Rule. The root is rank 0, the most senior member. Everybody else's parent is the neighbour that is
nearest to the root, and of several the one of the lowest rank. So every edge is a link of the
overlay, and each member works the whole tree out from the size of the view.

Invariant. Everybody has one way up to the root, of as few links as the overlay has.

Cost: O(n log n) to work out, once for each size of a view. Depth: log2 n at most in the cube.
"""

from functools import lru_cache
from typing import NamedTuple

from antiphon.ordering.overlay.topologies import TOPOLOGIES

_SIZES = 16
"""Trees that are kept at hand."""


class SpanningTree(NamedTuple):
    """Who tells whom, by rank."""

    parents: tuple[int, ...]
    """The root is its own."""
    children: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    """How many members there are from each one on downwards, itself included."""


@lru_cache(maxsize=_SIZES)
def spanning_tree(topology: str, size: int) -> SpanningTree:
    """Return the tree of a topology with so many members."""
    neighbours = TOPOLOGIES[topology].neighbours
    parents = [0] + [-1] * (size - 1)
    order = [0]
    for rank in order:
        for other in sorted(neighbours(size, rank)):
            if parents[other] < 0:
                parents[other] = rank
                order.append(other)
    assert len(order) == size, "an overlay is connected"
    children: list[list[int]] = [[] for _ in range(size)]
    sizes = [1] * size
    for rank in order[:0:-1]:
        children[parents[rank]].append(rank)
        sizes[parents[rank]] += sizes[rank]
    return SpanningTree(
        tuple(parents), tuple(tuple(sorted(each)) for each in children), tuple(sizes)
    )

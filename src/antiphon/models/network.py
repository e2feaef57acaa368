"""A physical network: a random connected graph of duplex links, and the shortest ways through it.

Law: nodes 0 to n - 1 are hosts and routers in one. Link 2k leads from a to b and link 2k + 1 back,
each with its own FIFO queue; both take the same time. Routes have the fewest hops; of several next
hops the one that a breadth-first search from the destination finds first, neighbours in order, so
routes to one destination are a tree, and the same for all messages: from one node to another, and
on each tree, nothing overtakes anything.

A random graph has each edge with the same probability. Where that leaves it in parts, as 100 nodes
at 0.01 must be, each part is joined to what is connected already by one random edge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from antiphon.core.errors import UsageError
from antiphon.models.compiling import Int32s, Int64s

NO_LINK = -1


@dataclass(frozen=True, slots=True)
class PhysicalNetwork:
    """Nodes and links."""

    size: int
    ends: Int32s
    """By link: where it leads."""
    delays_ns: Int64s
    """By link: how long a bit is on its way."""
    leaving: list[list[int]]
    """By node: its links, by neighbour."""

    @property
    def edges(self) -> int:
        """How many duplex links there are."""
        return len(self.ends) // 2


def random_network(
    size: int, edge_probability: float, seed: int, delay_ns_max: int = 1_000_000
) -> PhysicalNetwork:
    """Return a random connected graph; delays are uniform, up to a millisecond."""
    if size < 1 or not 0 <= edge_probability <= 1 or delay_ns_max < 1:
        message = f"no network of {size} nodes has edge probability {edge_probability}"
        raise UsageError(message)
    dice = Random(f"{seed}/{size}/{edge_probability}/network")
    pairs = [
        (one, other)
        for one in range(size)
        for other in range(one + 1, size)
        if dice.random() < edge_probability
    ]
    pairs += _bridges(size, pairs, dice)
    return network_of(size, [(*pair, dice.randint(1, delay_ns_max)) for pair in sorted(pairs)])


def network_of(size: int, edges: Sequence[tuple[int, int, int]]) -> PhysicalNetwork:
    """Return the network of some edges: from, to, delay in nanoseconds."""
    ends = np.array([end for one, other, _ in edges for end in (other, one)], np.int32)
    delays = np.array([delay for _, _, delay in edges for _ in range(2)], np.int64)
    leaving: list[list[int]] = [[] for _ in range(size)]
    for at, (one, other, _) in enumerate(edges):
        leaving[one].append(2 * at)
        leaving[other].append(2 * at + 1)
    for links in leaving:
        links.sort(key=lambda link: int(ends[link]))
    return PhysicalNetwork(size, ends, delays, leaving)


def _bridges(size: int, pairs: list[tuple[int, int]], dice: Random) -> list[tuple[int, int]]:
    """Return edges that join the parts of a graph."""
    parent = list(range(size))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for one, other in pairs:
        parent[root(one)] = root(other)
    parts: dict[int, list[int]] = {}
    for node in range(size):
        parts.setdefault(root(node), []).append(node)
    connected, *others = parts.values()
    bridges = []
    for part in others:
        one, other = dice.choice(connected), dice.choice(part)
        bridges.append((min(one, other), max(one, other)))
        connected = connected + part
    return bridges


def routes_to(network: PhysicalNetwork, destination: int) -> tuple[list[int], list[int]]:
    """Return by node the link to take to a destination, and how many hops it is."""
    ends = network.ends.tolist()
    via, hops = [NO_LINK] * network.size, [-1] * network.size
    hops[destination] = 0
    waiting = [destination]
    for node in waiting:  # grows meanwhile
        for link in network.leaving[node]:
            other = ends[link]
            if hops[other] < 0:
                hops[other] = hops[node] + 1
                via[other] = link ^ 1
                waiting.append(other)
    if len(waiting) < network.size:
        message = f"the network is not connected: {network.size - len(waiting)} nodes are apart"
        raise UsageError(message)
    return via, hops

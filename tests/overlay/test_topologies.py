"""Overlays: mutual, connected, as connected as they say, about log n neighbours each."""

from itertools import combinations

import pytest

from antiphon.core.errors import UsageError
from antiphon.ordering.overlay.topologies import (
    TOPOLOGIES,
    check_overlay,
    copies_per_broadcast,
    hypercube,
    reachable,
)

Place = tuple[int, int]
"""A member's entrance (0) or exit (1): between the two, one way may pass."""

Flow = set[tuple[Place, Place]]


def disjoint_paths(overlay: list[tuple[int, ...]], source: int, target: int) -> int:
    """Return how many ways from one member to another share nobody (Ford and Fulkerson)."""
    forth: dict[Place, list[Place]] = {(rank, 0): [(rank, 1)] for rank in range(len(overlay))}
    for rank, near in enumerate(overlay):
        forth[rank, 1] = [(other, 0) for other in near]
    flow: Flow = set()
    while came := way(forth, flow, (source, 1), (target, 0)):
        place = (target, 0)
        while place != (source, 1):
            before = came[place]
            flow ^= {(place, before)} if (place, before) in flow else {(before, place)}
            place = before
    return sum(place == (source, 1) for place, _ in flow)


def way(
    forth: dict[Place, list[Place]], flow: Flow, begin: Place, end: Place
) -> dict[Place, Place]:
    """Return where each place on one more way is reached from; nothing if there is none."""
    came, waiting = {begin: begin}, [begin]
    while waiting and end not in came:
        place = waiting.pop()
        free = [other for other in forth[place] if (place, other) not in flow]
        back = [one for one, other in flow if other == place]
        for other in free + back:
            if other not in came:
                came[other] = place
                waiting.append(other)
    return came if end in came else {}


def connectivity(overlay: list[tuple[int, ...]]) -> int:
    """Return how many members have to go until some that are left cannot reach each other."""
    size = len(overlay)
    pairs = [pair for pair in combinations(range(size), 2) if pair[1] not in overlay[pair[0]]]
    return min((disjoint_paths(overlay, *pair) for pair in pairs), default=size - 1)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_overlay_of_any_size_is_mutual_and_connected(name: str) -> None:
    """Also for one member, two, and numbers around powers of two."""
    for size in [*range(1, 70), 127, 128, 129, 1000]:
        if name == "hypercube" and size & (size - 1):
            continue
        overlay = TOPOLOGIES[name].overlay(size)
        check_overlay(overlay)
        assert all(len(set(near)) == len(near) for near in overlay)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_overlay_is_as_connected_as_it_says(name: str) -> None:
    """By counting ways that share nobody, for every pair that are not neighbours."""
    for size in (2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 19):
        if name == "hypercube" and size & (size - 1):
            continue
        kind = TOPOLOGIES[name]
        assert connectivity(kind.overlay(size)) >= kind.connectivity(size), size


def test_incomplete_cube_has_about_log_n_neighbours_each() -> None:
    """From d to 2d of them, with 2^d the largest power of two that is in n."""
    for size in range(2, 300):
        overlay = TOPOLOGIES["incomplete-hypercube"].overlay(size)
        bits = size.bit_length() - 1
        assert all(bits <= len(near) <= 2 * bits for near in overlay)


def test_incomplete_cube_of_a_power_of_two_is_the_cube() -> None:
    """Nobody is missing, nobody plays another."""
    for size in (2, 4, 8, 16, 32):
        assert TOPOLOGIES["incomplete-hypercube"].overlay(size) == TOPOLOGIES["hypercube"].overlay(
            size
        )


def test_log_n_crashes_cut_a_cube_and_fewer_do_not() -> None:
    """002-5: nodes 1, 2 and 4 of the 3-cube cut off node 0; no two crashes cut off anybody."""
    cube = TOPOLOGIES["hypercube"].overlay(8)
    assert reachable(cube, 0, frozenset({1, 2, 4})) == {0}
    for gone in map(frozenset, combinations(range(8), 2)):
        start = min(set(range(8)) - gone)
        assert len(reachable(cube, start, gone)) == 6


def test_copies_of_a_cube_are_as_the_formula_says() -> None:
    """002-7: n(log2 n - 1) + 1, not n log n."""
    for bits in range(1, 11):
        size = 1 << bits
        overlay = TOPOLOGIES["hypercube"].overlay(size)
        assert copies_per_broadcast(overlay) == size * (bits - 1) + 1
    assert copies_per_broadcast(TOPOLOGIES["tree"].overlay(600)) == 599


def test_overlay_that_cannot_be_flooded_is_refused() -> None:
    """Not connected, one-sided, out of range, or no power of two."""
    with pytest.raises(UsageError, match="no way from member 0 to member 2"):
        check_overlay([(1,), (0,), (3,), (2,)])
    with pytest.raises(UsageError, match="not each other's neighbours"):
        check_overlay([(1,), ()])
    with pytest.raises(UsageError, match="not each other's neighbours"):
        check_overlay([(0,)])
    with pytest.raises(UsageError, match="use incomplete-hypercube"):
        hypercube(6, 0)
    with pytest.raises(UsageError, match="none of 4 members"):
        hypercube(4, 4)

"""Declared structures: which groups may overlap, and which need each other's stamps (ISIS 6.6)."""

import subprocess
import sys
from itertools import combinations
from random import Random

import networkx as nx
import pytest

from antiphon.core.errors import UsageError
from antiphon.ordering.structure import Structure


def test_a_tree_needs_no_stamps_of_other_groups() -> None:
    """000-21: components of two groups are single overlaps."""
    tree = Structure([("a", "b"), ("b", "c"), ("b", "d")])
    assert not any(tree.are_linked(*pair) for pair in combinations("abcd", 2))
    assert tree.declares("b", "a")
    assert not tree.declares("a", "c")


def test_a_circle_needs_all_of_its_own_and_nothing_beyond() -> None:
    """A ring of three, with a group that hangs on it."""
    ring = Structure([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    assert all(ring.are_linked(*pair) for pair in combinations("abc", 2))
    assert not any(ring.are_linked(one, "d") for one in "abc")


def test_two_circles_that_share_a_group_are_two_components() -> None:
    """A figure of eight."""
    eight = Structure([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "c")])
    assert eight.are_linked("a", "c")
    assert eight.are_linked("c", "e")
    assert not eight.are_linked("a", "e")


def test_a_pattern_stands_for_many_groups() -> None:
    """Rooms that overlap one lobby are a tree; with a second lobby, two of them are a circle."""
    one = Structure([("lobby", "room-*")])
    assert one.declares("room-1", "lobby")
    assert not one.declares("room-1", "room-2")
    assert not one.are_linked("lobby", "room-1")
    two = Structure([("lobby", "room-*"), ("hall", "room-*")])
    assert two.are_linked("room-1", "room-2")
    assert two.are_linked("lobby", "hall")
    rooms = Structure([("room-*", "room-*")])
    assert rooms.are_linked("room-1", "room-2")
    assert not rooms.are_linked("room-1", "hall")


def test_a_name_goes_by_all_patterns_that_match_it() -> None:
    """A longer pattern, or the name itself, has what the shorter one has, too."""
    both = Structure([("lobby", "room-*"), ("hall", "room-red-*"), ("room-1", "hall")])
    assert both.declares("room-red-1", "lobby")
    assert both.are_linked("room-red-1", "room-1")
    assert not both.are_linked("room-2", "lobby")


@pytest.mark.parametrize("seed", range(60))
def test_patterns_say_what_the_groups_themselves_would(seed: int) -> None:
    """With five groups for each pattern, in place of three, nothing is otherwise."""
    random = Random(seed)
    names = random.sample(["a", "b", "c", "r-*", "r-x*", "r-1", "s-*"], random.randint(3, 6))
    pairs = [(x, y) for x, y in combinations(names, 2) if random.random() < 0.4]
    pairs += [(x, x) for x in names if x.endswith("*") and random.random() < 0.3]
    if not pairs:
        return
    structure = Structure(pairs)
    many = [f"{stem}{i}" for stem in ("r-", "r-x", "s-") for i in "56789"]
    groups = ["a", "b", "c", "r-1", *many]
    graph = nx.Graph()
    graph.add_edges_from(pair for pair in combinations(groups, 2) if structure.declares(*pair))
    components = [each for each in nx.biconnected_components(graph) if len(each) > 2]
    for one, other in combinations(groups, 2):
        linked = any(one in each and other in each for each in components)
        assert structure.are_linked(one, other) == linked, (pairs, one, other)


def test_a_circle_that_is_not_to_be_is_refused() -> None:
    """Who says that there is none is held to it."""
    ring = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]
    with pytest.raises(UsageError, match="overlaps of a, b, c make a circle"):
        Structure(ring, acyclic=True)
    with pytest.raises(UsageError, match="hall, lobby, room"):
        Structure([("lobby", "room-*"), ("hall", "room-*")], acyclic=True)
    Structure([("lobby", "room-*"), ("hall", "corridor")], acyclic=True)


@pytest.mark.parametrize("pair", [("a",), "ab", ("a", "a"), ("a", "b*c"), ("", "a"), ("a", "**")])
def test_what_is_no_pair_of_groups_is_refused(pair: tuple[str, str]) -> None:
    """With a sentence that says what is wrong."""
    with pytest.raises(UsageError):
        Structure([pair])


def test_equal_declarations_are_equal() -> None:
    """Whatever the order of pairs and names."""
    assert Structure([("a", "b"), ("b", "c")]) == Structure([("c", "b"), ("b", "a")])
    assert Structure([("a", "b")]) != Structure([("a", "b*")])
    assert len({Structure([("a", "b")]), Structure([("b", "a")])}) == 1


def test_the_graph_library_is_loaded_by_who_declares_only() -> None:
    """Importing the machine costs nothing of it."""
    code = "import sys, antiphon.stack.process; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Sets of numbers do what sets do, and are single integers where they can be."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.live.memory.number_sets import (
    Numbers,
    common,
    greatest,
    holds,
    minus,
    of_spans,
    size,
    spans_of,
    union,
    with_span,
)

SETS = st.sets(st.integers(1, 30))


def packed(numbers: set[int]) -> Numbers:
    """Return a set as it is kept."""
    return of_spans((number, number) for number in numbers)


def unpacked(numbers: Numbers) -> set[int]:
    """Return a set as Python has it."""
    return {each for first, last in spans_of(numbers) for each in range(first, last + 1)}


@given(SETS, SETS)
def test_sets_of_numbers_are_sets(one: set[int], two: set[int]) -> None:
    """Union, difference, intersection, size, membership and greatest are those of Python's sets."""
    a, b = packed(one), packed(two)
    assert unpacked(a) == one
    assert union(a, b) == packed(one | two)
    assert minus(a, b) == packed(one - two)
    assert common(a, b) == packed(one & two)
    assert size(a) == len(one)
    assert greatest(a) == max(one, default=0)
    assert [number for number in range(32) if holds(a, number)] == sorted(one)


@given(SETS, st.integers(1, 30), st.integers(0, 5))
def test_spans_are_added(numbers: set[int], first: int, more: int) -> None:
    """A span may touch, overlap or fill what is there."""
    last = first + more
    assert with_span(packed(numbers), first, last) == packed(numbers | {*range(first, last + 1)})


@given(SETS)
def test_all_up_to_a_number_is_that_number(numbers: set[int]) -> None:
    """And nothing else is an integer."""
    found = packed(numbers)
    assert isinstance(found, int) == (numbers == set(range(1, len(numbers) + 1)))

"""Sets of message numbers, small where they are what they should be: all up to some number.

Law: ``{1, ..., n}`` is the integer n, and nothing else is; any other set is the tuple of its spans,
first, last, first, last, ... in order, with a gap between any two. So where nothing is out of order
a set is one number, and two sets are compared as numbers are. Cost: constant for those, else
proportional to the number of spans.
"""

from collections.abc import Iterable

Numbers = int | tuple[int, ...]
"""A set of numbers from 1 up."""

Span = tuple[int, int]
"""The first and the last of some consecutive numbers."""


def spans_of(numbers: Numbers) -> list[Span]:
    """Return the spans of a set, in order."""
    if isinstance(numbers, int):
        return [(1, numbers)] if numbers else []
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def of_spans(spans: Iterable[Span]) -> Numbers:
    """Return the set of all numbers in spans, which may overlap."""
    merged: list[int] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1] + 1:
            merged[-1] = max(merged[-1], last)
        else:
            merged += (first, last)
    if not merged:
        return 0
    return merged[1] if len(merged) == 2 and merged[0] == 1 else tuple(merged)


def with_span(numbers: Numbers, first: int, last: int) -> Numbers:
    """Return a set with some more numbers."""
    if isinstance(numbers, int) and first <= numbers + 1:
        return max(numbers, last)
    return of_spans([*spans_of(numbers), (first, last)])


def union(one: Numbers, two: Numbers) -> Numbers:
    """Return what is in either."""
    if isinstance(one, int) and isinstance(two, int):
        return max(one, two)
    return of_spans([*spans_of(one), *spans_of(two)])


def minus(one: Numbers, two: Numbers) -> Numbers:
    """Return what is in the first, but not in the second."""
    if isinstance(one, int) and isinstance(two, int):
        return 0 if one <= two else one if not two else (two + 1, one)
    left: list[Span] = []
    holes = spans_of(two)
    for first, last in spans_of(one):
        for begin, end in holes:
            if end < first or begin > last:
                continue
            if first < begin:
                left.append((first, begin - 1))
            first = end + 1  # noqa: PLW2901 - what is left of the span
        if first <= last:
            left.append((first, last))
    return of_spans(left)


def common(one: Numbers, two: Numbers) -> Numbers:
    """Return what is in both."""
    if isinstance(one, int) and isinstance(two, int):
        return min(one, two)
    return of_spans(
        (max(first, begin), min(last, end))
        for first, last in spans_of(one)
        for begin, end in spans_of(two)
        if max(first, begin) <= min(last, end)
    )


def size(numbers: Numbers) -> int:
    """Return how many there are."""
    if isinstance(numbers, int):
        return numbers
    return sum(numbers[1::2]) - sum(numbers[::2]) + len(numbers) // 2


def holds(numbers: Numbers, number: int) -> bool:
    """Whether a number is in a set."""
    if isinstance(numbers, int):
        return 1 <= number <= numbers
    return any(first <= number <= last for first, last in spans_of(numbers))


def greatest(numbers: Numbers) -> int:
    """Return the greatest number of a set; 0 of none."""
    return numbers if isinstance(numbers, int) else numbers[-1]

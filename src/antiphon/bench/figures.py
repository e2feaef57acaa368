"""A figure: one line of a report, with what was to be reached."""

import statistics
from typing import Any

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the report."""

    what: str
    value: float
    bar: float | None = None
    """What to reach; None where there is none."""
    is_reached: bool | None = None
    detail: dict[str, Any]


def median_ratio(ours: list[float], theirs: list[float]) -> float:
    """Return the median of the ratios of pairs measured next to each other."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def make_figure(
    what: str, value: float, bar: float | None, *, detail: dict[str, Any], at_most: bool = False
) -> Figure:
    """Return a figure; without a bar it can only be looked at."""
    is_reached = None if bar is None else (value <= bar if at_most else value >= bar)
    return Figure(what=what, value=round(value, 3), bar=bar, is_reached=is_reached, detail=detail)

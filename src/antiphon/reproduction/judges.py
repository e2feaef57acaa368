"""How numbers are compared with what is claimed.

Law: a judge names what it compared and where the line is, so that a reader can draw another.
"""

from collections.abc import Callable, Sequence

from antiphon.reproduction.claim import Judgement, Measured
from antiphon.trace.claims import ClaimVerdict, TableData

Judge = Callable[[Measured], Judgement]
Point = tuple[float, float]

NOISE_MAX = 1.5
"""Where repetitions of one measurement differ by more, it decides nothing."""

SHARE_MIN = -0.1
"""What is taken for a small share, or none, though it was measured below nothing."""


def at_most(name: str, bound: float, what: str, reason: str = "") -> Judge:
    """Judge that a number is at most so large; ``reason`` explains why it might not be."""
    return lambda found: _compared(found.numbers[name], bound, what, reason, is_least=False)


def at_least(name: str, bound: float, what: str, reason: str = "") -> Judge:
    """Judge that a number is at least so large."""
    return lambda found: _compared(found.numbers[name], bound, what, reason, is_least=True)


def between(name: str, low: float, high: float, what: str, reason: str = "") -> Judge:
    """Judge that a number is in a range."""

    def judge(found: Measured) -> Judgement:
        value = found.numbers[name]
        is_there = low <= value <= high
        said = f"{what}: {value:.3g}, to be from {low:g} to {high:g}"
        return _verdict(is_there), said if is_there or not reason else f"{said}; {reason}"

    return judge


def all_of(*judges: Judge) -> Judge:
    """Judge that all are content; say what each says."""

    def judge_all(found: Measured) -> Judgement:
        said = [judge(found) for judge in judges]
        wrong = [verdict for verdict, _ in said if verdict is not ClaimVerdict.HOLDS]
        return (wrong[0] if wrong else ClaimVerdict.HOLDS), "; ".join(why for _, why in said)

    return judge_all


def if_steady(judge: Judge) -> Judge:
    """Judge only if repetitions agree: on a busy machine times tell of its other work."""

    def judge_steady(found: Measured) -> Judgement:
        noise = found.numbers["noise"]
        if noise > NOISE_MAX:
            why = f"repetitions differ by a factor of {noise:.2g}, to be at most {NOISE_MAX:g}"
            return ClaimVerdict.INCOMPARABLE, f"{why}: this machine is too busy to tell"
        return judge(found)

    return judge_steady


def if_possible(name: str, judge: Judge) -> Judge:
    """Judge a share only if it is one: far below nothing, it tells of other work, too."""

    def judge_possible(found: Measured) -> Judgement:
        share = found.numbers[name]
        if share < SHARE_MIN:
            why = f"a share of {100 * share:.0f} % cannot be, {100 * SHARE_MIN:.0f} % may be chance"
            return ClaimVerdict.INCOMPARABLE, f"{why}: this machine is too busy to tell"
        return judge(found)

    return judge_possible


def incomparable(why: str) -> Judge:
    """Say that a claim cannot be compared."""
    return lambda _found: (ClaimVerdict.INCOMPARABLE, why)


def _compared(value: float, bound: float, what: str, reason: str, *, is_least: bool) -> Judgement:
    is_there = value >= bound if is_least else value <= bound
    said = f"{what}: {value:.3g}, to be at {'least' if is_least else 'most'} {bound:.3g}"
    return _verdict(is_there), said if is_there or not reason else f"{said}; {reason}"


def _verdict(is_right: bool) -> ClaimVerdict:  # noqa: FBT001 - a verdict of it
    return ClaimVerdict.HOLDS if is_right else ClaimVerdict.FAILS


def fit(points: Sequence[Point]) -> tuple[float, float, float]:
    """Return slope, intercept and coefficient of determination of the best straight line."""
    count = len(points)
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    intercept = mean_y - slope * mean_x
    whole = sum((y - mean_y) ** 2 for _, y in points)
    left = sum((y - intercept - slope * x) ** 2 for x, y in points)
    return slope, intercept, 1 - left / whole if whole else 1.0


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> TableData:
    """Return a table of words and numbers as people read them."""
    return TableData(columns=list(columns), rows=[[_shown(cell) for cell in row] for row in rows])


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)

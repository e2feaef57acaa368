"""Claims of Overlay about its figures 3 to 17: flooding beside timestamps on a physical network."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from antiphon.reproduction.claim import Claim, Effort, Measured
from antiphon.reproduction.judges import Judge, all_of, at_least, at_most, table
from antiphon.reproduction.overlay.runs import ASSUMED, DATA, Kind, averaged, ratios, span
from antiphon.trace.claims import FigureData, Series

_BOTH: tuple[tuple[Kind, str], ...] = (("overlay", "Overlay"), ("timestamp", "Timestamp"))


@dataclass(frozen=True, slots=True)
class _Axis:
    """What a figure shows: its quantities, by name of the line and of the measure."""

    title: str
    unit: str
    lines: tuple[tuple[str, str], ...]
    scale: float = 1.0
    is_mean_drawn: bool = False
    """Whether the first line alone is drawn: beside the others it could not be seen."""


_DELAY = _Axis("Message delay", "ms", (("mean", "delay_mean_ms"), ("max", "delay_max_ms")))
_MESSAGES = _Axis("Messages sent", "thousand", (("", "messages"),), 1e-3)
_BYTES = _Axis("Bytes sent", "MB", (("", "total_bytes"),), 1e-6)
_HOPS = _Axis("Hop count", "thousand", (("", "hops"),), 1e-3)
_LOAD = _Axis(
    "Messages on a link", "messages", (("mean", "load_mean"), ("max queue", "queue_max")),
    is_mean_drawn=True,
)  # fmt: skip


Columns = dict[tuple[str, str], dict[int, float]]
"""What a table shows, by name and unit."""


class _Figure:
    """Measures one figure: both protocols, by number of nodes, at one size of data."""

    def __init__(self, axis: _Axis, data: int, extra: tuple[str, ...] = ()) -> None:
        self._axis, self._data, self._extra = axis, data, extra

    def __call__(self, effort: Effort) -> Measured:
        """Run what is not run yet."""
        axis = self._axis
        found = {
            (name, line): _scaled(averaged(measure, kind, self._data, effort), axis)
            for kind, name in _BOTH
            for line, measure in axis.lines
        }
        first = axis.lines[0][0]
        ratio = ratios_or_none(found["Timestamp", first], found["Overlay", first])
        columns = {(" ".join(key).strip(), axis.unit): each for key, each in found.items()}
        for name in self._extra:
            columns |= _EXTRA[name](self._data, effort)
        numbers = _extremes(found, axis)
        numbers |= self._changes(found, effort)
        size = max(found["Overlay", first])
        said = ", ".join(
            f"{name} {_shown(each[size])} {unit}" for (name, unit), each in columns.items()
        )
        return Measured(
            value=f"{size} nodes: {said}"
            + (f"; Timestamp to Overlay {span(ratio)} over all sizes" if ratio else ""),
            numbers=numbers,
            table=table(
                ("nodes", *map(", ".join, columns)),
                [(n, *(each[n] for each in columns.values())) for n in found["Overlay", first]],
            ),
            figure=FigureData(
                title=f"{axis.title}, data of {self._data:,} bytes", x_name="nodes",
                y_name=axis.unit,
                series=[
                    Series(name=", ".join(filter(None, key)), points=list(each.items()))
                    for key, each in found.items()
                    if key[1] == first or not axis.is_mean_drawn
                ],
            ),
        )  # fmt: skip

    def _changes(
        self, found: dict[tuple[str, str], dict[int, float]], effort: Effort
    ) -> dict[str, float]:
        """Return how ratios differ from those with no data."""
        numbers: dict[str, float] = {}
        for line, measure in self._axis.lines if self._data else ():
            plain = [averaged(measure, kind, 0, effort) for kind, _ in _BOTH]
            if min(plain[0].values()) > 0 and min(plain[1].values()) > 0:
                now = ratios(found["Overlay", line], found["Timestamp", line])
                change = ratios(now, ratios(*plain)).values()
                numbers |= {f"{line} change least": min(change), f"{line} change": max(change)}
        return numbers


def _extremes(found: dict[tuple[str, str], dict[int, float]], axis: _Axis) -> dict[str, float]:
    """Return the least and largest ratio of Timestamp to Overlay, and how Timestamp grows."""
    numbers: dict[str, float] = {}
    for line, _ in axis.lines:
        ours, theirs = found["Overlay", line], found["Timestamp", line]
        first, last = min(theirs), max(theirs)
        numbers[f"{line} overlay"] = max(ours.values())
        numbers[f"{line} growth"] = theirs[last] / theirs[first] if theirs[first] else theirs[last]
        if (each := ratios_or_none(theirs, ours)) is not None:
            numbers |= {
                f"{line} least": min(each),
                f"{line} most": max(each),
                f"{line} last": each[-1],
            }
    return {name.strip(): value for name, value in numbers.items()}


def ratios_or_none(one: dict[int, float], other: dict[int, float]) -> list[float] | None:
    """Return one to the other, if the other is never zero."""
    return list(ratios(one, other).values()) if min(other.values()) > 0 else None


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _scaled(found: dict[int, float], axis: _Axis) -> dict[int, float]:
    return {size: value * axis.scale for size, value in found.items()}


def _unicast(data: int, effort: Effort) -> Columns:
    kind: Kind = "timestamp, unicast"
    return {("Timestamp by unicast mean", "ms"): averaged("delay_mean_ms", kind, data, effort)}


def _load_bytes(data: int, effort: Effort) -> Columns:
    return {
        (f"{name} mean", "bytes"): averaged("load_bytes_mean", kind, data, effort)
        for kind, name in _BOTH
    }


_EXTRA: dict[str, Callable[[int, Effort], Columns]] = {
    "unicast": _unicast,
    "bytes": _load_bytes,
}


def _claim(
    number: int, axis: _Axis, data: int, words: str, judge: Judge, *, paper_value: str,
    suffix: str = "", extra: tuple[str, ...] = (), assumptions: tuple[str, ...] = (),
) -> Claim:  # fmt: skip
    return Claim(
        paper="Overlay", section=f"5.2, figure {number}", name=f"figure-{number}{suffix}",
        words=words, paper_value=paper_value, measure=_Figure(axis, data, extra), judge=judge,
        assumptions=(*ASSUMED, *assumptions),
    )  # fmt: skip


_MEAN = "mean delay of Timestamp to Overlay"
_OVERLAY_TO = "of Overlay to Timestamp, to that with 0 bytes"


def _of_delay() -> Iterator[Claim]:
    yield _claim(
        3, _DELAY, 0, "With 0 bytes of data Overlay delivers much faster.",
        all_of(
            at_least("mean least", 1, f"{_MEAN}, least over sizes"),
            at_least("mean last", 2, f"{_MEAN}, most nodes"),
        ),
        paper_value="Overlay much faster",
    )  # fmt: skip
    yield _claim(
        4, _DELAY, 100, "With 100 bytes the difference decreases.",
        at_least("mean change least", 1, "delay of Overlay to Timestamp, to that with 0 bytes"),
        paper_value="a smaller difference",
    )  # fmt: skip
    yield _claim(
        5, _DELAY, 1_000, "With 1,000 bytes Timestamp is the faster one.",
        at_most("mean most", 1, f"{_MEAN}, largest over sizes"),
        paper_value="Timestamp faster", extra=("unicast",),
        assumptions=(
            "by unicast to each node Timestamp would be slower at any size of data: see the table",
        ),
    )  # fmt: skip


def _of_counts() -> Iterator[Claim]:
    fewer = at_most("most", 1, "messages of Timestamp to Overlay, largest over sizes")
    for number, data in zip((6, 7, 8), DATA, strict=True):
        yield _claim(
            number, _MESSAGES, data, f"With {data:,} bytes Timestamp sends fewer messages.",
            fewer, paper_value="n messages, and n log n", suffix="-messages",
        )  # fmt: skip
    yield _claim(
        6, _BYTES, 0, "With 0 bytes of data Overlay sends fewer bytes.",
        at_least("least", 1, "bytes of Timestamp to Overlay, least over sizes"),
        paper_value="Overlay fewer", suffix="-bytes",
    )  # fmt: skip
    yield _claim(
        7, _BYTES, 100, "Overlay sends fewer bytes even when the data has 100 bytes.",
        at_least("last", 1, "bytes of Timestamp to Overlay, most nodes"),
        paper_value="Overlay fewer", suffix="-bytes",
        assumptions=("judged for the most nodes; for few it is otherwise: see the table",),
    )  # fmt: skip
    yield _claim(
        8, _BYTES, 1_000, "With 1,000 bytes Overlay sends more bytes.",
        at_most("most", 1, "bytes of Timestamp to Overlay, largest over sizes"),
        paper_value="Overlay more", suffix="-bytes",
    )  # fmt: skip
    for number, data in zip((9, 10, 11), DATA, strict=True):
        yield _claim(
            number, _HOPS, data, f"With {data:,} bytes Timestamp takes fewer hops.",
            at_most("most", 1, "hops of Timestamp to Overlay, largest over sizes"),
            paper_value="Timestamp fewer",
        )  # fmt: skip


def _of_load() -> Iterator[Claim]:
    reason = (
        "fragments are counted, and those of Overlay are many and small; in bytes: see the table"
    )
    as_long = (
        "it is counted in fragments, and that of Overlay is about as long whatever the size of data"
    )
    yield _claim(
        15, _LOAD, 0,
        "With 0 bytes Timestamp has the larger mean queue, because it sends more bytes, and "
        "Overlay the larger maximum.",
        all_of(
            at_most("max queue most", 1, "longest queue, Timestamp to Overlay"),
            at_least("mean least", 1, "mean, Timestamp to Overlay", reason),
        ),
        paper_value="mean: Timestamp longer; maximum: Overlay longer", extra=("bytes",),
    )  # fmt: skip
    for number, data in ((16, 100), (17, 1_000)):
        yield _claim(
            number, _LOAD, data,
            f"With {data:,} bytes queues of Overlay have increased in comparison with Timestamp.",
            all_of(
                at_least("mean change least", 1, f"mean {_OVERLAY_TO}", reason),
                at_least("max queue change least", 1, f"longest queue {_OVERLAY_TO}", as_long),
            ),
            paper_value="mean and maximum increase", extra=("bytes",),
        )  # fmt: skip


def claims() -> Iterator[Claim]:
    """Yield them, in the order of the paper."""
    yield from _of_delay()
    yield from _of_counts()
    yield from _of_load()

"""Claims of Overlay 4: bytes in all, and from which size of data on timestamps are cheaper."""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from antiphon.ordering.overlay.topologies import TOPOLOGIES
from antiphon.reproduction.claim import Claim, Effort, Measured
from antiphon.reproduction.judges import all_of, between, table
from antiphon.reproduction.overlay.flooding import count_copies
from antiphon.reproduction.overlay.runs import KINDS, network_run, run
from antiphon.trace.claims import FigureData, Series

if TYPE_CHECKING:
    from antiphon.models.traffic import Load

_HEADER, _ENTRY = 32, 4
_DATA_MAX = 4_096


def _formula(nodes: int) -> float:
    """Return the paper's line: n / (log n - 1)."""
    return nodes / (nodes.bit_length() - 2)


@cache
def _copies(nodes: int) -> int:
    return count_copies(TOPOLOGIES["hypercube"].overlay(nodes), nodes)


def _bytes(nodes: int, load: "Load") -> tuple[int, int]:
    """Return the bytes of one broadcast by Overlay and by Timestamp."""
    from antiphon.models.traffic import Protocol

    overlay = sum(load.fragments(Protocol.OVERLAY, nodes)) * _copies(nodes)
    return overlay, sum(load.fragments(Protocol.TIMESTAMP, nodes)) * (nodes - 1)


def _by_bytes(nodes: int) -> int:
    """Return the first size of data at which Overlay sends no fewer bytes."""
    from antiphon.models.traffic import Load

    for data in range(_DATA_MAX):
        overlay, timestamp = _bytes(nodes, Load(data_bytes=data))
        if overlay >= timestamp:
            return data
    return _DATA_MAX


def _by_delay(nodes: int, messages: int) -> int:
    """Return about the size of data at which the mean delays are equal."""
    low, high = 0, 1_468
    while high - low > 16:
        data = (low + high) // 2
        overlay, timestamp = (
            run(kind, network_run(nodes, 1, messages, data)).delay_mean_ms for kind in KINDS
        )
        low, high = (data, high) if overlay < timestamp else (low, data)
    return (low + high) // 2


def _crossover(effort: Effort) -> Measured:
    sizes = [1 << bits for bits in range(6, effort.pick(10, 11))]
    found = {n: _by_bytes(n) for n in sizes}
    return _compared("bytes", found)


def _crossover_delay(effort: Effort) -> Measured:
    sizes = (128, 512) if effort.is_quick else (128, 256, 512)
    found = effort.sweeping.values(_by_delay, [(n, effort.pick(10, 30)) for n in sizes])
    return _compared("delay", dict(zip(sizes, found, strict=True)))


def _compared(what: str, found: dict[int, int]) -> Measured:
    formula = {n: _formula(n) for n in found}
    last = max(found)
    factors = [found[n] / formula[n] for n in found]
    return Measured(
        value=f"{found[last]} bytes for {last} nodes, where the formula says {formula[last]:.0f}; "
        f"with entries of {_ENTRY} bytes it would say {_ENTRY * formula[last]:.0f}",
        numbers={"least": min(factors), "most": max(factors)},
        table=table(
            ("nodes", f"measured by {what}", "n / (log n - 1)", f"{_ENTRY}n / (log n - 1)",
             "measured to the formula"),
            [(n, found[n], formula[n], _ENTRY * formula[n], found[n] / formula[n]) for n in found],
        ),
        figure=FigureData(
            title=f"Overlay is better below this size of data, by {what}", x_name="nodes",
            y_name="bytes",
            series=[
                Series(name="measured", points=list(found.items())),
                Series(name="n / (log n - 1)", points=list(formula.items()), is_paper=True),
                Series(
                    name=f"{_ENTRY}n / (log n - 1)", is_paper=True,
                    points=[(n, _ENTRY * value) for n, value in formula.items()],
                ),
            ],
        ),
    )  # fmt: skip


def _total_bytes(effort: Effort) -> Measured:
    from antiphon.models.traffic import Load

    rows, overlay_share, timestamp_share = [], [], []
    for n in [1 << bits for bits in range(6, effort.pick(10, 11))]:
        for data in (0, 100, 1_000):
            overlay, timestamp = _bytes(n, Load(data_bytes=data))
            terms = n * (n.bit_length() - 1) * (_HEADER + data)
            others = _ENTRY * n * n + n * (_HEADER + data)
            overlay_share.append(overlay / terms)
            timestamp_share.append(timestamp / others)
            rows.append((n, data, overlay, overlay / terms, timestamp, timestamp / others))
    return Measured(
        value=f"Overlay {min(overlay_share):.2f} to {max(overlay_share):.2f} of n log n (h + d), "
        f"Timestamp {min(timestamp_share):.2f} to {max(timestamp_share):.2f} of 4n^2 + n(h + d)",
        numbers={
            "least": min(*overlay_share, *timestamp_share),
            "most": max(*overlay_share, *timestamp_share),
        },
        table=table(
            ("nodes", "data", "Overlay, bytes", "to n log n (h + d)", "Timestamp, bytes",
             "to 4n^2 + n(h + d)"), rows,
        ),
    )  # fmt: skip


def claims() -> Iterator[Claim]:
    """Yield them."""
    entries = (
        "the formula counts entries of a timestamp as if they were bytes, leaves out headers, and "
        "takes n log n copies for n(log n - 1) + 1"
    )
    judged = all_of(
        between("least", 0.5, 2, "measured to the formula, least"),
        between("most", 0.5, 2, "measured to the formula, largest", entries),
    )
    yield Claim(
        paper="Overlay", section="4, Table 1", name="total-bytes",
        words="In all Overlay sends O(n log n d) bytes and Timestamp O(n^2 + n d).",
        paper_value="O(n log n d), O(n^2 + n d)", measure=_total_bytes,
        judge=between("least", 0.5, 1.2, "bytes to these terms, least"),
        assumptions=(
            "headers of 32 bytes count as data, entries have 4 bytes",
            "copies as the machine makes them, fragments of up to 1,500 bytes",
        ),
    )  # fmt: skip
    yield Claim(
        paper="Overlay", section="4", name="crossover",
        words="Overlay is better, in bytes, roughly when d < n / (log n - 1).",
        paper_value="n / (log n - 1)", measure=_crossover, judge=judged,
        assumptions=(
            "full hypercubes; bytes as fragments have them, copies as the machine makes them",
        ),
    )  # fmt: skip
    yield Claim(
        paper="Overlay", section="4", name="crossover-delay",
        words="Overlay is faster roughly when d < n / (log n - 1).",
        paper_value="n / (log n - 1)", measure=_crossover_delay, judge=judged,
        assumptions=(
            "the physical model, edge probability ln n / n, mean delays, found by halving",
            "30 messages of each of 10 senders (quick: 10)",
        ),
    )  # fmt: skip

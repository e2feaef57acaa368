"""Runs of Overlay 5.1 on the physical model: points of a sweep, many claims ask for the same.

Law: as in the paper, what is shown for a number of nodes is the mean over several networks, of
maxima, too. What the paper leaves open is in ``ASSUMED``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import log
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from antiphon.reproduction.claim import Effort

if TYPE_CHECKING:
    from antiphon.models.network import PhysicalNetwork
    from antiphon.models.traffic import NetworkMeasures

Kind = Literal["overlay", "timestamp", "timestamp, unicast"]

KINDS: tuple[Kind, Kind] = ("overlay", "timestamp")
"""Those that the paper compares."""

SIZES = (100, 200, 300, 400, 500, 600)
DATA = (0, 100, 1_000)

ASSUMED = (
    "the physical model: every fragment on every link; 10 Mbit/s, up to 1 ms, queues without limit",
    "random graphs of edge probability ln n / n, where they begin to be connected",
    "that is 0.04 for 100 nodes and 0.01 for 600: the paper's range; parts are joined by an edge",
    "mean over three networks for each number of nodes (quick: one)",
    "each of 10 senders broadcasts every 0.1 ms, 100 times (quick: 10 times): not in the paper",
    "that is more than links carry, so all of it is carried to its end",
    "Timestamp's copies go over the sender's tree of routes, as IP multicast does it",
    "routes of fewest hops; fragments of up to 1,500 bytes with a header of 32 each",
    "source and number of a flooded message are in its header",
    "what is on links is averaged until the slower protocol is through, for both",
)


@dataclass(frozen=True, slots=True)
class NetworkRun:
    """One network, and one load of it."""

    size: int
    probability: float
    seed: int
    messages: int
    data: int


def network_run(size: int, seed: int, messages: int, data: int) -> NetworkRun:
    """Return a run on a random graph that is just dense enough to be connected, mostly."""
    return NetworkRun(size, min(0.04, max(0.01, log(size) / size)), seed, messages, data)


def sizes(effort: Effort) -> tuple[int, ...]:
    """Return how many nodes to have."""
    return SIZES[1::2] if effort.is_quick else SIZES


def cells(size: int, data: int, effort: Effort) -> list[NetworkRun]:
    """Return what one point of a figure is the mean of."""
    messages, seeds = effort.pick(10, 100), effort.pick(1, 3)
    return [network_run(size, seed, messages, data) for seed in range(1, 1 + seeds)]


def averaged(measure: str, kind: Kind, data: int, effort: Effort) -> dict[int, float]:
    """Return a measure by number of nodes, at the mean over networks."""
    by_size = {size: cells(size, data, effort) for size in sizes(effort)}
    kinds = dict.fromkeys((kind, *KINDS))
    points = [(each, cell) for each in kinds for some in by_size.values() for cell in some]
    found = dict(zip(points, effort.sweeping.values(run, points), strict=True))
    return {
        size: fmean(_value(measure, kind, cell, found) for cell in some)
        for size, some in by_size.items()
    }


Runs = Mapping[tuple[Kind, NetworkRun], "NetworkMeasures"]


def _value(measure: str, kind: Kind, cell: NetworkRun, found: Runs) -> float:
    """Return a measure of one run; what is on links is averaged over the same time for both."""
    value = float(getattr(found[kind, cell], measure))
    if not measure.startswith("load"):
        return value
    others = (found[each, cell].duration_ms for each in KINDS)
    return value * found[kind, cell].duration_ms / max(others)


def run(kind: Kind, cell: NetworkRun) -> "NetworkMeasures":
    """Return what one run measures."""
    from antiphon.models.physical import measure
    from antiphon.models.traffic import Load, Protocol

    load = Load(messages=cell.messages, data_bytes=cell.data)
    network = _network(cell.size, cell.probability, cell.seed)
    return measure(network, Protocol(kind), load, cell.seed)


@cache
def _network(size: int, probability: float, seed: int) -> "PhysicalNetwork":
    from antiphon.models.network import random_network

    return random_network(size, probability, seed)


def ratios(one: dict[int, float], other: dict[int, float]) -> dict[int, float]:
    """Return one measure to another, by number of nodes."""
    return {size: one[size] / other[size] for size in one}


def span(values: Iterable[float]) -> str:
    """Return the least and the largest, for people."""
    found = list(values)
    low, high = f"{min(found):.2g}", f"{max(found):.2g}"
    return low if low == high else f"{low} to {high}"

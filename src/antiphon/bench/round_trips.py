"""How long a multicast takes to which all destinations reply, in causal or in total order.

Law: real processes on loopback. The caller is the most junior member, and the token of the total
order stays with the most senior one, as in ISIS 8. Replies are letters to the caller, sent when the
multicast is delivered: ISIS's single-destination CBCASTs. Sizes take turns, call by call. The lower
quartile counts: what a round trip takes where the machine's other work does not come between;
``noise`` tells how much it did.
"""

import statistics
from typing import NamedTuple

import msgspec

from antiphon.bench.multicast import run_members
from antiphon.net.transport.ports import free_ports

WARM_UP = 40


class TripSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A series of round trips, for each of some payload sizes."""

    order: str
    sizes: tuple[int, ...]
    count: int
    ports: tuple[int, ...]

    @property
    def names(self) -> list[str]:
        """The members, by seniority; the last one calls."""
        return [f"m{rank}" for rank in range(len(self.ports))]


class TripReport(msgspec.Struct, frozen=True):
    """How long each round trip took, by the place of its size in the spec."""

    latencies_ns: list[list[int]]


class TripTime(NamedTuple):
    """How long round trips took."""

    us: float
    """The lower quartile."""
    noise: float
    """The median to it."""


def measure_round_trips(
    order: str, destinations: int, sizes: tuple[int, ...], count: int
) -> dict[int, TripTime]:
    """Return how long round trips took, by payload size."""
    ports = free_ports(destinations + 1)
    spec = TripSpec(order=order, sizes=sizes, count=WARM_UP + count, ports=ports)
    module = "antiphon.bench.round_trip_member"
    said = run_members(module, msgspec.json.encode(spec).decode(), spec.names)
    report = msgspec.json.decode(said[-1], type=TripReport)
    return {
        size: _time(latencies[WARM_UP:])
        for size, latencies in zip(sizes, report.latencies_ns, strict=True)
    }


def _time(latencies_ns: list[int]) -> TripTime:
    low, middle, _ = statistics.quantiles(latencies_ns, n=4)
    return TripTime(low / 1000, middle / low)

"""How long a call to three others takes, beside a raw asyncio echo of the same shape.

Law: both are measured in turns, each in processes of its own; the median latency of each series,
and the median of the ratios of series next to each other.
"""

import statistics

import msgspec

from antiphon.bench.figures import Figure, make_figure, median_ratio
from antiphon.bench.multicast import run_members
from antiphon.bench.spec import MEMBER_COUNT, CallReport, CallSpec, CallSystem
from antiphon.net.transport.ports import free_ports

_CALLS = 2_000
_WARM_UP = 100


def measure_calls(repeats: int, scale: float) -> list[Figure]:
    """Compare medians of latencies."""
    systems: tuple[CallSystem, ...] = ("raw", "raw-protocol", "antiphon")
    medians: dict[CallSystem, list[float]] = {system: [] for system in systems}
    for _ in range(max(3, repeats)):
        for system, readings in medians.items():
            spec = CallSpec(
                system=system, payload_bytes=64, call_count=_WARM_UP + int(_CALLS * scale), ports=()
            )
            readings.append(_median_us(spec))
    to_raw = median_ratio(medians["antiphon"], medians["raw"])
    to_protocol = median_ratio(medians["antiphon"], medians["raw-protocol"])
    detail = {f"{system}_p50_us": statistics.median(medians[system]) for system in systems}
    detail["to_raw_protocol"] = to_protocol
    what = "p50 of a call to all of 3 peers, to a raw asyncio echo, 64 B"
    return [make_figure(what, to_raw, 2.0, at_most=True, detail=detail)]


def _median_us(spec: CallSpec) -> float:
    spec = msgspec.structs.replace(spec, ports=free_ports(MEMBER_COUNT))
    places = map(str, range(MEMBER_COUNT))
    said = run_members("antiphon.bench.call_member", msgspec.json.encode(spec).decode(), places)
    caller = msgspec.json.decode(said[0], type=CallReport)
    return statistics.median(caller.latencies_ns[_WARM_UP:]) / 1000

"""Datagrams, raw and sealed: four processes on loopback.

Law: as in ``suite``: ratios of rates measured next to each other, in turns.
"""

import statistics

from antiphon.bench.figures import Figure, make_figure, median_ratio
from antiphon.bench.multicast import Rate, measure
from antiphon.bench.spec import MESSAGES, Senders, Spec, System

_SYSTEMS: tuple[System, ...] = ("raw", "raw-datagrams", "datagrams")


def measure_datagrams(repeats: int, scale: float) -> list[Figure]:
    """Return sealed datagrams beside the raw UDP mesh, and that one beside the raw TCP mesh."""
    figures: list[Figure] = []
    for senders in ("one", "all"):
        for payload_bytes in (64, 1000):
            figures += _compare(senders, payload_bytes, repeats, scale)
    return figures


def _compare(senders: Senders, payload_bytes: int, repeats: int, scale: float) -> list[Figure]:
    count = max(1_000, int(MESSAGES[payload_bytes] * scale) // (1 if senders == "one" else 4))
    rates: dict[System, list[Rate]] = {system: [] for system in _SYSTEMS}
    for _ in range(repeats):
        for system in _SYSTEMS:
            spec = Spec(
                system=system, senders=senders, payload_bytes=payload_bytes, form="batch",
                message_count=count, ports=(),
            )  # fmt: skip
            rates[system].append(measure(spec))
    name = f"{senders} sender{'s' if senders == 'all' else ''}, {payload_bytes} B"
    return [
        _figure(f"sealed datagrams to raw UDP mesh: {name}", rates, "datagrams", "raw-datagrams"),
        _figure(f"raw UDP mesh to raw TCP mesh: {name}", rates, "raw-datagrams", "raw"),
    ]


def _figure(what: str, rates: dict[System, list[Rate]], ours: System, theirs: System) -> Figure:
    """Return how fast one is to the other; beside it the same in processor time, all members'."""
    in_time, in_cpu = (
        median_ratio([each[place] for each in rates[one]], [each[place] for each in rates[other]])
        for place, one, other in ((0, ours, theirs), (1, theirs, ours))
    )
    detail = {
        f"{system}_per_s": statistics.median(rate.per_s for rate in rates[system])
        for system in (ours, theirs)
    }
    return make_figure(what, in_time, None, detail={**detail, "ratio_in_processor_time": in_cpu})

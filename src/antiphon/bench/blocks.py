"""Causal blocks: beside the raw UDP mesh, and on sockets that lose, repeat and reorder.

Law: as in ``suite``: ratios of rates measured next to each other, in turns. The curve over losses
is of one program: three members on one event loop, each with its own socket; what arrives at a
socket is lost, repeated or late by a seeded dice (``bench.loss``). So its rates are a part of what
several processes do; only the ratio to the rate without loss counts.
"""

import statistics

from antiphon.bench.figures import Figure, make_figure, median_ratio
from antiphon.bench.loss import measure_loss
from antiphon.bench.multicast import Rate, measure
from antiphon.bench.spec import MESSAGES, Senders, Spec, System
from antiphon.net.datagrams.settings import LOOPBACK_BYTES

_BAR, _LOSSY_BAR = 0.7, 0.5

WIRE_BYTES = 1_400
"""A packet where there is a wire: the default there; on loopback it is ``LOOPBACK_BYTES``."""

_LOSSES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3)
_BARRED_LOSS = 0.05
_CURVE_MESSAGES = 12_000


def measure_blocks(repeats: int, scale: float) -> list[Figure]:
    """Return causal blocks beside the raw UDP mesh, and their rates and delays over losses."""
    kinds: tuple[Senders, ...] = ("one", "all")
    pairs = [(senders, payload_bytes) for senders in kinds for payload_bytes in (64, 1000)]
    figures: list[Figure] = []
    for packet_bytes in (LOOPBACK_BYTES, WIRE_BYTES):
        for pair in pairs:
            figures += _compare(*pair, packet_bytes, repeats, scale)
    return [*figures, *_curve(repeats, scale)]


def _compare(
    senders: Senders, payload_bytes: int, packet_bytes: int, repeats: int, scale: float
) -> list[Figure]:
    """Return messages per second, and processor time per message, to those of the raw mesh."""
    count = max(1_000, int(MESSAGES[payload_bytes] * scale) // (1 if senders == "one" else 4))
    rates: dict[System, list[Rate]] = {"antiphon-blocks": [], "raw-datagrams": []}
    for _ in range(repeats):
        for system, measured in rates.items():
            spec = Spec(
                system=system, senders=senders, payload_bytes=payload_bytes, form="batch",
                message_count=count, ports=(), packet_bytes=packet_bytes,
            )  # fmt: skip
            measured.append(measure(spec))
    name = f"{senders} sender{'s' if senders == 'all' else ''}, {payload_bytes} B"
    if packet_bytes != LOOPBACK_BYTES:
        name += f", packets of {packet_bytes:,} B"
    ours, theirs = rates.values()
    detail = {
        f"{system}_{what}": statistics.median(getattr(rate, what) for rate in measured)
        for system, measured in rates.items()
        for what in ("per_s", "cpu_us")
    }
    ratio = median_ratio([rate.per_s for rate in ours], [rate.per_s for rate in theirs])
    spent = median_ratio([rate.cpu_us for rate in theirs], [rate.cpu_us for rate in ours])
    what = "causal blocks to raw UDP mesh"
    return [
        make_figure(f"{what}: {name}", ratio, _BAR, detail=detail),
        make_figure(f"{what}, processor time: {name}", spent, None, detail={}),
    ]


def _curve(repeats: int, scale: float) -> list[Figure]:
    """Return, for each loss, the rate to that without; beside it the delay of the slowest."""
    count = max(300, int(_CURVE_MESSAGES * scale))
    found = {loss: [measure_loss(loss, count, turn) for turn in range(repeats)] for loss in _LOSSES}
    lossless = [each.per_s for each in found[0.0]]
    figures: list[Figure] = []
    for loss, runs in found.items():
        ratio = median_ratio([each.per_s for each in runs], lossless)
        detail = {
            "messages_per_s": statistics.median(each.per_s for each in runs),
            "delay_p50_ms": round(statistics.median(each.p50_ms for each in runs), 2),
            "delay_p99_ms": round(statistics.median(each.p99_ms for each in runs), 2),
            "violations": sum(each.violations for each in runs),
        }
        bar = _LOSSY_BAR if loss == _BARRED_LOSS else None
        what = f"causal blocks, {loss:.0%} lost, repeated and late, to none"
        figures.append(make_figure(what, ratio, bar, detail=detail))
    return figures

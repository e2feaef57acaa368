"""What total order and uniform delivery cost beside causal order, on four real processes."""

import statistics

from antiphon.bench.figures import Figure, make_figure, median_ratio
from antiphon.bench.multicast import Rate, measure
from antiphon.bench.order_cost import measure_order_cost
from antiphon.bench.spec import MESSAGES, Form, Senders, Spec, System

_NAMES: dict[System, str] = {
    "antiphon-total": "ABCAST",
    "antiphon-uniform": "uniform causal",
    "antiphon-uniform-total": "uniform total",
}


def measure_orders(repeats: int, scale: float) -> list[Figure]:
    """What total order and uniform delivery cost beside causal order."""
    figures = [
        *_to_causal("antiphon-total", "junior", 0.8, repeats, scale),
        *_to_causal("antiphon-total", "all", 0.6, repeats, scale),
        *_to_causal("antiphon-uniform", "junior", None, repeats, scale),
        *_to_causal("antiphon-uniform", "all", 0.5, repeats, scale),
        *_to_causal("antiphon-uniform-total", "junior", None, repeats, scale),
        *_to_causal("antiphon-uniform-total", "all", None, repeats, scale),
    ]
    for token, burst, printed in (("fixed", 1, 2.0), ("fixed", 3, 1 + 1 / 3), ("follow", 1, 1.0)):
        cost = measure_order_cost(token, burst)
        what = f"multicasts per ABCAST, token {token}, {burst} at a time (ISIS 5.2: {printed:.3g})"
        detail = {"messages": cost.messages, "lists": cost.lists}
        bar = printed + 0.05  # the token needs a few messages to move
        figures.append(make_figure(what, cost.per_message, bar, at_most=True, detail=detail))
    return figures


def _to_causal(
    system: System, senders: Senders, bar: float | None, repeats: int, scale: float
) -> list[Figure]:
    figures = []
    name = _NAMES[system]
    who = {"junior": "one sender, not the token holder", "all": "all senders", "one": ""}[senders]
    shapes: tuple[tuple[int, Form], ...] = ((64, "batch"), (1000, "batch"), (64, "message"))
    for payload_bytes, form in shapes:
        count = int(MESSAGES[payload_bytes] * scale * (1 if form == "batch" else 0.5))
        count = max(1_000, count if senders == "junior" else count // 4)
        rates: dict[System, list[Rate]] = {system: [], "antiphon": []}
        for _ in range(repeats):
            for each, readings in rates.items():
                spec = Spec(
                    system=each, senders=senders, payload_bytes=payload_bytes, form=form,
                    message_count=count, ports=(),
                )  # fmt: skip
                readings.append(measure(spec))
        ours, causal = rates[system], rates["antiphon"]
        value = median_ratio([rate.per_s for rate in ours], [rate.per_s for rate in causal])
        detail = {
            "per_s": statistics.median(rate.per_s for rate in ours),
            "causal_per_s": statistics.median(rate.per_s for rate in causal),
            "ratio_of_processor_time": median_ratio(
                [rate.cpu_us for rate in causal], [rate.cpu_us for rate in ours]
            ),
        }
        what = f"{name} to CBCAST: {who}, {payload_bytes} B, {form} form"
        figures.append(make_figure(what, value, bar if form == "batch" else None, detail=detail))
    return figures

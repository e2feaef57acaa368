"""The whole suite: which runs, in which order, which ratios, which bars.

Law: a figure is a ratio of two rates measured next to each other in one run, because the machine
is shared and its speed drifts; each pair is repeated and the median ratio counts. What order costs
is a ratio of processor time, of all members together: the difference is smaller than the noise of
four processes on two cores.
"""

import statistics
import subprocess
import sys
from collections.abc import Callable

from antiphon.bench.across.report import measure_across
from antiphon.bench.blocks import measure_blocks
from antiphon.bench.calls import measure_calls
from antiphon.bench.changes import measure_failover_ms, measure_joins, measure_load
from antiphon.bench.datagrams import measure_datagrams
from antiphon.bench.figures import Figure, make_figure, median_ratio
from antiphon.bench.groups import measure_groups
from antiphon.bench.headers import header_bytes_per_message
from antiphon.bench.multicast import Rate, measure
from antiphon.bench.orders import measure_orders
from antiphon.bench.simulator import measure_kernel, measure_simulation
from antiphon.bench.spec import MESSAGES, Form, Senders, Spec, System
from antiphon.bench.view_cost import measure_view_cost

OnStep = Callable[[str], None]

_SYSTEMS: tuple[System, ...] = ("raw", "antiphon-fifo", "antiphon")
_SIZES = (4, 8, 16, 32)


PARTS = (
    "multicast", "orders", "calls", "simulator", "size", "views", "changes", "groups", "across",
    "datagrams", "blocks",
)  # fmt: skip
"""What can be measured by itself."""


def run_suite(
    parts: tuple[str, ...], *, repeats: int, scale: float, on_step: OnStep
) -> list[Figure]:
    """Measure these parts."""
    figures: list[Figure] = []
    if "multicast" in parts:
        figures += _all_multicast(repeats, scale, on_step)
    others: dict[str, tuple[str, Callable[[], list[Figure]]]] = {
        "orders": ("total order and uniform delivery", lambda: measure_orders(repeats, scale)),
        "calls": ("calls against a raw echo", lambda: measure_calls(repeats, scale)),
        "simulator": ("simulator against SimPy", lambda: _simulator(repeats, scale)),
        "size": ("headers and import", _sizes),
        "views": ("messages of view changes", _views),
        "changes": ("kill -9, joins, and load", lambda: _changes(repeats, scale)),
        "groups": ("processes in many groups", lambda: measure_groups(50, max(2.0, 10 * scale))),
        "across": ("causality across groups", lambda: measure_across(repeats, scale)),
        "datagrams": ("datagrams, raw and sealed", lambda: measure_datagrams(repeats, scale)),
        "blocks": ("causal blocks, with and without loss", lambda: measure_blocks(repeats, scale)),
    }
    for part, (what, measured) in others.items():
        if part in parts:
            on_step(what)
            figures += measured()
    return figures


def _all_multicast(repeats: int, scale: float, on_step: OnStep) -> list[Figure]:
    figures: list[Figure] = []
    for senders in ("one", "all"):
        for payload_bytes in (64, 1000):
            for form in ("batch", "message"):
                on_step(f"{senders} sender(s), {payload_bytes} B, {form} form")
                figures += _multicast(senders, payload_bytes, form, repeats, scale)
    return figures


def _sizes() -> list[Figure]:
    burst = header_bytes_per_message(512)
    detail = {f"run_of_{count}": header_bytes_per_message(count) for count in (1, 8, 64)}
    what = "header bytes per message, run of 512 messages of 64 B"
    return [make_figure(what, burst, 4.0, at_most=True, detail=detail), _import_ms()]


def _views() -> list[Figure]:
    """Messages of view changes in simulation, in units of what the papers say."""
    figures = []
    for flush, unit, power in (
        ("view-atomic", "n", 1), ("coordinator", "n", 1), ("all-to-all", "n^2", 2),
    ):  # fmt: skip
        costs = [measure_view_cost(flush, "crash", size) for size in _SIZES]
        detail = {f"n_{cost.size}": cost.flushing for cost in costs}
        value = costs[-1].flushing / costs[-1].size ** power
        what = f"flush {flush}: messages / {unit} when one of {_SIZES[-1]} crashes"
        figures.append(
            make_figure(what, value, 2.1 if power == 1 else 1.1, at_most=True, detail=detail)
        )
    joins = [measure_view_cost("view-atomic", "join", size) for size in _SIZES]
    detail = {f"n_{cost.size}": cost.agreement + cost.flushing for cost in joins}
    value = (joins[-1].agreement + joins[-1].flushing) / joins[-1].size
    what = "messages / n to agree on a new member and install it (ISIS 7.4 counts 3)"
    return [*figures, make_figure(what, value, None, detail=detail)]


def _changes(repeats: int, scale: float) -> list[Figure]:
    """Five real processes: how soon a death is known, what a join costs, what is kept."""
    deaths = measure_failover_ms(max(2, 2 * repeats))
    joins = measure_joins(max(2, int(20 * scale)))
    load = measure_load(max(5.0, 60.0 * scale))
    suspicions = load["views"] - 1
    growth = load["kept_bytes_median_second_half"] / max(1, load["kept_bytes_median_first_half"])
    ordered = sorted(joins)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    what = f"{load['seconds']:g} s of full load"
    return [
        make_figure(
            "ms from kill -9 to the new view at all others, slowest", max(deaths), 300.0,
            at_most=True, detail={"median": statistics.median(deaths), "count": len(deaths)},
        ),
        make_figure(
            "ms that traffic pauses for a join, p99", p99, 50.0, at_most=True,
            detail={"median": statistics.median(joins), "count": len(joins), "max": max(joins)},
        ),
        make_figure(f"wrong suspicions in {what}", suspicions, 0.0, at_most=True, detail=load),
        make_figure(
            f"bytes kept, second half to first half of {what}", growth, 1.5, at_most=True,
            detail=load,
        ),
    ]  # fmt: skip


def step_count(parts: tuple[str, ...]) -> int:
    """How many steps :func:`run_suite` reports."""
    return sum(2 * 2 * 2 if part == "multicast" else 1 for part in parts)


def _multicast(
    senders: Senders, payload_bytes: int, form: Form, repeats: int, scale: float
) -> list[Figure]:
    count = int(MESSAGES[payload_bytes] * scale * (1 if form == "batch" else 0.5))
    count = max(1_000, count if senders == "one" else count // 4)
    rates: dict[System, list[Rate]] = {system: [] for system in _SYSTEMS}
    for _ in range(repeats):
        for system in _SYSTEMS:
            spec = Spec(
                system=system, senders=senders, payload_bytes=payload_bytes,
                form=form, message_count=count, ports=(),
            )  # fmt: skip
            rates[system].append(measure(spec))
    has_bar = senders == "one" and form == "batch"
    name = f"{senders} sender{'s' if senders == 'all' else ''}, {payload_bytes} B, {form} form"
    detail = {
        f"{system}_per_s": statistics.median(rate.per_s for rate in rates[system])
        for system in _SYSTEMS
    }
    causal, fifo, raw = rates["antiphon"], rates["antiphon-fifo"], rates["raw"]
    to_raw = median_ratio([rate.per_s for rate in causal], [rate.per_s for rate in raw])
    to_fifo = median_ratio([rate.cpu_us for rate in fifo], [rate.cpu_us for rate in causal])
    in_time = median_ratio([rate.per_s for rate in causal], [rate.per_s for rate in fifo])
    return [
        make_figure(f"CBCAST to raw mesh: {name}", to_raw, 0.7 if has_bar else None, detail=detail),
        make_figure(
            f"CBCAST to FIFO: {name}", to_fifo, 0.95, detail={**detail, "ratio_in_time": in_time}
        ),
    ]


def _simulator(repeats: int, scale: float) -> list[Figure]:
    figures = []
    for what, bar, rate, count in (
        ("simulator events/s to SimPy, same world", 5.0, measure_simulation, 40_000),
        ("scheduler events/s to SimPy, bare timed events", None, measure_kernel, 200_000),
    ):
        readings = [rate(max(2_000, int(count * scale))) for _ in range(repeats)]
        middle = sorted(readings, key=lambda reading: reading["ratio"])[len(readings) // 2]
        figures.append(make_figure(what, middle["ratio"], bar, detail=middle))
    return figures


def _import_ms() -> Figure:
    code = (
        "import time; b = time.perf_counter(); import antiphon, sys; "
        "print((time.perf_counter() - b) * 1000, 'pyspark' in sys.modules)"
    )
    readings = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        took_ms, has_spark = done.stdout.split()
        readings.append((float(took_ms), has_spark == "True"))
    detail = {"imports_pyspark": readings[0][1]}
    return make_figure("import antiphon, ms", min(readings)[0], 200.0, at_most=True, detail=detail)

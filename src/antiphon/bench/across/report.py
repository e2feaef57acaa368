"""The figures of causality across groups, with what was to be reached.

Law: what is counted is counted in simulation, and is the same on any machine; processor times are
ratios of one run; bursts are measured on real sockets, systems in turn.
"""

import statistics
import subprocess
import sys

import msgspec

from antiphon.bench.across.bursts import measure_burst_ratios
from antiphon.bench.across.checks import measure_check
from antiphon.bench.across.distance import measure_rates
from antiphon.bench.across.many import ManyGroups
from antiphon.bench.across.real_switches import RESILIENCES, measure_real_switches
from antiphon.bench.across.stamps import (
    measure_stamps,
    overlaps_of,
    random_groups,
    tree_of_groups,
)
from antiphon.bench.across.switches import measure_switches
from antiphon.bench.figures import Figure, make_figure
from antiphon.stack.domain import ALL

_BURST = 20


def measure_across(repeats: int, scale: float) -> list[Figure]:
    """Measure everything; ``scale`` is that of the bursts and of the largest worlds."""
    return [
        *_stamps(),
        *_rates(),
        _checks(),
        *_switches(),
        *_real_switches(scale),
        *_many(scale),
        *_bursts(repeats, scale),
    ]


def _stamps() -> list[Figure]:
    """Count in random groups and in a tree of groups, with nothing declared and all overlaps."""
    drawn, tree = random_groups(), tree_of_groups()
    figures = []
    for shape, groups, is_declared, pause_us, bar in (
        ("random groups", drawn, False, 100_000, 0.05),
        ("random groups", drawn, True, 100_000, 0.05),
        ("random groups", drawn, False, 20_000, None),
        ("random groups", drawn, False, 500_000, None),
        ("a tree of groups", tree, False, 100_000, 0.05),
        ("a tree of groups", tree, True, 100_000, 0.05),
    ):
        structure = overlaps_of(groups) if is_declared else None
        found = measure_stamps(groups, structure=structure, burst=_BURST, pause_us=pause_us)
        what = (
            f"bytes of stamps to plain ISIS, {shape}, {'all' if is_declared else 'no'} overlaps "
            f"declared, a burst of each process in {pause_us // 1000} ms"
        )
        detail = {
            "plain_per_message": found.plain / found.messages,
            "sent_per_message": found.sent / found.messages,
            "plain_per_run": found.plain / found.runs,
            "sent_per_run": found.sent / found.runs,
            "stamps_per_run": found.stamps / found.runs,
            "words_per_run": found.words / found.runs,
            "names_per_run": found.names / found.runs,
            "with_words": found.ratio,
        }
        sent = found.sent / found.plain
        figures.append(make_figure(what, sent, bar, at_most=True, detail=detail))
    return figures


def _rates() -> list[Figure]:
    figures = []
    for burst in (2, 5, 10, _BURST):
        seen = measure_rates(burst)
        detail = {"by_distance": seen, "paper": [burst**-far for far in range(1, len(seen) + 1)]}
        what = f"changes of a stamp seen at distance 1, bursts of {burst}, times {burst}"
        figures.append(make_figure(what, seen[0] * burst, None, detail=detail))
    return figures


def _checks() -> Figure:
    few, *others = [
        measure_check(groups, active)
        for groups, active in ((2, 2), (20, 2), (200, 2), (200, 5), (200, 20), (200, 100))
    ]
    detail = {
        f"{one.groups}_groups_{one.entries:.0f}_entries_us": one.run_us for one in (few, *others)
    }
    what = "processor time to receive a run, in 200 groups to 2, the same stamps"
    return make_figure(what, others[1].run_us / few.run_us, 1.25, at_most=True, detail=detail)


def _switches() -> list[Figure]:
    figures = []
    for resilience, name in ((1, "1"), (2, "2"), (ALL, "all")):
        times = measure_switches(resilience)
        what = f"round trips of a switch of groups to its delivery, median, resilience {name}"
        bar = 2.5 if resilience == ALL else None
        detail = times._asdict()
        figures.append(make_figure(what, times.delivered, bar, at_most=True, detail=detail))
    return figures


def _real_switches(scale: float) -> list[Figure]:
    figures = []
    for resilience in RESILIENCES:
        for on_asyncio, loop in ((False, "the fastest loop"), (True, "asyncio")):
            count = max(4, int(40 * scale))
            times = measure_real_switches(resilience, count, on_asyncio=on_asyncio)
            what = (
                f"round trips of a switch of groups on loopback to its delivery, median, {loop}, "
                f"resilience {resilience}"
            )
            detail = times._asdict()
            figures.append(make_figure(what, times.round_trips, None, detail=detail))
    return figures


def _many(scale: float) -> list[Figure]:
    """Measure each world in a process of its own: the memory is that of the process."""
    figures = []
    for groups, processes, beats in ((1_000, 200, ("100",)), (10_000, 1_000, ())):
        sizes = [max(10, int(groups * scale)), max(5, int(processes * scale))]
        words = [*map(str, sizes), str(max(20, int(2_000 * scale))), *beats]
        done = subprocess.run(
            [sys.executable, "-m", "antiphon.bench.across.many", *words],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        found = msgspec.json.decode(done.stdout, type=ManyGroups)
        what = f"s of processor time, {sizes[0]} groups among {sizes[1]} processes"
        detail = msgspec.to_builtins(found)
        figures.append(make_figure(what, found.found_s + found.live_s, None, detail=detail))
    return figures


def _bursts(repeats: int, scale: float) -> list[Figure]:
    rates = measure_burst_ratios(max(60, int(3_000 * scale)), repeats)
    figures = []
    for ours, theirs, bar in (
        ("three of all four, resilience 1", "one group", 0.9),
        ("three of all four, no domain", "one group", None),
        ("three of three each, resilience 1", "three of three each, no domain", None),
    ):
        pairs = list(zip(rates[ours], rates[theirs], strict=True))
        detail = {
            "ours_per_s": statistics.median(rate.per_s for rate in rates[ours]),
            "theirs_per_s": statistics.median(rate.per_s for rate in rates[theirs]),
            "in_processor_time": statistics.median(b.cpu_us / a.cpu_us for a, b in pairs),
        }
        ratio = statistics.median(a.per_s / b.per_s for a, b in pairs)
        what = f"bursts of {_BURST}, messages/s: {ours}, to {theirs}"
        figures.append(make_figure(what, ratio, bar, detail=detail))
    return figures

"""Claims of ISIS about time: Tables II to V, figures 6 and 7, on real sockets on loopback.

Law: what is compared is shapes and ratios, which a machine of another age can show; milliseconds of
1991 are put beside ours and not judged. Ratios are of runs next to each other, for the machine's
speed drifts.
"""

import statistics
from collections.abc import Iterator, Sequence
from functools import cache

from antiphon.bench.layers import CAUSAL, LAYERS, PROTOCOL, measure_layers
from antiphon.bench.multicast import Rate, measure
from antiphon.bench.round_trips import measure_round_trips
from antiphon.bench.spec import Form, Spec, System
from antiphon.reproduction import numbers as isis
from antiphon.reproduction.claim import Claim, Effort, Measured
from antiphon.reproduction.judges import (
    at_least,
    at_most,
    between,
    fit,
    if_possible,
    if_steady,
    incomparable,
    table,
)
from antiphon.trace.claims import FigureData, Series

_LOOPBACK = "real processes and sockets on the loopback of one machine, whose cores they share"
_LETTERS = "replies are letters, sent when the multicast is delivered"
_JUNIOR = "the sender does not hold the token, and the token stays, as in the paper"

_COUNTERPARTS = {"rest of Isis": PROTOCOL}
"""Layers of the paper that have another name here."""

Trips = dict[int, dict[int, float]]
"""Microseconds, by destinations, then by payload bytes."""


def _destinations(effort: Effort) -> tuple[int, ...]:
    return (1, 3, 5, 7) if effort.is_quick else (1, 2, 3, 4, 5, 6, 7)


@cache
def _timed(effort: Effort) -> tuple[dict[str, Trips], float]:
    """Measure all round trips once, orders in turns; also the median of their noise."""
    found: dict[str, Trips] = {"causal": {}, "total": {}}
    noise: list[float] = []
    for destinations in _destinations(effort):
        for order, trips in found.items():
            sizes = tuple(isis.SIZES.values())
            times = measure_round_trips(order, destinations, sizes, effort.pick(150, 500))
            trips[destinations] = {size: time.us for size, time in times.items()}
            noise += [time.noise for time in times.values()]
    return found, statistics.median(noise)


def _trips(effort: Effort) -> dict[str, Trips]:
    return _timed(effort)[0]


def _noise(ratios: Sequence[float]) -> float:
    """Return by what factor repetitions differ."""
    return max(ratios) / min(ratios)


def _paper(ms: dict[int, tuple[float, float, float]], size: int) -> list[tuple[float, float]]:
    place = list(isis.SIZES.values()).index(size)
    return [(destinations, values[place]) for destinations, values in ms.items()]


def _relative(points: list[tuple[float, float]], unit: float) -> list[tuple[float, float]]:
    return [(x, y / unit) for x, y in points]


def _trip_rows(order: str, ms: dict[int, tuple[float, float, float]], effort: Effort) -> Measured:
    trips = _trips(effort)[order]
    rows = [
        (
            destinations,
            *(value for ours, theirs in zip(of_sizes.values(), ms[destinations], strict=True)
              for value in (ours / 1000, theirs)),
        )
        for destinations, of_sizes in trips.items()
    ]  # fmt: skip
    columns = ["destinations"]
    for name in isis.SIZES:
        columns += [f"{name}, ms", f"{name} in 1991, ms"]
    last = max(trips)
    return Measured(
        value=f"{trips[1][0] / 1000:.2g} ms for 1 and {trips[last][0] / 1000:.2g} ms for {last} "
        "destinations, null packets",
        table=table(columns, rows),
    )


def _linear(effort: Effort) -> Measured:
    trips = _trips(effort)["causal"]
    ours = [(float(n), of_sizes[0]) for n, of_sizes in trips.items()]
    theirs = _paper(isis.CBCAST_MS, 0)
    slope, _, determination = fit(ours)
    paper_slope, _, paper_determination = fit(theirs)
    figure = FigureData(
        title="Round trip of a null CBCAST, to that with one destination", x_name="destinations",
        y_name="times as long",
        series=[
            Series(name="measured", points=_relative(ours, ours[0][1])),
            Series(name="ISIS, 1991", points=_relative(theirs, theirs[0][1]), is_paper=True),
        ],
    )  # fmt: skip
    shares = (slope / ours[0][1], paper_slope / theirs[0][1])
    return Measured(
        value=f"a straight line explains {100 * determination:.3g} %; each destination adds "
        f"{100 * shares[0]:.0f} % of the first (the paper's: {100 * paper_determination:.3g} %, "
        f"{100 * shares[1]:.0f} %)",
        numbers={"determination": determination, "noise": _timed(effort)[1]},
        table=_trip_rows("causal", isis.CBCAST_MS, effort).table,
        figure=figure,
    )


def _packet_size(effort: Effort) -> Measured:
    trips = _trips(effort)["causal"]
    last = max(trips)
    unit, paper_unit = trips[1][0], isis.CBCAST_MS[1][0]
    series = [
        Series(
            name=f"{name}: {size:,} B",
            points=[(n, of_sizes[size] / unit) for n, of_sizes in trips.items()],
        )
        for name, size in isis.SIZES.items()
    ]
    series += [
        Series(name=f"{name}, 1991", points=_relative(_paper(isis.CBCAST_MS, size), paper_unit),
               is_paper=True)
        for name, size in isis.SIZES.items()
    ]  # fmt: skip
    ratio = trips[last][isis.SIZES["L"]] / trips[last][0]
    return Measured(
        value=f"7 kB packets take {ratio:.3g} times as long as null packets, {last} destinations",
        numbers={"ratio": ratio, "noise": _timed(effort)[1]},
        figure=FigureData(
            title="Figure 6: round trips by size and destinations, to the shortest",
            x_name="destinations", y_name="times as long", series=series,
        ),
    )  # fmt: skip


def _half_speed(effort: Effort) -> Measured:
    trips = _trips(effort)
    ours = [(float(n), trips["total"][n][0] / trips["causal"][n][0]) for n in trips["causal"]]
    theirs = [(float(n), isis.ABCAST_MS[n][0] / isis.CBCAST_MS[n][0]) for n in isis.CBCAST_MS]
    middle = statistics.median(value for _, value in ours)
    size = isis.SIZES["M"]
    unit, paper_unit = trips["causal"][1][size], isis.CBCAST_MS[1][1]
    series = [
        Series(name=name, points=[(n, each[size] / unit) for n, each in trips[order].items()])
        for name, order in (("CBCAST", "causal"), ("ABCAST", "total"))
    ]
    series += [
        Series(name=name, points=_relative(_paper(ms, size), paper_unit), is_paper=True)
        for name, ms in (("CBCAST, 1991", isis.CBCAST_MS), ("ABCAST, 1991", isis.ABCAST_MS))
    ]
    return Measured(
        value=f"an ABCAST takes {middle:.3g} times as long as a CBCAST, null packets (the paper's: "
        f"{statistics.median(value for _, value in theirs):.3g})",
        numbers={"ratio": middle, "noise": _timed(effort)[1]},
        table=_trip_rows("total", isis.ABCAST_MS, effort).table,
        figure=FigureData(
            title="Figure 7: 1 kB round trips, to a CBCAST with one destination",
            x_name="destinations", y_name="times as long", series=series,
        ),
    )  # fmt: skip


# Streams.


def _rate(system: System, destinations: int, payload_bytes: int, form: Form, count: int) -> Rate:
    spec = Spec(
        system=system, senders="junior", payload_bytes=payload_bytes, form=form,
        message_count=count, ports=(0,) * (destinations + 1), token="fixed",  # noqa: S106
    )  # fmt: skip
    return measure(spec)


def _streams(effort: Effort) -> Measured:
    count = effort.pick(4_000, 20_000)
    rows, ours, noise = [], [], []
    for destinations in (1, 3, 7):
        pairs = [
            (
                _rate("antiphon", destinations, 0, "message", count).per_s,
                _rate("antiphon-total", destinations, 0, "message", count).per_s,
            )
            for _ in range(2)
        ]
        noise.append(_noise([total / causal for causal, total in pairs]))
        causal, total = (statistics.mean(each) for each in zip(*pairs, strict=True))
        cbcast, abcast = isis.CBCAST_PER_S[destinations], isis.ABCAST_PER_S[destinations]
        rows.append((destinations, causal, total, total / causal, cbcast, abcast, abcast / cbcast))
        ours.append((float(destinations), total / causal))
    theirs = [(float(n), isis.ABCAST_PER_S[n] / isis.CBCAST_PER_S[n]) for n in isis.CBCAST_PER_S]
    middle = statistics.median(value for _, value in ours)
    return Measured(
        value=f"ABCAST at {middle:.3g} of the rate of CBCAST (the paper's: "
        f"{statistics.median(value for _, value in theirs):.3g})",
        numbers={"ratio": middle, "noise": max(noise)},
        table=table(
            (
                "destinations", "CBCAST/s", "ABCAST/s", "ratio",
                "CBCAST/s in 1991", "ABCAST/s in 1991", "ratio in 1991",
            ),
            rows,
        ),
        figure=FigureData(
            title="Rate of ABCAST to that of CBCAST, null packets", x_name="destinations",
            y_name="ratio",
            series=[
                Series(name="measured", points=ours),
                Series(name="ISIS, 1991", points=theirs, is_paper=True),
            ],
        ),
    )  # fmt: skip


def _data_rate(effort: Effort) -> Measured:
    size, count = isis.SIZES["L"], effort.pick(3_000, 15_000)
    repeated = {
        n: [n * size * _rate("antiphon", n, size, "batch", count).per_s / 1e6 for _ in range(2)]
        for n in (1, 3, 7)
    }
    rates = {n: statistics.mean(each) for n, each in repeated.items()}
    spread = max(rates.values()) / min(rates.values())
    return Measured(
        value=", ".join(f"{rate:.3g} MB/s to {n}" for n, rate in rates.items()),
        numbers={"spread": spread, "noise": max(map(_noise, repeated.values()))},
        table=table(("destinations", "MB/s sent in all"), list(rates.items())),
    )


def _as_fast_as_tcp(effort: Effort) -> Measured:
    size, count = isis.SIZES["L"], effort.pick(4_000, 20_000)
    pairs = [
        (_rate("antiphon", 1, size, "batch", count), _rate("raw", 1, size, "batch", count))
        for _ in range(3)
    ]
    ratios = [ours.per_s / raw.per_s for ours, raw in pairs]
    ratio = statistics.median(ratios)
    rows = [(ours.per_s * size / 1e6, raw.per_s * size / 1e6) for ours, raw in pairs]
    return Measured(
        value=f"{ratio:.3g} times the rate of a bare TCP stream",
        numbers={"ratio": ratio, "noise": _noise(ratios)},
        table=table(("CBCAST, MB/s", "TCP, MB/s"), rows),
    )


# Where the time goes.


def _causal_part(effort: Effort) -> Measured:
    count = effort.pick(8_000, 40_000)
    pairs = [
        (
            _rate("antiphon", 1, 0, "message", count).cpu_us,
            _rate("antiphon-fifo", 1, 0, "message", count).cpu_us,
        )
        for _ in range(3)
    ]
    share = statistics.median(1 - fifo / causal for causal, fifo in pairs)
    return Measured(
        value=f"{100 * share:.2g} % of the processor time of a CBCAST",
        numbers={"share": share, "noise": _noise([fifo / causal for causal, fifo in pairs])},
        table=table(("CBCAST, us", "FIFO multicast, us"), pairs),
    )


def _layers(effort: Effort) -> Measured:
    found = measure_layers(effort.pick(400, 2_000), isis.SIZES["M"])
    whole, paper_whole = sum(found.values()), sum(isis.LAYERS_MS.values())
    rows: list[tuple[str, float, float]] = [
        (layer, found[layer], 100 * found[layer] / whole) for layer in LAYERS
    ]
    rows += [
        (f"{layer}, ISIS 1991", 1000 * ms, 100 * ms / paper_whole)
        for layer, ms in isis.LAYERS_MS.items()
    ]
    share = found[CAUSAL] / whole
    return Measured(
        value=f"{100 * share:.2g} % is causal multicast (the paper's: "
        f"{100 * isis.LAYERS_MS['causal multicast'] / paper_whole:.2g} %)",
        numbers={"share": share},
        table=table(("layer", "us per call", "%"), rows),
        figure=_layer_figure(found),
    )


def _layer_figure(found: dict[str, float]) -> FigureData:
    """Draw shares of the whole, ours beside the paper's where layers have a counterpart."""
    theirs = {_COUNTERPARTS.get(name, name): ms for name, ms in isis.LAYERS_MS.items()}
    names = list(dict.fromkeys([*LAYERS, *theirs]))
    return FigureData(
        title="Where the time of a 1 kB call goes",
        x_name="layer",
        y_name="%",
        categories=names,
        series=[
            Series(
                name=name,
                is_paper=is_paper,
                points=[
                    (place, 100 * values[each] / sum(values.values()))
                    for place, each in enumerate(names)
                    if each in values
                ],
            )
            for name, values, is_paper in (("here", found, False), ("ISIS, 1991", theirs, True))
        ],
    )


def claims() -> Iterator[Claim]:
    """Yield them, in the order of the paper's tables and figures."""
    yield from _of_tables_2_and_3()
    yield from _of_figures()
    yield from _of_streams()
    yield from _of_layers()


def _of_tables_2_and_3() -> Iterator[Claim]:
    absolute = incomparable(
        "SUN 4/60 workstations on a 10 Mbit Ethernet and processes on one machine's loopback "
        "differ in everything but the protocol: the numbers stand side by side, ratios are judged"
    )
    yield Claim(
        paper="ISIS", section="8, Table II", name="table-2",
        words="Round trips of CBCAST take 6.5 ms for one destination, 22.9 ms for seven.",
        paper_value="6.51 to 22.9 ms, null packets",
        measure=lambda effort: _trip_rows("causal", isis.CBCAST_MS, effort), judge=absolute,
        assumptions=(_LOOPBACK, _LETTERS),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="8, Table II", name="linear-cost",
        words="The cost of a CBCAST grows roughly linearly with the number of destinations.",
        paper_value="roughly linear", measure=_linear,
        judge=if_steady(
            at_least("determination", 0.9, "coefficient of determination of a straight line")
        ),
        assumptions=(_LOOPBACK, _LETTERS),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="8, Table III", name="table-3",
        words="Round trips of ABCAST take 12.7 ms for one destination, 55.2 ms for seven.",
        paper_value="12.7 to 55.2 ms, null packets",
        measure=lambda effort: _trip_rows("total", isis.ABCAST_MS, effort), judge=absolute,
        assumptions=(_LOOPBACK, _LETTERS, _JUNIOR),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="8, Tables II and III", name="abcast-stream",
        words="Streams of ABCASTs run at roughly half the rate of CBCASTs, or below.",
        paper_value="0.33 to 0.48 (0.38 with seven destinations)", measure=_streams,
        judge=if_steady(
            between(
                "ratio", 0.2, 0.7, "rate of ABCAST to CBCAST, median",
                "one sets-order message serves all ABCASTs that wait, and runs are ordered as one",
            )
        ),
        assumptions=(_LOOPBACK, _JUNIOR),
    )  # fmt: skip


def _of_figures() -> Iterator[Claim]:
    yield Claim(
        paper="ISIS", section="8, figure 6", name="figure-6",
        words="The size of packets is a dominant factor in the cost.",
        paper_value="7 kB take 3.3 times as long as null packets, seven destinations",
        measure=_packet_size,
        judge=if_steady(
            at_least(
                "ratio", 2.0, "7 kB to null packets",
                "loopback has no wire of 10 Mbit/s, on which 7 kB alone take 6 ms",
            )
        ),
        assumptions=(_LOOPBACK, _LETTERS),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="8, figure 7", name="figure-7",
        words="ABCAST runs at roughly half the speed of CBCAST with small packets.",
        paper_value="2 to 2.4 times as long", measure=_half_speed,
        judge=if_steady(
            between(
                "ratio", 1.5, 3.0, "round trip of ABCAST to CBCAST, median",
                "the word of the token holder is one hop more beside a multicast, its delivery, "
                "and the replies, which take most of the time here",
            )
        ),
        assumptions=(_LOOPBACK, _LETTERS, _JUNIOR),
    )  # fmt: skip


def _of_streams() -> Iterator[Claim]:
    yield Claim(
        paper="ISIS", section="8", name="tcp",
        words="A stream of 7 kB CBCASTs to one destination is as fast as TCP.",
        paper_value=f"{isis.CBCAST_KB_PER_S} kB/s, and TCP {isis.TCP_KB_PER_S} kB/s",
        measure=_as_fast_as_tcp,
        judge=if_steady(
            at_least(
                "ratio", 0.9, "rate of CBCAST to TCP, median of three pairs",
                "Python handles every frame once more than a bare stream does",
            )
        ),
        assumptions=(_LOOPBACK, "TCP: a bare asyncio mesh with length prefixes"),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="8", name="data-rate",
        words="The data sent in all per second stays about the same as destinations increase.",
        paper_value="550 to 750 kB/s: a factor of 1.4", measure=_data_rate,
        judge=if_steady(
            at_most(
                "spread", 2.0, "largest to smallest rate",
                "a message is encoded once and its bytes are sent to all, and receivers share "
                "the cores with the sender: neither is so in the paper",
            )
        ),
        assumptions=(_LOOPBACK,),
    )  # fmt: skip


def _of_layers() -> Iterator[Claim]:
    yield Claim(
        paper="ISIS", section="8, Table IV", name="table-4",
        words="Causality is a small part of what a null multicast costs.",
        paper_value=f"{isis.LOCAL_CAUSAL_US} of {isis.LOCAL_TOTAL_US} us: 16 %",
        measure=_causal_part,
        judge=if_steady(if_possible(
            "share",
            at_most("share", isis.LOCAL_CAUSAL_US / isis.LOCAL_TOTAL_US, "share of processor time"),
        )),
        assumptions=(_LOOPBACK, "as in the paper: causal beside FIFO multicast"),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="8, Table V", name="table-5",
        words="Causal multicast is a small part of what a remote round trip costs.",
        paper_value="0.23 of 8.1 ms: 2.8 %", measure=_layers,
        judge=at_most("share", 0.1, "share of causal multicast in the time"),
        assumptions=(
            "two members in one process on plain asyncio, over loopback; no wire time",
            "profiled, which makes Python dearer than system calls; layers by folder of the code",
        ),
    )  # fmt: skip

"""Claims of Blocks: figure 7, and recovery time and copies against timers, activity and loss.

The paper prints one experiment and no other number. Its further claims are about what helps and
what costs; they are judged by numbers of our own, with the recovery rule as printed (and the errata
corrected) beside the one that ships, and beside receivers that ask the sender by a fixed timer.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import median

from antiphon.ordering.blocks.codec import header_bytes
from antiphon.ordering.blocks.settings import BlockSettings
from antiphon.reproduction.claim import Claim, Effort, Measured
from antiphon.reproduction.judges import at_least, at_most, between, table
from antiphon.sim.lossy.author import examine_blocks
from antiphon.sim.lossy.figure7 import AS_PRINTED, BLOCKS, LossExperiment
from antiphon.sim.lossy.measures import (
    Recovered,
    Traffic,
    ask_for_last,
    delivery_rate,
    quantile,
    recover,
    recover_by_asking,
    recover_last,
)
from antiphon.sim.lossy.network import LossOptions
from antiphon.stack.blocks import Blocks
from antiphon.trace.claims import FigureData, Series

HERE = BlockSettings()
PRINTED = BlockSettings(settle_us=None, at_once=1, counts_receipts=False, report_every=10_000)
"""The paper's rule; its errata are corrected in both, or nothing would be recovered."""

SHIPPED = Blocks().settings
"""What a group has that says nothing else: reports count after 30 ms, delays are up to 5 ms."""

_PERIOD_US = HERE.null_us
_ASKING_US = {"asking, 10 ms": 10_000, "asking, 50 ms": 50_000}
_NAMES = ("as printed", "here", "as shipped", *_ASKING_US)
_SHORT = "short delays"
_LOSSES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3)
_CHANNELS = LossOptions(loss=0.05)

FIGURE_7 = ((17, 10), (18, 10), (19, 11), (22, 12), (23, 13), (25, 14), (26, 15))
"""What the paper prints: the receiver's block counter, and the block that came."""

_SIMULATED = "simulated: the machine whole, datagrams as bytes, exact counts; no bandwidth, no load"
_TIMES = (
    f"null period {_PERIOD_US // 1000} ms, random delay up to {HERE.delay_us_max // 1000} ms, "
    "channels 0.2 to 1 ms"
)
_AS_SHIPPED = "as shipped: antiphon.Blocks(), delays up to 5 ms, reports count after 30 ms"


# Section VI.


def _seeds(count: int) -> list[tuple[int]]:
    return [(seed,) for seed in range(count)]


def _experiment(seed: int) -> tuple[int, int, int, bool]:
    """Return the counters of the first and last recovery, copies, and whether all was in order."""
    experiment = LossExperiment(f"{seed}", AS_PRINTED)
    experiment.live()
    found = [supply for supply in experiment.supplies if supply.is_first]
    in_order = [supply.block for supply in found] == list(BLOCKS)
    return found[0].counter, found[-1].counter, len(experiment.supplies), in_order


def _figure_7(effort: Effort) -> Measured:
    worlds = effort.pick(40, 400)
    found = effort.sweeping.values(_experiment, _seeds(worlds))
    firsts, lasts, copies, orders = zip(*found, strict=True)
    in_order = sum(orders)
    rows = [
        ("block counter at the first recovery", FIGURE_7[0][0], median(firsts)),
        ("block counter at the last recovery", FIGURE_7[-1][0], median(lasts)),
        ("copies that came, of six messages", len(FIGURE_7), median(copies)),
        ("recovered in order, of all worlds", "1 of 1", f"{in_order} of {worlds}"),
    ]
    shown = LossExperiment("686", AS_PRINTED)
    shown.live()
    return Measured(
        value=f"first at {median(firsts):g}, last at {median(lasts):g}, {median(copies):g} copies, "
        f"in order in {in_order} of {worlds}",
        numbers={
            "off": abs(median(firsts) - 17) + abs(median(lasts) - 26) + abs(median(copies) - 7),
            "disorder": worlds - in_order,
        },
        table=table(("what", "paper", "here, median"), rows),
        figure=FigureData(
            title="Figure 7: what is recovered at the receiver's block counter",
            x_name="block counter", y_name="block recovered",
            series=[
                Series(
                    name="here (seed 686)",
                    points=[(supply.counter, supply.block) for supply in shown.supplies],
                ),
                Series(name="paper", points=FIGURE_7, is_paper=True),
            ],
        ),
    )  # fmt: skip


# Sections IV and V: what is sent, when losses are found, and by whom.


def _header(_effort: Effort) -> Measured:
    sizes = (3, 10, 30, 100)
    rows = [(size, header_bytes(size), 2 + 1 + 4 * (size + 2)) for size in sizes]
    return Measured(
        value=f"{header_bytes(3)} bytes for 3 members, {header_bytes(30)} for 30",
        numbers={"off": max(abs(ours - paper) for _, ours, paper in rows)},
        table=table(("members", "bytes here", "I + 1 + C (n + 2)"), rows),
    )


def _has_failed(seed: int) -> bool:
    return bool(examine_blocks(seed))


def _theorem(effort: Effort) -> Measured:
    worlds = effort.pick(200, 2_000)
    failed = [found for found in effort.sweeping.values(_has_failed, _seeds(worlds)) if found]
    return Measured(
        value=f"{len(failed)} of {worlds:,} random worlds fail",
        numbers={"failed": len(failed)},
        table=table(("worlds", "failed"), [(worlds, len(failed))]),
    )


def _of_last(name: str, seed: int, lost: int, crashes: bool) -> list[float]:  # noqa: FBT001 - a point
    if name in _ASKING_US:
        timer_us = _ASKING_US[name]
        return ask_for_last(f"{seed}", 5, _PERIOD_US, timer_us, lost_at=lost, crashes=crashes)
    return recover_last(f"{seed}", 5, _rule(name), lost_at=lost, crashes=crashes)


def _pooled(found: Iterable[list[float]]) -> list[float]:
    return sorted(each for times in found for each in times)


def _last(effort: Effort) -> Measured:
    """Lose the last message before silence."""
    worlds = effort.pick(30, 200)
    found = {
        name: [
            _pooled(
                effort.sweeping.values(
                    _of_last, [(name, seed, lost, crashes) for seed in range(worlds)]
                )
            )
            for lost, crashes in ((1, False), (4, False), (3, True))
        ]
        for name in _NAMES
    }
    rows = [
        (name, *(_said(quantile(each, 0.5)) for each in times)) for name, times in found.items()
    ]
    here = found["here"]
    return Measured(
        value=f"{quantile(here[0], 0.5):.2g} periods at the median; "
        f"{quantile(found['as printed'][0], 0.5):.2g} as printed; "
        f"{quantile(here[2], 0.5):.2g} where the sender dies",
        numbers={
            "printed": quantile(found["as printed"][0], 0.5),
            "here": quantile(here[0], 0.5),
            "unrecovered": sum(each > 1_000 for times in here for each in times),
        },
        table=table(
            (
                "periods until recovered, median of 5 members", "lost at one", "lost at all others",
                "lost at all but one, and the sender dies",
            ),
            rows,
        ),
    )  # fmt: skip


def _said(periods: float) -> str:
    return "never" if periods > 1_000 else f"{periods:.2f}"


def _rule(name: str) -> BlockSettings:
    return {"as printed": PRINTED, "as shipped": SHIPPED}.get(name, HERE)


def _recover(name: str, traffic: Traffic, options: LossOptions) -> Recovered:
    if name in _ASKING_US:
        return recover_by_asking("1", traffic, _PERIOD_US, _ASKING_US[name], options)
    return recover("1", traffic, _rule(name), options)


def _activity(effort: Effort) -> Measured:
    """Recover under more and less traffic."""
    names, intervals = _NAMES, (5_000, 20_000, 50_000, 200_000)
    messages = effort.pick(300, 2_000)
    kinds = [Traffic(interval_us=each, duration_us=messages * each // 5) for each in intervals]
    found = {
        name: [
            each.quantile(0.5)
            for each in effort.sweeping.values(
                _recover, [(name, traffic, _CHANNELS) for traffic in kinds]
            )
        ]
        for name in names
    }
    rows = [
        (interval // 1000, *(found[name][i] for name in names))
        for i, interval in enumerate(intervals)
    ]
    here, printed = found["here"], found["as printed"]
    return Measured(
        value=f"{here[0]:.2g} periods where each speaks ten times a period, {here[-1]:.2g} where "
        f"each speaks once in four; as printed {printed[0]:.2g} and {printed[-1]:.2g}",
        numbers={"ratio": here[-1] / here[0], "busy": max(here)},
        table=table(("ms between messages of one", *names), rows),
        figure=FigureData(
            title="Recovery of a lost message, 5 members, 5 % loss", x_name="ms between messages",
            y_name="null periods, median",
            series=[
                Series(
                    name=name,
                    points=[(i / 1000, y) for i, y in zip(intervals, found[name], strict=True)],
                )
                for name in names
            ],
        ),
    )  # fmt: skip


def _of_period(period_us: int, seed: int) -> list[float]:
    settings = replace(HERE, null_us=period_us, rests=False)
    found = recover_last(f"{seed}", 5, settings, lost_at=1)
    return [each * period_us / 1000 for each in found]


def _period(effort: Effort) -> Measured:
    """Change the null period, and nothing else."""
    rows, waits, nulls = [], [], []
    for period_us in (20_000, 50_000, 100_000, 200_000):
        points = [(period_us, seed) for seed in range(effort.pick(20, 100))]
        times = _pooled(effort.sweeping.values(_of_period, points))
        ms, load = quantile(times, 0.5), 5 * 4 * 1_000_000 / period_us
        waits.append((period_us / 1000, ms))
        nulls.append((period_us / 1000, load))
        rows.append((period_us // 1000, ms, load))
    ratio = waits[-1][1] / waits[0][1]
    return Measured(
        value=f"{waits[0][1]:.3g} ms and {nulls[0][1]:,.0f} null messages/s at 20 ms; "
        f"{waits[-1][1]:.3g} ms and {nulls[-1][1]:,.0f} at 200 ms",
        numbers={"ratio": ratio},
        table=table(("null period, ms", "recovered within, ms, median", "null messages/s"), rows),
        figure=FigureData(
            title="Recovery of the last message before silence, by null period",
            x_name="null period, ms", y_name="ms, median",
            series=[Series(name="5 members, lost at one", points=waits)],
        ),
    )  # fmt: skip


def _of_delay(delay_us: int | None, size: int, duration_us: int) -> Recovered:
    """Recover with a random delay, one gap at a time; or, with None, as it ships."""
    traffic = Traffic(size=size, senders=3, interval_us=20_000, duration_us=duration_us)
    settings = SHIPPED
    if delay_us is not None:
        settings = replace(HERE, delay_us_max=delay_us, at_once=1)
    return recover("1", traffic, settings, _CHANNELS)


def _delays(effort: Effort) -> Measured:
    """Change the random delay, and nothing else."""
    delays_us = (0, 2_000, 10_000, 50_000)
    sizes = (3, 10, 30)
    copies: dict[int, list[tuple[float, float]]] = {size: [] for size in sizes}
    rows: list[list[object]] = []
    duration_us = effort.pick(400, 2_000) * 1000
    kinds = (*delays_us, None)
    points = [(delay_us, size, duration_us) for delay_us in kinds for size in sizes]
    of_points = iter(effort.sweeping.values(_of_delay, points))
    for delay_us in delays_us:
        row: list[object] = [f"{delay_us / 1000:g}"]
        for size in sizes:
            found = next(of_points)
            copies[size].append((delay_us / 1000, found.per_message))
            row += [found.per_message, found.quantile(0.5)]
        rows.append(row)
    shipped = [next(of_points) for _ in sizes]
    said = [number for one in shipped for number in (one.per_message, one.quantile(0.5))]
    rows.append(["5, as shipped", *said])
    fewer = min(copies[size][0][1] / copies[size][2][1] for size in sizes[1:])
    return Measured(
        value="; ".join(
            f"{size} members: {copies[size][0][1]:.2g} copies per lost message without delay, "
            f"{copies[size][2][1]:.2g} with up to 10 ms"
            for size in sizes
        ),
        numbers={"fewer": fewer},
        table=table(
            (
                "delay up to, ms", "copies, 3", "periods", "copies, 10", "periods", "copies, 30",
                "periods",
            ),
            rows,
        ),
        figure=FigureData(
            title="Copies sent per lost message, by random delay", x_name="delay up to, ms",
            y_name="copies",
            series=[Series(name=f"{size} members", points=copies[size]) for size in sizes],
        ),
    )  # fmt: skip


def _of_loss(loss: float, settings: BlockSettings, duration_us: int) -> tuple[float, float]:
    options = LossOptions(loss=loss, duplication=0.02, reordering=0.05)
    return delivery_rate("1", 4, settings, options, every_us=500, duration_us=duration_us)


def _recovery(name: str, loss: float, messages: int) -> tuple[float, float]:
    """Return within how many periods half, and 99 of 100, of what was lost were recovered."""
    traffic = Traffic(interval_us=_PERIOD_US, duration_us=messages * _PERIOD_US // 5)
    found = recover("1", traffic, _rule(name), LossOptions(loss=loss))
    return found.quantile(0.5), found.quantile(0.99)


def _recovery_by_loss(effort: Effort) -> Measured:
    """Lose more and more, while each speaks once in a period."""
    names, losses = ("as printed", "here", "as shipped"), _LOSSES[1:]
    messages = effort.pick(300, 2_000)
    points = [(name, loss, messages) for loss in losses for name in names]
    found = dict(
        zip([point[:2] for point in points], effort.sweeping.values(_recovery, points), strict=True)
    )
    rows = [
        (f"{loss:.0%}", *(number for name in names for number in found[name, loss]))
        for loss in losses
    ]
    shipped = [found["as shipped", loss] for loss in losses]
    return Measured(
        value=f"{shipped[0][0]:.2g} periods at the median at 1 %, {shipped[-1][0]:.2g} at 30 %; "
        f"p99 {shipped[0][1]:.2g} and {shipped[-1][1]:.2g}",
        numbers={"worst": max(median_ for median_, _ in shipped)},
        table=table(
            ("loss", *(word for name in names for word in (f"periods, {name}", "p99"))), rows
        ),
        figure=FigureData(
            title="Recovery of a lost message by loss, 5 members", x_name="loss, %",
            y_name="null periods, median",
            series=[
                Series(name=name, points=[(100 * loss, found[name, loss][0]) for loss in losses])
                for name in names
            ],
        ),
    )  # fmt: skip


def _loss(effort: Effort) -> Measured:
    """Have all speak as fast as they may, on worse and worse channels."""
    quick = replace(HERE, delay_us_max=2_000, settle_us=3_000, window=256)
    kinds = {
        "as printed": replace(PRINTED, window=256),
        "here": HERE,
        _SHORT: quick,
    }
    rates: dict[str, list[float]] = {name: [] for name in kinds}
    rows = []
    duration_us = effort.pick(100_000, 1_000_000)
    points = [(loss, rule, duration_us) for loss in _LOSSES for rule in kinds.values()]
    of_points = iter(effort.sweeping.values(_of_loss, points))
    for loss in _LOSSES:
        row: list[object] = [f"{loss:.0%}"]
        for name in kinds:
            rate, repeated = next(of_points)
            rates[name].append(rate)
            row += [rate, repeated]
        rows.append(row)
    here = rates["here"]
    columns = [word for name in kinds for word in (f"messages/s, {name}", "copies per message")]
    return Measured(
        value=f"{here[2] / here[0]:.0%} of the lossless rate at 5 %, {here[-1] / here[0]:.0%} at "
        f"30 %; {rates[_SHORT][-1] / here[0]:.0%} with shorter delays",
        numbers={"kept": here[2] / here[0]},
        table=table(("loss", *columns), rows),
        figure=FigureData(
            title="Messages that all of 4 have delivered, by loss", x_name="loss, %",
            y_name="messages/s",
            series=[
                Series(
                    name=name,
                    points=[(100 * x, y) for x, y in zip(_LOSSES, rates[name], strict=True)],
                )
                for name in kinds
            ],
        ),
    )  # fmt: skip


def claims() -> Iterator[Claim]:
    """Yield them, in the order of the paper."""
    yield from _claims_of_design()
    yield from _claims_of_experience()


def _claims_of_design() -> Iterator[Claim]:
    yield Claim(
        paper="Blocks", section="IV, V", name="block-header",
        words="A message carries its sender, its kind, its block number, a maximum block and a "
        "vector of block numbers.",
        paper_value="I + 1 + C (n + 2) bytes", measure=_header,
        judge=at_most("off", 0, "largest difference, bytes"),
        assumptions=("ids of 2 bytes, counters of 4; a lifetime, which the paper lacks, adds 4",),
    )  # fmt: skip
    yield Claim(
        paper="Blocks", section="V.A", name="activity",
        words="Missing messages are found fast in a group that is very active, otherwise slowly.",
        paper_value="no numbers", measure=_activity,
        judge=at_least("ratio", 1.3, "periods where all are nearly silent / where all speak"),
        assumptions=(
            _SIMULATED, _TIMES, "5 members, all send, 5 % loss",
            "as printed one gap is seen to at a time, so where more is lost than that, it piles up",
        ),
    )  # fmt: skip
    yield Claim(
        paper="Blocks", section="V.A", name="null-period",
        words="Null messages decide how fast the last messages are recovered, and what the network "
        "bears: the two are to be balanced.",
        paper_value="no numbers", measure=_period,
        judge=between("ratio", 5, 20, "time to recover at 200 ms / at 20 ms"),
        assumptions=(_SIMULATED, _TIMES, "5 members, lost at one; nobody rests, as printed"),
    )  # fmt: skip
    yield Claim(
        paper="Blocks", section="V.B", name="random-delay",
        words="A random delay before a message is sent again, which is drawn anew when the message "
        "is heard, lowers the number of copies.",
        paper_value="no numbers", measure=_delays,
        judge=at_least("fewer", 1.3, "copies without delay / with up to 10 ms, 10 and 30 members"),
        assumptions=(
            _SIMULATED, _TIMES, "3 senders, 20 ms between messages, 5 % loss; one gap at a time",
        ),
    )  # fmt: skip
    yield Claim(
        paper="Blocks", section="V.C, T1.0", name="theorem",
        words="Every missing message is detected, recovered and delivered without violating "
        "causality.",
        paper_value="proved", measure=_theorem,
        judge=at_most("failed", 0, "worlds that fail"),
        assumptions=(
            _SIMULATED, "with the errata corrected; as printed nothing is ever recovered (004-3)",
            "up to 40 % loss, crashes, expiry, full buffers; judged by the oracle",
        ),
    )  # fmt: skip


def _claims_of_experience() -> Iterator[Claim]:
    yield Claim(
        paper="Blocks", section="VI, figure 7", name="block-figure-7",
        words="Of three processes one misses blocks 10 to 15; they are recovered in order from "
        "block 17 to 26, the first one twice, by both suppliers.",
        paper_value="first at 17, last at 26, 7 copies", measure=_figure_7,
        judge=at_most("off", 4, "sum of the differences of the three medians"),
        assumptions=(
            _SIMULATED, "null period 500 ms; one gap at a time, as printed",
            "not told, and taken: a message a period, a random delay of up to three periods",
        ),
    )  # fmt: skip
    yield Claim(
        paper="Blocks", section="VII", name="last-message",
        words="Any process can send again what another lacks: the sender is no single point of "
        "failure.",
        paper_value="no numbers; 3 periods by our reckoning of the printed rule", measure=_last,
        judge=at_most("unrecovered", 0, "members that never get what a survivor has delivered"),
        assumptions=(_SIMULATED, _TIMES, "suspicion within three periods"),
    )  # fmt: skip
    yield Claim(
        paper="Blocks", section="VII", name="block-loss",
        words="The protocol is robust against loss.",
        paper_value="no numbers", measure=_loss,
        judge=at_least("kept", 0.5, "rate at 5 % loss / without loss"),
        assumptions=(
            _SIMULATED, _TIMES, "4 members, each offers 2,000 messages/s; 2 % come twice, 5 % late",
            "short delays: up to 2 ms, reports count after 3 ms, a window of 256",
        ),
    )  # fmt: skip
    yield Claim(
        paper="Blocks", section="VII", name="recovery-by-loss",
        words="The protocol is robust against loss: what is lost is recovered soon, however much.",
        paper_value="no numbers", measure=_recovery_by_loss,
        judge=at_most("worst", 2, "periods at the median, at up to 30 % loss, as shipped"),
        assumptions=(_SIMULATED, _TIMES, _AS_SHIPPED, "5 members, each speaks once in a period"),
    )  # fmt: skip

"""Claims of ISIS about messages: counted in simulation, so the same on any machine."""

from collections.abc import Iterator

from antiphon.bench.order_cost import measure_order_cost
from antiphon.bench.view_cost import measure_view_cost
from antiphon.reproduction.claim import Claim, Effort, Measured
from antiphon.reproduction.judges import at_most, between, table
from antiphon.trace.claims import FigureData, Series

SIMULATED = "simulated: the machine that runs on sockets, whole, with exact counts"
SIZES = (4, 8, 16, 32)


def sizes_of(effort: Effort) -> tuple[int, ...]:
    """Return the sizes of groups that are measured."""
    return SIZES[: effort.pick(3, 4)]


def _one_and_a_part(effort: Effort) -> Measured:
    costs = [measure_order_cost("fixed", k, effort.pick(60, 200)) for k in (1, 2, 3)]
    following = measure_order_cost("follow", 1, effort.pick(60, 200))
    off = max(abs(cost.per_message / (1 + 1 / cost.burst) - 1) for cost in costs)
    rows = [(cost.burst, cost.messages, cost.per_message, 1 + 1 / cost.burst) for cost in costs]
    return Measured(
        value=", ".join(f"{cost.per_message:.3g} for k = {cost.burst}" for cost in costs)
        + f"; {following.per_message:.3g} where the token follows the one sender",
        numbers={"off": off},
        table=table(("k", "ABCASTs", "multicasts per ABCAST", "1 + 1/k"), rows),
        figure=FigureData(
            title="Multicasts per ABCAST, by how many one sets-order serves", x_name="k",
            y_name="multicasts",
            series=[
                Series(name="measured", points=[(c.burst, c.per_message) for c in costs]),
                Series(name="1 + 1/k", points=[(k, 1 + 1 / k) for k in (1, 2, 3)], is_paper=True),
            ],
        ),
    )  # fmt: skip


def _flushes(effort: Effort) -> Measured:
    sizes = sizes_of(effort)
    found = {
        flush: [measure_view_cost(flush, "crash", size).flushing for size in sizes]
        for flush in ("all-to-all", "coordinator")
    }
    rows = [
        (size, found["all-to-all"][place], size * size, found["coordinator"][place], 2 * size)
        for place, size in enumerate(sizes)
    ]
    last, square, linear = sizes[-1], found["all-to-all"][-1], found["coordinator"][-1]
    return Measured(
        value=f"{square:,} and {linear} messages for {last} members",
        numbers={"square": square / last**2, "linear": linear / last / 2},
        table=table(("members", "all-to-all flush", "n^2", "through a coordinator", "2n"), rows),
        figure=FigureData(
            title="Messages of a flush, by size of the group", x_name="members", y_name="messages",
            series=[
                *(
                    Series(name=flush, points=list(zip(sizes, counted, strict=True)))
                    for flush, counted in found.items()
                ),
                Series(name="n^2", points=[(n, n * n) for n in sizes], is_paper=True),
                Series(name="2n", points=[(n, 2 * n) for n in sizes], is_paper=True),
            ],
        ),
    )  # fmt: skip


def _join(effort: Effort) -> Measured:
    costs = [measure_view_cost("coordinator", "join", size) for size in sizes_of(effort)]
    totals = [(cost.size, cost.agreement + cost.flushing) for cost in costs]
    size, total = totals[-1]
    rows = [(cost.size, cost.agreement, cost.flushing, 3 * cost.size) for cost in costs]
    return Measured(
        value=f"{total} messages for {size} members: {total / size:.3g} n",
        numbers={"per_member": total / size},
        table=table(("members", "to agree on the view", "to flush", "3n"), rows),
        figure=FigureData(
            title="Messages that add one member", x_name="members", y_name="messages",
            series=[
                Series(name="measured", points=totals),
                Series(name="3n", points=[(n, 3 * n) for n, _ in totals], is_paper=True),
            ],
        ),
    )  # fmt: skip


def claims() -> Iterator[Claim]:
    """Yield them, in the order of the paper."""
    yield Claim(
        paper="ISIS", section="5.2", name="one-and-a-part",
        words="An ABCAST costs 1 + 1/k multicasts if one sets-order message serves k of them, and "
        "the sender does not hold the token.",
        paper_value="1 + 1/k", measure=_one_and_a_part,
        judge=at_most("off", 0.02, "largest relative difference from 1 + 1/k"),
        assumptions=(SIMULATED, "k members multicast at the same time; the token stays"),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="5.5", name="flush-square",
        words="The flush in which every member tells every other costs about n^2 messages.",
        paper_value="n^2", measure=_flushes,
        judge=between("square", 0.7, 1.1, "messages / n^2 in the largest group"),
        assumptions=(SIMULATED, "one of n members crashes in an idle group"),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="5.5", name="flush-linear",
        words="A flush through a coordinator costs about 2n messages.",
        paper_value="2n", measure=_flushes,
        judge=between("linear", 0.7, 1.1, "messages / 2n in the largest group"),
        assumptions=(SIMULATED, "one of n members crashes in an idle group"),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="7.4", name="join-cost",
        words="About 3n messages add one member to a group of n.",
        paper_value="3n", measure=_join,
        judge=between(
            "per_member", 2.0, 3.5, "messages / n in the largest group",
            "members agree on the view by quorum before it is announced, which takes a proposal "
            "and a vote per member more; the paper leaves open what happens if the one member that "
            "initiates changes fails half-way",
        ),
        assumptions=(SIMULATED, "an idle group; the coordinator's flush"),
    )  # fmt: skip

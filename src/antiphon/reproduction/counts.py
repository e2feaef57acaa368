"""Claims of ISIS about messages and bytes: counted in simulation, so the same on any machine."""

from collections.abc import Iterator

from antiphon.bench.across.styles import measure_clients
from antiphon.bench.headers import header_bytes_per_message
from antiphon.bench.order_cost import measure_order_cost
from antiphon.bench.view_cost import measure_view_cost
from antiphon.core.frames import encode_runs
from antiphon.core.ids import GroupNumber, Rank, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.reproduction.claim import Claim, Effort, Measured
from antiphon.reproduction.judges import at_most, between, table
from antiphon.reproduction.numbers import FIRST_HEADER_BYTES, FIXED_HEADER_BYTES
from antiphon.sim.delays import DelayOptions
from antiphon.sim.steady_group import Options, SteadyGroup
from antiphon.sim.workload import Workload, WorkloadOptions
from antiphon.trace.claims import FigureData, Series

_SIMULATED = "simulated: the machine that runs on sockets, whole, with exact counts"
_SIZES = (4, 8, 16, 32)
_BROADCASTERS = 3
_SERVERS = 3


def _sizes(effort: Effort) -> tuple[int, ...]:
    return _SIZES[: effort.pick(3, 4)]


# Table I.


def _fixed_header(_effort: Effort) -> Measured:
    """Encode one message with nothing to wait for, by the codec of the wire."""
    rows: list[tuple[str, float]] = []
    fixed = 0
    for age in (1, 1_000, 1_000_000):
        run = Run(GroupNumber(0), ViewNumber(1), Rank(0), age, Order.CAUSAL, (), [b""])
        fixed = len(encode_runs(0, 0, [run]))
        rows.append((f"{age:,} messages into the view", fixed))
    rows.append(
        ("a message in a run of 512, timestamp of 3 included", header_bytes_per_message(512))
    )
    return Measured(
        value=f"{fixed} bytes", numbers={"fixed": fixed}, table=table(("header", "bytes"), rows)
    )


class _EntryCount(SteadyGroup):
    """Counts the entries of timestamps as runs are multicast."""

    entries: list[int]

    def on_send(self, run: Run) -> None:
        """Take note of a run."""
        super().on_send(run)
        self.entries.append(len(run.stamp))


class _Diffusion(Workload):
    """Only the first members broadcast; the others listen."""

    __slots__ = ()

    def start(self, process_count: int) -> None:
        """Let the first ones begin."""
        super().start(min(process_count, _BROADCASTERS))

    def on_deliver(self, process: int, run: Run) -> None:
        """Let only those answer."""
        if process < _BROADCASTERS:
            super().on_deliver(process, run)


def _entries(effort: Effort) -> Measured:
    rows, peers, diffused = [], [], []
    for size in _sizes(effort):
        found = {}
        for style, talk in (("peer", Workload), ("diffusion", _Diffusion)):
            options = Options(
                seed=1, process_count=size, delays=DelayOptions(delay_us_mean=500),
                workload=WorkloadOptions(message_count=effort.pick(1_000, 4_000)),
            )  # fmt: skip
            group = _EntryCount(options, None, talk)
            group.entries = []
            for _ in group.run():
                pass
            found[style] = (max(group.entries), sum(group.entries) / len(group.entries))
        peers.append((size, found["peer"][0]))
        diffused.append((size, found["diffusion"][0]))
        rows.append((size, *found["peer"], *found["diffusion"]))
    over = max(
        *(count / size for size, count in peers),
        *(count / _BROADCASTERS for _, count in diffused),
    )
    last = _sizes(effort)[-1]
    return Measured(
        value=f"at most {peers[-1][1]} entries among {last} peers, {diffused[-1][1]} with "
        f"{_BROADCASTERS} that broadcast to {last}",
        numbers={"over": over},
        table=table(
            ("members", "peer group, most", "mean", "diffusion group, most", "mean"), rows
        ),
        figure=FigureData(
            title="Entries of the longest timestamp, by style of group", x_name="members",
            y_name="entries",
            series=[
                Series(name="peer group", points=peers),
                Series(name=f"diffusion, {_BROADCASTERS} broadcast", points=diffused),
                Series(name="bound n", points=[(n, n) for n, _ in peers], is_paper=True),
            ],
        ),
    )  # fmt: skip


def _clients(effort: Effort) -> Measured:
    clients = effort.pick(15, 30)
    bound = _SERVERS + clients
    found = [
        (pause_us, measure_clients(_SERVERS, clients, requests=600, pause_us=pause_us))
        for pause_us in (2_000, 10_000, 50_000)
    ]
    rows = [(1_000_000 // pause_us, one.most, one.mean, bound) for pause_us, one in found]
    return Measured(
        value=f"{clients} clients: at most {found[0][1].most} entries with {rows[0][0]} requests a "
        f"second ({found[0][1].mean:.0f} on average), {found[-1][1].most} with {rows[-1][0]}",
        numbers={"over": found[0][1].most / bound},
        table=table(("requests a second", "entries, most", "mean", "s + c"), rows),
        figure=FigureData(
            title="Entries of the longest timestamp, client/server", x_name="requests a second",
            y_name="entries",
            series=[
                Series(name="measured", points=[(rate, most) for rate, most, _, _ in rows]),
                Series(
                    name="s + c", points=[(rate, bound) for rate, *_ in rows], is_paper=True
                ),
            ],
        ),
    )  # fmt: skip


# Sections 5.2, 5.5 and 7.4.


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
    sizes = _sizes(effort)
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
    costs = [measure_view_cost("coordinator", "join", size) for size in _sizes(effort)]
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
        assumptions=(_SIMULATED, "k members multicast at the same time; the token stays"),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="5.5", name="flush-square",
        words="The flush in which every member tells every other costs about n^2 messages.",
        paper_value="n^2", measure=_flushes,
        judge=between("square", 0.7, 1.1, "messages / n^2 in the largest group"),
        assumptions=(_SIMULATED, "one of n members crashes in an idle group"),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="5.5", name="flush-linear",
        words="A flush through a coordinator costs about 2n messages.",
        paper_value="2n", measure=_flushes,
        judge=between("linear", 0.7, 1.1, "messages / 2n in the largest group"),
        assumptions=(_SIMULATED, "one of n members crashes in an idle group"),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="7.1, Table I", name="fixed-header",
        words="Beside its timestamp, a message carries a fixed header of 28 bytes.",
        paper_value=f"{FIXED_HEADER_BYTES} bytes; about {FIRST_HEADER_BYTES} as first implemented",
        measure=_fixed_header,
        judge=at_most("fixed", FIXED_HEADER_BYTES, "bytes of a header without timestamp"),
        assumptions=("encoded by the codec of the wire; numbers grow with the view's age",),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="7.1, Table I", name="timestamp-size",
        words="A timestamp has at most n entries in a peer group of n, and at most b in a "
        "diffusion group into which b members broadcast.",
        paper_value="k <= n; k <= b", measure=_entries,
        judge=at_most("over", 1.0, "entries / bound, at worst"),
        assumptions=(_SIMULATED, "nobody fails; only entries that changed are sent (5.4, 6.3)"),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="7.1, Table I", name="client-server",
        words="In a client/server group, a timestamp has at most s + c entries.",
        paper_value="k <= s + c", measure=_clients,
        judge=at_most(
            "over", 1.0, "entries / (s + c), at worst",
            "client groups are not collapsed into one here, as in the thesis that the paper cites: "
            "where all clients ask within one heartbeat, servers name each server's answers in "
            "each client's group",
        ),
        assumptions=(
            _SIMULATED,
            f"{_SERVERS} servers; each client's group is the client and all of them; one answers",
            "all groups are in one causality domain; entries of all groups are counted",
        ),
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
        assumptions=(_SIMULATED, "an idle group; the coordinator's flush"),
    )  # fmt: skip

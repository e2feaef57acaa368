"""Table I of ISIS: the overhead of a message, by style of group; counted in simulation."""

from collections.abc import Iterator

from antiphon.bench.across.styles import measure_clients, measure_hierarchy
from antiphon.bench.headers import header_bytes_per_message
from antiphon.core.frames import encode_runs
from antiphon.core.ids import GroupNumber, Rank, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.reproduction.claim import Claim, Effort, Measured
from antiphon.reproduction.counts import SIMULATED, sizes_of
from antiphon.reproduction.judges import at_most, table
from antiphon.reproduction.numbers import FIRST_HEADER_BYTES, FIXED_HEADER_BYTES
from antiphon.sim.delays import DelayOptions
from antiphon.sim.steady_group import Options, SteadyGroup
from antiphon.sim.workload import Workload, WorkloadOptions
from antiphon.trace.claims import FigureData, Series

_BROADCASTERS = 3
_SERVERS = 3


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
    for size in sizes_of(effort):
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
    last = sizes_of(effort)[-1]
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


def _hierarchy(effort: Effort) -> Measured:
    size = 4
    rows = []
    for count in (5, 10, 20)[: effort.pick(2, 3)]:
        inner, outer = measure_hierarchy(count, size, multicasts=600)
        bare, _ = measure_hierarchy(count, size, multicasts=600, is_declared=False)
        rows.append((count, inner.most, inner.mean, outer.most, bare.most))
    count, most, _, outer_most, bare_most = rows[-1]
    return Measured(
        value=f"{count} subgroups of {size}: at most {most} entries, {outer_most} of those who are "
        f"in the root, too; {bare_most} where overlaps are not declared",
        numbers={"over": max(row[1] for row in rows) / size},
        table=table(
            ("subgroups", "entries, most", "mean", "representatives, most", "undeclared, most"),
            rows,
        ),
    )


def claims() -> Iterator[Claim]:
    """Yield them, in the order of the paper."""
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
        assumptions=(SIMULATED, "nobody fails; only entries that changed are sent (5.4, 6.3)"),
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
            SIMULATED,
            f"{_SERVERS} servers; each client's group is the client and all of them; one answers",
            "all groups are in one causality domain; entries of all groups are counted",
        ),
    )  # fmt: skip
    yield Claim(
        paper="ISIS", section="7.1, Table I", name="hierarchical",
        words="In a hierarchical group, a timestamp has at most n entries in subgroups of n.",
        paper_value="k <= n", measure=_hierarchy,
        judge=at_most("over", 1.0, "entries / n, at worst, of members of a subgroup alone"),
        assumptions=(
            SIMULATED,
            "a root of one representative of each subgroup; overlaps are declared (6.6)",
            "one multicast in ten is in the root; representatives are in two groups",
        ),
    )  # fmt: skip

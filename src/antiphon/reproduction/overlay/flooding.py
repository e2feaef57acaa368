"""Claims of Overlay about order, crashes and copies: on the machine itself, in small groups."""

from collections import deque
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import combinations
from math import log2
from random import Random
from typing import TYPE_CHECKING

from antiphon.ordering.overlay.flooding import (
    Broadcast,
    Flooding,
    FloodingEffect,
    HandUp,
    LinkItem,
)
from antiphon.ordering.overlay.topologies import TOPOLOGIES, copies_per_broadcast, reachable
from antiphon.reproduction.claim import Claim, Effort, Measured
from antiphon.reproduction.judges import all_of, at_most, between, table
from antiphon.trace.claims import FigureData, Series

if TYPE_CHECKING:
    from antiphon.models.abstract import Flood

_MACHINE = "the machine of antiphon.ordering.overlay, its links carried by the measurement"
_SOURCE_BYTES, _NUMBER_BYTES = 4, 4

_GRAPHS: dict[str, Sequence[Sequence[int]]] = {
    "path of 3": [(1,), (0, 2), (1,)],
    "triangle": [(1, 2), (0, 2), (0, 1)],
    "star of 4": [(1, 2, 3), (0,), (0,), (0,)],
    "square": TOPOLOGIES["hypercube"].overlay(4),
}


class FigureTwo(Flooding):
    """The rule as figure 2 prints it: deliver, then forward."""

    __slots__ = ()

    def _take_message(self, link: int, message: Broadcast) -> list[FloodingEffect]:
        """Deliver first: what the application answers leaves before it."""
        self.marked[message.source] = message.number
        return [HandUp(message), *self._put(message, but=link)]


class _Moment:
    """Members and links at one moment; member 1 answers message 1 of member 0 in its upcall."""

    def __init__(self, overlay: Sequence[Sequence[int]], machine: type[Flooding]) -> None:
        self.members = [machine(rank, len(overlay), near) for rank, near in enumerate(overlay)]
        self.links: dict[tuple[int, int], deque[LinkItem]] = {
            (rank, other): deque() for rank, near in enumerate(overlay) for other in near
        }
        self.delivered: list[list[int]] = [[] for _ in overlay]
        self.do(0, self.members[0].broadcast())

    def do(self, who: int, effects: list[FloodingEffect]) -> None:
        """Do effects one by one: an answer leaves where the upcall is."""
        for effect in effects:
            if isinstance(effect, HandUp):
                self.delivered[who].append(effect.message.source)
                if who == 1 and effect.message.source == 0:
                    self.do(1, self.members[1].broadcast())
            else:
                for peer in effect.links:
                    self.links[who, peer].append(effect.item)

    @property
    def key(self) -> str:
        """All that matters of a moment."""
        return repr((self.delivered, self.links))


def _wrong_ends(overlay: Sequence[Sequence[int]], machine: type[Flooding]) -> tuple[int, int]:
    """Try every interleaving; return how many moments there are, and in how many order is wrong."""
    first = _Moment(overlay, machine)
    seen, waiting, wrong = {first.key}, [first], 0
    while waiting:
        moment = waiting.pop()
        wrong += any(heard[:1] == [1] for heard in moment.delivered)
        for pair in [pair for pair, link in moment.links.items() if link]:
            after = deepcopy(moment)
            after.do(pair[1], after.members[pair[1]].receive(pair[0], after.links[pair].popleft()))
            if after.key not in seen:
                seen.add(after.key)
                waiting.append(after)
    return len(seen), wrong


def _searched(machine: type[Flooding]) -> Measured:
    found = {name: _wrong_ends(overlay, machine) for name, overlay in _GRAPHS.items()}
    wrong = sum(each for _, each in found.values())
    moments = sum(each for each, _ in found.values())
    return Measured(
        value=f"{wrong} of {moments} reachable moments have an answer before what it answers",
        numbers={"wrong": wrong},
        table=table(
            ("overlay", "moments", "with an answer before what it answers"),
            [(name, *each) for name, each in found.items()],
        ),
    )


def _failures(effort: Effort) -> Measured:
    """Find the fewest crashes that cut somebody off, by trying all sets of crashes."""
    rows = []
    off = 0
    for bits in range(2, effort.pick(4, 5)):
        cube = TOPOLOGIES["hypercube"].overlay(1 << bits)
        fewest = next(
            count
            for count in range(1, 1 << bits)
            if any(_cuts(cube, frozenset(gone)) for gone in combinations(range(1 << bits), count))
        )
        off = max(off, bits - (fewest - 1))
        rows.append((1 << bits, bits, fewest - 1))
    return Measured(
        value=f"{rows[-1][2]} crashes, whoever they are, in a cube of {rows[-1][0]}: log n - {off}",
        numbers={"off": off},
        table=table(("members", "log n", "crashes that never cut anybody off"), rows),
    )


def _cuts(overlay: Sequence[Sequence[int]], gone: frozenset[int]) -> bool:
    left = [rank for rank in range(len(overlay)) if rank not in gone]
    return len(reachable(overlay, left[0], gone)) < len(left)


def count_copies(overlay: Sequence[Sequence[int]], seed: int) -> int:
    """Flood one message over links of any speed; return how often it was put on one."""
    dice = Random(seed)
    members = [Flooding(rank, len(overlay), near) for rank, near in enumerate(overlay)]
    waiting: list[tuple[int, int, LinkItem]] = []
    copies = 0
    effects, who = members[dice.randrange(len(overlay))].broadcast(), -1
    while True:
        for effect in effects:
            if isinstance(effect, HandUp):
                continue
            who = effect.item.source if who < 0 and isinstance(effect.item, Broadcast) else who
            waiting += [(who, peer, effect.item) for peer in effect.links]
            copies += len(effect.links)
        if not waiting:
            return copies
        at = dice.randrange(len(waiting))
        waiting[at], waiting[-1] = waiting[-1], waiting[at]
        link, who, item = waiting.pop()
        effects = members[who].receive(link, item)


def _copies_in_cube(n: int) -> int:
    return count_copies(TOPOLOGIES["hypercube"].overlay(n), n)


def _copies(effort: Effort) -> Measured:
    sizes = [1 << bits for bits in range(3, effort.pick(8, 11))]
    found = dict(
        zip(sizes, effort.sweeping.values(_copies_in_cube, [(n,) for n in sizes]), strict=True)
    )
    logs = {n: n.bit_length() - 1 for n in sizes}
    exact = all(found[n] == n * (logs[n] - 1) + 1 for n in sizes)
    last = sizes[-1]
    return Measured(
        value=f"{found[last]:,} for {last} members; n(log2 n - 1) + 1 "
        + ("everywhere" if exact else "not everywhere"),
        numbers={
            "share": max(found[n] / (n * logs[n]) for n in sizes),
            "inexact": 0 if exact else 1,
        },
        table=table(
            ("members", "copies", "n(log2 n - 1) + 1", "n log2 n", "Timestamp: n - 1"),
            [(n, found[n], n * (logs[n] - 1) + 1, n * logs[n], n - 1) for n in sizes],
        ),
        figure=FigureData(
            title="Copies of one broadcast in a hypercube", x_name="members", y_name="copies",
            series=[
                Series(name="measured", points=list(found.items())),
                Series(name="n log n", points=[(n, n * logs[n]) for n in sizes], is_paper=True),
            ],
        ),
    )  # fmt: skip


def _control(_effort: Effort) -> Measured:
    overlay = _SOURCE_BYTES + _NUMBER_BYTES
    rows = [(n, 0, overlay, 4 * n, 4 * n) for n in (128, 256, 512)]
    return Measured(
        value=f"{overlay} bytes on every copy, source and number, whatever n is; n counts per node",
        numbers={"bytes": overlay},
        table=table(
            ("members", "paper: Overlay", "here: Overlay", "paper: Timestamp",
             "state of an Overlay node"), rows,
        ),
    )  # fmt: skip


def _incomplete(effort: Effort) -> Measured:
    sizes = [100, 200, 300, 400, 500, 600][:: effort.pick(2, 1)]
    kind = TOPOLOGIES["incomplete-hypercube"]
    rows, worst = [], 0.0
    for n in sizes:
        degrees = [len(near) for near in kind.overlay(n)]
        log = (n - 1).bit_length()
        worst = max(worst, max(degrees) / log, log / min(degrees))
        rows.append(
            (n, log, min(degrees), sum(degrees) / n, max(degrees), kind.connectivity(n),
             copies_per_broadcast(kind.overlay(n)))
        )  # fmt: skip
    return Measured(
        value=f"{rows[-1][2]} to {rows[-1][4]} neighbours of {sizes[-1]} members, "
        f"{rows[-1][3]:.3g} at the mean; at least {rows[-1][5]} paths that share nobody",
        numbers={"factor": worst},
        table=table(
            ("members", "log2 n, rounded up", "fewest neighbours", "mean", "most",
             "disjoint paths, at least", "copies of a broadcast"), rows,
        ),
    )  # fmt: skip


def _flooded(n: int) -> "Flood":
    from antiphon.models.abstract import flood

    return flood(TOPOLOGIES["incomplete-hypercube"], n, range(0, n, n // 10), seed=1)


def _scale(effort: Effort) -> Measured:
    sizes = (1_000, 10_000, 100_000)[: effort.pick(2, 3)]
    rows: list[tuple[object, ...]] = []
    per_node: dict[int, float] = {}
    wrong = 0
    floods = effort.sweeping.values(_flooded, [(n,) for n in sizes])
    for n, found in zip(sizes, floods, strict=True):
        wrong += found.wrong + found.unequal
        per_node[n] = found.copies / 10 / n
        rows.append(
            (n, found.copies, per_node[n], found.hops_most, found.wrong, found.unequal,
             found.memory_bytes / 1e6, found.seconds)
        )  # fmt: skip
    most = max(per_node)
    return Measured(
        value=f"{per_node[most]:.3g} copies per node and broadcast for {most:,} nodes; {wrong} "
        "deliveries out of order or missing",
        numbers={"wrong": wrong, "share": max(per_node[n] / log2(n) for n in per_node)},
        table=table(
            ("members", "copies of 10 broadcasts", "per node and broadcast", "most hops",
             "out of order", "members that lack something", "MB", "seconds"), rows,
        ),
        figure=FigureData(
            title="Copies per node of one broadcast", x_name="members", y_name="copies",
            series=[
                Series(name="measured", points=list(per_node.items())),
                Series(name="log n", points=[(n, log2(n)) for n in per_node], is_paper=True),
            ],
        ),
    )  # fmt: skip


def claims() -> Iterator[Claim]:
    """Yield them, in the order of the paper."""
    yield from _of_order()
    yield from _of_cost()


def _of_order() -> Iterator[Claim]:
    yield Claim(
        paper="Overlay", section="3.2, Theorem 3.1", name="causal-order",
        words="Constrained flooding, forwarding before delivering, delivers in causal order.",
        paper_value="always", measure=lambda _effort: _searched(Flooding),
        judge=at_most("wrong", 0, "moments in which order is wrong"),
        assumptions=(_MACHINE, "every interleaving of one message and an answer in its upcall"),
    )  # fmt: skip
    yield Claim(
        paper="Overlay", section="3.2, figure 2", name="figure-2",
        words="The code of figure 2, which delivers before it forwards, delivers in causal order.",
        paper_value="always", measure=lambda _effort: _searched(FigureTwo),
        judge=at_most(
            "wrong", 0, "moments in which order is wrong",
            "an answer made in the upcall leaves before what it answers; the proof passes over "
            "the case that a neighbour is the sender of the second message",
        ),
        assumptions=(
            "the same machine with the lines of the figure", "applications answer in the upcall",
        ),
    )  # fmt: skip
    yield Claim(
        paper="Overlay", section="4", name="failures",
        words="With a hypercube the protocol can overcome log n failures.",
        paper_value="log n; section 7 says fewer than log n", measure=_failures,
        judge=at_most(
            "off", 0, "fewer than log n by",
            "the log n neighbours of a member cut it off; section 7 is right",
        ),
        assumptions=("all sets of crashes are tried",),
    )  # fmt: skip


def _of_cost() -> Iterator[Claim]:
    yield Claim(
        paper="Overlay", section="4, Table 1", name="copies",
        words="Each message is sent up to n log n times by Overlay, and n times by Timestamp.",
        paper_value="O(n log n), O(n)", measure=_copies,
        judge=between("share", 0.5, 1, "copies / n log n, at most"),
        assumptions=(_MACHINE, "copies arrive in random order"),
    )  # fmt: skip
    yield Claim(
        paper="Overlay", section="4, Table 1", name="control-information",
        words="Overlay adds no control information to a message.",
        paper_value="none", measure=_control,
        judge=at_most(
            "bytes", 0, "bytes per copy",
            "who forwards must know a message again: source and number; but it does not grow",
        ),
        assumptions=("source and number of 4 bytes each",),
    )  # fmt: skip
    yield Claim(
        paper="Overlay", section="6", name="incomplete-cube",
        words="In an incomplete hypercube, too, neighbours and disjoint paths are roughly log n.",
        paper_value="roughly log n for any n", measure=_incomplete,
        judge=at_most("factor", 2, "most neighbours to log n, or log n to fewest"),
        assumptions=(
            "the paper's construction (its references 19 and 30) is not printed",
            "here who is missing is played by its twin, the member without the highest bit",
            "disjoint paths by proof; counted for up to 19 members in the tests",
        ),
    )  # fmt: skip
    yield Claim(
        paper="Overlay", section="1", name="scale",
        words="Few neighbours make the approach highly scalable: cost per node grows as log n.",
        paper_value="O(log n) per node", measure=_scale,
        judge=all_of(
            at_most("wrong", 0, "deliveries out of order or missing"),
            at_most("share", 1.2, "copies per node to log n"),
        ),
        assumptions=(
            "the abstract model: FIFO links of random delay, every copy one by one",
            "10 senders at once; every delivery is judged for causal order",
        ),
    )  # fmt: skip

"""Claims of Overlay about its figures 12 to 14: how many messages wait to be delivered."""

from collections.abc import Iterator
from statistics import fmean

from antiphon.reproduction.claim import Claim, Effort, Measured
from antiphon.reproduction.judges import all_of, at_least, at_most, table
from antiphon.reproduction.overlay.runs import (
    ASSUMED,
    DATA,
    SIZES,
    averaged,
    network_run,
    run,
)
from antiphon.trace.claims import FigureData, Series

_MESSAGES = 400
"""Of each sender: who has sent its last before it hears of others makes nobody wait."""

_SEVERAL = (
    "queues depend on how long senders send: here each sends 400 messages; with 100, fewer wait in "
    "large networks, where senders hear less of others before their last"
)
_MEAN_OF = "Timestamp is the mean over five networks for each number of nodes (quick: two)"


def _held(measure: str, data: int, effort: Effort) -> dict[int, float]:
    """Return a measure of Timestamp's delivery queues by number of nodes."""
    sizes = SIZES[:: effort.pick(5, 1)]
    seeds = range(1, 1 + effort.pick(2, 5))
    points = [("timestamp", network_run(n, seed, _MESSAGES, data)) for n in sizes for seed in seeds]
    found = [float(getattr(each, measure)) for each in effort.sweeping.values(run, points)]
    return {
        size: fmean(found[number * len(seeds) : (number + 1) * len(seeds)])
        for number, size in enumerate(sizes)
    }


class _Queues:
    """Measures delivery queues at one size of data."""

    def __init__(self, data: int) -> None:
        self._data = data

    def __call__(self, effort: Effort) -> Measured:
        """Run what is not run yet."""
        mean, most = (_held(name, self._data, effort) for name in ("held_mean", "held_max"))
        overlay = max(averaged("held_max", "overlay", self._data, effort).values())
        first, last = min(most), max(most)
        return Measured(
            value=f"Overlay {overlay:.3g}; Timestamp, {first} to {last} nodes: longest "
            f"{most[first]:,.0f} to {most[last]:,.0f}, mean {mean[first]:.2g} to {mean[last]:.2g}",
            numbers={
                "overlay": overlay,
                "growth": most[last] / most[first] if most[first] else 0,
            },
            table=table(
                ("nodes", "Timestamp, mean", "Timestamp, longest", "Overlay"),
                [(n, mean[n], most[n], overlay) for n in most],
            ),
            figure=FigureData(
                title=f"Delivery queue of a node, data of {self._data:,} bytes", x_name="nodes",
                y_name="messages",
                series=[
                    Series(name="Overlay", points=[(n, overlay) for n in most]),
                    Series(name="Timestamp, max", points=list(most.items())),
                    Series(name="Timestamp, mean", points=list(mean.items())),
                ],
            ),
        )  # fmt: skip


def _by_data(effort: Effort) -> Measured:
    """Compare the longest queues at the three sizes of data."""
    found = {data: _held("held_max", data, effort) for data in DATA}
    size = max(found[0])
    values = [each[size] for each in found.values()]
    return Measured(
        value=f"{size} nodes: "
        + ", ".join(f"{each[size]:,.0f} with {data:,} bytes" for data, each in found.items()),
        numbers={"least": min(values), "factor": max(values) / max(1e-9, min(values))},
        table=table(
            ("nodes", *(f"longest, {data:,} bytes" for data in found)),
            [(n, *(each[n] for each in found.values())) for n in found[0]],
        ),
        figure=FigureData(
            title="Longest delivery queue of Timestamp", x_name="nodes", y_name="messages",
            series=[
                Series(name=f"{data:,} bytes", points=list(each.items()))
                for data, each in found.items()
            ],
        ),
    )  # fmt: skip


def claims() -> Iterator[Claim]:
    """Yield them, in the order of the paper."""
    for number, data in zip((12, 13, 14), DATA, strict=True):
        yield Claim(
            paper="Overlay", section=f"5.2, figure {number}", name=f"figure-{number}",
            words=f"With {data:,} bytes Overlay holds nothing; Timestamp's queues grow with nodes.",
            paper_value="0, and growing", measure=_Queues(data),
            judge=all_of(
                at_most("overlay", 0, "messages that Overlay holds"),
                at_least("growth", 1.2, "longest queue of Timestamp, most to fewest nodes"),
            ),
            assumptions=(
                *ASSUMED, _SEVERAL, _MEAN_OF,
                "judged by the longest queue; the mean, over all the time of a run, falls",
                "most of that time is after the last broadcast",
            ),
        )  # fmt: skip
    yield Claim(
        paper="Overlay", section="5.2, figures 12 to 14", name="queue-and-data",
        words="The size of data has little effect on the delivery queues.",
        paper_value="little", measure=_by_data,
        judge=all_of(
            at_least("least", 1, "messages held, least of the three"),
            at_most(
                "factor", 1.5, "longest to shortest of the three, most nodes",
                "with more data less of others' arrives before a sender has sent its last",
            ),
        ),
        assumptions=(*ASSUMED, _SEVERAL, _MEAN_OF),
    )  # fmt: skip

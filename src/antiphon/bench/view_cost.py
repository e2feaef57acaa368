"""What a view change costs in messages, counted in simulation.

Law: an otherwise idle group of n members loses one, or takes one in; every control message but
the heartbeats is counted until all have installed the new view. The papers: the all-to-all flush
takes about n^2 messages, the linear one about 2n (ISIS 5.5), adding a member about 3n (ISIS 7.4).
"""

from collections import Counter
from typing import NamedTuple

from antiphon.sim.scenario import Scenario, Step
from antiphon.sim.world import World

AGREEMENT = ("Ask", "JoinRequest", "Prepare", "Promise", "Propose", "Accept", "Decide", "Want")
FLUSH = ("Flush", "Report", "Install", "Copied")

_CHANGE_US = 200_000
_END_US = 1_000_000


class ViewCost(NamedTuple):
    """Messages of one view change."""

    flush: str
    change: str
    """``crash``: the most junior member dies. ``join``: one process joins."""
    size: int
    """Members before the change."""
    agreement: int
    """Messages until the view is agreed on."""
    flushing: int
    """Messages until it is installed everywhere."""


def measure_view_cost(flush: str, change: str, size: int) -> ViewCost:
    """Count the messages of one change in an idle group of ``size``."""
    step = (
        Step(_CHANGE_US, "crash", (f"p{size}",), 1)
        if change == "crash"
        else Step(_CHANGE_US, "join", ("q1",))
    )
    world = World(Scenario(seed=1, founders=size, flush=flush, answers=0.0, steps=(step,)))
    world.run_until(_CHANGE_US - 1)
    before = Counter(world.channels.sent_by_kind)
    world.run_until(_END_US)
    sent = world.channels.sent_by_kind - before
    number = max(driver.view.number for driver in world.drivers.values() if driver.view is not None)
    assert number == 2, "one change makes one view"
    return ViewCost(
        flush, change, size,
        sum(sent[kind] for kind in AGREEMENT), sum(sent[kind] for kind in FLUSH),
    )  # fmt: skip

"""What total order costs in messages, counted in simulation (ISIS 5.2).

Law: an ABCAST is one multicast by its sender, and one sets-order list serves k of them: 1 + 1/k
multicasts each; 1 where the sender holds the token, for then its turn rides along. Counted from
the rows of a simulated run, so nothing is left out: every run and every list is a row.
"""

from typing import NamedTuple

from antiphon.sim.scenario import Scenario, Step
from antiphon.sim.world import World
from antiphon.trace.schema import SETS_ORDER

_MEMBERS = 4
_GAP_US = 20_000
"""Between bursts: long enough for one to be ordered before the next."""


class OrderCost(NamedTuple):
    """Multicasts counted."""

    burst: int
    """How many members multicast at the same time."""
    messages: int
    lists: int

    @property
    def per_message(self) -> float:
        """Multicasts per message: itself, and its share of the lists."""
        return 1 + self.lists / self.messages


def measure_order_cost(token: str, burst: int, rounds: int = 200) -> OrderCost:
    """Let ``burst`` members that do not hold the token at first multicast, again and again."""
    senders = [f"p{number}" for number in range(_MEMBERS - burst + 1, _MEMBERS + 1)]
    steps = tuple(
        Step((1 + number) * _GAP_US, "total", (sender,), 1)
        for number in range(rounds)
        for sender in senders
    )
    scenario = Scenario(
        seed=1, founders=_MEMBERS, messages=rounds * burst, answers=0.0, delay_us=0, token=token,
        steps=steps,
    )  # fmt: skip
    events = World(scenario).run().events
    sent = [event for event in events if event.kind == "multicast"]
    lists = sum(event.detail == SETS_ORDER for event in sent)
    return OrderCost(burst, len(sent) - lists, lists)

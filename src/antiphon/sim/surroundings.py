"""What all processes of a simulated world share: time, channels, how their applications behave."""

from collections.abc import Callable
from typing import Any, NamedTuple

from antiphon.core.ids import ProcessId
from antiphon.core.runs import Order
from antiphon.core.views import View
from antiphon.membership.effects import LeaveGroup
from antiphon.sim.calling import CallBook
from antiphon.sim.channels import Channels
from antiphon.sim.datagrams import LossyChannels
from antiphon.sim.deliveries import DeliveryBook
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.transactions import VOTE_US_MAX
from antiphon.stack.send_queue import How

WAYS: dict[str, tuple[tuple[How, int], ...]] = {
    "causal": ((How(Order.CAUSAL), 1),),
    "ordered": ((How(Order.FIFO), 2), (How(Order.CAUSAL), 6), (How(Order.TOTAL), 8)),
    "mixed": (
        (How(Order.FIFO), 2),
        (How(Order.CAUSAL), 8),
        (How(Order.TOTAL), 9),
        (How(Order.FIFO, uniform=True), 1),
        (How(Order.CAUSAL, uniform=True), 5),
        (How(Order.TOTAL, uniform=True), 6),
    ),
    "perishable": (
        (How(Order.FIFO), 1),
        (How(Order.CAUSAL), 6),
        (How(Order.CAUSAL, priority=5), 1),
        (How(Order.CAUSAL, lifetime_us=20_000), 1),
        (How(Order.CAUSAL, priority=3, lifetime_us=2_000), 1),
    ),
}
"""How messages are multicast in a world, and how often: by the name of the mixture."""


VIEW = "view"
"""The kind of mark that says that a view is installed."""


class Mark(NamedTuple):
    """Something that happened in a world, somewhere."""

    time_us: int
    kind: str
    view: int


class Surroundings:
    """What all processes of a world share."""

    def __init__(
        self, scheduler: Scheduler, channels: Channels, messages: int, datagrams: LossyChannels
    ) -> None:
        """Allow so many messages to be multicast in all."""
        self.scheduler = scheduler
        self.channels = channels
        self.datagrams = datagrams
        self.messages_left = messages
        self.answers = 0.0
        self.ways = WAYS["causal"]
        self.has_letters = False
        self.has_transactions = False
        self.has_calls = False
        self.is_tight = False
        self.calls = CallBook()
        self.deliveries = DeliveryBook()
        self.has_state = True
        self.is_awkward = False
        self.heartbeat_us = 0
        self.vote_us = VOTE_US_MAX
        self.views: dict[int, View] = {}
        """The views installed, by number."""
        self.on_end: Callable[[Any, LeaveGroup], None] = lambda _driver, _effect: None
        """Called with the driver of a process that is out, and why."""
        self.on_give_up: Callable[[Any, ProcessId, str], None] = lambda _driver, _who, _why: None
        """Called with the driver of a process that gives another one up, and why."""
        self.on_restore: Callable[[Any, ProcessId], None] = lambda _driver, _process: None
        """Called with the driver of a process that takes one back that it had given up."""
        self.on_probe: Callable[[Any, ProcessId], None] = lambda _driver, _process: None
        """Called with the driver of a process that probes another."""
        self.complain: Callable[[str], None] = lambda _what: None
        """Called with what no process should do."""
        self.marks: list[Mark] = []
        """What happened when, for whoever counts it (``coverage``)."""

    def mark(self, kind: str, view: int = 0) -> None:
        """Note that something happens, or that a view is installed somewhere."""
        self.marks.append(Mark(self.scheduler.now_us, kind, view))

"""Processes that order by causal blocks, on channels that lose, reorder and repeat.

Law: a world is a function of its seed and of what is done to it. What travels are bytes, encoded
and decoded as on a network. Everything that happens is a trace, in the schema of all traces: an
expired message is a delivery whose detail says so. Messages are numbered in the order in which
their senders multicast them, whatever the machines say.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.ordering.blocks.codec import decode_block, encode_block, header_bytes
from antiphon.ordering.blocks.machine import NEVER, CausalBlocks
from antiphon.ordering.blocks.messages import (
    BlockEffect,
    BlockKind,
    BlockMessage,
    DeliverBlock,
    TransmitBlock,
)
from antiphon.ordering.blocks.settings import BlockSettings
from antiphon.sim.lossy.network import Datagram, LossOptions, LossyNetwork
from antiphon.sim.scheduler import Scheduler
from antiphon.trace.rows import Rows
from antiphon.trace.schema import Event

EXPIRED = "expired"
"""``detail`` of a ``deliver`` row: the message was skipped, in its place."""

_NOBODY_SENT = 1_000_000
"""Numbers from here on are of messages that nobody multicast."""

Name = tuple[int, int]
"""Sender and block of a message."""


@dataclass(slots=True)
class Posted:
    """A message as its sender multicast it."""

    number: int
    payload: bytes
    time_us: int
    lifetime_us: int | None
    priority: int


class LossyNode:
    """One process."""

    def __init__(self, rank: int, machine: CausalBlocks, rows: Rows) -> None:
        """Be up."""
        self.rank, self.machine, self.rows = rank, machine, rows
        self.is_up = True
        self.wake_us = -1
        """When it is woken next; -1: never."""
        self.delivered: list[BlockMessage] = []
        self.received_us: dict[Name, int] = {}
        """When messages first came."""


class LossyWorld:
    """Some processes in one group, in one view."""

    def __init__(
        self,
        seed: str,
        size: int,
        settings: BlockSettings,
        options: LossOptions,
        *,
        is_traced: bool = True,
    ) -> None:
        """Found a group."""
        self.settings, self.options = settings, options
        self.random = Random(f"{seed}/world")
        self.scheduler = Scheduler()
        self.events: list[Event] = []
        self._is_traced = is_traced
        members = tuple(ProcessId(f"p{rank + 1}") for rank in range(size))
        self.view = View(GroupName("blocks"), ViewNumber(1), members)
        dice = Random(f"{seed}/delays")
        self.nodes = []
        for rank, member in enumerate(members):
            # Not all have been silent for the same time.
            since_us = -self.random.randrange(settings.null_us)
            machine = CausalBlocks(size, rank, settings, lambda top: dice.randint(0, top), since_us)
            rows = Rows(str(member), "blocks", self.events.append)
            self.nodes.append(LossyNode(rank, machine, rows))
        arrivals = [self._arrival(node) for node in self.nodes]
        self.network = LossyNetwork(self.scheduler, options, seed, arrivals)
        self.posted: dict[Name, Posted] = {}
        self.missed_us: dict[tuple[int, Name], int] = {}
        """By process and message whose first copy was lost on the way there: when."""
        self.on_deliver: Callable[[LossyNode, BlockMessage], None] = lambda _node, _message: None
        self._counts = [0] * size
        for node in self.nodes:
            node.rows.start(0)
            node.rows.view(0, self.view)
            self._arm(node)

    @property
    def now_us(self) -> int:
        """The time."""
        return self.scheduler.now_us

    @property
    def living(self) -> list[LossyNode]:
        """Who is up."""
        return [node for node in self.nodes if node.is_up]

    def run(self, duration_us: int) -> None:
        """Let time pass."""
        self.scheduler.run_until(self.now_us + duration_us)

    # What is done.

    def multicast(
        self, rank: int, payload: bytes, *, priority: int = 0, lifetime_us: int | None = None
    ) -> bool:
        """Multicast a message, if the process is up and has room; tell whether it does."""
        node = self.nodes[rank]
        if not node.is_up or not node.machine.has_room:
            return False
        effects = node.machine.multicast(
            payload, self.now_us, priority=priority, lifetime_us=lifetime_us
        )
        message = next(each.message for each in effects if isinstance(each, TransmitBlock))
        self._counts[rank] += 1
        self.posted[rank, message.block] = Posted(
            self._counts[rank], payload, self.now_us, lifetime_us, priority
        )
        if self._is_traced:
            node.rows.run(self.now_us, "multicast", self._as_run(message), 0)
        self._do(node, effects)
        return True

    def crash(self, rank: int, suspicion_us: int) -> None:
        """Stop a process for ever; the others suspect it, each in its time."""
        node = self.nodes[rank]
        if node.is_up:
            node.is_up = False
            node.rows.crash(self.now_us)
            self.suspect(rank, suspicion_us)

    def suspect(self, rank: int, within_us: int) -> None:
        """Let all others suspect a process, each in its time."""
        for node in self.nodes:
            if node.rank != rank:
                at_us = self.now_us + self.random.randint(0, within_us)
                self.scheduler.at(at_us, self._suspect, (node, rank))

    def lag(self, rank: int, reads: int, *, is_behind: bool) -> None:
        """Let a process have no room for more, or have it again."""
        node = self.nodes[rank]
        if node.is_up:
            node.machine.lag(self.now_us, reads, is_behind=is_behind)
            self._arm(node)

    # What happens.

    def _suspect(self, who: tuple[LossyNode, int]) -> None:
        node, rank = who
        if node.is_up and node.machine.matrix.live[rank]:
            node.rows.suspect(self.now_us, str(self.view.members[rank]), "it is said to be dead")
            node.machine.suspect(rank, self.now_us)
            self._arm(node)

    def _arrival(self, node: LossyNode) -> Callable[[Datagram], None]:
        def arrive(datagram: Datagram) -> None:
            if node.is_up:
                self._receive(node, *datagram)

        return arrive

    def _receive(self, node: LossyNode, source: int, data: bytes) -> None:
        message = decode_block(data, len(self.nodes))
        if not message.is_null:
            node.received_us.setdefault((message.sender, message.block), self.now_us)
        self._do(node, node.machine.receive(message, source, self.now_us))

    def _wake(self, node: LossyNode) -> None:
        if node.is_up and self.now_us >= node.wake_us:
            node.wake_us = -1
            if self.now_us >= node.machine.due_us:
                self._do(node, node.machine.wake(self.now_us))
            else:
                self._arm(node)

    def _do(self, node: LossyNode, effects: list[BlockEffect]) -> None:
        for effect in effects:
            if isinstance(effect, TransmitBlock):
                self._transmit(node, effect)
            else:
                self._deliver(node, effect)
        self._arm(node)

    def _transmit(self, node: LossyNode, effect: TransmitBlock) -> None:
        message = effect.message
        missed = self.network.multicast(node.rank, encode_block(message))
        if not effect.is_repeated and message.kind is BlockKind.DATA:
            for target in missed:
                self.missed_us[target, (message.sender, message.block)] = self.now_us

    def _deliver(self, node: LossyNode, effect: DeliverBlock) -> None:
        message = effect.message
        node.delivered.append(message)
        if self._is_traced:
            depth = node.machine.buffer.waiting
            node.rows.run(self.now_us, "deliver", self._as_run(message), depth)
            if message.is_void:
                self.events[-1].detail = EXPIRED
        self.on_deliver(node, message)

    def _arm(self, node: LossyNode) -> None:
        due_us = max(node.machine.due_us, self.now_us)
        if node.is_up and due_us < NEVER and (node.wake_us < 0 or due_us < node.wake_us):
            node.wake_us = due_us
            self.scheduler.at(due_us, self._wake, node)

    def _as_run(self, message: BlockMessage) -> Run:
        """Return a message as traces tell it."""
        posted = self.posted.get((message.sender, message.block))
        number = posted.number if posted else _NOBODY_SENT + message.block
        return Run(
            GroupNumber(0), self.view.number, Rank(message.sender), number, Order.CAUSAL, (),
            [bytes(message.payload)],
        )  # fmt: skip

    @property
    def header_bytes(self) -> int:
        """How long the header of a datagram is."""
        return header_bytes(len(self.nodes))

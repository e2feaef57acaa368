"""Planted bugs of causal blocks under views: where datagrams, counts and flush meet.

Law: each is planted into the machines that ship, and hunted in worlds with crashes, joins, leaves,
partitions and lost datagrams (``sim.other_protocols``), by judges that know neither blocks nor
views.
With each is noted in how many worlds from seed 0 on it is found; one is met by no random world in a
thousand, and has a scenario.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from antiphon.core.ids import ProcessId, Rank
from antiphon.core.runs import ExpiredRun, Run
from antiphon.core.varint import append_varint, read_varint
from antiphon.core.views import View
from antiphon.membership.effects import Outbox
from antiphon.membership.relaying_flush import RelayingFlush
from antiphon.ordering.blocks.buffer import BlockBuffer
from antiphon.ordering.blocks.machine import CausalBlocks
from antiphon.ordering.blocks.run_blocks import RunBlocks
from antiphon.stack.arrivals import Arrivals
from antiphon.stack.block_traffic import BlockTraffic
from antiphon.stack.receiver import Receiver

RELAYED_TOO_EARLY = """
seed 1
founders 5
delay_us 100
answers 0
protocol blocks
at 1000 slow p1 p3 60000
at 1000 slow p1 p4 60000
at 1000 slow p2 p4 60000
at 1000 slow p5 p4 60000
at 1500 causal p1 1
at 3000 leave p5
at 5500 causal p3 1
"""
"""p3 is relayed the message of p1 before it knows of the newer view, and multicasts; p4 knows
nothing yet."""


class ViewMutant(NamedTuple):
    """One mistake."""

    name: str
    source: str
    target: type
    method: str
    wrong: Any
    seeds: int
    """How many worlds it takes, from seed 0 on; 0: it has a scenario."""
    scenario: str = ""


VIEW_MUTANTS: list[ViewMutant] = []


def plant(
    target: type, method: str, source: str, seeds: int, scenario: str = ""
) -> Callable[[Any], Any]:
    """Register a wrong method under the name of the function that is it."""

    def register(wrong: Any) -> Any:
        name = wrong.__name__.replace("_", " ")
        VIEW_MUTANTS.append(ViewMutant(name, source, target, method, wrong, seeds, scenario))
        return wrong

    return register


_RECEIVED, _ENTER, _TAKE, _RUN_OF = (
    Receiver.received,
    RunBlocks.enter,
    RunBlocks.take,
    RunBlocks._run_of,
)
_UNSTABLE = Arrivals.unstable


@plant(Receiver, "received", "E, counts", 11)
def counts_include_what_is_held_undelivered(self: Receiver) -> list[int]:
    """What the blocks hold, and can perhaps never deliver, is reported as received."""
    counts = _RECEIVED(self)
    way = self._dissemination
    machine = way.group.machine if isinstance(way, BlockTraffic) else None
    for held in machine.buffer.all() if machine is not None else ():
        if not held.is_delivered:
            counts[held.message.sender] += 1
    return counts


@plant(RunBlocks, "enter", "004-8, views", 193)
def matrix_of_the_old_view_is_kept(
    self: RunBlocks, view: View, rank: Rank, now_us: int
) -> list[tuple[ProcessId, bytes]]:
    """A view of as many members goes on with what was known of the members of the one before."""
    before = self.machine
    early = _ENTER(self, view, rank, now_us)
    machine = self.machine
    assert machine is not None
    if before is not None and before.matrix.size == machine.matrix.size and before.me == machine.me:
        machine.matrix = before.matrix
        machine.recovery._matrix = before.matrix
    return early


@plant(RelayingFlush, "_relay", "D3, datagrams", 1)
def relay_misses_what_live_senders_sent(self: RelayingFlush) -> None:
    """As where channels are reliable: only messages of failed senders are relayed."""
    super(RelayingFlush, self)._relay()


@plant(Arrivals, "unstable", "process.md 3", 3)
def relay_is_ordered_by_sender(self: Arrivals) -> list[Run]:
    """Runs without stamps are relayed sender by sender, ahead of their past."""
    return sorted(_UNSTABLE(self), key=lambda run: (run.sender, run.first))


@plant(BlockTraffic, "take", "D3, late relays", 63)
def late_relay_is_not_passed_on(self: BlockTraffic, peer: ProcessId, run: Run) -> Run | None:
    """What is taken while the view is being left goes no further."""
    self._out, out = Outbox(self._out.me), self._out
    try:
        return _TAKE_RELAY(self, peer, run)
    finally:
        self._out = out


@plant(RunBlocks, "stop", "003-8, datagrams", 1)
def datagrams_are_taken_while_the_view_is_left(self: RunBlocks) -> None:
    """The blocks go on after the counts were reported."""


@plant(RunBlocks, "take", "000-17 c", 1)
def datagram_of_an_old_view_is_taken(
    self: RunBlocks, source: ProcessId, data: bytes, now_us: int
) -> list[Run]:
    """A datagram that was on its way while the view changed counts as one of this view."""
    number, offset = read_varint(data, 0)
    if number < self._view:
        head = bytearray()
        append_varint(head, self._view)
        data = bytes(head) + data[offset:]
    return _TAKE(self, source, data, now_us)


@plant(RunBlocks, "_put", "004-9, the application", 6)
def tombstone_is_not_delivered(
    self: RunBlocks, effects: Any, message: Any = None, run: Run | None = None
) -> list[Run]:
    """What has expired is left out, and not counted."""
    return [one for one in _PUT(self, effects, message, run) if type(one) is not ExpiredRun]


@plant(BlockTraffic, "take", "process.md 3, relays", 0, RELAYED_TOO_EARLY)
def relay_is_delivered_before_the_view_is_known(
    self: BlockTraffic, peer: ProcessId, run: Run
) -> Run | None:
    """A relay passes by the blocks, which have not delivered its past."""
    fresh = _TAKE_RELAY(self, peer, run)
    if self._relays:
        self._relays.clear()
        if run.first == self._delivered[run.sender] + 1:
            self._delivered[run.sender] = run.last
            return run
    return fresh


@plant(CausalBlocks, "_take_copy", "004-6, views", 1)
def late_copy_is_delivered_again(self: CausalBlocks, message: Any, now_us: int) -> bool:
    """A copy of what was delivered, and forgotten, is new."""
    return message.is_null or self.buffer.get(message.sender, message.block) is not None


@plant(BlockBuffer, "collect", "004-5, views", 26)
def copies_are_forgotten_when_half_have_them(self: BlockBuffer, least: list[int]) -> None:
    """A sender's own word of its last block is enough to forget what it sent."""
    del least
    for sender in range(len(self._kept)):
        for block in self._kept[sender][:-1]:
            self._forget(sender, block)
        del self._kept[sender][:-1]


@plant(RunBlocks, "take_settled", "E, copies", 1)
def copies_are_dropped_when_one_other_has_them(self: RunBlocks) -> list[tuple[int, int]]:
    """What the flush would relay is dropped as soon as anybody else has reported it."""
    machine = self.machine
    if machine is None:
        return []
    matrix, settled = machine.matrix, []
    for sender, places in enumerate(self._places):
        most = max((matrix.reported[who][sender] for who in matrix.others[sender]), default=0)
        last = 0
        while places and places[0][0] <= most:
            last = places.popleft()[1]
        if last:
            settled.append((sender, last))
    return settled


_PUT, _TAKE_RELAY = RunBlocks._put, BlockTraffic.take

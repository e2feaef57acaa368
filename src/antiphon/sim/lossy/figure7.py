"""The experiment of Blocks VI, figure 7: six messages dropped at one of three, and recovered.

Three processes, a null period of 500 ms. One sends a message a period, the others null messages;
the sender's messages of blocks 10 to 15 are dropped at one receiver, the first time. What comes
there later is told with the receiver's block counter, as in the figure: by rule R1.1 that counts
its own null messages while it delivers nothing, so a column is a period. The paper tells neither
how often the sender sends nor the random delay.
"""

from typing import NamedTuple

from antiphon.ordering.blocks.codec import decode_block
from antiphon.ordering.blocks.settings import BlockSettings
from antiphon.sim.lossy.network import LossOptions
from antiphon.sim.lossy.world import LossyNode, LossyWorld

NULL_US = 500_000
BLOCKS = range(10, 16)
"""That are dropped, if the sender's first message has block 2, after a null message."""

_PAYLOADS = frozenset(b"%d" % block for block in BLOCKS)
SENDER, RECEIVER = 0, 2

_SEND_US = NULL_US - 1_000
"""So that the sender is never silent."""

AS_PRINTED = BlockSettings(
    null_us=NULL_US, delay_us_max=3 * NULL_US, settle_us=None, at_once=1, counts_receipts=False,
    report_every=1_000,
)  # fmt: skip
"""One gap at a time, any report counts, and the counter follows deliveries."""

AS_HERE = BlockSettings(null_us=NULL_US, delay_us_max=100_000, settle_us=50_000)


class Supply(NamedTuple):
    """A copy of a dropped message, come to the receiver."""

    counter: int
    """The receiver's block counter when it came."""
    block: int
    supplier: str
    time_us: int
    is_first: bool


class LossExperiment(LossyWorld):
    """Three processes, of which one does not hear some messages the first time."""

    def __init__(self, seed: str, settings: BlockSettings) -> None:
        """Begin."""
        super().__init__(seed, 3, settings, LossOptions())
        self.supplies: list[Supply] = []
        self.delivered_blocks: list[int] = []
        """By the receiver."""
        self._is_sending = False
        self.network.drops = self._drops
        self.on_deliver = self._note

    def live(self, message_count: int = 40) -> None:
        """Send a message each period, until all has been recovered."""
        for block in range(2, message_count + 2):
            self.run(_SEND_US)
            self._is_sending = True
            self.multicast(SENDER, b"%d" % block)  # as printed, it has this block
            self._is_sending = False
        self.run(10 * NULL_US)

    def _drops(self, _source: int, target: int, data: bytes) -> bool:
        message = decode_block(data, 3)
        return self._is_sending and target == RECEIVER and message.payload in _PAYLOADS

    def _note(self, node: LossyNode, message: object) -> None:
        del message
        if node.rank == RECEIVER:
            self.delivered_blocks = [each.block for each in node.delivered if each.sender == SENDER]

    def _receive(self, node: LossyNode, source: int, data: bytes) -> None:
        message = decode_block(data, 3)
        if node.rank == RECEIVER and message.payload in _PAYLOADS:
            name = (message.sender, message.block)
            is_first = name not in node.received_us
            matrix = node.machine.matrix
            counter = max(matrix.counter, matrix.highest[RECEIVER])
            self.supplies.append(
                Supply(counter, int(message.payload), f"p{source + 1}", self.now_us, is_first)
            )
        super()._receive(node, source, data)

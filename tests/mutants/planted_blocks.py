"""Planted bugs of causal blocks: the printed rules that are wrong, and rules of ours left out.

Law: each is planted into the machines that ship, and hunted in worlds of datagrams
(``sim.lossy.author``), by a judge that knows no blocks.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from antiphon.ordering.blocks.buffer import BlockBuffer, HeldBlock
from antiphon.ordering.blocks.machine import CausalBlocks
from antiphon.ordering.blocks.matrix import BlockMatrix
from antiphon.ordering.blocks.messages import (
    BlockEffect,
    BlockMessage,
    DeliverBlock,
    TransmitBlock,
)
from antiphon.ordering.blocks.recovery import BlockRecovery, Name
from antiphon.ordering.blocks.window import BlockWindow

NEVER_US = 2**60


class BlockMutant(NamedTuple):
    """One mistake."""

    name: str
    source: str
    target: type
    method: str
    wrong: Any
    seeds: int
    """Within how many worlds it is found, at most."""


MUTANTS: list[BlockMutant] = []


def plant(
    target: type, method: str, source: str, *, seeds: int = 60, is_property: bool = False
) -> Callable[[Any], Any]:
    """Register a wrong method, or property, under the name of the function that is it."""

    def register(wrong: Any) -> Any:
        planted = property(wrong) if is_property else wrong
        name = wrong.__name__.replace("_", " ")
        MUTANTS.append(BlockMutant(name, source, target, method, planted, seeds))
        return wrong

    return register


_LACKING, _WAKE, _SUSPECT = BlockRecovery._lacking, CausalBlocks.wake, CausalBlocks.suspect
_SPEAK, _HEAR = CausalBlocks._speak, BlockWindow.hear
_DELIVER_ALL, _EXPIRE, _RECEIVE = (
    CausalBlocks._deliver_all,
    CausalBlocks._expire,
    CausalBlocks.receive,
)


@plant(BlockRecovery, "_lacking", "004-1")
def sender_sends_nothing_again(self: BlockRecovery, members: list[int]) -> list[Name]:
    """Only others than the sender retransmit: what all have lost is lost."""
    return [name for name in _LACKING(self, members) if name[1] != self._matrix.me]


@plant(BlockMatrix, "lack", "004-2")
def delivery_condition_is_inverted(self: BlockMatrix, message: BlockMessage) -> int | None:
    """A message is delivered if its vector is at least the receiver's own."""
    return next(
        (
            member
            for member, block in enumerate(self.last)
            if message.delivered[member] < block and member != message.sender
        ),
        None,
    )


@plant(BlockMatrix, "lack", "004-2, kin")
def only_the_sender_is_waited_for(self: BlockMatrix, message: BlockMessage) -> int | None:
    """A message waits for its sender's earlier ones alone."""
    return None


@plant(BlockMatrix, "maximum", "004-3")
def own_maximum_is_never_set(self: BlockMatrix) -> int:
    """The least maximum stays 0."""
    return 0


@plant(CausalBlocks, "wake", "004-4")
def nulls_do_not_count(self: CausalBlocks, now_us: int) -> list[BlockEffect]:
    """A null message takes no block number of its own."""
    effects = _WAKE(self, now_us)
    self.matrix.counter -= sum(_is_null(effect) for effect in effects)
    return effects


@plant(CausalBlocks, "wake", "004-4")
def nobody_speaks_in_silence(self: CausalBlocks, now_us: int) -> list[BlockEffect]:
    """There are no null messages."""
    return [effect for effect in _WAKE(self, now_us) if not _is_null(effect)]


@plant(CausalBlocks, "wake", "004-4")
def nulls_are_in_the_vector(self: CausalBlocks, now_us: int) -> list[BlockEffect]:
    """What follows a null message waits for it, and it is never repeated."""
    effects = _WAKE(self, now_us)
    if any(map(_is_null, effects)):
        self.matrix.last[self.me] = self.matrix.counter
    return effects


def _is_null(effect: BlockEffect) -> bool:
    return isinstance(effect, TransmitBlock) and effect.message.is_null


@plant(CausalBlocks, "_look", "004-5")
def maximum_is_taken_for_complete(self: CausalBlocks, reporter: int | None, now_us: int) -> None:
    """What is below the least maximum block is forgotten."""
    self.buffer.collect([self.matrix.limit - 1] * self.matrix.size)
    self.recovery.look(reporter, now_us)


@plant(BlockMatrix, "_least", "004-5, kin")
def one_that_has_it_is_enough(self: BlockMatrix, column: int) -> int:
    """A message is forgotten when one other member has delivered it."""
    return max((self.reported[member][column] for member in self.others[column]), default=2**33)


@plant(CausalBlocks, "_take_copy", "004-6")
def late_copies_are_taken(self: CausalBlocks, message: BlockMessage, now_us: int) -> bool:
    """A copy of what was delivered and forgotten is taken for new."""
    held = self.buffer.get(message.sender, message.block)
    return message.is_null or held is not None


@plant(CausalBlocks, "_as_of", "004-7")
def copies_are_stamped_anew(self: CausalBlocks, held: HeldBlock, now_us: int) -> BlockMessage:
    """A copy names what its supplier has delivered."""
    block, maximum, delivered = self.matrix.stamp()
    return replace(held.message, block=block, maximum=maximum, delivered=delivered)


@plant(CausalBlocks, "suspect", "004-8")
def the_dead_are_waited_for(self: CausalBlocks, member: int, now_us: int) -> None:
    """A crash freezes the least maximum block."""


@plant(CausalBlocks, "suspect", "004-8")
def column_of_the_dead_is_dropped(self: CausalBlocks, member: int, now_us: int) -> None:
    """Nothing that a suspect sent is sent again."""
    _SUSPECT(self, member, now_us)
    self.buffer.collect([2**33 if each == member else 0 for each in range(self.matrix.size)])
    self.recovery.look(None, now_us)


@plant(CausalBlocks, "receive", "004-8, kin")
def relayed_words_of_the_dead_are_ignored(
    self: CausalBlocks, message: BlockMessage, source: int, now_us: int
) -> list[BlockEffect]:
    """Nothing that a suspect sent is taken, whoever brings it."""
    return _RECEIVE(self, message, source, now_us) if self.matrix.live[message.sender] else []


@plant(CausalBlocks, "_expire", "004-9")
def expired_messages_leave_no_tombstone(self: CausalBlocks, held: HeldBlock, now_us: int) -> None:
    """What has expired is forgotten where it was delivered."""
    _EXPIRE(self, held, now_us)
    message = held.message
    if message.is_void and held.is_delivered and self.buffer.get(message.sender, message.block):
        self.buffer._kept[message.sender].remove(message.block)
        self.buffer._forget(message.sender, message.block)
        self.recovery.due_us.pop((message.block, message.sender), None)


@plant(CausalBlocks, "_deliver_all", "004-9, kin")
def expired_messages_are_not_told(
    self: CausalBlocks, sender: int, now_us: int
) -> list[BlockEffect]:
    """The application is not told what it does not get."""
    return [
        effect
        for effect in _DELIVER_ALL(self, sender, now_us)
        if not (isinstance(effect, DeliverBlock) and effect.message.is_void)
    ]


@plant(CausalBlocks, "_as_of", "lifetimes", seeds=500)
def lifetime_begins_anew_at_each_supplier(
    self: CausalBlocks, held: HeldBlock, now_us: int
) -> BlockMessage:
    """A copy has all of its lifetime before it."""
    return held.message


@plant(BlockRecovery, "_repeat", "004-10")
def a_copy_is_sent_once(self: BlockRecovery, held: HeldBlock, now_us: int) -> None:
    """No report counts after the first copy, which may be lost in turn."""
    held.copied_us, held.is_repeated = NEVER_US, True


@plant(BlockBuffer, "kept", "orphans of the dead", seeds=300)
def orphans_are_sent_again(self: BlockBuffer, sender: int, beyond: int, count: int) -> list[int]:
    """Whoever holds a message sends it, even if nobody can ever deliver it."""
    return [block for block in sorted(self._held[sender]) if block > beyond][:count]


@plant(CausalBlocks, "has_room", "flow control", is_property=True)
def nobody_waits_for_the_slowest(self: CausalBlocks) -> bool:
    """A sender goes on, however far behind another member is."""
    return True


@plant(CausalBlocks, "_speak", "flow control, room", seeds=300)
def who_is_held_up_does_not_ask(self: CausalBlocks, now_us: int) -> list[BlockEffect]:
    """The word that there is room again is lost, and nobody repeats it."""
    self.window, window = BlockWindow(self.matrix, self.settings), self.window
    try:
        return _SPEAK(self, now_us)
    finally:
        self.window = window


@plant(BlockWindow, "hear", "flow control, room", seeds=300)
def who_was_behind_once_has_no_room_any_more(self: BlockWindow, message: BlockMessage) -> None:
    """A member that was behind is not listened to again."""
    if message.is_behind:
        self._labels[message.sender] = b"behind"
    if not self._labels[message.sender]:
        _HEAR(self, message)


@plant(CausalBlocks, "_deliver_all", "priorities", seeds=300)
def full_buffer_takes_nothing(self: CausalBlocks, sender: int, now_us: int) -> list[BlockEffect]:
    """What there is no room for is dropped before it is seen whether it can be delivered."""
    self._relieve()
    return _DELIVER_ALL(self, sender, now_us)


@plant(BlockBuffer, "is_clear", "rest", is_property=True)
def who_does_not_know_rests(self: BlockBuffer) -> bool:
    """A process is silent though others may lack what it has delivered."""
    return True


@plant(CausalBlocks, "_end_rest", "rest")
def who_rests_does_not_answer(self: CausalBlocks, due_us: int) -> None:
    """A process that rests speaks again only with a message of its own."""

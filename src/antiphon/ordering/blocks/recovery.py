"""Recovery by any holder: what another member lacks is sent again, after a random delay.

Rule (R5.0, figures 3 and 4; 004-1). A member lacks a message that was delivered here, whoever sent
it, if it is not its sender, and has reported less. That is a reason to send it again
- if every live member has reported a maximum block beyond it, and nobody has sent it again yet; or
- if the report came ``settle_us``, about a round trip, after the last copy, the first included.
Of what a member lacks, the smallest blocks are scheduled, each after a delay drawn from 0 up to
``delay_us_max``, so that of several holders mostly one sends. Whoever hears the message meanwhile
draws a new delay; when nobody lacks it any more, it is given up.

Delivered, and not merely held: what a dead process sent may lack a message that died with it.
Such an orphan can be delivered nowhere, and with a smallest block that stays smallest, whoever
holds it would send it again and again, and nothing else any more.

As printed (``settle_us`` None) only the first reason counts, and is looked for whenever the least
maximum block moves: under traffic copies are then sent again that are still on their way; and in a
large group, where somebody's word is always lost, the least maximum is some periods behind.

Lateness. ``settle_us`` reckons with processes that run when they have to. One that is itself woken
late (``note_late``) is on a machine with too much to do, where reports wait, too: it allows for
twice as much as it was late, which halves with every second.

Invariant. What is missing stays a reason to send until its lack is reported no more: a copy that is
lost in turn is sent again after the next report. Reports never end (time-silence).
"""

from collections.abc import Callable

from antiphon.ordering.blocks.buffer import BlockBuffer, HeldBlock
from antiphon.ordering.blocks.matrix import BlockMatrix
from antiphon.ordering.blocks.settings import BlockSettings

LATE_HALF_US = 1_000_000
"""What this process was late counts half after so long."""

Draw = Callable[[int], int]
"""Returns a number from 0 up to its argument, drawn by whoever has dice."""

Name = tuple[int, int]
"""Block and sender of a message: in the order in which messages are recovered."""


class BlockRecovery:
    """What one member is about to send again."""

    __slots__ = (
        "_buffer", "_draw", "_late_us", "_limit", "_matrix", "_noted_us", "_settings", "due_us",
    )  # fmt: skip

    def __init__(
        self, matrix: BlockMatrix, buffer: BlockBuffer, settings: BlockSettings, draw: Draw
    ) -> None:
        """Have nothing to send."""
        self._matrix, self._buffer, self._settings = matrix, buffer, settings
        self._draw = draw
        self._limit = 0
        self._late_us = self._noted_us = 0
        self.due_us: dict[Name, int] = {}
        """When each is due."""

    def note_late(self, late_us: int, now_us: int) -> None:
        """Take note that this process was woken so late."""
        if late_us >= self.lateness(now_us):
            self._late_us, self._noted_us = late_us, now_us

    def lateness(self, now_us: int) -> int:
        """Return how late this process was of late."""
        return self._late_us >> min(30, (now_us - self._noted_us) // LATE_HALF_US)

    def _settled_us(self, now_us: int) -> int:
        """Return how much later than a copy a report has to come to say that it was lost."""
        return (self._settings.settle_us or 0) + 2 * self.lateness(now_us)

    def look(self, reporter: int | None, now_us: int) -> None:
        """Give up what nobody lacks, and schedule what a member lacks that has just reported.

        None: nobody has, but the limit may have moved.
        """
        if self.due_us:
            least = self._matrix.least
            for name in [name for name in self.due_us if name[0] <= least[name[1]]]:
                del self.due_us[name]
        is_moved = self._limit != self._matrix.limit
        self._limit = self._matrix.limit
        if self._settings.settle_us is not None and reporter is not None:
            missing = self._lacking([reporter])
        elif is_moved:
            missing = self._lacking(self._matrix.others[self._matrix.me])
        else:
            return
        for name in missing:
            if name not in self.due_us and self._is_missed(name, now_us):
                self.due_us[name] = now_us + self._draw(self._settings.delay_us_max)

    def _lacking(self, members: list[int]) -> list[Name]:
        """Return what live members lack and is kept here, smallest blocks first."""
        matrix, count = self._matrix, self._settings.at_once
        found: set[Name] = set()
        kept = self._buffer.kept
        for member in members:
            if matrix.live[member]:
                for sender, last in enumerate(matrix.reported[member]):
                    if sender != member and (blocks := kept(sender, last, count)):
                        found.update((block, sender) for block in blocks)
        return sorted(found)[:count] if found else []

    def _is_missed(self, name: Name, now_us: int) -> bool:
        """Whether there is a reason to send a message again."""
        block, sender = name
        held = self._buffer.get(sender, block)
        assert held is not None, "what is forgotten was given up"
        matrix, settle_us = self._matrix, self._settings.settle_us
        is_beyond = block < matrix.limit and not held.is_repeated
        if settle_us is None or is_beyond:
            return is_beyond and matrix.least[sender] < block
        since_us = held.copied_us + self._settled_us(now_us)
        return any(
            matrix.reported[member][sender] < block and matrix.heard_us[member] >= since_us
            for member in matrix.others[sender]
        )

    def hear_again(self, held: HeldBlock, now_us: int) -> None:
        """Somebody has sent a message that is held here: wait, and see whether it arrives."""
        self._repeat(held, now_us)
        name = held.message.block, held.message.sender
        if name in self.due_us:
            self.due_us[name] = (
                now_us + self._settled_us(now_us) + self._draw(self._settings.delay_us_max)
            )

    def take_due(self, now_us: int) -> list[HeldBlock]:
        """Return what is to be sent now."""
        found = []
        for name in sorted(name for name, due_us in self.due_us.items() if due_us <= now_us):
            del self.due_us[name]
            held = self._buffer.get(name[1], name[0])
            if held is not None and self._is_missed(name, now_us):
                self._repeat(held, now_us)
                found.append(held)
        return found

    def _repeat(self, held: HeldBlock, now_us: int) -> None:
        held.copied_us = now_us
        held.is_repeated = self._settings.settle_us is not None

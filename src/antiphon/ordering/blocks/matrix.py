"""What a process knows of blocks: its own counter, and what others have received and delivered.

Rule (Blocks III.A, IV, V; R1.0 to R4.1). Every message, null or not, takes the next block number,
and tells the last block of each sender that its sender has delivered, and its maximum block: the
least, over the senders, of the highest block it has received. Of each member the newest report
counts (reports overtake each other).

Invariant. ``last[k]`` is the block of the last message of k delivered here, so all of k's messages
up to it were. ``least[k]`` is the least of what the OTHER live members, k apart, have reported
of k: whatever k sent up to that block has been delivered by all of them. ``limit`` is the least
maximum block reported: every live member has heard of every live one something beyond whatever is
below it, so what it has not delivered by then it has probably lost. Probably: it is a reason to
send again, and never one to forget (004-5).

Corrections. The own maximum is always the newest (004-3); null messages count (004-4); suspected
processes freeze nothing, while their column stays (004-8).

Receipts. By rule R1.1 the counter follows what is delivered. Here it follows what is received,
nulls included: order rests on the vectors alone, so that is as safe, and whoever lacks a message is
beyond its block with its next word, not only after some more.

Cost. O(n) per message; O(n) more for each column whose least was reported by its sender.
"""

from antiphon.ordering.blocks.messages import BlockMessage

EVERYWHERE = 2**33
"""Beyond any block: nobody else has to deliver it."""


class BlockMatrix:
    """The knowledge of one member of a group."""

    __slots__ = (
        "_all_live", "_maxima", "counter", "counts_receipts", "heard_us", "highest", "last",
        "least", "limit", "live", "me", "others", "reported", "size",
    )  # fmt: skip

    def __init__(self, size: int, me: int, *, counts_receipts: bool = True) -> None:
        """Know nothing yet."""
        self.size, self.me = size, me
        self.counts_receipts = counts_receipts
        self.counter = 0
        self.last = [0] * size
        self.highest = [0] * size
        """By member, the highest block received of it; own: sent."""
        self.reported: list[tuple[int, ...]] = [(0,) * size] * size
        """By member, what it has delivered, as it last said; the own line is not used."""
        self.heard_us = [0] * size
        """By member, when it last said something new."""
        self.live = [True] * size
        self._all_live = True
        self._maxima = [0] * size
        self.others = [self._others(column) for column in range(size)]
        """By column, the live members but this process and the sender of the column."""
        self.least = [self._least(column) for column in range(size)]
        self.limit = 0

    def _others(self, column: int) -> list[int]:
        """Return the live members, but this process and the sender of the column."""
        return [
            member
            for member in range(self.size)
            if self.live[member] and member not in {self.me, column}
        ]

    def _least(self, column: int) -> int:
        reported = self.reported
        reports = [reported[member][column] for member in self.others[column]]
        return min(reports) if reports else EVERYWHERE

    def maximum(self) -> int:
        """Return the own maximum block."""
        if self._all_live:
            return min(self.highest)
        return min(block for block, is_live in zip(self.highest, self.live, strict=True) if is_live)

    def _look(self) -> None:
        """Reckon the limit again."""
        maxima = self._maxima
        maxima[self.me] = self.maximum()
        if self._all_live:
            self.limit = min(maxima)
        else:
            self.limit = min(
                block for block, is_live in zip(maxima, self.live, strict=True) if is_live
            )

    def stamp(self) -> tuple[int, int, tuple[int, ...]]:
        """Return block, maximum and vector of the next own message."""
        self.counter += 1
        self.highest[self.me] = self.counter
        self._look()
        return self.counter, self._maxima[self.me], tuple(self.last)

    def hear(self, message: BlockMessage, now_us: int) -> bool:
        """Take note of what a message says of its sender; tell whether that is news."""
        sender, block = message.sender, message.block
        if self.counts_receipts and block > self.counter:
            self.counter = block
        if block <= self.highest[sender]:
            return False
        self.highest[sender] = block
        before, self.reported[sender] = self.reported[sender], message.delivered
        self._maxima[sender] = message.maximum
        self.heard_us[sender] = now_us
        if before != message.delivered:
            least = self.least
            for column, (old, new) in enumerate(zip(before, message.delivered, strict=True)):
                # Nobody reports of itself: its own column is the others'.
                if column != sender and (new < least[column] or old == least[column] != new):
                    least[column] = self._least(column)
        self._look()
        return True

    def deliver(self, message: BlockMessage) -> None:
        """Take note that a message is delivered here."""
        self.counter = max(self.counter, message.block)
        self.last[message.sender] = message.block

    def lack(self, message: BlockMessage) -> int | None:
        """Return a sender of whom something must be delivered before this message, or None."""
        last = self.last
        for member, wanted in enumerate(message.delivered):
            if wanted > last[member]:
                return member
        return None

    def suspect(self, member: int) -> None:
        """Wait no longer for what a member reports; its own messages are still of use (004-8)."""
        self.live[member] = self._all_live = False
        self.others = [self._others(column) for column in range(self.size)]
        self.least = [self._least(column) for column in range(self.size)]
        self._look()

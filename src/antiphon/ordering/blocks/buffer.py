"""Messages that a process holds: some wait for delivery, the others until all have delivered them.

Rule. A message that was delivered here is held until every live member is known to have delivered
it: stability at the time of delivery (Blocks II), so that ANY holder can send it again. It is
forgotten as soon as that is known, or implied: a sender has at most ``window`` messages that not
all have delivered, so what is more than a window behind the last one delivered is everywhere.

Pressure. More than ``waiting_max`` messages that cannot be delivered yet, and one of the lowest
priority is dropped, of these one of the highest block. It counts as lost, and is recovered like
one. What is delivered, or can be, is never dropped, so the message that others wait for is always
taken.

Invariant. At most ``window`` delivered messages per sender, and ``waiting_max`` others.
"""

from bisect import bisect_right

from antiphon.ordering.blocks.messages import BlockMessage


class HeldBlock:
    """A message, and what is noted of it here."""

    __slots__ = (
        "byte_count", "copied_us", "expires_us", "is_delivered", "is_repeated", "message",
    )  # fmt: skip

    def __init__(self, message: BlockMessage, now_us: int, *, is_delivered: bool) -> None:
        self.message = message
        self.byte_count = len(message.payload)
        """Of its payload as it came, whatever is left of it."""
        self.is_delivered = is_delivered
        self.copied_us = now_us
        """When it, or a copy of it, was last sent or heard here."""
        self.is_repeated = False
        """Whether a copy was sent again, or heard again, here."""
        left_us = message.lifetime_us
        self.expires_us = None if left_us is None else now_us + left_us

    def expire(self, now_us: int) -> bool:
        """Make it a tombstone if its time is over; tell whether it has just become one."""
        if self.expires_us is None or now_us < self.expires_us:
            return False
        self.message = self.message.voided()
        self.expires_us = None
        return True


class BlockBuffer:
    """What one member holds."""

    __slots__ = ("_bytes", "_held", "_kept", "_next", "_waiting_max", "_window", "waiting")

    def __init__(self, size: int, window: int, waiting_max: int) -> None:
        """Hold nothing."""
        self._held: list[dict[int, HeldBlock]] = [{} for _ in range(size)]
        self._bytes = [0] * size
        self._next: list[dict[int, int]] = [{} for _ in range(size)]  # waiting, by the one before
        self._kept: list[list[int]] = [[] for _ in range(size)]  # delivered, in order
        self._window, self._waiting_max = window, waiting_max
        self.waiting = 0
        """How many messages wait for delivery."""

    def get(self, sender: int, block: int) -> HeldBlock | None:
        """Return a message, if it is held."""
        return self._held[sender].get(block)

    @property
    def is_clear(self) -> bool:
        """Whether all that was delivered here is known to have been delivered everywhere."""
        return not any(self._kept)

    def count(self, sender: int) -> int:
        """Return how many messages of a sender are held."""
        return len(self._held[sender])

    def byte_count(self, sender: int) -> int:
        """Return how many bytes these have."""
        return self._bytes[sender]

    def all(self) -> list[HeldBlock]:
        """Return all that is held, by sender and block."""
        return [held[block] for held in self._held for block in sorted(held)]

    def kept(self, sender: int, beyond: int, count: int) -> list[int]:
        """Return the first blocks beyond one that were delivered here, and not everywhere."""
        blocks = self._kept[sender]
        if not blocks or blocks[-1] <= beyond:
            return []
        start = bisect_right(blocks, beyond)
        return blocks[start : start + count]

    def next_of(self, sender: int, last: int) -> HeldBlock | None:
        """Return the message that follows a sender's last one, if it waits here."""
        block = self._next[sender].get(last)
        return None if block is None else self._held[sender][block]

    def put(self, held: HeldBlock) -> None:
        """Hold a message; one that was delivered already, or one that waits."""
        sender, block = held.message.sender, held.message.block
        self._held[sender][block] = held
        self._bytes[sender] += held.byte_count
        if held.is_delivered:
            self._keep(sender, block)
        else:
            self._next[sender][held.message.before] = block
            self.waiting += 1

    def deliver(self, held: HeldBlock) -> None:
        """Take note that a message that waited is delivered."""
        held.is_delivered = True
        message = held.message
        del self._next[message.sender][message.before]
        self.waiting -= 1
        self._keep(message.sender, message.block)

    def _keep(self, sender: int, block: int) -> None:
        kept = self._kept[sender]
        kept.append(block)
        if len(kept) > self._window:
            self._forget(sender, kept.pop(0))

    def relieve(self) -> HeldBlock | None:
        """Drop one waiting message if there are too many; return it."""
        if self.waiting <= self._waiting_max:
            return None
        victim = min(
            (held for held in self.all() if not held.is_delivered),
            key=lambda held: (held.message.priority, -held.message.block, held.message.sender),
        )
        sender, block = victim.message.sender, victim.message.block
        del self._next[sender][victim.message.before]
        self.waiting -= 1
        self._forget(sender, block)
        return victim

    def collect(self, least: list[int]) -> None:
        """Forget what is delivered here and, up to the given blocks, everywhere."""
        for sender, kept in enumerate(self._kept):
            if kept and kept[0] <= least[sender]:
                count = bisect_right(kept, least[sender])
                for block in kept[:count]:
                    self._forget(sender, block)
                del kept[:count]

    def _forget(self, sender: int, block: int) -> None:
        self._bytes[sender] -= self._held[sender].pop(block).byte_count

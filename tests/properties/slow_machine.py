"""CBCAST as one would explain it on a blackboard: slow, and obviously right.

Every message carries the whole vector time of its sender; what cannot be delivered yet waits in a
plain list, in order of receipt; after each delivery the list is scanned again from its head
(ISIS 5.1 as corrected by errata 000-1, 000-3 and 000-4). No compression, no index, no heap.

A parcel is what arrives together: consecutive messages of one run. Its messages are delivered
together, less those delivered before.
"""

from typing import NamedTuple

from tests.properties.event_graph import Message


class SlowMessage(NamedTuple):
    """A message with the full vector time of its sender; a FIFO one only counts its sender."""

    sender: int
    number: int
    vector: tuple[int, ...]

    @property
    def name(self) -> Message:
        """What the oracle calls it."""
        return self.sender, self.number


Parcel = list[SlowMessage]


class SlowProcess:
    """One member of a group of ``size``."""

    def __init__(self, me: int, size: int) -> None:
        """Start with nothing delivered."""
        self.me = me
        self.delivered = [0] * size
        self.queue: list[Parcel] = []
        self.order: list[Message] = []

    def multicast(self, count: int, *, is_fifo: bool) -> Parcel:
        """Send ``count`` messages and deliver them here at once."""
        return [self._next_message(is_fifo=is_fifo) for _ in range(count)]

    def _next_message(self, *, is_fifo: bool) -> SlowMessage:
        self.delivered[self.me] += 1
        number = self.delivered[self.me]
        vector = [0] * len(self.delivered) if is_fifo else list(self.delivered)
        vector[self.me] = number
        self.order.append((self.me, number))
        return SlowMessage(self.me, number, tuple(vector))

    def receive(self, parcel: Parcel) -> None:
        """Put the parcel at the end of the queue, then deliver what can be delivered."""
        self.queue.append(list(parcel))
        while (ready := self._first_ready()) is not None:
            for message in ready:
                self.delivered[message.sender] = message.number
                self.order.append(message.name)

    def _first_ready(self) -> Parcel | None:
        """Scan from the head, throwing out what was delivered before."""
        for parcel in self.queue:
            parcel[:] = [m for m in parcel if m.number > self.delivered[m.sender]]
        self.queue = [parcel for parcel in self.queue if parcel]
        for place, parcel in enumerate(self.queue):
            if self._is_ready(parcel[0]):
                return self.queue.pop(place)
        return None

    def _is_ready(self, message: SlowMessage) -> bool:
        return all(
            needed == had + 1 if process == message.sender else needed <= had
            for process, (needed, had) in enumerate(
                zip(message.vector, self.delivered, strict=True)
            )
        )

"""The window of one member: own messages for which not all members have room.

Rule. Every block says whether its sender is behind: what was delivered there waits to be read, and
there is no room for more (``BlockMessage.is_behind``). What a member reports while it is behind is
delivered, for recovery and for forgetting, but not confirmed. A sender is admitted while fewer than
``window`` of its messages, and less than ``window_bytes``, are not confirmed by all live members.
So who does not read holds senders up, and nothing else: its reports go on, so it is not taken for
one that datagrams do not reach, and what others lack is sent again as ever. A null message of who
is behind has a label that is another one whenever something has been read since: who reads slowly
can be told from who does not read.

Two bounds. What is not delivered everywhere is bounded for all that leaves (``has_room`` of the
machine); what is not confirmed, for what is admitted. What was handed over before that leaves all
the same, as in groups without a protocol: only applications are ever held up by one that is behind.

Invariant. Confirmed is never more than reported, so who is admitted has room. At most ``window``
entries are kept: what goes beyond is counted to the last one, and confirmed with it.

Cost. O(1) per message; O(n) more for a report that moves the least one.
"""

from collections import deque

from antiphon.ordering.blocks.matrix import EVERYWHERE, BlockMatrix
from antiphon.ordering.blocks.messages import BlockMessage
from antiphon.ordering.blocks.settings import BlockSettings


class BlockWindow:
    """What one member has sent, and not all have confirmed."""

    __slots__ = (
        "_bytes",
        "_confirmed",
        "_count",
        "_labels",
        "_least",
        "_matrix",
        "_moves",
        "_sent",
        "_settings",
    )

    def __init__(self, matrix: BlockMatrix, settings: BlockSettings) -> None:
        """Have sent nothing."""
        self._matrix, self._settings = matrix, settings
        self._confirmed = [0] * matrix.size
        self._labels = [b""] * matrix.size
        self._moves = [0] * matrix.size
        # Blocks not confirmed, with the bytes and messages of each and of who is counted with it.
        self._sent: deque[tuple[int, int, int]] = deque()
        self._bytes = self._count = 0
        self._least = 0
        self.look()

    @property
    def is_open(self) -> bool:
        """Whether the application may send more."""
        return self._count < self._settings.window and self._bytes < self._settings.window_bytes

    def unconfirmed(self) -> dict[int, int]:
        """Return who holds this member up, if anybody does, and how far each has come."""
        if self.is_open:
            return {}
        matrix, confirmed = self._matrix, self._confirmed
        last = matrix.last[matrix.me]
        others = matrix.others[matrix.me]
        return {
            member: confirmed[member] + self._moves[member]
            for member in others
            if confirmed[member] < last
        }

    def send(self, block: int, byte_count: int) -> None:
        """Take note of an own message."""
        if block <= self._least:
            return  # there is nobody else
        if len(self._sent) >= self._settings.window:
            _, bytes_before, count_before = self._sent.pop()
            self._sent.append((block, bytes_before + byte_count, count_before + 1))
        else:
            self._sent.append((block, byte_count, 1))
        self._bytes += byte_count
        self._count += 1

    def hear(self, message: BlockMessage) -> None:
        """Take note of what a member says that is news."""
        member = message.sender
        if not message.is_behind:
            self._confirm(member, message.delivered[self._matrix.me])
        elif message.is_null and message.label != self._labels[member]:
            self._labels[member] = message.label
            self._moves[member] += 1

    def _confirm(self, member: int, block: int) -> None:
        """A member that has room has delivered so much of this one's."""
        before, self._confirmed[member] = self._confirmed[member], block
        if before == self._least != block:
            self.look()

    def look(self) -> None:
        """See what all live members have confirmed by now."""
        matrix, confirmed, sent = self._matrix, self._confirmed, self._sent
        others = matrix.others[matrix.me]
        self._least = least = min((confirmed[member] for member in others), default=EVERYWHERE)
        while sent and sent[0][0] <= least:
            _, byte_count, count = sent.popleft()
            self._bytes -= byte_count
            self._count -= count
        assert self._bytes >= 0, "nothing is confirmed twice"

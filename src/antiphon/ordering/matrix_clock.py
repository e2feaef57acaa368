"""A matrix clock: how far each member of a view has delivered the messages of each other one.

Rule. Each member tells all others, with its receipts (Alive), how many messages of each sender it
has delivered, and how many it had multicast itself by then. A message is known as delivered by all
when every member, this one too, has said so. What a member said counts here only when everything
that it had multicast by then has been delivered here.

Invariant. When ``delivered(rank)`` is n, in this view,
1. every member of the view, alive or crashed since, has delivered messages 1 to n of that member;
2. whatever is delivered here afterwards was multicast by who had delivered them before: nothing
   that is concurrent with them can come any more. (They are "causally stable".)
The first needs every member's word, the second the wait for what had been multicast: a word may
overtake messages that wait here for their past, their turn or their mark.

Delivered means handed to the application's side (``DeliverRuns``), before that is said;
nobody knows when the application has read it. All numbered messages count, in whatever order and
uniform or not; letters have no numbers. Counts are those of one view: whoever installs the next one
has delivered all that anybody did who does, and multicasts in it only afterwards.

Fault model: as for stability. Who crashes stops the counts until the next view; a member that lies
about itself is believed.

Cost: nothing for a run. No message of its own, and beside the receipts only the counts of members
of whose messages some are received and not yet delivered; one more receipt when they are. Receipts
that come: one step each. State: O(n s) counts for n members of which s multicast, made when needed.
To ask for one member costs O(n).
"""

from collections import deque
from collections.abc import Sequence

from antiphon.core.control import Alive

_WAITING_MAX = 2
"""Words of one member that wait here at most. With one, each new word would put off the last."""


class _Row:
    """What one member has said of itself."""

    __slots__ = ("known", "sent", "waiting")

    def __init__(self) -> None:
        """It has said nothing."""
        self.known: dict[int, int] = {}
        """Its deliveries by sender, as far as they count here."""
        self.sent = 0
        """How many messages it had multicast when it spoke last."""
        self.waiting: deque[tuple[int, dict[int, int]]] = deque()
        """What it said since, each after how many of its messages that counts; in order."""

    def take(self, said: dict[int, int]) -> None:
        """It has delivered so much, when it had multicast ``sent``."""
        if len(self.waiting) == _WAITING_MAX:
            _, before = self.waiting.pop()
            said = before | said
        self.waiting.append((self.sent, said))

    def settle(self, delivered: int) -> None:
        """So many of its messages have been delivered here."""
        waiting = self.waiting
        while waiting and waiting[0][0] <= delivered:
            self.known.update(waiting.popleft()[1])


class MatrixClock:
    """What all members of one view have delivered, as far as one of them knows."""

    __slots__ = ("_delivered", "_rows", "_size")

    def __init__(self, size: int, delivered: Sequence[int]) -> None:
        """Start a view; ``delivered`` always tells what has been delivered here, by sender."""
        assert len(delivered) == size, "there is a count for each member"
        self._size = size
        self._delivered = delivered
        self._rows: dict[int, _Row] = {}

    def learn(self, rank: int, alive: Alive) -> None:
        """Member ``rank``, which may be this one, says how it stands."""
        if not alive.received:
            return
        assert rank < self._size, "it is a member"
        row = self._rows.get(rank)
        if row is None:
            row = self._rows[rank] = _Row()
        said = dict(alive.received)
        row.sent = said.get(rank, row.sent)
        said.update(alive.undelivered)
        row.settle(self._delivered[rank])
        row.take(said)

    def delivered(self, rank: int) -> int:
        """Return how many messages of a member are known to have been delivered by everybody."""
        if len(self._rows) < self._size:
            return 0  # somebody has not said anything yet
        least = self._delivered[rank]
        for member, row in self._rows.items():
            if row.waiting:
                row.settle(self._delivered[member])
            least = min(least, row.known.get(rank, 0))
        return least

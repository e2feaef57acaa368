"""Stability: which messages have reached all members, and copies of those that may not have.

Rule (ISIS 5.3). A member keeps a copy of every run it received or multicast. Now and then it
tells all others how many messages of each sender it has received (Alive, on traffic or when
idle). A sender knows from that how far its own messages have reached everybody, and says so in
its own Alive; then the others drop their copies.

Invariant. A run is dropped only when every member of the view has received it, whoever may crash:
a flush forwards what is kept, and nothing else is ever needed. Numbers are those of one view and
say nothing about another (000-17 c).

Receipts also say what has been delivered, where that is less (``matrix_clock``): then there is
news as well when it becomes more.

k-stable: received by k members beside the sender; survives any k crashes, the sender's included
or not (000-16). Known of one's own messages.

Everybody tells all others; where there is a tree for that, see ``tree_stability``.

State: O(n) for a view of n members, beside the copies. Cost: n - 1 messages per member and
heartbeat, fewer with traffic to ride on; copies are dropped two such messages after the receipt.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from operator import le

from antiphon.core.control import Alive
from antiphon.core.runs import Run, Stamp
from antiphon.ordering.matrix_clock import MatrixClock


class Stability:
    """Copies and counts of one process in one view."""

    __slots__ = (
        "_delivered", "_flushed", "_heard", "_reached", "_said", "_said_delivered", "_size",
        "_stable", "copies", "deliveries", "kept_bytes", "rank",
    )  # fmt: skip

    def __init__(self, size: int, rank: int, delivered: Sequence[int] | None = None) -> None:
        """Start a view of ``size`` members, being number ``rank`` of them.

        ``delivered`` always tells what has been delivered here, by sender.
        """
        self._size = size
        self.rank = rank
        # Made when needed: in a large group most members are silent.
        self.copies: defaultdict[int, deque[Run]] = defaultdict(deque)
        """By sender, runs that may not have reached everybody, in order."""
        self.kept_bytes = 0
        self._reached = [0] * size  # own messages that each member has received
        self._stable = [0] * size  # by sender, messages that have reached everybody
        self._said = [0] * size  # what the last Alive said was received
        self._said_delivered = [0] * size  # and delivered
        self._delivered = delivered if delivered is not None else [0] * size
        self._heard: dict[int, dict[int, int]] = {}  # by sender: what others received of it
        self._flushed: dict[int, dict[int, int]] = {}  # by sender: what others, asked, delivered
        self.deliveries = MatrixClock(size, self._delivered)
        """What is known to have been delivered by whom."""

    def keep(self, run: Run) -> None:
        """Keep a copy of what was multicast or received."""
        self.copies[run.sender].append(run)
        self.kept_bytes += run.byte_count

    def release_alone(self) -> None:
        """In a view of one, what is multicast is stable."""
        assert self._size == 1, "nobody else could lack it"
        self.copies[self.rank].clear()
        self.kept_bytes = 0

    def alive(
        self, number: int, received: list[int], agreed: int, *, is_blocked: bool = False
    ) -> Alive:
        """Return what to tell the others: what was received, or delivered, since the last time."""
        said, said_delivered, delivered = self._said, self._said_delivered, list(self._delivered)
        assert all(map(le, said, received)), "receipts never decrease"
        assert all(map(le, delivered, received)), "what is delivered was received"
        news = tuple(
            (rank, count)
            for rank, count in enumerate(received)
            if count != said[rank] or delivered[rank] != said_delivered[rank]
        )
        undelivered = tuple(
            (rank, delivered[rank]) for rank, count in news if delivered[rank] != count
        )
        self._said, self._said_delivered = received, delivered
        stable = self._stable[self.rank]
        alive = Alive(number, news, stable, agreed, is_blocked, undelivered)
        self.deliveries.learn(self.rank, alive)
        return alive

    def learn(self, peer: int, alive: Alive, sent: int) -> bool:
        """Take what member ``peer`` says; False if no correct member would say it."""
        assert peer != self.rank, "a process tells itself nothing"
        if alive.undelivered and not _is_sound(alive):
            return False
        if not self.hear_receipts(peer, alive.received, sent):
            return False
        self._note_stable(peer, alive.stable)
        self.deliveries.learn(peer, alive)
        return True

    def hear_receipts(self, peer: int, received: Stamp, sent: int) -> bool:
        """Take what member ``peer`` has received; False if no correct member would say it."""
        for rank, count in received:
            if rank == self.rank:
                if count > sent:
                    return False
                self._reached[peer] = max(count, self._reached[peer])
                self.reach(sent)
            elif self._heard and rank < self._size:
                heard = self._heard.setdefault(rank, {})
                heard[peer] = max(count, heard.get(peer, 0))
        return True

    def note_receipts(self) -> None:
        """Take note, from now on, of who has received what of whom."""
        self._heard.setdefault(self.rank, {})

    def receivers(self, rank: int, count: int) -> int:
        """Return how many members, beside the sender, are known to have got so many of it.

        This process counts, as whoever asks has received them.
        """
        if self._stable[rank] >= count:
            return self._size - 1
        if rank == self.rank:
            counts: Iterable[int] = (
                reached for peer, reached in enumerate(self._reached) if peer != rank
            )
            return sum(reached >= count for reached in counts)
        heard = self._heard.get(rank, {})
        return 1 + sum(got >= count for peer, got in heard.items() if peer != rank)

    def hear_deliveries(self, peer: int, delivered: Stamp) -> None:
        """Take what member ``peer`` says, having been asked, that it has delivered."""
        for rank, count in delivered:
            if rank < self._size:
                heard = self._flushed.setdefault(rank, {})
                heard[peer] = max(count, heard.get(peer, 0))

    def is_delivered_everywhere(self, rank: int, count: int) -> bool:
        """Whether everybody is known to have delivered so many messages of a member."""
        if self.delivered_by_all(rank) >= count:
            return True
        heard = self._flushed.get(rank, {})
        others = (peer for peer in range(self._size) if peer != self.rank)
        return self._delivered[rank] >= count and all(
            heard.get(peer, 0) >= count for peer in others
        )

    def is_everywhere(self, rank: int, count: int, *, delivered: bool) -> bool:
        """Whether everybody has received, or delivered, so many messages of a member."""
        if delivered:
            return self.delivered_by_all(rank) >= count
        return self._stable[rank] >= count or (
            bool(self._heard) and self.receivers(rank, count) >= self._size - 1
        )

    def reach(self, sent: int) -> None:
        """Work out how far own messages have reached everybody; drop what is stable."""
        assert sent >= self._reached[self.rank], "nothing sent is taken back"
        self._reached[self.rank] = sent
        self._note_stable(self.rank, min(self._reached))

    def learn_stable(self, rank: int, number: int) -> None:
        """What brings messages here knows that so many of a member have reached everybody."""
        assert number <= self._delivered[rank], "this process has them, too"
        self._note_stable(rank, number)

    def _note_stable(self, rank: int, number: int) -> None:
        if number <= self._stable[rank]:
            return
        self._stable[rank] = number
        copies = self.copies[rank]
        while copies and copies[0].last <= number:
            self.kept_bytes -= copies.popleft().byte_count
        assert self.kept_bytes >= 0, "no copy is dropped twice"

    def stable(self, rank: int) -> int:
        """Return how many messages of a member are known to have reached everybody."""
        return self._stable[rank]

    def delivered_by_all(self, rank: int) -> int:
        """Return how many messages of a member are known to have been delivered by everybody."""
        return self.deliveries.delivered(rank)

    def k_stable(self, k: int) -> int:
        """Return how many own messages have reached at least ``k`` other members."""
        others = [count for rank, count in enumerate(self._reached) if rank != self.rank]
        return sorted(others, reverse=True)[k - 1] if 0 < k <= len(others) else 0


def _is_sound(alive: Alive) -> bool:
    """Whether fewer messages are said to be delivered than received, wherever that is said."""
    received = dict(alive.received)
    return all(count < received.get(rank, 0) for rank, count in alive.undelivered)

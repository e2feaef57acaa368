"""Stability summed up a tree: what all members have is worked out by their root.

Rule. Each member knows what it has delivered itself, and of each child in a spanning tree the
least that anybody below it, the child included, has delivered, by sender. The least of all that is
what it tells its parent, when it is more than before; for the root it is what ALL have, and that
goes down the tree. Then everybody drops its copies. Here a run is delivered when it is received
(``stack.overlay``), so one count says both.

Who holds it up. A child that is behind this member for some heartbeats, without being further, and
names nobody below it, is named to the parent, with how far it is; so is a process that withholds
its own receipts, which counts as further whenever it reads on. What is named comes to the root, and
goes down with what all have: so a sender that waits knows for whom.

Invariant. ``stable(rank)`` is n only when every member of the view has delivered messages 1 to n of
that member; and whatever is delivered here afterwards was multicast by who had delivered them.
For the second: edges of the tree are links of the overlay, which are FIFO, and whoever says how far
it is has put all that it has sent or taken on that link before, or had it from there. So what
a word says is overtaken by nothing that was multicast before.

Fault model: as for stability. Who crashes, or lies dumb, stops all counts until the next view.

Cost. A round of news, such as a message, is worth one word of each member to its parent and one of
the parent to it: 2(n - 1) in all, if nobody is slow; a word has one entry for each sender of which
there is news. State: n counts for each child, log2 n children at most. To tell takes O(n log n).
"""

from collections.abc import Sequence
from operator import lt

from antiphon.core.control import Alive
from antiphon.core.runs import Stamp
from antiphon.ordering.overlay.spanning_tree import SpanningTree
from antiphon.ordering.stability import Stability

LATE_BEATS = 3
"""Heartbeats for which somebody is behind before it is named."""

NAMED_MAX = 16
"""How many that hold things up are named at a time: those of the lowest ranks."""


class _Branch:
    """What is known of this process, or of a child with all below it."""

    __slots__ = ("beats", "counts", "named", "seen")

    def __init__(self, size: int) -> None:
        """It has said nothing."""
        self.counts = [0] * size
        self.named: Stamp = ()
        """Whom it names."""
        self.beats = 0
        """For how many heartbeats it has been behind at the same place."""
        self.seen = 0
        """How many messages in all it had at the last look."""


class TreeStability(Stability):
    """Copies and counts of one process in one view, whose members tell each other by a tree."""

    __slots__ = (
        "_late",
        "_moves",
        "_named",
        "_parts",
        "_sizes",
        "_told",
        "_told_named",
        "children",
        "parent",
    )

    def __init__(self, size: int, rank: int, delivered: Sequence[int], tree: SpanningTree) -> None:
        """Start a view of ``size`` members, being number ``rank`` of them."""
        super().__init__(size, rank, delivered)
        self.parent = tree.parents[rank]
        """Whom this process tells; the root itself."""
        self.children = tree.children[rank]
        """Who tells it."""
        self._sizes = tree.sizes
        self._parts = {who: _Branch(size) for who in (rank, *self.children)}
        self._told = [0] * size
        self._told_named: Stamp = ()
        self._named: Stamp = ()
        self._late = False
        self._moves = 0

    # What this process says.

    @property
    def is_root(self) -> bool:
        """Whether nobody is above it."""
        return self.parent == self.rank

    def confirm(self) -> None:
        """What has been delivered here counts from now on: it is not withheld."""
        self._parts[self.rank].counts[:] = self._delivered

    def has_news(self, *, is_withheld: bool) -> bool:
        """Whether there is something to tell, or somebody to wait for."""
        own = self._parts[self.rank].counts
        if not is_withheld and own != list(self._delivered):
            return True
        return self._late or self._told != self._least() or self._told_named != self._naming()

    def look(self, moves: int = 0) -> None:
        """A heartbeat has passed: note who is behind, and for how long.

        ``moves`` tells how often this process has read on while it withheld its receipts.
        """
        self._late = False
        self._moves = moves
        for part in self._parts.values():
            seen = sum(part.counts)
            is_behind = any(map(lt, part.counts, self._delivered))
            part.beats = part.beats + 1 if is_behind and seen == part.seen else 0
            part.seen = seen
            self._late = self._late or is_behind

    def tell(self) -> tuple[Stamp, Stamp] | None:
        """Return what is to be told now, if anything: to the parent; as the root, to all."""
        least, named, told = self._least(), self._naming(), self._told
        if least == told and named == self._told_named:
            return None
        news = tuple((rank, count) for rank, count in enumerate(least) if count != told[rank])
        self._told, self._told_named = least, named
        if self.is_root:
            self._conclude(news, named)
        return news, named

    def _least(self) -> list[int]:
        """Return what everybody from here on downwards has, by sender."""
        return list(map(min, zip(*(part.counts for part in self._parts.values()), strict=True)))

    def _naming(self) -> Stamp:
        """Return who holds things up from here on downwards, and how far each has come."""
        named = {
            rank: part.seen + (self._moves if rank == self.rank else 0)
            for rank, part in self._parts.items()
            if part.beats >= LATE_BEATS and not part.named
        }
        for part in self._parts.values():
            named.update(part.named)
        return tuple(sorted(named.items())[:NAMED_MAX])

    def _conclude(self, everywhere: Stamp, named: Stamp) -> None:
        for rank, count in everywhere:
            self._note_stable(rank, count)
        self._named = named

    # What others say.

    def hear_child(self, child: int, counts: Stamp, named: Stamp) -> bool:
        """Take what a child has, with all below it; False if no correct child would say it."""
        part = self._parts[child]
        is_sound = all(
            rank < self._size and part.counts[rank] <= count <= self._delivered[rank]
            for rank, count in counts
        )
        if not is_sound or not self._may_name(named):
            return False
        for rank, count in counts:
            part.counts[rank] = count
        part.named = named
        return True

    def hear_parent(self, counts: Stamp, named: Stamp) -> bool:
        """Take what all have; False if no correct parent would say it."""
        is_sound = all(
            rank < self._size and self._stable[rank] <= count <= self._told[rank]
            for rank, count in counts
        )
        if not is_sound or not self._may_name(named):
            return False
        self._conclude(counts, named)
        return True

    def _may_name(self, named: Stamp) -> bool:
        return len(named) <= NAMED_MAX and all(rank < self._size for rank, _ in named)

    # What is known.

    @property
    def holding(self) -> Stamp:
        """Who holds things up, as the root says, and how far each has come."""
        return self._named

    def delivered_by_all(self, rank: int) -> int:
        """Return how many messages of a member are known to have been delivered by everybody."""
        return self._stable[rank]

    def k_stable(self, k: int) -> int:
        """Return how many own messages have reached at least ``k`` others: as far as is known here.

        That is what all have, and what those below each child have.
        """
        if not 0 < k < self._size:
            return 0
        known = sorted(
            ((self._parts[child].counts[self.rank], self._sizes[child]) for child in self.children),
            reverse=True,
        )
        found, others = self._stable[self.rank], 0
        for count, size in known:
            others += size
            if others >= k:
                return max(found, count)
        return found

    # Words of other groups: each member tells all others.

    def alive(
        self, number: int, received: list[int], agreed: int, *, is_blocked: bool = False
    ) -> Alive:
        """Return what to tell the others of this process: no receipts."""
        del received
        return Alive(number, (), 0, agreed, is_blocked)

    def learn(self, peer: int, alive: Alive, sent: int) -> bool:
        """Take what member ``peer`` says: receipts do not come this way."""
        del peer, sent
        return not (alive.received or alive.undelivered or alive.stable)

    def hear_receipts(self, peer: int, received: Stamp, sent: int) -> bool:
        """Take an answer to what was asked: nobody claims more of this process than it has sent."""
        del peer
        return all(count <= sent for rank, count in received if rank == self.rank)

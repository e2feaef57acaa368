"""Flow control of one process in one group: what it confirms, and how much it has on the way.

Rule. A member tells the others what it has received (``Alive``), and a sender waits while too much
is not confirmed by everybody, or a channel takes no more. A process whose application reads too
slowly, or which holds back too much, withholds its confirmations, and so stops the senders, without
its ever ceasing to take what arrives: heartbeats, views and flushes pass by at any time. What was
withheld is said later, to all others at once: said to one of them alone, as to a leaver, it would
be lost to the rest. While somebody waits here to send, nothing is withheld: two processes that both
wait to send would otherwise wait for each other for ever.

Whoever withholds says now and then that its application reads on (``ReadingOn``): so that who
waits can tell a slow reader, which is waited for, from one that does not read (``stalls``).

Where receipts go by a tree (``receipt_tree``), what is withheld is not counted there, and what is
confirmed is what all have; that somebody reads on goes the same way.

Where messages go by datagram (``ordering.blocks``), every block says whether its sender withholds
its receipts, for senders have their windows from blocks alone (``ordering.blocks.window``); there,
senders are also told that something is read.

Invariant. Payload bytes that may not have reached everybody stay below the limit and one
run per sender that was admitted; what a slow application has not read stays below what its
driver calls behind, and what is on the way then.

Cost: it changes what ``Alive`` says, and when senders are admitted; a process that is behind tells
each other one, at most ``MOVES`` times while it may hold them up, that it reads on.
"""

from collections.abc import Callable

from msgspec.structs import replace

from antiphon.core.control import Alive, ReadingOn
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.stack.settings import Limits

MOVES = 8
"""How often at most, while a member may hold senders up, it says that it reads on."""


class FlowControl:
    """Confirmations given and got in the current view, and who is full."""

    __slots__ = (
        "_held_bytes", "_is_lagging", "_limits", "_me", "_moved_us", "_number", "_pause_us",
        "_progress", "_rank", "_withheld", "are_senders_waiting", "confirmed", "full", "moves",
        "reads",
    )  # fmt: skip

    def __init__(
        self, me: ProcessId, limits: Limits, held_bytes: Callable[[], int], stall_us: int
    ) -> None:
        """Nothing has been confirmed; ``held_bytes`` tells how much waits for its past.

        A member may hold senders up for ``stall_us`` without moving.
        """
        self._pause_us = max(stall_us // MOVES, 1)
        self._moved_us = -self._pause_us
        self._progress: dict[ProcessId, int] = {}
        self._limits = limits
        self._held_bytes = held_bytes
        self._me = me
        self._number = 0
        self._rank = 0
        self._withheld: dict[int, tuple[int, int]] = {}  # by rank: received, delivered
        self._is_lagging = False
        self.confirmed: dict[ProcessId, int] = {}
        """By member, how many of this process's messages it has confirmed."""
        self.full: dict[ProcessId, None] = {}
        """Whose channel takes no more for now."""
        self.are_senders_waiting = False
        self.reads = 0
        """How often something was read while the application was behind."""
        self.moves = 0
        """How often that is to be said to others."""

    # What is confirmed to others.

    @property
    def is_behind(self) -> bool:
        """Whether receipts are to be confirmed later."""
        is_lagging = self._is_lagging and not self.are_senders_waiting
        return is_lagging or self._held_bytes() > self._limits.held_bytes

    @property
    def is_due(self) -> bool:
        """Whether something was withheld that may be said now."""
        return bool(self._withheld) and not self.is_behind

    def lag(self, now_us: int, *, is_behind: bool) -> bool:
        """The application reads too slowly, but has read something since; or no longer.

        Return whether that is to be said to the others.
        """
        reads_on = is_behind and self._is_lagging
        self._is_lagging = is_behind
        self.reads += reads_on
        is_move = reads_on and self.is_behind and now_us >= self._moved_us + self._pause_us
        if is_move:
            self.moves += 1
            self._moved_us = now_us
        return is_move

    def say(self, alive: Alive) -> Alive:
        """Return what to say to all others instead of ``alive``."""
        withhold = self.is_behind
        if alive.number != self._number or not (withhold or self._withheld):
            return alive
        delivered = dict(alive.undelivered)
        for rank, count in alive.received:
            self._withheld[rank] = count, delivered.get(rank, count)
        if withhold:
            return replace(alive, received=(), undelivered=())
        said = sorted(self._withheld.items())
        assert said, "something was withheld"
        self._withheld.clear()
        return replace(
            alive,
            received=tuple((rank, count) for rank, (count, _) in said),
            undelivered=tuple((rank, done) for rank, (count, done) in said if done != count),
        )

    # What others confirm, and their channels take.

    def hear(self, member: ProcessId, alive: Alive) -> None:
        """Note what a member says of this process's messages."""
        if alive.number == self._number:
            for sender, count in alive.received:
                if sender == self._rank:
                    self.confirmed[member] = count

    def hear_reading(self, member: ProcessId, word: ReadingOn) -> None:
        """Note that a member, which confirms nothing, reads on."""
        if word.number == self._number:
            self._progress[member] = word.count

    def progress(self, member: ProcessId) -> int:
        """Return how far a member has come: any other number than before says that it moves."""
        return self.confirmed.get(member, 0) + self._progress.get(member, 0)

    def fill(self, peer: ProcessId, *, is_full: bool) -> None:
        """A channel takes no more for now; or takes more again."""
        if is_full:
            self.full[peer] = None
        else:
            self.full.pop(peer, None)

    def has_room(self, kept_bytes: int, members: tuple[ProcessId, ...]) -> bool:
        """Whether little enough is on its way for more to follow."""
        if self.full and any(who in self.full for who in members):
            return False
        return kept_bytes <= self._limits.unstable_bytes

    def enter(self, view: View) -> None:
        """A view begins: everything said and held before is void."""
        assert view.number > self._number, "views are entered in order"
        self._number = view.number
        self._withheld.clear()
        self.confirmed.clear()
        self._progress.clear()
        if self._me in view.members:
            self._rank = view.rank_of(self._me)

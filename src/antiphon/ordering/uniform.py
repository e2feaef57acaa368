"""Uniform multicast: nobody delivers what anybody could lose (Uniform 4; corrected).

Rule. A uniform message is held when it is received. Who has it, and has everything in its past,
confirms that to its sender (phase I); when all members have, the sender marks it, and says so to
all (phase II); then it is delivered, in its order. Whatever is left when the view is left is
delivered then, without a message more: the flush below has seen to it that all who go on have it.

Invariant (D4). If any process delivered a uniform message in view i, even if it crashed at once,
every member that installs view i + 1 delivered it in view i. For every member had it, and its
past, before it was marked.

Why the past. A message may depend on plain ones. If p delivers plain x and then uniform m, and
dies together with all who have x, then the others have m but may not deliver it without x: D4 or
causality would break. So a message is confirmed only when it is SETTLED: received, with all that
it depends on settled too. Settling waits for no turn, no mark, and for nothing but receipts; so it
cannot wait in a circle. The printed protocol has no order at all (003-7); with ``settled`` it has
any. What a message depends on in other groups of the domain must be here as well.

Fault model. Crashes, wrong suspicions, partitions: as the view-atomic flush. The flushes of ISIS
do not give D3, and so cannot give D4: uniform multicast is refused with them.

Cost, beside the message: n - 1 confirmations and n - 1 marks, three message delays in all.
Confirmations and marks are counts of a prefix, and both travel in one message (Confirm): with many
multicasts in flight one of them serves hundreds. State: O(n), and the runs that are not settled.
"""

from collections.abc import Callable

from antiphon.core.control import Confirm
from antiphon.core.runs import Run
from antiphon.ordering.delay_queue import DelayQueue, Lack

Elsewhere = Callable[[Run], bool]
"""Tells whether something of another group that a run depends on is not here."""

_ELSEWHERE: Lack = (-1, 0, 0)


def nothing_elsewhere(_run: Run) -> bool:
    """There is no other group."""
    return False


class Uniformity:
    """Who has settled what, in one view of a group."""

    __slots__ = (
        "_confirmed", "_elsewhere", "_marked_said", "_rank", "_said", "_unsettled", "_wanted",
        "is_active", "marked", "settled",
    )  # fmt: skip

    def __init__(self, size: int, rank: int, elsewhere: Elsewhere = nothing_elsewhere) -> None:
        """Begin a view of ``size`` members, being number ``rank`` of them."""
        self._rank = rank
        self._elsewhere = elsewhere
        self.is_active = False
        """Whether anything uniform has been seen: before that, nothing here costs anything."""
        self.settled = [0] * size
        """By sender, messages that are here with all that they depend on."""
        self._unsettled = DelayQueue()
        self._wanted = [0] * size  # by sender, what it waits to have confirmed
        self._said = [0] * size  # by sender, what has been confirmed to it
        self._confirmed = [0] * size  # by member, own messages that it has confirmed
        self.marked = [0] * size
        """By sender, messages that are settled everywhere."""
        self._marked_said = 0

    # Phase I: what is here, and all that it depends on.

    def activate(self, received: list[int], delivered: list[int], held: list[Run]) -> None:
        """The first uniform message: look at what was received before it, and is held.

        What was multicast here counts as received, and is settled: its past was delivered here.
        """
        assert not self.is_active, "there is one first uniform message in a view"
        self.is_active = True
        self.settled[:] = delivered
        self.settled[self._rank] = received[self._rank]
        # A list of turns may have come before the first uniform message that it gives a turn.
        self._wanted[:] = received
        for run in held:
            self._take(run)

    def take(self, run: Run) -> None:
        """A run has been received, or multicast."""
        if run.uniform or run.sets_order is not None:
            self._wanted[run.sender] = run.last
        self._take(run)

    def _take(self, run: Run) -> None:
        lack = self._lack(run)
        if lack is not None:
            self._unsettled.hold(run, lack)
        else:
            self._settle(run)

    def _lack(self, run: Run) -> Lack | None:
        if run.first > self.settled[run.sender] + 1:
            return run.group, run.sender, run.first - 1
        for rank, count in run.stamp:
            if rank != self._rank and self.settled[rank] < count:  # what is own is here
                return run.group, rank, count
        is_elsewhere = run.foreign and run.sender != self._rank and self._elsewhere(run)
        return _ELSEWHERE if is_elsewhere else None

    def _settle(self, run: Run) -> None:
        """A run is settled, and perhaps others that waited for it."""
        # Own messages are settled from the start, however long they are held.
        self.settled[run.sender] = max(run.last, self.settled[run.sender])
        self._wake(run)
        self._settle_ready()

    def _settle_ready(self) -> None:
        while (next_run := self._unsettled.take_ready()) is not None:
            self.settled[next_run.sender] = next_run.last
            self._wake(next_run)

    def _wake(self, run: Run) -> None:
        self._file(self._unsettled.wake(run.group, run.sender, run.last))

    def _file(self, woken: list[tuple[int, Run]]) -> None:
        queue = self._unsettled
        for arrival, waiting in woken:
            lack = self._lack(waiting)
            if lack is None:
                queue.put_ready(arrival, waiting)
            else:
                queue.hold_again(arrival, waiting, lack)

    @property
    def waits_elsewhere(self) -> bool:
        """Whether something that is here is not settled, and waits for another group."""
        return _ELSEWHERE[:2] in self._unsettled.waiting_for

    def look_again(self) -> bool:
        """Something has come in another group; return whether anything is settled by that."""
        before = list(self.settled)
        self._file(self._unsettled.wake_group(_ELSEWHERE[0]))
        self._settle_ready()
        return self.settled != before

    # Both phases: what to say, what is said.

    def mark_own(self, sent: int) -> bool:
        """Work out how far own messages are settled everywhere; tell whether that is news."""
        others = [count for rank, count in enumerate(self._confirmed) if rank != self._rank]
        marked = min(others, default=sent)
        assert marked <= sent, "nobody confirms what was not sent"
        if marked <= self.marked[self._rank]:
            return False
        self.marked[self._rank] = marked
        return True

    @property
    def is_due(self) -> bool:
        """Whether somebody waits to be told something."""
        return self.is_active and (self._is_mark_due() or any(map(self._is_due_to, self._ranks())))

    def _ranks(self) -> range:
        return range(len(self.settled))

    def _is_mark_due(self) -> bool:
        marked, said = self.marked[self._rank], self._marked_said
        return marked > said and said < self._wanted[self._rank]

    def _is_due_to(self, rank: int) -> bool:
        said = self._said[rank]
        return rank != self._rank and self._wanted[rank] > said and self.settled[rank] > said

    def say(self, number: int) -> list[tuple[int, Confirm]]:
        """Return what to tell which members, in view ``number``."""
        is_mark_due = self._is_mark_due()
        marked = self.marked[self._rank]
        assert marked >= self._marked_said, "a mark is never taken back"
        confirms: list[tuple[int, Confirm]] = []
        for rank in self._ranks():
            if rank != self._rank and (is_mark_due or self._is_due_to(rank)):
                self._said[rank] = max(self._said[rank], self.settled[rank])
                confirms.append((rank, Confirm(number, self._said[rank], marked)))
        self._marked_said = marked
        return confirms

    def learn(self, rank: int, confirm: Confirm) -> None:
        """Take what a member says; that it is possible has been checked."""
        assert rank != self._rank, "a process confirms nothing to itself"
        self._confirmed[rank] = max(self._confirmed[rank], confirm.settled)
        self.marked[rank] = max(self.marked[rank], confirm.marked)

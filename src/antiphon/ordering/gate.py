"""The gate: runs whose past has been delivered, but which must wait for their turn or their mark.

Law: of each sender at most one run is at the gate, for its next one lacks it. A run passes

    total            when it has the next turn (``total``)
    uniform          when it is marked (``uniform``)
    both             when it has the next turn, is marked, and so is the list that gave the turn

The last line is what makes the ORDER of uniform total messages uniform too: if any process, even
one that crashes, delivers them in an order, everybody does. For whoever goes on to the next view
has the list, and the past of the list, which are all lists before it.

When a view is left, marks are needed no more, and turns are given by rule (``total``).
"""

from antiphon.core.runs import Order, Run
from antiphon.ordering.total import Policy, TotalOrder
from antiphon.ordering.uniform import Elsewhere, Uniformity, nothing_elsewhere

_TOTAL = Order.TOTAL

Arrived = tuple[int, Run]
"""A run with its place in the order of receipt."""


class Gate:
    """The runs at the gate of one view of a group."""

    __slots__ = ("_waiting", "is_left", "total", "uniform")

    def __init__(
        self,
        rank: int,
        delivered: list[int],
        policy: Policy,
        *,
        has_holder: bool = True,
        elsewhere: Elsewhere = nothing_elsewhere,
    ) -> None:
        """Begin a view as number ``rank`` of it; ``delivered`` counts, by rank, and is shared."""
        self.total = TotalOrder(rank, delivered, policy, has_holder=has_holder)
        self.uniform = Uniformity(len(delivered), rank, elsewhere)
        self._waiting: dict[int, Arrived] = {}
        self.is_left = False
        """Whether the view is being left for good: nothing waits for a mark any more."""

    @property
    def depth(self) -> int:
        """How many runs wait."""
        return len(self._waiting)

    @property
    def held_bytes(self) -> int:
        """Payload bytes of the runs that wait."""
        return sum(run.byte_count for _, run in self._waiting.values()) if self._waiting else 0

    def waiting(self) -> list[Run]:
        """Return the runs that wait, in order of receipt."""
        return [run for _, run in sorted(self._waiting.values(), key=lambda item: item[0])]

    def admit(self, arrival: int, run: Run) -> list[Arrived]:
        """Take a run whose past has been delivered; return it if it passes at once."""
        if run.order is _TOTAL:
            self.total.give_turn(run.sender, run.last)
        if self._is_open(run):
            return [(arrival, run)]
        assert run.sender not in self._waiting, "a sender's next has its last in its past"
        self._waiting[run.sender] = arrival, run
        return []

    def look_again(self, rank: int) -> list[Arrived]:
        """Something about a sender has changed; return its run if that passes now."""
        arrived = self._waiting.get(rank)
        if arrived is None or not self._is_open(arrived[1]):
            return []
        del self._waiting[rank]
        return [arrived]

    def look_at_turn(self) -> list[Arrived]:
        """Return the run whose turn it is, if it passes now."""
        turn = self.total.turns.get(self.total.next_turn)
        return self.look_again(turn.rank) if turn is not None else []

    def take_token(self, run: Run) -> list[Arrived]:
        """The run that makes this process the token holder has been delivered."""
        assert run.sets_order is not None, "it names the holder"
        self.total.take_token(run.sets_order)
        for waiting in self.waiting():
            if waiting.order is _TOTAL:
                self.total.give_turn(waiting.sender, waiting.last)
        return self.look_at_turn()

    def leave(self) -> list[Arrived]:
        """The view is left: return the runs that waited for a mark only."""
        self.is_left = True
        return [item for rank in list(self._waiting) for item in self.look_again(rank)]

    def take_left_over(self) -> Arrived | None:
        """While the view is left: take out the run that comes next in the total order."""
        assert self.is_left, "while it is not, runs wait for their turns"
        if not self._waiting:
            return None
        return self._waiting.pop(self.total.choose_left_over(self.waiting()).sender)

    def _is_open(self, run: Run) -> bool:
        if run.order is not _TOTAL:
            return self.is_left or self.uniform.marked[run.sender] >= run.last
        turn = self.total.turn_of(run)
        if turn is None:
            return False
        if not run.uniform or self.is_left:
            return True
        marked = self.uniform.marked
        return marked[run.sender] >= run.last and 0 < turn.number <= marked[turn.source]

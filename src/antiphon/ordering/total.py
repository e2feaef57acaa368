"""ABCAST: one order for all, given by a token holder (ISIS 5.2, 5.5; corrected).

Rule. The messages of a view that ask for total order take turns. A turn names a sender and one of
its numbers: it is over when that message has been delivered. The token holder gives turns to
messages in the order in which their pasts are complete at the holder itself, and tells the others
in sets-order lists; a message is delivered when its past is complete and it has the next turn.

    holder           gives turns: to what others multicast, in a list that rides on its next
                     causal or total run, or goes out alone; to its own, along with them
    everybody else   a list counts when it is RECEIVED (000-5, 000-6: waiting for its past first,
                     as printed, is a deadlock); the run that carries it waits for its past
    successor        named in a list: begins when it DELIVERS that list, and gives turns to all
                     that waits, its own included (000-9: as printed, that starves); named only
                     when nothing of the holder's own waits, or both would wait for each other
    a newer view     the holder says what turns it gave, and gives none any more; nobody becomes
                     holder (000-10)
    leaving a view   what is left is delivered in one order everywhere: by turn if it has one
                     (lost turns are skipped), else by sender and number, always after its past
                     (000-11: sorting by identifier alone breaks causality)

Invariant. All who leave a view for the next delivered its total messages in one order, and that
order extends causality: what is in the past of a message had its turn before, because its holder
delivered it before. Lists are linked causally, each holder having delivered the one that named
it; so who has a list and its past knows all turns before it.

Fault model. That of the flush below it: not with a holder that crashed or was excluded, unless
the messages are uniform (``gate``).

Cost per message: 1 + 1/k multicasts where a list has k turns, 1 if its sender holds the token;
and a turn is of a run of messages. One more message delay if the sender is not the holder.

Which member holds the token is a matter of policy: ``Follow`` moves it to who sends most, ``Fixed``
leaves it with the most senior member, as in the paper's measurements.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from antiphon.core.errors import PeerError
from antiphon.core.runs import Run, SetsOrder

TURNS_MAX = 1_024
"""Turns in one list: it must fit into a frame beside the largest message."""


class Policy(Protocol):
    """Where the token goes."""

    def note(self, sender: int) -> None:
        """A run of ``sender`` has been given its turn."""

    def successor(self, holder: int) -> int:
        """Return who is to hold the token; ``holder`` if it stays."""


class Fixed:
    """The token stays where it is."""

    __slots__ = ()

    def note(self, sender: int) -> None:
        """Whoever it is."""

    def successor(self, holder: int) -> int:
        """Return the holder itself."""
        return holder


class Follow:
    """The token goes to a sender that had nearly all of the last turns."""

    __slots__ = ("_recent",)

    WINDOW = 8
    ENOUGH = 7
    """Not all: one message of another sender should not keep the token from moving."""

    def __init__(self) -> None:
        """Nobody has sent anything."""
        self._recent: list[int] = []

    def note(self, sender: int) -> None:
        """Remember the last few."""
        self._recent.append(sender)
        if len(self._recent) > self.WINDOW:
            del self._recent[0]

    def successor(self, holder: int) -> int:
        """Return who had nearly all of the last turns, if anybody had."""
        recent = self._recent
        if len(recent) == self.WINDOW:
            for rank in (recent[0], recent[-1]):
                if recent.count(rank) >= self.ENOUGH:
                    return rank
        return holder


POLICIES: dict[str, type[Policy]] = {"follow": Follow, "fixed": Fixed}
"""Ways to move the token, by name; the first is the default."""


class Turn(NamedTuple):
    """Whose turn it is, up to which number, and by which message that was made known."""

    rank: int
    last: int
    source: int
    number: int
    """The number of the message of ``source`` that said so; 0 while that is still to be said."""


class TotalOrder:
    """What a process knows of the total order in one view of a group."""

    __slots__ = (
        "_delivered", "_given", "_is_stopped", "_next_given", "_policy", "is_holder",
        "next_turn", "rank", "turns", "unsaid",
    )  # fmt: skip

    def __init__(
        self, rank: int, delivered: list[int], policy: Policy, *, has_holder: bool = True
    ) -> None:
        """Begin a view as number ``rank`` of it; ``delivered`` counts, by rank, and is shared.

        The most senior member is holder; nobody is where a newer view is known already.
        """
        self.rank = rank
        self._delivered = delivered
        self._policy = policy
        self.is_holder = rank == 0 and has_holder
        self._is_stopped = not has_holder
        self.turns: dict[int, Turn] = {}
        """Turns to come, by number, as far as they are known."""
        self.next_turn = 1
        self._next_given = 1
        self._given = [0] * len(delivered)  # by sender, messages up to which turns are known
        self.unsaid: list[tuple[int, int]] = []
        """Turns that have been given, and of which the others do not know."""

    # The holder's part.

    def give_turn(self, rank: int, last: int) -> None:
        """As holder: give a sender's messages up to ``last`` their turn, unless they have one."""
        if not self.is_holder or last <= self._given[rank]:
            return
        self.unsaid.append((rank, last))
        self._add(self._next_given, Turn(rank, last, self.rank, 0))
        self._next_given += 1
        self._policy.note(rank)

    def say(self, number: int, *, may_move: bool) -> SetsOrder | None:
        """Return the list that the own message ``number`` is to carry, if there is any.

        The token ``may_move`` with it only if everything this process multicast before has been
        delivered here: the successor must deliver the list, and what is before it may still need
        a turn, which nobody would give.
        """
        if not self.unsaid:
            return None
        first = self._next_given - len(self.unsaid)
        turns, self.unsaid = tuple(self.unsaid[:TURNS_MAX]), self.unsaid[TURNS_MAX:]
        for place in range(max(first, self.next_turn), first + len(turns)):
            if place in self.turns:
                self.turns[place] = self.turns[place]._replace(number=number)
        may_move = may_move and not self.unsaid
        successor = self._policy.successor(self.rank) if may_move else self.rank
        if successor == self.rank:
            return SetsOrder(first, turns)
        self.is_holder = False
        return SetsOrder(first, turns, successor)

    def stop(self) -> None:
        """A newer view has been agreed on: give no turn any more."""
        self.is_holder = False
        self._is_stopped = True

    # Everybody's part.

    def check(self, run: Run) -> None:
        """Refuse a list that no correct holder would have sent."""
        order = run.sets_order
        assert order is not None, "the caller has looked"
        size = len(self._delivered)
        if order.successor >= size or any(rank >= size for rank, _ in order.turns):
            message = f"a sets-order list names a member that is not in a view of {size}"
            raise PeerError(message)
        for place, (rank, last) in enumerate(order.turns, order.number):
            known = self.turns.get(place)
            if known is not None and (known.rank, known.last) != (rank, last):
                message = f"two sets-order lists disagree on turn {place}"
                raise PeerError(message)

    def learn(self, run: Run) -> None:
        """Take a list that has been checked."""
        order = run.sets_order
        assert order is not None, "the caller has looked"
        for place, (rank, last) in enumerate(order.turns, order.number):
            if place >= self.next_turn and place not in self.turns:
                self._add(place, Turn(rank, last, run.sender, run.last))
        self._pass_over()

    def _add(self, place: int, turn: Turn) -> None:
        self.turns[place] = turn
        self._given[turn.rank] = max(self._given[turn.rank], turn.last)

    def take_token(self, order: SetsOrder) -> None:
        """The list that names this process as holder has been delivered."""
        assert order.successor == self.rank, "it names this process"
        self.is_holder = not self._is_stopped
        self._next_given = order.number + len(order.turns)

    def turn_of(self, run: Run) -> Turn | None:
        """Return the next turn if it is that of ``run``."""
        turn = self.turns.get(self.next_turn)
        is_its = turn is not None and turn.rank == run.sender and run.first <= turn.last
        return turn if is_its else None

    def note_delivered(self) -> None:
        """Something that asked for total order has been delivered."""
        self._pass_over()

    def _pass_over(self) -> None:
        """Go on to the next turn that is not over."""
        turns = self.turns
        while (turn := turns.get(self.next_turn)) is not None:
            if self._delivered[turn.rank] < turn.last:
                return
            del turns[self.next_turn]
            self.next_turn += 1

    def choose_left_over(self, runs: Iterable[Run]) -> Run:
        """Return which of these, all that can be delivered, comes first when a view is left."""
        assert not self.is_holder, "no turns are given any more"
        run, place = self._first_of(runs)
        if place is not None:
            self.next_turn = place
        return run

    def first_of(self, runs: Iterable[Run]) -> Run:
        """Return the same, without making it that run's turn."""
        return self._first_of(runs)[0]

    def _first_of(self, runs: Iterable[Run]) -> tuple[Run, int | None]:
        by_turn: dict[int, Run] = {run.sender: run for run in runs}
        assert by_turn, "something is left over"
        for place in sorted(self.turns):
            run = by_turn.get(self.turns[place].rank)
            if run is not None and run.first <= self.turns[place].last:
                return run, place
        return by_turn[min(by_turn)], None

    def conclude(self, order: Iterable[Run]) -> None:
        """The view is being left: these come next, in this order, and nothing else."""
        self.stop()
        self.unsaid = []
        self.turns = {
            place: Turn(run.sender, run.last, self.rank, 0)
            for place, run in enumerate(order, self.next_turn)
        }

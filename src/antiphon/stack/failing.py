"""What members say they have of who fails, while a view with it waits to be left.

Where epochs are told apart (``epochs``) a process waits for every member's word, and who has died
says none: its messages are complete when the view that it was in is left, if not before. To leave a
view takes all who go on, and each of them may wait for an epoch likewise in another group, for
another view: without this they could wait for each other for ever.

Rule. Who learns of a view takes nothing more, of earlier views, from those that failed up to it. It
says so to all, with what it has of each of them in each view still to be left, also of views that
it has yet to install (``HeardOf``). When all who go on have said so, of the newest view that this
process knows, and none of them has more of a member than there is here, nothing of it is missing,
and nothing will come.

Invariant. What anybody who goes on will ever have of a member that fails, in a view, is at most the
largest of those counts: it comes by relay alone, from who goes on. A word that knows an older view
does not count: its author may have taken something since, by relay, from who has failed too.

Fault model: crashes, also wrongly suspected ones. A count that is too high, a lie say, tells
nothing, and the view is waited for.

Cost: one control message from everybody to everybody in a group for each view in which somebody
fails. Nothing without excluded groups.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from antiphon.core.control import AnyMessage, HeardOf
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.membership.transition import Transition
from antiphon.ordering.mixed import MixedDomain


class Leaving(Protocol):
    """What is asked of a process's part in a group."""

    me: ProcessId

    @property
    def transition(self) -> Transition:
        """The current view, and those that are agreed on since."""

    def early_from(self, rank: int, view_number: int) -> int:
        """Return how many messages of a member have come for a view still to be installed."""

    def tell(self, message: AnyMessage, *, later: bool = False) -> None:
        """Say something to all other members of the current view, and perhaps of later ones."""


class Failing:
    """What one process knows that others have of members that fail."""

    __slots__ = ("_heard", "_ordering", "_parts", "_said")

    def __init__(self, parts: Mapping[GroupNumber, Leaving], ordering: MixedDomain) -> None:
        """Nobody fails; ``parts`` always tells in which groups the process is."""
        self._parts, self._ordering = parts, ordering
        self._said: dict[GroupNumber, int] = {}
        self._heard: dict[GroupNumber, dict[ProcessId, HeardOf]] = {}

    def look(self, group: GroupNumber) -> None:
        """A view has been agreed on: say what has come of those who fail, if any do."""
        part = self._parts.get(group)
        newest = part.transition.newest if part is not None else None
        if part is None or newest is None or newest.number <= self._said.get(group, 0):
            return
        self._said[group] = newest.number
        counts = self._counts(group, part)
        if counts:
            part.tell(HeardOf(newest.number, counts), later=True)

    def _counts(
        self, group: GroupNumber, part: Leaving
    ) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
        transition, found = part.transition, []
        views = [*([transition.current] if transition.current is not None else []),
                 *transition.pending]  # fmt: skip
        for place, view in enumerate(views):
            failed = {who for later in views[place + 1 :] for who in later.failed}
            ranks = [rank for rank, who in enumerate(view.members) if who in failed]
            if ranks:
                is_here = view is transition.current
                count = self._ordering.received_of if is_here else None
                found.append((view.number, tuple(
                    (rank, count(group, rank) if count else part.early_from(rank, view.number))
                    for rank in ranks
                )))  # fmt: skip
        return tuple(found)

    def hear(self, group: GroupNumber, peer: ProcessId, word: HeardOf) -> None:
        """A member says what it has, and will have, of those who fail."""
        heard = self._heard.setdefault(group, {})
        before = heard.get(peer)
        if before is None or word.number > before.number:
            heard[peer] = word

    def complete(self, group: GroupNumber) -> list[int]:
        """Return which members of the current view fail, and have nothing left to come: ranks."""
        part = self._parts[group]
        transition = part.transition
        newest, view = transition.newest, transition.current
        if newest is None or view is None or not transition.pending:
            return []
        heard = self._heard.get(group, {})
        words = [heard.get(who) for who in transition.participants() if who != part.me]
        told = [word for word in words if word is not None and word.number >= newest.number]
        if len(told) < len(words):
            return []
        counts = [dict(dict(word.counts).get(view.number, ())) for word in told]
        return [
            rank
            for rank in transition.excluded_ranks()
            if all(
                rank in one and one[rank] <= self._ordering.received_of(group, rank)
                for one in counts
            )
        ]

    def enter_view(self, group: GroupNumber, members: Sequence[ProcessId]) -> None:
        """A view begins: forget who is no member."""
        heard = self._heard.get(group, {})
        self._heard[group] = {who: heard[who] for who in members if who in heard}

    def leave(self, group: GroupNumber) -> None:
        """A group has been left."""
        self._heard.pop(group, None)
        self._said.pop(group, None)

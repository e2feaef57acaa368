"""Who joins a group of a domain with a declared structure, and what it is told first.

Law (``ordering.barred``): who was in a view of the group before tells a joiner all that it knows of
other groups, ahead of all else in the view; the joiner delivers nothing of the group before it has
heard them all, and delivered what they name.

Cost: a message from each member to each joiner.
"""

from collections.abc import Sequence

from antiphon.core.control import GroupsNamed, PastTold
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Foreign
from antiphon.core.views import View
from antiphon.membership.effects import Outbox
from antiphon.ordering.knowledge import EPOCHS
from antiphon.stack.domain import Domain
from antiphon.stack.receiver import Receiver


class Newcomers:
    """Tells joiners of one group what they lack, or is told it."""

    __slots__ = ("_domain", "_greeted", "_group", "_out", "_pasts", "_receiver", "_view")

    def __init__(self, out: Outbox, receiver: Receiver, domain: Domain, group: GroupNumber) -> None:
        """Nobody joins yet."""
        self._out, self._receiver = out, receiver
        self._domain, self._group = domain, group
        self._view = self._greeted = 0
        self._pasts: dict[ProcessId, PastTold] = {}
        """What was told of a view that is still to be installed."""

    def enter(self, view: View) -> None:
        """A view begins: tell who joins all that is known; or, as a joiner, be told it."""
        domain, out = self._domain, self._out
        self._view = view.number
        if domain.names.structure is None or not view.joined:
            return
        domain.ordering.expect_bars(self._group)
        if out.me in view.joined:
            self._await(view)
            return
        knowledge = domain.ordering.knowledge
        stamps = knowledge.whole(self._group) if knowledge is not None else ()
        names = GroupsNamed(domain.names.of([group for group, _, _ in stamps]))
        for who in view.joined:
            out.send(who, names)
            out.send(who, PastTold(view.number, stamps))

    def _await(self, view: View) -> None:
        ordering, ranks = self._domain.ordering, self._receiver.ranks
        others = [rank for who, rank in ranks.items() if who not in view.joined]
        ordering.bar(self._group, others)
        for peer, said in self._pasts.items():
            if said.number == view.number and peer in ranks:
                ordering.hear_past(self._group, ranks[peer], self._without_epoch(peer, said))
        self._pasts.clear()

    def hear(self, peer: ProcessId, said: PastTold) -> None:
        """A member tells this process, which joins, what it knows of other groups."""
        ranks = self._receiver.ranks
        if said.number > self._view:
            self._pasts[peer] = said
        elif said.number == self._view and peer in ranks:
            ordering = self._domain.ordering
            ordering.hear_past(self._group, ranks[peer], self._without_epoch(peer, said))
            self._receiver.deliver(ordering.drain())

    def _without_epoch(self, peer: ProcessId, said: PastTold) -> Foreign:
        """Note the epoch that is told; runs have theirs, also in this view, and wait for that."""
        if self._domain.epochs is None:
            return said.stamps
        self._domain.epochs.hear_past(self._group, peer, said.stamps)
        return tuple(stamp for stamp in said.stamps if stamp[0] != EPOCHS)

    # Epochs, where groups are excluded.

    def greet(self, *, is_new: bool) -> None:
        """A view has begun; say the epoch, if new there."""
        if self._domain.epochs is not None:
            self._domain.epochs.greet(self._group, is_new=is_new)

    def look_forward(self, pending: Sequence[View]) -> None:
        """Say the epoch to who joins in a view still to be installed: it may wait for that.

        And what has come of who fails.
        """
        epochs = self._domain.epochs
        if epochs is not None and pending:
            epochs.failing.look(self._group)
        if epochs is None or not pending or not self._view or pending[-1].number <= self._greeted:
            return
        self._greeted = pending[-1].number
        if any(view.joined for view in pending):
            epochs.tell(self._group)

    @property
    def is_told(self) -> bool:
        """Whether a joiner knows the group's epoch: before, it multicasts nothing."""
        domain = self._domain
        return domain.epochs is None or not domain.ordering.awaits_past(self._group)

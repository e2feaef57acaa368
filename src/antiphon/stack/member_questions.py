"""What others ask of a member: whether it may send, what it is in, what it keeps.

Law: questions change nothing, but that who may not send yet is asked for what it waits for.
"""

from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Order
from antiphon.core.views import View
from antiphon.membership.membership import Membership
from antiphon.membership.transition import Transition
from antiphon.ordering.letters import Letters
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.stability import Stability
from antiphon.stack.domain import Domain
from antiphon.stack.receiver import Receiver
from antiphon.stack.settings import Settings

_TOTAL = Order.TOTAL  # looking a member of an enum up is slow


class MemberQuestions:
    """A member, as far as it can be asked something."""

    me: ProcessId
    group: GroupNumber
    domain: Domain
    ordering: MixedDomain
    _settings: Settings
    letters: Letters
    receiver: Receiver
    membership: Membership
    is_open: bool

    @property
    def view(self) -> View | None:
        """The current view."""
        return self.membership.transition.current

    @property
    def may_multicast(self) -> bool:
        """Whether a multicast would go out now; if not, wait for a view, or for a letter.

        As far as this group is concerned, and letters in others; see :meth:`is_safe`.
        """
        if not self.is_open or self.letters.waiting_for is not None:
            return False
        domain = self.domain
        return not (domain.writing and domain.is_shared and domain.awaits_letter(self.group))

    def _is_plain(self, order: Order, *, uniform: bool) -> bool:
        """Whether a multicast is delivered here at once; refuse one that cannot be given."""
        if not uniform and order is not _TOTAL and self.ordering.is_clear(self.group):
            return True
        self._settings.check(order, uniform=uniform)
        return False

    def check(self, order: Order, *, uniform: bool) -> None:
        """Refuse a multicast that cannot be given, before it is queued."""
        if uniform or order is _TOTAL:
            self._settings.check(order, uniform=uniform)

    def is_safe(self, order: Order) -> bool:
        """Whether what a multicast depends on in other groups cannot be lost (ISIS 6.5)."""
        domain = self.domain
        return not domain.is_shared or order is Order.FIFO or domain.is_safe_for(self.group)

    def may_send(self, to: ProcessId) -> bool:
        """Whether a letter to this process would go out now."""
        awaited = self.letters.waiting_for
        is_other = to in self.receiver.ranks and to != self.me
        if not (self.is_open and is_other and (awaited is None or awaited == to)):
            return False
        return not (self.domain.is_shared and self.domain.awaits_letter(self.group))

    @property
    def has_news(self) -> bool:
        """Whether a letter would tell one member what the others cannot know (``structure``)."""
        knowledge = self.ordering.knowledge
        if knowledge is None or self.domain.names.structure is None:
            return False
        return knowledge.has_news(self.group)

    @property
    def is_due(self) -> bool:
        """Whether others wait for a sets-order list or a confirmation: :meth:`acknowledge`."""
        return self.ordering.is_due(self.group) and self.membership.may_multicast

    @property
    def stability(self) -> Stability:
        """What is known to have reached whom in the current view."""
        return self.receiver.stability

    @property
    def is_view_atomic(self) -> bool:
        """Whether who goes on is brought all that any who goes on has received."""
        return self.membership.flush.is_view_atomic

    @property
    def kept_bytes(self) -> int:
        """Payload bytes of copies kept, of this view and earlier ones."""
        return self.receiver.kept_bytes

    @property
    def view_number(self) -> int:
        """The number of the current view; 0 before the first."""
        return self.membership.transition.number

    def early_count(self, peer: ProcessId, view_number: int) -> int:
        """Return how many messages of a process have come for a view still to be installed."""
        return self.receiver.early.count_of(peer, view_number)

    def early_from(self, rank: int, view_number: int) -> int:
        """Return how many messages of a member have come for a view still to be installed."""
        return self.receiver.early.count_from(rank, view_number)

    @property
    def transition(self) -> Transition:
        """The current view, and those that are agreed on since."""
        return self.membership.transition

    @property
    def is_blocked(self) -> bool:
        """Whether too few members can be reached to go on."""
        return self.membership.is_blocked

    @property
    def members(self) -> tuple[ProcessId, ...]:
        """The members of the current view, by rank; none outside."""
        return self.receiver.members

"""A member, as far as it is told of messages, of other groups, and of who is alarmed.

Law: what concerns views is for the membership; all else that members say of themselves is here.
"""

from antiphon.core.control import (
    AlarmSaid,
    Confirm,
    EpochSaid,
    Everywhere,
    Forgettable,
    ForgettingAsked,
    GroupsNamed,
    HeardOf,
    HowFar,
    HowFarAsked,
    LetterAsked,
    LetterTaken,
    Out,
    PastTold,
    Receipts,
    ReceiptsAsked,
    Subtree,
)
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.ordering.mixed import MixedDomain
from antiphon.stack.announcer import Announcer
from antiphon.stack.member_datagrams import MemberDatagrams
from antiphon.stack.newcomers import Newcomers
from antiphon.stack.receipt_tree import ReceiptTree

Words = (
    Confirm | LetterTaken | LetterAsked | ReceiptsAsked | Receipts | Forgettable | ForgettingAsked
    | HowFarAsked | HowFar | GroupsNamed | PastTold | EpochSaid | HeardOf | Subtree | Everywhere
    | AlarmSaid
)  # fmt: skip
"""What members say of messages, beside what concerns views; and whom they watch."""


class MemberWords(MemberDatagrams):
    """What other members say, beside runs, letters and views."""

    announcer: Announcer
    ordering: MixedDomain
    newcomers: Newcomers
    receipts: ReceiptTree

    @property
    def view(self) -> View | None:
        """The current view; None outside."""
        return self.membership.transition.current

    @property
    def is_last_view(self) -> bool:
        """Whether no later view is known here, nor was a proposal for one accepted."""
        return self.membership.coordination.is_last(self.view_number)

    def _take_word(self, peer: ProcessId, word: Words) -> None:
        """Take what a member says of messages, for the sake of one order or another."""
        match word:
            case Confirm():
                self.receiver.take_confirm(peer, word)
            case Subtree() | Everywhere():
                self.receipts.hear(peer, word)
            case LetterTaken(count):
                self.letters.hear_acknowledgement(peer, count)
            case LetterAsked():
                self.letters.hear_request(peer)
            case AlarmSaid(is_raised):
                self._hear_alarm(peer, is_raised=is_raised)
            case _:
                self._take_word_of_groups(peer, word)

    def _take_word_of_groups(self, peer: ProcessId, word: Words) -> None:
        """Take what a member says where there are several groups."""
        match word:
            case ReceiptsAsked():
                self.receiver.hear_question(peer, word)
            case Receipts():
                self.receiver.take_receipts(peer, word)
            case PastTold():
                self.newcomers.hear(peer, word)
            case HowFarAsked():
                self._say_how_far(peer, word)
            case HowFar():
                self.domain.lacks.hear(self.group, peer, word)
            case Forgettable() | ForgettingAsked() | GroupsNamed() | EpochSaid() | HeardOf():
                self.domain.take_word(word, self.group, peer)
            case _:
                message = f"{type(word).__name__} is no word of groups"
                raise AssertionError(message)

    def _say_how_far(self, peer: ProcessId, asked: HowFarAsked) -> None:
        """``peer`` holds something that names more of this group than it has."""
        membership = self.membership
        if peer in membership.roster.gone:
            self._out.send(peer, Out(membership.roster.gone[peer]))
        elif self.view is not None and asked.number >= self.view_number:  # else it leaves that view
            is_here = asked.number == self.view_number
            own = self.receiver.stability.rank
            sent = self.ordering.received_of(self.group, own) if is_here else 0
            is_last = membership.coordination.is_last(asked.number)
            self._out.send(peer, HowFar(asked.number, asked.question, sent, is_last))

    def _hear_alarm(self, peer: ProcessId, *, is_raised: bool) -> None:
        """``peer`` watches this process, or no longer: tell it at once that this one lives.

        Who is alarmed itself is telling everybody more than that.
        """
        attention = self.membership.attention
        if not attention.is_sparse:
            message = f"{peer} is alarmed, in a group in which everybody watches everybody"
            raise PeerError(message)
        is_news = attention.hear(peer, is_raised=is_raised) and not attention.is_alarmed
        if is_news and self.membership.latest is not None:
            self._out.send(peer, self.announcer.standing())

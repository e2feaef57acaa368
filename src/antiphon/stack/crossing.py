"""What comes to an endpoint from other groups of its causality domain.

Law: an input of one group may deliver something in another, or let it install, send or deliver what
waited. The process machine sees to it in the same step (``domains``), through what is here.
"""

from abc import abstractmethod

from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Run
from antiphon.membership.effects import DeliverRuns
from antiphon.stack.agenda import Agenda
from antiphon.stack.domain import Domain
from antiphon.stack.effects import Effect
from antiphon.stack.questions import Questions
from antiphon.stack.receiver import Receiver
from antiphon.stack.sender import Sender


class Crossing(Questions):
    """An endpoint, as far as other groups are concerned."""

    group: GroupNumber
    domain: Domain
    is_resting: bool
    _agenda: Agenda
    _receiver: Receiver
    _sender: Sender

    @abstractmethod
    def _deliver(self, delivery: DeliverRuns) -> None:
        """Let the tools see what is for them, in its place among all else."""

    @abstractmethod
    def _finish(self) -> list[Effect]:
        """Do what is to be done inside, send what may go out now; return the rest."""

    @abstractmethod
    def _do_work(self) -> None:
        """Do what is to be done inside."""

    def deliver(self, runs: list[Run], now_us: int) -> list[Effect]:
        """Take runs of this group that were delivered by what happened in another group."""
        self.is_resting = False
        self._agenda.now_us = now_us
        self._receiver.has_news = True
        self._deliver(DeliverRuns(runs))
        self.domain.look_at(self.group)  # what follows, follows when all of this has been done
        return self._agenda.take()

    def look_again(self, now_us: int) -> list[Effect]:
        """Something has happened in another group: see what that makes possible here."""
        self.is_resting = False
        self._agenda.now_us = now_us
        if not self.is_over:
            self._agenda.work.extend(self.member.look_again(now_us))
        return self._finish()

    @property
    def awaits_receipts(self) -> bool:
        """Whether what is to be sent next waits for receipts in other groups of the domain."""
        return not self.is_over and self._sender.awaits_receipts

    def thaw(self) -> list[Effect]:
        """Deliver again, after a wait for what other groups may lose."""
        self.domain.ordering.is_frozen = False
        self._receiver.deliver(self.domain.ordering.drain())
        self._agenda.work.extend(self.member.take_effects())
        return self._finish()

    def close(self, now_us: int) -> list[Effect]:
        """Take part in the group no longer: it has been left, or was not entered."""
        self._agenda.now_us = now_us
        self._agenda.work.extend(self.member.close())
        self._do_work()
        self.queue.places.leave()
        return self._agenda.take()

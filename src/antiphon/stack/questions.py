"""What may be asked of an endpoint at any time, between two inputs.

Law: a question changes nothing, and its answer holds until the next input. A driver asks this and
no more (``docs/machine.md``): what it must be told without asking is an effect.
"""

from antiphon.core.control import Out, Standing
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.stack.flow_control import FlowControl
from antiphon.stack.member import Member
from antiphon.stack.ports import Ports
from antiphon.stack.send_queue import SendQueue


class Questions:
    """What an endpoint knows of itself and its group."""

    member: Member
    ports: Ports
    queue: SendQueue
    flow: FlowControl
    is_over: bool
    _views: dict[int, View]

    @property
    def view(self) -> View | None:
        """The current view."""
        return self.member.view

    @property
    def latest(self) -> View | None:
        """The last view agreed on, as far as this process knows."""
        return self.member.membership.latest

    @property
    def queue_depth(self) -> int:
        """Runs received that wait for something in their causal past, or for their turn."""
        return self.member.ordering.queue_depth

    @property
    def has_been_member(self) -> bool:
        """Whether the process was in a view of the group."""
        return bool(self._views)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way, so that a heartbeat need not be looked at."""
        member = self.member
        is_sending = self.queue.waiting or self.flow.are_senders_waiting
        has_news = member.announcer.has_news() or self.flow.is_due or member.receipts.has_news()
        membership = member.membership
        is_quiet = member.is_open and membership.is_idle and membership.attention.is_quiet
        # Whom no datagram reaches is noticed by nobody else.
        is_quiet = is_quiet and (member.blocks is None or not member.blocks.group.is_awaiting)
        return self.is_over or (is_quiet and not is_sending and not has_news)

    def cares_for(self, peer: ProcessId) -> bool:
        """Whether what ``peer`` said last may matter now that it is heard again."""
        return not self.is_over and self.member.announcer.last_of(peer) is not None

    def sender_of(self, run: Run) -> ProcessId:
        """Return who sent something that is being delivered; a letter may be of a past view."""
        return self._views[run.view].members[run.sender]

    # What drivers answer others with.

    def answer(
        self, asker: ProcessId, view_number: int, *, has_channel: bool
    ) -> Out | Standing | None:
        """Return what to tell a process that probes this one; None: this one is no member.

        The asker knows views up to ``view_number``, 0 if none; with ``has_channel`` the two share
        one, so that it may be about to join, or have just left.
        """
        return self.member.membership.answer(asker, view_number, has_channel=has_channel)

    def needs_word_of(self, views: tuple[View, ...], teller: ProcessId) -> bool:
        """Whether a process that is in no view known here is to be heard: it tells the way on."""
        coordination = self.member.membership.coordination
        return not self.is_over and coordination.needs_word_of(views, teller)

    @property
    def excluded(self) -> dict[ProcessId, int]:
        """Who failed in the group, and in which view: for later incarnations to know."""
        return self.member.membership.roster.excluded()

    @property
    def accepted(self) -> View | None:
        """The view that this process has accepted last, if any: it may become the next one."""
        return self.member.membership.accepted

    @property
    def has_state(self) -> bool:
        """Whether the process has the group's state; true where the group has none to give."""
        transfer = self.ports.transfer
        return transfer is None or transfer.has_state

    @property
    def is_blocked(self) -> bool:
        """Whether too few members can be reached to go on."""
        return self.member.membership.is_blocked

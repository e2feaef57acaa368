"""Messages of the flush on their way in: taken when it is known from whom they are.

Law: a flush message counts if its sender takes part, and has not failed in a view agreed on. It may
come from a member of a view that has not been heard of here, or from a stranger: such messages are
kept, the latest ones, and looked at again with every view that is agreed on.
"""

from collections import deque
from contextlib import suppress

from antiphon.core.control import Flush as FlushMessage
from antiphon.core.control import Install, Report
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.membership.roster import Roster
from antiphon.membership.transition import Flush, Transition

EARLY_MAX = 4096
"""Flush messages kept of processes that are in no view known here, the latest ones."""

Message = FlushMessage | Report | Install


class FlushInbox:
    """Hands the flush what is for it."""

    __slots__ = ("_early", "_flush", "_roster", "_transition")

    def __init__(self, flush: Flush, transition: Transition, roster: Roster) -> None:
        """Nothing came yet."""
        self._flush = flush
        self._transition = transition
        self._roster = roster
        self._early: deque[tuple[ProcessId, Message]] = deque(maxlen=EARLY_MAX)

    def take(self, peer: ProcessId, message: Message) -> None:
        """Take a message of the flush; of a process that is not known yet, when it is."""
        if peer not in self._transition.everybody() and peer not in self._roster.left:
            self._early.append((peer, message))
        elif self._roster.takes_from(peer, self._transition.number):
            self._flush.receive(peer, message)

    def take_early(self) -> None:
        """Take what came from processes before a view made them known."""
        early, self._early = self._early, deque(maxlen=EARLY_MAX)
        for peer, message in early:
            # Whoever sent nonsense earlier must not spoil what others do right.
            with suppress(PeerError):
                self.take(peer, message)
        assert len(self._early) <= len(early), "nothing came meanwhile"

"""Sending: from the application to the machine of its current incarnation.

Law: what the application multicasts is collected until the turn of the event loop ends, a run is
full, something arrives, or the application reads: then it is given to the machine as ONE run. In
several groups of one causality domain one run is collected at a time: whoever begins another one
gives the first to the machine before (``CollectingTurn``), so program order is kept. What
belongs to an incarnation that has ended is not sent (``stack.send_queue``): the reader of the
stream is told, where the next incarnation begins or the stream ends.
"""

import logging
from typing import Protocol

from antiphon.core.runs import Order
from antiphon.net.driver.driver import Driver
from antiphon.net.stream.events import Beginning, Unsent
from antiphon.net.stream.stream import Stream
from antiphon.stack.effects import ReturnUnsent
from antiphon.stack.inputs import LetterRequested, MulticastRequested, ReaderAdvanced
from antiphon.stack.send_queue import How, SendQueue, WaitingRun

_log = logging.getLogger("antiphon")

_VOID = (
    "what %s sends in group %s is dropped until its reader comes to the next incarnation: the one "
    "that it has read last has ended"
)


HOW = {(order, uniform): How(order, uniform) for order in Order for uniform in (False, True)}
"""One object for each way to multicast, so that two can be compared by ``is``."""

CAUSAL = HOW[Order.CAUSAL, False]


class PendingRun:
    """The run that is being collected."""

    __slots__ = ("byte_count", "how", "payloads")

    def __init__(self) -> None:
        """Begin with an empty one."""
        self.payloads: list[bytes] = []
        self.byte_count = 0
        self.how = CAUSAL

    def take(self) -> MulticastRequested:
        """Hand over what was collected since the last time."""
        taken = MulticastRequested(self.payloads, self.how, self.byte_count)
        self.payloads, self.byte_count = [], 0
        return taken


class CollectingTurn:
    """In which of the groups of a domain a process collects a run."""

    __slots__ = ("holder",)

    def __init__(self) -> None:
        """In none."""
        self.holder: Sending | None = None

    def take(self, sending: "Sending") -> None:
        """Collect in a group from now on."""
        holder = self.holder
        if holder is not sending:
            if holder is not None:
                holder.flush_own()
            self.holder = sending


class SendingOwner(Protocol):
    """What is said of the member that sends."""

    @property
    def name(self) -> str:
        """The name of this process in its current incarnation."""

    @property
    def group_name(self) -> str:
        """The name of the group."""


class Sending:
    """What one process sends in a group, incarnation after incarnation."""

    def __init__(self, owner: SendingOwner, stream: Stream, queued_bytes_max: int) -> None:
        """Nothing waits."""
        self._owner = owner
        self._stream = stream
        self.pending = PendingRun()
        self._queued_bytes_max = queued_bytes_max
        self.queue = SendQueue(queued_bytes_max)
        self.driver: Driver | None = None
        """The driver of the current incarnation."""
        self.turn: CollectingTurn | None = None
        """Shared with the other groups of the domain, if it has any."""
        self._told = self.queue.incarnation
        self._warned = self.queue.incarnation
        self._unsent: list[ReturnUnsent] = []

    @property
    def is_waiting(self) -> bool:
        """Whether something has still to go out."""
        return bool(self.queue.waiting or self.pending.payloads)

    def take_turn(self) -> None:
        """Collect here from now on, in no other group of the domain."""
        if self.turn is not None:
            self.turn.take(self)

    def flush(self) -> None:
        """Give what is pending to the machine: here, and before it in the domain's other groups."""
        turn = self.turn
        if turn is not None and turn.holder is not None and turn.holder is not self:
            turn.holder.flush_own()
        self.flush_own()

    def flush_own(self) -> None:
        """Give what is pending in this group to the machine."""
        if self.pending.payloads and self.driver is not None:
            self._look_if_void()
            self.driver.give(self.pending.take())

    def send(self, asked: MulticastRequested | LetterRequested) -> None:
        """Give something to the machine, after what is pending."""
        self.flush()
        if self.driver is not None:
            self._look_if_void()
            self.driver.give(asked)
            if asked.incarnation not in {0, self.queue.incarnation}:
                self._tell_soon()

    def _look_if_void(self) -> None:
        queue = self.queue
        if queue.is_void:
            if not self._stream.has_reader:
                queue.come_to(queue.incarnation)  # nobody will
            elif self._warned != queue.incarnation:
                self._warned = queue.incarnation
                _log.warning(_VOID, self._owner.name, self._owner.group_name)

    # Incarnations.

    @property
    def reading(self) -> int:
        """The incarnation to which what is sent now belongs."""
        return self.queue.read

    def is_void(self, reading: int) -> bool:
        """Whether what somebody began to send in that incarnation belongs to an ended one."""
        return reading != self.queue.incarnation and self._stream.has_reader

    @property
    def is_held_up(self) -> bool:
        """Whether so much was sent in vain that whoever goes on has to wait for the reader."""
        return self.queue.unsent_bytes > self._queued_bytes_max

    def _tell_soon(self) -> None:
        """Something was dropped: let the reader come to hear of it."""
        if self.queue.incarnation == self._told:
            self._stream.append_event(Beginning(self.queue.incarnation))

    def end_incarnation(self) -> None:
        """The current incarnation has ended."""
        if not self._stream.has_reader:
            self.queue.come_to(self.queue.incarnation)

    def begin_incarnation(self) -> None:
        """Events of another incarnation come next in the stream, or its end."""
        if self._told != self.queue.incarnation:
            self._told = self.queue.incarnation
            self._stream.append_event(Beginning(self.queue.incarnation))

    def end(self) -> None:
        """The stream ends here: its reader is told what still waits, too, and that never goes out.

        The machine may live on, for others may not have let this process go yet.
        """
        self.flush()
        self.queue.drop_waiting()
        if self.queue.unsent_bytes or self._told != self.queue.incarnation:
            self._told = self.queue.incarnation
            self._stream.append_event(Beginning(self.queue.incarnation))

    def on_beginning(self, incarnation: int) -> Unsent:
        """The reader comes to another incarnation; return what was sent in vain before."""
        self.flush()
        if self.driver is not None:
            self.driver.give(ReaderAdvanced(incarnation))
        returned, self._unsent = self._unsent, []
        payloads: list[bytes] = []
        to: list[str] = []
        for item in (item for effect in returned for item in effect.items):
            if isinstance(item, WaitingRun):
                payloads += item.payloads
                to += [""] * len(item.payloads)
            else:
                payloads.append(item.payload)
                to.append(str(item.to))
        return Unsent(tuple(payloads), tuple(to))

    def take_back(self, returned: ReturnUnsent) -> None:
        """The machine returns what was sent in vain."""
        self._unsent.append(returned)

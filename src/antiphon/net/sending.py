"""Sending: from the application and the tools of a process to its current life, through one queue.

Law: what is handed over leaves at once if nothing is before it and the group lets it, else it
waits its turn (``stack.outgoing``). What belongs to a life that has ended is not sent: the reader
of the stream is told, where the next life begins or the stream ends.
"""

import logging
from typing import TYPE_CHECKING

from antiphon.core.ids import ProcessId
from antiphon.core.runs import Order
from antiphon.net.life import Life
from antiphon.net.stream import Beginning, Unsent
from antiphon.stack.outgoing import (
    OUTGOING_BYTES_MAX,
    Item,
    Outgoing,
    WaitingLetter,
    WaitingRun,
    how_of,
)

if TYPE_CHECKING:
    from antiphon.net.group import Group

_log = logging.getLogger("antiphon")

_VOID = (
    "what %s sends in group %s is dropped until its reader comes to the next life: the one that it "
    "has read last has ended"
)


class Sending:
    """What one process sends, life after life."""

    def __init__(self, group: "Group") -> None:
        """Nothing waits."""
        self._group = group
        self.outgoing = Outgoing()
        self.life: Life | None = None
        """The current life."""
        self._told_life = self.outgoing.life
        self._warned_life = self.outgoing.life

    @property
    def is_waiting(self) -> bool:
        """Whether something has still to go out."""
        return bool(self.outgoing.waiting or self._group.pending)

    def flush(self) -> None:
        """Make a run of what is pending, send it, and deliver it here; unless between views."""
        life, outgoing = self.life, self.outgoing
        if life is None or not (outgoing.waiting or self._group.pending):
            return
        if outgoing.read_life != outgoing.life:
            self.queue_pending()
        is_first = outgoing.send(life)
        if is_first and self._group.pending and life.may_multicast:
            how = self._group.pending_how
            payloads, byte_count = self._group.take_pending()
            life.multicast(payloads, how, byte_count)
        elif outgoing.waiting or self._group.pending:
            life.hurry()

    def post(self, payload: bytes, order: Order, *, uniform: bool, port: int) -> None:
        """Multicast a message of a service, in its turn."""
        how = how_of(order, uniform, port)
        life = self._free_life()
        if life is not None and life.may_multicast:
            life.multicast([payload], how, len(payload))
        else:
            self._post(WaitingRun(how, [payload], len(payload)))

    def post_letter(self, to: ProcessId, payload: bytes, port: int) -> None:
        """Send a message to one member, in its turn; dropped if that is gone by then."""
        life = self._free_life()
        if life is not None and life.may_send(to, port):
            life.send_letter(to, payload, port)
        else:
            self._post(WaitingLetter(to, payload, port))

    def _free_life(self) -> Life | None:
        """Return the current life, unless something is to be sent before."""
        outgoing = self.outgoing
        is_first = not outgoing.waiting and outgoing.read_life == outgoing.life
        return self.life if is_first and not self._group.pending else None

    def _post(self, item: Item) -> None:
        self.queue_pending()  # it was multicast before
        self._put(item)
        self.flush()  # a service is not known to have more to say soon, and somebody may wait

    def queue_pending(self) -> None:
        """Let the run being collected, if there is any, wait its turn: the next one may begin."""
        if self._group.pending:
            how = self._group.pending_how
            self._put(WaitingRun(how, *self._group.take_pending()))

    def _put(self, item: Item) -> None:
        outgoing = self.outgoing
        if outgoing.is_void:
            if not self._group.stream.has_reader:
                outgoing.come_to(outgoing.life)  # nobody will
            elif self._warned_life != outgoing.life:
                self._warned_life = outgoing.life
                _log.warning(_VOID, self._group.me, self._group.name)
        outgoing.put(item)

    # Lives.

    @property
    def read_life(self) -> int:
        """The life to which what is sent now belongs."""
        return self.outgoing.read_life

    def is_void(self, read_life: int) -> bool:
        """Whether what somebody began to send in that life belongs to one that has ended."""
        return read_life != self.outgoing.life and self._group.stream.has_reader

    @property
    def is_held_up(self) -> bool:
        """Whether so much was sent in vain that whoever goes on has to wait for the reader."""
        return self.outgoing.unsent_bytes > OUTGOING_BYTES_MAX

    def drop(self, item: Item) -> None:
        """Do not send what took so long to be handed over that its life has ended; tell."""
        outgoing = self.outgoing
        outgoing.drop(item)
        if outgoing.life == self._told_life:
            self._group.stream.append_event(Beginning(outgoing.life))

    def end_life(self) -> list[bytes]:
        """The current life has ended; return what its tools wanted to multicast, in vain."""
        self.queue_pending()
        dropped = self.outgoing.end_life()
        if not self._group.stream.has_reader:
            self.outgoing.come_to(self.outgoing.life)
        return [
            item.payloads[0] for item in dropped if isinstance(item, WaitingRun) and item.how.port
        ]

    def begin_life(self) -> None:
        """Events of another life come next in the stream, or its end."""
        if self._told_life != self.outgoing.life:
            self._told_life = self.outgoing.life
            self._group.stream.append_event(Beginning(self.outgoing.life))

    def on_beginning(self, life: int) -> Unsent:
        """The reader comes to another life; return what was sent in vain before."""
        self.queue_pending()
        self.outgoing.come_to(max(life, self.outgoing.read_life))
        payloads: list[bytes] = []
        to: list[str] = []
        for item in self.outgoing.tell():
            if isinstance(item, WaitingRun):
                payloads += item.payloads
                to += [""] * len(item.payloads)
            else:
                payloads.append(item.payload)
                to.append(str(item.to))
        return Unsent(tuple(payloads), tuple(to))
